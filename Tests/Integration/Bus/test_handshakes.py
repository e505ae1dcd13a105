"""The key agreement of encrypted sessions with an independent client. Every secret arrives."""

import collections
import concurrent.futures

import pytest
from gi.repository import GLib
from support.client import SecretClient
from support.peer import INVALID, ROOT, SERVICE, SESSION_COLLECTION, octets
from support.secretclient import ENCRYPTED, PRIME

pytestmark = pytest.mark.night("faults")

COUNT = 10_000
CLIENTS = 2


def test_ten_thousand_handshakes(session, peer):
    def shake(number):
        client = SecretClient(session)
        try:
            item = peer_items[number]
            return client.handshakes(count=COUNT // CLIENTS, item=item)
        finally:
            client.disconnect()

    # The items are in the collection in memory, because this test is not about the disk.
    peer_items = [peer.create("", {"client": str(n)}, collection=SESSION_COLLECTION) for n in range(CLIENTS)]
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as executor:
        answers = list(executor.map(shake, range(CLIENTS)))
    assert sum(answer["right"] for answer in answers) == COUNT
    # Clients disagree about numbers that begin with a zero byte, so the service avoids such numbers. By chance, one
    # number in 256 would begin with a zero byte.
    assert sum(answer["zeros"] for answer in answers) == 0
    assert sum(answer["short"] for answer in answers) == 0
    lengths = collections.Counter()
    for answer in answers:
        lengths.update({int(length): count for length, count in answer["lengths"].items()})
    assert set(lengths) == set(range(1, 130)), "not every length was tried"


# With one of these numbers, everybody could compute the shared key.
WEAK = {
    "0": 0,
    "1": 1,
    "p - 1": PRIME - 1,
    "p": PRIME,
    "p + 1": PRIME + 1,
    "p + 2": PRIME + 2,
    "2^1024 - 1": 2**1024 - 1,
}


@pytest.mark.parametrize("name", WEAK)
def test_weak_public_keys(open_peer, name):
    number = WEAK[name]
    least = max((number.bit_length() + 7) // 8, 1)
    for length in {least, 128, 129}:
        public = octets(number.to_bytes(length, "big"))
        assert open_peer.error(ROOT, SERVICE, "OpenSession", "(sv)", ENCRYPTED, public) == INVALID
    # The next lower and the next higher number, unless these are weak too.
    for neighbour in {number + 1, number - 1} - set(WEAK.values()):
        if 1 < neighbour < PRIME - 1:
            public = octets(neighbour.to_bytes(129, "big"))
            output, _ = open_peer.call(ROOT, SERVICE, "OpenSession", "(sv)", ENCRYPTED, public)
            assert len(output) == 128


@pytest.mark.parametrize("public", [b"", bytes(130), bytes(129) + b"\2", b"\1" + bytes(128)])
def test_public_keys_of_no_length(open_peer, public):
    assert open_peer.error(ROOT, SERVICE, "OpenSession", "(sv)", ENCRYPTED, octets(public)) == INVALID
    assert open_peer.error(ROOT, SERVICE, "OpenSession", "(sv)", ENCRYPTED, GLib.Variant("s", "2")) == INVALID
