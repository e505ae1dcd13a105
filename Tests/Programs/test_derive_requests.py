"""latchkey-derive under requests that no module sends. It always answers and never traps."""

import os
import random
import socket
import struct

import pytest
from support.derive import (
    AUTHENTICATE, BAD_REQUEST, CLOSE, CREATED, INTERNAL_ERROR, IS_ROOT, NO_DAEMON, NO_CREATE, NO_VAULT, OPEN, PASSPHRASE,
    Run, is_at_once, memory_of,
)
from support.helper import GO_ON, HEAD_SIZE, MEMORY_SIZE, REQUEST


def framed(body):
    return struct.pack("<I", len(body)) + body


def broken(whole):
    body = whole[4:]
    return {
        "nothing": b"",
        "half a length": whole[:3],
        "only a length": whole[:4],
        "no byte of a field": whole[:4] + body[:HEAD_SIZE],
        "length 0": struct.pack("<I", 0) + body,
        "length of all": struct.pack("<I", 0xFFFFFFFF) + body,
        "length above the limit": struct.pack("<I", 16385) + body + bytes(16385 - len(body)),
        "length too small": struct.pack("<I", len(body) - 1) + body,
        "length too large": struct.pack("<I", len(body) + 1) + body,
        "trailing byte": framed(body + b"\0"),
        "version 0": framed(b"\0" + body[1:]),
        "version 1": framed(b"\1" + body[1:]),
        "version 2": framed(b"\2" + body[1:]),
        "version 4": framed(b"\4" + body[1:]),
        "operation 0": framed(body[:1] + b"\0" + body[2:]),
        "operation 11": framed(body[:1] + b"\v" + body[2:]),
        "a passphrase for no prompt": framed(body[:1] + b"\4" + body[2:]),
        "version only": framed(body[:1]),
        "half a moment": framed(body[:7]),
        "head only": framed(body[:HEAD_SIZE]),
        "field beyond the end": framed(body[:HEAD_SIZE] + b"\xff\xff" + body[HEAD_SIZE + 2 :]),
        "zeros": framed(bytes(16384)),
        "ones": framed(b"\1" * 16384),
    }


@pytest.mark.parametrize("name", broken(bytes(100)))
def test_broken(login, name):
    data = broken(login.request(AUTHENTICATE))[name]
    assert is_at_once(lambda: Run(login.program, data), BAD_REQUEST)


def started(login, *data, files=()):
    """A helper that receives other data than the memory of a request."""
    run = Run(login.program, None, hang_up=False)
    socket.send_fds(run.socket, data, list(files))
    run.socket.shutdown(socket.SHUT_WR)
    return run


def test_a_request_on_the_socket_is_none(login):
    for data in (login.request(AUTHENTICATE), bytes([REQUEST]), b"\0"):
        run = started(login, data)
        assert run.end()[:1] in (bytes([BAD_REQUEST]), b"")
        assert run.process.returncode == 0


def test_only_memory_of_the_right_size_is_taken(login):
    data = login.request(AUTHENTICATE)
    with memory_of(data) as file, memory_of(data, size=4096) as small, memory_of(data, size=2 * MEMORY_SIZE) as large:
        for byte, files in ((REQUEST, [small]), (REQUEST, [large]), (GO_ON, [file]), (REQUEST, [file, file])):
            assert started(login, bytes([byte]), files=files).result() == BAD_REQUEST
        assert os.pread(file, len(data), 0) == data
        assert started(login, bytes([REQUEST]), files=[file]).result() == NO_DAEMON, "the control"


def test_a_file_with_a_name_is_no_request_and_stays(login):
    path = login.folder / "file"
    path.write_bytes(login.request(AUTHENTICATE).ljust(MEMORY_SIZE, b"\0"))
    before = path.read_bytes()
    with path.open("r+b") as file:
        assert started(login, bytes([REQUEST]), files=[file.fileno()]).result() == BAD_REQUEST
    with open("/dev/null", "r+b") as file:
        assert started(login, bytes([REQUEST]), files=[file.fileno()]).result() == BAD_REQUEST
    assert path.read_bytes() == before


def test_the_memory_is_overwritten_when_it_was_read(login):
    for data in (login.request(AUTHENTICATE), login.request(AUTHENTICATE, version=1), b"\xff" * MEMORY_SIZE):
        with memory_of(data) as file:
            assert started(login, bytes([REQUEST]), files=[file]).result() in (NO_DAEMON, BAD_REQUEST)
            assert os.pread(file, MEMORY_SIZE, 0) == bytes(MEMORY_SIZE)


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
                # A parser fails most easily at the lengths.
                at = source.choice([0, 7])
                data[at : at + 2] = struct.pack("<H", source.choice([0, 1, 0x7FFF, 0xFFFF, source.randrange(400)]))
        if not data:
            return b""
    if source.randrange(4) and len(data) > 4:
        data[:4] = struct.pack("<I", len(data) - 4)
    return bytes(data)


@pytest.mark.parametrize("turns", [300, pytest.param(4000, marks=pytest.mark.night("login"))])
def test_mutated_requests(login, turns):
    # Root's test tries every step except Argon2id, because there is no daemon. For another user, a mutated request could reach
    # the user's own vault, so the request names a missing account.
    user = {} if IS_ROOT else dict(user="no-such-user-of-this-machine")
    wholes = [login.request(operation, flags=NO_CREATE, runtime="/nowhere", **user)
              for operation in (AUTHENTICATE, OPEN, CLOSE)]
    wholes.append(login.request(PASSPHRASE, prompt="7", runtime="/nowhere", **user))
    source = random.Random(20240607)
    counts = {}
    for turn in range(turns):
        data = mutated(source, wholes[turn % 4])
        result = Run(login.program, data).result()
        counts[result] = counts.get(result, 0) + 1
    # A changed flag may create a vault in the test's home.
    assert counts.keys() <= {BAD_REQUEST, INTERNAL_ERROR, NO_DAEMON, NO_VAULT, CREATED}, counts
    assert counts[BAD_REQUEST] > turns // 4 and len(counts) > 1
