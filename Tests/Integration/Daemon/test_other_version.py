"""A daemon of the version before an upgrade. The daemon ends when a helper of another version brings keys, and for no
other reason.

All programs here have the same version, so the tests themselves stand in for the helper. Tests/Programs tests the
helper's side.
"""

import pytest
from support.clients import CLASS
from support.control import (
    CLOSE_SESSION, GIVE_WAY, HELLO, LOCK, OTHER_VERSION, STATUS, VERSION, Control, hello, packet,
)
from support.session import is_alive, wait_until

GIVES_WAY, STAYS = packet(GIVE_WAY), packet(OTHER_VERSION)


def other(data):
    """The packet with the version of another release."""
    return bytes([VERSION + 1]) + data[1:]


@pytest.fixture
def managed(session):
    """A session whose daemon believes that a service manager starts the next daemon."""
    bus = ["org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "UpdateActivationEnvironment"]
    variable = ["NOTIFY_SOCKET", str(session.root / "nobody")]
    session.run("busctl", "--user", "call", *bus, "a{ss}", "1", *variable, check=True)
    session.restart()
    assert session.login().returncode == 0
    session.store("behind the lock", "app", "first", CLASS, "after-first-unlock")
    return session


@pytest.fixture
def locked(managed):
    managed.lock()
    return managed


def begin(session):
    helper = Control(session)
    assert helper.ask(other(hello())) == GIVES_WAY
    return helper


def assert_it_went_on(session, process):
    assert session.daemon_pid() == process
    assert session.lookup("app", "first") == "behind the lock"


def test_it_ends_for_a_helper_that_has_opened_the_keybag(locked):
    process = locked.daemon_pid()
    helper = begin(locked)
    assert_it_went_on(locked, process)
    assert helper.ask(other(packet(GIVE_WAY))) == GIVES_WAY
    assert helper.receive() == b"", "the end of the connection is that of the process"
    wait_until(lambda: not is_alive(process), "its end")
    locked.start_daemon()
    assert locked.login().returncode == 0
    assert locked.status()["state"] == "unlocked"
    assert_it_went_on(locked, locked.daemon_pid())


@pytest.mark.parametrize("data", [
    hello(), hello(stage=CLOSE_SESSION), packet(HELLO, b"of the future"), packet(GIVE_WAY), packet(STATUS), packet(LOCK)],
    ids=["a wrong password", "the end of a session", "fields of the future", "no hello", "status", "lock"])  # fmt: skip
def test_nothing_else_ends_it(locked, data):
    """The items that are readable behind the locked screen stay readable."""
    process = locked.daemon_pid()
    helper = Control(locked)
    assert helper.ask(other(data)) == (GIVES_WAY if data[1] == HELLO else STAYS)
    helper.close()
    assert_it_went_on(locked, process)


def test_it_stays_while_the_vault_is_unlocked(managed):
    process = managed.daemon_pid()
    helper = Control(managed)
    assert helper.ask(other(hello())) == STAYS
    assert helper.is_over()
    assert_it_went_on(managed, process)


def test_it_stays_where_the_vault_was_unlocked_meanwhile(locked):
    process = locked.daemon_pid()
    helper = begin(locked)
    assert locked.login().returncode == 0 and locked.status()["state"] == "unlocked"
    assert helper.ask(other(packet(GIVE_WAY))) == STAYS
    assert_it_went_on(locked, process)


def test_a_lock_that_comes_meanwhile_ends_the_helper(locked):
    process = locked.daemon_pid()
    helper = begin(locked)
    locked.lock()
    assert helper.is_over()
    assert_it_went_on(locked, process)


def test_without_a_service_manager_it_stays(unlocked):
    """Without a service manager, no new daemon would start."""
    unlocked.lock()
    helper = Control(unlocked)
    assert helper.ask(other(hello())) == STAYS
    assert helper.is_over()
