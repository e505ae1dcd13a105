"""latchkey-deviced under users who flood it: another user's requests are all answered."""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import time

from support.derive import as_root
from support.deviced import DONE, ERASABLE, ERASE, SHARE, WRAP, Peer, command, service  # noqa: F401

pytestmark = as_root
HONEST, STRANGERS = 65534, 3_000_000_000
REQUESTS = 1000
# What a request may take here. The program gives up after 2 s of waiting, on a machine that is not as busy.
LIMIT = 20

CONNECT = """
while True:
    with connection() as peer:
        pass
"""
# The first bytes of a request, and none of the rest.
HALVES = """
crowd = []
while True:
    peer = connection()
    with contextlib.suppress(OSError):
        peer.send(bytes([1, 2, 1]))
    crowd = crowd[-63:] + [peer]
"""
ERASER = """
wrap = bytes([1, 2, 2, 0]) + bytes(32)
while True:
    with connection() as peer, contextlib.suppress(OSError):
        for _ in range(30):
            for packet in (wrap, bytes([1, 4]) + struct.pack("<I", uid)):
                peer.send(packet)
                peer.recv(512)
"""
UNKNOWN = """
while True:
    uid = uid + 1 if uid < 3_000_065_536 else 3_000_000_000
    os.seteuid(0)
    os.seteuid(uid)
    with connection() as peer, contextlib.suppress(OSError):
        peer.send(bytes([1, 1]))
        peer.recv(512)
"""
BEGINNING = """
import contextlib, ctypes, os, socket, struct, sys
path, uid = sys.argv[1], int(sys.argv[2])
# It ends with the test.
ctypes.CDLL(None).prctl(1, 9)
os.seteuid(uid)
def connection():
    while True:
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        try:
            peer.connect(path)
        except OSError:
            peer.close()
            continue
        peer.setblocking(True)
        peer.settimeout(5)
        return peer
"""


@contextlib.contextmanager
def flood(service, *kinds):
    """Processes that flood the service, each as another user."""
    processes = []
    try:
        for number, text in enumerate(kinds, 1):
            uid = STRANGERS if text is UNKNOWN else number
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-c", BEGINNING + text, service.path, str(uid)], stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))  # fmt: skip
        time.sleep(1)
        yield
        for process in processes:
            assert process.poll() is None, process.stderr.read().decode()[-500:]
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stderr.close()


def ask(service, packet):
    """One request as latchkeyd makes it: a connection of its own, and another one where that was dropped unread."""
    while True:
        with Peer(service.path, HONEST) as peer:
            try:
                peer.socket.settimeout(LIMIT)
                peer.socket.send(packet)
                answer = peer.socket.recv(512)
            except (BrokenPipeError, ConnectionResetError):
                time.sleep(0.01)
                continue
            assert answer[:2] == bytes([1, DONE])
            return answer[2:]


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
    assert times[-1] < LIMIT
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
    seconds = time.monotonic() - begin
    lines = service.journal().count("was erased")
    # A second's worth at once, and a tenth of the time after that, at a tenth of a second each.
    assert 1 <= lines <= 12 + 2 * seconds


def test_who_is_let_in_later_waits_for_a_place(service):
    """More connections wait than the kernel keeps: none of them fails for that."""
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
    assert late.communicate(timeout=60) == ("host\n", "")
