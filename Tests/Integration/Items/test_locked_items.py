"""An explicit lock of one item. No client gets the secret until a client unlocks the item or its collection, or until a
login.
"""

import pytest
from support.clients import BEHIND, CLASS, CLASSES, bring_back, bring_to
from support.items import FAILED, latchkey, place, told
from support.keychain import LOCKED, delete, find
from support.peer import (
    COLLECTION,
    DEFAULT,
    IS_LOCKED,
    ITEM,
    LOGIN,
    NO_SUCH_OBJECT,
    NOT_SUPPORTED,
    NOTHING,
    ROOT,
    SERVICE,
    SESSION_COLLECTION,
    Peer,
)  # fmt: skip
from support.portal import portal_collection, retrieve
from test_keychain import answer_prompts, give_password
from test_states import refusal


def lock(peer, *paths):
    return peer.call(ROOT, SERVICE, "Lock", "(ao)", list(paths))


def lock_error(peer, *paths):
    return peer.error(ROOT, SERVICE, "Lock", "(ao)", list(paths))


@pytest.fixture
def answered(session):
    """A client whose prompts a person answers with the login password, and the number of prompts."""
    assert session.login().returncode == 0
    asked = answer_prompts(session, give_password(session))
    opened = Peer(session)
    yield opened, asked
    opened.close()


def check_that_it_is_locked(peer, item, attributes):
    assert peer.get(item, ITEM, "Locked") is True
    assert peer.search(attributes) == ([], [item])
    assert peer.read_error(item) == peer.write_error(item, "new") == IS_LOCKED
    assert peer.call(ROOT, SERVICE, "GetSecrets", "(aoo)", [item], peer.plain) == {}
    assert peer.create_error("new", attributes).name == IS_LOCKED
    assert refusal(lambda: peer.set(item, ITEM, "Label", "s", "New")) == IS_LOCKED
    assert refusal(lambda: peer.set(item, ITEM, "Attributes", "a{ss}", {"a": "b"})) == IS_LOCKED
    assert refusal(lambda: peer.set(item, ITEM, "Attributes", "a{ss}", {CLASS: "always"})) == IS_LOCKED
    assert peer.error(item, ITEM, "Delete") == IS_LOCKED
    assert peer.error(LOGIN, COLLECTION, "Delete") == IS_LOCKED
    screen_locked, (found,), secrets = find(peer, attributes, session=peer.plain)
    assert not screen_locked and found.state == LOCKED and secrets == {}
    assert peer.unlock(item)[1] != NOTHING


@pytest.mark.parametrize("name", CLASSES)
def test_an_item_is_locked_by_itself(session, peer, name):
    attributes = {"lock": name}
    item = peer.create("secret", {**attributes, CLASS: name}, label="Kept")
    other = peer.create("other", {"another": name, CLASS: name})
    assert lock(peer, item) == ([item], NOTHING)
    assert lock(peer, item.replace(LOGIN, DEFAULT), item) == ([item.replace(LOGIN, DEFAULT), item], NOTHING)
    with_others = Peer(session)
    for client in (peer, with_others):
        check_that_it_is_locked(client, item, attributes)
    with_others.close()
    # The label and attributes stay readable, and other items stay unlocked.
    assert peer.get(item, ITEM, "Label") == "Kept" and peer.get(item, ITEM, "Attributes") == attributes
    assert peer.get(LOGIN, COLLECTION, "Locked") is False and session.status()["locked_collections"] == 0
    assert peer.read(other) == b"other"
    assert peer.call(other, ITEM, "Delete") == NOTHING
    assert peer.read(peer.create("new", {"new": "1"})) == b"new"
    # A lock and unlock of the screen keep the explicit lock. A login ends the explicit lock.
    bring_to("locked", session, peer)
    bring_back("locked", session, peer)
    check_that_it_is_locked(peer, item, attributes)
    assert session.login().returncode == 0
    assert peer.search(attributes) == ([item], []) and peer.read(item) == b"secret"


@pytest.mark.parametrize("lift", ["latchkey unlock", "logout and login", "restart and login"])
def test_what_lifts_it(session, peer, lift):
    item = peer.create("secret", {"lock": "1"})
    assert lock(peer, item) == ([item], NOTHING)
    if lift == "latchkey unlock":
        done = session.run("latchkey", "unlock", "--stdin", input=session.password + "\n")
        assert done.returncode == 0, done.stderr
    else:
        if lift == "logout and login":
            assert session.logout().returncode == 0
        else:
            session.restart()
            peer._plain = None
        assert peer.get(item, ITEM, "Locked") is True
        assert session.login().returncode == 0
    assert peer.search({"lock": "1"}) == ([item], []) and peer.read(item) == b"secret"


