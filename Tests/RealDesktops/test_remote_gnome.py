"""A GNOME desktop over the network, through GNOME's Remote Login. The person works there all day."""

import gnome
import pytest
from support.account import Account


@pytest.fixture
def any_desktop(gnome_machine):
    desktop = gnome.GNOME(Account(gnome_machine, "alice", 2001, "sesame-1"), remote=True)
    yield desktop
    desktop.close()


def test_its_screen_locks_and_unlocks_the_vault(any_desktop):
    desktop = any_desktop
    assert (desktop.session_property("Remote"), desktop.session_property("Type")) == ("yes", "wayland")
    assert desktop.status()["state"] == "unlocked"
    desktop.store("of unlocked", app="unlocked")

    desktop.lock()
    desktop.await_state("locked")
    desktop.refuse("wrong")
    assert desktop.status()["state"] == "locked"

    desktop.unlock()
    desktop.await_state("unlocked")
    assert desktop.lookup(app="unlocked") == "of unlocked"
