"""The table of docs/user/classes.md: the fate of each class in each state. logind, PAM, real lockers and reboots make the
states."""

import pytest
from screen import Screen
from support.account import Account
from support.machine import eventually
from visitor import fill, measured, told

pytestmark = pytest.mark.night("vault")


@pytest.fixture
def filled(alice):
    """The table's cells, in a vault whose session has ended."""
    with alice.login():
        cells = fill(alice)
    alice.await_end()
    return cells


def await_state(account, state):
    eventually(lambda: account.status()["state"] == state, what=state)


@pytest.mark.parametrize("way", ["login", "ssh", "graphical_login"])
def test_logged_in(alice, filled, way):
    with getattr(alice, way)():
        assert measured(alice, filled) == told("unlocked")


def test_logged_in_without_the_password(alice, filled):
    with alice.ssh(method="keyboard-interactive"):  # see test_login.py
        assert measured(alice, filled) == told("sealed")


def test_locked_by_logind(alice, filled):
    with alice.login() as session:
        session.run("loginctl lock-session")
        await_state(alice, "locked")
        assert measured(alice, filled) == told("locked")


def test_a_locker_that_was_not_answered(alice, filled):
    with alice.login() as session:
        session.set_locked_hint(True)
        await_state(alice, "locked")
        session.set_locked_hint(False)
        eventually(lambda: not alice.status()["locker_up"], what="the end of the locker")
        assert measured(alice, filled) == told("locked")


def test_a_locker_that_was_answered_and_still_stands(alice, filled):
    with alice.graphical_login() as session:
        session.set_locked_hint(True)
        await_state(alice, "locked")
        assert session.authenticate(alice.password)
        assert alice.status()["staged"]
        assert measured(alice, filled) == told("behind a locker")


@pytest.mark.parametrize("answered", [False, True])
def test_a_real_locker(alice, filled, answered):
    with alice.graphical_login() as session:
        screen = Screen(alice, session)
        screen.lock()
        await_state(alice, "locked")
        if answered:
            session.run("sleep 1")  # until the locker has grabbed the keyboard
            screen.enter(alice.password)
            await_state(alice, "unlocked")
        assert measured(alice, filled) == told("unlocked" if answered else "behind a locker")
        screen.close()


def test_logged_out_of_a_lingering_manager(alice, filled):
    alice.linger()
    with alice.login():
        daemon = alice.daemon()
    await_state(alice, "sealed")
    assert alice.daemon() == daemon
    assert measured(alice, filled) == told("logged out")


def test_after_a_reboot_nobody_logged_in(alice, filled):
    alice.linger()
    alice.machine.reboot()
    eventually(alice.manager_runs, what="the user manager")
    assert alice.machine.root("loginctl", "--no-legend", "list-sessions").stdout == ""
    assert measured(alice, filled) == told("sealed")
    assert not alice.status()["first_unlocked"]


def test_on_another_device(alice, filled, other_machine):
    elsewhere = Account(other_machine, alice.name, alice.uid, alice.password)
    alice.carry_home(elsewhere)
    with elsewhere.login():
        assert measured(elsewhere, filled) == told("other device")
