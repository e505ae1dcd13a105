"""Every call of an object that does not exist returns the error that the specification names."""

import pytest
from gi.repository import GLib
from support.clients import MAIL, script
from support.peer import (
    COLLECTION, DEFAULT, ITEM, LOGIN, NO_SUCH_OBJECT, NOTHING, PROMPT, PROPERTIES, ROOT, SERVICE, SESSION,
    SESSION_COLLECTION,
)

INTROSPECTABLE = "org.freedesktop.DBus.Introspectable"
UNKNOWN_METHOD = "org.freedesktop.DBus.Error.UnknownMethod"
ABSENT = [
    "/not/existing/path",
    "/org/latchkey/vault/more",
    "/org/freedesktop/portal/desktop/request/1_1/none",
    ROOT + "s",
    ROOT + "/nothing",
    ROOT + "/collection/none",
    ROOT + "/collection/c4711",
    ROOT + "/collection/none/1",
    ROOT + "/collection/login/1/2",
    ROOT + "/collection/login/987654321",
    ROOT + "/collection/session/987654321",
    ROOT + "/aliases/none",
    ROOT + "/aliases/none/1",
    ROOT + "/aliases/default/987654321",
    ROOT + "/session/s1",
    ROOT + "/prompt/s1",
]
# Paths without an object that lead to further objects.
FOLDERS = ["/org", "/org/freedesktop", ROOT + "/collection", ROOT + "/aliases", ROOT + "/session", ROOT + "/prompt"]


def errors(peer, path):
    """The error of every kind of call to the object at this path."""
    label = GLib.Variant("s", "x")
    told = {
        "unknown": peer.error(path, "org.example.Nothing", "Nothing"),
        "session": peer.error(path, SESSION, "Close"),
        "prompt": peer.error(path, PROMPT, "Prompt", "(s)", ""),
        "service": peer.error(path, SERVICE, "SearchItems", "(a{ss})", {}),
        "item": peer.error(path, ITEM, "Delete"),
        "unknown of item": peer.error(path, ITEM, "Nothing"),
        "collection": peer.error(path, COLLECTION, "Delete"),
    }
    for interface in (ITEM, COLLECTION, SERVICE, "org.example.Nothing"):
        told |= {
            ("Get", interface): peer.error(path, PROPERTIES, "Get", "(ss)", interface, "Label"),
            ("Set", interface): peer.error(path, PROPERTIES, "Set", "(ssv)", interface, "Label", label),
            ("GetAll", interface): peer.error(path, PROPERTIES, "GetAll", "(s)", interface),
        }
    return told


@pytest.mark.parametrize("path", ABSENT)
def test_an_object_that_does_not_exist(open_peer, path):
    assert set(errors(open_peer, path).values()) == {NO_SUCH_OBJECT}, errors(open_peer, path)
    assert open_peer.error(path, INTROSPECTABLE, "Introspect") == NO_SUCH_OBJECT


@pytest.mark.parametrize("path", ["/", *FOLDERS])
def test_a_path_with_objects_below_it_only(open_peer, path):
    open_peer.unlock(LOGIN), open_peer.plain
    assert set(errors(open_peer, path).values()) == {NO_SUCH_OBJECT}


def test_an_object_that_was_deleted(open_peer):
    item = open_peer.create("gone", MAIL)
    alias = item.replace(LOGIN, DEFAULT)
    collection = open_peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", {}, "")[0]
    inner = open_peer.create("gone", MAIL, collection=collection)
    session = open_peer.open_plain()[1]
    open_peer.call(item, ITEM, "Delete")
    open_peer.call(collection, COLLECTION, "Delete")
    open_peer.call(session, SESSION, "Close")
    for path in (item, alias, inner, collection, session):
        assert set(errors(open_peer, path).values()) == {NO_SUCH_OBJECT}, path
        assert open_peer.error(path, INTROSPECTABLE, "Introspect") == NO_SUCH_OBJECT


def test_an_object_that_exists(open_peer):
    """The error names the missing member, because the object exists."""
    item = open_peer.create("there", MAIL)
    temporary = open_peer.create("there", MAIL, collection=SESSION_COLLECTION)
    for path in (ROOT, LOGIN, DEFAULT, SESSION_COLLECTION, item, temporary, open_peer.plain, "/org/latchkey/vault"):
        assert open_peer.error(path, "org.example.Nothing", "Nothing") == UNKNOWN_METHOD
        assert open_peer.error(path, PROPERTIES, "Get", "(ss)", "org.example.Nothing", "x") != NO_SUCH_OBJECT
        assert "<interface" in open_peer.call(path, INTROSPECTABLE, "Introspect")
    assert open_peer.all(item, ITEM)["Label"] == "Test"


def test_secretstorage_finds_no_item_and_no_default_collection(session, peer):
    """SecretStorage 3.3 takes only this error for a missing object. Without a default collection, SecretStorage creates
    one."""
    peer.call(ROOT, SERVICE, "SetAlias", "(so)", "default", NOTHING)
    told = script(
        session,
        """
import secretstorage
bus = secretstorage.dbus_init()
for path in sys.argv[1:]:
    tell(path, lambda: secretstorage.Item(bus, path).item_path)
tell("default", lambda: secretstorage.get_default_collection(bus).get_label())
""",
        *ABSENT,
    )
    assert told.pop("default") == "Default"
    assert len(told) == len(ABSENT)
    for answer in told.values():
        assert answer.startswith("! ItemNotFoundException")
    assert peer.call(ROOT, SERVICE, "ReadAlias", "(s)", "default") not in (NOTHING, LOGIN)
