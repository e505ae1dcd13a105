"""A running libsecret program keeps a copy of each item. When the item's state changes, the copy changes too."""

import json
import pathlib
import select
import subprocess

import pytest
from support.clients import BEHIND, CLASS, bring_back, bring_to
from support.pace import seconds
from support.peer import ITEM, LIMIT, LOGIN, NOTHING, PROPERTIES, ROOT, SERVICE, Peer
from test_locked_items import answered  # noqa: F401

pytestmark = pytest.mark.night("clients")

PROGRAM = pathlib.Path(__file__).with_name("libsecret_program.py").read_text()


class Program:
    """A libsecret program that runs until the test ends."""

    def __init__(self, session):
        self.process = session.start(
            "/usr/bin/python3", "-c", PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.call("start")

    def call(self, *words):
        self.process.stdin.write(json.dumps(words) + "\n")
        assert select.select([self.process.stdout], [], [], seconds(LIMIT))[0], f"no answer to {words}"
        return json.loads(self.process.stdout.readline() or '"it is gone"')

    def check(self, expected):
        """Waits until the program's copy matches."""
        assert self.call("wait", expected) == expected

    def close(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def start(session):
    opened = []

    def program():
        opened.append(Program(session))
        return opened[-1]

    yield program
    for one in opened:
        one.close()


def states(locked, label="Kept", **items):
    return {path: [label and f"{label} {name}", locked, {"name": name} if label else {}] for name, path in items.items()}


def stored(peer, *names):
    return {name: peer.create(f"secret {name}", {"name": name}, label=f"Kept {name}") for name in names}


def test_fifty_lock_cycles(session, peer, start):
    items = stored(peer, "one", "two")
    session.lock()
    program = start()
    program.check(states(True, **items))
    for cycle in range(50):
        assert session.locker().returncode == 0
        # The program hears of the change before the answer, so its copy is right at once. After a synchronous call, the
        # program's main loop must run first.
        search = "search" if cycle % 2 else "search_sync"
        if search == "search_sync":
            program.check(states(False, **items))
        for name in items:
            assert program.call(search, name) == [[f"Kept {name}", False, f"secret {name}"]], cycle
        program.check(states(False, **items))
        session.lock()
        program.check(states(True, **items))


@pytest.mark.parametrize("state", ["locked", BEHIND, "sealed", "collection locked"])
def test_one_that_was_seen_locked(session, peer, start, state):
    items = stored(peer, "one")
    bring_to(state, session, peer)
    program = start()
    program.check(states(True, label="" if state in ("sealed", "collection locked") else "Kept", **items))
    bring_back(state, session, peer)
    assert program.call("search", "one") == [["Kept one", False, "secret one"]]
    program.check(states(False, **items))
    bring_to(state, session, peer)
    # The program keeps the last label that it received.
    program.check(states(True, **items))


def test_what_was_seen_sealed_by_one_that_only_listens(session, peer, start):
    """The program only listens, as a Seahorse that was started before the first login. After the login, the program has
    the labels, attributes and secrets."""
    items = stored(peer, "one", "two", "three")
    after = peer.create("secret after", {"name": "after", CLASS: "after-first-unlock"}, label="Kept after")
    session.restart()
    program = start()
    program.check(states(True, label="", **items, after=after))
    assert session.login().returncode == 0
    program.check(states(False, **items, after=after))
    session.lock()
    program.check(states(True, **items) | states(False, after=after))


def test_an_item_that_is_locked_by_itself(answered, session, start):  # noqa: F811
    peer, _ = answered
    items = stored(peer, "one", "two")
    program = start()
    program.check(states(False, **items))
    locked = states(True, one=items["one"]) | states(False, two=items["two"])
    assert program.call("lock", items["one"]) == [1, [items["one"]]]
    assert program.call("kept") == locked or program.call("wait", locked) == locked
    # The program also hears of locks and unlocks by another client.
    assert session.login().returncode == 0
    program.check(states(False, **items))
    assert peer.call(ROOT, SERVICE, "Lock", "(ao)", [items["one"]]) == ([items["one"]], NOTHING)
    program.check(locked)
    assert program.call("search", "one") == [["Kept one", False, "secret one"]]
    program.check(states(False, **items))


# MARK: who is told what


def heard(peer, item):
    """The new values of an item's properties, as the signals report them."""
    return peer.property_changes(item)[0]


def test_only_what_changes_is_told_and_only_who_looked(session, peer):
    items = [peer.create("secret", {"n": str(n)}, label=f"Item {n}") for n in range(3)]
    always = peer.create("secret", {"n": "always", CLASS: "always"})
    other = Peer(session)
    for item in (*items[:2], always):
        peer.all(item, ITEM)
    other.get(items[1], ITEM, "Locked")
    for client in (peer, other):
        client.listen()
        client.signals.clear()
    session.lock()
    assert peer.wait_for_property("Locked", items[0]) is True
    assert other.wait_for_property("Locked", items[1]) is True
    assert peer.property_changes(LOGIN)[0]["Locked"] is True
    assert heard(peer, items[0]) == heard(peer, items[1]) == heard(other, items[1]) == {"Locked": True}
    assert heard(peer, items[2]) == heard(peer, always) == heard(other, items[0]) == heard(other, items[2]) == {}
    changed = [signal[3] for signal in other.listen() if signal[:1] + signal[2:3] == (LOGIN, "ItemChanged")]
    assert changed == [(items[1],)]
    # No signal repeats a known value.
    peer.signals.clear()
    session.lock()
    peer.call(ROOT, SERVICE, "Lock", "(ao)", [LOGIN])
    assert session.locker().returncode == 0
    peer.search({})
    assert heard(peer, items[0]) == {}
    assert session.login().returncode == 0
    assert peer.wait_for_property("Locked", items[0]) is False
    other.close()


def test_it_is_told_before_the_answer(session, peer):
    """Programs read only items that they believe unlocked, and believe the last signal. So the signal must come before
    the answer."""
    item = peer.create("secret", {"n": "1"})
    session.lock()
    peer.all(item, ITEM)
    peer.listen()
    peer.signals.clear()
    order = []
    peer.bus.signal_subscribe(
        None, PROPERTIES, "PropertiesChanged", item, None, 0, lambda *signal: order.append(signal[5].unpack()[1]))
    assert session.locker().returncode == 0
    assert peer.search({"n": "1"}) == ([item], [])
    peer.listen()
    assert order == [{"Locked": False}]
