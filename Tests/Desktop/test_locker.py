"""A real locker: i3lock, started by xss-lock, typed into."""

import pytest
from machine import eventually
from screen import Screen


@pytest.fixture
def desktop(alice):
    """A graphical session with one item."""
    with alice.graphical_login() as session:
        session.store("of default", app="default")
        yield session


@pytest.fixture
def screen(alice, desktop):
    """Its display, with xss-lock."""
    screen = Screen(alice, desktop)
    yield screen
    screen.close()


def test_i3lock_with_xss_lock(desktop, screen):
    assert desktop.lookup(app="default") == "of default"
    screen.lock()
    eventually(lambda: desktop.status()["state"] == "locked", what="the eviction")
    assert desktop.secret(app="default") == "org.freedesktop.Secret.Error.IsLocked"
    desktop.run("sleep 1")  # until it has grabbed the keyboard

    screen.type("wrong-one")
    desktop.run("sleep 4")
    assert screen.is_locked()
    assert desktop.status()["state"] == "locked"

    screen.enter("sesame-1")
    eventually(lambda: desktop.status()["state"] == "unlocked", what="the unlock")
    assert desktop.lookup(app="default") == "of default"
