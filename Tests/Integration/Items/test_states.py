"""The promises of every state of the vault to clients. No client may have to wait."""

import os
import time

import pytest
from gi.repository import GLib
from support.clients import BEHIND, CLASS, CLASSES, EVERY_LOCK, LOCKED, MAIL, MAIL_WORDS, SYNC, bring_back, bring_to, tool
from support.peer import (
    ABSENT, COLLECTION, DEFAULT, IS_LOCKED, ITEM, LOGIN, NOTHING, PROMPT, ROOT, SERVICE, SESSION_COLLECTION, Failure, Peer,
)
from support.session import wait_until


def test_unlocked(peer):
    item = peer.create("open sesame", MAIL, label="Mail")
    assert item.startswith(LOGIN + "/")
    assert peer.search(MAIL) == ([item], [])
    assert peer.search({"service": "mail"}) == ([item], [])
    assert peer.search({"service": "Mail"}) == ([], [])
    assert peer.search({"service": "mail", "more": ""}) == ([], [])
    assert peer.read(item) == b"open sesame"
    assert peer.get(LOGIN, COLLECTION, "Locked") is False
    assert peer.unlock(LOGIN, item) == ([LOGIN, item], NOTHING)
    assert peer.unlock(DEFAULT) == ([DEFAULT], NOTHING)
    assert peer.unlock(LOGIN + "/4711", "/else/where") == ([], NOTHING)
    # If a client names a path twice, the answer has it once.
    assert peer.unlock(item, LOGIN, item, DEFAULT, LOGIN) == ([item, LOGIN, DEFAULT], NOTHING)
    told = peer.all(item, ITEM)
    assert told["Label"] == "Mail" and told["Attributes"] == MAIL and told["Locked"] is False
    assert 0 < told["Created"] <= told["Modified"] <= time.time() + 1


@pytest.mark.parametrize("state", [*LOCKED, BEHIND])
def test_locked(session, peer, state):
    item = peer.create("old", MAIL, label="Mail")
    sync = peer.create("token", SYNC | {CLASS: "after-first-unlock"})
    always = peer.create("any time", {"service": "always", CLASS: "always"})
    bring_to(state, session, peer)

    # The search returns the item as locked. After an empty answer, programs would replace the old secret.
    assert peer.search(MAIL) == ([], [item])
    assert peer.call(DEFAULT, COLLECTION, "SearchItems", "(a{ss})", MAIL) == [item]
    assert item in peer.get(LOGIN, COLLECTION, "Items")
    told = peer.all(item, ITEM)
    assert told["Locked"] is True
    readable = state != "sealed"
    assert told["Label"] == ("Mail" if readable else "")
    assert told["Attributes"] == (MAIL if readable else {})

    # No call reveals the secret.
    assert peer.read_error(item) == IS_LOCKED
    assert item not in peer.call(ROOT, SERVICE, "GetSecrets", "(aoo)", [item], peer.plain)
    assert peer.read(always) == b"any time"
    if readable:
        assert peer.read(sync) == b"token"
    else:
        assert peer.read_error(sync) == IS_LOCKED

    # No person is here, so each prompt ends as dismissed. Behind a locker the collection counts as unlocked, and a
    # prompt for an item waits for the person.
    behind = state == BEHIND
    assert peer.get(LOGIN, COLLECTION, "Locked") is not behind
    opened, prompt = peer.unlock(LOGIN)
    if behind:
        assert (opened, prompt) == ([LOGIN], NOTHING)
    else:
        assert opened == [] and prompt != NOTHING
        assert peer.prompt(prompt) == (True, "ao", [])
        assert peer.error(prompt, PROMPT, "Prompt", "(s)", "") in ABSENT
    opened, prompt = peer.unlock(always, item)
    assert opened == [always]
    if behind:
        peer.listen()
        peer.call(prompt, PROMPT, "Prompt", "(s)", "")
        assert "Completed" not in {signal[2] for signal in peer.listen(0.3)}
        peer.call(prompt, PROMPT, "Dismiss")
        assert peer.wait_for_member("Completed", prompt) == (True, [])
    else:
        assert peer.prompt(prompt) == (True, "ao", [])
    opened, prompt = peer.unlock(item)
    peer.call(prompt, PROMPT, "Dismiss")
    assert peer.wait_for_member("Completed", prompt) == (True, [])

    # No call replaces the old secret.
    assert peer.create_error("new", MAIL).name == IS_LOCKED
    assert peer.write_error(item, "new") == IS_LOCKED
    with pytest.raises(Failure, match="IsLocked"):
        peer.set(item, ITEM, "Attributes", "a{ss}", MAIL | {CLASS: "always"})

    # A client can store new items behind the lock.
    chat = {"service": "chat"}
    if readable:
        new = peer.create("said behind the lock", chat)
        assert peer.read_error(new) == IS_LOCKED
        assert peer.search(chat) == ([], [new])
        assert peer.create_error("said again", chat).name == IS_LOCKED
        other = peer.create("device", {"service": "device", CLASS: "when-unlocked-this-device-only"})
        assert peer.read_error(other) == IS_LOCKED
        assert peer.read(peer.create("sync", {"service": "sync 2", CLASS: "after-first-unlock"})) == b"sync"
        third = {"service": "third", CLASS: "when-passcode-set-this-device-only"}
        assert peer.create_error("passcode", third).name == IS_LOCKED
    else:
        assert peer.create_error("too early", chat).name == IS_LOCKED
        assert peer.search(chat) == ([], [])

    bring_back(state, session, peer)
    assert peer.read(item) == b"old"
    assert peer.all(item, ITEM)["Attributes"] == MAIL
    assert peer.call(always, ITEM, "Delete") == NOTHING
    if readable:
        assert peer.read(new) == b"said behind the lock"
        assert peer.read(other) == b"device"
    assert peer.create("new", MAIL) == item
    assert peer.read(item) == b"new"


