"""Python's keyring with its SecretService backend."""

import pytest
from support.clients import BEHIND, EVERY_LOCK, answer_behind_a_locker, bring_back, bring_to, script
from support.peer import ITEM
from support.session import wait_until

pytestmark = pytest.mark.second_try

KEYRING = """
import keyring, keyring.backends.SecretService
keyring.set_keyring(keyring.backends.SecretService.Keyring())
def credential(user):
    found = keyring.get_credential("mail", user)
    return found and [found.username, found.password]
"""
# The backend's names of the attributes.
ATTRIBUTES = {"service": "mail", "username": "demo"}


def test_keyring(session, peer):
    told = script(
        session,
        KEYRING
        + """
tell("priority", lambda: keyring.get_keyring().priority)
tell("nothing", lambda: [keyring.get_password("mail", "demo"), credential("demo"), credential(None)])
tell("set", lambda: keyring.set_password("mail", "demo", "first \\u00e4\\u6f22"))
tell("get", lambda: keyring.get_password("mail", "demo"))
tell("again", lambda: keyring.set_password("mail", "demo", "second"))
tell("other", lambda: keyring.set_password("mail", "other", ""))
tell("empty", lambda: keyring.get_password("mail", "other"))
tell("credential", lambda: credential("demo"))
tell("delete other", lambda: keyring.delete_password("mail", "other"))
tell("any credential", lambda: credential(None))
""",
    )
    assert told["priority"] == 5
    assert told["nothing"] == [None, None, None]
    assert told["set"] is None and told["get"] == "first ä漢"
    assert told["again"] is None and told["other"] is None
    assert told["empty"] == ""
    assert told["credential"] == ["demo", "second"]
    assert told["delete other"] is None and told["any credential"] == ["demo", "second"]
    [item] = peer.search(ATTRIBUTES)[0]
    assert peer.all(item, ITEM)["Label"] == "Password for 'demo' on 'mail'"
    told = script(
        session,
        KEYRING
        + """
tell("delete", lambda: keyring.delete_password("mail", "demo"))
tell("get", lambda: keyring.get_password("mail", "demo"))
tell("again", lambda: keyring.delete_password("mail", "demo"))
""",
    )
    assert told["delete"] is None and told["get"] is None
    assert told["again"] == "! PasswordDeleteError: No such password!"
    assert peer.search(ATTRIBUTES) == ([], [])


# secret-tool is tried in every state in `make test`.
@pytest.mark.parametrize("state", [
    state if state == "locked" else pytest.param(state, marks=pytest.mark.night("clients")) for state in EVERY_LOCK])
def test_keyring_while_locked(session, peer, state):
    script(session, KEYRING + 'tell("set", lambda: keyring.set_password("mail", "demo", "old"))')
    bring_to(state, session, peer)
    told = script(
        session,
        KEYRING
        + """
tell("get", lambda: keyring.get_password("mail", "demo"))
tell("credential", lambda: credential("demo"))
tell("any credential", lambda: credential(None))
tell("set", lambda: keyring.set_password("mail", "demo", "new"))
tell("other", lambda: keyring.set_password("mail", "other", "stored while locked"))
tell("delete", lambda: keyring.delete_password("mail", "demo"))
""",
    )
    # By an error, a program can tell a locked collection from a missing item.
    assert told["get"].startswith("! KeyringLocked")
    assert told["credential"].startswith("! KeyringLocked")
    assert told["any credential"].startswith("! KeyringLocked")
    assert told["set"].startswith("! ")
    assert told["other"].startswith("! KeyringLocked")
    assert told["delete"].startswith("! KeyringLocked")
    bring_back(state, session, peer)
    told = script(
        session,
        KEYRING
        + """
tell("get", lambda: keyring.get_password("mail", "demo"))
tell("other", lambda: keyring.get_password("mail", "other"))
""",
    )
    assert told == {"get": "old", "other": None}
    assert len(peer.search(ATTRIBUTES)[0]) == 1


def test_keyring_behind_a_locker(session, peer):
    script(session, KEYRING + 'tell("set", lambda: keyring.set_password("mail", "demo", "old"))')
    get = KEYRING + 'tell("get", lambda: keyring.get_password("mail", "demo"))'
    assert answer_behind_a_locker(session, peer, lambda: script(session, get)) == {"get": "old"}
    bring_to(BEHIND, session, peer)
    told = script(
        session,
        KEYRING
        + """
tell("other", lambda: keyring.set_password("mail", "other", "stored while locked"))
tell("delete", lambda: keyring.delete_password("mail", "demo"))
""",
    )
    assert told["other"] is None and told["delete"].startswith("! LockedException")
    bring_back(BEHIND, session, peer)
    assert script(session, get) == {"get": "old"}
    [item] = peer.search({"username": "other"})[0]
    assert peer.read(item) == b"stored while locked"


BOTH = """
from keyring.backends import SecretService, libsecret
plain, generic = SecretService.Keyring(), libsecret.Keyring()
"""


@pytest.mark.parametrize("first, second", [("plain", "generic"), ("generic", "plain")])
def test_the_other_backend_reads_and_replaces_the_same_item(session, peer, first, second):
    """One backend stores without a schema, the other with libsecret's generic schema. gnome-keyring treats both items
    as the same."""
    told = script(
        session,
        BOTH
        + f"""
tell("set", lambda: {first}.set_password("both", "demo", "first"))
tell("get", lambda: {second}.get_password("both", "demo"))
tell("again", lambda: {second}.set_password("both", "demo", "second"))
tell("changed", lambda: {first}.get_password("both", "demo"))
""",
    )
    assert told == {"set": None, "get": "first", "again": None, "changed": "second"}
    [item] = peer.search({"service": "both", "username": "demo"})[0]
    # The item keeps the attributes of the last backend that wrote it.
    assert ("xdg:schema" in peer.all(item, ITEM)["Attributes"]) == (second == "generic")
    told = script(session, BOTH + f'tell("delete", lambda: {first}.delete_password("both", "demo"))')
    # Only the libsecret backend returns whether it deleted an item.
    assert told["delete"] in (None, True) and peer.search({"service": "both"}) == ([], [])


def test_of_several_logins_the_one_that_was_changed_last_is_found(session, peer):
    """Two programs save the same login, and only one attribute differs."""
    login = {"service": "several", "username": "demo"}
    older = peer.create("old", login | {"application": "A"})
    newer = peer.create("new", login | {"application": "B"})
    get = KEYRING + 'tell("get", lambda: keyring.get_password("several", "demo"))'
    assert peer.search(login)[0] == [newer, older] and script(session, get)["get"] == "new"
    changed = peer.get(newer, ITEM, "Modified")
    wait_until(lambda: peer.write(older, "newest") or peer.get(older, ITEM, "Modified") > changed, "the next second")
    assert peer.search(login)[0] == [older, newer] and script(session, get)["get"] == "newest"
    listed = session.run("latchkey", "get", "service=several").stderr.splitlines()
    assert [line.split()[0] for line in listed[1:3]] == ["login/" + path.rsplit("/", 1)[1] for path in (older, newer)]
