"""Aliases of collections. All calls also work at an alias's path."""

import pytest
from gi.repository import GLib
from support.peer import (
    ABSENT,
    COLLECTION,
    IS_LOCKED,
    ITEM,
    LOGIN,
    NOT_SUPPORTED,
    NOTHING,
    ROOT,
    SERVICE,
    SESSION_COLLECTION,
)  # fmt: skip


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
    # The alias already exists. So the call returns the alias's collection, and sets the properties of that collection.
    peer.signals.clear()
    other = {COLLECTION + ".Label": GLib.Variant("s", "Work 2")}
    assert peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", other, "work") == (made, NOTHING)
    assert peer.get(made, COLLECTION, "Label") == "Work 2"
    assert "CollectionCreated" not in {signal[2] for signal in peer.listen(0.2)}
    assert peer.property_changes(made)[0]["Label"] == "Work 2"
    # The call changes only the named properties. An empty label counts as named.
    for properties, label in (({}, "Work 2"), ({COLLECTION + ".Label": GLib.Variant("s", "")}, "")):
        assert peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", properties, "work") == (made, NOTHING)
        assert peer.get(made, COLLECTION, "Label") == label
    item = peer.create("at work", {"where": "work"}, collection=f"{ROOT}/aliases/work")
    assert item.startswith(made + "/")
    # An item does not exist below another collection's path.
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


def test_an_alias_is_not_moved_away_from_a_locked_collection(session, peer):
    """If the alias moved, programs would store items of the locked collection elsewhere."""
    label = {COLLECTION + ".Label": GLib.Variant("s", "Work")}
    made, _ = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", label, "work")
    peer.call(ROOT, SERVICE, "Lock", "(ao)", [made])
    for target in (LOGIN, NOTHING):
        assert peer.error(ROOT, SERVICE, "SetAlias", "(so)", "work", target) == IS_LOCKED
    peer.call(ROOT, SERVICE, "SetAlias", "(so)", "work", made)
    assert peer.call(ROOT, SERVICE, "ReadAlias", "(s)", "work") == made
    # An alias of an unlocked collection may move to the locked collection.
    peer.call(ROOT, SERVICE, "SetAlias", "(so)", "other", LOGIN)
    peer.call(ROOT, SERVICE, "SetAlias", "(so)", "other", made)
    assert session.login().returncode == 0
    peer.call(ROOT, SERVICE, "SetAlias", "(so)", "work", NOTHING)
    assert peer.call(ROOT, SERVICE, "ReadAlias", "(s)", "work") == NOTHING
