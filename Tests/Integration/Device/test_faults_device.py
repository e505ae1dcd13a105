"""kill -9 and a full disk at every step of each change of the device key, in the daemon and in the service."""

import contextlib
import os
import shutil
import subprocess

import pytest
from support.clients import CLASS, CLASSES
from support.control import LIVE
from support.deviced import HOST, TPM, Service, SoftwareTPM
from support.faults import FULL, KILL, Faults, FaultySession, everywhere
from support.session import wait_until
from support.vaultreader import ServiceKey, Vault

pytestmark = [
    pytest.mark.night("device"),
    pytest.mark.skipif(os.getuid() != 0, reason="only root moves the service's secret")]
FAULTS = pytest.mark.parametrize("fault", [KILL, FULL], ids=["killed", "full"])
AKPU = "when-passcode-set-this-device-only"


class Machine:
    """A session whose vault depends on a device key service. The daemon and the service can have faults, and the class
    keeps copies of their states."""

    def __init__(self, stage):
        self.session, self.tpm = FaultySession(stage), SoftwareTPM()
        path = self.session.root / "device.sock"
        self.service = Service(self.tpm.tcti, stage / "usr/libexec/latchkey-deviced", path)
        self.faults = Faults(self.service.root, self.service.state, os.getuid())
        for name in CLASSES:
            self.session.peer.create(f"of {name}", {"bystander": name, CLASS: name})
        self.session.kill()
        self.start_service()
        with self.service.peer() as peer:
            peer.move(HOST)
        self.keep("in a file")
        # The vault moves to the service, and the daemon erases the former device.key.
        self.start_service()
        self.session.begin()
        wait_until(lambda: not (self.session.vault / "device.key").exists(), "the end of the file")
        self.check()
        self.session.kill()
        self.keep("with the service")

    def close(self):
        self.service.close()
        self.tpm.close()
        self.session.close()

    def start_service(self):
        self.service.restart(**self.faults.environment)

    def keep(self, name):
        """Stops the daemon and the service, and copies their states for `bring_back`."""
        self.service.stop()
        for folder in (self.session.vault, self.service.state):
            subprocess.run(["cp", "-a", folder, self.copy(folder, name)], check=True)

    def copy(self, folder, name):
        return self.service.root / f"{name.replace(' ', '-')}-{folder.name}"

    def bring_back(self, name):
        """Starts service and daemon with the kept states, without keys."""
        self.session.kill()
        self.service.stop()
        for folder in (self.session.vault, self.service.state):
            shutil.rmtree(folder)
            subprocess.run(["cp", "-a", self.copy(folder, name), folder], check=True)
        self.start_service()
        self.session.begin(bringing_keys=False)

    def readable(self):
        """The classes of the readable items, and the classes of all items that a search finds."""
        found = {name: self.session.peer.search({"bystander": name}) for name in CLASSES}
        for name, (unlocked, _) in found.items():
            assert [self.session.peer.read(path).decode() for path in unlocked] == [f"of {name}"][: len(unlocked)]
        return {name for name in CLASSES if found[name][0]}, {name for name in CLASSES if sum(found[name], [])}

    def check(self):
        assert self.readable() == ({*CLASSES}, {*CLASSES})

    def read(self):
        """Reads the vault, and opens it with the present state of the service."""
        key = ServiceKey(self.service.state, self.session.uid)
        return Vault(self.session.vault, self.session.password, keybag=self.session.keybag(), device=key)


@pytest.fixture(scope="module")
def machine(stage):
    made = Machine(stage)
    yield made
    made.close()


@FAULTS
def test_a_vault_moves_to_the_service(machine, fault):
    session = machine.session

    def check(*_):
        machine.check()
        if session.status()["device_key"] == "host":
            assert {item.secret.decode() for item in machine.read().items.values()} == {f"of {name}" for name in CLASSES}

    def act(_):
        return session.bring_keys() == LIVE

    assert everywhere(session, fault, lambda: machine.bring_back("in a file"), act, check) > 10
    session.begin()
    wait_until(lambda: not (session.vault / "device.key").exists(), "the end of the file")
    assert session.status()["device_key"] == "host"
    assert not [path.name for path in session.vault.iterdir() if path.name.endswith((".erased", ".new"))]