@pytest.mark.parametrize("state", [*EVERY_LOCK, BEHIND])
def test_a_locked_item_is_neither_changed_nor_deleted(session, peer, state):
    """Clients cannot change or delete a locked item, not even one that was stored behind the lock. Clients can change
    and delete a readable item, even behind the locked screen."""
    items = {name: peer.create("old", {"of": name, CLASS: name}, label="Old") for name in CLASSES}
    bring_to(state, session, peer)
    new = peer.create("new", {"of": "new"}) if state in ("locked", BEHIND) else None
    for item in [*items.values(), *([new] if new else [])]:
        alias = item.replace(LOGIN, DEFAULT)
        if not peer.get(item, ITEM, "Locked"):
            peer.set(item, ITEM, "Label", "s", "Renamed")
            peer.set(alias, ITEM, "Attributes", "a{ss}", {"of": "renamed"})
            assert peer.search({"of": "renamed"}) == ([item], [])
            assert peer.call(alias, ITEM, "Delete") == NOTHING
            assert peer.wait_for(lambda signal: signal[2:] == ("ItemDeleted", (item,)), "ItemDeleted")[0] == LOGIN
            continue
        assert refusal(lambda: peer.set(item, ITEM, "Label", "s", "Renamed")) == IS_LOCKED
        for attributes in ({"more": "1"}, {"more": "1", CLASS: "always"}):
            assert refusal(lambda: peer.set(item, ITEM, "Attributes", "a{ss}", attributes)) == IS_LOCKED
        assert peer.error(alias, ITEM, "Delete") == peer.error(item, ITEM, "Delete") == IS_LOCKED
    assert peer.search({"more": "1"}) == ([], [])
    readable = {"locked": CLASSES[3:], BEHIND: CLASSES[3:], "sealed": CLASSES[5:], "collection locked": []}[state]
    bring_back(state, session, peer)
    for name, item in items.items():
        if name in readable:
            assert peer.read_error(item) in ABSENT
        else:
            assert (peer.get(item, ITEM, "Label"), peer.get(item, ITEM, "Attributes")) == ("Old", {"of": name})
            assert peer.read(item) == b"old"
            assert peer.search({CLASS: name}) == ([], [item] if item != items["when-unlocked"] or not new else [new, item])
    # After an unlock, the deletion works.
    assert peer.call(items["when-unlocked"], ITEM, "Delete") == NOTHING


