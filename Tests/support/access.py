"""Helpers for tests of items that require the person's presence or their own passphrase."""

import pytest
from support.peer import Peer
from support.person import Person, ask_on_terminals
from support.vaultreader import APPLICATION, Vault, machine_identity

REQUIRE = "latchkey:require"
PASSPHRASE = "application-password"
PRESENCE = "user-presence"


@pytest.fixture
def opened(session):
    """A session whose prompts appear line by line on the client's terminal."""
    ask_on_terminals(session, agreeing=True)
    assert session.login().returncode == 0
    return session


@pytest.fixture
def peer(opened):
    connected = Peer(opened)
    yield connected
    connected.close()


def store(session, secret, passphrase, *attributes, label="Bank"):
    """Stores an item with secret-tool. The person chooses the item's passphrase."""
    words = ["secret-tool", "store", f"--label={label}", *attributes, REQUIRE, PASSPHRASE]
    person = Person(session, *words).expect("Password: ").type(secret)
    person.expect("Choose a passphrase for").expect(label).type(passphrase).expect("again").type(passphrase)
    person.output()
    assert person.status == 0


def lookup(session, *attributes):
    return Person(session, "secret-tool", "lookup", *attributes)


def reader(session, **options):
    return Vault(session.vault, session.password, machine_identity(APPLICATION), **options)
