"""The Secret Service as its clients use it: secret-tool, libsecret, SecretStorage, a client as go-keyring is, and one
that says whatever it likes. Nothing may make any of them wait."""

import json
import time

import pytest
from gi.repository import GLib
from peer import (
    ABSENT,
    ACCESS_DENIED,
    COLLECTION,
    DEFAULT,
    INVALID,
    IS_LOCKED,
    ITEM,
    LIMIT,
    LOGIN,
    NO_SESSION,
    NOT_SUPPORTED,
    NOTHING,
    PROMPT,
    ROOT,
    SERVICE,
    SESSION,
    SESSION_COLLECTION,
    Failure,
    Peer,
    attributes_of,
    octets,
)
from session import wait_until

CLASS = "latchkey:accessible"
CLASSES = [
    "when-unlocked",
    "when-unlocked-this-device-only",
    "when-passcode-set-this-device-only",
    "after-first-unlock",
    "after-first-unlock-this-device-only",
    "always",
    "always-this-device-only",
]
# Locked without anybody at the screen, behind a locker, before the first login or after the last logout.
LOCKED = ["evicted", "behind a locker", "sealed"]
MAIL = {"service": "mail", "account": "demo"}
SYNC = {"service": "sync", "account": "demo"}
MAIL_WORDS = ["service", "mail", "account", "demo"]
SYNC_WORDS = ["service", "sync", "account", "demo"]


@pytest.fixture
def peer(session):
    """A client in a session of its own, with the vault unlocked."""
    assert session.login().returncode == 0
    opened = Peer(session)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def _shared_peer(shared_session):
    assert shared_session.login().returncode == 0
    opened = Peer(shared_session)
    yield opened
    opened.close()


@pytest.fixture
def open_peer(_shared_peer):
    """A client of the session that all tests of this file share, in which the vault stays unlocked."""
    _shared_peer.listen()
    _shared_peer.signals.clear()
    return _shared_peer


def bring_to(state, session, peer):
    """Out of the unlocked state; `peer` is the locker where there is one."""
    if state == "evicted":
        session.lock()
    elif state == "behind a locker":
        peer.activate_screen_saver(True)
        wait_until(lambda: session.status()["locker_up"], "the locker")
    elif state == "sealed":
        assert session.logout().returncode == 0
    expected = "sealed" if state == "sealed" else "locked"
    assert session.status()["state"] == expected


def bring_back(state, session, peer):
    """To the unlocked state, as a person would."""
    if state == "sealed":
        assert session.login().returncode == 0
    else:
        assert session.locker().returncode == 0
        if state == "behind a locker":
            peer.activate_screen_saver(False)
    wait_until(lambda: session.status()["state"] == "unlocked", "the vault to be unlocked")


def run(session, *command, input=""):
    """A client that ends in time."""
    return session.run(*command, input=input, timeout=LIMIT)


def tool(session, *arguments, input=""):
    return run(session, "secret-tool", *arguments, input=input)


