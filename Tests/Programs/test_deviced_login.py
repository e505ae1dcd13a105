"""latchkey-deviced: the secrets that it returns only at a login, and the processes that count as a login."""

import struct

import pytest
from support.derive import as_root
from support.deviced import (  # noqa: F401
    BOUND,
    DAEMON,
    ERASABLE,
    ERASE,
    FORGET,
    HOST,
    IDENTITY,
    LOGIN,
    MOVE,
    NOBODY,
    NOTE,
    OTHER_DEVICE,
    REFUSED,
    SESSION,
    SHARE,
    UNWRAP,
    WRAP,
    outcome,
    refusal,
    sealed,
    service,
    tpm,
)  # fmt: skip


def wrapped_for(service, uid, context=b"context"):
    """A secret of the kind that any program of the user can have wrapped."""
    with service.peer(uid) as peer:
        return peer.wrap(SHARE, LOGIN, context)


@as_root
def test_a_login_of_the_users_gets_it(service):
    wrapped = wrapped_for(service, NOBODY)
    with service.peer() as login:
        login.login_of(NOBODY)
        assert login.unwrap(wrapped, LOGIN) == SHARE
        assert login.unwrap(wrapped, LOGIN) == SHARE
    assert f"a login of user {NOBODY}" in service.journal()
    service.restart()
    with service.peer() as login:
        login.login_of(NOBODY)
        assert login.unwrap(wrapped, LOGIN) == SHARE


def test_nobody_else_gets_it(service):
    """The user who had the secret wrapped does not get it, and root as such does not get it either."""
    wrapped = wrapped_for(service, None)
    with service.peer() as peer:
        failure = refusal(peer.unwrap, wrapped, LOGIN)
        assert failure.outcome == REFUSED and "device.onlyAtLogin" in failure.text
        for kind in (BOUND, ERASABLE):
            assert outcome(peer.unwrap, wrapped, kind) == OTHER_DEVICE


@as_root
def test_neither_the_user_nor_root_without_a_login_gets_it(service):
    wrapped = wrapped_for(service, NOBODY)
    for uid in (NOBODY, DAEMON, None):
        with service.peer(uid) as peer:
            assert outcome(peer.unwrap, wrapped, LOGIN) == REFUSED
            assert len(peer.wrap(SHARE, LOGIN)) == 72


@as_root
@pytest.mark.parametrize("whose", [NOBODY, DAEMON, 0])
def test_only_root_says_whose_login_it_is(service, whose):
    wrapped = wrapped_for(service, NOBODY)
    with service.peer(NOBODY) as peer:
        failure = refusal(peer.login_of, whose)
        assert failure.outcome == REFUSED and "device.onlyRoot" in failure.text
        # The refused request does not make the peer a login.
        assert outcome(peer.unwrap, wrapped, LOGIN) == REFUSED
        assert len(peer.identity()[0]) == 16


@as_root
def test_roots_own_login_is_none(service):
    with service.peer() as root:
        wrapped = root.wrap(SHARE, LOGIN)
        assert outcome(root.login_of, 0) == REFUSED
        assert outcome(root.unwrap, wrapped, LOGIN) == REFUSED
        root.move(HOST)


@as_root
def test_a_login_of_another_user_gets_nothing_of_this_one(service):
    wrapped = wrapped_for(service, NOBODY)
    wrapped_for(service, DAEMON)
    with service.peer() as login:
        login.login_of(DAEMON)
        assert outcome(login.unwrap, wrapped, LOGIN) == OTHER_DEVICE


