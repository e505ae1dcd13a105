"""The object path of an item never leads to another item. Items of the memory collection never reach the disk."""

import hashlib

from gi.repository import GLib
from support.clients import MAIL, bring_back, bring_to
from support.peer import ABSENT, COLLECTION, ITEM, LOGIN, ROOT, SERVICE, SESSION_COLLECTION


def make(peer, label):
    properties = {COLLECTION + ".Label": GLib.Variant("s", label)}
    return peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", properties, "")[0]


def test_paths_are_stable(session, peer):
    work = make(peer, "Work")
    places = {"a": LOGIN, "b": work, "c": LOGIN}
    paths = {peer.create(name, {"name": name}, collection=place) for name, place in places.items()}

    def look():
        found = [path for name in "abc" for path in sum(peer.search({"name": name}), [])]
        assert set(found) == paths and len(found) == 3
        assert peer.get(ROOT, SERVICE, "Collections") == [LOGIN, work, SESSION_COLLECTION]
        assert set(peer.get(LOGIN, COLLECTION, "Items") + peer.get(work, COLLECTION, "Items")) == paths
        assert peer.get(work, COLLECTION, "Label") == "Work"

    look()
    for state in ("locked", "behind a locker", "sealed", "collection locked"):
        bring_to(state, session, peer)
        look()
        bring_back(state, session, peer)
        look()
    session.restart()
    look()
    assert session.login().returncode == 0
    look()


def test_paths_of_items_are_never_used_again(session, peer):
    """A client that keeps an old path must not find another item's secret there. A new collection with a former label
    gets the former path, because programs look for the collection at that path. The new collection does not get the
    former number."""
    work = make(peer, "Work")
    item = peer.create("first", MAIL)
    inside = peer.create("inside", MAIL, collection=work)
    peer.call(item, ITEM, "Delete")
    peer.call(work, COLLECTION, "Delete")
    session.restart()
    assert session.login().returncode == 0
    peer._plain = None
    again = {peer.create("second", {"number": str(n)}) for n in range(5)}
    other = make(peer, "Work")
    again.add(peer.create("third", MAIL, collection=other))
    assert other == work and again.isdisjoint({item, inside})
    assert peer.get(f"{ROOT}/collection/c3", COLLECTION, "Label") == "Work"
    for path in (item, inside, item.replace(LOGIN, other), f"{ROOT}/collection/c2/{inside.rpartition('/')[2]}"):
        assert peer.read_error(path) in ABSENT


def test_the_session_collection_is_not_on_the_disk(session, peer):
    peer.create("kept", MAIL)

    def files():
        session.stop_daemon()
        told = {
            str(path): hashlib.sha256(path.read_bytes()).hexdigest()
            for top in (session.home, session.runtime)
            for path in top.rglob("*")
            if path.is_file()
        }
        session.start_daemon()
        assert session.login().returncode == 0
        peer._plain = None
        return told

    def of_the_vault(told):
        return {path: content for path, content in told.items() if path.startswith(str(session.vault))}

    files()
    before = files()
    assert of_the_vault(before)
    kept = [
        peer.create(f"short {n}", {"lives": "shortly"}, collection=SESSION_COLLECTION, replace=False) for n in range(50)
    ]
    peer.write(kept[0], "written")
    peer.set(kept[1], ITEM, "Label", "s", "labelled")
    peer.call(kept[2], ITEM, "Delete")
    assert session.status()["items"] == 1
    assert len(peer.search({"lives": "shortly"})[0]) == 49
    after = files()
    assert of_the_vault(after) == of_the_vault(before)
    assert set(after) == set(before)
    assert peer.search({"lives": "shortly"}) == ([], [])
