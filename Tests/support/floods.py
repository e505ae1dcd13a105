"""Users who flood latchkey-deviced, and an honest user beside them."""

import contextlib
import subprocess
import sys
import time

from support.deviced import DONE, Peer
from support.pace import seconds

HONEST, STRANGERS = 65534, 3_000_000_000
REQUESTS = 1000
# The seconds that a request may take on a quiet machine. The program gives up after 2 s of waiting.
LIMIT = 7

CONNECT = """
while True:
    with connection() as peer:
        pass
"""
# Sends only the first bytes of a request.
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
# This process ends with the test.
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
    """Starts processes that flood the service, each as another user."""
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
    """Makes one request as latchkeyd does, on a connection of its own. If the service dropped the connection unread,
    tries again on another connection."""
    while True:
        with Peer(service.path, HONEST) as peer:
            try:
                peer.socket.settimeout(seconds(LIMIT))
                peer.socket.send(packet)
                answer = peer.socket.recv(512)
            except (BrokenPipeError, ConnectionResetError):
                time.sleep(0.01)
                continue
            assert answer[:2] == bytes([1, DONE])
            return answer[2:]