@pytest.mark.parametrize("state", ["locked", BEHIND])
def test_an_item_that_is_locked_while_the_vault_is(session, peer, state):
    """The item stays locked when the vault is unlocked."""
    item = peer.create("secret", {"lock": "1"})
    bring_to(state, session, peer)
    assert lock(peer, item) == ([item], NOTHING)
    bring_back(state, session, peer)
    check_that_it_is_locked(peer, item, {"lock": "1"})
    assert session.login().returncode == 0
    assert peer.read(item) == b"secret"


def test_a_prompt_for_it_or_its_collection_lifts_it(answered):
    """The Rust crate makes these calls in item::should_lock_and_unlock. libsecret makes the same calls to replace a
    locked item."""
    peer, asked = answered
    item = peer.create("secret", {"lock": "1"})
    for times, path in enumerate((item, LOGIN, DEFAULT, item.replace(LOGIN, DEFAULT)), 1):
        assert lock(peer, item) == ([item], NOTHING)
        opened, prompt = peer.unlock(path)
        assert opened == [] and prompt != NOTHING
        assert peer.read_error(item) == IS_LOCKED
        assert peer.prompt(prompt) == (False, "ao", [path])
        assert peer.get(item, ITEM, "Locked") is False and peer.read(item) == b"secret"
        assert peer.unlock(item, LOGIN) == ([item, LOGIN], NOTHING)
        assert asked() == times
    assert peer.call(item, ITEM, "Delete") == NOTHING


def test_a_locked_item_in_a_locked_collection(answered):
    peer, asked = answered
    item = peer.create("secret", {"lock": "1"})
    assert lock(peer, item, LOGIN) == ([item, LOGIN], NOTHING)
    _, prompt = peer.unlock(item)
    assert peer.prompt(prompt) == (False, "ao", [item])
    assert peer.read(item) == b"secret" and peer.get(LOGIN, COLLECTION, "Locked") is False
    assert asked() == 1


def test_what_cannot_be_locked_is_said(session, peer):
    item = peer.create("secret", {"lock": "1"})
    own = peer.create("short", {"lock": "2"}, collection=SESSION_COLLECTION)
    assert retrieve(peer, "org.example.One")
    portal = portal_collection(peer)
    (kept,) = peer.get(portal, COLLECTION, "Items")
    for path in (SESSION_COLLECTION, ROOT + "/aliases/session", own, portal, kept):
        assert lock_error(peer, path) == NOT_SUPPORTED
    gone = peer.create("gone", {"lock": "3"})
    peer.call(gone, ITEM, "Delete")
    for path in (ROOT, NOTHING, "/no/where", LOGIN + "/99999", ROOT + "/collection/c99", ROOT + "/aliases/none", gone):
        assert lock_error(peer, path) == NO_SUCH_OBJECT
    # The call locks the item, although it cannot lock the other objects.
    assert lock(peer) == ([], NOTHING)
    assert lock(peer, SESSION_COLLECTION, gone, item, portal) == ([item], NOTHING)
    assert peer.read_error(item) == IS_LOCKED and peer.read(own) == b"short"
    assert retrieve(peer, "org.example.One")


def test_before_there_is_a_vault(session):
    client = Peer(session)
    for path in (LOGIN, DEFAULT):
        assert lock(client, path) == ([path], NOTHING)
    assert lock_error(client, LOGIN + "/1") in (NO_SUCH_OBJECT, IS_LOCKED)
    client.close()


def test_on_the_command_line(session, peer):
    item = peer.create("secret", {"lock": "1"}, label="L")
    assert lock(peer, item) == ([item], NOTHING)
    [one] = told(session, "find", "--json", "lock=1")
    assert one["state"] == "locked" and "locked explicitly" in one["reason"]
    for command in (["get"], ["edit", "--label", "New"], ["rm"]):
        done = latchkey(session, *command, "--no-prompt", place(item), code=FAILED)
        assert "locked explicitly" in done.stderr and "latchkey unlock" in done.stderr
    # A backup contains only readable items.
    done = session.run("latchkey", "unlock", "--stdin", input=session.password + "\n")
    assert done.returncode == 0, done.stderr
    assert latchkey(session, "get", "--no-prompt", place(item)).stdout == b"secret"
    [one] = told(session, "find", "--json", "lock=1")
    assert one["state"] == "open" and one["reason"] is None


def test_a_deletion_by_primary_key_needs_no_unlock(session, peer):
    item = peer.create("secret", {"lock": "1"})
    assert lock(peer, item) == ([item], NOTHING)
    assert delete(peer, *find(peer, {"lock": "1"}).items) == 1
    assert peer.search({"lock": "1"}) == ([], [])
