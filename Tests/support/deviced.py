"""latchkey-deviced for tests: the service with its own state and socket, peers of any user, and a software TPM.

`service`, `tpm` and `sealed` are fixtures. `sealed` is a service whose secret is in that TPM.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from hashlib import blake2b

import pytest
from support.pace import Limit, seconds
from support.reasons import words
from support.wire import DEVICE, KEYBAG, codes, raw_values

BUILT = pathlib.Path(os.environ.get("LATCHKEY_BUILT", pathlib.Path(__file__).resolve().parents[2] / ".build/release"))
OPERATION, KIND = raw_values("Operation", DEVICE), raw_values("DeviceShareKind", KEYBAG)
OUTCOME, BACKEND = raw_values("Outcome", DEVICE), codes("DevicePacket", DEVICE)
IDENTITY, WRAP, UNWRAP, ERASE, MOVE, FORGET, NOTE, SESSION = (
    OPERATION[name] for name in ("identity", "wrap", "unwrap", "eraseErasable", "move", "forget", "note", "session"))
BOUND, ERASABLE, LOGIN = KIND["bound"], KIND["erasable"], KIND["session"]
DONE, OTHER_DEVICE, UNAVAILABLE, REFUSED = (
    OUTCOME[name] for name in ("done", "otherDevice", "unavailable", "refused"))
HOST, TPM = BACKEND["host"], BACKEND["tpm"]
SHARE = bytes(range(32))
ME = os.geteuid()
NOBODY, DAEMON = 65534, 1


class Refused(Exception):
    """The service refused a request. Contains the outcome, and the codes and values of the reason."""

    @property
    def outcome(self):
        return self.args[0]

    @property
    def text(self):
        return self.args[1]


@contextlib.contextmanager
def effective(uid):
    """Root takes the user id for a moment, because the kernel reports the user id to the other end of a new connection.
    """
    if uid in (None, os.geteuid()):
        yield
        return
    if os.geteuid() != 0:
        pytest.skip("needs root")
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


class Peer:
    """One connection of a user to the service."""

    def __init__(self, path, uid=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with effective(uid):
            self.socket.connect(str(path))
        self.socket.settimeout(seconds(40))

    def raw(self, packet):
        """The answer. Empty if the service ended the connection."""
        try:
            self.socket.send(packet)
            return self.socket.recv(4096)
        except (BrokenPipeError, ConnectionResetError):
            return b""

    def ask(self, operation, fields=b""):
        answer = self.raw(bytes([1, operation]) + fields)
        if not answer:
            raise ConnectionResetError("the service ended the connection")
        assert answer[0] == 1
        if answer[1] != DONE:
            text = words(answer[2:]) if answer[1] in (UNAVAILABLE, REFUSED) else ""
            raise Refused(answer[1], text)
        return answer[2:]

    def identity(self):
        answer = self.ask(IDENTITY)
        assert len(answer) == 17
        return answer[:16], answer[16]

    def wrap(self, share, kind=BOUND, context=b"context"):
        return self.ask(WRAP, bytes([kind, len(context)]) + context + share)

    def unwrap(self, wrapped, kind=BOUND, context=b"context"):
        return self.ask(UNWRAP, bytes([kind, len(context)]) + context + wrapped)

    def erase(self, uid):
        assert self.ask(ERASE, struct.pack("<I", uid)) == b""

    def move(self, backend):
        assert self.ask(MOVE, bytes([backend])) == b""

    def forget(self, uid):
        assert self.ask(FORGET, struct.pack("<I", uid)) == b""

    def login_of(self, uid):
        """Makes this connection serve a login of the user."""
        assert self.ask(SESSION, struct.pack("<I", uid)) == b""

    def note(self, vault, keybag, database, begin=False):
        """Notes the generations. Returns the generations of keybag and database that the service knew before, or None.
        """
        answer = self.ask(NOTE, vault + struct.pack("<QQB", keybag, database, begin))
        known, *before = struct.unpack("<BQQ", answer)
        assert known or before == [0, 0]
        return tuple(before) if known else None

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Service:
    """The service. Tests may start and stop it repeatedly with the same state."""

    def __init__(self, tcti="none", program=BUILT / "latchkey-deviced", path=None):
        self.program, self.tcti = program, tcti
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="latchkey-device-", dir="/tmp"))
        self.root.chmod(0o755)
        self.state = self.root / "state"
        self.state.mkdir(0o700)
        self.path = path or self.root / "device.sock"
        self.process = None

    def start(self, *arguments, **environment):
        command = [self.program, "--state", self.state, "--socket", self.path, "--tcti", self.tcti, "--idle", "0", *arguments]
        self.log = open(self.root / "log", "ab")
        self.process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, cwd="/",
            env={"PATH": "/usr/bin:/bin", **environment})
        limit = Limit(10)
        while self.process.poll() is None:
            with contextlib.suppress(OSError):
                Peer(self.path).close()
                return self
            assert not limit.is_over, "the service does not listen"
            time.sleep(0.01)
        return self

    def stop(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
        if self.process:
            self.process.wait(seconds(10))
            self.log.close()
        self.process = None

    def restart(self, *arguments, **environment):
        self.stop()
        return self.start(*arguments, **environment)

    def peer(self, uid=None):
        return Peer(self.path, uid)

    def files(self):
        """Every file of the state except the lock, with its content."""
        return {
            str(path.relative_to(self.state)): path.read_bytes()
            for path in sorted(self.state.rglob("*")) if path.is_file() and path.name != "lock"
        }

    def journal(self):
        return (self.root / "log").read_text()

    def close(self):
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.root)


class SoftwareTPM:
    """swtpm with its own chip. Clients reach the TPM through `tcti`."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="latchkey-swtpm-", dir="/tmp"))
        self.process = None
        self.start()

    def start(self):
        for _ in range(20):
            # The client expects two consecutive port numbers.
            with socket.socket() as first, socket.socket() as second:
                first.bind(("127.0.0.1", 0))
                port = first.getsockname()[1]
                try:
                    second.bind(("127.0.0.1", port + 1))
                except OSError:
                    continue
            self.process = subprocess.Popen(
                ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={self.folder}", "--flags", "not-need-init,startup-clear",
                 "--server", f"type=tcp,port={port}", "--ctrl", f"type=tcp,port={port + 1}"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.tcti = f"swtpm:host=127.0.0.1,port={port}"
            limit = Limit(10)
            while self.process.poll() is None and not limit.is_over:
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port + 1)).close()
                    return
                time.sleep(0.01)
            self.stop()
        raise AssertionError("swtpm does not start")

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None

    def clear(self):
        """Gives the TPM another seed, as TPM2_Clear does. Values that were sealed before never open again."""
        self.stop()
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        self.start()

    def close(self):
        self.stop()
        shutil.rmtree(self.folder)


