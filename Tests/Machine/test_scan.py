"""The search itself finds everything that it should find."""

import hashlib
import secrets

from scan import find_blocks, places


def test_a_block_of_argon2id_is_found():
    """A block of the last pass."""
    block = secrets.token_bytes(1024)
    key = hashlib.blake2b((32).to_bytes(4, "little") + block, digest_size=32).digest()
    content = bytes(5000) + block + bytes(3000)
    assert find_blocks(content, {"key": key}) == [(5000, "key")]
    assert find_blocks(content[:5999], {"key": key}) == []


def test_a_packet_is_found_where_it_is_whole():
    # Every byte of the packet is different. In a random packet with equal bytes, a cut packet could look whole.
    packet = bytes(range(40))
    assert list(places(b"xx" + packet + packet[:39] + packet, packet)) == [2, 81]
