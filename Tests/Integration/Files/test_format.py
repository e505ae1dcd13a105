"""FORMAT.md is true. A reader that follows only its text opens the files of the programs, and rejects altered files."""

import json
import os
import re
import shutil
import sqlite3
import textwrap
import time

import pytest
from support import vaultreader
from support.client import SecretClient
from support.session import REPOSITORY, Session, wait_until
from support.vaultreader import CHECKED, CLASSES, Unreadable, Vault, blake2b, kdf, number, unseal

VECTORS = json.loads((REPOSITORY / "Tests/KeybagTests/Vectors/vectors.json").read_text())
SECRETS = {name: f"secret of {name} \N{SNOWMAN}" for name in CLASSES.values()}


@pytest.fixture(scope="module")
def stocked(stage):
    """A session whose vault has an item of every class, items of various sizes and histories, and a second collection.
    """
    session = Session(stage)
    session.items = {}
    try:
        session.set_password("p\N{LATIN SMALL LETTER E WITH ACUTE} word")
        assert session.login().returncode == 0
        with SecretClient(session) as client:
            fill(session, client)
        yield session
    finally:
        session.close()


def fill(session, client):
    plain, encrypted = (
        client.open(algorithm="plain")["session"],
        client.open(algorithm="dh-ietf1024-sha256-aes128-cbc-pkcs7")["session"],
    )

    def store(name, text, size=None, via=plain, attributes=None, **options):
        attributes = {"name": name} if attributes is None else attributes
        path = client.store(
            session=via, attributes=attributes, text=text, size=size, label=f"Label of {name}", **options
        )["item"]
        attributes = {key: value for key, value in attributes.items() if not key.startswith("latchkey:")}
        secret = text.encode() if size is None else (text.encode() * size)[:size]
        session.items[path] = (f"Label of {name}", attributes, secret)
        return path

    for accessibility in CLASSES.values():
        attributes = {"name": accessibility, "latchkey:accessible": accessibility}
        store(accessibility, SECRETS[accessibility], via=encrypted, attributes=attributes)
    store("empty", "", attributes={})
    store("padding", "x", 60)
    store("no padding", "y", 61)
    store("large", "0123456789abcdef", 100_000, via=encrypted)
    unicode = {"\N{SNOWMAN}": "\N{GREEK SMALL LETTER PI}", "empty": "", "a": "b" * 300}
    store("unicode", "z", attributes=unicode)
    # An item that is written several times.
    store("again", "first")
    path = store("again", "second", replace=True)
    client.set(session=plain, item=path, text="third")
    client.relabel(item=path, label="Fourth")
    session.items[path] = ("Fourth", {"name": "again"}, b"third")
    # A deleted item, and three collections. The middle collection is then deleted.
    gone = store("gone", "gone")
    client.delete(item=gone)
    del session.items[gone]
    middle = client.collection(label="Middle")["collection"]
    last = client.collection(label="Last")["collection"]
    client.delete_collection(path=middle)
    store("elsewhere", "in the last", collection=last.rpartition("/")[2])
    client.lock(path=client.collection(label="Marked")["collection"])
    session.lock()
    store("while locked", "said behind the lock")
    bound = {"name": "bound", "latchkey:accessible": "when-unlocked-this-device-only"}
    store("bound", "and on this device", attributes=bound, via=encrypted)


def machine():
    return vaultreader.machine_identity(vaultreader.APPLICATION)


def read(session):
    return Vault(session.vault, session.password, machine())


def test_every_item_is_read(stocked):
    vault = read(stocked)
    assert set(vault.items) == {int(path.rpartition("/")[2]) for path in stocked.items}
    for path, (label, attributes, secret) in stocked.items.items():
        collection, _, item = path.removeprefix("/org/freedesktop/secrets/collection/").partition("/")
        item = vault.items[int(item)]
        # Only the first collection's path does not contain its label.
        assert (vault.collections[item.collection].name or "login") == collection
        assert (item.label, item.attributes, item.secret) == (label, attributes, secret)
        assert (item.content_type, item.flags) == ("text/plain", 0)
        assert abs(item.created - time.time()) < 600 and item.modified >= item.created
        expected = attributes.get("name") if attributes.get("name") in SECRETS else "when-unlocked"
        if attributes.get("name") == "bound":
            expected = "when-unlocked-this-device-only"
        assert item.accessibility == expected
        stored_while_locked = attributes.get("name") in ("while locked", "bound")
        assert item.form == (vaultreader.STORED_WHILE_LOCKED if stored_while_locked else vaultreader.WRAPPED)


