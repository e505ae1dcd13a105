"""An attacker has all the files and keys of the vault. Only the passphrase of an item still protects that item."""

import itertools
import sqlite3

import nacl.bindings
import nacl.exceptions
import pytest
from support.access import PRESENCE, REQUIRE, lookup, opened, reader, store  # noqa: F401
from support.person import ask_on_terminals
from support.vaultreader import Fields, argon2id, kdf
from test_format import checksum

pytestmark = pytest.mark.night("vault")


def opens(key, sealed, associated):
    """The plain text if the key opens the sealed value, else None."""
    try:
        return nacl.bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(sealed[24:], associated, sealed[:24], key)
    except nacl.exceptions.CryptoError:
        return None


# MARK: all keys


def test_every_key_of_the_vault_opens_nothing_without_the_passphrase(opened):
    """The keys are the root key, the keys of tiers and classes, the device's share and the item's own key. The login
    password opens all these keys."""
    store(opened, "the dearest secret", "open sesame", "k", "v", label="Bank")
    opened.store("free", "k", "w")
    opened.stop_daemon()
    vault = reader(opened)
    assert [item.secret for item in vault.items.values()] == [None, b"free"]
    with sqlite3.connect(opened.vault / "vault.db") as database:
        database.row_factory = sqlite3.Row
        rows = {row["id"]: row for row in database.execute("SELECT * FROM item")}
    row, free = rows[1], rows[2]
    keys = {key.name: key.value for key in vault.keys}
    assert len(keys) > 20 and {"key of item 1", "key of item 2", "root"} <= set(keys)
    derivation = Fields(row["passphrase"][2:], "access")
    salt, passes, memory = derivation.take(16), derivation.number(4), derivation.number(8)

    def with_passphrase(key, more):
        return kdf(key, "item-passphrase", vault.id, row["uuid"], more)

    # The control: the same function opens the free item, and opens this item with its passphrase.
    assert opens(keys["key of item 2"], free["secret"], vault.bindings[2])[4:8] == b"free"
    right = with_passphrase(keys["key of item 1"], argon2id("open sesame", salt, passes, memory))
    bound = vault.bindings[1] + row["passphrase"]
    assert opens(right, row["secret"], bound)[4:22] == b"the dearest secret"

    tried = 0
    guesses = [argon2id(guess, salt, passes, memory) for guess in ("open sesamE", opened.password)]
    for name, key in keys.items():
        for candidate in [key] + [with_passphrase(key, more) for more in (b"", bytes(32), salt, *guesses)]:
            for column in (row["passphrase"], b"", bytes([1, 0])):
                assert opens(candidate, row["secret"], vault.bindings[1] + column) is None, name
                tried += 1
    # Two keys together open nothing either.
    some = {key.value for key in vault.keys if key.kind in ("root", "tier", "class", "metadata", "share", "item")}
    for first, second in itertools.permutations(some, 2):
        assert opens(with_passphrase(first, second), row["secret"], bound) is None
        tried += 1
    assert tried > 600


# MARK: rows that were written into


ACCESS = {
    "taken away": ("Bank", None), "made conditions": ("Bank", bytes([1, 0])), "given to a free item": ("Free", bytes([1, 0])),
    "with a passphrase for a free item": ("Free", "Bank"), "taken from conditions": ("Seat", None),
    "a passphrase for conditions": ("Seat", "Bank"), "garbage": ("Bank", b"\xff"), "empty": ("Bank", b""),
    "of another version": ("Bank", bytes([2, 0])), "a byte more": ("Seat", bytes([1, 0, 0])),
    "without bounds": ("Bank", bytes([1, 1]) + bytes(16) + b"\xff" * 12)}  # fmt: skip


@pytest.fixture(scope="module")
def stocked(shared_session):
    """Bank and Shop have a passphrase. Seat requires the person's presence. The other items require nothing."""
    session = shared_session
    ask_on_terminals(session, agreeing=True)
    (session.root / "pam.d/latchkey-presence").write_text("auth required pam_permit.so\n")
    assert session.login().returncode == 0
    for label in ("Bank", "Shop"):
        store(session, f"of {label}", "open sesame", "k", label.lower(), label=label)
    session.store("of Seat", "k", "seat", REQUIRE, PRESENCE, label="Seat")
    session.store("of Free", "k", "free", label="Free")
    session.store("beside", "k", "beside", label="Beside")
    session.numbers = {item.label: item.number for item in reader(session).items.values()}
    session.stop_daemon()
    session.pristine = (session.vault / "vault.db").read_bytes()
    return session


