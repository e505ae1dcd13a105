"""The control socket with peers of every kind. No peer can keep the daemon from serving the other peers."""

import contextlib
import os
import random
import struct
import subprocess
import threading
import time

import pytest
from support.control import (
    HELLO, KEYS, LOCK, NOTED, NOTHING, ONE_TIME_KEY, OTHER_VERSION, PASSPHRASE, REFUSED, ROTATE, SILENCE, SLACK, SLOW_PASSWORD, SOON, STATUS,
    UNLOCK, UNLOCK_SESSION, VERSION, WRONG_KEYS, Control, hello, keys, packet, status_works, text,
)
from support.pace import seconds
from support.sealing import seal
from support.session import is_alive


@pytest.fixture(scope="module")
def daemon(shared_session):
    """An unlocked session. The same daemon must run at the end."""
    assert shared_session.login().returncode == 0
    before = shared_session.daemon_pid()
    yield shared_session
    assert is_alive(before) and shared_session.daemon_pid() == before
    assert shared_session.status()["problems"] == []


def test_a_second_daemon_says_why_it_cannot_serve(daemon):
    with open(f"/proc/{daemon.daemon_pid()}/cmdline") as file:
        command = file.read().split("\0")[:-1]
    # A second daemon ends at the control socket, whether the second daemon uses the same bus or another bus.
    done = daemon.run(*command)
    assert done.returncode == 1
    assert "latchkeyd cannot start: another latchkeyd of this user runs" in done.stderr
    assert "systemctl --user stop latchkeyd.socket latchkeyd.service" in done.stderr and "Address already" not in done.stderr
    assert status_works(daemon)


def test_what_is_asked_is_answered(daemon):
    for user in (True, False):
        control = Control(daemon, user)
        assert control.ask(packet(STATUS))[:3] == packet(STATUS, b"\1")
        assert control.ask(hello())[:3] == packet(HELLO, bytes([NOTHING]))
        assert control.ask(hello(service="sudo"))[:3] == packet(HELLO, bytes([REFUSED]))
        assert control.ask(packet(STATUS))[:2] == packet(STATUS)
        control.close()


@pytest.mark.parametrize(
    "data",
    [
        b"\2",
        packet(0),
        packet(5),
        packet(16),
        packet(255),
        packet(STATUS, b"x"),
        packet(LOCK, b"\0"),
        packet(HELLO),
        packet(HELLO, b"\1"),
        packet(HELLO, b"\0" + text("login") + text("") + text("") + bytes(8)),
        packet(HELLO, b"\4" + text("login") + text("") + text("") + bytes(8)),
        packet(HELLO, b"\1" + text("login") + text("") + b"\xff\xff" + bytes(8)),
        packet(HELLO, b"\1" + text("x" * 256) + text("") + text("") + bytes(8)),
        hello() + b"x",
        hello()[:-1],
        packet(UNLOCK),
        keys(),
        packet(ROTATE, keys()[2:]),
        packet(UNLOCK_SESSION, bytes(52)),
        packet(PASSPHRASE, bytes(40)),
        packet(ONE_TIME_KEY, b"\0"),
        b"\2\3" + b"x" * 4095,
        b"\2\1" + b"\2" * 20000,
        b"\2\3" * 16384,
    ],
    ids=lambda data: f"{len(data)}-{data[:8].hex()}",
)
def test_what_nobody_sends_ends_the_connection(daemon, data):
    control = Control(daemon)
    assert control.ask(hello())[:2] == packet(HELLO)
    with contextlib.suppress(BrokenPipeError):
        control.send(data)
    assert control.is_over()
    control.close()
    assert status_works(daemon)
    assert daemon.status()["state"] == "unlocked"


def other_key(control, daemon):
    other = Control(daemon)
    key = other.one_time_key()
    other.close()
    return key


def asked_in_between(control, daemon):
    key = control.one_time_key()
    assert control.ask(packet(STATUS))[:2] == packet(STATUS)
    return key


def asked_twice(control, daemon):
    key = control.one_time_key()
    assert control.one_time_key() != key
    return key


def changed(at):
    return lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("key, change", [
    (other_key, bytes), (asked_in_between, bytes), (asked_twice, bytes), (Control.one_time_key, changed(2)),
    (Control.one_time_key, changed(-1)), (Control.one_time_key, lambda data: data[:-1]), (Control.one_time_key, lambda data: data + b"x"),
    (Control.one_time_key, lambda data: data[:40]), (Control.one_time_key, lambda data: packet(ROTATE) + data[2:])],
    ids=["another connection's key", "a packet in between", "a later key", "first byte", "last byte", "cut", "longer", "half",
         "another operation"])  # fmt: skip