@pytest.mark.parametrize("start, target", [(HOST, TPM), (TPM, HOST)], ids=["to the TPM", "from the TPM"])
@FAULTS
def test_the_secret_moves(machine, fault, start, target):
    def prepare():
        with machine.service.peer() as peer:
            peer.move(start)

    def act(_):
        words = ["tpm" if target == TPM else "host", "--socket", machine.service.path]
        return subprocess.run(
            [machine.session.environment["LATCHKEY_STAGE"] + "/usr/bin/latchkey", "device", "move", *words],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0  # fmt: skip

    def check(_, acknowledged):
        machine.check()
        with machine.service.peer() as peer:
            assert peer.identity()[1] == target if acknowledged else peer.identity()[1] in (start, target)

    machine.bring_back("with the service")
    assert everywhere(machine.session, fault, prepare, act, check, machine.faults, machine.start_service) > 4
    assert not [name for name in machine.service.files() if name.endswith((".new", ".erased"))]


@FAULTS
def test_the_erasable_secret_is_erased(machine, fault):
    session = machine.session

    def prepare():
        machine.bring_back("with the service")
        assert session.bring_keys() == LIVE

    def act(_):
        return session.run("latchkey", "device", "erase", "--yes", "--socket", machine.service.path).returncode == 0

    def check(_, acknowledged):
        readable, found = machine.readable()
        assert readable == found and found in ({*CLASSES}, {*CLASSES} - {AKPU})
        assert not acknowledged or AKPU not in found
        session.peer.create("new", {"new": "yes", CLASS: AKPU})
        assert {item.accessibility for item in machine.read().items.values()} >= {AKPU}

    assert everywhere(session, fault, prepare, act, check, machine.faults, machine.start_service) > 2
    assert not [name for name in machine.service.files() if name.endswith((".new", ".erased"))]


@FAULTS
def test_the_daemon_destroys_the_class(machine, fault):
    session = machine.session

    def erasable():
        return ServiceKey(machine.service.state, session.uid).erasable

    def prepare():
        machine.bring_back("with the service")
        assert session.bring_keys() == LIVE
        return erasable()

    def act(_):
        done = session.run("latchkey", "device", "erase", "--yes")
        # pytest shows this output if the command fails without a fault.
        print(done.returncode, done.stderr)
        return done.returncode == 0

    def check(secret, acknowledged):
        readable, found = machine.readable()
        # The service erases the key before the daemon deletes the items.
        assert (erasable() == secret) == (AKPU in readable)
        assert readable in ({*CLASSES}, {*CLASSES} - {AKPU})
        assert not acknowledged or AKPU not in found
        # On a full disk, the daemon deletes the unreadable rows as soon as the disk has room again.
        assert found == readable or (fault == FULL and not acknowledged and found == {*CLASSES})

    assert everywhere(session, fault, prepare, act, check) > 5
    assert AKPU not in machine.readable()[1]
    path = session.peer.create("new", {"new": "yes", CLASS: AKPU})
    session.begin()
    assert session.peer.read(path) == b"new"


@FAULTS
def test_what_hung_on_it_goes_at_the_next_unlock(machine, fault):
    session = machine.session
    machine.bring_back("with the service")
    with machine.service.peer(session.uid) as peer:
        peer.erase(session.uid)
    session.kill()
    with contextlib.suppress(FileNotFoundError):
        for folder in (session.vault, machine.service.state):
            shutil.rmtree(machine.copy(folder, "erased"))
    machine.keep("erased")

    def act(_):
        return session.bring_keys() == LIVE

    def check(_, acknowledged):
        readable, found = machine.readable()
        assert readable == {*CLASSES} - {AKPU}
        # On a full disk, the rows still exist, but no key opens the rows.
        assert found == readable or fault == FULL and found == {*CLASSES}
        if found == readable and acknowledged:
            assert session.status()["problems"] == []

    assert everywhere(session, fault, lambda: machine.bring_back("erased"), act, check) > 10
    assert machine.readable() == ({*CLASSES} - {AKPU},) * 2
    path = session.peer.create("new", {"new": "yes", CLASS: AKPU})
    session.begin()
    assert session.peer.read(path) == b"new"
    assert AKPU in {item.accessibility for item in machine.read().items.values()}
