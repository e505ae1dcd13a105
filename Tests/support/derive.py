"""latchkey-derive from its callers' side: requests byte by byte, results, and a person with a home."""

import contextlib
import os
import pathlib
import pwd
import socket
import struct
import subprocess
import time

import pytest
from support.helper import *  # noqa: F403 (operations, results and flags)
from support.helper import FIELDS, GO_ON, MEMORY_SIZE, REQUEST, VERSION, now
from support.pace import Limit, seconds
from support.session import REPOSITORY
from support.standin import Daemon

BUILT = pathlib.Path(os.environ.get("LATCHKEY_BUILT", REPOSITORY / ".build/release")).resolve()
IS_ROOT = os.geteuid() == 0
PERSON = pwd.getpwuid(65534 if IS_ROOT else os.geteuid())
PASSWORD = "korrekt Pferd-Batterie 4711 ü"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C"}

OPEN, CLOSE = OPEN_SESSION, CLOSE_SESSION
CREATE_CODE, CHECK_CODE, REMOVE_CODE = CREATE_RECOVERY_CODE, CHECK_RECOVERY_CODE, REMOVE_RECOVERY_CODE

as_root = pytest.mark.skipif(not IS_ROOT, reason="needs root")


def child_of(process):
    limit = Limit(5)
    while not (children := pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()):
        assert not limit.is_over, "it has no child"
    (child,) = map(int, children)
    return child


@contextlib.contextmanager
def memory_of(data, size=MEMORY_SIZE):
    """Shared memory with a request."""
    file = os.memfd_create("latchkey-request")
    try:
        os.truncate(file, size)
        os.pwrite(file, data, 0)
        yield file
    finally:
        os.close(file)


class Run:
    """One helper with a request, or without a request if `data` is None. Before the request is sent, `known` gets this
    object."""

    def __init__(self, program, data, hang_up=True, known=lambda run: None, **options):
        ours, theirs = socket.socketpair()
        self.socket, self.begun = ours, time.monotonic()
        with theirs:
            self.process = subprocess.Popen(
                ["latchkey-derive"], executable=program, stdin=theirs, stdout=options.pop("stdout", subprocess.DEVNULL),
                stderr=subprocess.DEVNULL, env=ENVIRONMENT, cwd=options.pop("cwd", "/"), **options)
        known(self)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the helper may have ended
            if data is not None:
                self.give(data)
            if hang_up:
                ours.shutdown(socket.SHUT_WR)

    def give(self, data):
        with memory_of(data) as file:
            socket.send_fds(self.socket, [bytes([REQUEST])], [file])

    @property
    def pid(self):
        return self.process.pid

    @property
    def supervisor(self):
        """The process between the helper's first process and the worker."""
        return child_of(self.pid)

    @property
    def worker(self):
        """The process that derives the key."""
        return child_of(self.supervisor)

    def go_on(self):
        """Sends the message of a caller that no longer waits. The helper may have ended already."""
        with contextlib.suppress(BrokenPipeError):
            self.socket.sendall(bytes([GO_ON]))

    def proc(self, name):
        return pathlib.Path(f"/proc/{self.worker}/{name}").read_bytes()

    def open_files(self):
        """Links to the helper's open files. The helper is not dumpable, so only root sees them: without root, the test is skipped."""
        if not IS_ROOT:
            pytest.skip("needs root")
        return list(pathlib.Path(f"/proc/{self.worker}/fd").iterdir())

    def result(self):
        """The byte that the helper answered. The helper must send nothing else, and must end by itself."""
        data = self.end()
        assert self.process.returncode == 0, f"ended with {self.process.returncode}"
        assert len(data) == 1, data
        return data[0]

    def end(self):
        """All bytes that the helper answered."""
        data = b""
        self.socket.settimeout(seconds(20))
        try:
            while part := self.socket.recv(16):
                data += part
        except ConnectionResetError:
            pass
        self.process.wait(seconds(20))
        self.seconds = time.monotonic() - self.begun
        self.socket.close()
        return data


class Login:
    """A person with a home, a runtime folder, and a password."""

    def __init__(self, folder, program):
        self.folder, self.program = folder, program
        self.home, self.runtime = folder / "home", folder / "run"
        for path in (self.home, self.runtime):
            path.mkdir(mode=0o700)
            os.chown(path, PERSON.pw_uid, PERSON.pw_gid)
        self.vault = self.home / ".local/share/latchkey"
        self.keybag = self.vault / "keybag"
        # The shadow file is missing unless a test writes it.
        self.shadow = folder / "shadow"
        # No service may unlock without a password, and no device key exists.
        self.services, self.device = folder / "services", folder / "device.sock"
        self.daemons = []

    def daemon(self, **options):
        self.daemons.append(Daemon(self.runtime, owner=PERSON.pw_uid if IS_ROOT else None, **options))
        return self.daemons[-1]

    def request(self, operation, token=PASSWORD, user=PERSON.pw_name, service="login", tty="tty1", rhost="", home=None,
                runtime=None, shadow=None, prompt="", services=None, device=None, flags=0, version=VERSION, given=None,
                password=None):
        texts = dict(
            USER=user, SERVICE=service, TTY=tty, REMOTE_HOST=rhost, HOME=self.home if home is None else home,
            RUNTIME=self.runtime if runtime is None else runtime, SHADOW=self.shadow if shadow is None else shadow,
            PROMPT=prompt, SERVICES=self.services if services is None else services,
            DEVICE=self.device if device is None else device)
        fields = [value if isinstance(value := texts[name], bytes) else str(value) for name in FIELDS] + [token]
        fields += [] if password is None else [password]
        body = bytes([version, operation, flags]) + struct.pack("<Q", now() if given is None else given)
        for field in fields:
            data = field if isinstance(field, bytes) else field.encode()
            body += struct.pack("<H", len(data)) + data
        return struct.pack("<I", len(body)) + body

    def start(self, operation, *, options=None, hang_up=True, known=lambda run: None, **fields):
        return Run(self.program, self.request(operation, **fields), hang_up, known, **options or {})

    def run(self, operation, **fields):
        return self.start(operation, **fields).result()

    def create_vault(self):
        """Creates a vault, as the first login does."""
        assert self.run(OPEN, runtime=self.folder / "nowhere") == CREATED

    def created_before(self, keybag):
        """Copies the vault of another test, because Argon2id is slow."""
        folder = self.home
        for name in (".local", "share", "latchkey"):
            folder = folder / name
            folder.mkdir(mode=0o700)
            os.chown(folder, PERSON.pw_uid, PERSON.pw_gid)
        self.write(self.keybag, keybag)

    def write(self, path, data):
        path.write_bytes(data)
        path.chmod(0o600)
        os.chown(path, PERSON.pw_uid, PERSON.pw_gid)

    def close(self):
        for daemon in self.daemons:
            daemon.close(remove=False)
            assert daemon.problems == []


def is_at_once(start, expected, usual=0.3):
    """Whether a helper gives the expected answer within the usual time. A busy machine may delay one helper. A helper
    that waits or works too much is late each time."""
    for _ in range(3):
        run = start()
        assert run.result() == expected
        if run.seconds < seconds(usual):
            return True
    return False


def but_generation(keybag):
    """A keybag without its generation, and without the tag and the check sum over the generation."""
    return keybag[:28] + keybag[36:-64]