@as_root
def test_a_login_gets_nothing_else(service):
    """The process with the connection is the user's by then."""
    wrapped = wrapped_for(service, NOBODY)
    with service.peer(NOBODY) as peer:
        others = {kind: peer.wrap(SHARE, kind) for kind in (BOUND, ERASABLE)}
    with service.peer() as root:
        of_root = root.wrap(SHARE, BOUND)
    with service.peer() as login:
        login.login_of(NOBODY)
        for kind in (BOUND, ERASABLE):
            assert outcome(login.unwrap, others[kind], kind) == REFUSED
        assert outcome(login.unwrap, of_root, BOUND) == REFUSED
        user = struct.pack("<I", NOBODY)
        for operation, fields in [
            (IDENTITY, b""), (WRAP, bytes([LOGIN, 0]) + SHARE), (WRAP, bytes([BOUND, 0]) + SHARE), (ERASE, user),
            (MOVE, bytes([HOST])), (FORGET, user), (NOTE, bytes(33)), (SESSION, user), (SESSION, struct.pack("<I", DAEMON)),
            (SESSION, struct.pack("<I", 0)),
        ]:  # fmt: skip
            failure = refusal(login.ask, operation, fields)
            assert failure.outcome == REFUSED and "device.loginConnection" in failure.text, operation
        assert login.unwrap(wrapped, LOGIN) == SHARE
    with service.peer(NOBODY) as peer:
        assert peer.unwrap(others[ERASABLE], ERASABLE) == SHARE, "nothing was erased"


@as_root
def test_garbage_ends_a_login(service):
    wrapped = wrapped_for(service, NOBODY)
    for packet in (b"x", bytes([1, UNWRAP, LOGIN, 0]) + bytes(71), bytes([1, 9]), bytes(513)):
        with service.peer() as login:
            login.login_of(NOBODY)
            assert login.raw(packet) == b""
    with service.peer() as login:
        login.login_of(NOBODY)
        assert login.unwrap(wrapped, LOGIN) == SHARE


@as_root
def test_every_byte_and_the_context_count(service):
    wrapped = wrapped_for(service, NOBODY)
    with service.peer() as login:
        login.login_of(NOBODY)
        assert outcome(login.unwrap, wrapped, LOGIN, b"contexT") == OTHER_DEVICE
    for offset in range(72):
        with service.peer() as login:
            login.login_of(NOBODY)
            altered = bytes(byte ^ (position == offset) for position, byte in enumerate(wrapped))
            assert outcome(login.unwrap, altered, LOGIN) == OTHER_DEVICE


@as_root
def test_a_share_of_another_kind_is_none_of_a_login(service):
    with service.peer(NOBODY) as peer:
        bound = peer.wrap(SHARE, BOUND)
    with service.peer() as login:
        login.login_of(NOBODY)
        # The user may alter the wrapped secret in the keybag.
        assert outcome(login.unwrap, bound, LOGIN) == OTHER_DEVICE


@as_root
def test_a_user_who_was_forgotten_has_none(service):
    wrapped = wrapped_for(service, NOBODY)
    with service.peer() as root:
        root.forget(NOBODY)
    with service.peer() as login:
        login.login_of(NOBODY)
        assert outcome(login.unwrap, wrapped, LOGIN) == OTHER_DEVICE


@as_root
def test_in_a_tpm_as_well(sealed):
    wrapped = wrapped_for(sealed, NOBODY)
    with sealed.peer() as login:
        login.login_of(NOBODY)
        assert login.unwrap(wrapped, LOGIN) == SHARE
    with sealed.peer(NOBODY) as peer:
        assert outcome(peer.unwrap, wrapped, LOGIN) == REFUSED


@as_root
def test_logins_of_a_users_have_places_of_their_own(service):
    """However many of a user's logins wait, another user's login still comes through. Root's requests and the user's daemon still
    come through, too."""
    wrapped = wrapped_for(service, DAEMON)
    crowd = [service.peer() for _ in range(8)]
    try:
        for peer in crowd:
            peer.login_of(NOBODY)
        with service.peer() as login, service.peer() as root:
            login.login_of(DAEMON)
            assert login.unwrap(wrapped, LOGIN) == SHARE
            root.move(HOST)
        with service.peer(NOBODY) as peer:
            peer.identity()
        with service.peer() as ninth:
            assert outcome(ninth.login_of, NOBODY) == REFUSED
    finally:
        for peer in crowd:
            peer.close()
