"""A locked session: the items that it can read, and the events that lift the lock."""

import pytest
from support.machine import eventually

LOCKED = "org.freedesktop.Secret.Error.IsLocked"


@pytest.fixture
def session(alice):
    """A terminal session with one item of each class that a lock treats differently."""
    with alice.login() as session:
        fill(session)
        yield session


@pytest.fixture
def desktop(alice):
    """A graphical session with the same items as the terminal session."""
    with alice.graphical_login() as session:
        fill(session)
        yield session


def fill(session):
    session.store("of default", app="default")
    session.store("of unlocked", accessible="when-unlocked", app="unlocked")
    session.store("of first", accessible="after-first-unlock", app="first")
    session.store("of always", accessible="always", app="always")


def assert_open(session):
    assert session.status()["state"] == "unlocked"
    for name in ("default", "unlocked", "first", "always"):
        assert session.secret(app=name) == f"of {name}"


def await_locked(session):
    eventually(lambda: session.status()["state"] == "locked", what="the lock")
    for name in ("default", "unlocked"):
        found = session.find(app=name)
        assert found["unlocked"] == []  # found but locked, so the answer is never empty
        assert [item.get("error") for item in found["items"].values()] == [LOCKED]
    for name in ("first", "always"):
        assert session.secret(app=name) == f"of {name}"
    status = session.status()
    assert status["first_unlocked"]
    assert status["lock_reasons"] != []


def test_lock_signal_locks_and_a_locker_brings_back(session):
    assert_open(session)
    session.run("loginctl lock-session")
    await_locked(session)
    assert not session.status()["locker_up"]
    assert session.authenticate("sesame-1")
    eventually(lambda: session.status()["state"] == "unlocked", what="the unlock")
    assert_open(session)


def test_a_wrong_password_at_the_locker_brings_nothing_back(session):
    session.run("loginctl lock-session")
    await_locked(session)
    assert not session.authenticate("not the password")
    await_locked(session)


def test_unlock_signal_alone_opens_nothing(session):
    session.run("loginctl lock-session")
    await_locked(session)
    session.run("loginctl unlock-session")
    await_locked(session)


@pytest.mark.parametrize("where", ["session", "desktop"])
def test_locked_hint_locks_while_it_stands(where, request):
    session = request.getfixturevalue(where)
    session.set_locked_hint(True)
    await_locked(session)
    assert session.status()["locker_up"]
    session.set_locked_hint(False)
    eventually(lambda: not session.status()["locker_up"], what="the end of the locker")
    await_locked(session)  # the locker ended without a password


@pytest.mark.parametrize("where", ["session", "desktop"])
def test_keys_are_staged_while_the_locker_is_up(where, request):
    session = request.getfixturevalue(where)
    session.set_locked_hint(True)
    await_locked(session)
    assert session.authenticate("sesame-1")
    await_locked(session)
    session.set_locked_hint(False)
    eventually(lambda: session.status()["state"] == "unlocked", what="the unlock")
    assert_open(session)


def test_staged_keys_are_not_kept_for_the_next_lock(session):
    session.set_locked_hint(True)
    await_locked(session)
    assert session.authenticate("sesame-1")
    session.run("loginctl lock-session")
    session.set_locked_hint(True)
    eventually(lambda: session.status()["state"] == "locked", what="the lock")


def test_a_greeter_of_root_brings_back(desktop, alice):
    desktop.set_locked_hint(True)
    await_locked(desktop)
    assert not alice.greeter_unlock("not the password")
    assert alice.greeter_unlock()
    desktop.set_locked_hint(False)
    eventually(lambda: desktop.status()["state"] == "unlocked", what="the unlock")
    assert_open(desktop)


def test_ssh_lifts_no_lock(desktop, alice):
    desktop.set_locked_hint(True)
    await_locked(desktop)
    with alice.ssh():
        await_locked(desktop)
        desktop.set_locked_hint(False)
        await_locked(desktop)


@pytest.mark.parametrize("service", ["sudo", "su", "sshd", "cron", "polkit-1"])
def test_services_that_lift_no_lock(desktop, service):
    desktop.machine.path("/etc/pam.d/polkit-1").write_text("@include common-auth\n")
    desktop.run("loginctl lock-session")
    await_locked(desktop)
    desktop.authenticate("sesame-1", service)
    await_locked(desktop)


def test_authentication_outside_the_locked_session_lifts_nothing(desktop, alice):
    desktop.run("loginctl lock-session")
    await_locked(desktop)
    assert alice.authenticate()
    await_locked(desktop)


@pytest.mark.parametrize(
    "path, interface",
    [
        ("/org/gnome/ScreenSaver", "org.gnome.ScreenSaver"),
        ("/org/freedesktop/ScreenSaver", "org.freedesktop.ScreenSaver"),
        ("/ScreenSaver", "org.freedesktop.ScreenSaver"),
    ],
)
def test_screen_saver_signal_locks(desktop, path, interface):
    desktop.run("rm -f /tmp/saver; mkfifo /tmp/saver")
    desktop.run(f"/usr/local/lib/latchkey-test/saver {path} {interface} </tmp/saver & exec 3>/tmp/saver")
    await_locked(desktop)
    eventually(lambda: desktop.status()["locker_up"], what="the locker")
    desktop.run("echo >&3")
    eventually(lambda: not desktop.status()["locker_up"], what="the end of the locker")
    await_locked(desktop)
    assert desktop.authenticate("sesame-1")
    eventually(lambda: desktop.status()["state"] == "unlocked", what="the unlock")
    desktop.run("exec 3>&-; rm /tmp/saver; wait")


def test_a_screen_saver_that_vanishes_is_no_locker_and_opens_nothing(desktop):
    desktop.run("busctl --user emit /ScreenSaver org.freedesktop.ScreenSaver ActiveChanged b true")
    await_locked(desktop)
    eventually(lambda: not desktop.status()["locker_up"], what="the end of the locker")
    await_locked(desktop)
    assert desktop.authenticate("sesame-1")
    eventually(lambda: desktop.status()["state"] == "unlocked", what="the unlock")


def test_lock_command_locks(session):
    session.run("latchkey lock")
    await_locked(session)
    assert session.authenticate("sesame-1")
    eventually(lambda: session.status()["state"] == "unlocked", what="the unlock")


def test_a_lock_is_done_when_the_next_call_comes(session):
    # No reader may be quicker than the lock: `first` is read after it.
    for _ in range(5):
        session.run("loginctl lock-session")
        eventually(lambda: session.status()["state"] == "locked", timeout=1.0, what="the lock")
        assert session.authenticate("sesame-1")
        eventually(lambda: session.status()["state"] == "unlocked", what="the unlock")
