"""kwalletmanager5 with latchkey-kwallet. kwalletmanager5 lists entries, copies an entry to the clipboard, and follows
changes by other programs.
"""

import pathlib
import subprocess

import pytest
from support.display import display  # noqa: F401
from support.kwallet import Client, serve
from support.pace import seconds
from support.peer import Peer
from support.session import wait_until

PROGRAM = pathlib.Path("/usr/bin/kwalletmanager5")
pytestmark = [
    pytest.mark.night("kwallet"), pytest.mark.second_try, pytest.mark.skipif(not PROGRAM.exists(), reason="kwalletmanager is missing")]

# The place of the folder "Passwords" in the window, for any width of the window.
FOLDER_PLACE = (60, 205)
SEARCH_PLACE = (40, 139)
CLIPBOARD = """
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, Gtk
print(Gtk.Clipboard.get(Gdk.SELECTION_CLIPBOARD).wait_for_text() or "")
"""


@pytest.fixture
def manager(session, display):  # noqa: F811
    """Opens kwalletmanager's window after a program has opened the default wallet."""
    serve(session)
    assert session.login().returncode == 0
    client = Client(session)
    client.open()
    assert client.write("Mailbox", "open sesame") == client.write("Map", {"user": "anna"}) == 0
    with open(session.root / "manager.log", "wb") as log:
        process = session.start(
            PROGRAM, "--show", env=session.environment | {"QT_QPA_PLATFORM": "xcb"}, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    found = session.run("xdotool", "search", "--sync", "--onlyvisible", "--class", PROGRAM.name, check=True)
    session.run("xdotool", "windowsize", "--sync", found.stdout.split()[0], "1000", "800", check=True)
    yield client
    process.terminate()
    process.wait(seconds(10))


def copied(session, place):
    """Copies a password of the folder by its place, counted from 1, and returns the clipboard."""
    # The star key opens the folder with all its entries. If the list does not have the focus yet, the star is a search.
    # The folder's first line is above the passwords.
    for words in (
        ["mousemove", *SEARCH_PLACE, "click", 1], ["key", "ctrl+a", "BackSpace"], ["mousemove", *FOLDER_PLACE, "click", 1],
        ["key", "asterisk"], ["key", *["Down"] * (place + 1)], ["key", "ctrl+c"],
    ):  # fmt: skip
        session.run("xdotool", *words, check=True)
    return session.run("/usr/bin/python3", "-c", CLIPBOARD).stdout.rstrip("\n")


def test_it_shows_entries(session, manager):
    wait_until(lambda: copied(session, 1) == "open sesame", "the password")
    # An entry of another client appears, and a changed entry shows its new value.
    peer = Peer(session)
    entry = {"xdg:schema": "org.qt.keychain", "server": "Passwords", "user": "Station", "type": "plaintext"}
    peer.create("by another program", entry)
    wait_until(lambda: copied(session, 2) == "by another program", "the new entry")
    peer.create("another password", entry)
    wait_until(lambda: copied(session, 2) == "another password", "the new password")
    # Behind the lock, the window shows no password. No action of the person deletes a password.
    session.lock()
    assert copied(session, 1) != "open sesame"
    assert session.locker().returncode == 0
    wait_until(lambda: copied(session, 1) == "open sesame", "the password again")
    peer.close()
