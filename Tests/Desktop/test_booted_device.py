"""The device key service as installed. Its socket starts it, its hardening is in force, and vaults depend on it."""

import re

from support.account import Account
from visitor import CLASSES, FREE, readable, store_each

UNIT = "latchkey-deviced"
STATE = "/var/lib/latchkey"


def show(machine, name, unit=f"{UNIT}.service"):
    return machine.root("systemctl", "show", "-P", name, unit).stdout.strip()


def test_units_are_sound(machine):
    assert machine.root("systemd-analyze", "verify", f"{UNIT}.socket", f"{UNIT}.service").stderr == ""
    assert show(machine, "ActiveState", f"{UNIT}.socket") == "active"
    assert machine.root("stat", "-c", "%a %F %U", "/run/latchkey/device.sock").stdout == "666 socket root\n"


def test_the_first_vault_starts_it(alice):
    machine = alice.machine
    machine.root("systemctl", "stop", f"{UNIT}.service")
    with alice.login() as session:
        session.store("bound to this device", "always-this-device-only", app="bound")
        assert alice.status()["device_key"] == "host"
        assert "a file that only the system service reads" in session.run("latchkey status").stdout
        assert not (alice.vault / "device.key").exists()
        assert show(machine, "ActiveState") == "active"
        assert machine.root("stat", "-c", "%a %U", STATE).stdout == "700 root\n"
        assert session.run(f"ls {STATE}", check=False).returncode != 0
    alice.await_end()
    # The service and the vault's daemon are new processes now.
    machine.root("systemctl", "stop", f"{UNIT}.service")
    with alice.login() as session:
        assert session.lookup(app="bound") == "bound to this device"
        assert alice.status()["problems"] == []


def test_hardening_is_in_force(alice):
    machine = alice.machine
    with alice.login():
        assert alice.status()["device_key"] == "host"
        inner = show(machine, "MainPID")
        process = machine.host_pid(inner)
        status = open(f"/proc/{process}/status").read()
        assert re.search(r"^NoNewPrivs:\s+1$", status, re.M)
        assert re.search(r"^Seccomp:\s+2$", status, re.M)
        assert re.search(r"^CapEff:\s+0000000000000002$", status, re.M), "CAP_DAC_OVERRIDE and nothing else"
        assert re.search(r"^VmLck:\s+[1-9]\d* kB$", status, re.M), "keys lie in locked memory"
        assert re.search(r"^Max core file size\s+0\s+0\s", open(f"/proc/{process}/limits").read(), re.M)
        assert not re.search(r"^\S+ \Swx", open(f"/proc/{process}/maps").read(), re.M)
        interfaces = machine.root("nsenter", "-t", inner, "-n", "cat", "/proc/net/dev").stdout.splitlines()[2:]
        assert [line.split(":")[0].strip() for line in interfaces] == ["lo"]


def test_each_user_is_another_device(alice, bob):
    for account in (alice, bob):
        with account.login():
            assert account.status()["device_key"] == "host"
    users = alice.machine.root("ls", f"{STATE}/users").stdout.split()
    assert {"2001", "2002"} <= set(users)


def test_without_the_service_the_rest_opens(alice):
    machine = alice.machine
    with alice.login() as session:
        session.store("bound", "when-unlocked-this-device-only", app="bound")
        session.store("free", app="free")
    alice.await_end()
    machine.root("systemctl", "stop", f"{UNIT}.socket", f"{UNIT}.service")
    try:
        with alice.login() as session:
            assert session.lookup(app="free") == "free"
            assert alice.status()["device_key"] == "unavailable"
            assert any(line.startswith("device key service: ") for line in alice.status()["problems"])
            assert not (alice.vault / "device.key").exists()
    finally:
        machine.root("systemctl", "start", f"{UNIT}.socket")
    alice.await_end()
    with alice.login() as session:
        assert session.lookup(app="bound") == "bound"


def test_exposure_is_low(machine):
    # The service has 15 of 100 points: it is root, has one capability, and may use the calls of @system-service.
    machine.root("systemd-analyze", "security", "--no-pager", "--threshold=15", f"{UNIT}.service")


def test_the_process_sees_no_homes_and_writes_nothing_else(alice):
    machine = alice.machine
    machine.root("latchkey", "device", "show")
    inside = ("nsenter", "-m", "-t", show(machine, "MainPID"))
    assert machine.root("test", "-d", alice.home, check=False).returncode == 0
    assert machine.root(*inside, "test", "-d", alice.home, check=False).returncode != 0
    for place in ("/usr/file", "/etc/file", "/var/lib/file", "/home/file"):
        assert "Read-only file system" in machine.root(*inside, "touch", place, check=False).stderr
    machine.root(*inside, "touch", f"{STATE}/file")
    machine.root("rm", f"{STATE}/file")


def test_a_users_state_is_out_of_reach(alice):
    machine = alice.machine
    with alice.login() as session:
        assert alice.status()["device_key"] == "host"
        for name in ("device", f"users/{alice.uid}"):
            assert machine.path(f"{STATE}/{name}").stat().st_size > 0
            refused = session.run(f"cat {STATE}/{name} 2>&1 >/dev/null", check=False)
            assert refused.returncode != 0 and "Permission denied" in refused.stdout
        inner = show(machine, "MainPID")
        for name in ("mem", "root", "environ"):
            assert session.run(f"cat /proc/{inner}/{name} >/dev/null", check=False).returncode != 0


def test_a_users_files_and_password_open_nothing_bound_for_another(alice):
    machine = alice.machine
    with alice.login():
        store_each(alice)
        assert readable(alice) == CLASSES
    alice.await_end()
    thief = Account(machine, "bob", 2002, alice.password)
    alice.carry_home(thief)
    machine.root("chown", "-R", "bob:", thief.home)
    with thief.login():
        assert thief.status()["device_key"] == "host"
        assert readable(thief) == FREE
    # The service itself does not unwrap a secret for another user than the one who had it wrapped.
    wrapped = machine.user("alice", "python3", "-c", ASK, "wrap", "00" * 32).stdout.strip()
    assert machine.user("alice", "python3", "-c", ASK, "unwrap", wrapped).stdout == "00" * 32 + "\n"
    assert machine.user("bob", "python3", "-c", ASK, "unwrap", wrapped).stdout == "other device\n"


# One request of a user, with the packets of FORMAT.md.
ASK = """
import socket, sys
operation = {"wrap": 2, "unwrap": 3}[sys.argv[1]]
service = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
service.connect("/run/latchkey/device.sock")
service.send(bytes([1, operation, 1, 0]) + bytes.fromhex(sys.argv[2]))
answer = service.recv(4096)
print({0: answer[2:].hex(), 1: "other device"}[answer[1]])
"""
