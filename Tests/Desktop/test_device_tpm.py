"""The device key service of a booted system with a TPM. The unit and the socket are installed, and swtpm plays the chip.

A container has no TPM device, so a drop-in gives the unit a socket of the chip, in a network for these two."""

import pytest
from support.machine import eventually
from visitor import CLASSES, FREE, readable, store_each

pytestmark = pytest.mark.night("device")

STATE = "/var/lib/latchkey"
UNIT = "latchkey-deviced.service"
PORT = 2321
CHIP = f"""
[Service]
Type=exec
StateDirectory=latchkey-test-tpm
ExecStart=/usr/bin/swtpm socket --tpm2 --tpmstate dir=/var/lib/latchkey-test-tpm --flags not-need-init,startup-clear \\
  --server type=tcp,port={PORT} --ctrl type=tcp,port={PORT + 1}
# swtpm has started once it listens at both ports; there are no others in its network.
ExecStartPost=/bin/sh -c 'until test $$(ss -Hltn | wc -l) = 2; do sleep 0.05; done'
PrivateNetwork=yes
"""
DROP_IN = f"""
[Unit]
Wants=latchkey-test-tpm.service
After=latchkey-test-tpm.service
JoinsNamespaceOf=latchkey-test-tpm.service
[Service]
ExecStart=
ExecStart=/usr/libexec/latchkey-deviced --state {STATE} --tcti swtpm:host=127.0.0.1,port={PORT}
RestrictAddressFamilies=AF_INET
IPAddressAllow=localhost
"""


class Device:
    """The service as the machine's root sees it."""

    def __init__(self, machine):
        self.machine = machine

    def show(self):
        return self.machine.root("latchkey", "device", "show").stdout.strip()

    def move(self, backend):
        return self.machine.root("latchkey", "device", "move", backend, check=False)

    def end(self):
        """Ends the process. Its socket starts a new process."""
        self.machine.root("systemctl", "stop", UNIT)

    def secret(self):
        """The secret that all keys depend on, from the host's file; see FORMAT.md."""
        content = self.machine.path(f"{STATE}/device").read_bytes()
        assert content[:8] == b"LATCHDVS" and content[12] == 1
        return content[13:-32]

    def files(self):
        """All files of the service."""
        found = [file for file in self.machine.path(STATE).rglob("*") if file.is_file()]
        return b"".join(file.read_bytes() for file in found)


@pytest.fixture
def device(machine):
    """The service with a TPM within reach. Before, it kept its secret on the host."""
    assert machine.root("latchkey", "device", "show").stdout == "host\n"
    chip = machine.path("/etc/systemd/system/latchkey-test-tpm.service")
    drop_in = machine.path(f"/etc/systemd/system/{UNIT}.d/tpm.conf")
    drop_in.parent.mkdir()
    chip.write_text(CHIP)
    drop_in.write_text(DROP_IN)
    machine.root("systemctl", "daemon-reload")
    machine.root("systemctl", "stop", UNIT)
    yield Device(machine)
    machine.root("systemctl", "start", "latchkey-test-tpm.service")
    left = Device(machine).move("host").stderr
    machine.root("systemctl", "stop", UNIT, "latchkey-test-tpm.service")
    chip.unlink()
    drop_in.unlink()
    drop_in.parent.rmdir()
    machine.root("systemctl", "daemon-reload")
    machine.root("rm", "-rf", "/var/lib/latchkey-test-tpm", *([STATE] if left else []))


def relock(session, account):
    session.run("loginctl lock-session")
    eventually(lambda: account.status()["state"] == "locked", what="the lock")
    assert session.authenticate(account.password)
    eventually(lambda: account.status()["state"] == "unlocked", what="the unlock")


def test_the_key_moves_below_a_user_who_is_logged_in(alice, device):
    with alice.login():
        store_each(alice)
    alice.await_end()
    secret = device.secret()
    for backend in ("tpm", "host"):
        with alice.login() as session:
            assert readable(alice) == CLASSES
            assert session.run(f"latchkey device move {backend}", check=False).returncode == 1
            assert device.show() != backend
            assert device.move(backend).returncode == 0
            assert session.run("latchkey device").stdout == f"{backend}\n"
            assert readable(alice) == CLASSES
            # The service starts again, and the running daemon gets its keys again.
            device.end()
            relock(session, alice)
            assert device.show() == backend
            assert readable(alice) == CLASSES
        alice.await_end()
        device.end()
        with alice.login():
            assert (alice.status()["device_key"], alice.status()["problems"]) == (backend, [])
            assert readable(alice) == CLASSES
        alice.await_end()
        assert (secret in device.files()) == (backend == "host")
    assert device.secret() == secret


def test_a_daemon_that_stays_tells_the_new_place_after_a_login(alice, device):
    alice.linger()
    with alice.login():
        assert alice.status()["device_key"] == "host"
        daemon = alice.daemon()
    eventually(lambda: alice.status()["state"] == "sealed", what="the seal")
    assert device.move("tpm").returncode == 0
    with alice.login():
        assert (alice.daemon(), alice.status()["device_key"]) == (daemon, "tpm")


def test_without_its_chip_all_that_is_not_bound_opens(alice, device):
    assert device.move("tpm").returncode == 0
    with alice.login():
        store_each(alice)
    alice.await_end()
    files = device.files()
    # The chip is another one, because the machine's board was replaced.
    machine = device.machine
    machine.root("systemctl", "stop", UNIT, "latchkey-test-tpm.service")
    machine.root("mv", "/var/lib/latchkey-test-tpm", "/var/lib/away")
    try:
        with alice.login() as session:
            assert readable(alice) == FREE
            reason = "it is bound to a device, and the device key cannot be used now"
            assert reason in session.run("latchkey find --class always-this-device-only").stdout
            assert reason in session.run("latchkey get app=always-this-device-only | cat", check=False).stdout
            assert alice.status()["device_key"] == "unavailable"
            assert any("it was cleared, or it is another one" in line for line in alice.status()["problems"])
        assert device.move("host").returncode == 1
    finally:
        machine.root("systemctl", "stop", UNIT, "latchkey-test-tpm.service")
        machine.root("rm", "-rf", "/var/lib/latchkey-test-tpm")
        machine.root("mv", "/var/lib/away", "/var/lib/latchkey-test-tpm")
    alice.await_end()
    assert device.files() == files
    with alice.login():
        assert readable(alice) == CLASSES
