"""The secrets to look for in a machine's memory, one search for them, and the actions of the user alice."""

import json
import secrets
import struct
import subprocess
import tempfile
from pathlib import Path

from qemu import eventually
from scan import scan, working_blocks
from support.memory import hchacha20
from support.vaultreader import Keybag, ServiceKey, Vault

# Kinds of keys that stay in the daemon's memory while it may use them. The daemon derives other keys on demand.
KEPT = {"collection", "index", "device", "share", "class", "metadata", "private"}
UID = 2001
# The image's folder for the helper programs of the tests.
INSIDE = "/usr/local/lib/latchkey-test"
ANSWERING = Path(__file__).with_name("Shims") / "answering.c"
RECORDING = Path(__file__).with_name("Shims") / "recording.c"
RECORDED = "/tmp/masked-keys"


def status(console):
    """The output of `latchkey status --json`. On a busy machine, the command may need several attempts."""
    said = lambda: console.run("latchkey status --json", check=False)
    return json.loads(eventually(lambda: (done := said()).returncode == 0 and done.stdout, what="the status"))


def await_state(console, state):
    eventually(lambda: status(console)["state"] == state, what=f"the state {state}")


def log_in(console, password):
    """Logs in, and waits until the vault is unlocked. On a slow machine the unlock may come later, but needs no further
    action."""
    console.login("alice", password)
    await_state(console, "unlocked")


def log_in_and_unlock(console, password):
    """Logs in, and unlocks the vault if the login did not wait for it. On a slow machine, latchkeyd may start too late."""
    console.login("alice", password)
    console.run(f"echo {password} | latchkey unlock --stdin")
    await_state(console, "unlocked")


def add_items(console):
    """Adds one item for each tier. The machine chooses the secrets, and the test reads them later."""
    for name, accessible in (("A", "when-unlocked"), ("C", "after-first-unlock")):
        text = secrets.token_hex(24)
        console.run(f"echo {text} | latchkey add --label 'item of {name}' --class {accessible} name={name}")


def unlock(console, password):
    console.start("latchkey unlock")
    console.answer("assword.*: ", password)
    console.finish()
    await_state(console, "unlocked")


def unlock_by_pinentry(machine, password):
    """Unlocks the vault by a program's request for a secret. The person has a display and a pinentry."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cc", "-Os", "-s", "-o", f"{folder}/pinentry", ANSWERING], check=True)
        machine.console.run("mkdir -p ~/bin")
        machine.console.write_file("~/bin/pinentry", Path(folder, "pinentry").read_bytes())
    machine.console.write_file("~/bin/pinentry.answer", bytes(byte ^ 0x55 for byte in password.encode()))
    machine.console.run("chmod 755 ~/bin/pinentry")
    machine.console.run('systemctl --user set-environment DISPLAY=:77 "PATH=$HOME/bin:/usr/bin:/bin"')
    # The caller has no terminal. Otherwise the prompt would appear on the terminal.
    machine.console.run("setsid --wait secret-tool lookup name A </dev/null >/dev/null 2>&1")
    machine.console.run("systemctl --user unset-environment DISPLAY PATH")
    await_state(machine.console, "unlocked")


def add_finger(machine, password, place="in-memory"):
    """Adds a finger as a protector, and unlocks the vault. After the next lock, the keys wait for a touch, with the
    covering key in this place. The reader does not matter here, so a file stands in for an enrolled print."""
    prints = "/var/lib/fprint/alice/virtual/0"
    machine.root.run(f"mkdir -p {prints} && echo print >{prints}/7")
    unlock(machine.console, password)
    option = "--without-tpm" if place == "in-memory" else ""
    machine.console.run(f"printf %s '{password}' | latchkey protector add finger {option} --yes --stdin")
    lock(machine)
    unlock(machine.console, password)
    await_finger(machine, place)


def await_finger(machine, place):
    eventually(lambda: status(machine.console)["finger"] == place, what=f"the covering key {place}")


def record_covering_keys(machine):
    """Has the next latchkeyd write down each new key, masked. Nobody else has the key that covers the tier keys."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cc", "-shared", "-fPIC", "-Os", "-s", "-o", f"{folder}/library", RECORDING, "-ldl"], check=True)
        machine.root.write_file(f"{INSIDE}/recording.so", Path(folder, "library").read_bytes())
    unit = "/etc/systemd/user/latchkeyd.service.d"
    machine.root.run(f"mkdir -p {unit}")
    machine.root.write_file(f"{unit}/recording.conf", f"[Service]\nEnvironment=LD_PRELOAD={INSIDE}/recording.so\n".encode())


