"""The window on real desktops: opened from the desktop's menu, used by keys, and read by the accessibility bus. Pictures of it are kept in
`.build/pictures`. Tests/Window has each page of it, on an X server."""

import re

import pytest
from support.appwindow import ReadWindow
from support.machine import REPOSITORY, eventually
from support.memory import scan

SECRET = "open sesame 7341"
LABEL = "Savings bank"


@pytest.fixture(params=["gnome", "plasma"])
def any_desktop(request):
    return request.getfixturevalue(f"{request.param}_desktop")


@pytest.fixture
def window(desktop):
    """A reader of the window, which the desktop opens from its menu."""
    desktop.store(SECRET, app=LABEL)
    desktop.open("latchkey", "latchkey-app")
    window = ReadWindow(desktop.start)
    yield window
    window.close()
    desktop.machine.root("pkill", "-x", "latchkey-app", check=False)


def has_secret(desktop):
    """Whether the secret is in the memory of the window's process."""
    pid = desktop.machine.root("pgrep", "-u", desktop.account.name, "-x", "latchkey-app").stdout
    return bool(scan(desktop.machine.host_pid(pid), {"secret": SECRET.encode()}))


def test_the_lock_of_the_screen_makes_the_window_forget_its_secret(desktop, window):
    window.wait_for(LABEL)
    desktop.picture("window")
    desktop.type("savings")
    window.wait_for("readable now")
    desktop.press("Tab")
    desktop.press("Return")
    window.wait_for("Attributes")
    window.press("Show Secret")
    window.wait_for(SECRET)
    desktop.picture("window-secret")
    assert has_secret(desktop)

    desktop.lock()
    desktop.await_state("locked")
    window.wait_without(SECRET)
    window.wait_for("locked with the session")
    # GTK draws no frame behind the locked screen.
    eventually(lambda: not has_secret(desktop), 20, "the end of the secret in the window's memory")

    desktop.unlock()
    desktop.await_state("unlocked")
    window.wait_for("Readable now.")
    assert not window.shows(SECRET)
    desktop.picture("window-unlocked")
    window.press("Show Secret")
    window.wait_for(SECRET)


def test_each_symbol_of_the_window_is_in_the_icon_theme(desktop):
    """GNOME's icon theme lost some between Debian 12 and 13. GTK shows a broken picture then."""
    sources = (REPOSITORY / "Sources/Programs/latchkey-app").rglob("*.swift")
    symbols = {name for file in sources for name in re.findall(r'"([a-z-]+-symbolic)"', file.read_text())}
    assert len(symbols) > 10
    theme = desktop.machine.root("find", "/usr/share/icons/Adwaita", "-name", "*-symbolic.svg", "-printf", "%f\n").stdout.split()
    assert symbols - {name.removesuffix(".svg") for name in theme} == set()
