"""The search itself: whatever it is to find is found."""

import hashlib
import secrets

from scan import find_blocks, places


def test_a_block_of_argon2id_is_found():
    """One of the last pass."""
    block = secrets.token_bytes(1024)
    key = hashlib.blake2b((32).to_bytes(4, "little") + block, digest_size=32).digest()
    content = bytes(5000) + block + bytes(3000)
    assert find_blocks(content, {"key": key}) == [(5000, "key")]
    assert find_blocks(content[:5999], {"key": key}) == []


def test_a_packet_is_found_where_it_is_whole():
    # No byte of it is there twice: one of 256 random ones would be whole where it is cut.
    packet = bytes(range(40))
    assert list(places(b"xx" + packet + packet[:39] + packet, packet)) == [2, 81]
