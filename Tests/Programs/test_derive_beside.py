"""A login that does not wait for its keys. latchkey-derive lets the login go on if the daemon expects the keys, and brings them
later."""

import os
import signal

import pytest
from support.derive import BESIDE, NO_VAULT, OPEN, PASSWORD, UNLOCKED, UNLOCKING, WRONG_PASSWORD
from test_derive_late import begun, wait_until
from test_derive_process import await_end


@pytest.fixture
def settled(resident):
    """A person with a vault that a second login has opened."""
    daemon = resident.daemon()
    assert resident.run(OPEN, flags=BESIDE) == UNLOCKED
    daemon.deliveries.clear()
    daemon.hellos.clear()
    resident.bag = resident.keybag.read_bytes()
    return resident, daemon


def test_a_login_goes_on_and_its_keys_come(settled):
    login, daemon = settled
    run, supervisor, worker = begun(login, daemon, OPEN, flags=BESIDE)
    # The worker has told the daemon and has not begun its work.
    os.kill(worker, signal.SIGCONT)
    assert run.result() == UNLOCKING
    wait_until(lambda: daemon.deliveries, "its keys")
    await_end(worker)
    await_end(supervisor)
    # The helper wrote nothing more, because the home may be unmounted by then.
    assert login.keybag.read_bytes() == login.bag


def test_without_the_word_of_its_caller_it_is_waited_for(settled):
    login, daemon = settled
    assert login.run(OPEN) == UNLOCKED and len(daemon.deliveries) == 1


def test_a_login_that_proves_its_password_is_waited_for(resident):
    """A login that ends at once would end the helper before it wrote anything."""
    resident.daemon()
    assert [resident.run(OPEN, flags=BESIDE) for _ in range(2)] == [UNLOCKED, UNLOCKING]


def test_no_vault_is_an_answer(login):
    login.daemon()
    assert login.run(OPEN, flags=BESIDE | 1) == NO_VAULT


def test_a_wrong_password_is_told_to_the_daemon(settled):
    login, daemon = settled
    assert login.run(OPEN, flags=BESIDE, token=PASSWORD + "x") == UNLOCKING
    wait_until(lambda: daemon.notes, "its word")
    assert daemon.deliveries == [] and WRONG_PASSWORD == 5
