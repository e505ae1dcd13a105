"""The secrets in the daemon's memory.

After a lock the memory has no key of tier A, and after the session's end no key of tier C. The memory never has the
root key, a tier key, an item key, a secret or the password.

Every scan has a control: the scan finds the keys that must be in memory.
"""

import os
import pathlib
import re
import secrets

import pytest
from support import vaultreader
from support.client import Refused, SecretClient
from support.memory import hchacha20, scan
from support.session import REPOSITORY, wait_until
from support.vaultreader import CLASS_TIER, CLASSES, Vault

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="reading another process's memory needs root")

PLAIN, ENCRYPTED = "plain", "dh-ietf1024-sha256-aes128-cbc-pkcs7"
TIERS = {CLASSES[number]: tier for number, tier in CLASS_TIER.items()}
# Kinds of keys that stay in memory while the daemon may use them. The daemon derives other keys on demand.
KEPT = {"collection", "index", "device", "share", "class", "metadata", "private"}


class Memory:
    """The memory of a session's daemon, and the secrets to look for."""

    def __init__(self, session):
        self.session = session
        self.secrets = {"A": {}, "C": {}, "device": {}, "never": {}}
        self.transport = {}
        # If the device key is in the service, this makes its ServiceKey.
        self.device = lambda: None
        self._keys = {}

    def text(self, tier, name):
        """A new secret of a tier. The secret is too long to occur by chance."""
        text = secrets.token_hex(24)
        self.secrets[tier][name] = text.encode()
        return text

    def learn(self):
        """Reads the vault's keys. Later scans also look for items and keys of earlier readings."""
        machine = vaultreader.machine_identity(vaultreader.APPLICATION)
        vault = Vault(self.session.vault, self.session.password, machine, device=self.device())
        last = {tier: [key for key in vault.keys if key.kind == "link" and key.tier == tier][-1] for tier in "AC"}
        tiers = {key.value: key.tier for key in vault.keys}
        for key in vault.keys:
            kept = key.kind in KEPT or key in last.values()
            self._keys[key.value] = (f"{key.name} {key.value[:2].hex()}", key.tier, kept)
        for key, nonce, what in vault.sealed:
            # The index key opens the labels of collections and similar values, so the list of keys does not contain
            # their keys.
            derived = hchacha20(key, nonce)
            self._keys[derived] = (f"stream key of {what} {derived[:2].hex()}", tiers.get(key, "device"), False)
        return vault

    def _named(self, tiers, kept=None):
        return {name: value for value, (name, tier, k) in self._keys.items() if tier in tiers and kept in (None, k)}

    def everything(self):
        """Every known key, every secret and the password."""
        needles = {name: value for value, (name, _, _) in self._keys.items()} | self.transport
        for tier in self.secrets:
            needles |= self.secrets[tier]
        return needles | {"password": self.session.password.encode()}

    def found(self, needles):
        """The needles that are in memory, each with up to three places."""
        places = scan(self.session.daemon_pid(), needles)
        return {name: [str(place) for place in places[name][:3]] for name in sorted(places)}

    def check(self, there, gone):
        """Checks that memory has every kept key of the tiers `there`. Memory must have no key of the tiers `gone`, no
        temporary key, no secret that a client read or wrote, and no key of a closed transport session."""
        kept = self._named(there, True)
        if there:
            assert len(kept) > 3
        absent = self._named(gone) | self._named(there, False) | self._named({"password"}) | self.transport
        absent |= {"password": self.session.password.encode()}
        for tier in self.secrets:
            absent |= self.secrets[tier]
        found = self.found(kept | absent)
        assert set(kept) - set(found) == set(), "not in memory, although it is in use"
        assert {name: places for name, places in found.items() if name in absent} == {}


def tunables():
    """The setting from the daemon's unit. Without this setting, freed memory keeps its old content."""
    unit = (REPOSITORY / "dbus/latchkeyd.service.in").read_text()
    return re.search(r"^Environment=GLIBC_TUNABLES=(\S+)$", unit, re.MULTILINE)[1]


def set_tunables(session, value):
    """Sets GLIBC_TUNABLES for the daemons that the bus starts from now on."""
    arguments = ["UpdateActivationEnvironment", "a{ss}", "1", "GLIBC_TUNABLES", value]
    bus = ["org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus"]
    session.run("busctl", "--user", "call", *bus, *arguments, check=True)


@pytest.fixture
def memory(new_session):
    """A session before its first login. The daemon has the environment of its unit."""
    new_session.set_password("password " + secrets.token_hex(24))
    set_tunables(new_session, tunables())
    process = new_session.restart()
    # glibc ends the first of several settings with a zero byte.
    assert (
        b"GLIBC_TUNABLES=" + tunables().split(":")[0].encode() in pathlib.Path(f"/proc/{process}/environ").read_bytes()
    )
    return Memory(new_session)


