"""What is left in all of a machine's physical memory: kernel, daemon, helper, login program, everything.

Nothing of tier A after a lock or in a sleeping machine, nothing of tier C after the logout, and never what nobody keeps. Of the
memory that Argon2id worked in there is nothing at any time; as the control, that is looked for with the erasing taken out.
Nor is there any packet with the password, from the module to the helper. Other copies of the password are only counted: they are
the terminal's, login's and libpam's.
"""

import hashlib
import json
import re
import secrets
import struct

import pytest
from agreement import Agreement
from image import Unavailable
from qemu import Machine, eventually
from scan import find_blocks, places, scan, working_blocks
from support.memory import hchacha20
from support.vaultreader import Keybag, ServiceKey, Vault

# Keys that the daemon keeps while it may have them; the others it makes when it needs them.
KEPT = {"collection", "index", "device", "share", "class", "metadata", "private"}
UID = 2001
# How often more the vault is unlocked and locked: what is left by chance is not left each time.
ROUNDS = 3
INSIDE = "/usr/local/lib/latchkey-test"


def status(console):
    """What `latchkey status --json` says. On a busy machine it may have to be asked more than once."""
    said = lambda: console.run("latchkey status --json", check=False)
    return json.loads(eventually(lambda: (done := said()).returncode == 0 and done.stdout, what="the status"))


def await_state(console, state):
    eventually(lambda: status(console)["state"] == state, what=f"the state {state}")


def log_in(console, password):
    """Logs in, and waits until the vault is open. Where the machine was too slow for the login, the person unlocks it."""
    console.login("alice", password)
    for _ in range(10):
        if status(console)["state"] == "unlocked":
            return
        console.run("sleep 2")
    unlock(console, password)


def unlock(console, password):
    console.start("latchkey unlock")
    console.answer("assword.*: ", password)
    console.finish()
    await_state(console, "unlocked")


class Known:
    """Everything that must not be found, by where it may be: A, C, device, or never."""

    def __init__(self, machine, folder, password):
        home = machine.copy_files("/home/alice/.local/share/latchkey", folder / "home")
        device = ServiceKey(machine.copy_files("/var/lib/latchkey", folder / "service"), UID)
        keybag = Keybag((home / "keybag").read_bytes(), password)
        self.blocks = working_blocks(password.encode(), *keybag.derivation)
        vault = Vault(home, None, keybag=keybag, device=device)
        self.derived = {key.name: key.value for key in vault.keys if key.kind == "protector"}
        self.needles, self.kept = {}, {"A": set(), "C": set()}
        self.tiers = {name: "never" for name in self.derived}
        last = {tier: [key for key in vault.keys if key.kind == "link" and key.tier == tier][-1] for tier in "AC"}
        tiers = {key.value: "never" if key.tier == "password" else key.tier for key in vault.keys}
        for key in vault.keys:
            name = f"{key.name} {key.value[:2].hex()}"
            if key.name in self.derived:
                continue
            kept = key.kind in KEPT or key in last.values()
            # Tier keys cross the control socket, and are kept by nobody.
            self.add(name, key.value, "never" if key.kind == "tier" else tiers[key.value])
            if kept and key.tier in self.kept:
                self.kept[key.tier].add(name)
        for key, nonce, what in vault.sealed:
            stream = hchacha20(key, nonce)
            # Labels of collections and the like: the index opens them.
            self.add(f"stream key of {what} {stream[:2].hex()}", stream, tiers.get(key, "device"))
        for item in vault.items.values():
            self.add(f"secret of {item.label}", item.secret, "A" if item.accessibility == "when-unlocked" else "C")
        # What is common to several is in the widest of their tiers: the index is C's and the device's.
        self.password = password.encode()
        # How a request to the helper ends: empty fields, and a length.
        self.packets = {"the request": bytes(6) + struct.pack("<H", len(self.password)) + self.password}
        self.tiers["the request"] = "never"

    def add(self, name, value, tier):
        self.needles[name] = value
        self.tiers[name] = tier


class Sight:
    """What one look at the memory found."""

    def __init__(self, machine, known, moment):
        needles = known.needles | {"the password": known.password}
        found = scan(machine, needles, known.derived, known.blocks, known.packets)
        self.traces, self.blocks, self.known = found.traces, found.blocks, known
        passwords = sum(trace.name == "the password" and trace.offset == 0 for trace in self.traces)
        print(
            f"\n{moment}: the password {passwords} times, tier keys {len(self.named('tier '))} times, requests"
            f" {len(self.named('the request'))} times, {self.blocks} blocks of Argon2id's memory,"
            f" {sum(trace.form == 'block' for trace in self.traces)} of them a key", flush=True)  # fmt: skip

    def named(self, beginning):
        return [trace for trace in self.traces if trace.name.startswith(beginning)]

    def of(self, *tiers):
        """Traces of what belongs to the tiers."""
        return sorted(str(trace) for trace in self.traces if self.known.tiers.get(trace.name) in tiers)

    def missing(self, tier):
        """Keys of a tier that the daemon keeps and that are nowhere."""
        return self.known.kept[tier] - {trace.name for trace in self.traces}


