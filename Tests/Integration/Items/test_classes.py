"""The attribute `latchkey:accessible`."""

import pytest
from support.clients import CLASS, CLASSES
from support.peer import COLLECTION, INVALID, ITEM, LOGIN, ROOT, SERVICE, Failure


def class_of(peer, item):
    """The class whose search finds the item."""
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
    # With other attributes, the class is not a filter, because clients search with all attributes that they stored.
    assert peer.search(words | {CLASS: "always"}) == ([item], [])
    # A replacement or new attributes keep the class, unless the call names another class.
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


@pytest.mark.parametrize("name", ["always", "always-this-device-only"])
def test_deprecated_classes_are_warned_of(session, peer, name):
    peer.create("secret", {"of": "when-unlocked"})
    item = peer.create("secret", {"of": "another class"})
    assert "deprecated" not in session.log()
    made = peer.create("secret", {"of": name, CLASS: name})
    told = [line for line in session.log().splitlines() if "deprecated" in line]
    assert len(told) == 1 and f"{made} is '{name}'" in told[0]
    peer.set(item, ITEM, "Attributes", "a{ss}", {CLASS: name})
    assert session.log().count("deprecated") == 1, "once"
