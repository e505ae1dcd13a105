"""A damaged file that cannot be healed is named, reported as an error and left unchanged. Once the good file is back, everything
works again."""

import hashlib
import re
import sqlite3

import pytest
from support.pace import seconds

pytestmark = pytest.mark.night("vault")


@pytest.fixture(autouse=True)
def without_generations(alice):
    """Turns generations off, because the database would heal from them."""
    folder = f"{alice.home}/.config/latchkey"
    alice.machine.root("install", "-d", "-m", "700", "-o", alice.name, f"{alice.home}/.config", folder)
    alice.machine.root("sh", "-c", f"umask 022; echo 'generations: off' > {folder}/history.yaml")


def truncated(_, content):
    return content[: len(content) // 2]


def emptied(_, content):
    return b""


def newer_format(name, content):
    """The file as a later version might write it. FORMAT.md has the positions."""
    if name == "vault.db":
        return content[:60] + (0x7FFF).to_bytes(4, "big") + content[64:]  # SQLite's user_version
    body = content[:8] + (0x7FFF).to_bytes(4, "little") + content[12:-32]
    return body + hashlib.blake2b(body, digest_size=32).digest()


def flipped(name, content):
    """Flips one bit of a sealed value. A read of the big item must check this value."""
    place = len(content) // 2
    if name == "vault.db":
        place = content.index(largest_value(content)[:200]) + 100
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def largest_value(content):
    """The longest blob in a database."""
    database = sqlite3.connect(":memory:")
    # A database in memory cannot have a write-ahead log.
    database.deserialize(content[:18] + b"\1\1" + content[20:])
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    values = [value for table in tables for row in database.execute(f'SELECT * FROM "{table}"') for value in row]
    return max((value for value in values if isinstance(value, bytes)), key=len)


def checksum(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize("damage", [truncated, emptied, newer_format, flipped])
@pytest.mark.parametrize("name", ["keybag", "vault.db"])
def test_damaged_file(alice, name, damage):
    big = "x" * 2000
    with alice.login() as session:
        session.store("of default", app="default")
        session.store(big, app="big")
    alice.await_end()
    file = alice.vault / name
    good = file.read_bytes()
    bad = damage(name, good)
    assert bad != good
    (alice.vault / "keybag.copy").unlink()  # otherwise the keybag would heal
    file.write_bytes(bad)  # in place, so owner and mode stay
    before = checksum(file)

    with alice.login() as session:
        refused = session.run(f"timeout {seconds(20)} secret-tool lookup app big 2>&1 >/dev/null", check=False)
        assert refused.returncode not in (0, 124)
        assert refused.stdout.strip() != "", "an error, and not just nothing found"
        assert session.lookup(app="big") is None
        found = session.find(app="big")
        assert "error" in found or [item for item in found["items"].values() if "error" in item], found
        stored = session.run(f"printf %s new | timeout {seconds(20)} secret-tool store --label=test app big", check=False)
        assert stored.returncode != 0 or damage is flipped
        assert any(re.search(rf"\b{re.escape(name)}\b", problem) for problem in session.status()["problems"])
        assert name in session.run("latchkey status", check=False).stdout
    alice.await_end()
    if not (name == "vault.db" and damage is flipped):  # in that case, other rows can still be written
        assert checksum(file) == before

    for leftover in alice.vault.glob("vault.db-*"):
        leftover.unlink()
    file.write_bytes(good)
    with alice.login() as session:
        assert session.lookup(app="default") == "of default"
        assert session.lookup(app="big") == big
        assert session.status()["problems"] == []


@pytest.mark.parametrize("name", ["keybag", "vault.db"])
def test_a_lone_half_of_the_vault_creates_no_other(alice, name):
    with alice.login() as session:
        session.store("of default", app="default")
    alice.await_end()
    file = alice.vault / name
    good = file.read_bytes()
    file.unlink()
    (alice.vault / "keybag.copy").unlink()
    with alice.login() as session:
        assert session.lookup(app="default") is None
        assert session.status()["problems"] != []
    alice.await_end()
    assert not file.exists()
    file.write_bytes(good)
    file.chmod(0o600)
    alice.machine.root("chown", f"{alice.name}:", f"{alice.folder}/{name}")
    with alice.login() as session:
        assert session.lookup(app="default") == "of default"


def test_files_of_another_vault_are_reported(alice, bob):
    with alice.login() as session:
        session.store("of alice", app="default")
    with bob.login() as session:
        session.store("of bob", app="default")
    alice.await_end()
    bob.await_end()
    file = alice.vault / "vault.db"
    file.write_bytes((bob.vault / "vault.db").read_bytes())
    before = checksum(file)
    with alice.login() as session:
        assert session.lookup(app="default") is None
        assert session.status()["problems"] != []
    alice.await_end()
    assert checksum(file) == before