def store_all(memory, client, via, prefix=""):
    """Stores one item of every class, and returns the paths by class."""
    paths = {}
    for name, tier in TIERS.items():
        attributes = {"name": prefix + name, "latchkey:accessible": name}
        text = memory.text(tier, f"{prefix}secret of {name}")
        paths[name] = client.store(session=via, attributes=attributes, text=text)["item"]
    return paths


def log_in(memory):
    assert memory.session.login().returncode == 0
    assert memory.session.status()["state"] == "unlocked"


def test_unlocked_only_what_is_kept(memory):
    log_in(memory)
    with SecretClient(memory.session) as client:
        via = client.open(algorithm=PLAIN)["session"]
        for path in store_all(memory, client, via).values():
            client.get(session=via, item=path)
        memory.learn()
        memory.check(there={"A", "C", "device"}, gone=())
        # The control for temporary values: the memory of the client itself contains its secrets.
        needle = memory.secrets["A"]["secret of when-unlocked"]
        assert scan(client.pid, {"secret": needle})


def test_lock_erases_tier_a(memory):
    log_in(memory)
    with SecretClient(memory.session) as client:
        via = client.open(algorithm=PLAIN)["session"]
        store_all(memory, client, via)
        memory.learn()
        memory.session.lock()
        memory.check(there={"C", "device"}, gone={"A"})
        # The test repeats the checks with the keys of the second unlock.
        memory.session.locker()
        memory.check(there={"A", "C", "device"}, gone=())
        memory.session.lock()
        memory.check(there={"C", "device"}, gone={"A"})


def test_the_end_of_the_session_erases_tier_c(memory):
    log_in(memory)
    with SecretClient(memory.session) as client:
        via = client.open(algorithm=ENCRYPTED)["session"]
        for path in store_all(memory, client, via).values():
            client.get(session=via, item=path)
        memory.learn()
        memory.session.logout()
        assert memory.session.status()["state"] == "sealed"
        memory.check(there={"device"}, gone={"A", "C"})
        # The test repeats the check with a session that is locked at its end.
        log_in(memory)
        memory.session.lock()
        memory.session.logout()
        memory.check(there={"device"}, gone={"A", "C"})


@pytest.mark.night("vault")
@pytest.mark.parametrize("algorithm", [PLAIN, ENCRYPTED], ids=["plain", "encrypted"])
def test_a_day_of_work_leaves_nothing_behind(memory, algorithm):
    log_in(memory)
    with SecretClient(memory.session) as client:
        opened = client.open(algorithm=algorithm)
        via = opened["session"]
        paths = store_all(memory, client, via)
        memory.learn()
        for size in (1, 15, 16, 17, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 5 << 20):
            attributes = {"size": str(size)}
            path = None
            for way in ("stored", "replaced", "set"):
                text = memory.text("A", f"{way} with {size} bytes")
                if size < 48:
                    # The secret is too short to search for, so the scan searches only for its item key.
                    del memory.secrets["A"][f"{way} with {size} bytes"]
                if way == "set":
                    client.set(session=via, item=path, text=text, size=size)
                else:
                    arguments = {"attributes": attributes, "text": text, "size": size, "replace": way == "replaced"}
                    path = client.store(session=via, **arguments)["item"]
                assert client.get(session=via, item=path)["size"] == size
            paths[f"{size} bytes"] = path
            memory.learn()
        assert len(client.get_all(session=via, items=list(paths.values()))["sizes"]) == len(paths)
        client.relabel(item=path, label="Another")
        moved = {"size": "moved", "latchkey:accessible": "after-first-unlock"}
        client.store(session=via, attributes=moved, text=memory.text("C", "lowered"))
        second = client.collection(label="Second")["collection"]
        client.store(
            session=via,
            collection=second.rpartition("/")[2],
            attributes={},
            text=memory.text("A", "elsewhere"),
            size=9000,
        )
        memory.learn()
        client.delete(item=paths["when-unlocked"])
        memory.session.lock()
        refusals(memory, client, via, paths)
        # The daemon cannot read newly stored items until the next unlock, which wraps their keys again.
        for size in (48, 4 << 10, 1 << 20):
            late = {"late": str(size)}
            client.store(session=via, attributes=late, text=memory.text("A", f"stored late, {size} bytes"), size=size)
        memory.learn()
        memory.check(there={"C", "device"}, gone={"A"})
        memory.session.locker()
        wait_until(
            lambda: all(item.form == vaultreader.WRAPPED for item in memory.learn().items.values()), "the rewrap"
        )
        found = client.search(attributes={"late": "48"})["unlocked"]
        assert client.get(session=via, item=found[0])["size"] == 48
        if algorithm == ENCRYPTED:
            # The control: while the transport session is open, its key is in memory.
            assert memory.found({"AES key": bytes.fromhex(opened["key"])})
            client.close(session=via)
            again = client.open(algorithm=algorithm)
            for name in ("key", "shared", "extracted"):
                memory.transport[f"closed session's {name}"] = bytes.fromhex(opened[name])
                memory.transport[f"{name} of a client that left"] = bytes.fromhex(again[name])
    memory.learn()
    wait_until(lambda: not memory.transport or not memory.found(memory.transport), "the end of the client's sessions")
    memory.session.lock()
    memory.check(there={"C", "device"}, gone={"A"})
    memory.session.logout()
    memory.check(there={"device"}, gone={"A", "C"})


