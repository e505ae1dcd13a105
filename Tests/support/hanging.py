"""A device key service that a test can make hang, and a login during that time."""

import subprocess
import sys

from support.deviced import Service

# A process between the daemon and the service. While the file HOLD exists, the process keeps all packets. If HOLD says
# "answering", the process still passes on the request that only asks whether the service answers. For each kept packet,
# HELD has a line.
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
    """A service that a test can make hang."""

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


def login(session):
    """Starts a login that continues beside the test."""
    return session.start(
        "pamtester", "login", session.user, "authenticate", "open_session", stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