def test_collections_and_aliases(stocked):
    vault = read(stocked)
    assert {c.number: c.label for c in vault.collections.values()} == {1: "Login", 3: "Last", 4: "Marked"}
    assert [c.label for c in vault.collections.values() if c.locked] == ["Marked"]
    assert (vault.alias("default"), vault.alias("login"), vault.alias("other")) == (1, 1, None)


def test_every_kind_of_key_is_there_once(stocked):
    keys = read(stocked).keys
    assert {key.kind for key in keys} == {
        "protector",
        "root",
        "tier",
        "link",
        "collection",
        "index",
        "device",
        "share",
        "class",
        "metadata",
        "private",
        "item",
        "wrap",
    }
    assert all(len(key.value) == 32 for key in keys)
    assert len({key.value for key in keys}) == len(keys)


def test_what_was_stored_while_locked_is_wrapped_after_the_unlock(stage):
    session = Session(stage)
    try:
        session.login()
        session.lock()
        session.store("late", "name", "late")
        assert [item.form for item in read(session).items.values()] == [vaultreader.STORED_WHILE_LOCKED]
        session.locker()
        assert session.lookup("name", "late") == "late"
        wait_until(lambda: read(session).items[1].form == vaultreader.WRAPPED, "the item's wrapping")
        assert read(session).items[1].secret == b"late"
        # The reader finds the same items after SQLite has moved its log into the database.
        session.stop_daemon()
        assert not any(path.stat().st_size for path in session.vault.glob("vault.db-wal"))
        assert read(session).items[1].secret == b"late"
    finally:
        session.close()


@pytest.mark.parametrize(
    "password", ["", "p\N{LATIN SMALL LETTER E WITH ACUTE} wor", "pe\N{COMBINING ACUTE ACCENT} word"]
)
def test_no_other_password(stocked, password):
    with pytest.raises(Unreadable, match="opens no protector"):
        Vault(stocked.vault, password, machine())


def test_another_machine(stocked, copied):
    if machine() is None:
        pytest.skip("this machine has no identity")
    with pytest.raises(Unreadable, match="needs the machine's identity"):
        Vault(stocked.vault, stocked.password, None)
    # On another device, the reader opens items that are not bound to the device. Of the bound items the reader opens
    # only the label.
    elsewhere = Vault(copied.folder, stocked.password, bytes(16))
    here = read(stocked)
    for name, item in elsewhere.items.items():
        bound = item.accessibility.endswith("this-device-only")
        assert item.secret == (None if bound else here.items[name].secret)
        without_label = item.accessibility in ("always-this-device-only", "when-passcode-set-this-device-only")
        assert item.label == (None if without_label else here.items[name].label)


# MARK: alterations


class Copy:
    """A copy of a vault's files that a test can alter. No daemon uses the copy."""

    def __init__(self, session, folder):
        self.folder, self.password = folder, session.password
        for name in ("vault.db-wal", "vault.db", "keybag", "device.key"):
            if (session.vault / name).exists():
                shutil.copy(session.vault / name, folder)
        with self.database() as database:
            database.execute("PRAGMA journal_mode = DELETE")
        self.pristine = (folder / "vault.db").read_bytes()

    def database(self):
        database = sqlite3.connect(self.folder / "vault.db")
        database.row_factory = sqlite3.Row
        return database

    def restore(self):
        (self.folder / "vault.db").write_bytes(self.pristine)

    def read(self):
        return Vault(self.folder, self.password, machine())

    def set(self, table, row, column, value, fix=True):
        """Alters one column, and corrects the check sum as an attacker would."""
        database = self.database()
        changed = dict(database.execute(f"SELECT * FROM {table} WHERE rowid = ?", (row,)).fetchone()) | {column: value}
        database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, row))
        if fix:
            database.execute(f"UPDATE {table} SET checksum = ? WHERE rowid = ?", (checksum(table, changed), row))
        database.commit()
        database.close()


