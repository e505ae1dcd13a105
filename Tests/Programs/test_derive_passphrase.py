"""latchkey-derive with a collection's passphrase: from the number of a prompt to a key in the daemon."""

import resource
import time

import pytest
from argon2.low_level import Type, hash_secret_raw
from support.derive import (
    AUTHENTICATE, CLOSE, DAEMON_SILENT, DAMAGED, NO_DAEMON, NO_MEMORY, OPEN, PASSPHRASE, PASSWORD, REFUSED, UNLOCKED,
    WRONG_PASSWORD, as_root,
)
from support.pace import Limit
from support.standin import (
    CLOSED as HANG_UP, LIVE, NOTHING, SILENT, STAGED, UNLOCK_REFUSED, UNUSABLE, WRONG_KEYS, declined, derivation,
)
from test_derive_process import pages_with

SERVICE = "latchkey-collection"
SALT = bytes(range(16))


def argon2id(passphrase, salt=SALT, passes=3, memory=32 << 20):
    return hash_secret_raw(passphrase, salt, passes, memory // 1024, 1, 32, Type.ID)


def ask(login, prompt="7", token=PASSWORD, **options):
    return login.start(PASSPHRASE, service=SERVICE, prompt=prompt, token=token, **options)


# ---- the key ----


@pytest.mark.parametrize("salt, passes, memory, token", [
    (SALT, 3, 32 << 20, PASSWORD), (bytes(16), 4, 33 << 20, "x"), (b"\xff" * 16, 3, (32 << 20) + 1024, "\u00e9" * 2048)])
def test_the_key_is_argon2id_of_the_passphrase_as_the_daemon_says(login, salt, passes, memory, token):
    daemon = login.daemon()
    daemon.derivation = derivation(salt, passes, memory)
    assert ask(login, token=token).result() == UNLOCKED
    assert daemon.asked == [7] and daemon.keys == [(7, argon2id(token.encode(), salt, passes, memory))]
    assert daemon.hellos == [] and daemon.deliveries == [] and len(daemon.packets) == 2
    assert not any(token.encode() in packet for packet in daemon.packets if len(token) > 1)
    assert list(login.home.iterdir()) == [], "the vault's folder has no part in it"


@pytest.mark.parametrize("number", [1, 2**32, 2**63 - 1])
def test_the_number_of_the_prompt_arrives_whole(login, number):
    daemon = login.daemon()
    assert ask(login, str(number)).result() == UNLOCKED
    assert daemon.asked == [number] and [prompt for prompt, _ in daemon.keys] == [number]


def test_a_login_tells_the_prompt_that_it_answers(login):
    daemon = login.daemon()
    daemon.need = NOTHING
    for operation, prompt in ((AUTHENTICATE, "9223372036854775807"), (AUTHENTICATE, ""), (OPEN, ""), (CLOSE, "")):
        login.run(operation, prompt=prompt, flags=1)
    assert daemon.answered == [2**63 - 1, 0, 0, 0]


# ---- the daemon's answers ----


@pytest.mark.parametrize("outcome, expected", [
    (LIVE, UNLOCKED), (WRONG_KEYS, WRONG_PASSWORD), (UNLOCK_REFUSED, REFUSED), (STAGED, REFUSED), (UNUSABLE, DAMAGED),
    (declined(), DAEMON_SILENT), (SILENT, DAEMON_SILENT), (HANG_UP, DAEMON_SILENT), (b"\2\2", DAEMON_SILENT),
    (b"\2\2\3", DAEMON_SILENT), (b"\2\2\3\1\0", DAEMON_SILENT), (b"\2\2\5\0\0", DAEMON_SILENT),
    (b"\2\10\0\0\0", DAEMON_SILENT), (b"\3\2\0\0\0", DAEMON_SILENT), (b"\2\4", DAEMON_SILENT)])  # fmt: skip
def test_only_an_open_collection_is_told_as_such(login, outcome, expected):
    daemon = login.daemon()
    daemon.outcome = outcome
    assert ask(login).result() == expected
    assert len(daemon.keys) == 1


@pytest.mark.night("vault")
@pytest.mark.parametrize("reply, expected", [
    (declined(), REFUSED), (declined(""), REFUSED), (SILENT, DAEMON_SILENT), (HANG_UP, DAEMON_SILENT),
    (b"\2\4", DAEMON_SILENT), (b"\2\2\0\0\0", DAEMON_SILENT), (b"\2\377", DAEMON_SILENT), (b"\2\377\5\0x", DAEMON_SILENT),
    (b"\3" + derivation()[1:], DAEMON_SILENT)])  # fmt: skip
def test_without_a_derivation_no_key_is_made(login, reply, expected):
    daemon = login.daemon()
    daemon.derivation = reply
    assert ask(login).result() == expected and daemon.keys == []


def test_a_derivation_cut_anywhere_is_none(login):
    daemon = login.daemon()
    for size in range(1, len(derivation())):
        daemon.derivation = derivation()[:size]
        assert ask(login).result() == DAEMON_SILENT
    assert daemon.keys == [] and len(daemon.asked) == len(derivation()) - 1


@pytest.mark.parametrize("passes, memory", [
    (0, 32 << 20), (1, 32 << 20), (2, 32 << 20), (11, 32 << 20), (2**32 - 1, 32 << 20), (3, 0), (3, 1024),
    (3, (32 << 20) - 1024), (3, (32 << 20) + 1), (3, (1 << 30) + 1024), (3, 2**64 - 1024), (3, 2**64 - 1)])  # fmt: skip
def test_an_unreasonable_cost_is_not_tried(login, passes, memory):
    """A passphrase with too low a cost could be guessed from its key, and too high a cost would block the machine."""
    daemon = login.daemon()
    daemon.derivation = derivation(passes=passes, memory=memory)
    assert ask(login).result() == DAMAGED and daemon.keys == []


def test_no_memory_is_an_answer(login):
    daemon = login.daemon()
    daemon.derivation = derivation(memory=1 << 30)
    limit = 500 << 20

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    assert ask(login, options=dict(preexec_fn=limited)).result() == NO_MEMORY and daemon.keys == []


def test_no_daemon_is_an_answer(login):
    assert ask(login).result() == NO_DAEMON


# ---- the process ----


@as_root
def test_passphrase_and_key_are_in_locked_memory_alone(login):
    daemon = login.daemon()
    daemon.outcome = SILENT
    run = ask(login)
    limit = Limit(5)
    while not daemon.keys and not limit.is_over:
        time.sleep(0.01)
    ((_, key),) = daemon.keys
    for secret in (PASSWORD.encode(), key):
        pages = pages_with(run.worker, secret)
        assert pages and all({"lo", "dd"} <= flags for flags in pages)
    assert run.result() == DAEMON_SILENT
