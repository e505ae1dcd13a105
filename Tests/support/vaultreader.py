#!/usr/bin/python3
"""Reads a vault: an implementation of FORMAT.md that shares no code with the programs.

    python3 -m support.vaultreader FOLDER [--machine HEX] <PASSWORD

The reader authenticates everything, and raises Unreadable for any mismatch. The reader first copies the database with its log,
because the daemon has locked the database. Debian: python3-nacl, python3-argon2.
"""

import argparse
import dataclasses
import hashlib
import hmac
import json
import pathlib
import shutil
import sqlite3
import sys
import tempfile

import argon2.low_level
import nacl.bindings
import nacl.exceptions

# The id that latchkeyd passes to sd_id128_get_machine_app_specific().
APPLICATION = bytes.fromhex("2e7c61904f0d4b3f9a58d1336ce817b4")
CLASSES = {
    6: "when-unlocked",
    7: "after-first-unlock",
    8: "always",
    9: "when-unlocked-this-device-only",
    10: "after-first-unlock-this-device-only",
    11: "always-this-device-only",
    12: "when-passcode-set-this-device-only",
}
# The access control flag of items that remember enrolled fingers.
CURRENT_SET = 0x8
# The key that protects a class key, and the key that protects its metadata key: tier key A or C of the collection, or
# the device's share.
CLASS_TIER = {6: "A", 7: "C", 8: "device", 9: "A", 10: "C", 11: "device", 12: "A"}
METADATA_TIER = {6: "C", 7: "C", 8: "device", 9: "C", 10: "C", 11: "device", 12: "A"}

WRAPPED, STORED_WHILE_LOCKED, QUARANTINED = 0, 1, 2

# The fields in each row's check sum, in order. A digit is a number of that many bytes (NULL is 0). `raw` is bytes
# without a length, and `blob` is bytes with a length. `flagged` is a blob after a byte that is 0 for NULL.
CHECKED = {
    "vault": "vault:raw created:8 index_key:blob",
    "device": "id:8 identity:raw share:blob erasable:blob index_key:blob",
    "collection": "id:8 uuid:raw ordinal:8 epoch:8 label:blob locked:1 passphrase:flagged default_class:1 created:8"
    " modified:8",
    "class_key": "id:8 uuid:raw collection:8 class:1 device:8 created:8 class_key:flagged class_key_session:flagged"
    " metadata_key:flagged metadata_key_session:flagged public_key:flagged public_tag:flagged private_key:flagged",
    "item": "id:8 uuid:raw collection:8 class_key:8 form:1 created:8 modified:8 metadata:blob item_key:blob"
    " locked_tag:flagged passphrase:flagged secret:blob tokens:blob",
    "alias": "token:raw collection:8",
    "access_log": "id:8 created:8 entry:blob",
}
ACTIONS = {1: "open", 2: "store", 3: "log", 4: "change"}
OUTCOMES = dict(enumerate(
    "granted used refused dismissed unavailable locked outdated withdrawn expired broken lost cleared fingers".split(), 1))


class Unreadable(Exception):
    """The vault does not match the format, or was written without its keys."""


def require(condition, what):
    if not condition:
        raise Unreadable(what)


# MARK: primitives


def blake2b(message, size=32, key=b""):
    return hashlib.blake2b(message, digest_size=size, key=key).digest()


def number(value, size):
    return value.to_bytes(size, "little")


def kdf(key, label, *inputs, size=32):
    framed = b"".join(number(len(x), 8) + x for x in (b"latchkey/1/" + label.encode(), *inputs))
    return blake2b(framed, size, key)


def fingers_digest(readers):
    """The digest that an item stores of the readers' names, each with the names of its fingers."""
    order = sorted((name.encode(), sorted(finger.encode() for finger in fingers)) for name, fingers in readers.items())
    names = [name for name, _ in order]
    fingers = [part for name, own in order for part in (name, number(len(own), 8), *own)]
    return kdf(b"", "readers", *names), kdf(b"", "fingers", *fingers)


def unseal(key, sealed, associated, what):
    require(len(sealed) >= 40, f"{what} is too short")
    try:
        return nacl.bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(sealed[24:], associated, sealed[:24], key)
    except nacl.exceptions.CryptoError:
        raise Unreadable(f"{what} does not open") from None


def same(left, right, what):
    require(hmac.compare_digest(left, right), what)