def test_what_is_not_sealed_for_this_packet_ends_the_connection(daemon, key, change):
    control = Control(daemon)
    assert control.ask(hello())[:2] == packet(HELLO)
    public = key(control) if key is Control.one_time_key else key(control, daemon)
    control.send(change(seal(keys(), public)))
    assert control.is_over()
    control.close()
    assert status_works(daemon)
    assert daemon.status()["state"] == "unlocked"


@pytest.mark.parametrize("data", [keys()[:-1], keys() + b"\0", packet(UNLOCK), packet(STATUS), packet(HELLO), b"\1", b""])
def test_what_nobody_seals_ends_the_connection(daemon, data):
    control = Control(daemon)
    assert control.ask(hello())[:2] == packet(HELLO)
    control.send(packet(UNLOCK) + seal(data, control.one_time_key())[len(data[:2]) :])
    assert control.is_over()
    control.close()
    assert status_works(daemon)


def test_a_sealed_packet_serves_once(session):
    assert session.login().returncode == 0
    assert session.logout().returncode == 0
    control = Control(session)
    assert control.ask(hello())[:3] == packet(HELLO, bytes([KEYS]))
    sealed = seal(keys(), control.one_time_key())
    assert control.ask(sealed)[:3] == packet(UNLOCK, bytes([WRONG_KEYS]))
    control.send(sealed)
    assert control.is_over()
    control.close()
    assert status_works(session)


@pytest.mark.parametrize("data", [
    packet(STATUS, version=1), packet(STATUS, version=0), packet(HELLO, b"of the future", version=VERSION + 1), packet(99, version=255),
    b"\1" + keys()[1:], b"\1" + random.Random(1).randbytes(4095), b"\0" * 4096])  # fmt: skip
def test_what_another_version_sends_is_answered_by_that_and_ends_the_connection(daemon, data):
    control = Control(daemon)
    assert control.ask(data) == packet(OTHER_VERSION)
    assert control.is_over()


def test_hello_with_bytes_that_are_no_text(daemon):
    control = Control(daemon)
    assert control.ask(hello(service=b"\xff\xfe\0log'in\n", tty=b"\xed\xa0\x80", host=b"\0"))[:2] == packet(HELLO)
    assert control.ask(packet(STATUS))[:2] == packet(STATUS)
    control.close()


def test_an_empty_packet_ends_the_connection(daemon):
    control = Control(daemon)
    control.send(b"")
    assert control.is_over()
    control.close()
    assert status_works(daemon)


def test_keys_without_hello(daemon):
    control = Control(daemon)
    control.deliver(keys())
    assert control.is_over()
    control.close()
    assert status_works(daemon)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_another_user_is_dropped(session):
    # The folders' modes would keep another user out. So the test changes the modes of all folders above the socket.
    folder = session.runtime / "latchkey"
    for path, mode in ((session.root, 0o711), (session.runtime, 0o711), (folder, 0o711), (folder / "control", 0o666)):
        path.chmod(mode)
    asking = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(float(sys.argv[3]))\n"
        "s.connect(sys.argv[1])\n"
        "try:\n s.send(bytes([1, int(sys.argv[2])])); print(len(s.recv(32768)))\n"
        "except (BrokenPipeError, ConnectionResetError): print(0)\n"
    )

    def ask(uid, operation):
        command = ["/usr/bin/python3", "-c", asking, str(folder / "control"), str(operation), str(seconds(5))]
        done = subprocess.run(command, user=uid, group=uid, extra_groups=[], capture_output=True, text=True, timeout=seconds(20))
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    assert session.login().returncode == 0
    assert ask(0, STATUS) > 0
    assert ask(session.uid, STATUS) > 0
    for uid in (1, 4242):
        assert ask(uid, STATUS) == 0
        assert ask(uid, LOCK) == 0
    assert session.status()["state"] == "unlocked"


@pytest.mark.night("faults")
def test_silence_ends_the_connection_and_others_are_served(daemon):
    silent, greeted = Control(daemon), Control(daemon)
    began = time.monotonic()
    assert greeted.ask(hello())[:2] == packet(HELLO)
    for _ in range(5):
        assert status_works(daemon)
        time.sleep(0.2)
    for control in (silent, greeted):
        assert control.receive() == b""
        assert SILENCE - 1 < time.monotonic() - began
        control.close()
    assert status_works(daemon)


