"""A finger at the real lock screens, with the real fprintd and libfprint's virtual reader.

GNOME Shell has gdm ask by gdm-fingerprint, as root: one touch opens the screen and the vault. Plasma's lock screen asks by
kde-fingerprint, as the person: a touch opens the screen alone, and the password opens both."""

import pytest
from support.machine import eventually
from support.virtualreader import RIGHT, Reader

SECRET = "of the bank"


@pytest.fixture
def any_desktop(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def reader(desktop):
    """A reader that knows a finger, the line of the lock screen, and the protector; the password was given since."""
    reader = Reader(desktop.machine)
    reader.enroll(RIGHT)
    desktop.machine.root("latchkey", "switch", "--to", "latchkey", "--finger")
    desktop.store(SECRET, app="bank")
    protector(desktop, "add", "--without-tpm", "--yes")
    relock(desktop)
    yield reader
    protector(desktop, "remove")
    desktop.machine.root("latchkey", "switch", "--back", "--finger")
    reader.close()


def protector(desktop, what, *options):
    words = " ".join(["latchkey", "protector", what, "finger", *options, "--stdin"])
    desktop.run("sh", "-c", f"printf %s '{desktop.account.password}' | {words}")


def relock(desktop):
    """Locks the screen, and unlocks it by the password, after which a finger may open the vault."""
    desktop.lock()
    desktop.unlock()
    desktop.await_state("unlocked")
    eventually(lambda: desktop.status()["finger"] == "in-memory", 20, "the hold")


def touch(desktop, reader):
    """Locks the screen, and opens it by a touch."""
    desktop.lock()
    desktop.await_state("locked")
    desktop.wake()
    is_open = lambda: not desktop.is_locked()
    # The reader may hang up on a finger that it has read.
    eventually(lambda: reader.is_read(RIGHT) or is_open(), 20, "a lock screen that waits for a finger")
    eventually(is_open, 20, "the open screen")


@pytest.mark.parametrize("any_desktop", ["gnome_desktop"], indirect=True)
def test_one_touch_opens_gnomes_screen_and_the_vault(desktop, reader):
    _, amiss = desktop.doctor()
    assert not any(name.startswith("finger") for name in amiss), amiss
    for _ in range(2):
        touch(desktop, reader)
        desktop.await_state("unlocked")
        assert desktop.secret(app="bank") == SECRET
    desktop.picture("after-touch")


@pytest.mark.parametrize("any_desktop", ["plasma_desktop"], indirect=True)
def test_a_touch_opens_plasmas_screen_alone_and_the_password_both(desktop, reader):
    touch(desktop, reader)
    assert desktop.status()["state"] == "locked"
    relock(desktop)
    assert desktop.secret(app="bank") == SECRET