def machine_identity(application):
    """The answer of sd_id128_get_machine_app_specific() on this machine: 16 bytes, or None without a machine id."""
    try:
        machine = bytes.fromhex(pathlib.Path("/etc/machine-id").read_text().strip())
    except (OSError, ValueError):
        return None
    identity = bytearray(hmac.new(machine, application, "sha256").digest()[:16])
    # These bits make the identity look like a random UUID.
    identity[6] = identity[6] & 0x0F | 0x40
    identity[8] = identity[8] & 0x3F | 0x80
    return bytes(identity)


class Fields:
    """Reads fields one after the other."""

    def __init__(self, content, what):
        self._content, self._what, self.position = content, what, 0

    def take(self, size):
        require(self.position + size <= len(self._content), f"{self._what} is truncated")
        self.position += size
        return self._content[self.position - size : self.position]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def counted(self, size):
        return self.take(self.number(size))

    def ends_with_padding(self):
        rest = self._content[self.position :]
        require(len(self._content) % 64 == 0 and len(rest) < 64 and not any(rest), f"{self._what} is padded wrongly")


# MARK: results


@dataclasses.dataclass(frozen=True)
class Key:
    """A key of the hierarchy.

    `tier` is needed to get the key: "password" (no program keeps it), "A", "C" or "device". `kind` is one of:
    protector, root, tier, link, collection, index, device, share, class, metadata, private, item, log, wrap (wraps
    another key)."""

    kind: str
    tier: str
    name: str
    value: bytes = dataclasses.field(repr=False)


@dataclasses.dataclass
class Item:
    number: int
    collection: int
    accessibility: str
    form: int
    created: int
    modified: int
    label: str = None
    attributes: dict = None
    content_type: str = None
    flags: int = None
    # The digests of the enrolled fingers: the hash of the readers' names, and the hash of the fingers' names.
    fingers: tuple = None
    # None if the item is bound to another device, is quarantined, or has a passphrase that was not given.
    secret: bytes = None


@dataclasses.dataclass(frozen=True)
class Access:
    """An entry of the access log."""

    number: int
    created: int
    action: str
    outcome: str
    count: int
    collection: int
    item: int
    label: str
    program: str


@dataclasses.dataclass
class Collection:
    number: int
    label: str
    locked: bool
    name: str = None


def argon2id(password, salt, passes, memory):
    return argon2.low_level.hash_secret_raw(
        password.encode() if isinstance(password, str) else password,
        salt,
        time_cost=passes,
        memory_cost=memory // 1024,
        parallelism=1,
        hash_len=32,
        type=argon2.low_level.Type.ID,
        version=0x13,
    )


def keep(keys, kind, tier, name, value):
    if value is not None:
        keys.append(Key(kind, tier, name, value))
    return value


ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def read_code(text):
    """The 16 bytes of a recovery code. The function verifies every check sum."""
    values = [ALPHABET.index(character) for character in text.replace("-", "")]
    require(len(values) == 35, "recovery code: length")
    bits = ""
    for group in range(7):
        *four, last = values[5 * group : 5 * group + 5]
        for place, value in enumerate(four):
            # Multiplication in the field of 32 elements, in which x^5 is x^2 + 1.
            for _ in range(place + 1):
                value = value << 1 ^ (0b100101 if value & 16 else 0)
            last ^= value
        require(last == group + 1, f"recovery code: group {group + 1}")
        bits += "".join(f"{value:05b}" for value in four)
    secret, check = int(bits[:128], 2).to_bytes(16, "big"), bits[128:]
    expected = kdf(secret + bytes(16), "recovery-check", size=16)
    require(check == "".join(f"{byte:08b}" for byte in expected)[:12], "recovery code: check sum")
    return secret


