"""Seahorse with a screen reader. Seahorse lists the items, and follows changes by other programs."""

import json
import pathlib
import subprocess

import pytest
from support.clients import bring_to
from support.display import display  # noqa: F401
from support.pace import seconds
from support.peer import COLLECTION, ITEM, ROOT, SERVICE, GLib
from support.session import wait_until

pytestmark = [pytest.mark.night("clients"), pytest.mark.second_try]

# For each line, which is a list, prints the matching parts of the screen. The accessibility bus describes the screen.
READER = """
import json, sys, warnings
warnings.simplefilter("ignore")
import gi
gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib
Atspi.init()

def shown(node):
    try:
        if node is None or not node.get_state_set().contains(Atspi.StateType.SHOWING) and node.get_parent() is not None:
            if node is None or node.get_role_name() not in ("desktop frame", "application"):
                return
        yield node
        for index in range(min(node.get_child_count(), 100)):
            yield from shown(node.get_child_at_index(index))
    except GLib.Error:
        return  # gone meanwhile

def roots():
    return shown(Atspi.get_desktop(0))

def text(node):
    content = node.get_text_iface()
    return Atspi.Text.get_text(content, 0, -1) if content else node.get_name()

def labels():
    return [text(node) for node in roots() if node.get_role_name() in ("label", "text", "password text", "entry")]

def rows(name):
    for row in roots():
        if row.get_role_name() == "list item" and any(name in text(node).split("\\n") for node in shown(row)):
            yield row

def choose(name):
    for row in rows(name):
        row.get_component_iface().grab_focus()
        return row.get_parent().get_selection_iface().select_child(row.get_index_in_parent())
    return False

def press(name):
    for node in roots():
        if node.get_name() == name and node.get_action_iface() is not None:
            return node.get_action_iface().do_action(0)
    return False

def last(role, name):
    # The last one is in the window that opened last.
    found = None
    for node in roots():
        if node.get_role_name() == role and name in (text(node), node.get_name()):
            if node.get_state_set().contains(Atspi.StateType.SENSITIVE):
                found = node
    return found

def centre(role, name):
    node = last(role, name)
    if node is not None:
        area = node.get_component_iface().get_extents(Atspi.CoordType.SCREEN)
        return [area.x + area.width // 2, area.y + area.height // 2]

def write(role, name, content):
    node = last(role, name)
    return node is not None and node.get_editable_text_iface().set_text_contents(content)

def clipboard():
    gi.require_version("Gtk", "3.0")
    from gi.repository import Gdk, Gtk
    return Gtk.Clipboard.get(Gdk.SELECTION_CLIPBOARD).wait_for_text()

def tree():
    return [[node.get_role_name(), text(node)] for node in roots()]

for line in sys.stdin:
    name, *arguments = json.loads(line)
    try:
        answer = globals()[name](*arguments)
    except GLib.Error as error:
        answer = None
    print(json.dumps(answer), flush=True)
"""


