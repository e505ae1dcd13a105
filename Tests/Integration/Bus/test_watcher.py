"""A libsecret program that keeps a collection and its items in memory, and hears about changes by other clients."""

import json
import subprocess
import threading

import pytest
from support.pace import seconds
from support.peer import COLLECTION, ITEM, LOGIN, ROOT, SERVICE, GLib
from support.session import wait_until

# Writes lines of JSON about each change of the collection Login, and about libsecret's copy of the items.
WATCHER = """
import json
import gi
gi.require_version("Secret", "1")
from gi.repository import GLib, Secret

service = Secret.Service.get_sync(Secret.ServiceFlags.OPEN_SESSION | Secret.ServiceFlags.LOAD_COLLECTIONS, None)
[login] = [each for each in service.get_collections() if each.get_label() == "Login"]
login.load_items_sync(None)
known = {}

def tell(*_):
    for item in login.get_items():
        if item.get_object_path() not in known:
            known[item.get_object_path()] = item
            item.connect("notify", tell)
    print(json.dumps({
        "label": login.get_label(),
        "locked": login.get_locked(),
        "items": {item.get_object_path(): [item.get_label(), item.get_locked()] for item in login.get_items()},
        "collections": sorted(each.get_label() for each in service.get_collections() or []),
    }), flush=True)

login.connect("notify", tell)
service.connect("notify", tell)
tell()
GLib.MainLoop().run()
"""


class Watcher:
    def __init__(self, session):
        self._program = session.start(
            "/usr/bin/python3", "-c", WATCHER, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        self.told = {}
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()
        wait_until(lambda: self.told, "the watcher")

    def _listen(self):
        for line in self._program.stdout:
            self.told = json.loads(line)

    def wait_for(self, name, value):
        """Waits until the program holds the value. Fails at once if the program has ended."""

        def is_told():
            assert self._program.poll() is None, f"the watcher ended: {self._program.returncode}"
            return self.told[name] == value

        try:
            wait_until(is_told, f"{name} {value}")
        except AssertionError as error:
            raise AssertionError(f"{error}, not {self.told[name]}") from None

    def close(self):
        self._program.terminate()
        self._program.wait(seconds(10))
        self._thread.join()
        self._program.stdout.close()


@pytest.fixture
def watch(session):
    """Starts a watcher when the test calls the result."""
    opened = []

    def start():
        opened.append(Watcher(session))
        return opened[0]

    yield start
    for watcher in opened:
        watcher.close()


def test_libsecret_holds_what_others_change(session, peer, watch):
    one = peer.create("1", {"number": "1"}, label="One")
    watcher = watch()
    items = {one: ["One", False]}
    watcher.wait_for("items", items)
    # Several items, one after the other, because libsecret adds each to its list.
    for number in "234":
        path = peer.create(number, {"number": number}, label=number)
        items[path] = [number, False]
        watcher.wait_for("items", items)
    peer.set(one, ITEM, "Label", "s", "First")
    items[one] = ["First", False]
    watcher.wait_for("items", items)
    for path in list(items)[1:]:
        peer.call(path, ITEM, "Delete")
        del items[path]
        watcher.wait_for("items", items)
    peer.set(LOGIN, COLLECTION, "Label", "s", "Start")
    watcher.wait_for("label", "Start")
    session.lock()
    watcher.wait_for("locked", True)
    assert session.locker().returncode == 0
    watcher.wait_for("locked", False)


def test_libsecret_holds_the_collections_that_others_make(peer, watch):
    watcher = watch()
    names = ["Login", "Session"]
    watcher.wait_for("collections", names)
    paths = []
    for name in ("Mine", "Ours"):
        label = {COLLECTION + ".Label": GLib.Variant("s", name)}
        paths.append(peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", label, "")[0])
        names = sorted([*names, name])
        watcher.wait_for("collections", names)
    for path, name in zip(paths, ("Mine", "Ours")):
        peer.call(path, COLLECTION, "Delete")
        names.remove(name)
        watcher.wait_for("collections", names)


def test_a_store_among_many_items_tells_of_one(peer):
    for number in range(300):
        peer.create("x", {"number": str(number)})
    wait_until(lambda: peer.listen(0.2)[-1][2] == "CollectionChanged", "the last word")
    peer.signals.clear()
    item = peer.create("x", {"number": "the last"})
    peer.wait_for_member("ItemCreated", LOGIN)
    peer.call(item, ITEM, "Delete")
    peer.wait_for_member("ItemDeleted", LOGIN)
    peer.listen(0.2)
    assert len(peer.signals) <= 4 and len(repr(peer.signals)) < 2000, peer.signals