class Keybag:
    """The keybag, opened with a password, a recovery code or a security key's answer. `tiers` has the keys by epoch and
    "A" or "C". With a password, `derivation` has the arguments of Argon2id: salt, passes and memory."""

    def __init__(self, content, password=None, code=None, answer=None):
        self.keys = []
        require(len(content) <= 65536, "keybag: too long")
        same(content[-32:], blake2b(content[:-32]), "keybag: check sum")
        fields = Fields(content, "keybag")
        require(fields.take(8) == b"LATCHKEY", "keybag: foreign")
        require(fields.number(4) == 1, "keybag: another format")
        self.id = fields.take(16)
        self.generation = fields.number(8)
        require(1 <= self.generation <= 2**64 - 2, "keybag: generation")
        fields.number(8)
        protectors = fields.number(1)
        require(1 <= protectors <= 16, "keybag: number of protectors")
        protectors = [self._protector(fields) for _ in range(protectors)]
        epochs = fields.number(1)
        require(1 <= epochs <= 8, "keybag: number of epochs")
        epochs = [(fields.number(4), fields.take(72), fields.take(72), fields.take(64)) for _ in range(epochs)]
        numbers = [epoch[0] for epoch in epochs]
        require(numbers[0] > 0 and all(a < b for a, b in zip(numbers, numbers[1:])), "keybag: order of epochs")
        body = content[: fields.position]
        tag = fields.take(32)
        fields.take(32)
        require(fields.position == len(content), "keybag: something follows")
        if answer is not None:
            root = self._recovered(protectors, 6, lambda salt: kdf(answer, "security-key", salt))
        elif code is not None:
            root = self._recovered(protectors, 2, lambda salt: read_code(code) + salt)
        else:
            root = self._root(protectors, password)
        same(tag, kdf(root, "keybag-tag", body), "keybag: tag")
        self.tiers = {}
        for epoch, sealed_a, sealed_c, commitments in epochs:
            for tier, sealed, commitment in (("A", sealed_a, commitments[:32]), ("C", sealed_c, commitments[32:])):
                wrap = keep(
                    self.keys,
                    "wrap",
                    "password",
                    f"wrap of tier {tier}",
                    kdf(root, "tier-wrap", self.id, tier.encode()),
                )
                key = unseal(wrap, sealed, number(1, 4) + self.id + number(epoch, 4), f"keybag: tier key {tier}")
                same(commitment, kdf(key, "tier-commitment", self.id), f"keybag: commitment of {tier}")
                self.tiers[epoch, tier] = keep(self.keys, "tier", tier, f"tier {tier} of epoch {epoch}", key)

    @staticmethod
    def _protector(fields):
        start = {"kind": fields.number(1), "state": fields.number(1), "id": fields.take(16)}
        fields.take(16)
        rest = {"salt": fields.take(16), "passes": fields.number(4), "memory": fields.number(8)}
        rest |= {"commitment": fields.take(32), "sealed": fields.counted(2)}
        protector = start | rest
        if protector["kind"] == 1:
            require(3 <= protector["passes"] <= 10, "keybag: passes")
            require(32 << 20 <= protector["memory"] <= 1 << 30 and protector["memory"] % 1024 == 0, "keybag: memory")
            require(len(protector["sealed"]) == 72, "keybag: sealed root key")
        if protector["kind"] == 2:
            require(protector["passes"] == protector["memory"] == 0, "keybag: cost of a recovery code")
            require(len(protector["sealed"]) == 216, "keybag: sealed root key")
        if protector["kind"] == 6:
            require(protector["passes"] == protector["memory"] == 0, "keybag: cost of a security key")
            facts = protector["sealed"][216:]
            require(facts and 1 <= facts[0] <= 64 and 1 <= len(facts) - 1 - facts[0] <= 1024, "keybag: security key")
            protector |= {"name": facts[1 : 1 + facts[0]].decode(), "credential": facts[1 + facts[0] :]}
        return protector

    def _recovered(self, protectors, kind, key_of):
        for protector in protectors:
            if protector["kind"] != kind:
                continue
            key = key_of(protector["salt"])
            if kdf(key, "protector-commitment", self.id, protector["id"]) != protector["commitment"]:
                continue
            private = kdf(key, "recovery-private", self.id, protector["id"])
            public, sealed = protector["sealed"][:32], protector["sealed"][32:112]
            same(nacl.bindings.crypto_scalarmult_base(private), public, "keybag: public key of the protector")
            try:
                root = nacl.bindings.crypto_box_seal_open(sealed, public, private)
            except nacl.exceptions.CryptoError:
                raise Unreadable("keybag: root key") from None
            attest = kdf(key, "recovery-attest", self.id, protector["id"])
            associated = number(1, 4) + self.id + protector["id"] + number(kind, 1) + protector["salt"] + bytes(12)
            hold = kdf(root, "recovery-hold", self.id, protector["id"])
            held = unseal(hold, protector["sealed"][112:184], associated, "keybag: key of the proof")
            same(held, attest, "keybag: key of the proof")
            proof = kdf(attest, "recovery-proof", self.id, protector["id"], public, root)
            same(proof, protector["sealed"][184:216], "keybag: proof of the root key")
            return keep(self.keys, "root", "password", "root", root)
        raise Unreadable("keybag: the code or the answer opens no protector")

    def _root(self, protectors, password):
        for index, protector in enumerate(protectors):
            if protector["kind"] != 1:
                continue
            derived = argon2id(password, protector["salt"], protector["passes"], protector["memory"])
            if kdf(derived, "protector-commitment", self.id, protector["id"]) != protector["commitment"]:
                continue
            self.derivation = (protector["salt"], protector["passes"], protector["memory"])
            keep(self.keys, "protector", "password", f"protector {index}", derived)
            wrap = keep(
                self.keys,
                "wrap",
                "password",
                f"wrap of protector {index}",
                kdf(derived, "protector-wrap", self.id, protector["id"]),
            )
            cost = number(protector["passes"], 4) + number(protector["memory"], 8)
            associated = (
                number(1, 4) + self.id + protector["id"] + number(protector["kind"], 1) + protector["salt"] + cost
            )
            root = unseal(wrap, protector["sealed"], associated, "keybag: root key")
            return keep(self.keys, "root", "password", "root", root)
        raise Unreadable("keybag: the password opens no protector")