class Seahorse:
    """The program Seahorse, and a reader of its windows."""

    def __init__(self, session, display):
        self._session, self._display = session, display
        # The session's bus starts no other service than the accessibility bus.
        session.offer("org.a11y.Bus", pathlib.Path("/usr/share/dbus-1/services/org.a11y.Bus.service").read_text())
        self.log = session.root / "seahorse.log"
        with open(self.log, "wb") as log:
            self._program = session.start(
                "seahorse", stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=session.environment | {"GTK_MODULES": "gail:atk-bridge", "GSETTINGS_BACKEND": "memory"},
            )
        self._reader = session.start(
            "/usr/bin/python3", "-c", READER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        window = session.run("xdotool", "search", "--sync", "--onlyvisible", "--class", "seahorse", check=True)
        # The window must be wide enough to show collections and items side by side.
        session.run("xdotool", "windowsize", "--sync", window.stdout.split()[0], "1200", "900", check=True)

    def close(self):
        for process in (self._reader, self._program):
            process.terminate()
            process.wait(seconds(10))

    def ask(self, *question):
        self._reader.stdin.write(json.dumps(question) + "\n")
        self._reader.stdin.flush()
        return json.loads(self._reader.stdout.readline())

    def shows(self, text):
        """Whether one line of a label on the screen is this text."""
        return any(text in label.split("\n") for label in self.ask("labels") or [])

    def wait_for(self, text):
        wait_until(lambda: self.shows(text), f"{text!r}")

    def wait_without(self, text):
        wait_until(lambda: not self.shows(text), f"the end of {text!r}")

    def choose(self, name):
        wait_until(lambda: self.ask("choose", name), f"the row {name!r}")

    def press(self, *keys):
        self._display.press(*keys)

    def has(self, role, name):
        return [role, name] in (self.ask("tree") or [])

    def click(self, role, name):
        """Clicks with the mouse. A press through the accessibility bus would block that bus until the dialog closes."""
        found = []

        def is_still():
            found.append(self.ask("centre", role, name))
            return found[-1] and found[-2:-1] == found[-1:]

        wait_until(is_still, f"the {role} {name!r}")
        x, y = found[-1]
        self._session.run("xdotool", "mousemove", x, y, "click", "1", check=True)

    def write(self, role, name, text):
        """Replaces the text of a field."""
        wait_until(lambda: self.ask("write", role, name, text), f"the {role} {name!r}")


@pytest.fixture
def open_seahorse(session, display):  # noqa: F811
    """Starts Seahorse when the test calls the result."""
    opened = []

    def start():
        opened.append(Seahorse(session, display))
        return opened[0]

    yield start
    for seahorse in opened:
        seahorse.close()


def test_it_follows_other_clients(session, peer, open_seahorse):
    mail = peer.create("open sesame", {"service": "mail"}, label="Mail box")
    seahorse = open_seahorse()
    seahorse.choose("Login")
    seahorse.wait_for("Mail box")
    session.store("token", "service", "sync", label="Sync token")
    seahorse.wait_for("Sync token")
    peer.set(mail, ITEM, "Label", "s", "Post box")
    seahorse.wait_for("Post box")
    assert not seahorse.shows("Mail box")
    session.run("secret-tool", "clear", "service", "sync", check=True)
    seahorse.wait_without("Sync token")
    label = {COLLECTION + ".Label": GLib.Variant("s", "Work")}
    work, _ = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", label, "")
    seahorse.wait_for("Work")
    seahorse.choose("Work")
    peer.create("within", {"service": "within"}, label="Within", collection=work)
    seahorse.wait_for("Within")
    seahorse.choose("Login")
    seahorse.wait_without("Within")
    peer.call(work, COLLECTION, "Delete")
    seahorse.wait_without("Work")
    assert seahorse.log.read_text() == ""


def properties(seahorse, name):
    """Opens the properties of an item, and returns the texts of the dialog."""
    seahorse.choose(name)
    seahorse.press("Return")
    wait_until(lambda: ["dialog", "Item Properties"] in (seahorse.ask("tree") or []), "the dialog")


def password(seahorse):
    """The dots that Seahorse shows for the password."""
    return "".join(text for role, text in seahorse.ask("tree") or [] if role == "password text")


def test_it_shows_an_item(peer, open_seahorse):
    peer.create("open sesame", {"service": "mail"}, label="Mail box")
    seahorse = open_seahorse()
    seahorse.choose("Login")
    seahorse.wait_for("Mail box")
    properties(seahorse, "Mail box")
    wait_until(lambda: len(password(seahorse)) == len("open sesame"), "the password")
    assert seahorse.log.read_text() == ""


def test_it_follows_locking_and_unlocking(session, peer, open_seahorse):
    peer.create("open sesame", {"service": "mail"}, label="Mail box")
    bring_to("locked", session, peer)
    seahorse = open_seahorse()
    seahorse.choose("Login")
    assert not seahorse.shows("Mail box")
    assert session.locker().returncode == 0
    seahorse.wait_for("Mail box")
    properties(seahorse, "Mail box")
    wait_until(lambda: len(password(seahorse)) == len("open sesame"), "the password")
    assert seahorse.log.read_text() == ""


# ---- buttons of Seahorse ----

# Confirms every window. Answers with the login password or, for other questions, with a passphrase. Writes down the
# texts of the windows.
AGREEING = """#!/bin/sh
echo OK
while read -r what; do
  case $what in
    SETDESC*) asked=$what; printf '%s\\n' "$what" >>{said}; echo OK;;
    SETREPEAT*) echo ERR 1;;
    GETPIN*)
      case $asked in
        *"login password"*) echo "D $(cat {password})";;
        *) echo D sesame;;
      esac
      echo OK;;
    *) echo OK;;
  esac
done
"""


@pytest.fixture
def said(session, display):  # noqa: F811
    """The texts of the prompts. The person confirms every prompt."""
    said = session.root / "said"
    said.touch()
    said.chmod(0o666)
    password = session.root / "answer"
    password.write_text(session.password)
    password.chmod(0o644)
    pinentry = session.root / "bin/pinentry"
    pinentry.write_text(AGREEING.format(said=said, password=password))
    pinentry.chmod(0o755)
    # A desktop gives its display to the bus at its start.
    session.run("dbus-update-activation-environment", f"DISPLAY={display.name}", check=True)
    session.restart()
    assert session.login().returncode == 0
    return said


@pytest.fixture
def work(said, peer):
    """A second collection with an item."""
    label = {COLLECTION + ".Label": GLib.Variant("s", "Work")}
    path, _ = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", label, "")
    peer.create("within", {"in": "work"}, label="Within", collection=path)
    return path


def menu(seahorse, collection, name):
    """Chooses an entry from the menu of a collection."""
    seahorse.choose(collection)
    seahorse.press("Menu")
    wait_until(lambda: ["menu item", name] in (seahorse.ask("tree") or []), f"the menu's {name!r}")
    assert seahorse.ask("press", name)


def test_change_password_of_the_login_says_how(session, said, work, open_seahorse):
    seahorse = open_seahorse()
    menu(seahorse, "Login", "Change Password")
    wait_until(lambda: "passwd" in said.read_text(), "the advice")
    assert "Your login password unlocks the collection" in said.read_text()
    # Seahorse shows no error.
    assert not any(role in ("alert", "dialog") for role, _ in seahorse.ask("tree"))
    assert session.status()["state"] == "unlocked" and seahorse.log.read_text() == ""


def test_change_password_gives_a_passphrase(session, peer, work, said, open_seahorse):
    seahorse = open_seahorse()
    menu(seahorse, "Work", "Change Password")
    wait_until(lambda: "Choose a passphrase" in said.read_text() or "again" in said.read_text(), "the question")

    asks = ["pgrep", "-U", str(session.uid), "-f", f"latchkey-prompt.*{session.root}"]
    wait_until(lambda: not session.run(*asks).stdout, "the end of the prompt")
    peer.call(ROOT, SERVICE, "Lock", "(ao)", [work])
    done = session.run("latchkey", "unlock", "--stdin", "--collection", "Work", input="sesame")
    assert done.returncode == 0 or "not the collection's passphrase" not in done.stderr, done.stderr
    assert "already unlocked" not in done.stderr
    assert not any(role in ("alert", "dialog") for role, _ in seahorse.ask("tree"))
    assert seahorse.log.read_text() == ""


def test_lock_and_unlock(session, peer, work, said, open_seahorse):
    seahorse = open_seahorse()
    menu(seahorse, "Work", "Lock")
    wait_until(lambda: peer.get(work, COLLECTION, "Locked"), "the lock")
    seahorse.wait_without("Within")
    # The login unlocks the collection too.
    session.logout()
    session.login()
    wait_until(lambda: not peer.get(work, COLLECTION, "Locked"), "the unlock")
    seahorse.choose("Work")
    seahorse.wait_for("Within")
    assert seahorse.log.read_text() == ""


def test_set_as_default(peer, work, open_seahorse):
    seahorse = open_seahorse()
    menu(seahorse, "Work", "Set as default")
    wait_until(lambda: peer.call(ROOT, SERVICE, "ReadAlias", "(s)", "default") == work, "the default")
    assert seahorse.log.read_text() == ""


CONFIRMS = "I understand that all items will be permanently deleted."
LOCKED = "it is locked: unlock the session with your password"


def choose_from_menu(seahorse, row, name):
    """Chooses an entry that opens a dialog from a row's menu."""
    seahorse.choose(row)
    seahorse.press("Menu")
    seahorse.click("menu item", name)


@pytest.mark.parametrize("state", ["locked", "collection"])
def test_unlock(state, session, peer, work, said, open_seahorse):
    if state == "collection":
        peer.call(ROOT, SERVICE, "Lock", "(ao)", [work])
    else:
        bring_to(state, session, peer)
    seahorse = open_seahorse()
    seahorse.choose("Work")
    seahorse.click("push button", "Unlock")
    seahorse.wait_for("Within")
    assert "Enter your login password" in said.read_text() and "seahorse" in said.read_text()
    assert seahorse.log.read_text() == ""


def test_delete_of_an_item(peer, work, open_seahorse):
    seahorse = open_seahorse()
    seahorse.choose("Work")
    seahorse.wait_for("Within")
    choose_from_menu(seahorse, "Within", "Delete")
    seahorse.click("push button", "Delete")
    seahorse.wait_without("Within")
    assert peer.get(work, COLLECTION, "Items") == []
    assert seahorse.log.read_text() == ""


def test_delete_of_a_collection(peer, work, open_seahorse):
    seahorse = open_seahorse()
    seahorse.choose("Work")
    seahorse.wait_for("Within")
    choose_from_menu(seahorse, "Work", "Delete")
    seahorse.click("check box", CONFIRMS)
    seahorse.click("push button", "Delete")
    wait_until(lambda: work not in peer.get(ROOT, SERVICE, "Collections"), "the end of the collection")


@pytest.mark.parametrize("state", ["locked", "collection"])
def test_delete_of_a_locked_collection_is_refused(state, session, peer, work, open_seahorse):
    if state == "collection":
        peer.call(ROOT, SERVICE, "Lock", "(ao)", [work])
    else:
        bring_to(state, session, peer)
    seahorse = open_seahorse()
    choose_from_menu(seahorse, "Work", "Delete")
    seahorse.click("check box", CONFIRMS)
    seahorse.click("push button", "Delete")
    seahorse.wait_for("Couldn’t delete")
    assert seahorse.shows(LOCKED)
    assert work in peer.get(ROOT, SERVICE, "Collections")


def test_changes_of_an_item(peer, work, open_seahorse):
    seahorse = open_seahorse()
    seahorse.choose("Work")
    seahorse.wait_for("Within")
    properties(seahorse, "Within")
    wait_until(lambda: len(password(seahorse)) == len("within"), "the password")
    seahorse.write("text", "Within", "Changed")
    seahorse.write("password text", password(seahorse), "another secret")
    seahorse.click("push button", "Close")
    seahorse.click("push button", "OK")
    [item] = peer.get(work, COLLECTION, "Items")
    wait_until(lambda: peer.get(item, ITEM, "Label") == "Changed", "the label")
    wait_until(lambda: peer.read(item) == b"another secret", "the secret")
    assert seahorse.log.read_text() == ""


def test_changes_of_an_item_locked_meanwhile_are_refused(peer, work, open_seahorse):
    seahorse = open_seahorse()
    seahorse.choose("Work")
    seahorse.wait_for("Within")
    properties(seahorse, "Within")
    wait_until(lambda: len(password(seahorse)) == len("within"), "the password")
    peer.call(ROOT, SERVICE, "Lock", "(ao)", [work])
    seahorse.wait_without("Within")
    seahorse.write("text", "", "Changed")
    seahorse.click("push button", "Close")
    seahorse.click("push button", "OK")
    seahorse.wait_for("Couldn’t set description.")
    assert seahorse.shows(LOCKED)


@pytest.mark.parametrize("place", ["menu", "properties"])
def test_copy(place, work, open_seahorse):
    seahorse = open_seahorse()
    seahorse.choose("Work")
    seahorse.wait_for("Within")
    if place == "menu":
        choose_from_menu(seahorse, "Within", "Copy secret")
    else:
        properties(seahorse, "Within")
        wait_until(lambda: len(password(seahorse)) == len("within"), "the password")
        seahorse.click("push button", "Copy")
    wait_until(lambda: seahorse.ask("clipboard") == "within", "the secret in the clipboard")
    assert seahorse.log.read_text() == ""


def test_properties_of_a_collection(peer, work, open_seahorse):
    seahorse = open_seahorse()
    choose_from_menu(seahorse, "Work", "Properties")
    wait_until(lambda: seahorse.has("dialog", "Keyring properties"), "the dialog")
    seahorse.click("push button", "Set as default")
    wait_until(lambda: peer.call(ROOT, SERVICE, "ReadAlias", "(s)", "default") == work, "the default")
    seahorse.click("push button", "Lock")
    wait_until(lambda: peer.get(work, COLLECTION, "Locked"), "the lock")
    seahorse.click("push button", "Unlock")
    wait_until(lambda: not peer.get(work, COLLECTION, "Locked"), "the unlock")
    assert seahorse.log.read_text() == ""


def test_a_new_collection(peer, said, open_seahorse):
    seahorse = open_seahorse()
    seahorse.choose("Login")
    seahorse.press("ctrl+n")
    seahorse.click("label", "Password keyring")
    seahorse.write("text", "", "Travel")
    seahorse.click("push button", "Add")
    wait_until(
        lambda: "Travel" in [peer.get(path, COLLECTION, "Label") for path in peer.get(ROOT, SERVICE, "Collections")],
        "the collection")
    seahorse.wait_for("Travel")
    assert seahorse.log.read_text() == ""


def test_a_new_collection_of_a_locked_vault_is_refused(session, peer, said, open_seahorse):
    bring_to("locked", session, peer)
    seahorse = open_seahorse()
    seahorse.choose("Login")
    seahorse.press("ctrl+n")
    seahorse.click("label", "Password keyring")
    seahorse.write("text", "", "Travel")
    seahorse.click("push button", "Add")
    seahorse.wait_for("Couldn’t add keyring")
    assert seahorse.shows(LOCKED)


@pytest.mark.parametrize("state", ["unlocked", "locked"])
def test_a_new_item(state, session, peer, said, open_seahorse):
    if state == "locked":
        bring_to(state, session, peer)
    seahorse = open_seahorse()
    seahorse.choose("Login")
    seahorse.press("ctrl+n")
    seahorse.click("label", "Password")
    seahorse.write("text", "", "Gate")
    seahorse.write("password text", "", "open sesame")
    seahorse.click("push button", "Add")
    wait_until(lambda: session.lookup("xdg:schema", "org.gnome.keyring.Note") == "open sesame", "the item")
    seahorse.wait_for("Gate")