def test_a_hundred_connections_at_once(daemon):
    def ask():
        control = Control(daemon, user=False)
        answers.append(control.ask(packet(STATUS))[:2])
        control.close()

    answers = []
    began = time.monotonic()
    threads = [threading.Thread(target=ask) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [packet(STATUS)] * 100
    assert time.monotonic() - began < seconds(SOON)
    assert status_works(daemon)


@pytest.mark.night("faults")
def test_more_silent_peers_than_there_is_room_for(daemon):
    silent = [Control(daemon) for _ in range(60)]
    control = Control(daemon)
    began = time.monotonic()
    control.send(packet(STATUS))
    # The daemon serves this connection after the silence limit of earlier connections. The wait may take twice the
    # limit, because other connections are in the queue before this connection.
    control.socket.settimeout(2 * SILENCE + seconds(SLACK))
    assert control.receive()[:2] == packet(STATUS)
    assert time.monotonic() - began > SILENCE - 1
    for one in (*silent, control):
        one.close()
    assert status_works(daemon)


def test_a_peer_that_does_not_read(daemon):
    control = Control(daemon)
    control.socket.setblocking(False)
    with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
        for _ in range(5000):
            control.send(packet(STATUS))
    assert status_works(daemon)
    control.close()
    assert status_works(daemon)


def test_peers_that_leave_at_once(daemon):
    for data in (None, packet(STATUS), hello(), hello() * 2):
        for _ in range(50):
            control = Control(daemon)
            if data:
                control.send(data)
            control.close()
    control = Control(daemon)
    assert control.ask(hello())[:2] == packet(HELLO)
    control.deliver(keys())
    control.close()
    time.sleep(1.5)
    assert status_works(daemon)


def test_wrong_keys_are_slowed_on_their_connection_alone_and_counted(session):
    assert session.login().returncode == 0
    assert session.logout().returncode == 0
    guessing, other = Control(session), Control(session)
    assert guessing.ask(hello())[:3] == packet(HELLO, bytes([KEYS]))
    assert other.ask(hello())[:3] == packet(HELLO, bytes([KEYS]))
    for attempt in (1, 2, 3):
        began = time.monotonic()
        guessing.deliver(keys(tiers=os.urandom(64)))
        if attempt == 2:
            assert status_works(session)
            assert other.ask(packet(STATUS))[:2] == packet(STATUS)
            assert session.login().returncode == 0
            assert session.status()["state"] == "unlocked"
            assert session.logout().returncode == 0
            assert time.monotonic() - began < seconds(attempt + 1)
        assert guessing.receive()[:3] == packet(UNLOCK, bytes([WRONG_KEYS]))
        if attempt != 2:
            assert attempt - 0.1 < time.monotonic() - began < seconds(attempt)
    # The connection stays closed. A new connection starts with no failed attempts.
    assert guessing.ask(packet(STATUS)) == b""
    began = time.monotonic()
    assert other.ask_sealed(keys())[:3] == packet(UNLOCK, bytes([WRONG_KEYS]))
    assert time.monotonic() - began < seconds(0.7)
    assert session.status()["state"] == "sealed"


def test_wrong_keys_change_nothing(session):
    assert session.login().returncode == 0
    session.store("open sesame", "service", "mail")
    for before, state in ((session.lock, "locked"), (session.logout, "sealed")):
        before()
        for flags in (0, 1, 255):
            control = Control(session)
            assert control.ask(hello())[:2] == packet(HELLO)
            assert control.ask_sealed(keys(flags=flags))[:3] == packet(UNLOCK, bytes([WRONG_KEYS]))
            control.close()
        assert session.status()["state"] == state
        assert session.lookup("service", "mail") is None
    assert session.login().returncode == 0
    assert session.lookup("service", "mail") == "open sesame"


def test_lock_answers_when_it_is_locked(session):
    assert session.login().returncode == 0
    session.store("open sesame", "service", "mail")
    control = Control(session)
    assert control.ask(packet(LOCK)) == packet(LOCK)
    assert session.lookup("service", "mail") is None
    assert control.ask(packet(LOCK)) == packet(LOCK)
    control.close()


def test_a_password_that_is_slow_here_is_said_until_the_next_unlock(session):
    control = Control(session)
    note = packet(SLOW_PASSWORD, struct.pack("<I", 4200))
    assert control.ask(note) == packet(NOTED)
    assert session.status()["problems"] == []  # no password was given
    assert session.login().returncode == 0
    assert control.ask(note) == packet(NOTED)
    (problem,) = session.status()["problems"]
    assert "took 4 s" in problem and "latchkey rotate" in problem
    assert problem in session.run("latchkey", "status").stdout and problem in session.run("latchkey", "doctor").stdout
    session.lock()
    assert session.locker().returncode == 0
    assert session.status()["problems"] == []
    assert control.ask(packet(SLOW_PASSWORD, b"\1\0\0")) == b""
    control.close()