def refusals(memory, client, via, paths):
    """Makes calls with a secret in every place where the daemon can refuse it."""
    locked = paths["always"].rpartition("/")[0] + "/" + paths["4096 bytes"].rpartition("/")[2]
    refused = [
        ("get", {"item": locked}),
        ("set", {"item": locked, "text": memory.text("A", "set while locked"), "size": 5000}),
        ("set", {"item": "/org/freedesktop/secrets/collection/login/9999", "text": memory.text("A", "no item")}),
        (
            "set",
            {"item": "/org/freedesktop/secrets/collection/c77/1", "text": memory.text("A", "nowhere"), "size": 9000},
        ),
        ("set", {"item": "/org/example", "text": memory.text("A", "no object at all"), "size": 9000}),
        (
            "store",
            {
                "attributes": {"size": "4096"},
                "replace": True,
                "text": memory.text("A", "replaced while locked"),
                "size": 5000,
            },
        ),
        ("store", {"attributes": {}, "collection": "c77", "text": memory.text("A", "no collection"), "size": 9000}),
        ("store", {"attributes": {"latchkey:other": ""}, "text": memory.text("A", "no such attribute"), "size": 9000}),
        (
            "store",
            {
                "attributes": {"latchkey:accessible": "when-passcode-set-this-device-only"},
                "text": memory.text("A", "not while locked"),
            },
        ),
    ]
    for method, arguments in refused:
        with pytest.raises(Refused):
            getattr(client, method)(session=via, **arguments)
    # The secret's transport session belongs to another client, or does not exist.
    with SecretClient(memory.session) as other:
        theirs = other.open(algorithm=PLAIN)["session"]
        text = memory.text("A", "in another's session")
        client.borrow(session=theirs)
        with pytest.raises(Refused):
            client.store(session=theirs, attributes={}, text=text, size=9000)


def test_staged_keys(memory):
    log_in(memory)
    with SecretClient(memory.session) as client:
        store_all(memory, client, client.open(algorithm=PLAIN)["session"])
        memory.learn()
        client.screen_saver(active=True)
        wait_until(lambda: memory.session.status()["locker_up"], "the locker")
        memory.check(there={"C", "device"}, gone={"A"})
        # The right password comes before the end of the locker, so the keys wait.
        memory.session.locker()
        assert memory.session.status()["staged"]
        tier = {name: value for name, value in memory._named({"A"}).items() if name.startswith("tier A")}
        assert memory.found(tier)
        client.screen_saver(active=False)
        wait_until(lambda: memory.session.status()["state"] == "unlocked", "the unlock")
        memory.check(there={"A", "C", "device"}, gone=())
        # The keys wait, and then another lock comes.
        client.screen_saver(active=True)
        wait_until(lambda: memory.session.status()["locker_up"], "the locker")
        memory.session.locker()
        assert memory.found(tier)
        memory.session.lock()
        memory.check(there={"C", "device"}, gone={"A"})


def test_wrong_passwords(memory):
    log_in(memory)
    with SecretClient(memory.session) as client:
        store_all(memory, client, client.open(algorithm=PLAIN)["session"])
        memory.learn()
        memory.session.lock()
        wrong = memory.text("never", "wrong password")
        assert memory.session.locker(wrong).returncode != 0
        memory.check(there={"C", "device"}, gone={"A"})


def test_a_collection_that_is_locked_by_itself(memory):
    log_in(memory)
    with SecretClient(memory.session) as client:
        via = client.open(algorithm=PLAIN)["session"]
        store_all(memory, client, via)
        second = client.collection(label="Second")["collection"]
        text = memory.text("A", "in the second")
        client.store(session=via, collection=second.rpartition("/")[2], attributes={}, text=text)
        vault = memory.learn()
        own = {key.name: key.value for key in vault.keys if key.name.endswith("of collection 2") and key.kind in KEPT}
        assert set(memory.found(own)) == set(own)
        client.lock(path=second)
        assert memory.found(own) == {}
        # The control: the keys of the other collection are in memory.
        others = {
            key.name: key.value for key in vault.keys if key.name.endswith("of collection 1") and key.kind in KEPT
        }
        assert set(memory.found(others)) == set(others)
