"""latchkey-deviced remembers the generations of each user's vaults: the contents, the duration, and the users who may ask."""

import struct

from support.derive import as_root
from support.deviced import (  # noqa: F401
    DAEMON,
    HOST,
    ME,
    NOBODY,
    OTHER_DEVICE,
    TPM,
    UNAVAILABLE,
    outcome,
    refusal,
    resummed,
    sealed,
    service,
    state_file,
    tpm,
)  # fmt: skip

HIGHEST = 2**64 - 1


def vault(number):
    return bytes([number]) * 16


def stored(service, uid=ME):
    """The entries of a user's file: vault, keybag, database."""
    content = state_file(service.files()[f"users/{uid}.vaults"], b"LATCHGEN")
    assert content[:4] == struct.pack("<I", uid)
    return list(struct.iter_unpack("<16sQQ", content[4:]))


def test_the_greater_of_each_is_kept_until_it_begins_anew(service):
    with service.peer() as peer:
        peer.identity()
        assert peer.note(vault(1), 5, 10) is None
        assert peer.note(vault(1), 6, 9) == (5, 10)
        assert peer.note(vault(1), 4, 11) == (6, 10)
        service.restart()
    with service.peer() as peer:
        assert peer.note(vault(1), 0, 0) == (6, 11)
        assert peer.note(vault(1), 2, 3, begin=True) == (6, 11)
        assert peer.note(vault(2), HIGHEST, HIGHEST) is None
        assert peer.note(vault(1), 2, 3) == (2, 3)
        assert stored(service) == [(vault(1), 2, 3), (vault(2), HIGHEST, HIGHEST)]
    assert (service.state / f"users/{ME}.vaults").stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_that_is_there_already(service):
    path = service.state / f"users/{ME}.vaults"
    with service.peer() as peer:
        peer.identity()
        peer.note(vault(1), 5, 10)
        peer.note(vault(2), 1, 1)
        before = path.stat().st_ino
        # Any write would replace the file by another.
        with open(path, "rb"):
            for generations in ((5, 10), (5, 9), (0, 0)):
                assert peer.note(vault(1), *generations) == (5, 10)
            assert peer.note(vault(1), 5, 10, begin=True) == (5, 10)
            assert path.stat().st_ino == before
            peer.note(vault(1), 5, 11)
            assert path.stat().st_ino != before


def test_the_eight_used_last_are_remembered(service):
    with service.peer() as peer:
        peer.identity()
        for number in range(8):
            peer.note(vault(number), number, 1)
        assert peer.note(vault(0), 0, 2) == (0, 1)
        for number in range(8, 11):
            assert peer.note(vault(number), number, 1) is None
        assert [entry[0][0] for entry in stored(service)] == [4, 5, 6, 7, 0, 8, 9, 10]
        assert peer.note(vault(0), 0, 0) == (0, 2)
        assert peer.note(vault(1), 1, 1) is None


@as_root
def test_a_user_reaches_only_his_own(service):
    with service.peer(NOBODY) as peer, service.peer(DAEMON) as other, service.peer() as root:
        for each in (peer, other, root):
            each.identity()
        assert peer.note(vault(1), 5, 5) is None
        assert other.note(vault(1), 1, 1, begin=True) is None
        assert root.note(vault(1), 1, 1, begin=True) is None
        for number in range(2, 12):
            other.note(vault(number), 1, 1)
        assert peer.note(vault(1), 0, 0) == (5, 5)
        # A file that belongs to another user is rejected too.
        path = service.state / f"users/{NOBODY}.vaults"
        path.write_bytes((service.state / f"users/{DAEMON}.vaults").read_bytes())
        assert "device.stateDamaged" in refusal(peer.note, vault(1), 1, 1).text


@as_root
def test_whoever_has_no_keys_here_leaves_no_file(service):
    with service.peer(NOBODY) as peer, service.peer(54321) as stranger, service.peer() as root:
        for each in (peer, stranger):
            assert outcome(each.note, vault(1), 1, 1) == OTHER_DEVICE
        assert service.files() == {}
        peer.identity()
        assert peer.note(vault(1), 5, 5) is None
        root.forget(NOBODY)
        assert set(service.files()) == {"device"}
        # A daemon that has not heard of the erasure cannot restore the entry.
        assert outcome(peer.note, vault(1), 6, 6) == OTHER_DEVICE
        assert set(service.files()) == {"device"}
        peer.identity()
        assert peer.note(vault(1), 1, 1) is None


@as_root
def test_another_place_for_the_secret_changes_nothing_of_it(sealed):
    with sealed.peer() as peer:
        peer.identity()
        peer.note(vault(1), 5, 5)
        for place in (HOST, TPM):
            peer.move(place)
            assert peer.note(vault(1), 0, 0) == (5, 5)
        peer.erase(ME)
        assert peer.note(vault(1), 0, 0) == (5, 5)


def test_it_needs_no_device_secret(service):
    """An unlock must not wait for a chip or depend on one."""
    with service.peer() as peer:
        peer.identity()
        peer.note(vault(1), 5, 5)
    (service.state / "device").write_bytes(b"damaged")
    service.restart()
    with service.peer() as peer:
        assert peer.note(vault(1), 6, 6) == (5, 5)


def damaged(content):
    head, fields = content[:12], content[12:-32]
    yield b""
    yield content[:-1]
    yield content + b"\0"
    for offset in range(0, len(content), 5):
        yield bytes(byte ^ (position == offset) for position, byte in enumerate(content))
    # Entries with a valid check sum: no vault, a part of a vault, one vault twice, too many, another user's, a newer format.
    entry = fields[4:36]
    for altered in (
        fields[:4], fields[:-1], fields + entry, fields + b"".join(vault(100 + n) + bytes(16) for n in range(8)),
        struct.pack("<I", ME + 1) + fields[4:],
    ):  # fmt: skip
        yield resummed(head + altered + bytes(32))
    yield resummed(content[:8] + struct.pack("<I", 2) + content[12:])


def test_a_damaged_file_is_told_and_stays_as_it_is(service):
    path = service.state / f"users/{ME}.vaults"
    with service.peer() as peer:
        identity = peer.identity()
        peer.note(vault(1), 5, 5)
        peer.note(vault(2), 6, 6)
    good = path.read_bytes()
    for bad in damaged(good):
        path.write_bytes(bad)
        with service.peer() as peer:
            failure = refusal(peer.note, vault(1), 9, 9, True)
            assert failure.outcome == UNAVAILABLE and path.name in failure.text, bad
            # The damaged file blocks no other request.
            assert peer.identity() == identity
        assert path.read_bytes() == bad
    path.write_bytes(good)
    with service.peer() as peer:
        assert peer.note(vault(1), 0, 0) == (5, 5)


def test_a_state_of_before_it_was_kept_is_taken_up(service):
    with service.peer() as peer:
        identity = peer.identity()
        assert f"users/{ME}.vaults" not in service.files()
    service.restart()
    with service.peer() as peer:
        assert peer.note(vault(1), 5, 5) is None
        assert peer.identity() == identity