def test_a_block_of_argon2id_is_found():
    """The control of the search itself, on a block of the last pass."""
    block = secrets.token_bytes(1024)
    key = hashlib.blake2b((32).to_bytes(4, "little") + block, digest_size=32).digest()
    content = bytes(5000) + block + bytes(3000)
    assert find_blocks(content, {"key": key}) == [(5000, "key")]
    assert find_blocks(content[:5999], {"key": key}) == []


def test_a_packet_is_found_where_it_is_whole():
    packet = secrets.token_bytes(40)
    assert list(places(b"xx" + packet + packet[:39] + packet, packet)) == [2, 81]


@pytest.fixture(scope="module")
def password():
    return "Password-" + secrets.token_hex(12)


@pytest.fixture(scope="module")
def machine(password):
    """A machine with a vault that has items, booted anew: nobody in it has had a key or a secret yet."""
    try:
        machine = Machine()
    except Unavailable as why:
        pytest.skip(f"no machine can be made: {why}")
    with machine:
        machine.boot()
        machine.root.run(f"echo alice:{password} | chpasswd && systemctl start latchkey-deviced.service")
        console = machine.console
        log_in(console, password)
        for name, accessible in (("A", "when-unlocked"), ("C", "after-first-unlock")):
            text = secrets.token_hex(24)
            console.run(f"echo {text} | latchkey add --label 'item of {name}' --class {accessible} name={name}")
        console.logout()
        machine.power_off()
        machine.boot()
        # The first that asks it is not to wait for its start.
        machine.root.run("systemctl start latchkey-deviced.service")
        yield machine


def assert_nothing(sight, *tiers):
    assert sight.of(*tiers) == [] and sight.blocks == 0


def lock(machine):
    machine.console.run("loginctl lock-session")
    await_state(machine.console, "locked")


def log_out(machine):
    machine.console.logout()
    gone = lambda: machine.root.run(f"pgrep -u {UID}", check=False).returncode != 0
    eventually(gone, what="the end of all that alice runs")


@pytest.fixture(scope="module")
def known(machine, password, tmp_path_factory):
    log_in(machine.console, password)
    known = Known(machine, tmp_path_factory.mktemp("vault"), password)
    assert known.derived
    return known


def test_what_is_left_in_physical_memory(machine, known, password):
    console, agreement = machine.console, Agreement()
    # A client that reads every secret and never has one.
    client = f"{INSIDE}/quietclient {agreement.public}"
    console.run(f"mkfifo /tmp/more && ({client} </tmp/more >/tmp/read 2>&1 &) && exec 3>/tmp/more")
    eventually(lambda: "read 2" in console.run("cat /tmp/read").stdout, what="the client's reading")
    public = re.search(r"public ([0-9a-f]+)", console.run("cat /tmp/read").stdout)[1]
    for name, value in agreement.keys(public).items():
        known.add(name, value, "session")

    sight = Sight(machine, known, "unlocked")
    assert sight.missing("A") == set() and sight.missing("C") == set()
    assert_nothing(sight, "never")

    lock(machine)
    for moment in ("locked", "60 s later"):
        sight = Sight(machine, known, moment)
        assert_nothing(sight, "A", "never")
        assert sight.missing("C") == set()
        machine.root.run("sleep 60")

    for number in range(ROUNDS):
        unlock(console, password)
        sight = Sight(machine, known, f"unlocked again, {number}")
        assert_nothing(sight, "never")
        assert sight.missing("A") == set()
        lock(machine)
        assert_nothing(Sight(machine, known, f"locked again, {number}"), "A", "never")

    # The password is being checked, or the vault being opened, and the device key service does not answer: no sleep waits for it.
    machine.root.run("systemctl kill --signal=STOP latchkey-deviced.service")
    console.run("systemctl --user restart latchkeyd.service")
    console.start("latchkey unlock")
    console.answer("assword.*: ", password)
    machine.suspend()
    assert_nothing(Sight(machine, known, "asleep"), "A", "never")
    machine.wake()
    machine.root.run("systemctl kill --signal=CONT latchkey-deviced.service")

    log_out(machine)
    assert_nothing(Sight(machine, known, "logged out"), "A", "C", "never", "session")
    machine.root.run("sleep 60")
    assert_nothing(Sight(machine, known, "60 s later"), "A", "C", "never", "session")


def test_memory_that_is_not_erased_is_found(machine, known, password):
    # It sleeps here as well, which it does once for each boot.
    machine.power_off()
    machine.boot()
    machine.root.run("systemctl start latchkey-deviced.service")
    machine.root.run(f"{INSIDE}/unerased.py /usr/libexec/latchkey-derive")
    log_in(machine.console, password)
    assert Sight(machine, known, "not erased, unlocked").blocks > 0
    lock(machine)
    assert Sight(machine, known, "not erased, locked").blocks > 0
    machine.suspend()
    assert Sight(machine, known, "not erased, asleep").blocks > 0
    machine.wake()
    log_out(machine)
    machine.root.run("sleep 60")
    assert Sight(machine, known, "not erased, 60 s after the logout").blocks > 0
