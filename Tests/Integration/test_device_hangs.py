"""A device key service that does not answer: locks are heard all the same, and what needs it opens when it answers again."""

import subprocess
import sys
import time

import pytest
from support.deviced import Service
from support.session import wait_until
from test_device import BOUND, CLASS, FREE, begin, device, fill, readable  # noqa: F401

# How long latchkeyd waits for one answer.
TIMEOUT = 2

# Between the daemon and the service. While the file HOLD exists it passes nothing on, but for the request that only
# asks whether there is an answer where HOLD says "answering"; each packet that it keeps is a line in HELD.
PROXY = """
import os, pathlib, socket, sys, threading
ours, theirs, uid, hold, held = sys.argv[1:]
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(ours)
os.chmod(ours, 0o666)
listener.listen(64)
if os.geteuid() == 0:
    os.seteuid(int(uid))
print("ready", flush=True)
PROBE = bytes([1, 3, 1, 0]) + bytes(72)
kept = []
def serve(peer):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as service:
        service.connect(theirs)
        while packet := peer.recv(512):
            state = pathlib.Path(hold).read_text() if os.path.exists(hold) else None
            if state is not None and not (state == "answering" and packet == PROBE):
                kept.append(peer)
                with open(held, "a") as file:
                    print(packet[1], file=file)
                return
            service.send(packet)
            peer.send(service.recv(512))
    peer.close()
def guarded(peer):
    try:
        serve(peer)
    except OSError:
        peer.close()
while True:
    threading.Thread(target=guarded, args=(listener.accept()[0],), daemon=True).start()
"""


class Hanging:
    """The service, which can be made to hang."""

    def __init__(self, session, stage):
        self.service = Service(program=stage / "usr/libexec/latchkey-deviced").start()
        self.hold, self.held = session.root / "hold", session.root / "held"
        self.held.touch()
        self.held.chmod(0o666)
        self.proxy = subprocess.Popen(
            [sys.executable, "-c", PROXY, session.root / "device.sock", self.service.path, str(session.uid), self.hold,
             self.held], stdout=subprocess.PIPE, text=True)  # fmt: skip
        assert self.proxy.stdout.readline() == "ready\n"

    def hang(self, state="silent"):
        self.hold.write_text(state)
        self.hold.chmod(0o644)

    def answer(self):
        self.hold.unlink(missing_ok=True)

    def requests(self):
        return len(self.held.read_text().splitlines())

    def close(self):
        self.proxy.kill()
        self.proxy.wait()
        self.proxy.stdout.close()
        self.service.close()


@pytest.fixture
def hanging(session, stage):
    made = Hanging(session, stage)
    yield made
    made.close()


@pytest.fixture
def stocked(session, hanging):
    """A session that was logged in to, with items that need the device; its daemon started anew, and sealed."""
    assert session.login().returncode == 0
    fill(session)
    # On a busy machine the service may not be quick enough at first.
    wait_until(lambda: device(session) == ("host", []), "a note of how far the files are", 60)
    session.restart()
    return session


def login(session):
    """A login that goes on while the test does."""
    return session.start(
        "pamtester", "login", session.user, "authenticate", "open_session", stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip


def test_a_lock_does_not_wait_for_the_service(stocked, hanging):
    """The keys have come, and the vault is being opened: the daemon waits in the middle of that."""
    hanging.hang("answering")
    coming = login(stocked)
    coming.stdin.write(stocked.password.encode())
    coming.stdin.close()
    wait_until(hanging.requests, "a request of the daemon's")
    start = time.monotonic()
    stocked.lock()
    took = time.monotonic() - start
    print(f"the lock took {took * 1000:.0f} ms")
    assert took < TIMEOUT
    assert coming.wait(60) == 0
    assert stocked.status()["state"] == "locked"
    assert FREE not in readable(stocked)
    hanging.answer()
    assert stocked.locker().returncode == 0
    wait_until(lambda: readable(stocked) == {FREE, *BOUND}, "what needs the device", 60)


def test_what_needs_the_service_opens_when_it_answers_again(stocked, hanging):
    hanging.hang()
    begin(stocked)
    assert readable(stocked) == {FREE}
    state, reasons = device(stocked)
    assert state == "unavailable" and "does not answer" in reasons[0]
    hanging.answer()
    # Nobody logs in or unlocks.
    wait_until(lambda: readable(stocked) == {FREE, *BOUND}, "what needs the device", 60)
    wait_until(lambda: device(stocked) == ("host", []), "the note of how far the files are", 60)


def test_what_was_not_noted_is_noted_when_it_answers_again(stocked, hanging):
    assert stocked.login().returncode == 0
    stocked.lock()
    hanging.hang("answering")
    assert stocked.locker().returncode == 0
    wait_until(lambda: readable(stocked) == {FREE, *BOUND}, "the unlock", 60)
    state, problems = device(stocked)
    assert state == "host" and "whether an older copy of the vault was put back" in problems[0]
    hanging.answer()
    wait_until(lambda: device(stocked) == ("host", []), "the note of how far the files are", 60)


def test_before_a_login_it_opens_when_the_service_answers_again(stocked, hanging):
    hanging.hang()
    stocked.restart()
    assert stocked.status()["device_key"] == "unavailable"
    hanging.answer()
    wait_until(lambda: readable(stocked) == {"always-this-device-only"}, "what needs the device alone", 60)