def checksum(table, row):
    content = b""
    for name, form in (column.split(":") for column in CHECKED[table].split()):
        value = row[name]
        if form.isdigit():
            content += number((value or 0) % 2**64, int(form))
        else:
            content += number(0 if value is None else 1, 1) if form == "flagged" else b""
            content += (value or b"") if form == "raw" else number(len(value or b""), 4) + (value or b"")
    return blake2b(content, 16)


@pytest.fixture
def copied(stocked, tmp_path):
    return Copy(stocked, tmp_path)


@pytest.fixture(autouse=True)
def argon2id_once(monkeypatch):
    """Runs Argon2id once for each input, because all readings of one keybag derive the same key."""
    original = vaultreader.argon2.low_level.hash_secret_raw

    def remembered(*arguments, **options):
        key = (arguments, tuple(sorted((name, str(value)) for name, value in options.items())))
        if key not in REMEMBERED:
            REMEMBERED[key] = original(*arguments, **options)
        return REMEMBERED[key]

    monkeypatch.setattr(vaultreader.argon2.low_level, "hash_secret_raw", remembered)


REMEMBERED = {}
SEALED = {
    "vault": ["vault", "index_key"],
    "device": ["identity", "share", "erasable", "index_key"],
    "collection": ["uuid", "label"],
    "class_key": [
        "uuid",
        "class_key",
        "class_key_session",
        "metadata_key",
        "metadata_key_session",
        "public_key",
        "public_tag",
        "private_key",
    ],
    "item": ["uuid", "metadata", "item_key", "locked_tag", "secret", "tokens"],
}


