"""The shortest search of a machine's memory: one boot, a login, a lock, and the control."""

import secrets

import pytest
from sight import (
    Known,
    Sight,
    add_finger,
    add_items,
    assert_key_follows,
    assert_nothing,
    lock,
    log_in,
    unlock,
    unlock_by_pinentry,
)  # fmt: skip


@pytest.fixture(scope="module")
def password(machine):
    word = "Password-" + secrets.token_hex(12)
    machine.root.run(f"echo alice:{word} | chpasswd && systemctl start latchkey-deviced.service")
    return word


def test_nothing_is_left_after_a_lock(machine, password, tmp_path):
    log_in(machine.console, password)
    add_items(machine.console)
    lock(machine)
    unlock(machine.console, password)
    known = Known(machine, tmp_path, password, typed=True)
    sight = Sight(machine, known, "unlocked")
    assert sight.missing("A") == set()
    assert_nothing(sight, "never")
    lock(machine)
    assert_nothing(Sight(machine, known, "locked"), "A", "never")

    unlock_by_pinentry(machine, password)
    lock(machine)
    assert_nothing(Sight(machine, known, "locked, after a pinentry was answered"), "A", "never")

    add_finger(machine, password)
    lock(machine)
    assert_nothing(Sight(machine, known, "locked, and a finger would open it"), "A", "never")

    assert_key_follows(machine, known, password)