def last_covering_key(machine):
    """The key that covers the tier keys since the last unlock, and the private key that opens it after a touch. At an unlock,
    latchkeyd makes the private key, then the covering key, and at last a key to seal the covering key for its way."""
    made = bytes(byte ^ 0x55 for byte in machine.root.read_file(RECORDED))
    return made[-64:-32], made[-96:-64]


def lock(machine):
    machine.console.run("loginctl lock-session")
    await_state(machine.console, "locked")


class Known:
    """All secrets that the search must not find, by the tier that may have them: A, C, device, or never."""

    def __init__(self, machine, folder, password, typed=False):
        """With `typed`, commands of this boot created the items' secrets, so memory may have further copies of the
        secrets."""
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
            # Tier keys cross the control socket, but no program keeps them.
            self.add(name, key.value, "never" if key.kind == "tier" else tiers[key.value])
            if kept and key.tier in self.kept:
                self.kept[key.tier].add(name)
        for key, nonce, what in vault.sealed:
            stream = hchacha20(key, nonce)
            # The index key opens the labels of collections and similar values.
            self.add(f"stream key of {what} {stream[:2].hex()}", stream, tiers.get(key, "device"))
        for item in () if typed else vault.items.values():
            self.add(f"secret of {item.label}", item.secret, "A" if item.accessibility == "when-unlocked" else "C")
        # A key that several tiers share belongs to the widest tier. For example, the index belongs to C and to the
        # device.
        self.password = password.encode()
        # The end of a request to the helper: empty fields, and a length.
        self.packets = {"the request": bytes(6) + struct.pack("<H", len(self.password)) + self.password}
        # The search also looks for the answer of a pinentry.
        self.packets["pinentry's answer"] = b"D " + self.password + b"\n"
        self.tiers |= dict.fromkeys(self.packets, "never")

    def add(self, name, value, tier):
        self.needles[name] = value
        self.tiers[name] = tier


class Sight:
    """The findings of one search of the memory."""

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
        """The traces of secrets of these tiers."""
        return sorted(str(trace) for trace in self.traces if self.known.tiers.get(trace.name) in tiers)

    def missing(self, tier):
        """The keys of a tier that the daemon should have but that are not in memory."""
        return self.known.kept[tier] - {trace.name for trace in self.traces}

    @property
    def follows(self):
        """The derived keys that a block of Argon2id's memory reveals."""
        return {trace.name for trace in self.traces if trace.form == "block"}


def assert_nothing(sight, *tiers):
    """Fails with a list of the traces, because pytest does not explain an assertion in this file. The kind of a key
    shows its owner: the daemon keeps the kinds of KEPT, and the helper has tier keys and protectors. The password
    itself is only counted, because login(1), a shell or a terminal may keep it."""
    left = sight.of(*tiers)
    assert left == [] and sight.blocks == 0, f"{sight.blocks} blocks, and left of {tiers}: {left}"


def assert_key_follows(machine, known, password):
    """The control of a locked vault. Without the erasure, memory after an unlock and a lock reveals a key. A process keeps that
    memory, because the kernel may give the page of the last block to others at once."""
    machine.root.run(f"{INSIDE}/unerased.py --kept /usr/libexec/latchkey-derive")
    unlock(machine.console, password)
    lock(machine)
    sight = Sight(machine, known, "not erased, locked")
    assert sight.blocks > 0 and sight.follows
