"""latchkey-derive creates a vault with a prompt's password that PAM has accepted."""

import os

import pytest
from support.derive import (
    AUTHENTICATE, BAD_REQUEST, CREATE_VAULT, DAEMON_SILENT, DAMAGED, CREATED, HOME_UNAVAILABLE, NO_DAEMON, NO_CREATE,
    NO_VAULT, NOTHING_NEEDED, PASSWORD, REFUSED, UNLOCKED, WRONG_PASSWORD, as_root, but_generation,
)
from support.standin import (
    CLOSED as HANG_UP, LIVE, NOTHING, REFUSED as NEED_REFUSED, SILENT, UNLOCK_REFUSED, UNUSABLE, WRONG_KEYS,
)
from test_derive import UNPROVEN, generation
from test_derive_password_change import protectors

UNLOCK = "latchkey-unlock"


def create(login, **fields):
    return login.run(CREATE_VAULT, **{"service": UNLOCK, "prompt": "7", **fields})


def test_it_is_created_and_opened(login):
    daemon = login.daemon()
    assert create(login) == CREATED
    assert daemon.hellos == [("authenticate", UNLOCK, "tty1", "")], "no session began"
    (delivery,) = daemon.deliveries
    assert delivery.flags & 1 and delivery.generation == 1
    keybag = login.keybag.read_bytes()
    assert delivery.vault == keybag[12:28] and generation(keybag) == 2
    # A one-time code would have opened the vault too.
    assert [(kind, state) for kind, state, _ in protectors(login)] == [(1, UNPROVEN)]
    assert login.run(AUTHENTICATE, service=UNLOCK) == UNLOCKED
    assert login.keybag.stat().st_mode & 0o777 == 0o600 and login.vault.stat().st_mode & 0o777 == 0o700
    assert PASSWORD.encode() not in keybag


@pytest.mark.parametrize("need, expected", [(NEED_REFUSED, REFUSED), (NOTHING, NOTHING_NEEDED), (SILENT, DAEMON_SILENT)])
def test_what_may_not_be_opened_now_is_not_created(login, need, expected):
    login.daemon().need = need
    assert create(login) == expected
    assert not login.vault.exists()


def test_nothing_without_a_daemon(login):
    assert create(login) == NO_DAEMON
    assert not login.vault.exists()


def test_not_where_it_is_forbidden(login):
    login.daemon()
    assert create(login, flags=NO_CREATE) == NO_VAULT
    for service in ("sudo", "su", "polkit-1", "cron"):
        assert create(login, service=service) == NO_VAULT
    assert create(login, token="") == BAD_REQUEST
    assert not login.vault.exists() and login.daemons[0].hellos == []


@as_root
def test_not_for_system_accounts(login):
    login.daemon()
    for user in ("daemon", "root"):
        assert create(login, user=user) in (NO_VAULT, HOME_UNAVAILABLE, NO_DAEMON, REFUSED)
    assert not login.vault.exists()


@as_root
def test_not_in_another_persons_home(login):
    login.daemon()
    os.chown(login.home, 0, 0)
    assert create(login) == HOME_UNAVAILABLE
    assert not login.vault.exists()


def test_one_that_is_there_is_opened(resident, new_keybag):
    daemon = resident.daemon()
    assert create(resident) == UNLOCKED
    assert daemon.deliveries[0].vault == new_keybag[12:28]
    assert but_generation(resident.keybag.read_bytes()) == but_generation(new_keybag), "no session has proven it"


def test_one_that_is_there_with_another_password_stays(resident, new_keybag):
    resident.daemon()
    assert create(resident, token="another one") == WRONG_PASSWORD
    assert resident.keybag.read_bytes() == new_keybag


def test_a_database_without_a_keybag_stays_alone(resident):
    resident.daemon()
    resident.write(resident.vault / "vault.db", b"something")
    resident.keybag.unlink()
    assert create(resident) == DAMAGED
    assert not resident.keybag.exists()


@pytest.mark.night("login")
@pytest.mark.parametrize("outcome, expected", [
    (WRONG_KEYS, DAMAGED), (UNLOCK_REFUSED, REFUSED), (UNUSABLE, DAMAGED), (SILENT, DAEMON_SILENT), (HANG_UP, DAEMON_SILENT)])
def test_keys_that_are_not_taken_leave_a_vault_for_the_next_time(login, outcome, expected):
    daemon = login.daemon()
    daemon.outcome = outcome
    assert create(login) == expected
    assert generation(login.keybag.read_bytes()) == 1
    vault, daemon.outcome = login.keybag.read_bytes()[12:28], LIVE
    assert create(login) == UNLOCKED
    assert daemon.deliveries[-1].flags & 1 and daemon.deliveries[-1].vault == vault


def test_four_at_once_create_one(login):
    daemon = login.daemon()
    runs = [login.start(CREATE_VAULT, service=UNLOCK) for _ in range(4)]
    results = [run.result() for run in runs]
    assert results.count(CREATED) == 1 and set(results) <= {CREATED, UNLOCKED, NOTHING_NEEDED}
    assert {delivery.vault for delivery in daemon.deliveries} == {login.keybag.read_bytes()[12:28]}
