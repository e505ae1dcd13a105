"""Clients that ask for too much, or leave in the middle of a call. Other clients wait only briefly, and the daemon
frees the memory afterwards.
"""

import contextlib
import pathlib
import re
import socket
import struct

import pytest
from gi.repository import Gio, GLib
from support.pace import seconds
from support.peer import (
    COLLECTION, DEFAULT, INVALID, ITEM, LOGIN, NO_SESSION, NO_SUCH_OBJECT, PROMPT, ROOT, SECRETS, SERVICE, Failure, Peer,
    acting_as, attributes_of, octets,
)
from support.session import is_alive, wait_until

pytestmark = pytest.mark.night("faults")

ENCRYPTED = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
PUBLIC_KEY = octets(b"\2" + b"\7" * 127)
# The limit of each client. One session more removes the client's oldest session.
LIMIT_PER_CLIENT = 256
LIMIT_OF_ALL = 12_288
# The memory in KiB that one round may add to the memory of the rounds before.
GROWTH = 512


@pytest.fixture(scope="module")
def stocked(shared_session):
    """An unlocked session that all tests of this file share. At the end, the first items and the same daemon must still
    be there."""
    assert shared_session.login().returncode == 0
    before = shared_session.daemon_pid()
    peer = Peer(shared_session)
    item = peer.create("kept", {"kept": "x"})
    peer.close()
    yield shared_session
    assert is_alive(before) and shared_session.daemon_pid() == before, shared_session.log()[-2000:]
    peer = Peer(shared_session)
    assert peer.read(item) == b"kept"
    peer.close()
    assert shared_session.status()["problems"] == []


@contextlib.contextmanager
def peers(session, count=1):
    opened = [Peer(session) for _ in range(count)]
    try:
        yield opened
    finally:
        for peer in opened:
            if not peer.bus.is_closed():
                peer.close()


def memory(session):
    """The daemon's private memory in KiB."""
    text = pathlib.Path(f"/proc/{session.daemon_pid()}/smaps_rollup").read_text()
    return int(re.search(r"^Pss_Anon:\s+(\d+)", text, re.M)[1])


def settles(session, one_round, rounds=2):
    """Repeats a round. Memory must not grow with every round, but the first round may fill caches."""
    one_round()
    grown = []
    for _ in range(rounds):
        before = memory(session)
        one_round()
        grown.append(memory(session) - before)
    assert min(grown) < GROWTH, f"every round leaves memory behind: {grown} KiB"


def flood(peer, count, path, interface, method, parameters):
    """Makes many calls at once, without waiting for answers in between. Returns the answers, with None for an error."""
    answers = []

    def answered(bus, result):
        try:
            answers.append(bus.call_finish(result).unpack())
        except GLib.Error:
            answers.append(None)

    context = GLib.MainContext.default()
    for sent in range(count):
        peer.bus.call(
            SECRETS, path, interface, method, parameters, None, Gio.DBusCallFlags.NONE, 60000, None, answered
        )
        # dbus-daemon allows a client 128 calls without an answer.
        while sent - len(answers) >= 100:
            context.iteration(True)
    while len(answers) < count:
        context.iteration(True)
    return answers


PLAIN_SESSION = GLib.Variant("(sv)", ("plain", GLib.Variant("s", "")))


def open_sessions(peer, count, parameters=PLAIN_SESSION):
    answers = flood(peer, count, ROOT, SERVICE, "OpenSession", parameters)
    assert None not in answers
    return [answer[1] for answer in answers]


def lives(peer, item, session):
    try:
        return peer.read(item, session) == b"secret"
    except Failure as failure:
        assert failure.name == NO_SESSION
        return False


# MARK: many


def test_ten_thousand_sessions_of_one_client(stocked):
    with peers(stocked, 2) as (peer, other):
        item = other.create("secret", {"flood": "x"})
        sessions = open_sessions(peer, 10_000)
        assert len(set(sessions)) == 10_000
        assert lives(peer, item, sessions[-1]) and lives(peer, item, sessions[-LIMIT_PER_CLIENT])
        assert not lives(peer, item, sessions[-LIMIT_PER_CLIENT - 1]) and not lives(peer, item, sessions[0])
        assert other.read(item) == b"secret"


