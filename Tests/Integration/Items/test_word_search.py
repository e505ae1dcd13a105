"""Search of org.latchkey.Collection finds items by words, in several steps."""

import uuid

from support.peer import INVALID, LOGIN, NO_SUCH_OBJECT

OWN = "org.latchkey.Collection"
LIMITS = "org.freedesktop.DBus.Error.LimitsExceeded"


def search(peer, *words, limit=100, path=LOGIN):
    """The paths from all steps, and the number of items that the daemon could not read."""
    found, unread, start = [], 0, 0
    while True:
        numbers, start, missed = peer.call(path, OWN, "Search", "(astu)", list(words), start, limit)
        found += [f"{path}/{number}" for number in numbers]
        unread += missed
        if start == 0:
            return found, unread


def test_words_find_the_items_of_a_collection_newest_first(open_peer):
    peer, mark = open_peer, uuid.uuid4().hex
    made = [peer.create(b"secret", {"n": str(number), "mark": mark}, label=f"Word {number}") for number in range(5)]
    assert search(peer, mark.upper(), limit=2) == (made[::-1], 0)
    assert search(peer, mark, "word 3") == ([made[3]], 0)
    assert search(peer)[0][:5] == made[::-1]
    assert search(peer, mark, path="/org/freedesktop/secrets/collection/session") == ([], 0)


def test_a_search_has_bounds(open_peer):
    error = lambda *arguments, path=LOGIN: open_peer.error(path, OWN, "Search", "(astu)", *arguments)
    assert error(["w"] * 33, 0, 1) == LIMITS
    assert error(["w" * 1025], 0, 1) == LIMITS
    assert error([], 2**63, 1) == INVALID
    assert error([], 0, 1, path=f"{LOGIN}nowhere") == NO_SUCH_OBJECT