# MARK: an independent implementation of FORMAT.md


def kdf(key, label, *inputs, size=32):
    frames = b"".join(struct.pack("<Q", len(part)) + part for part in (b"latchkey/1/" + label.encode(), *inputs))
    return blake2b(frames, key=key, digest_size=size).digest()


def state_file(content, magic):
    """The fields of a state file."""
    assert content[:12] == magic + struct.pack("<I", 1)
    assert content[-32:] == blake2b(content[:-32], digest_size=32).digest()
    return content[12:-32]


def resummed(content):
    return content[:-32] + blake2b(content[:-32], digest_size=32).digest()


@pytest.fixture
def service():
    started = Service().start()
    yield started
    started.close()


@pytest.fixture
def tpm():
    chip = SoftwareTPM()
    yield chip
    chip.close()


@pytest.fixture
def sealed(tpm):
    """A service whose secret is in a TPM."""
    started = Service(tcti=tpm.tcti).start()
    yield started
    started.close()


def refusal(call, *arguments):
    with pytest.raises(Refused) as caught:
        call(*arguments)
    return caught.value


def outcome(call, *arguments):
    return refusal(call, *arguments).outcome


def command(service, *words, user=None):
    options = {"user": user, "group": user, "extra_groups": []} if user else {}
    return subprocess.run(
        [service.program.parent / "latchkey", "device", words[0], "--socket", service.path, *words[1:]],
        capture_output=True, text=True, timeout=seconds(60), cwd="/", env={"PATH": "/usr/bin:/bin"}, **options)
