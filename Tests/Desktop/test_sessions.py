"""Several sessions of one user: the sessions whose lock counts, the last logout, and the cost of a new daemon or version."""

import pytest
from support.machine import eventually, make
from test_booted_prompts import ASKED, LOOKUP, await_no_prompt, finish, pinentry, shown, waiting  # noqa: F401
from test_crash import KILL, await_new_daemon
from test_lock import LOCKED, assert_open, await_locked, fill

pytestmark = pytest.mark.second_try


def await_unlocked(session):
    eventually(lambda: session.status()["state"] == "unlocked", what="the unlock")
    assert_open(session)


def assert_stays_open(session):
    """A lock that does not count causes no event to wait for, so the test waits a second."""
    session.run("sleep 1")
    assert_open(session)


def test_of_two_desktops_the_last_lock_counts(alice):
    with alice.graphical_login() as first, alice.graphical_login(display=":6") as second:
        fill(first)
        first.set_locked_hint(True)
        assert_stays_open(second)
        second.set_locked_hint(True)
        await_locked(second)
        assert second.status()["locker_up"]
        # A session that comes to the screen again without a password opens nothing.
        first.set_locked_hint(False)
        eventually(lambda: not first.status()["locker_up"], what="the end of the locker")
        await_locked(first)
        # The keys belong to the user, so the password at one desktop is enough.
        assert first.authenticate(alice.password)
        await_unlocked(first)
        second.set_locked_hint(False)
        await_unlocked(second)


def test_the_end_of_the_last_open_desktop_locks_the_other(alice):
    with alice.graphical_login() as first:
        fill(first)
        with alice.graphical_login(display=":6"):
            first.set_locked_hint(True)
            assert_stays_open(first)
        await_locked(first)
        assert first.authenticate(alice.password)
        await_locked(first)  # the keys wait for the locker
        first.set_locked_hint(False)
        await_unlocked(first)


def test_a_desktop_counts_before_a_terminal_and_ssh(alice):
    alice.linger()
    with alice.login() as terminal:
        fill(terminal)
        with alice.ssh() as remote:
            with alice.graphical_login() as desktop:
                terminal.run("loginctl lock-session")
                assert_stays_open(remote)
                desktop.set_locked_hint(True)
                for session in (desktop, terminal, remote):
                    await_locked(session)
                assert desktop.authenticate(alice.password)
                desktop.set_locked_hint(False)
                await_unlocked(remote)
            # The last unlocked desktop is gone, and its person may be gone too. Only terminals count from now on.
            await_locked(terminal)
            assert remote.authenticate(alice.password)
            await_locked(terminal)  # a remote login lifts no lock
            assert terminal.authenticate(alice.password)
            await_unlocked(remote)
            remote.run("loginctl lock-session")
            await_locked(terminal)
            assert terminal.authenticate(alice.password)
            await_unlocked(remote)
        assert_open(terminal)
        daemon = alice.daemon()
    eventually(lambda: alice.status()["state"] == "sealed", what="the seal")
    assert alice.daemon() == daemon
    for name in ("default", "first"):
        assert [item["error"] for item in alice.find(app=name)["items"].values()] == [LOCKED]


@pytest.mark.parametrize("how", ["crash", "restart"])
def test_a_new_daemon_costs_one_prompt(alice, how):
    with alice.login() as first, alice.login() as second, alice.ssh() as third:
        fill(first)
        old = alice.daemon()
        first.run(KILL if how == "crash" else "systemctl --user restart latchkeyd.service")
        await_new_daemon(alice, old)
        assert first.status()["state"] == "sealed"
        first.start(LOOKUP)
        first.expect(ASKED)
        unit = shown(alice)
        for session in (second, third):
            session.start(LOOKUP)
        eventually(lambda: waiting(alice) == 3, what="the others")
        assert shown(alice) == unit
        first.send(alice.password)
        finish(first)
        assert all(ASKED not in finish(session).stdout for session in (second, third))
        await_no_prompt(alice)
        for session in (first, second, third):
            assert_open(session)


def test_new_files_leave_the_daemon_alone(alice):
    machine = alice.machine
    with alice.login() as session:
        fill(session)
        daemon = alice.daemon()
        # These are the steps of a package's scripts.
        make("install", machine.path("/"))
        machine.root("systemctl", "daemon-reload")
        machine.root("systemctl", "start", "latchkey-deviced.socket")
        session.run("systemctl --user daemon-reload")
        assert alice.daemon() == daemon
        assert_open(session)
        # The new module and helper work with the old daemon.
        session.run("latchkey lock")
        await_locked(session)
        assert session.authenticate(alice.password)
        await_unlocked(session)
        with alice.ssh() as other:
            assert_open(other)
        assert alice.daemon() == daemon
