"""Generations of a vault with a real daemon. The daemon makes a generation when the vault is idle, and repairs a
damaged database from a generation at the next unlock.
"""

import pytest
from support.session import wait_until


def generations(session):
    folder = session.vault / "generations"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.fixture
def kept(session):
    """A session whose vault has a generation with one item. A second item is newer than the generation."""
    assert session.login().returncode == 0
    session.store("first", "n", "1")
    wait_until(lambda: any(name.endswith(".db") for name in generations(session)), "a generation", 60)
    session.store("second", "n", "2")
    return session


def test_a_damaged_database_heals_at_the_next_unlock_and_says_so(kept):
    kept.stop_daemon()
    file = kept.vault / "vault.db"
    damaged = bytes(4096) + file.read_bytes()[4096:]
    file.write_bytes(damaged)
    kept.start_daemon()
    assert kept.login().returncode == 0
    assert kept.lookup("n", "1") == "first" and kept.lookup("n", "2") == "second"
    aside = [path for path in kept.vault.iterdir() if path.name.startswith("vault.db.damaged-") and not path.name.endswith("-wal")]
    assert [path.read_bytes() for path in aside] == [damaged]
    said = "vault.db was damaged, and was made again from generation 1"
    assert kept.log().count(said) == 1
    assert [line for line in kept.status()["problems"] if line.startswith(said)]
