"""latchkey-derive under requests that no module sends: always an answer, never a trap."""

import random
import struct

import pytest
from support.derive import (
    AUTHENTICATE, BAD_REQUEST, CLOSE, FOUNDED, INTERNAL_ERROR, IS_ROOT, NO_DAEMON, NO_FOUND, NO_VAULT, OPEN, PASSPHRASE,
    Run,
)
from support.pace import seconds


def framed(body):
    return struct.pack("<I", len(body)) + body


def broken(whole):
    body = whole[4:]
    return {
        "nothing": b"",
        "half a length": whole[:3],
        "only a length": whole[:4],
        "no byte of a field": whole[:4] + body[:3],
        "length 0": struct.pack("<I", 0) + body,
        "length of all": struct.pack("<I", 0xFFFFFFFF) + body,
        "length above the limit": struct.pack("<I", 16385) + body + bytes(16385 - len(body)),
        "length too small": struct.pack("<I", len(body) - 1) + body,
        "length too large": struct.pack("<I", len(body) + 1) + body,
        "trailing byte": framed(body + b"\0"),
        "version 0": framed(b"\0" + body[1:]),
        "version 1": framed(b"\1" + body[1:]),
        "version 3": framed(b"\3" + body[1:]),
        "operation 0": framed(body[:1] + b"\0" + body[2:]),
        "operation 11": framed(body[:1] + b"\v" + body[2:]),
        "a passphrase for no prompt": framed(body[:1] + b"\4" + body[2:]),
        "version only": framed(body[:1]),
        "head only": framed(body[:3]),
        "field beyond the end": framed(body[:3] + b"\xff\xff" + body[5:]),
        "zeros": framed(bytes(16384)),
        "ones": framed(b"\1" * 16384),
    }


@pytest.mark.parametrize("name", broken(bytes(100)))
def test_broken(login, name):
    run = Run(login.program, broken(login.request(AUTHENTICATE))[name])
    assert run.result() == BAD_REQUEST
    assert run.seconds < seconds(0.3)


@pytest.mark.parametrize("fields", [
    dict(token=""), dict(token=b"x" * 4097), dict(home="home"), dict(runtime="run"), dict(shadow="shadow"), dict(user=b"ro\0ot"),
    dict(user=b"\xff\xfe"), dict(service=b"lo\0gin"), dict(home=b"/tmp/\0"), dict(version=0)])  # fmt: skip
def test_refused_fields(login, fields):
    assert login.run(AUTHENTICATE, **fields) == BAD_REQUEST


@pytest.mark.parametrize("prompt", [
    "0", "00", "07", "+7", "-7", " 7", "7 ", "7\n", "x", "0x7", "7e1", "7.0", "\u0667", b"7\0", b"\xb7", "9223372036854775808",
    "18446744073709551615", "18446744073709551616", "18446744073709551623", "7" * 4000])  # fmt: skip
@pytest.mark.parametrize("operation", [AUTHENTICATE, PASSPHRASE])
def test_refused_prompts(login, operation, prompt):
    assert login.run(operation, prompt=prompt) == BAD_REQUEST


def test_a_passphrase_needs_a_prompt_and_itself(login):
    assert login.run(PASSPHRASE, prompt="7") == NO_DAEMON
    assert login.run(PASSPHRASE) == BAD_REQUEST
    assert login.run(PASSPHRASE, prompt="7", token="") == BAD_REQUEST
    assert login.run(PASSPHRASE, prompt="7", token="x" * 4097) == BAD_REQUEST


def test_the_largest_request_is_taken(login):
    room = 16384 - (len(login.request(AUTHENTICATE, tty="", token="x" * 4096)) - 4)
    daemon = login.daemon()
    assert login.run(AUTHENTICATE, tty="y" * room, token="x" * 4096) == NO_VAULT
    assert daemon.hellos == [("authenticate", "login", "y" * 255, "")], "cut for the daemon"
    assert login.run(AUTHENTICATE, tty="y" * (room + 1), token="x" * 4096) == BAD_REQUEST


def test_what_follows_the_request_is_not_read(login):
    assert Run(login.program, login.request(AUTHENTICATE) + b"more").result() == NO_DAEMON


def mutated(source, whole):
    data = bytearray(whole)
    for _ in range(source.choice([1, 1, 1, 2, 4, 16])):
        match source.randrange(5):
            case 0: data[source.randrange(len(data))] ^= 1 << source.randrange(8)
            case 1: data[source.randrange(len(data))] = source.choice([0, 1, 0x7F, 0x80, 0xFF])
            case 2: del data[source.randrange(len(data)):]
            case 3: data[source.randrange(len(data)):0] = source.randbytes(source.choice([1, 2, 300]))
            case 4:
                # The lengths in it are where a parser goes wrong.
                at = source.choice([0, 7])
                data[at : at + 2] = struct.pack("<H", source.choice([0, 1, 0x7FFF, 0xFFFF, source.randrange(400)]))
        if not data:
            return b""
    if source.randrange(4) and len(data) > 4:
        data[:4] = struct.pack("<I", len(data) - 4)
    return bytes(data)


def test_mutated_requests(login):
    # As root the whole way is tried, but for Argon2id: there is no daemon. As anybody else a mutated request could reach
    # one's own vault, so the user is nobody's.
    user = {} if IS_ROOT else dict(user="no-such-user-of-this-machine")
    wholes = [login.request(operation, flags=NO_FOUND, runtime="/nowhere", **user)
              for operation in (AUTHENTICATE, OPEN, CLOSE)]
    wholes.append(login.request(PASSPHRASE, prompt="7", runtime="/nowhere", **user))
    source = random.Random(20240607)
    counts = {}
    for turn in range(4000):
        data = mutated(source, wholes[turn % 4])
        result = Run(login.program, data).result()
        counts[result] = counts.get(result, 0) + 1
    # A flag that changed may let a vault be founded, in the test's home.
    assert counts.keys() <= {BAD_REQUEST, INTERNAL_ERROR, NO_DAEMON, NO_VAULT, FOUNDED}, counts
    assert counts[BAD_REQUEST] > 1000 and len(counts) > 1