def test_ten_thousand_sessions_of_many_clients(stocked):
    """Many clients together open more sessions than the daemon allows. The daemon closes the oldest sessions of the
    clients with the most sessions."""
    crowd = LIMIT_OF_ALL // LIMIT_PER_CLIENT
    with peers(stocked) as (modest,), peers(stocked, crowd) as many:
        item = modest.create("secret", {"flood": "x"})
        own = modest.plain
        sessions = [open_sessions(peer, LIMIT_PER_CLIENT - 1) for peer in many]
        for peer, of_peer in zip(many, sessions, strict=True):
            assert lives(peer, item, of_peer[0]) and lives(peer, item, of_peer[-1])
        with peers(stocked) as (late,):
            of_late = open_sessions(late, LIMIT_PER_CLIENT)
            assert all(lives(late, item, of_late[index]) for index in (100, -1))
            assert modest.read(item, own) == b"secret"
            # There were 12,241 sessions, and 256 more were opened. The sum exceeds the limit by 209.
            lost = sum(not lives(peer, item, path) for peer, of_peer in zip(many, sessions) for path in of_peer[:8])
            assert 200 <= lost <= 209


def test_encrypted_sessions_of_many_clients(stocked):
    """The session keys are in memory of a fixed size, and libgcrypt ends a process that asks for more."""
    with peers(stocked, 13) as many, peers(stocked) as (late,):
        item = late.create("secret", {"flood": "x"})
        for peer in many:
            open_sessions(peer, LIMIT_PER_CLIENT, GLib.Variant("(sv)", (ENCRYPTED, PUBLIC_KEY)))
        path = open_sessions(late, 1, GLib.Variant("(sv)", (ENCRYPTED, PUBLIC_KEY)))[0]
        secret = late.raw(item, ITEM, "GetSecret", GLib.Variant("(o)", (path,))).get_child_value(0)
        assert len(secret.get_child_value(1).get_data_as_bytes().get_data()) == 16
        assert len(secret.get_child_value(2).get_data_as_bytes().get_data()) == 16
        assert late.read(item) == b"secret"


def test_sessions_leave_no_memory_behind(stocked):
    def one_round():
        with peers(stocked, 40) as many:
            for peer in many:
                open_sessions(peer, LIMIT_PER_CLIENT)
        with peers(stocked) as (peer,):
            peer.search({})

    settles(stocked, one_round)


def test_ten_thousand_prompts(session):
    assert session.login().returncode == 0
    with peers(session) as (peer,):
        item = peer.create("secret", {"flood": "x"})
    session.lock()
    unlock = GLib.Variant("(ao)", ([LOGIN],))

    def one_round():
        with peers(session, 2) as (peer, other):
            mine = other.unlock(LOGIN)[1]
            answers = flood(peer, 10_000, ROOT, SERVICE, "Unlock", unlock)
            prompts = [prompt for _, prompt in answers]
            assert len(set(prompts)) == 10_000
            assert peer.prompt(prompts[-1]) == (True, "ao", [])
            # The daemon has dropped this client's oldest prompts, and no prompt of other clients.
            assert peer.error(prompts[0], PROMPT, "Prompt", "(s)", "") == NO_SUCH_OBJECT
            assert other.prompt(mine) == (True, "ao", [])

    settles(session, one_round)
    assert session.locker().returncode == 0
    with peers(session) as (peer,):
        assert peer.read(item) == b"secret"


def test_large_secrets_leave_no_memory_behind(stocked):
    value = bytes(range(256)) * (16 << 12)

    def one_round():
        with peers(stocked) as (peer,):
            item = peer.create(value, {"flood": "large"})
            assert peer.read(item) == value
            assert peer.create_error(value * 3, {"flood": "large"}).name.endswith("LimitsExceeded")
            peer.call(item, ITEM, "Delete")

    settles(stocked, one_round)


