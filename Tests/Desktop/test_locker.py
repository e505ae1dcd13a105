"""A real locker: i3lock, started by xss-lock, typed into."""

import pytest
from machine import eventually


@pytest.fixture
def desktop(alice):
    """A graphical session with a display and xss-lock."""
    with alice.graphical_login() as session:
        session.run("Xvfb :5 -screen 0 640x480x24 -nolisten tcp >/dev/null 2>&1 &")
        eventually(lambda: session.run("xdotool getdisplaygeometry 2>/dev/null", check=False).returncode == 0, 20)
        session.run("xss-lock -- i3lock -n >/dev/null 2>&1 &")
        session.store("of default", app="default")
        yield session
        session.run("pkill i3lock; pkill xss-lock; pkill Xvfb", check=False)


def locker_runs(session):
    return session.run("pgrep -x i3lock", check=False).returncode == 0


def type_password(session, password):
    session.run(f"xdotool type --delay 30 '{password}' && xdotool key Return")


def test_i3lock_with_xss_lock(desktop):
    assert desktop.lookup(app="default") == "of default"
    # xss-lock subscribes after its start: ask until the locker is there.
    eventually(lambda: desktop.run("loginctl lock-session; sleep 0.5") and locker_runs(desktop), 15, "i3lock")
    eventually(lambda: desktop.status()["state"] == "locked", what="the eviction")
    assert desktop.status()["locker_up"]
    assert desktop.secret(app="default") == "org.freedesktop.Secret.Error.IsLocked"
    desktop.run("sleep 1")  # until it has grabbed the keyboard

    type_password(desktop, "wrong-one")
    desktop.run("sleep 4")
    assert locker_runs(desktop)
    assert desktop.status()["state"] == "locked"

    type_password(desktop, "sesame-1")
    eventually(lambda: not locker_runs(desktop), 15, "the end of i3lock")
    eventually(lambda: desktop.status()["state"] == "unlocked", what="the unlock")
    assert desktop.lookup(app="default") == "of default"
