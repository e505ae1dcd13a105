"""Transport sessions and prompts belong to the client that created them."""

import time

import pytest
from gi.repository import GLib
from support.clients import MAIL, SYNC
from support.peer import (
    ABSENT, ACCESS_DENIED, INVALID, LOGIN, NO_SESSION, NOT_SUPPORTED, NOTHING, PROMPT, ROOT, SERVICE, SESSION, Failure,
    Peer, octets,
)
from support.session import wait_until


def test_sessions_belong_to_their_client(session, peer):
    item = peer.create("secret", MAIL)
    other = Peer(session)
    foreign = other.plain
    assert peer.read_error(item, foreign) == NO_SESSION
    assert peer.write_error(item, "x", foreign) == NO_SESSION
    assert peer.create_error("x", SYNC, session=foreign).name == NO_SESSION
    assert peer.error(ROOT, SERVICE, "GetSecrets", "(aoo)", [item], foreign) == NO_SESSION
    assert peer.error(foreign, SESSION, "Close") == ACCESS_DENIED
    assert other.read(item) == b"secret"
    for dead in (NOTHING, LOGIN, ROOT + "/session/s4711"):
        assert peer.read_error(item, dead) == NO_SESSION
    assert peer.error(ROOT + "/session/s4711", SESSION, "Close") in ABSENT
    _, mine = peer.open_plain()
    assert peer.read(item, mine) == b"secret"
    peer.call(mine, SESSION, "Close")
    assert peer.read_error(item, mine) == NO_SESSION
    assert peer.error(mine, SESSION, "Close") in ABSENT
    assert peer.search(SYNC) == ([], [])
    # A transport session ends when its client leaves.
    other.close()
    wait_until(lambda: peer.error(foreign, SESSION, "Close") in ABSENT, "the end of the client's session")


def test_a_client_that_never_closes_its_sessions_or_prompts_is_served(session, peer):
    item = peer.create("secret", MAIL)
    for _ in range(600):
        _, last = peer.open_plain()
    assert peer.read(item, last) == b"secret"
    session.lock()
    for _ in range(600):
        _, prompt = peer.unlock(item)
    assert peer.prompt(prompt) == (True, "ao", [])


def test_algorithms(open_peer):
    def opening(algorithm, value):
        return open_peer.failure(ROOT, SERVICE, "OpenSession", "(sv)", algorithm, value).name

    encrypted = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
    assert opening("rot13", GLib.Variant("s", "")) == NOT_SUPPORTED
    assert opening("", GLib.Variant("(ss)", ("", ""))) == NOT_SUPPORTED
    assert opening("plain", GLib.Variant("ay", b"")) == INVALID
    assert opening(encrypted, GLib.Variant("s", "")) == INVALID
    for bad in (b"", b"\0", b"\1", b"\xff" * 128, b"\xff" * 129, b"\2" * 4096):
        assert opening(encrypted, octets(bad)) == INVALID
    public, path = open_peer.call(ROOT, SERVICE, "OpenSession", "(sv)", encrypted, octets(b"\2" + b"\7" * 127))
    assert len(public) == 128
    # An encrypted session takes no plain secret.

    def sent(*parts):
        return GLib.Variant.new_tuple(GLib.Variant("o", path), *map(octets, parts), GLib.Variant("s", "text/plain"))

    for parameters, value in ((b"", b"x" * 16), (b"i" * 16, b"x" * 15), (b"i" * 16, b"")):
        with pytest.raises(Failure, match="InvalidArgs"):
            open_peer.create_raw({}, sent(parameters, value))

    def is_taken(value):
        try:
            return open_peer.create_raw({}, sent(b"i" * 16, value))
        except Failure as failure:
            assert failure.name == INVALID
            return None

    # Each run has a new key, and with one key in 256 the padding is valid by chance. So the test sends several blocks.
    assert not all(is_taken(bytes([octet]) * 16) for octet in range(4))
    secret = GLib.Variant.new_tuple(
        GLib.Variant("o", open_peer.plain), octets(b"i" * 16), octets(b"x"), GLib.Variant("s", "text/plain")
    )
    with pytest.raises(Failure, match="InvalidArgs"):
        open_peer.create_raw({}, secret)


def test_prompts_belong_to_their_client(session, peer):
    item = peer.create("secret", MAIL)
    session.lock()
    other = Peer(session)
    _, foreign = other.unlock(item)
    assert peer.error(foreign, PROMPT, "Prompt", "(s)", "") == ACCESS_DENIED
    assert peer.error(foreign, PROMPT, "Dismiss") == ACCESS_DENIED
    other.call(foreign, PROMPT, "Prompt", "(s)", "")
    assert other.error(foreign, PROMPT, "Prompt", "(s)", "") == "org.freedesktop.Secret.Error.AlreadyExists"
    assert other.wait_for_member("Completed", foreign) == (True, [])
    # No other client gets the signal.
    assert "Completed" not in {signal[2] for signal in peer.listen(0.3)}
    _, foreign = other.unlock(item)
    other.close()
    wait_until(lambda: peer.error(foreign, PROMPT, "Dismiss") in ABSENT, "the end of the client's prompt")


def test_completed_is_not_sent_before_prompt_returned(session, peer):
    """Some clients listen only after Prompt has returned."""
    session.lock()
    _, prompt = peer.unlock(LOGIN)
    began = time.monotonic()
    peer.call(prompt, PROMPT, "Prompt", "(s)", "")
    peer.wait_for_member("Completed", prompt)
    assert time.monotonic() - began >= 0.05