def alter(session, label, column, value, fix=True):
    """Stops the daemon, writes into an item's row, and corrects the check sum as an attacker would."""
    names = session.numbers
    if session.daemon_pid():
        session.stop_daemon()
    session.remove_generations()
    for log in session.vault.glob("vault.db-*"):
        log.unlink()
    (session.vault / "vault.db").write_bytes(session.pristine)
    with sqlite3.connect(session.vault / "vault.db") as database:
        database.row_factory = sqlite3.Row
        rows = {name: dict(database.execute("SELECT * FROM item WHERE id = ?", (at,)).fetchone()) for name, at in names.items()}
        changed = rows[label] | {column: rows[value][column] if isinstance(value, str) else value}
        assert changed != rows[label]
        database.execute(f"UPDATE item SET {column} = ? WHERE id = ?", (changed[column], names[label]))
        if fix:
            database.execute("UPDATE item SET checksum = ? WHERE id = ?", (checksum("item", changed), names[label]))
    database.close()
    session.logged = len(session.log())
    session.start_daemon()
    assert session.login().returncode == 0


def refused(session, label):
    """The vault does not return the altered item. The vault still returns the other items, and reports the damage to
    the person."""
    for name in ("Bank", "Seat", "Free"):
        if name != label and name != "Bank":
            assert session.lookup("k", name.lower()) == f"of {name}"
    if label != "Bank":
        person = lookup(session, "k", "bank").expect("assphrase").type("open sesame")
        assert person.last_line() == "of Bank"
    assert session.lookup("k", "beside") == "beside"
    # No prompt appears either, because no answer could open the item.
    assert not session.lookup("k", label.lower())
    done = session.run("latchkey", "get", "k=" + label.lower())
    assert done.returncode == 1 and f"of {label}" not in done.stdout + done.stderr
    problems = session.status()["problems"]
    assert len(problems) == 1 and problems[0].startswith("vault.db: "), problems
    assert session.log()[session.logged :].count(problems[0]) == 1, session.log()


@pytest.mark.parametrize("how", ACCESS)
def test_access_control_that_was_altered(stocked, how):
    label, value = ACCESS[how]
    alter(stocked, label, "passphrase", value)
    refused(stocked, label)


@pytest.mark.parametrize("label, value", [("Bank", "Free"), ("Seat", "Free"), ("Free", "Seat"), ("Seat", "Bank")])
def test_flags_of_another_item(stocked, label, value):
    """The flags are sealed together with label and attributes, so the test copies all three from the other item."""
    alter(stocked, label, "metadata", value)
    refused(stocked, label)


def test_an_altered_row_with_its_former_check_sum(stocked):
    alter(stocked, "Bank", "passphrase", None, fix=False)
    refused(stocked, "Bank")


def test_another_salt_opens_nothing(stocked):
    """Another salt looks like a wrong passphrase, because the salt is sealed with data that only the right passphrase
    opens."""
    alter(stocked, "Bank", "passphrase", "Shop")
    person = lookup(stocked, "k", "bank").expect("assphrase").type("open sesame").expect("not right").press("c")
    assert "of Bank" not in person.output() and person.status == 1
    person = lookup(stocked, "k", "shop").expect("assphrase").type("open sesame")
    assert person.last_line() == "of Shop"


@pytest.mark.parametrize("column, told", [("secret", "not right"), ("item_key", None)])
def test_a_secret_of_another_item_behind_the_same_question(stocked, column, told):
    alter(stocked, "Bank", column, "Shop")
    person = lookup(stocked, "k", "bank").expect("assphrase").type("open sesame")
    if told:
        person.expect(told).press("c")
    assert "of Shop" not in person.output() and person.status == 1
    # If a secret does not open, the vault assumes a wrong passphrase. If a key does not open, the vault reports damage.
    assert stocked.status()["problems"] == ([] if told else ["vault.db: an item key does not open"])