@pytest.mark.parametrize("state", [*EVERY_LOCK, BEHIND])
def test_a_locked_collection_is_neither_changed_nor_deleted(session, peer, state):
    label = peer.get(LOGIN, COLLECTION, "Label")
    item = peer.create("secret", MAIL)
    bring_to(state, session, peer)
    for path in (LOGIN, DEFAULT):
        assert refusal(lambda: peer.set(path, COLLECTION, "Label", "s", "Renamed")) == IS_LOCKED
        assert peer.error(path, COLLECTION, "Delete") == IS_LOCKED
    named = {COLLECTION + ".Label": GLib.Variant("s", "Renamed")}
    assert peer.error(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", named, "default") == IS_LOCKED
    # The call succeeds if it changes nothing.
    for properties in ({}, {COLLECTION + ".Label": GLib.Variant("s", label)}):
        assert peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", properties, "default") == (LOGIN, NOTHING)
    bring_back(state, session, peer)
    assert peer.get(LOGIN, COLLECTION, "Label") == label and peer.read(item) == b"secret"
    peer.set(LOGIN, COLLECTION, "Label", "s", "Renamed")
    assert peer.call(LOGIN, COLLECTION, "Delete") == NOTHING


def test_an_item_of_another_device_can_be_deleted_once_all_is_unlocked(session, peer):
    """No unlock opens an item of another device. While the vault is locked, the item looks locked like all items of its
    class."""
    names = [name for name in CLASSES if name.endswith("this-device-only")]
    items = [peer.create("secret", {"of": name, CLASS: name}) for name in names]
    session.stop_daemon()
    (session.vault / "device.key").unlink()
    session.start_daemon()
    assert [peer.error(item, ITEM, "Delete") for item in items[:-1]] == [IS_LOCKED] * 3
    assert session.login().returncode == 0
    session.lock()
    assert [peer.error(item, ITEM, "Delete") for item in items[:2]] == [IS_LOCKED] * 2
    assert peer.call(items[2], ITEM, "Delete") == NOTHING
    assert session.locker().returncode == 0
    for item in [*items[:2], items[3]]:
        assert peer.read_error(item) not in (IS_LOCKED, *ABSENT)
        assert peer.call(item, ITEM, "Delete") == NOTHING


def refusal(action):
    """The name of the error of a call that is refused."""
    with pytest.raises(Failure) as refused:
        action()
    return refused.value.name


def test_a_locker_that_goes_without_a_password(session, peer):
    """Behind the locker, the collection counted as unlocked, because no person could answer. Now a person can."""
    item = peer.create("secret", MAIL)
    bring_to("behind a locker", session, peer)
    assert peer.get(LOGIN, COLLECTION, "Locked") is False
    assert peer.unlock(LOGIN) == ([LOGIN], NOTHING)
    peer.listen()
    peer.signals.clear()
    peer.activate_screen_saver(False)
    assert peer.wait_for_property("Locked", LOGIN) is True
    assert peer.get(LOGIN, COLLECTION, "Locked") is True
    assert peer.read_error(item) == IS_LOCKED
    opened, prompt = peer.unlock(LOGIN)
    assert opened == [] and prompt != NOTHING
    assert session.locker().returncode == 0
    assert peer.get(LOGIN, COLLECTION, "Locked") is False


def test_an_index_that_cannot_be_opened_is_no_empty_answer(session, peer):
    """The home is on another machine, before the login. The daemon cannot read the index, and an empty answer would be
    wrong."""
    item = peer.create("secret", MAIL)
    assert session.logout().returncode == 0
    session.stop_daemon()
    key = session.vault / "device.key"
    content = key.read_bytes()
    key.unlink()
    session.start_daemon()
    for path, interface in ((ROOT, SERVICE), (LOGIN, COLLECTION), (DEFAULT, COLLECTION)):
        for words in (MAIL, {"service": "never stored"}):
            failure = peer.failure(path, interface, "SearchItems", "(a{ss})", words)
            assert failure.name not in ABSENT, failure
    assert peer.create_error("new", MAIL).name not in ABSENT
    for path in (DEFAULT, DEFAULT + "/1"):
        assert peer.error(ROOT, SERVICE, "Unlock", "(ao)", [path]) == "org.latchkey.Error.Unavailable"
    # Objects that are named by path still get a prompt, because a login would open them.
    opened, prompt = peer.unlock(LOGIN, item)
    assert opened == [] and prompt != NOTHING
    assert tool(session, "store", "--label=Mail", *MAIL_WORDS, input="new").returncode != 0
    # The test restores the device key.
    session.stop_daemon()
    if key.exists():
        key.unlink()
    key.write_bytes(content)
    os.chown(key, session.uid, session.gid)
    key.chmod(0o600)
    session.start_daemon()
    assert peer.search(MAIL) == ([], [item])
    assert session.login().returncode == 0
    peer._plain = None
    assert peer.read(item) == b"secret"


def test_a_prompt_succeeds_where_the_vault_was_opened_meanwhile(session, peer):
    item = peer.create("secret", MAIL)
    session.lock()
    _, prompt = peer.unlock(LOGIN, item, LOGIN)
    assert session.locker().returncode == 0
    assert peer.prompt(prompt) == (False, "ao", [LOGIN, item])


@pytest.mark.parametrize("state", ["unlocked", "locked", "sealed"])
def test_collections_that_were_deleted_are_absent(session, peer, state):
    """No prompt could bring the collections back."""
    item = peer.create("secret", MAIL)
    peer.call(LOGIN, COLLECTION, "Delete")
    if state != "unlocked":
        bring_to(state, session, peer)
    assert peer.unlock(LOGIN, DEFAULT, item, DEFAULT + "/1") == ([], NOTHING)
    assert peer.unlock(SESSION_COLLECTION) == ([SESSION_COLLECTION], NOTHING)


def test_before_creation(session):
    client = Peer(session)
    # The error says that the collection is locked. After an error about a missing collection, clients would create one.
    assert client.failure(DEFAULT, "org.freedesktop.DBus.Properties", "GetAll", "(s)", COLLECTION).name == IS_LOCKED
    assert client.create_error("early", MAIL).name == IS_LOCKED
    opened, prompt = client.unlock(LOGIN, DEFAULT, LOGIN + "/1")
    assert opened == [] and prompt != NOTHING
    assert tool(session, "lookup", *MAIL_WORDS).returncode == 1
    assert tool(session, "store", "--label=Early", *MAIL_WORDS, input="early").returncode != 0
    assert session.login().returncode == 0
    assert client.search(MAIL) == ([], [])


@pytest.mark.parametrize("lift", ["login", "latchkey unlock", "restart and login"])
def test_a_locked_collection(session, peer, lift):
    item = peer.create("secret", MAIL)
    sync = peer.create("sync", SYNC | {CLASS: "after-first-unlock"})
    always = peer.create("always", {"service": "always", CLASS: "always"})
    made, _ = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", {}, "")
    other = peer.create("elsewhere", {"service": "other"}, collection=made)
    peer.listen()
    peer.signals.clear()
    paths = [DEFAULT, "/no/where", LOGIN + "/99999", DEFAULT]
    assert peer.call(ROOT, SERVICE, "Lock", "(ao)", paths) == ([DEFAULT], NOTHING)

    def check_that_it_is_locked():
        assert peer.get(LOGIN, COLLECTION, "Locked") is True
        assert peer.search(MAIL) == ([], [item])
        for path in (item, sync, always):
            assert peer.read_error(path) == IS_LOCKED
            assert peer.all(path, ITEM)["Locked"] is True
        assert peer.create_error("new", {"service": "new"}).name == IS_LOCKED
        _, prompt = peer.unlock(LOGIN)
        if session.status()["locker_up"]:
            peer.call(prompt, PROMPT, "Dismiss")
        else:
            assert peer.prompt(prompt) == (True, "ao", [])

    check_that_it_is_locked()
    assert peer.property_changes(LOGIN)[0]["Locked"] is True
    # The signal about the other collection's new item may still arrive.
    peer.wait_for(lambda signal: signal[2:] == ("CollectionChanged", (LOGIN,)), "the change of the locked collection")
    assert peer.read(other) == b"elsewhere"

    # A lock and unlock of the screen keep the collection locked.
    peer.activate_screen_saver(True)
    wait_until(lambda: session.status()["locker_up"], "the locker")
    check_that_it_is_locked()
    assert session.locker().returncode == 0
    peer.activate_screen_saver(False)
    wait_until(lambda: session.status()["state"] == "unlocked", "the vault to be unlocked")
    check_that_it_is_locked()
    assert peer.read(other) == b"elsewhere"

    peer.listen()
    peer.signals.clear()
    if lift == "login":
        assert session.login().returncode == 0
    elif lift == "latchkey unlock":
        done = session.run("latchkey", "unlock", "--stdin", input=session.password + "\n")
        assert done.returncode == 0, done.stderr
    else:
        session.restart()
        assert session.status()["locked_collections"] == 1
        peer._plain = None
        assert peer.get(LOGIN, COLLECTION, "Locked") is True
        assert session.login().returncode == 0
    assert peer.get(LOGIN, COLLECTION, "Locked") is False
    assert peer.property_changes(LOGIN)[0]["Locked"] is False
    assert [peer.read(path) for path in (item, sync, always, other)] == [b"secret", b"sync", b"always", b"elsewhere"]


@pytest.mark.parametrize("state", [*LOCKED, BEHIND])
def test_a_collection_that_is_locked_while_the_vault_is(session, peer, state):
    """The collection stays locked when the vault is unlocked, until a login."""
    item = peer.create("secret", MAIL)
    bring_to(state, session, peer)
    for path in (LOGIN, DEFAULT):
        assert peer.call(ROOT, SERVICE, "Lock", "(ao)", [path]) == ([path], NOTHING)
    assert peer.get(LOGIN, COLLECTION, "Locked") is True
    if state != "sealed":
        bring_back(state, session, peer)
        assert session.status()["locked_collections"] == 1
        assert peer.get(LOGIN, COLLECTION, "Locked") is True
        assert peer.read_error(item) == IS_LOCKED
    assert session.login().returncode == 0
    assert peer.get(LOGIN, COLLECTION, "Locked") is False
    assert peer.read(item) == b"secret"


def test_locked_is_told_when_keys_come_and_go(session, peer):
    for lock, unlock in ((session.lock, session.locker), (session.logout, session.login)):
        peer.listen()
        peer.signals.clear()
        lock()
        assert peer.property_changes(LOGIN)[0]["Locked"] is True
        peer.signals.clear()
        assert unlock().returncode == 0
        assert peer.property_changes(LOGIN)[0]["Locked"] is False


def test_the_session_collection(session, peer):
    words = {"lives": "shortly"}
    item = peer.create("short", words, collection=SESSION_COLLECTION)
    assert item.startswith(SESSION_COLLECTION + "/")
    peer.call(ROOT, SERVICE, "Lock", "(ao)", [LOGIN, SESSION_COLLECTION])
    session.lock()
    peer.activate_screen_saver(True)
    wait_until(lambda: session.status()["locker_up"], "the locker")
    assert peer.get(SESSION_COLLECTION, COLLECTION, "Locked") is False
    assert peer.unlock(SESSION_COLLECTION, item) == ([SESSION_COLLECTION, item], NOTHING)
    assert peer.search(words) == ([item], [])
    assert peer.read(item) == b"short"
    peer.write(item, "shorter")
    second = peer.create("second", {"lives": "2"}, collection=f"{ROOT}/aliases/session")
    assert peer.read(second) == b"second"
    assert session.logout().returncode == 0
    assert peer.search(words) == ([], [])
    assert peer.read_error(item) in ABSENT
    assert peer.get(SESSION_COLLECTION, COLLECTION, "Items") == []
    third = peer.create("third", {"lives": "3"}, collection=SESSION_COLLECTION)
    assert peer.read(third) == b"third"
    peer.activate_screen_saver(False)


def test_a_search_is_answered_when_the_vault_came_back_late(session, peer):
    """The home is mounted after the start of the daemon."""
    peer.create("secret", MAIL)
    session.stop_daemon()
    away = session.vault.with_name("away")
    session.vault.rename(away)
    session.start_daemon()
    assert session.status()["state"] == "sealed"
    away.rename(session.vault)
    assert session.status()["items"] == 1
    assert peer.search({"service": "nothing"}) == ([], [])
    assert peer.search(MAIL)[1] != []


def test_lock_service_locks_every_collection(session, peer):
    """gnome-keyring has this method, but the specification does not."""
    item = peer.create("secret", MAIL)
    second = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", {}, "")[0]
    peer.listen()
    peer.signals.clear()
    assert peer.call(ROOT, SERVICE, "LockService") is None
    assert [peer.get(path, COLLECTION, "Locked") for path in (LOGIN, second, SESSION_COLLECTION)] == [True, True, False]
    assert peer.wait_for_property("Locked", LOGIN) is True
    assert peer.read_error(item) == IS_LOCKED
    assert peer.call(ROOT, SERVICE, "LockService") is None, "once more is no error"
    assert session.login().returncode == 0
    assert peer.read(item) == b"secret"
