"""Faults at every step: the program is killed before its n-th change of a file, or has no more room after that change.

A preloaded library (Shims/faults.c) counts the changes. The tests arm the library while the program runs, so that the
library counts only the changes of the tested operation. `FaultySession` is a session whose daemon has the library, and
`everywhere` goes through all steps.
"""

import mmap
import os
import pathlib
import signal
import struct
import subprocess

from support import vaultreader
from support.control import AUTHENTICATE, LIVE, OPEN_SESSION, UNLOCK, Control, hello, packet
from support.peer import Failure, Peer
from support.session import Session, is_alive, wait_until
from support.vaultreader import Keybag, Vault

SOURCE = pathlib.Path(__file__).with_name("Shims") / "faults.c"
NOTHING, KILL, FULL, STOP = range(4)
FIELDS = ("fault", "at", "changes", "growing", "hits")
# More changes than any tested operation makes. An operation that never completes would exceed the number.
ENOUGH = 300


class Faults:
    """The library in `folder`, and its control file. The library watches files below `root`."""

    def __init__(self, folder, root, owner):
        self.library, control = folder / "faults.so", folder / "faults"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.library, SOURCE, "-ldl"], check=True)
        self.library.chmod(0o755)
        control.write_bytes(bytes(8 * len(FIELDS)))
        os.chown(control, owner, -1)
        with control.open("r+b") as file:
            self._control = mmap.mmap(file.fileno(), 0)
        self.environment = {
            "LD_PRELOAD": str(self.library), "FAULTS_ROOT": str(root), "FAULTS_CONTROL": str(control)
        }  # fmt: skip

    def arm(self, fault, at):
        """Arms the fault, and counts changes from 1 again."""
        self._control[:] = struct.pack("<5Q", fault, at, 0, 0, 0)

    def told(self):
        """The present numbers, by name."""
        return dict(zip(FIELDS, struct.unpack("<5Q", self._control[:])))

    def disarm(self):
        """Disarms the faults, and returns the final numbers."""
        told = self.told()
        self._control[:8] = bytes(8)
        return told


def machine():
    return vaultreader.machine_identity(vaultreader.APPLICATION)


class QuickSession(Session):
    """A session in which only the creation of the vault runs Argon2id. Afterwards the tests themselves bring the keys.
    """

    def __init__(self, stage, below):
        super().__init__(stage, below)
        self._keybag = (None, None)
        self._peer = None
        self.process = self.daemon_pid()
        self.prepare()
        assert self.login().returncode == 0

    def prepare(self):
        """Prepares the session before the vault is created."""

    def close(self):
        self._leave()
        super().close()

    def _leave(self):
        if self._peer:
            self._peer.close()
        self._peer = None

    @property
    def peer(self):
        """A client of the running daemon."""
        if self._peer is None:
            self._peer = Peer(self)
        return self._peer

    def kill(self):
        """Kills the daemon, unless it has ended by itself."""
        self._leave()
        if is_alive(self.process):
            os.kill(self.process, signal.SIGKILL)
        wait_until(lambda: not is_alive(self.process) and self.daemon_pid() != self.process, "the daemon's end")

    def begin(self, *, bringing_keys=True):
        """Starts a daemon after one that may have died, and unlocks the vault."""
        self.kill()
        self.process = self.start_daemon()
        if bringing_keys:
            assert self.bring_keys() == LIVE

    def keybag(self):
        """The keybag, opened."""
        content = (self.vault / "keybag").read_bytes()
        if self._keybag[0] != content:
            self._keybag = (content, Keybag(content, self.password))
        return self._keybag[1]

    def keys(self):
        """The packet with the vault's keys."""
        keybag = self.keybag()
        *former, newest = sorted({epoch for epoch, _ in keybag.tiers})
        fields = keybag.id + struct.pack("<QB", keybag.generation, 0)
        fields += keybag.tiers[newest, "A"] + keybag.tiers[newest, "C"]
        for epoch in former:
            fields += struct.pack("<I", epoch) + keybag.tiers[epoch, "A"] + keybag.tiers[epoch, "C"]
        return packet(UNLOCK, fields)

    def bring_keys(self, *, opens=True):
        """Brings the keys as the module does, at a login or at a screen locker. Returns the outcome, or None if the
        daemon died."""
        # The connection belongs to root, because a change of the user would affect every thread of the tests.
        control = Control(self, user=False)
        try:
            control.ask(hello(OPEN_SESSION if opens else AUTHENTICATE, "login" if opens else "i3lock"))
            answer = control.ask_sealed(self.keys())
            assert answer[:2] in (packet(UNLOCK), b""), answer
            return answer[2] if answer else None
        finally:
            control.close()

    def read(self):
        """The vault as the independent reader finds it. The reader raises an error for any mismatch."""
        return Vault(self.vault, self.password, machine(), keybag=self.keybag())


class FaultySession(QuickSession):
    """A QuickSession whose daemon can have faults."""

    def __init__(self, stage, below="/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"):
        super().__init__(stage, below)

    def prepare(self):
        self.faults = Faults(self.root, self.home, self.uid)
        self.command_environment = self.environment | self.faults.environment
        arguments = [word for pair in self.faults.environment.items() for word in pair]
        bus = ["org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus"]
        method = ["UpdateActivationEnvironment", "a{ss}", str(len(arguments) // 2)]
        self.run("busctl", "--user", "call", *bus, *method, *arguments, check=True)
        self.begin(bringing_keys=False)


def everywhere(session, fault, prepare, act, check, faults=None, recover=lambda: None):
    """Runs `act` repeatedly. Each time, the fault comes one change later, until the fault does not happen any more.

    `prepare` makes the state before the operation, and its result goes to the other functions. `act` returns whether
    the program reported success. The program may also report a failure. Then `check(prepared, acknowledged)` examines
    the daemon that had no room, and a new daemon. Returns the number of faults.

    `faults` may belong to another program than the daemon, which `recover` restarts."""
    faults = faults or session.faults
    for number in range(1, ENOUGH):
        prepared = prepare()
        faults.arm(fault, number)
        try:
            acknowledged = bool(act(prepared))
        except (Failure, ConnectionError):
            acknowledged = False
        hits = faults.disarm()["hits"]
        recover()
        try:
            if fault == FULL and faults is session.faults:
                assert session.daemon_pid() == session.process, "it ended"
                check(prepared, acknowledged)
            session.begin()
            assert session.status()["problems"] == []
            check(prepared, acknowledged)
        except BaseException as error:
            error.add_note(f"at change {number}, acknowledged: {acknowledged}")
            raise
        if not hits:
            assert acknowledged, "refused without a fault"
            return number - 1
    raise AssertionError("it never came through")