class DeviceKey:
    """The device key: its `identity`, and the keys that wrap shares. `machine` is this machine's identity, or None."""

    def __init__(self, content, machine):
        require(len(content) == 109, "device.key: size")
        same(content[77:], blake2b(content[:77]), "device.key: check sum")
        require(content[:12] == b"LATCHDEV" + number(1, 4), "device.key: foreign, or another format")
        bound, secret, erasable = content[12], content[13:45], content[45:77]
        require(bound in (0, 1), "device.key: machine")
        require(not bound or machine is not None, "device.key: it needs the machine's identity")
        inputs = [machine] if bound else []
        self.erasable = erasable
        self.key = kdf(secret, "device-wrap", *inputs)
        self.identity = kdf(secret, "device-identity", *inputs, size=16)
        self.bound_wrap = kdf(self.key, "device-wrap", number(1, 1))
        self.erasable_wrap = kdf(self.key, "device-wrap", number(2, 1), erasable)


class ServiceKey:
    """The device key that the device key service makes for a user from its state."""

    def __init__(self, state, user, sealed=None):
        """`sealed` is the device secret, if a TPM seals it in the state. `place` is 1 for the host and 2 for the TPM.
        """
        state = pathlib.Path(state)
        device = self._content(state / "device", b"LATCHDVS")
        self.place = device[0]
        require(self.place == 2 and sealed or self.place == 1 and len(device) == 33, "device: sealed by a TPM, or damaged")
        self.secret = sealed if self.place == 2 else device[1:]
        self.key = kdf(self.secret, "device-user", number(user, 4), self._secret(state / f"users/{user}", b"LATCHUSR", user))
        self.identity = kdf(self.key, "device-identity", size=16)
        self.bound_wrap = kdf(self.key, "device-wrap", number(1, 1))
        self.erasable = None
        if (state / f"users/{user}.erasable").exists():
            self.erasable = self._secret(state / f"users/{user}.erasable", b"LATCHERS", user)
            self.erasable_wrap = kdf(self.key, "device-wrap", number(2, 1), self.erasable)

    @staticmethod
    def _content(file, magic):
        content = file.read_bytes()
        same(content[-32:], blake2b(content[:-32]), f"{file.name}: check sum")
        require(content[:12] == magic + number(1, 4), f"{file.name}: foreign, or another format")
        return content[12:-32]

    def _secret(self, file, magic, user):
        content = self._content(file, magic)
        require(len(content) == 36 and content[:4] == number(user, 4), f"{file.name}: another user's")
        return content[4:]


