"""Keys that were on their way while something was locked, and the helpers of one login that make them."""

import pytest
from support.control import HELLO, KEYS, LIVE, MAY_DERIVE, OPEN_SESSION, UNLOCK, Control, hello, keys, packet
from support.peer import LOGIN, NOTHING, ROOT, SERVICE, Peer
from support.vaultreader import Keybag


@pytest.fixture
def opened(session):
    assert session.login().returncode == 0
    session.store("of default", "app", "default")
    return session


def lock_collection(session):
    """By itself: beside the session's state."""
    peer = Peer(session)
    assert peer.call(ROOT, SERVICE, "Lock", "(ao)", [LOGIN]) == ([LOGIN], NOTHING)
    peer.close()


def begin(session, **fields):
    """A helper that has told of its password, and is wanted to bring keys."""
    helper = Control(session)
    assert helper.ask(hello(**fields))[:3] == packet(HELLO, bytes([KEYS]))
    return helper


def deliver(session, helper):
    """The keys that the password gives."""
    keybag = Keybag((session.vault / "keybag").read_bytes(), session.password)
    tiers = keybag.tiers[1, "A"] + keybag.tiers[1, "C"]
    assert helper.ask_sealed(keys(keybag.id, keybag.generation, tiers=tiers))[:3] == packet(UNLOCK, bytes([LIVE]))
    helper.close()


@pytest.mark.parametrize("is_locked_first", [True, False])
def test_a_collection_that_was_locked_meanwhile_stays_so(opened, is_locked_first):
    """What was locked before the password was given opens with it; what was locked later does not."""
    opened.lock()
    if is_locked_first:
        lock_collection(opened)
    helper = begin(opened, service="latchkey-unlock")
    if not is_locked_first:
        lock_collection(opened)
    deliver(opened, helper)
    assert opened.status()["state"] == "unlocked"
    assert (opened.lookup("app", "default") == "of default") == is_locked_first


def test_a_logins_second_helper_ends_its_first(opened):
    assert opened.logout().returncode == 0
    first = begin(opened)
    second = begin(opened, stage=OPEN_SESSION)
    assert first.is_over() and not second.is_over()
    deliver(opened, second)
    assert opened.status()["state"] == "unlocked"


def test_a_second_helper_that_may_lift_no_lock_leaves_the_first(opened):
    """It is wanted for the collection that is locked by itself. The lock of the session is the first one's to lift."""
    lock_collection(opened)
    opened.lock()
    first = begin(opened)
    second = begin(opened, stage=OPEN_SESSION)
    assert not first.is_over()
    deliver(opened, first)
    assert opened.status()["state"] == "unlocked"
    second.close()


@pytest.mark.parametrize("what", ["latchkey lock", "the last logout"])
def test_a_helper_that_works_for_a_command_ends_as_well(opened, what):
    """It has the password as a login's has: one that makes a recovery code, or a session's protector."""
    helper = Control(opened)
    assert helper.ask(packet(MAY_DERIVE)) == packet(MAY_DERIVE)
    assert not helper.is_over()
    if what == "latchkey lock":
        opened.lock()
    else:
        assert opened.logout().returncode == 0
    assert helper.is_over()


def test_a_helper_that_works_for_a_command_brings_no_keys_of_a_hello_before(opened):
    opened.lock()
    helper = begin(opened, service="latchkey-unlock")
    assert helper.ask(packet(MAY_DERIVE)) == packet(MAY_DERIVE)
    keybag = Keybag((opened.vault / "keybag").read_bytes(), opened.password)
    tiers = keybag.tiers[1, "A"] + keybag.tiers[1, "C"]
    assert helper.ask_sealed(keys(keybag.id, keybag.generation, tiers=tiers)) == b""
    assert opened.status()["state"] == "locked"
