"""Changes of a collection's passphrase by gnome-keyring's interface, which Seahorse uses. The call returns a prompt."""

import pytest
from support.peer import COLLECTION, DEFAULT, LOGIN, NO_SUCH_OBJECT, NOT_SUPPORTED, ROOT, SERVICE, SESSION_COLLECTION, GLib
from support.person import Person, ask_on_terminals
from support.portal import portal_collection, retrieve

PASSWORD = "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface"
CLIENT = """
import sys
import secretstorage
from secretstorage.util import DBusAddressWrapper, exec_prompt
bus = secretstorage.dbus_init()
prompt, = DBusAddressWrapper("/org/freedesktop/secrets", {interface!r}, bus).call("ChangeWithPrompt", "o", {path!r})
print("ended:", exec_prompt(bus, prompt))
"""
CHANGED, NOT_CHANGED = "ended: (False, ('s', ''))", "ended: (True, ('s', ''))"


@pytest.fixture
def opened(session):
    ask_on_terminals(session)
    assert session.login().returncode == 0
    return session


@pytest.fixture
def work(opened, peer):
    """A collection without a passphrase, with an item."""
    label = {COLLECTION + ".Label": GLib.Variant("s", "Work")}
    path, _ = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", label, "")
    peer.create("kept", {"in": "work"}, collection=path)
    return path


def change(session, path):
    return Person(session, "/usr/bin/python3", "-c", CLIENT.format(interface=PASSWORD, path=path))


def choose(person, passphrase):
    person.expect('Choose a passphrase for the collection "Work"').type(passphrase)
    return person.expect("again").type(passphrase).last_line()


def unlock(session, passphrase):
    """Whether the passphrase opens the collection. On a busy machine the answer may come too late, so the function
    tries again."""
    for _ in range(10):
        done = session.run("latchkey", "unlock", "--stdin", "--collection", "Work", input=passphrase)
        if done.returncode == 0 or "not the collection's passphrase" in done.stderr:
            return done.returncode == 0
    raise AssertionError(done.stderr)


def assert_passphrase(session, peer, path, right, wrong):
    """Locks the collection. Then only the right passphrase must open the collection."""
    peer.call(ROOT, SERVICE, "Lock", "(ao)", [path])
    assert not unlock(session, wrong) and unlock(session, right)
    assert session.lookup("in", "work") == "kept"


@pytest.mark.parametrize("path", [LOGIN, DEFAULT])
@pytest.mark.parametrize("state", ["unlocked", "locked"])
def test_of_the_login_the_person_is_told_how(opened, path, state):
    if state == "locked":
        opened.lock()
    person = change(opened, path).expect('Your login password unlocks the collection "Login"')
    person.expect("Enter, or Ctrl-C")
    assert person.type("").last_line() == NOT_CHANGED
    assert opened.status()["state"] == state


def test_it_says_where(opened):
    person = change(opened, LOGIN).expect("desktop's settings (Users), or type 'passwd' in a terminal")
    assert person.press("c").last_line() == NOT_CHANGED


def test_a_collection_gets_a_passphrase(opened, peer, work):
    assert choose(change(opened, work), "sesame") == CHANGED
    assert_passphrase(opened, peer, work, "sesame", "other")


def test_and_another_one(opened, peer, work):
    opened.run("latchkey", "passphrase", "set", "--stdin", "Work", input="sesame", check=True)
    assert choose(change(opened, work), "other") == CHANGED
    assert_passphrase(opened, peer, work, "other", "sesame")


def test_behind_its_own_lock_the_present_one_comes_first(opened, peer, work):
    opened.run("latchkey", "passphrase", "set", "--stdin", "Work", input="sesame", check=True)
    peer.call(ROOT, SERVICE, "Lock", "(ao)", [work])
    person = change(opened, work)
    person.expect('Enter the passphrase of the collection "Work"').type("sesame")
    assert choose(person, "other") == CHANGED
    assert_passphrase(opened, peer, work, "other", "sesame")


def test_where_the_vault_is_locked_the_login_password_comes_first(opened, peer, work):
    opened.lock()
    person = change(opened, work).expect("login password").type(opened.password)
    assert choose(person, "sesame") == CHANGED
    assert_passphrase(opened, peer, work, "sesame", "other")


def test_dismissed_it_stays(opened, peer, work):
    opened.run("latchkey", "passphrase", "set", "--stdin", "Work", input="sesame", check=True)
    person = change(opened, work).expect("Choose a passphrase").press("c")
    assert person.last_line() == NOT_CHANGED
    assert_passphrase(opened, peer, work, "sesame", "other")


def test_what_is_refused_says_why(opened, peer, work):
    secret = (peer.plain, b"", b"sesame", "text/plain")
    calls = [("ChangeWithMasterPassword", "(o(oayays)(oayays))", work, secret, secret),
             ("CreateWithMasterPassword", "(a{sv}(oayays))", {}, secret),
             ("UnlockWithMasterPassword", "(o(oayays))", work, secret)]
    for method, *arguments in calls:
        failure = peer.failure(ROOT, PASSWORD, method, *arguments)
        assert failure.name == NOT_SUPPORTED and "takes no password from programs" in failure.message
    failure = peer.failure(ROOT, PASSWORD, "ChangeWithPrompt", "(o)", SESSION_COLLECTION)
    assert failure.name == NOT_SUPPORTED and "in memory only" in failure.message
    for path in (ROOT, work + "9", work + "/1"):
        assert peer.error(ROOT, PASSWORD, "ChangeWithPrompt", "(o)", path) == NO_SUCH_OBJECT


def test_the_portal_s_gets_none(opened, peer):
    """A passphrase would make sandboxed applications hang until a person types it."""
    secret = retrieve(peer, "org.example.One")
    portal = portal_collection(peer)
    failure = peer.failure(ROOT, PASSWORD, "ChangeWithPrompt", "(o)", portal)
    assert failure.name == NOT_SUPPORTED and "sandboxed applications" in failure.message
    name = portal.rpartition("/")[2]
    done = opened.run("latchkey", "passphrase", "set", "--stdin", name, input="sesame")
    assert done.returncode != 0 and "sandboxed applications" in done.stderr
    assert retrieve(peer, "org.example.One") == secret
