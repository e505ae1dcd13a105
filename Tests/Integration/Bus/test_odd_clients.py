"""Calls that no friendly client makes, and secrets and attributes of every kind."""

import pytest
from gi.repository import GLib
from support.peer import (
    ABSENT, COLLECTION, INVALID, ITEM, LOGIN, NOTHING, ROOT, SERVICE, SESSION_COLLECTION, Failure, attributes_of,
)

pytestmark = pytest.mark.night("clients")


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
    # The daemon ignores unknown properties.
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


def test_attributes_of_every_kind(open_peer):
    peer = open_peer
    odd = {"": "", "ä": "漢字 🗝", "a b": "\n\t\"'", "\u00e9": "composed", "case": "X"}
    item = peer.create("odd", odd, label="Schlüssel 🗝\n")
    assert peer.get(item, ITEM, "Attributes") == odd
    assert peer.get(item, ITEM, "Label") == "Schlüssel 🗝\n"
    assert peer.search(odd) == ([item], [])
    assert peer.search({"": ""}) == ([item], [])
    # The daemon compares bytes, not the look of characters.
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
