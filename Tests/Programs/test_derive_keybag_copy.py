"""latchkey-derive and the copy of the keybag: the files that heal from the copy, with and without a daemon, and the passwords
that it never brings back."""

import pytest
from support.derive import (
    AUTHENTICATE, CHANGE_PASSWORD, DAMAGED, NO_VAULT, OPEN, PASSWORD, UNLOCKED, WRONG_PASSWORD,
)  # fmt: skip
from test_derive_password_change import NEW, change, kill_everywhere, killer, opens  # noqa: F401

DAMAGES = {
    "missing": lambda content: None,
    "empty": lambda content: b"",
    "cut": lambda content: content[:200],
    "overwritten": lambda content: content[:100] + bytes(64) + content[164:],
    "foreign": lambda content: b"#!/bin/sh\n",
    "too long": lambda content: content + bytes(4096),
}


@pytest.fixture
def copied(resident):
    """A person whose keybag has a copy, next to a database."""
    resident.write(resident.vault / "vault.db", b"sealed rows")
    resident.daemon()
    assert resident.run(OPEN) == UNLOCKED
    assert copy(resident).read_bytes() == resident.keybag.read_bytes()
    return resident


def copy(person):
    return person.vault / "keybag.copy"


def damage(person, kind="cut"):
    """Damages the keybag. Returns the new content; None for a missing file."""
    content = DAMAGES[kind](person.keybag.read_bytes())
    if content is None:
        person.keybag.unlink()
    else:
        person.keybag.write_bytes(content)
    return content


def asides(person):
    return [path.read_bytes() for path in person.vault.iterdir() if path.name.startswith("keybag.damaged-")]


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("operation", [AUTHENTICATE, OPEN])
def test_a_damaged_keybag_heals_and_unlocks(copied, kind, operation):
    whole = copied.keybag.read_bytes()
    damaged = damage(copied, kind)
    assert copied.run(operation) == UNLOCKED
    assert copied.keybag.read_bytes() == whole == copy(copied).read_bytes()
    assert asides(copied) == ([] if damaged is None else [damaged])
    assert copied.run(operation) == UNLOCKED and len(asides(copied)) == (damaged is not None)


def test_a_wrong_password_opens_nothing_by_it(copied):
    damage(copied)
    assert copied.run(AUTHENTICATE, token="wrong") == WRONG_PASSWORD


def test_a_password_changes_without_a_daemon_although_the_keybag_is_damaged(copied):
    damage(copied)
    assert change(copied, runtime="/nowhere") == UNLOCKED
    assert copy(copied).read_bytes() == copied.keybag.read_bytes()
    assert opens(copied, NEW, PASSWORD) == [True, True]


@pytest.mark.night("vault")
def test_a_password_that_ended_opens_nothing_whatever_is_damaged(copied):
    damaged = damage(copied)
    assert change(copied) == UNLOCKED and asides(copied) == [damaged]
    assert copied.run(OPEN, token=NEW) == UNLOCKED
    # The earlier damaged keybags are gone, because they still had the former password.
    assert asides(copied) == []
    for kind in DAMAGES:
        damage(copied, kind)
        assert opens(copied, PASSWORD, NEW) == [False, True]


def test_without_a_copy_it_stays_as_it_is(copied):
    copy(copied).unlink()
    damaged = damage(copied)
    assert copied.run(OPEN) == DAMAGED and copied.keybag.read_bytes() == damaged and asides(copied) == []
    damage(copied, "missing")
    assert copied.run(AUTHENTICATE) == DAMAGED and not copied.keybag.exists()


def test_a_copy_alone_is_no_vault(copied):
    copied.keybag.unlink()
    (copied.vault / "vault.db").unlink()
    assert copied.run(AUTHENTICATE) == NO_VAULT and not copied.keybag.exists()


@pytest.mark.night("login")
@pytest.mark.parametrize("kind", DAMAGES)
def test_healing_that_is_killed_anywhere_goes_on(copied, killer, kind):  # noqa: F811
    whole = copied.keybag.read_bytes()
    damaged = []

    def prepare():
        for path in copied.vault.iterdir():
            if path.name.startswith("keybag.damaged-"):
                path.unlink()
        copied.keybag.write_bytes(whole)
        damaged[:] = [damage(copied, kind)]

    def check(is_done):
        assert whole in (copy(copied).read_bytes(), copied.keybag.exists() and copied.keybag.read_bytes())
        assert opens(copied, PASSWORD) == [True]
        assert copied.keybag.read_bytes() == whole == copy(copied).read_bytes()
        assert asides(copied) == [content for content in damaged if content is not None]

    assert kill_everywhere(copied, killer, prepare, AUTHENTICATE, check) >= 3


@pytest.mark.night("login")
def test_a_change_that_is_killed_anywhere_leaves_no_other_copy(copied, killer):  # noqa: F811
    whole = copied.keybag.read_bytes()

    def prepare():
        copied.write(copied.keybag, whole)
        copied.write(copy(copied), whole)

    def check(is_done):
        assert not copy(copied).exists() or copy(copied).read_bytes() == copied.keybag.read_bytes()
        if is_done:
            assert copy(copied).exists()

    killed = kill_everywhere(
        copied, killer, prepare, CHANGE_PASSWORD, check, token=NEW, password=PASSWORD, service="passwd")
    assert killed >= 8
