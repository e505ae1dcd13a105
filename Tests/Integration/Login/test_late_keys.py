"""A lock comes after the password and before the keys. The tests also cover several helpers of one login."""

import os
import pathlib

import pytest
from support.control import (
    CLOSE_SESSION, HELLO, KEYS, LATE, LIVE, MAY_DERIVE, NOTHING as NOTHING_WANTED, NOT_NOW, OPEN_SESSION, REFUSED, STAGED, UNLOCK, Control, hello, keys, packet,
)
from support.helper import now
from support.peer import LOGIN, NOTHING, ROOT, SERVICE, Peer
from support.session import wait_until
from support.vaultreader import Keybag


@pytest.fixture
def opened(session):
    assert session.login().returncode == 0
    session.store("of default", "app", "default")
    return session


def lock_collection(session):
    """Locks only the collection, and not the session."""
    peer = Peer(session)
    assert peer.call(ROOT, SERVICE, "Lock", "(ao)", [LOGIN]) == ([LOGIN], NOTHING)
    peer.close()


def begin(session, **fields):
    """A helper that has announced its password. The daemon has asked the helper for keys."""
    helper = Control(session)
    assert helper.ask(hello(**fields))[:3] == packet(HELLO, bytes([KEYS]))
    return helper


def deliver(session, helper, outcome=LIVE):
    """Sends the keys that the password opens."""
    keybag = Keybag((session.vault / "keybag").read_bytes(), session.password)
    tiers = keybag.tiers[1, "A"] + keybag.tiers[1, "C"]
    assert helper.ask_sealed(keys(keybag.id, keybag.generation, tiers=tiers))[:3] == packet(UNLOCK, bytes([outcome]))
    helper.close()


# A moment in the future. The daemon takes this moment for the present, so a later lock still counts.
FUTURE = 2**64 - 1


@pytest.mark.parametrize("when", ["before", "before the hello", "meanwhile", "meanwhile, with a moment in the future"])
def test_a_collection_that_was_locked_meanwhile_stays_so(opened, when):
    """The keys open a collection that was locked before the password. A collection that was locked after the password
    stays locked."""
    opened.lock()
    given = now() if when == "before the hello" else None
    if when.startswith("before"):
        lock_collection(opened)
    helper = begin(opened, service="latchkey-unlock", given=FUTURE if "future" in when else given)
    if when.startswith("meanwhile"):
        lock_collection(opened)
    deliver(opened, helper)
    assert opened.status()["state"] == "unlocked"
    assert (opened.lookup("app", "default") == "of default") == (when == "before")


# Where logind runs, a user's process lifts a lock only from a session, and nobody knows whether the tests run in one.
@pytest.mark.skipif(os.getuid() != 0 and pathlib.Path("/run/systemd/seats").exists(), reason="only root's process lifts a lock outside a session")
def test_a_collection_that_was_locked_while_the_keys_waited_stays_so(opened, logind):
    """The keys wait for the end of the locker."""
    opened.restart()
    wait_until(logind.holds, "the delay lock")
    logind.show_locked(True)
    wait_until(lambda: opened.status()["locker_up"], "the locker")
    deliver(opened, begin(opened, stage=OPEN_SESSION), STAGED)
    lock_collection(opened)
    logind.show_locked(False)
    wait_until(lambda: opened.status()["state"] == "unlocked", "the keys")
    assert opened.lookup("app", "default") is None


@pytest.mark.parametrize("what", ["item", "collection"])
def test_what_was_locked_once_more_stays_so(opened, what):
    """The second lock is later than the password."""
    peer = Peer(opened)
    ((item,), _) = peer.call(ROOT, SERVICE, "SearchItems", "(a{ss})", {"app": "default"})
    path = item if what == "item" else LOGIN
    given = None
    for _ in range(2):
        assert peer.call(ROOT, SERVICE, "Lock", "(ao)", [path]) == ([path], NOTHING)
        given = given or now()
    deliver(opened, begin(opened, service="latchkey-unlock", given=given))
    assert opened.lookup("app", "default") is None
    # A password after both locks opens the collection.
    deliver(opened, begin(opened, service="latchkey-unlock"))
    assert opened.lookup("app", "default") == "of default"
    peer.close()


@pytest.mark.parametrize("service", ["latchkey-unlock", "i3lock"])
def test_a_lock_between_the_password_and_its_hello_stays(opened, service):
    opened.lock()
    given = now()
    opened.lock()
    deliver(opened, begin(opened, service=service, given=given), NOT_NOW)
    assert opened.status()["state"] == "locked"
    # A password after the lock ends the lock, even if its hello comes very late.
    deliver(opened, begin(opened, service=service))
    assert opened.status()["state"] == "unlocked"


def test_the_end_of_the_last_session_between_the_password_and_its_hello_wins(opened):
    given = now()
    assert opened.logout().returncode == 0
    for moment, answer in ((given, REFUSED), (None, KEYS)):
        helper = Control(opened)
        assert helper.ask(hello(given=moment))[:3] == packet(HELLO, bytes([answer]))
        helper.close()


def test_a_beginning_that_is_reported_after_its_end_is_not_counted(opened):
    """No logind reports sessions. The end of the second session was reported before its beginning, and would not be
    reported again. If the beginning counted, the vault would stay unlocked after the next logout."""
    given = now()
    assert opened.logout().returncode == 0
    # The second session's helper was held until the session's end had been reported.
    for told in (hello(stage=CLOSE_SESSION), hello(stage=OPEN_SESSION, given=given)):
        helper = Control(opened)
        helper.ask(told)
        helper.close()
    assert opened.status()["state"] == "sealed"
    assert opened.login().returncode == 0 and opened.status()["state"] == "unlocked"
    assert opened.logout().returncode == 0
    assert opened.status()["state"] == "sealed"


def test_a_session_whose_end_was_reported_first_wants_no_keys(session):
    given = now()
    session.start_daemon()
    for fields, answer in (({"stage": CLOSE_SESSION}, NOTHING_WANTED), ({"given": given}, REFUSED), ({}, KEYS)):
        helper = Control(session)
        assert helper.ask(hello(**fields))[:3] == packet(HELLO, bytes([answer]))
        helper.close()


def test_a_daemon_that_began_long_after_the_password_wants_no_keys(opened):
    """The daemon started after the password, so it does not know whether a lock came in between."""
    given = now()
    opened.restart()
    for moment, answer in ((0, LATE), (given, KEYS)):
        helper = Control(opened)
        assert helper.ask(hello(given=moment))[:3] == packet(HELLO, bytes([answer]))
        helper.close()


def test_a_logins_second_helper_ends_its_first(opened):
    assert opened.logout().returncode == 0
    first = begin(opened)
    second = begin(opened, stage=OPEN_SESSION)
    assert first.is_over() and not second.is_over()
    deliver(opened, second)
    assert opened.status()["state"] == "unlocked"


@pytest.mark.night("login")
def test_a_second_helper_that_may_lift_no_lock_leaves_the_first(opened):
    """The daemon wants keys of the second helper for the collection with an explicit lock. The first helper's keys end
    the lock of the session."""
    lock_collection(opened)
    opened.lock()
    first = begin(opened)
    second = begin(opened, stage=OPEN_SESSION)
    assert not first.is_over()
    deliver(opened, first)
    assert opened.status()["state"] == "unlocked"
    second.close()


@pytest.mark.night("login")
@pytest.mark.parametrize("what", ["latchkey lock", "the last logout"])
def test_a_helper_that_works_for_a_command_ends_as_well(opened, what):
    """A helper that makes a recovery code or a session's protector also has the password."""
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
