"""latchkey-deviced under floods by some users still answers all requests of another user."""

import os
import resource
import signal
import socket
import struct
import subprocess
import time

import pytest
from support.derive import as_root
from support.deviced import DAEMON, DONE, IDENTITY, NOBODY, SHARE, WRAP, Peer, command, service  # noqa: F401
from support.floods import CONNECT, ERASER, HALVES, LIMIT, REQUESTS, UNKNOWN, ask, flood
from support.pace import seconds

pytestmark = [pytest.mark.night("faults"), as_root]


def test_an_honest_users_requests_are_all_answered(service):
    wrapped = ask(service, bytes([1, WRAP, 1, 0]) + SHARE)
    times = []
    with flood(service, CONNECT, HALVES, ERASER, UNKNOWN):
        for _ in range(REQUESTS):
            begin = time.monotonic()
            assert ask(service, bytes([1, 3, 1, 0]) + wrapped) == SHARE
            times.append(time.monotonic() - begin)
    times.sort()
    print(f"{REQUESTS} requests: median {times[len(times) // 2] * 1000:.1f} ms, slowest {times[-1] * 1000:.0f} ms")
    assert times[-1] < seconds(LIMIT)
    assert service.process.poll() is None


def test_the_command_line_gets_its_answer_beside_them(service):
    with flood(service, CONNECT, CONNECT, HALVES, UNKNOWN):
        for _ in range(5):
            shown = command(service, "show")
            assert shown.stdout == "host\n", shown.stderr


def test_what_erases_without_end_writes_few_lines(service):
    begin = time.monotonic()
    with flood(service, ERASER):
        time.sleep(4)
    took = time.monotonic() - begin
    lines = service.journal().count("was erased")
    # The user may use a second of the service's time at once, and then a tenth of the time. Each erasure counts as a tenth of a
    # second.
    assert 1 <= lines <= 12 + 2 * took


def test_who_is_let_in_later_waits_for_a_place(service):
    """More connections wait than the kernel's queue holds, and no connection fails."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    os.kill(service.process.pid, signal.SIGSTOP)
    crowd = []
    try:
        while True:
            peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
            crowd.append(peer)
            try:
                peer.connect(str(service.path))
            except BlockingIOError:
                break
        late = subprocess.Popen(
            [service.program.parent / "latchkey", "device", "show", "--socket", service.path],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
        time.sleep(0.5)
        assert late.poll() is None
    finally:
        os.kill(service.process.pid, signal.SIGCONT)
        for peer in crowd:
            peer.close()
    assert late.communicate(timeout=seconds(60)) == ("host\n", "")


def lingering(listener):
    """A TCP connection with unread data. Closing its last end waits an hour for the peer."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    connection.connect(listener.getsockname())
    connection.setblocking(False)
    try:
        while True:
            connection.send(bytes(65536))
    except BlockingIOError:
        connection.setblocking(True)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
    return connection


def test_descriptors_that_are_slow_to_close_hold_up_nobody_else(service):
    """A user's connections, each with such an unread descriptor. The service drops nearly all of them."""
    with Peer(service.path, NOBODY) as first, socket.socket() as listener:
        first.identity()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind(("127.0.0.1", 0))
        listener.listen(900)
        os.kill(service.process.pid, signal.SIGSTOP)
        try:
            for _ in range(900):
                with Peer(service.path, DAEMON) as peer, lingering(listener) as connection:
                    socket.send_fds(peer.socket, [bytes([1, IDENTITY])], [connection.fileno()])
            honest = Peer(service.path, NOBODY)
            honest.socket.send(bytes([1, IDENTITY]))
        finally:
            os.kill(service.process.pid, signal.SIGCONT)
        with honest:
            honest.socket.settimeout(seconds(LIMIT))
            assert honest.socket.recv(512)[:2] == bytes([1, DONE])