def test_huge_arrays_leave_no_memory_behind(stocked):
    paths = [f"{LOGIN}/{n}" for n in range(10_000_000, 10_030_000)]

    def one_round():
        with peers(stocked) as (peer,):
            assert peer.unlock(*paths)[0] == []
            assert peer.call(ROOT, SERVICE, "GetSecrets", "(aoo)", paths, peer.plain) == {}
            assert peer.search({f"name {n}": "" for n in range(20_000)}) == ([], [])

    settles(stocked, one_round)


def test_one_call_names_a_limited_number_of_things(stocked):
    """The daemon looks up every path of a call, and serves no other client meanwhile."""
    paths = [f"{LOGIN}/{n}" for n in range(10_000_000, 10_131_073)]
    with peers(stocked) as (peer,):
        assert peer.unlock(*paths[1:])[0] == []
        plain = peer.plain
        for method, signature, arguments in (
            ("Unlock", "(ao)", (paths,)), ("Lock", "(ao)", (paths,)), ("GetSecrets", "(aoo)", (paths, plain)),
            ("SearchItems", "(a{ss})", ({path: "" for path in paths},)),
        ):
            assert peer.error(ROOT, SERVICE, method, signature, *arguments).endswith("LimitsExceeded"), method


# MARK: leaving in the middle


class Wire:
    """A connection to the bus that sends raw bytes."""

    def __init__(self, session):
        self.serial = 0
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(seconds(10))
        with acting_as(session):
            self.socket.connect(str(session.root / "run/bus"))
            self.socket.sendall(b"\0AUTH EXTERNAL\r\n")
            assert self.socket.recv(4096).startswith(b"DATA")
            self.socket.sendall(b"DATA\r\n")
            assert self.socket.recv(4096).startswith(b"OK")
        self.socket.sendall(b"BEGIN\r\n")
        self.send("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")
        while b"NameAcquired" not in self.socket.recv(65536):
            pass

    def message(self, destination, path, interface, member, signature="", body=b""):
        """A method call. The parts may be invalid (D-Bus specification, "Message Format")."""
        self.serial += 1

        def text(value):
            value = value if isinstance(value, bytes) else value.encode()
            return struct.pack("<I", len(value)) + value + b"\0"

        fields = b""
        for code, kind, value in ((1, b"o", path), (2, b"s", interface), (3, b"s", member), (6, b"s", destination)):
            fields += b"\0" * (-len(fields) % 8) + bytes([code, 1]) + kind + b"\0" + text(value)
        if signature:
            fields += b"\0" * (-len(fields) % 8) + b"\x08\x01g\0" + bytes([len(signature)]) + signature.encode() + b"\0"
        head = struct.pack("<BBBBIII", ord("l"), 1, 0, 1, len(body), self.serial, len(fields)) + fields
        return head + b"\0" * (-len(head) % 8) + body

    def send(self, *arguments):
        self.socket.sendall(self.message(*arguments))

    def call(self, path, interface, member, signature="", body=b""):
        self.send(SECRETS, path, interface, member, signature, body)

    def is_cut_off(self):
        """Whether the bus ends the connection."""
        with contextlib.suppress(ConnectionResetError):
            while self.socket.recv(65536):
                pass
        return True

    def error(self):
        """The name of the next error."""
        heard = b""
        while not (found := re.search(rb"org\.(freedesktop|latchkey)[A-Za-z.]*\.Error\.\w+", heard)):
            more = self.socket.recv(65536)
            assert more, "cut off"
            heard += more
        return found[0].decode()

    def close(self):
        self.socket.close()


def string(value):
    return struct.pack("<I", len(value)) + value + b"\0"