def script(session, text, *arguments):
    """What a Python client of the session's user tells with `tell`."""
    done = run(session, "/usr/bin/python3", "-c", PREAMBLE + text, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


PREAMBLE = """
import json, sys
told = {}
def tell(name, action):
    try:
        value = action()
    except Exception as error:
        value = "! " + type(error).__name__ + ": " + str(error)
    told[name] = value.decode() if isinstance(value, bytes) else value
import atexit
atexit.register(lambda: print(json.dumps(told)))
"""


# MARK: what every state promises


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
    told = peer.all(item, ITEM)
    assert told["Label"] == "Mail" and told["Attributes"] == MAIL and told["Locked"] is False
    assert 0 < told["Created"] <= told["Modified"] <= time.time() + 1


@pytest.mark.parametrize("state", LOCKED)
def test_locked(session, peer, state):
    item = peer.create("old", MAIL, label="Mail")
    sync = peer.create("token", SYNC | {CLASS: "after-first-unlock"})
    always = peer.create("any time", {"service": "always", CLASS: "always"})
    bring_to(state, session, peer)

    # Found, locked: an empty answer would make programs store over the old secret.
    assert peer.search(MAIL) == ([], [item])
    assert peer.call(DEFAULT, COLLECTION, "SearchItems", "(a{ss})", MAIL) == [item]
    assert item in peer.get(LOGIN, COLLECTION, "Items")
    told = peer.all(item, ITEM)
    assert told["Locked"] is True
    readable = state != "sealed"
    assert told["Label"] == ("Mail" if readable else "")
    assert told["Attributes"] == (MAIL if readable else {})

    # Not readable, by no way.
    assert peer.read_error(item) == IS_LOCKED
    assert item not in peer.call(ROOT, SERVICE, "GetSecrets", "(aoo)", [item], peer.plain)
    assert peer.read(always) == b"any time"
    if readable:
        assert peer.read(sync) == b"token"
    else:
        assert peer.read_error(sync) == IS_LOCKED

    # Unlocking: the screen's person is not asked behind a locker, and nobody is waited for.
    behind = state == "behind a locker"
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
    began = time.monotonic()
    assert peer.prompt(prompt) == (True, "ao", [])
    assert time.monotonic() - began < 1
    opened, prompt = peer.unlock(item)
    peer.call(prompt, PROMPT, "Dismiss")
    assert peer.wait_for_member("Completed", prompt) == (True, [])

    # The old secret survives.
    assert peer.create_error("new", MAIL).name == IS_LOCKED
    assert peer.write_error(item, "new") == IS_LOCKED
    with pytest.raises(Failure, match="IsLocked"):
        peer.set(item, ITEM, "Attributes", "a{ss}", MAIL | {CLASS: "always"})

    # New ones can be stored behind the lock.
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
    # Deleting needs no key.
    peer.call(always, ITEM, "Delete")

    bring_back(state, session, peer)
    assert peer.read(item) == b"old"
    assert peer.all(item, ITEM)["Attributes"] == MAIL
    assert peer.search({"service": "always"}) == ([], [])
    if readable:
        assert peer.read(new) == b"said behind the lock"
        assert peer.read(other) == b"device"
    assert peer.create("new", MAIL) == item
    assert peer.read(item) == b"new"


def test_a_prompt_succeeds_where_the_vault_was_opened_meanwhile(session, peer):
    item = peer.create("secret", MAIL)
    session.lock()
    _, prompt = peer.unlock(LOGIN, item)
    assert session.locker().returncode == 0
    assert peer.prompt(prompt) == (False, "ao", [LOGIN, item])


# MARK: secret-tool


def test_secret_tool(session, peer):
    assert tool(session, "store", "--label=Mail", *MAIL_WORDS, input="open sesame").returncode == 0
    assert tool(session, "store", "--label=Sync", *SYNC_WORDS, input="token").returncode == 0
    assert tool(session, "lookup", *MAIL_WORDS).stdout == "open sesame"
    found = tool(session, "search", "--all", "account", "demo")
    assert found.returncode == 0
    assert "label = Mail" in found.stdout and "secret = open sesame" in found.stdout
    assert "label = Sync" in found.stdout and "secret = token" in found.stdout
    assert "attribute.service = mail" in found.stderr
    assert found.stdout.count("[") == 2
    assert tool(session, "search", "account", "demo").stdout.count("[") == 1
    assert tool(session, "store", "--label=Mail", *MAIL_WORDS, input="newer").returncode == 0
    assert tool(session, "lookup", *MAIL_WORDS).stdout == "newer"
    assert tool(session, "clear", *MAIL_WORDS).returncode == 0
    assert tool(session, "lookup", *MAIL_WORDS).returncode == 1
    assert tool(session, "lookup", *SYNC_WORDS).stdout == "token"
    assert tool(session, "store", "--label=S", "--collection=session", "a", "s", input="short").returncode == 0
    assert peer.search({"a": "s"})[0][0].startswith(SESSION_COLLECTION + "/")
    assert tool(session, "store", "--label=S", "--collection=nowhere", "a", "n", input="x").returncode != 0


@pytest.mark.parametrize("state", LOCKED)
def test_secret_tool_while_locked(session, peer, state):
    tool(session, "store", "--label=Mail", *MAIL_WORDS, input="open sesame")
    tool(session, "store", "--label=Sync", *SYNC_WORDS, CLASS, "after-first-unlock", input="token")
    bring_to(state, session, peer)
    assert tool(session, "lookup", *MAIL_WORDS).returncode == 1
    assert tool(session, "lookup", *SYNC_WORDS).stdout == ("" if state == "sealed" else "token")
    for options in ([], ["--all"], ["--all", "--unlock"]):
        found = tool(session, "search", *options, *MAIL_WORDS)
        assert found.returncode == 0 and "No such secret item" not in found.stderr, found
        assert "open sesame" not in found.stdout
        assert found.stdout.startswith("[/")
    assert tool(session, "store", "--label=Mail", *MAIL_WORDS, input="replaced").returncode != 0
    stored = tool(session, "store", "--label=Chat", "service", "chat", input="said behind the lock")
    assert (stored.returncode == 0) is (state != "sealed")
    # It clears what is unlocked only.
    tool(session, "clear", *MAIL_WORDS)
    bring_back(state, session, peer)
    assert tool(session, "lookup", *MAIL_WORDS).stdout == "open sesame"
    assert tool(session, "lookup", "service", "chat").stdout == ("" if state == "sealed" else "said behind the lock")


def test_secret_tool_lock(session, peer):
    tool(session, "store", "--label=Mail", *MAIL_WORDS, input="open sesame")
    # libsecret 0.20.5 may crash at its own end; what counts is what it did.
    tool(session, "lock")
    assert peer.get(LOGIN, COLLECTION, "Locked") is True
    assert tool(session, "lookup", *MAIL_WORDS).returncode == 1
    assert session.status()["locked_collections"] == 1


def test_secret_tool_lock_of_one_collection(session, peer):
    item = peer.create("secret", MAIL)
    tool(session, "lock", "--collection=default")
    assert session.status()["state"] == "unlocked"
    assert peer.search(MAIL) in (([item], []), ([], [item]))


# MARK: libsecret

LIBSECRET = """
import gi
gi.require_version("Secret", "1")
from gi.repository import Secret
schema = Secret.Schema.new("org.latchkey.Test", Secret.SchemaFlags.NONE, {
    "name": Secret.SchemaAttributeType.STRING, "port": Secret.SchemaAttributeType.INTEGER})
words = {"name": "one", "port": "22"}
def store(secret, name="one"):
    return Secret.password_store_sync(schema, {"name": name, "port": "22"}, None, "One", secret, None)
def search(words=words, flags=Secret.SearchFlags.ALL | Secret.SearchFlags.UNLOCK | Secret.SearchFlags.LOAD_SECRETS):
    service = Secret.Service.get_sync(Secret.ServiceFlags.OPEN_SESSION, None)
    tell("algorithms", service.get_session_algorithms)
    found = service.search_sync(schema, words, flags, None)
    return [[item.get_label(), item.get_locked(), item.get_secret() and item.get_secret().get_text()] for item in found]
"""


def test_libsecret(session, peer):
    told = script(
        session,
        LIBSECRET
        + """
tell("store", lambda: store("secret \\u00e4\\u6f22"))
tell("lookup", lambda: Secret.password_lookup_sync(schema, words, None))
tell("search", search)
tell("again", lambda: store("another"))
tell("replaced", lambda: Secret.password_lookup_sync(schema, words, None))
tell("clear", lambda: Secret.password_clear_sync(schema, words, None))
tell("cleared", lambda: Secret.password_lookup_sync(schema, words, None))
def label():
    store("x", "labelled")
    service = Secret.Service.get_sync(Secret.ServiceFlags.OPEN_SESSION | Secret.ServiceFlags.LOAD_COLLECTIONS, None)
    item = service.search_sync(schema, {"name": "labelled"}, Secret.SearchFlags.NONE, None)[0]
    item.set_label_sync("Other", None)
    item.set_secret_sync(Secret.Value.new("y", -1, "text/plain"), None)
    item.refresh()
    return [item.get_label(), item.delete_sync(None), sorted(c.get_label() for c in service.get_collections())]
tell("item", label)
def collection():
    made = Secret.Collection.create_sync(None, "Mine", None, Secret.CollectionCreateFlags.NONE, None)
    item = Secret.Item.create_sync(made, schema, words, "In", Secret.Value.new("v", -1, "text/plain"),
        Secret.ItemCreateFlags.REPLACE, None)
    item.load_secret_sync(None)
    return [made.get_label(), made.get_locked(), item.get_secret().get_text(), made.delete_sync(None)]
tell("collection", collection)
""",
    )
    assert told["algorithms"] == "dh-ietf1024-sha256-aes128-cbc-pkcs7"
    assert told["store"] is True and told["again"] is True and told["clear"] is True
    assert told["lookup"] == "secret ä漢"
    assert told["search"] == [["One", False, "secret ä漢"]]
    assert told["replaced"] == "another"
    assert told["cleared"] is None
    assert told["item"] == ["Other", True, ["Login", "Session"]]
    assert told["collection"] == ["Mine", False, "v", True]
    assert peer.search({"xdg:schema": "org.latchkey.Test"}) == ([], [])


@pytest.mark.parametrize("state", LOCKED)
def test_libsecret_while_locked(session, peer, state):
    script(session, LIBSECRET + 'tell("store", lambda: store("old"))')
    bring_to(state, session, peer)
    told = script(
        session,
        LIBSECRET
        + """
tell("lookup", lambda: Secret.password_lookup_sync(schema, words, None))
tell("search", search)
tell("store", lambda: store("new"))
tell("other", lambda: store("stored while locked", "other"))
tell("clear", lambda: Secret.password_clear_sync(schema, words, None))
""",
    )
    assert told["lookup"] is None or told["lookup"].startswith("! Error")
    [[_, locked, secret]] = told["search"]
    assert locked is True and secret is None
    assert told["store"] is not True
    assert (told["other"] is True) is (state != "sealed")
    assert told["clear"] is False
    bring_back(state, session, peer)
    told = script(session, LIBSECRET + 'tell("lookup", lambda: Secret.password_lookup_sync(schema, words, None))')
    assert told["lookup"] == "old"


# MARK: SecretStorage

STORAGE = """
import secretstorage
bus = secretstorage.dbus_init()
words = {"application": "test", "user": "me"}
def default():
    return secretstorage.get_default_collection(bus)
def found():
    return list(default().search_items(words))
"""


def test_secretstorage(session, peer):
    told = script(
        session,
        STORAGE
        + """
tell("check", lambda: secretstorage.check_service_availability(bus))
tell("label", lambda: default().get_label())
tell("labels", lambda: sorted(c.get_label() for c in secretstorage.get_all_collections(bus)))
tell("create", lambda: default().create_item("One", words, b"first", replace=True).get_label())
tell("replace", lambda: default().create_item("Two", words, b"second", replace=True).get_label())
tell("items", lambda: [item.get_secret() .decode() for item in found()])
tell("locked", lambda: [default().is_locked(), found()[0].is_locked()])
tell("unlock", lambda: [default().unlock(), found()[0].unlock()])
def setters():
    item = found()[0]
    item.set_label("Three")
    item.set_secret(b"third", "text/x-test")
    item.set_attributes(dict(words, more="yes"))
    item = found()[0]
    return [item.get_label(), item.get_secret().decode(), item.get_secret_content_type(), item.get_attributes(),
        item.get_created() <= item.get_modified()]
tell("setters", setters)
def collection():
    made = secretstorage.create_collection(bus, "Mine", alias="mine")
    item = made.create_item("In", {"a": "b"}, b"inside")
    made.set_label("Yours")
    answer = [made.get_label(), item.get_secret().decode(), len(list(made.get_all_items())),
        secretstorage.get_collection_by_alias(bus, "mine").collection_path == made.collection_path]
    made.delete()
    return answer
tell("collection", collection)
def gone():
    item = found()[0]
    item.delete()
    try: item.get_secret()
    except secretstorage.ItemNotFoundException: return len(found())
tell("delete", gone)
tell("any", lambda: secretstorage.get_any_collection(bus).get_label())
""",
    )
    assert told["check"] is True
    assert told["label"] == "Login" and told["any"] == "Login"
    assert told["labels"] == ["Login", "Session"]
    assert told["create"] == "One" and told["replace"] == "Two"
    assert told["items"] == ["second"]
    assert told["locked"] == [False, False]
    assert told["unlock"] == [False, False]
    attributes = {"application": "test", "user": "me", "more": "yes"}
    assert told["setters"] == ["Three", "third", "text/x-test", attributes, True]
    assert told["collection"] == ["Yours", "inside", 1, True]
    assert told["delete"] == 0


@pytest.mark.parametrize("state", LOCKED)
def test_secretstorage_while_locked(session, peer, state):
    script(session, STORAGE + 'tell("create", lambda: default().create_item("One", words, b"first").item_path)')
    bring_to(state, session, peer)
    told = script(
        session,
        STORAGE
        + """
tell("labels", lambda: [item.get_label() for item in found()])
tell("secrets", lambda: [item.get_secret() for item in found()])
tell("collection", lambda: default().is_locked())
tell("dismissed", lambda: default().unlock())
tell("item dismissed", lambda: found()[0].unlock())
tell("replace", lambda: default().create_item("Two", words, b"second", replace=True).item_path)
tell("everywhere", lambda: len(list(secretstorage.search_items(bus, words))))
""",
    )
    assert told["labels"] == ["" if state == "sealed" else "One"]
    assert told["secrets"].startswith("! LockedException")
    behind = state == "behind a locker"
    assert told["collection"] is not behind
    assert told["dismissed"] is not behind
    assert told["item dismissed"] is True
    assert told["replace"].startswith("! ")
    assert told["everywhere"] == 1
    bring_back(state, session, peer)
    told = script(session, STORAGE + 'tell("secrets", lambda: [i.get_secret().decode() for i in found()])')
    assert told["secrets"] == ["first"]


# MARK: go-keyring


class GoKeyring:
    """The calls that github.com/zalando/go-keyring makes, in its order, with what it checks."""

    def __init__(self, session):
        self.peer = Peer(session)
        collections = self.peer.get(ROOT, SERVICE, "Collections")
        self.collection = LOGIN if LOGIN in collections else DEFAULT

    def unlock(self, path):
        opened, prompt = self.peer.unlock(path)
        if prompt != NOTHING:
            dismissed, kind, result = self.peer.prompt(prompt)
            assert kind == "ao"
            opened += result
            if dismissed:
                return False
        assert opened == [path], "failed to unlock correct collection"
        return True

    def set(self, service, user, secret):
        _, session = self.peer.open_plain()
        if not self.unlock(self.collection):
            return False
        attributes = {"username": user, "service": service}
        try:
            self.peer.create(secret, attributes, f"Password for {user}", True, self.collection, session)
        finally:
            self.peer.call(session, SESSION, "Close")
        return True

    def get(self, service, user):
        if not self.unlock(self.collection):
            return None
        attributes = {"username": user, "service": service}
        found = self.peer.call(self.collection, COLLECTION, "SearchItems", "(a{ss})", attributes)
        if not found:
            raise LookupError
        _, session = self.peer.open_plain()
        if not self.unlock(found[0]):
            return None
        try:
            return self.peer.read(found[0], session)
        finally:
            self.peer.call(session, SESSION, "Close")


def test_go_keyring(session, peer):
    client = GoKeyring(session)
    assert client.collection == LOGIN
    with pytest.raises(LookupError):
        client.get("gh:github.com", "me")
    assert client.set("gh:github.com", "me", "token")
    assert client.get("gh:github.com", "me") == b"token"
    assert client.set("gh:github.com", "me", "newer")
    assert client.get("gh:github.com", "me") == b"newer"


@pytest.mark.parametrize("state", LOCKED)
def test_go_keyring_while_locked(session, peer, state):
    client = GoKeyring(session)
    assert client.set("gh:github.com", "me", "token")
    bring_to(state, session, peer)
    assert GoKeyring(session).collection == LOGIN
    assert client.get("gh:github.com", "me") is None
    if state == "behind a locker":
        with pytest.raises(Failure, match="IsLocked"):
            client.set("gh:github.com", "me", "newer")
        assert client.set("gh:github.com", "you", "other")
    else:
        assert client.set("gh:github.com", "me", "newer") is False
    bring_back(state, session, peer)
    assert client.get("gh:github.com", "me") == b"token"


def test_before_founding(session):
    client = Peer(session)
    # A reason, not "there is none", upon which clients make a collection.
    assert client.failure(DEFAULT, "org.freedesktop.DBus.Properties", "GetAll", "(s)", COLLECTION).name == IS_LOCKED
    assert client.create_error("early", MAIL).name == IS_LOCKED
    assert tool(session, "lookup", *MAIL_WORDS).returncode == 1
    assert tool(session, "store", "--label=Early", *MAIL_WORDS, input="early").returncode != 0
    assert session.login().returncode == 0
    assert client.search(MAIL) == ([], [])


# MARK: aliases


@pytest.mark.parametrize("alias", ["default", "login"])
def test_every_method_works_on_alias_paths(open_peer, alias):
    peer, path = open_peer, f"{ROOT}/aliases/{alias}"
    words = {"alias": alias}
    item = peer.create("by alias", words, collection=path)
    assert item.startswith(LOGIN + "/")
    through = path + item.removeprefix(LOGIN)
    assert peer.all(path, COLLECTION).keys() == {"Items", "Label", "Locked", "Created", "Modified"}
    assert item in peer.get(path, COLLECTION, "Items")
    assert peer.get(path, COLLECTION, "Label") == "Login"
    assert peer.call(path, COLLECTION, "SearchItems", "(a{ss})", words) == [item]
    assert peer.unlock(path, through) == ([path, through], NOTHING)
    assert peer.read(through) == b"by alias"
    assert peer.all(through, ITEM) == peer.all(item, ITEM)
    peer.write(through, "written")
    peer.set(through, ITEM, "Label", "s", "Renamed")
    peer.set(through, ITEM, "Attributes", "a{ss}", words | {"more": "1"})
    assert peer.all(item, ITEM)["Label"] == "Renamed"
    assert list(peer.call(ROOT, SERVICE, "GetSecrets", "(aoo)", [through], peer.plain)) == [through]
    peer.set(path, COLLECTION, "Label", "s", "Mine")
    assert peer.get(LOGIN, COLLECTION, "Label") == "Mine"
    peer.set(LOGIN, COLLECTION, "Label", "s", "Login")
    assert "org.freedesktop.Secret.Item" in peer.call(through, "org.freedesktop.DBus.Introspectable", "Introspect")
    assert peer.call(through, ITEM, "Delete") == NOTHING
    assert peer.error(item, ITEM, "GetSecret", "(o)", peer.plain) in ABSENT


def test_aliases(open_peer):
    peer = open_peer
    read = lambda name: peer.call(ROOT, SERVICE, "ReadAlias", "(s)", name)  # noqa: E731
    assert read("default") == LOGIN and read("login") == LOGIN
    assert read("session") == SESSION_COLLECTION
    assert read("nothing") == NOTHING and read("") == NOTHING and read("ä/漢") == NOTHING
    label = {COLLECTION + ".Label": GLib.Variant("s", "Work")}
    made, prompt = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", label, "work")
    assert prompt == NOTHING and read("work") == made
    assert made in peer.get(ROOT, SERVICE, "Collections")
    assert peer.wait_for_member("CollectionCreated") == (made,)
    # The alias is there: its collection is answered, and gets the properties.
    peer.signals.clear()
    other = {COLLECTION + ".Label": GLib.Variant("s", "Work 2")}
    assert peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", other, "work") == (made, NOTHING)
    assert peer.get(made, COLLECTION, "Label") == "Work 2"
    assert "CollectionCreated" not in {signal[2] for signal in peer.listen(0.2)}
    assert peer.property_changes(made)[0]["Label"] == "Work 2"
    item = peer.create("at work", {"where": "work"}, collection=f"{ROOT}/aliases/work")
    assert item.startswith(made + "/")
    # Items are not found through a collection that is not theirs.
    assert peer.read_error(item.replace(made, LOGIN)) in ABSENT
    peer.call(ROOT, SERVICE, "SetAlias", "(so)", "default", made)
    try:
        assert read("default") == made
        assert peer.create("moved", {"where": "default"}).startswith(made + "/")
    finally:
        peer.call(ROOT, SERVICE, "SetAlias", "(so)", "default", LOGIN)
    peer.call(ROOT, SERVICE, "SetAlias", "(so)", "work", NOTHING)
    assert read("work") == NOTHING
    assert peer.error(f"{ROOT}/aliases/work", COLLECTION, "Delete") in ABSENT
    assert peer.error(ROOT, SERVICE, "SetAlias", "(so)", "work", LOGIN + "9") in ABSENT
    assert peer.error(ROOT, SERVICE, "SetAlias", "(so)", "session", LOGIN) == NOT_SUPPORTED
    assert peer.error(ROOT, SERVICE, "SetAlias", "(so)", "mine", SESSION_COLLECTION) == NOT_SUPPORTED
    assert peer.call(made, COLLECTION, "Delete") == NOTHING
    assert peer.wait_for_member("CollectionDeleted") == (made,)
    assert made not in peer.get(ROOT, SERVICE, "Collections")
    assert peer.read_error(item) in ABSENT
    assert peer.search({"where": "work"}) == ([], [])


def test_the_session_collection_is_what_its_alias_names(open_peer):
    peer = open_peer
    answer = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", {}, "session")
    assert answer == (SESSION_COLLECTION, NOTHING)
    assert sorted(peer.get(ROOT, SERVICE, "Collections")) == [LOGIN, SESSION_COLLECTION]
    assert peer.error(SESSION_COLLECTION, COLLECTION, "Delete") == NOT_SUPPORTED


# MARK: latchkey:accessible


def class_of(peer, item):
    """By what a search for each class finds."""
    found = [name for name in CLASSES if item in sum(peer.search({CLASS: name}), [])]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("name", CLASSES)
def test_each_class(open_peer, name):
    peer = open_peer
    words = {"class": name}
    item = peer.create("secret", words | {CLASS: name})
    assert peer.read(item) == b"secret"
    assert class_of(peer, item) == name
    assert peer.get(item, ITEM, "Attributes") == words
    # Beside others it is no filter: clients search with all that they stored.
    assert peer.search(words | {CLASS: "always"}) == ([item], [])
    # Replacing and new attributes keep the class, unless they name one.
    assert peer.create("second", words) == item
    assert class_of(peer, item) == name
    peer.set(item, ITEM, "Attributes", "a{ss}", words | {"more": "1"})
    assert class_of(peer, item) == name
    for other in ("after-first-unlock", name):
        peer.set(item, ITEM, "Attributes", "a{ss}", words | {CLASS: other})
        assert class_of(peer, item) == other
        assert peer.read(item) == b"second"
    assert peer.create("third", words | {CLASS: "always"}) == item
    assert class_of(peer, item) == "always"
    assert peer.read(item) == b"third"
    assert peer.get(item, ITEM, "Attributes") == words


def test_the_class_is_when_unlocked_where_none_is_named(open_peer):
    assert class_of(open_peer, open_peer.create("secret", {"class": "none"})) == "when-unlocked"


def test_what_latchkey_attributes_are_refused(open_peer):
    peer = open_peer
    words = {"class": "refused"}
    failure = peer.create_error("secret", words | {CLASS: "sometimes"})
    assert failure.name == INVALID
    assert all(name in failure.message for name in CLASSES)
    failure = peer.create_error("secret", words | {"latchkey:colour": "red"})
    assert failure.name == INVALID and CLASS in failure.message
    assert peer.search(words) == ([], [])
    for path, interface in ((ROOT, SERVICE), (LOGIN, COLLECTION)):
        for bad in ({CLASS: ""}, {"latchkey:": "x"}, {CLASS: "Always", "a": "b"}):
            assert peer.error(path, interface, "SearchItems", "(a{ss})", bad) == INVALID
    item = peer.create("secret", words)
    with pytest.raises(Failure, match="InvalidArgs"):
        peer.set(item, ITEM, "Attributes", "a{ss}", {CLASS: "never"})
    assert peer.get(item, ITEM, "Attributes") == words


def test_clearing_a_class_does_not_empty_the_vault(session, peer):
    peer.create("mail", MAIL)
    peer.create("short", {"a": "s"}, collection=SESSION_COLLECTION)
    tool(session, "clear", CLASS, "when-unlocked")
    assert tool(session, "lookup", *MAIL_WORDS).stdout == "mail"
    assert len(peer.search({"a": "s"})[0]) == 1
    found = tool(session, "search", "--all", CLASS, "when-unlocked")
    assert found.returncode == 0 and found.stdout.count("[") == 2


# MARK: the session collection


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


# MARK: locking a collection


@pytest.mark.parametrize("lift", ["login", "latchkey unlock", "restart and login"])
def test_a_locked_collection(session, peer, lift):
    item = peer.create("secret", MAIL)
    sync = peer.create("sync", SYNC | {CLASS: "after-first-unlock"})
    always = peer.create("always", {"service": "always", CLASS: "always"})
    made, _ = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", {}, "")
    other = peer.create("elsewhere", {"service": "other"}, collection=made)
    peer.listen()
    peer.signals.clear()
    assert peer.call(ROOT, SERVICE, "Lock", "(ao)", [DEFAULT, "/no/where", LOGIN + "/1"]) == ([DEFAULT], NOTHING)

    def check_that_it_is_locked():
        assert peer.get(LOGIN, COLLECTION, "Locked") is True
        assert peer.search(MAIL) == ([], [item])
        for path in (item, sync, always):
            assert peer.read_error(path) == IS_LOCKED
            assert peer.all(path, ITEM)["Locked"] is True
        assert peer.create_error("new", {"service": "new"}).name == IS_LOCKED
        _, prompt = peer.unlock(LOGIN)
        assert peer.prompt(prompt) == (True, "ao", [])

    check_that_it_is_locked()
    assert peer.property_changes(LOGIN)[0]["Locked"] is True
    assert peer.wait_for_member("CollectionChanged") == (LOGIN,)
    assert peer.read(other) == b"elsewhere"

    # The screen's lock and unlock do not lift it.
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


def test_locked_is_told_when_keys_come_and_go(session, peer):
    for lock, unlock in ((session.lock, session.locker), (session.logout, session.login)):
        peer.listen()
        peer.signals.clear()
        lock()
        assert peer.property_changes(LOGIN)[0]["Locked"] is True
        peer.signals.clear()
        assert unlock().returncode == 0
        assert peer.property_changes(LOGIN)[0]["Locked"] is False


# MARK: sessions and prompts


def test_sessions_belong_to_their_client(session, peer):
    item = peer.create("secret", MAIL)
    other = Peer(session)
    foreign = other.plain
    assert peer.read_error(item, foreign) == NO_SESSION
    assert peer.write_error(item, "x", foreign) == NO_SESSION
    assert peer.create_error("x", SYNC, session=foreign).name == NO_SESSION
    assert peer.error(ROOT, SERVICE, "GetSecrets", "(aoo)", [item], foreign) == NO_SESSION
    assert peer.error(foreign, SESSION, "Close") == ACCESS_DENIED
    assert other.read(item) == b"secret"
    for dead in (NOTHING, LOGIN, ROOT + "/session/s4711"):
        assert peer.read_error(item, dead) == NO_SESSION
    assert peer.error(ROOT + "/session/s4711", SESSION, "Close") in ABSENT
    _, mine = peer.open_plain()
    assert peer.read(item, mine) == b"secret"
    peer.call(mine, SESSION, "Close")
    assert peer.read_error(item, mine) == NO_SESSION
    assert peer.error(mine, SESSION, "Close") in ABSENT
    assert peer.search(SYNC) == ([], [])
    # With its client it goes.
    other.close()
    wait_until(lambda: peer.error(foreign, SESSION, "Close") in ABSENT, "the end of the client's session")


def test_prompts_belong_to_their_client(session, peer):
    item = peer.create("secret", MAIL)
    session.lock()
    other = Peer(session)
    _, foreign = other.unlock(item)
    assert peer.error(foreign, PROMPT, "Prompt", "(s)", "") == ACCESS_DENIED
    assert peer.error(foreign, PROMPT, "Dismiss") == ACCESS_DENIED
    other.call(foreign, PROMPT, "Prompt", "(s)", "")
    assert other.error(foreign, PROMPT, "Prompt", "(s)", "") == "org.freedesktop.Secret.Error.AlreadyExists"
    assert other.wait_for_member("Completed", foreign) == (True, [])
    # Nobody else is told.
    assert "Completed" not in {signal[2] for signal in peer.listen(0.3)}
    _, foreign = other.unlock(item)
    other.close()
    wait_until(lambda: peer.error(foreign, PROMPT, "Dismiss") in ABSENT, "the end of the client's prompt")


def test_completed_is_not_sent_before_prompt_returned(session, peer):
    """Some clients listen only after that."""
    session.lock()
    _, prompt = peer.unlock(LOGIN)
    began = time.monotonic()
    peer.call(prompt, PROMPT, "Prompt", "(s)", "")
    peer.wait_for_member("Completed", prompt)
    assert 0.05 <= time.monotonic() - began < 1


def test_a_client_that_never_closes_its_sessions_or_prompts_is_served(session, peer):
    item = peer.create("secret", MAIL)
    for _ in range(600):
        _, last = peer.open_plain()
    assert peer.read(item, last) == b"secret"
    session.lock()
    for _ in range(600):
        _, prompt = peer.unlock(item)
    assert peer.prompt(prompt) == (True, "ao", [])


def test_algorithms(open_peer):
    def opening(algorithm, value):
        return open_peer.failure(ROOT, SERVICE, "OpenSession", "(sv)", algorithm, value).name

    encrypted = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
    assert opening("rot13", GLib.Variant("s", "")) == NOT_SUPPORTED
    assert opening("", GLib.Variant("(ss)", ("", ""))) == NOT_SUPPORTED
    assert opening("plain", GLib.Variant("ay", b"")) == INVALID
    assert opening(encrypted, GLib.Variant("s", "")) == INVALID
    for bad in (b"", b"\0", b"\1", b"\xff" * 128, b"\xff" * 129, b"\2" * 4096):
        assert opening(encrypted, octets(bad)) == INVALID
    public, path = open_peer.call(ROOT, SERVICE, "OpenSession", "(sv)", encrypted, octets(b"\2" + b"\7" * 127))
    assert len(public) == 128
    # A session of that kind takes no plain secret.
    for parameters, value in ((b"", b"x" * 16), (b"i" * 16, b"x" * 15), (b"i" * 16, b""), (b"i" * 16, b"x" * 16)):
        secret = GLib.Variant.new_tuple(
            GLib.Variant("o", path), octets(parameters), octets(value), GLib.Variant("s", "text/plain")
        )
        with pytest.raises(Failure, match="InvalidArgs"):
            open_peer.create_raw({}, secret)
    secret = GLib.Variant.new_tuple(
        GLib.Variant("o", open_peer.plain), octets(b"i" * 16), octets(b"x"), GLib.Variant("s", "text/plain")
    )
    with pytest.raises(Failure, match="InvalidArgs"):
        open_peer.create_raw({}, secret)


# MARK: signals, properties, introspection


def test_signals(open_peer):
    peer = open_peer
    item = peer.create("secret", {"signal": "1"})
    assert peer.wait_for_member("ItemCreated") == (item,)
    # Those who keep a list of all items are told to ask again; it is not sent, and not invalidated either.
    assert peer.wait_for_member("CollectionChanged", ROOT) == (LOGIN,)
    assert peer.property_changes(LOGIN) == ({}, set())
    peer.signals.clear()
    assert peer.create("second", {"signal": "1"}, label="Two") == item
    assert peer.wait_for_member("ItemChanged", LOGIN) == (item,)
    assert peer.property_changes(item)[0].keys() == {"Label", "Attributes", "Modified"}
    assert "ItemCreated" not in {signal[2] for signal in peer.signals}
    for change in (
        lambda: peer.write(item, "third"),
        lambda: peer.set(item, ITEM, "Label", "s", "Three"),
        lambda: peer.set(item, ITEM, "Attributes", "a{ss}", {"signal": "2"}),
    ):
        peer.signals.clear()
        change()
        assert peer.wait_for_member("ItemChanged", LOGIN) == (item,)
        assert "Modified" in peer.property_changes(item)[0]
    assert peer.property_changes(item)[0]["Attributes"] == {"signal": "2"}
    peer.signals.clear()
    peer.set(LOGIN, COLLECTION, "Label", "s", "Login")
    assert peer.wait_for_member("CollectionChanged", ROOT) == (LOGIN,)
    assert peer.property_changes(LOGIN)[0].keys() == {"Label", "Modified"}
    peer.signals.clear()
    peer.call(item, ITEM, "Delete")
    assert peer.wait_for_member("ItemDeleted", LOGIN) == (item,)
    assert peer.wait_for_member("CollectionChanged", ROOT) == (LOGIN,)
    assert peer.property_changes(LOGIN) == ({}, set())


def test_replace_is_exact(open_peer):
    peer = open_peer
    first = peer.create("one", {"replace": "x"})
    more = peer.create("two", {"replace": "x", "more": "y"})
    assert first != more
    assert peer.create("three", {"replace": "x"}, replace=False) not in (first, more)
    assert peer.create("four", {"replace": "x", "more": "y"}) == more
    assert peer.read(first) == b"one"
    elsewhere = peer.create("five", {"replace": "x", "more": "y"}, collection=SESSION_COLLECTION)
    assert elsewhere.startswith(SESSION_COLLECTION + "/")
    assert peer.read(more) == b"four"


def test_introspection(open_peer):
    peer = open_peer
    item = peer.create("secret", {"introspect": "x"})
    introspect = lambda path: peer.call(path, "org.freedesktop.DBus.Introspectable", "Introspect")  # noqa: E731
    for path, interface, words in (
        (ROOT, SERVICE, ["OpenSession", "CreateCollection", "SearchItems", "Unlock", "Lock", "GetSecrets", "ReadAlias",
            "SetAlias", "Collections", "CollectionCreated", "CollectionDeleted", "CollectionChanged"]),
        (LOGIN, COLLECTION, ["Delete", "SearchItems", "CreateItem", "Items", "Label", "Locked", "Created", "Modified",
            "ItemCreated", "ItemDeleted", "ItemChanged"]),
        (item, ITEM, ["Delete", "GetSecret", "SetSecret", "Locked", "Attributes", "Label", "Created", "Modified"]),
        (peer.plain, SESSION, ["Close"]),
    ):
        text = introspect(path)
        assert f'interface name="{interface}"' in text
        assert all(f'name="{word}"' in text for word in words)
    assert 'node name="collection/login"' in introspect(ROOT) or 'node name="collection"' in introspect(ROOT)
    assert f'node name="{item.rpartition("/")[2]}"' in introspect(LOGIN)


def test_read_only_properties(open_peer):
    item = open_peer.create("secret", {"property": "x"})
    for path, interface, name, signature, value in (
        (ROOT, SERVICE, "Collections", "ao", []),
        (LOGIN, COLLECTION, "Locked", "b", False),
        (item, ITEM, "Locked", "b", False),
        (item, ITEM, "Created", "t", 1),
    ):
        with pytest.raises(Failure, match="PropertyReadOnly"):
            open_peer.set(path, interface, name, signature, value)
    for signature, value in (("a{sv}", {}), ("s", "x"), ("as", [])):
        with pytest.raises(Failure, match="InvalidArgs|InvalidSignature"):
            open_peer.set(item, ITEM, "Attributes", signature, value)


# MARK: what no friendly client sends


def test_paths_of_nothing(open_peer):
    peer = open_peer
    item = peer.create("secret", {"path": "x"})
    number = item.rpartition("/")[2]
    for path in (
        LOGIN + "/0", LOGIN + "/0" + number, LOGIN + "/99999999999999999999999", LOGIN + "/x", item + "/1",
        ROOT + "/collection/c1/" + number, ROOT + "/collection/c7/" + number, ROOT + "/aliases/no/" + number,
        SESSION_COLLECTION + "/" + number + "99", ROOT + "/collection/login_/1", "/",
    ):
        assert peer.error(path, ITEM, "GetSecret", "(o)", peer.plain) in ABSENT, path
        assert peer.error(path, ITEM, "Delete") in ABSENT, path
        assert peer.error(path, "org.freedesktop.DBus.Properties", "Get", "(ss)", ITEM, "Label") in ABSENT | {
            "org.freedesktop.DBus.Error.UnknownInterface"}, path
        assert peer.call(ROOT, SERVICE, "GetSecrets", "(aoo)", [path], peer.plain) == {}
        assert peer.unlock(path) == ([], NOTHING)
    for path in (ROOT + "/collection/c1", ROOT + "/collection/c0", ROOT + "/collection/x", ROOT + "/aliases/_"):
        assert peer.error(path, COLLECTION, "SearchItems", "(a{ss})", {}) in ABSENT
        assert peer.error(path, COLLECTION, "Delete") in ABSENT
    assert peer.error(ROOT, SERVICE, "Nothing") in ABSENT
    assert peer.read(item) == b"secret"


def test_wrong_types(open_peer):
    peer = open_peer
    for path, interface, method, signature, arguments in (
        (ROOT, SERVICE, "SearchItems", "(a{sv})", [{}]),
        (ROOT, SERVICE, "SearchItems", "(s)", ["x"]),
        (ROOT, SERVICE, "Unlock", "(as)", [["x"]]),
        (ROOT, SERVICE, "Unlock", "(aoo)", [[], "/"]),
        (ROOT, SERVICE, "GetSecrets", "(ao)", [[]]),
        (ROOT, SERVICE, "OpenSession", "(ss)", ["plain", ""]),
        (ROOT, SERVICE, "ReadAlias", "(o)", ["/"]),
        (ROOT, SERVICE, "SetAlias", "(ss)", ["x", "/"]),
        (LOGIN, COLLECTION, "Delete", "(s)", [""]),
        (LOGIN, COLLECTION, "CreateItem", "(a{sv}(oayay)b)", [{}, ("/", b"", b""), True]),
    ):
        assert peer.error(path, interface, method, signature, *arguments) in {
            INVALID, "org.freedesktop.DBus.Error.InvalidSignature"}, method
    text, number = GLib.Variant("s", "x"), GLib.Variant("u", 1)
    for properties in (
        {ITEM + ".Label": number},
        {ITEM + ".Attributes": text},
        {ITEM + ".Attributes": GLib.Variant("a{sv}", {"a": text})},
        {ITEM + ".Attributes": GLib.Variant("as", ["x"])},
    ):
        with pytest.raises(Failure, match="InvalidArgs"):
            peer.create_raw(properties, peer.secret("x"))
    with pytest.raises(Failure, match="InvalidArgs"):
        peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", {COLLECTION + ".Label": number}, "")
    # What nobody knows is passed over.
    unknown = {"x": GLib.Variant("(a{sv}v)", ({}, number)), ITEM + ".Type": text, "Label": number}
    item = peer.create_raw(unknown | {ITEM + ".Attributes": attributes_of({"unknown": "1"})}, peer.secret("known"))
    assert peer.read(item) == b"known"


@pytest.mark.parametrize("kind", ["empty", "NUL", "every byte", "16 MiB"])
def test_secrets_of_every_kind(session, open_peer, kind):
    value = {
        "empty": b"",
        "NUL": b"\0a\0",
        "every byte": bytes(range(256)) * 3,
        "16 MiB": bytes(range(256)) * 65536,
    }[kind]
    item = open_peer.create(value, {"kind": kind})
    assert open_peer.read(item) == value
    secret = open_peer.raw(ROOT, SERVICE, "GetSecrets", GLib.Variant("(aoo)", ([item], open_peer.plain)))
    entry = secret.get_child_value(0).get_child_value(0)
    assert (entry.get_child_value(1).get_child_value(2).get_data_as_bytes().get_data() or b"") == value
    open_peer.write(item, value + b"!")
    assert open_peer.read(item) == value + b"!"
    open_peer.call(item, ITEM, "Delete")


def test_secrets_of_every_length_in_an_encrypted_session(session, peer):
    told = script(
        session,
        STORAGE
        + """
def lengths():
    wrong = []
    for length in [0, 1, 15, 16, 17, 31, 32, 255, 256, 65536, 1048577]:
        value = bytes(i % 251 for i in range(length))
        item = default().create_item("L", {"length": str(length)}, value)
        if item.get_secret() != value: wrong.append(length)
    return wrong
tell("wrong", lengths)
""",
    )
    assert told["wrong"] == []


def test_attributes_of_every_kind(open_peer):
    peer = open_peer
    odd = {"": "", "ä": "漢字 🗝", "a b": "\n\t\"'", "\u00e9": "composed", "case": "X"}
    item = peer.create("odd", odd, label="Schlüssel 🗝\n")
    assert peer.get(item, ITEM, "Attributes") == odd
    assert peer.get(item, ITEM, "Label") == "Schlüssel 🗝\n"
    assert peer.search(odd) == ([item], [])
    assert peer.search({"": ""}) == ([item], [])
    # Bytes are compared, not what they look like.
    assert peer.search({"e\u0301": "composed"}) == ([], [])
    assert peer.search({"\u00e9": "composed"}) == ([item], [])
    assert peer.search({"case": "x"}) == ([], [])
    large = {"large": "x" * (1 << 20), "other": "large"}
    item = peer.create("large", large)
    assert peer.search({"large": "x" * (1 << 20)}) == ([item], [])
    assert peer.search({"large": "x" * ((1 << 20) - 1)}) == ([], [])
    assert peer.get(item, ITEM, "Attributes") == large
    many = {f"name {n}": str(n) for n in range(300)}
    item = peer.create("many", many)
    assert peer.search(many) == ([item], [])
    assert peer.get(item, ITEM, "Attributes") == many


def test_the_empty_search_finds_everything(open_peer):
    item = open_peer.create("secret", {"everything": "x"})
    assert item in open_peer.search({})[0]
    assert item in open_peer.call(LOGIN, COLLECTION, "SearchItems", "(a{ss})", {})


def test_the_daemon_is_the_same_after_all_of_this(shared_session, open_peer):
    assert shared_session.status()["problems"] == []
    assert "Fatal" not in shared_session.log()


# MARK: files that come later


def test_a_search_is_answered_when_the_vault_came_back_late(session, peer):
    """A home that is mounted after the daemon started."""
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