class Vault:
    """The whole content of a vault, opened with its password."""

    def __init__(
        self, folder, password, machine=None, keybag=None, device=None, erased=False, passphrases=None
    ):
        """`keybag` may be the content of another keybag than the folder's, or an opened keybag. `device` is the
        ServiceKey of the vault. With `erased`, values that depend on the device's erasable secret must not open.
        `passphrases` has the passphrases of items, by label."""
        self.collections = {}
        self.items = {}
        # The associated data of each secret, without the row's access control.
        self.bindings = {}
        self.aliases = {}
        # Key, nonce and name of every opened value. XChaCha20 derives another key from key and nonce.
        self.sealed = []
        folder = pathlib.Path(folder)
        if not isinstance(keybag, Keybag):
            keybag = Keybag(keybag or (folder / "keybag").read_bytes(), password)
        self.id, self.generation, self.tiers, self.keys = keybag.id, keybag.generation, keybag.tiers, [*keybag.keys]
        self._device, self._erased, self._passphrases = device, erased, passphrases or {}
        if device is not None:
            self._keep("device", "device", "device key", device.key)
        elif (folder / "device.key").exists():
            self._device = DeviceKey((folder / "device.key").read_bytes(), machine)
            self._keep("device", "device", "device key", self._device.key)
        with tempfile.TemporaryDirectory() as copy:
            # The log is copied first. If a checkpoint moves pages into the database meanwhile, the copy has these pages
            # twice instead of losing them.
            for name in ("vault.db-wal", "vault.db"):
                if (folder / name).exists():
                    shutil.copy(folder / name, copy)
            database = sqlite3.connect(f"{copy}/vault.db")
            database.row_factory = sqlite3.Row
            try:
                self._open_database(database)
            except sqlite3.Error as error:
                raise Unreadable(f"vault.db: {error}") from error
            finally:
                database.close()

    def key(self, name):
        return next(key.value for key in self.keys if key.name == name)

    def _unseal(self, key, sealed, associated, what):
        plain = unseal(key, sealed, associated, what)
        self.sealed.append((key, sealed[:24], what))
        return plain

    def _unseal_first(self, wraps, sealed, associated, what):
        """The first key that opens the value, and the opened value."""
        for wrap in wraps[:-1]:
            try:
                return wrap, self._unseal(wrap, sealed, associated, what)
            except Unreadable:
                continue
        return wraps[-1], self._unseal(wraps[-1], sealed, associated, what)

    def _keep(self, kind, tier, name, value):
        return keep(self.keys, kind, tier, name, value)

    # MARK: the database

    def _open_database(self, database):
        require(database.execute("PRAGMA application_id").fetchone()[0] == 1282106745, "vault.db: not a vault")
        require(database.execute("PRAGMA user_version").fetchone()[0] == 1, "vault.db: another format")
        require(database.execute("PRAGMA integrity_check").fetchone()[0] == "ok", "vault.db: structure")
        require(not database.execute("PRAGMA foreign_key_check").fetchall(), "vault.db: references")
        self._rows = {table: self._checked_rows(database, table) for table in CHECKED}
        self._open_index()
        self._open_shares()
        for row in self._rows["collection"]:
            self._open_collection(row)
        self._class_keys = {}
        self._derive_chains()
        for row in self._rows["class_key"]:
            self._open_class(row)
        for row in self._rows["item"]:
            self._open_item(row)
        self._check_tokens(database)
        for row in self._rows["alias"]:
            self.aliases[row["token"]] = row["collection"]
        self._open_log()

    @staticmethod
    def _checked_rows(database, table):
        rows = database.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
        for row in rows:
            content = b""
            for column in CHECKED[table].split():
                name, form = column.split(":")
                value = row[name]
                if form.isdigit():
                    # A missing class or device counts as 0.
                    content += number((value or 0) % 2**64, int(form))
                    continue
                if form == "flagged":
                    content += number(0 if value is None else 1, 1)
                value = value or b""
                content += value if form == "raw" else number(len(value), 4) + value
            same(row["checksum"], blake2b(content, 16), f"vault.db: check sum of a row of {table}")
        return rows

    def _open_index(self):
        require(len(self._rows["vault"]) == 1, "vault.db: table vault")
        row = self._rows["vault"][0]
        require(row["vault"] == self.id, "vault.db: another keybag's")
        # Tier key C of the newest epoch. During a rotation, the value may still have the key of an older epoch.
        tiers = [key for (_, tier), key in sorted(self.tiers.items(), reverse=True) if tier == "C"]
        wraps = [kdf(tier, "index-wrap", self.id) for tier in tiers]
        wrap, content = self._unseal_first(wraps, row["index_key"], self.id, "index key")
        # Older databases have no generation, only the key.
        require(len(content) in (32, 40), "vault.db: length of the index key")
        index, self.generation = content[:32], int.from_bytes(content[32:], "little")
        self._keep("wrap", "C", "wrap of the index", wrap)
        self._index = self._keep("index", "device", "index", index)

    def _open_shares(self):
        self._share = self._erasable = self._device_row = None
        for row in self._rows["device"]:
            if self._device is None or row["identity"] != self._device.identity:
                continue
            self._device_row = row["id"]
            self._share = self._unseal(self._device.bound_wrap, row["share"], self.id, "device share")
            self._keep("share", "device", "share", self._share)
            self._erasable = self._open_erasable(row)
            self._keep("share", "device", "erasable share", self._erasable)
            wrap = kdf(self._share, "index-wrap", self.id)
            same(self._unseal(wrap, row["index_key"], self.id, "the device's index key"), self._index, "two index keys")

    def _open_erasable(self, row):
        if not self._erased:
            require(self._device.erasable is not None, "erasable share: what it depends on is gone")
            return self._unseal(self._device.erasable_wrap, row["erasable"], self.id, "erasable share")
        # No present key opens the value.
        wraps = [self._device.bound_wrap] + ([self._device.erasable_wrap] if self._device.erasable else [])
        for wrap in wraps:
            try:
                unseal(wrap, row["erasable"], self.id, "erasable share")
            except Unreadable:
                continue
            raise Unreadable("the erasable share opens")
        return None

    def _open_collection(self, row):
        wrap = kdf(self._index, "collection-label")
        associated = text16("latchkey/1/collection-label") + self.id + row["uuid"]
        label = self._unseal(wrap, row["label"], associated, f"label of collection {row['id']}")
        label, _, name = label.partition(b"\0/")
        self.collections[row["id"]] = Collection(row["id"], label.decode(), bool(row["locked"]), name.decode() or None)

    def _derive_chains(self):
        """Derives every collection's own tier keys, newest first, and every link up to the link after the last
        collection."""
        rows = sorted(self._rows["collection"], key=lambda row: row["ordinal"])
        require(len({row["ordinal"] for row in rows}) == len(rows), "vault.db: two collections have one place")
        self._tier_keys = {}
        for (epoch, tier), key in sorted(self.tiers.items(), reverse=True):
            mine = {row["ordinal"]: row for row in rows if row["epoch"] <= epoch}
            link = kdf(key, "collection-chain", self.id)
            for ordinal in range(max(mine, default=-1) + 2):
                self._keep("link", tier, f"link {ordinal} of {tier}", link)
                if ordinal in mine:
                    row = mine[ordinal]
                    own = kdf(link, "collection", row["uuid"])
                    self._keep("collection", tier, f"{tier} of collection {row['id']}", own)
                    self._tier_keys.setdefault((row["id"], tier), []).append(own)
                link = kdf(link, "next-collection")
        for row in rows:
            require((row["id"], "A") in self._tier_keys, "vault.db: a collection of no known epoch")

    def _open_class(self, row):
        collection = next(c for c in self._rows["collection"] if c["id"] == row["collection"])
        kind = row["class"]
        require(kind in CLASSES, "vault.db: a class that does not exist")
        context = [self.id, collection["uuid"], number(kind, 1), row["uuid"]]
        where = f"{CLASSES[kind]} {row['id']} of collection {row['collection']}"
        opened = {"row": row, "collection": collection, "context": context, "where": where}
        foreign = row["device"] is not None and row["device"] != self._device_row
        foreign = foreign or (self._erased and kind == 12)
        for column, label, tiers in (
            ("class_key", "class-wrap", CLASS_TIER),
            ("metadata_key", "metadata-wrap", METADATA_TIER),
        ):
            tier = tiers[kind]
            found = []
            shares = []
            if kind == 12:
                shares = [self._share, self._erasable]
            elif kind in (9, 10) and label == "class-wrap":
                shares = [self._share]
            if not foreign or (tier != "device" and not shares):
                bases = [self._share] if tier == "device" else self._tier_keys[row["collection"], tier]
                found.append((tier, [kdf(base, label, *context, *shares) for base in bases], row[column]))
            if kind == 8:
                bases = self._tier_keys[row["collection"], "C"]
                found.append(("C", [kdf(base, label, *context) for base in bases], row[column + "_session"]))
            values = set()
            for above, wraps, sealed in found:
                wrap, value = self._unseal_first(wraps, sealed, b"".join(context), f"{column} of {where}")
                self._keep("wrap", above, f"wrap of {label[:-5]} {where}", wrap)
                values.add(value)
            require(len(values) <= 1, f"two different copies of {column} of {where}")
            opened[column] = values.pop() if values else None
            self._keep(label[:-5], tier, f"{label[:-5]} {where}", opened[column])
        self._open_key_pair(opened)
        self._class_keys[row["id"]] = opened

    def _open_key_pair(self, opened):
        row, context, where = opened["row"], opened["context"], opened["where"]
        opened["private_key"] = None
        has_pair = row["class"] in (6, 9)
        for column in ("public_key", "public_tag", "private_key"):
            require((row[column] is not None) == has_pair, f"{column} of {where}")
        if not has_pair:
            return
        tags = [kdf(key, "public-key-tag", *context, row["public_key"]) for key in self._tier_keys[row["collection"], "C"]]
        require(row["public_tag"] in tags, f"public key of {where}")
        if opened["class_key"] is not None:
            private = self._unseal(
                opened["class_key"], row["private_key"], b"".join(context), f"private key of {where}"
            )
            same(nacl.bindings.crypto_scalarmult_base(private), row["public_key"], f"key pair of {where}")
            opened["private_key"] = self._keep("private", "A", f"private {where}", private)

    def _open_item(self, row):
        what = f"item {row['id']}"
        key = self._class_keys[row["class_key"]]
        require(key["row"]["collection"] == row["collection"], f"{what}: class key of another collection")
        require(row["form"] in (WRAPPED, STORED_WHILE_LOCKED, QUARANTINED), f"{what}: form")
        require((row["locked_tag"] is not None) == (row["form"] == STORED_WHILE_LOCKED), f"{what}: locked tag")
        kind = key["row"]["class"]
        item = Item(row["id"], row["collection"], CLASSES[kind], row["form"], row["created"], row["modified"])
        self.items[item.number] = item

        def associated(column, more):
            return (
                text16(f"latchkey/1/{column}")
                + self.id
                + key["collection"]["uuid"]
                + number(kind, 1)
                + row["uuid"]
                + more
            )

        if key["metadata_key"] is None:
            return
        times = number(row["created"], 8) + number(row["modified"], 8)
        plain = self._unseal(key["metadata_key"], row["metadata"], associated("metadata", times), f"{what}: metadata")
        binding = self._read_metadata(item, Fields(plain, f"{what}: metadata"))
        tokens = sorted(self._token("attribute-token", *map(str.encode, pair)) for pair in item.attributes.items())
        expected = b"".join(tokens) + self._token("attribute-set-token", *tokens)
        same(row["tokens"], expected, f"{what}: tokens")
        if row["form"] == QUARANTINED or key["class_key"] is None:
            return
        if row["form"] == WRAPPED:
            item_key = self._unseal(
                key["class_key"], row["item_key"], associated("item-key", binding), f"{what}: item key"
            )
        else:
            item_key = self._open_stored_while_locked(row, key, binding, what)
        tier = CLASS_TIER[kind]
        self._keep("item", tier, f"key of {what}", item_key)
        self.bindings[item.number] = associated("secret", binding)
        access = row["passphrase"] or b""
        secret_key = self._secret_key(item, item_key, row)
        if secret_key is None:
            return
        secret = Fields(
            self._unseal(secret_key, row["secret"], associated("secret", binding + access), f"{what}: secret"),
            f"{what}: secret",
        )
        item.secret = secret.counted(4)
        secret.ends_with_padding()

    def _secret_key(self, item, item_key, row):
        """The item key, combined with the passphrase of an item that has one. The result is None without the
        passphrase."""
        has_passphrase = bool(item.flags >> 31)
        require((row["passphrase"] is not None) == (item.flags != 0), f"item {item.number}: access")
        if item.flags:
            fields = Fields(row["passphrase"], f"item {item.number}: access")
            require((fields.number(1), fields.number(1)) == (1, has_passphrase), f"item {item.number}: access")
        if not has_passphrase:
            return item_key
        salt, passes, memory = fields.take(16), fields.number(4), fields.number(8)
        passphrase = self._passphrases.get(item.label)
        if passphrase is None:
            return None
        derived = argon2id(passphrase, salt, passes, memory)
        self._keep("passphrase", "person", f"passphrase of item {item.number}", derived)
        return kdf(item_key, "item-passphrase", self.id, row["uuid"], derived)

    @staticmethod
    def _read_metadata(item, fields):
        revision = fields.take(16)
        item.flags = fields.number(4)
        if item.flags & CURRENT_SET:
            item.fingers = (fields.take(32), fields.take(32))
        item.content_type = fields.counted(2).decode()
        item.label = fields.counted(4).decode()
        pairs = [(fields.counted(4).decode(), fields.counted(4).decode()) for _ in range(fields.number(4))]
        item.attributes = dict(pairs)
        require(len(item.attributes) == len(pairs), f"item {item.number}: an attribute twice")
        fields.ends_with_padding()
        return number(item.flags, 4) + revision

    def _open_stored_while_locked(self, row, key, binding, what):
        covered = (*key["context"], row["uuid"], binding, row["metadata"], row["item_key"], row["secret"])
        tags = [kdf(session, "locked-item-tag", *covered) for session in self._tier_keys[row["collection"], "C"]]
        require(row["locked_tag"] in tags, f"{what}: locked tag")
        require(key["private_key"] is not None, f"{what}: its class has no private key")
        public = key["row"]["public_key"]
        try:
            return nacl.bindings.crypto_box_seal_open(row["item_key"], public, key["private_key"])
        except nacl.exceptions.CryptoError:
            raise Unreadable(f"{what}: item key does not open") from None

    def _open_log(self):
        """Opens every entry, and checks that each follows the right predecessor."""
        tiers = [key for (_, tier), key in sorted(self.tiers.items(), reverse=True) if tier == "C"]
        wraps = [kdf(tier, "access-log", self.id) for tier in tiers]
        self.log = []
        for row in self._rows["access_log"]:
            place = number(row["id"], 8) + number(row["created"], 8)
            associated = text16("latchkey/1/access-log") + self.id + place
            wrap, plain = self._unseal_first(wraps, row["entry"], associated, f"entry {row['id']} of the log")
            self._keep("log", "C", "key of the access log", wrap)
            fields = Fields(plain, f"entry {row['id']} of the log")
            fields.take(16)
            action, outcome = ACTIONS[fields.number(1)], OUTCOMES[fields.number(1)]
            numbers = fields.number(4), fields.number(8), fields.number(8)
            texts = fields.counted(2).decode(), fields.counted(2).decode()
            fields.ends_with_padding()
            self.log.append(Access(row["id"], row["created"], action, outcome, *numbers, *texts))
        sizes = [len(row["entry"]) for row in self._rows["access_log"]]
        require(len(sizes) <= 1000 and sum(sizes) <= 256 << 10, "the size of the log")

    def _token(self, label, *inputs):
        return kdf(self._index, label, *inputs, size=16)

    def alias(self, name):
        """The collection that an alias names, or None."""
        return self.aliases.get(self._token("alias-token", name.encode()))

    def _check_tokens(self, database):
        listed = set()
        for row in self._rows["item"]:
            require(len(row["tokens"]) % 16 == 0, f"item {row['id']}: tokens")
            listed |= {(row["tokens"][at : at + 16], row["id"]) for at in range(0, len(row["tokens"]), 16)}
        indexed = {(row["token"], row["item"]) for row in database.execute("SELECT token, item FROM token")}
        require(indexed == listed, "vault.db: the index is not that of the items")


def text16(text):
    return number(len(text.encode()), 2) + text.encode()


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip(), description=__doc__.split("\n\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--machine", metavar="HEX", type=bytes.fromhex, help="this machine's identity, 16 bytes")
    arguments = parser.parse_args()
    try:
        vault = Vault(arguments.folder, sys.stdin.buffer.read(), arguments.machine)
    except Unreadable as error:
        print(f"vaultreader: {error}", file=sys.stderr)
        return 1
    items = [dataclasses.asdict(item) for item in vault.items.values()]
    for item in items:
        if item["secret"] is not None:
            item["secret"] = item["secret"].hex()
    collections = [dataclasses.asdict(collection) for collection in vault.collections.values()]
    print(json.dumps({"vault": vault.id.hex(), "collections": collections, "items": items}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