@pytest.mark.night("vault")
@pytest.mark.parametrize(("table", "column"), [(table, column) for table in SEALED for column in SEALED[table]])
def test_a_flipped_bit_is_found_in_every_sealed_value(copied, table, column):
    copied.read()
    values = copied.database().execute(f"SELECT rowid, {column} FROM {table} WHERE {column} IS NOT NULL").fetchall()
    assert values
    for row, value in values:
        for at in {0, len(value) // 2, len(value) - 1}:
            altered = bytearray(value)
            altered[at] ^= 1
            for fix in (False, True):
                copied.set(table, row, column, bytes(altered), fix)
                # Without the row of the device, the items of the device look like items of another device. The reader
                # cannot read these items, but reports no damage.
                if (table, column, fix) == ("device", "identity", True):
                    assert any(item.secret is None for item in copied.read().items.values())
                else:
                    with pytest.raises(Unreadable, match=None if fix else "check sum"):
                        copied.read()
                copied.restore()


@pytest.mark.parametrize("column", ["created", "modified", "class_key", "collection"])
def test_numbers_of_an_item_are_bound_to_it(copied, column):
    for row, value in copied.database().execute(f"SELECT id, {column} FROM item").fetchall():
        copied.set("item", row, column, value + 1 if column in ("created", "modified") else (3 if value == 1 else 1))
        with pytest.raises(Unreadable):
            copied.read()
        copied.restore()


def test_rows_do_not_take_each_others_values(copied):
    with copied.database() as database:
        query = "SELECT id, metadata, item_key, secret FROM item WHERE class_key = (SELECT min(class_key) FROM item)"
        first, second = database.execute(query).fetchmany(2)
    for column in ("metadata", "item_key", "secret"):
        copied.set("item", first["id"], column, second[column])
        with pytest.raises(Unreadable, match="does not open"):
            copied.read()
        copied.restore()


def test_the_index_is_that_of_the_items(copied):
    with copied.database() as database:
        token = database.execute("SELECT token, item FROM token").fetchone()
    for sql, values in (
        ("DELETE FROM token WHERE token = ? AND item = ?", tuple(token)),
        ("INSERT INTO token VALUES (?, ?)", (bytes(16), token["item"])),
    ):
        database = copied.database()
        database.execute(sql, values)
        database.commit()
        database.close()
        with pytest.raises(Unreadable, match="index"):
            copied.read()
        copied.restore()


@pytest.mark.parametrize("name", ["keybag", "device.key"])
def test_a_flipped_bit_in_the_other_files(copied, name):
    path = copied.folder / name
    content = path.read_bytes()
    for at in range(0, len(content), 7):
        altered = bytearray(content)
        altered[at] ^= 1
        path.write_bytes(altered)
        with pytest.raises(Unreadable):
            copied.read()
        # The check sum detects only accidents, so the test corrects it as an attacker would. In the device key, every
        # bit belongs to the key.
        path.write_bytes(fixed(bytes(altered)))
        if at >= len(content) - 32 or name == "device.key" and at >= 13:
            continue
        with pytest.raises(Unreadable):
            copied.read()


def fixed(content):
    return content[:-32] + blake2b(content[:-32])


# MARK: vectors


@pytest.mark.parametrize("vector", VECTORS["keybags"], ids=lambda vector: vector["name"])
def test_keybags_of_the_vectors(vector):
    for entry in vector["passwords"]:
        keybag = vaultreader.Keybag(bytes.fromhex(vector["file"]), entry["password"])
        assert keybag.id.hex() == vector["vault"]
        tiers = {name: key for (_, name), key in sorted(keybag.tiers.items())}
        assert (tiers["A"].hex(), tiers["C"].hex()) == (vector["tierA"], vector["tierC"])


@pytest.mark.parametrize("vector", VECTORS["devices"], ids=lambda vector: vector["machine"] and "bound" or "unbound")
def test_devices_of_the_vectors(vector):
    machine = bytes.fromhex(vector["machine"]) if vector["machine"] else None
    device = vaultreader.DeviceKey(bytes.fromhex(vector["file"]), machine)
    assert device.identity.hex() == vector["identity"]
    context = bytes.fromhex(vector["context"])
    for wrap, sealed in ((device.bound_wrap, vector["bound"]), (device.erasable_wrap, vector["erasable"])):
        assert vaultreader.unseal(wrap, bytes.fromhex(sealed), context, "share").hex() == vector["share"]


# MARK: the example in FORMAT.md

KEYBAG = VECTORS["keybags"][0]
ROWS = json.loads((REPOSITORY / "Tests/Integration/Files/Vectors/rows.json").read_text())
ATTRIBUTES = {"service": "mail", "user": "me"}
FORMAT = (REPOSITORY / "FORMAT.md").read_text()
WALK = (REPOSITORY / "Tests/Integration/Files/Vectors/walk.txt").read_text()


def unhexed(row):
    """A row of the test vectors. The vectors have blobs in hexadecimal."""
    return {column: bytes.fromhex(value) if isinstance(value, str) else value for column, value in row.items()}


def walk():
    """Every value on the way from the password to the secret, computed from the two files as FORMAT.md says."""
    file, password = bytes.fromhex(KEYBAG["file"]), KEYBAG["passwords"][0]["password"].encode()
    seen = {"password": password, "vault": file[12:28], "protector id": file[47:63], "salt": file[79:95]}
    vault, protector, salt = file[12:28], file[47:63], file[79:95]
    cost, head = file[95:107], file[45:46]
    seen["P"] = vaultreader.argon2id(password, salt, int.from_bytes(cost[:4], "little"), int.from_bytes(cost[4:], "little"))
    seen["commitment"] = kdf(seen["P"], "protector-commitment", vault, protector)
    assert seen["commitment"] == file[107:139]
    seen["W"] = kdf(seen["P"], "protector-wrap", vault, protector)
    seen["root"] = root = unseal(seen["W"], file[141:213], number(1, 4) + vault + protector + head + salt + cost, "root")
    for tier, sealed in (("A", file[218:290]), ("C", file[290:362])):
        seen[f"wrap of {tier}"] = kdf(root, "tier-wrap", vault, tier.encode())
        seen[tier] = unseal(seen[f"wrap of {tier}"], sealed, number(1, 4) + vault + number(1, 4), tier)
    (collection,), (key,), (item,) = (map(unhexed, ROWS[table]) for table in ("collection", "class_key", "item"))
    seen["collection uuid"] = collection["uuid"]
    for tier in "AC":
        seen[f"link 0 of {tier}"] = kdf(seen[tier], "collection-chain", vault)
        seen[f"collection's {tier}"] = kdf(seen[f"link 0 of {tier}"], "collection", collection["uuid"])
    seen["class key uuid"] = key["uuid"]
    context = [vault, collection["uuid"], number(key["class"], 1), key["uuid"]]
    for name, tier, label in (("class key", "A", "class"), ("metadata key", "C", "metadata")):
        seen[f"wrap of the {name}"] = kdf(seen[f"collection's {tier}"], f"{label}-wrap", *context)
        seen[name] = unseal(seen[f"wrap of the {name}"], key[f"{label}_key"], b"".join(context), name)

    def ad(column, more):
        return vaultreader.text16(f"latchkey/1/{column}") + b"".join(context[:3]) + item["uuid"] + more

    seen["item uuid"] = item["uuid"]
    seen["times"] = number(item["created"], 8) + number(item["modified"], 8)
    seen["ad of the metadata"] = ad("metadata", seen["times"])
    metadata = unseal(seen["metadata key"], item["metadata"], seen["ad of the metadata"], "metadata")
    seen["metadata"] = metadata.rstrip(b"\0")
    seen["binding"] = binding = metadata[16:20] + metadata[:16]
    seen["item key"] = unseal(seen["class key"], item["item_key"], ad("item-key", binding), "item key")
    seen["secret"] = unseal(seen["item key"], item["secret"], ad("secret", binding), "secret")
    seen["wrap of the index key"] = kdf(seen["C"], "index-wrap", vault)
    sealed = unhexed(ROWS["vault"][0])["index_key"]
    seen["index key"] = index = unseal(seen["wrap of the index key"], sealed, vault, "index key")[:32]
    tokens = {pair: kdf(index, "attribute-token", *map(str.encode, pair), size=16) for pair in ATTRIBUTES.items()}
    seen |= {f"token of {name}={value}": token for (name, value), token in tokens.items()}
    seen["token of the set"] = kdf(index, "attribute-set-token", *sorted(tokens.values()), size=16)
    assert item["tokens"] == b"".join(sorted(tokens.values())) + seen["token of the set"]
    seen["alias default"] = kdf(index, "alias-token", b"default", size=16)
    assert seen["alias default"].hex() in [row["token"] for row in ROWS["alias"]]
    return seen


def test_the_walk_has_the_values_of_the_vectors():
    told = re.findall(r"^\| ([^|]+) \| [^|]+ \| `([0-9a-f]+)` \|$", WALK, re.M)
    seen = {name: value.hex() for name, value in walk().items()}
    assert dict(told) == seen and len(told) == len(seen)


def test_latchkeyd_opens_the_rows_of_the_walk(new_session):
    """The database has the schema of FORMAT.md. The keybag comes from the test vectors."""
    session = new_session
    folders = [session.vault, *session.vault.parents]
    session.vault.mkdir(parents=True, exist_ok=True)
    (session.vault / "keybag").write_bytes(bytes.fromhex(KEYBAG["file"]))
    database = sqlite3.connect(session.vault / "vault.db")
    database.executescript(textwrap.dedent(re.search(r"^    CREATE TABLE vault(.|\n)*?;\n\n", FORMAT, re.M)[0]))
    database.execute("PRAGMA application_id = 1282106745")
    database.execute("PRAGMA user_version = 1")
    for table, rows in ROWS.items():
        for row in map(unhexed, rows):
            database.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", [*row.values()])
    tokens = unhexed(ROWS["item"][0])["tokens"]
    for at in range(0, len(tokens), 16):
        database.execute("INSERT INTO token VALUES (?, 1)", [tokens[at : at + 16]])
    database.commit()
    database.execute("PRAGMA journal_mode = WAL")
    database.close()
    for path in [*folders[: folders.index(session.home)], *session.vault.iterdir()]:
        os.chown(path, session.uid, session.gid)
        path.chmod(0o700 if path.is_dir() else 0o600)
    assert Vault(session.vault, KEYBAG["passwords"][0]["password"]).items[1].secret == b"correct horse"
    session.set_password(KEYBAG["passwords"][0]["password"])
    assert session.login().returncode == 0
    assert session.status()["state"] == "unlocked", session.status()
    assert session.lookup("service", "mail") == "correct horse"