def test_bytes_that_d_bus_forbids(stocked):
    """The bus disconnects a client that sends these bytes, so the bytes never reach the daemon."""
    read_alias = (ROOT, SERVICE, "ReadAlias", "s")
    for text in (b"\xff\xfe", b"a\0b", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xc3"):
        wire = Wire(stocked)
        wire.call(*read_alias, string(text))
        assert wire.is_cut_off(), text
        wire.close()
    for path in (b"/a\0b", b"/\xff", b"a", b"", b"/a//b", b"/a/", b"/a b"):
        for where, arguments in (
            ("argument", (ROOT, SERVICE, "Unlock", "ao", struct.pack("<I", len(string(path))) + string(path))),
            ("place", (path, ITEM, "GetSecret", "o", string(b"/"))),
        ):
            wire = Wire(stocked)
            wire.call(*arguments)
            assert wire.is_cut_off(), (path, where)
            wire.close()
    for body in (b"", string(b"x")[:-1], struct.pack("<I", 0xFFFFFFFF), struct.pack("<I", 1000) + b"x\0"):
        wire = Wire(stocked)
        wire.call(*read_alias, body)
        assert wire.is_cut_off(), body
        wire.close()
    wire = Wire(stocked)
    wire.call(ROOT, SERVICE, "ReadAlias", "u", struct.pack("<I", 1))
    assert wire.error() == INVALID
    # These strings are still valid: noncharacters, and characters that only look like an end of the string.
    wire.call(*read_alias, string("\ufffe\U0010ffff\u200b".encode()))
    wire.call(ROOT, SERVICE, "Unlock", "as", struct.pack("<I", 0))
    assert wire.error() == INVALID
    wire.close()


def test_a_client_that_leaves_before_its_call_is_whole(stocked):
    body = struct.pack("<I", 0) + struct.pack("<I", 0) + string(b"/")
    for share in (0.001, 0.5, 0.999):
        wire = Wire(stocked)
        whole = wire.message(SECRETS, LOGIN, COLLECTION, "CreateItem", "a{sv}(oayays)b", body + b"\0" * (8 << 20))
        wire.socket.sendall(whole[: int(len(whole) * share)])
        wire.close()
        with peers(stocked) as (peer,):
            assert peer.search({"kept": "x"})[0] != []


def test_a_client_that_leaves_before_its_answer(stocked):
    """Each call takes effect completely, or not at all."""
    with peers(stocked) as (watching,):
        for number in range(30):
            with peers(stocked) as (peer,):
                value = bytes([number]) * 100_000
                properties = {ITEM + ".Attributes": attributes_of({"leaver": str(number)})}
                parameters = GLib.Variant.new_tuple(
                    GLib.Variant("a{sv}", properties), peer.secret(value), GLib.Variant("b", True)
                )
                for _ in range(3):
                    peer.bus.call(
                        SECRETS, DEFAULT, COLLECTION, "CreateItem", parameters, None, Gio.DBusCallFlags.NONE, 10000,
                        None, lambda *_: None,
                    )
                peer.bus.flush_sync(None)
        wait_until(lambda: watching.search({"leaver": "29"})[0] != [], "the last one's item")
        for number in range(30):
            found = watching.search({"leaver": str(number)})[0]
            assert len(found) <= 1
            assert all(watching.read(item) == bytes([number]) * 100_000 for item in found)


def test_a_client_that_leaves_between_opening_and_storing(stocked):
    with peers(stocked) as (watching,):
        item = watching.create("secret", {"flood": "x"})
        for _ in range(50):
            with peers(stocked) as (peer,):
                path = peer.open_plain()[1]
            assert watching.create_error("x", {"between": "x"}, session=path).name == NO_SESSION
            wait_until(
                lambda path=path: watching.error(path, "org.freedesktop.Secret.Session", "Close") == NO_SUCH_OBJECT,
                "the session's end",
            )
        assert watching.search({"between": "x"}) == ([], [])
        assert watching.read(item) == b"secret"


def test_a_client_that_never_reads(stocked):
    """The answers for this client pile up in the bus, while the daemon serves other clients."""
    wire = Wire(stocked)
    wire.socket.settimeout(0.2)
    body = struct.pack("<I", 0)
    with contextlib.suppress(TimeoutError, BrokenPipeError, ConnectionResetError):
        for _ in range(20_000):
            wire.call(ROOT, SERVICE, "SearchItems", "a{ss}", body + b"\0" * 4)
    with peers(stocked) as (peer,):
        assert peer.search({"kept": "x"})[0] != []
    wire.close()
