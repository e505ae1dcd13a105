"""The changes of a vault while the disk logs. Before each step, the log gets a mark about the step. After each step,
the log gets a mark about the answer.

The mark of a step has the vault's content after the step, so that the reader of the log needs no rules of its own. One
client does one step after the other. After a power cut, the vault has the state after the last acknowledged step, or
after the next step if that had begun.
"""

import copy
import pathlib
import random
import subprocess

from support.access import PRESENCE, REQUIRE
from support.archive import PASSPHRASE
from support.clients import CLASS, CLASSES
from support.deviced import HOST, TPM, Service
from support.peer import ITEM, Peer
from support.rules import write_rules
from support.session import Session, wait_until
from support.vaultreader import ServiceKey

NAMES = [f"item {number}" for number in range(6)]
AKPU = "when-passcode-set-this-device-only"
# A read of this item needs a prompt.
ASKS = "asks first"
RULED = "has its class by a rule"


class Workload:
    """A session on the disk, and the content of its vault."""

    def __init__(self, disk, stage, seed, tpm, no_flush=None):
        """`tpm` is a software TPM that lives longer than this object. `no_flush` is the end of a file name. The daemon
        never flushes this file, to show that the tests find the fault."""
        self.disk, self.chance, self.tpm = disk, random.Random(seed), tpm
        self.holds = {"vault": False, "items": {}, "opening": [], "backup": None, "service": None, "cleared": False}
        self._mark("begun", "nothing", self.holds)
        self._mark("done", "nothing", self.holds)
        self.session = Session(stage, below=disk.place)
        self.service = Service(program=stage / "usr/libexec/latchkey-deviced", path=self.session.root / "device.sock")
        self.service.state = disk.place / "device"
        self.service.state.mkdir(0o700)
        self.peer = None
        self.history = []
        # The generations from before the last rotation.
        self._former = set()
        if no_flush:
            self._leave_out_flushes(no_flush)

    def _leave_out_flushes(self, name):
        library = self.session.root / "noflush.so"
        source = pathlib.Path(__file__).with_name("noflush.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        library.chmod(0o755)
        bus = ["org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "UpdateActivationEnvironment"]
        variables = ["LD_PRELOAD", str(library), "LATCHKEY_NO_FLUSH", name]
        self.session.run("busctl", "--user", "call", *bus, "a{ss}", "2", *variables, check=True)
        self.session.restart()

    def close(self):
        if self.peer:
            self.peer.close()
        self.service.close()
        self.session.close()

    def _mark(self, stage, doing, holds, partly=False):
        self.disk.mark({"stage": stage, "doing": doing, "holds": holds, "partly": partly})

    def _step(self, doing, act, partly=False, **changes):
        """`partly` tells that an unacknowledged step may be half done."""
        after = copy.deepcopy(self.holds) | changes
        self._mark("begun", doing, after, partly)
        self.history.append(doing)
        act()
        self.holds = after
        self._mark("done", doing, after)

    def _items(self, **changes):
        return {name: item for name, item in (self.holds["items"] | changes).items() if item}

    # MARK: steps

    def run(self, rounds=None):
        """Does all steps, or only the steps of `rounds` rounds."""
        between = [
            self.await_generation, self.rotate, self.await_generation, self.change_password, self.back_up_and_restore, self.move_device_key, self.store_locked,
            self.move_to_tpm, self.store_by_rule, self.clear_log, self.move_to_host,
        ]  # fmt: skip
        self.create()
        for step in between[:rounds]:
            for _ in range(8):
                self.change_an_item()
            step()
        self.erase_device_secret()

    def create(self):
        self._step("create the vault", self._login, vault=True, opening=[self.session.password])
        self.peer = Peer(self.session)

    def _login(self):
        def is_unlocked():
            done = self.session.login()
            assert done.returncode == 0, done.stderr
            return self.session.status()["state"] == "unlocked"

        # On a busy machine a login may end before its keys arrive.
        wait_until(is_unlocked, "the unlocked vault", 60)

    @staticmethod
    def _attributes(name, kind):
        return {"power": "cut", "name": name, CLASS: kind}

    def _path(self, name):
        unlocked, locked = self.peer.search({"power": "cut", "name": name})
        return (unlocked + locked)[0]

    def change_an_item(self):
        name, kind = self.chance.choice(NAMES), self.chance.choice(CLASSES)
        secret = self.chance.randbytes(self.chance.choice((8, 300, 5000))).hex()
        present = self.holds["items"].get(name)
        doing = self.chance.choice(("store", "write", "delete", "move")) if present else "store"
        if doing == "store":
            act = lambda: self.peer.create(secret, self._attributes(name, kind), label=name)  # noqa: E731
            after = (kind, secret)
        elif doing == "write":
            act, after = lambda: self.peer.write(self._path(name), secret), (present[0], secret)
        elif doing == "delete":
            act, after = lambda: self.peer.call(self._path(name), ITEM, "Delete"), None
        else:
            attributes = self._attributes(name, kind)
            act = lambda: self.peer.set(self._path(name), ITEM, "Attributes", "a{ss}", attributes)  # noqa: E731
            after = (kind, present[1])
        self._step(f"{doing} {name}", act, items=self._items(**{name: after}))

    def _generations(self):
        folder = self.session.vault / "generations"
        return {path.name for path in folder.glob("*-*-*.db")} if folder.is_dir() else set()

    def await_generation(self):
        """Waits for a generation. After a rotation, the generation must have newer keys, and then the former
        generations are removed. The generation may exist already."""
        self._step("make a generation", lambda: wait_until(lambda: self._generations() - self._former, "a generation", 60))

    def rotate(self):
        answer = self.session.password + "\n"
        self._former = self._generations()
        self._step("rotate", lambda: self.session.run("latchkey", "rotate", "--stdin", input=answer, check=True))

    def change_password(self):
        old, new = self.session.password, f"password {self.chance.getrandbits(32)}"

        def change():
            assert self.session.change_token(old, new).returncode == 0

        # Both passwords open the vault until a login proves one of them.
        self._step("change the password", change, opening=[old, new])
        self.session.set_password(new)
        self.session.lock()
        self._step("log in with the new password", self._login, opening=[new])

    def back_up_and_restore(self):
        def command(*words):
            return lambda: self.session.run("latchkey", *words, input=PASSPHRASE + "\n", check=True)

        # A backup has no items that depend on the login password.
        kept = {name: item for name, item in self.holds["items"].items() if item[0] != AKPU}
        self._step("back up", command("backup", "--passphrase-stdin", "--force", "b"), backup=sorted(kept))
        for name in sorted(kept)[:3]:
            self._step(
                f"delete {name}",
                lambda name=name: self.peer.call(self._path(name), ITEM, "Delete"),
                items=self._items(**{name: None}))  # fmt: skip
        self._step("restore", command("restore", "--passphrase-stdin", "b"), items=self._items(**kept), partly=True)

    def move_device_key(self):
        def move():
            self.service.start()
            self.session.lock()
            self._login()
            wait_until(lambda: not (self.session.vault / "device.key").exists(), "the end of the file", 60)

        self._step("move the device key to the service", move, service={"place": HOST, "secret": None})
        # Only a TPM can read its own secret.
        secret = ServiceKey(self.service.state, self.session.uid).secret.hex()
        self.holds["service"]["secret"] = secret
        self.service.tcti = self.tpm.tcti
        self.service.restart()

    def _move_within_service(self, place):
        def move():
            with self.service.peer() as root:
                root.move(place)

        self._step(f"move the device key to place {place}", move, service=self.holds["service"] | {"place": place})

    def move_to_tpm(self):
        self._move_within_service(TPM)

    def move_to_host(self):
        self._move_within_service(HOST)

    def store_by_rule(self):
        kind, secret = "after-first-unlock", self.chance.randbytes(20).hex()
        write_rules(self.session, f"- {{name: a rule, match: {{name: {RULED}}}, class: {kind}}}\n")
        self._step(
            f"store {RULED}",
            lambda: self.peer.create(secret, {"power": "cut", "name": RULED}, label=RULED),
            items=self._items(**{RULED: (kind, secret)}))  # fmt: skip

    def store_locked(self):
        self.session.lock()
        secret = self.chance.randbytes(20).hex()
        name, kind = "stored while locked", "when-unlocked"
        stored = self._items(**{name: None})
        if name in self.holds["items"]:
            # The vault does not replace an unreadable item.
            self._login()
            self._step(f"delete {name}", lambda: self.peer.call(self._path(name), ITEM, "Delete"), items=stored)
            self.session.lock()
        self._step(
            "store while locked",
            lambda: self.peer.create(secret, self._attributes(name, kind), label=name),
            items=stored | {name: (kind, secret)})  # fmt: skip
        self._login()

    def clear_log(self):
        name, secret = ASKS, self.chance.randbytes(20).hex()
        self._step(
            f"store {name}",
            lambda: self.session.store(secret, "name", name, REQUIRE, PRESENCE, label=name),
            items=self._items(**{name: ("when-unlocked", secret)}))  # fmt: skip
        # No prompt can appear, and the log records that.
        assert self.session.lookup("name", name) is None
        self._step("clear the log", lambda: self.session.run("latchkey", "log", "--clear", check=True), cleared=True)

    def erase_device_secret(self):
        left = {name: item for name, item in self.holds["items"].items() if item[0] != AKPU}

        def erase():
            self.session.run("latchkey", "device", "erase", "--yes", check=True)

        # The service erases the key first. The items are deleted with the key or at the next unlock.
        self._step("destroy the items that depend on the password", erase, items=left, partly=True)
