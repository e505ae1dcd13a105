"""Clients that keep their connection while the daemon restarts. A path from an earlier daemon never leads to an object
of the new daemon.
"""

import contextlib
import signal

import pytest
from support.clients import MAIL, Conversation
from support.peer import ITEM, LOGIN, NO_SESSION, NOTHING, PROMPT, SESSION, SESSION_COLLECTION, Failure, Peer

RESTARTS = [signal.SIGTERM, signal.SIGKILL] * 5
# Each client writes through the sessions of every earlier daemon. Of 256 writes with a wrong key, one has a valid
# padding.
HOLDER = """
import secretstorage
me = "NAME"
bus = secretstorage.dbus_init()
def collection():
    return secretstorage.Collection(bus, "/org/freedesktop/secrets/collection/login")
first = collection()
item = first.create_item("Mine", {"owner": me, "kind": "held"}, b"begun", replace=True)
value = item.get_secret()
stale, right, wrong, refused = [], 0, [], 0
paths = [first.session.object_path]
def attempt(action):
    global refused
    try:
        return action()
    except Exception as error:
        refused += 1
        return error
while True:
    tell("right", lambda: right)
    tell("refused", lambda: refused)
    tell("wrong", lambda: wrong)
    tell("paths", lambda: paths)
    pause()
    stale.append(item)
    held = first
    first = collection()
    item = secretstorage.Item(bus, item.item_path)
    item.get_secret()
    paths.append(item.session.object_path)
    for number in range(24):
        for old in stale:
            attempt(lambda: old.set_secret(b"through a former session"))
        if item.get_secret() != value:
            wrong.append("overwritten: " + repr(item.get_secret()))
            item.set_secret(value)
        right += 1
    for old in stale:
        found = attempt(old.get_secret)
        if isinstance(found, bytes) and found != value:
            wrong.append("read: " + repr(found))
    made = attempt(lambda: held.create_item("New", {"owner": me, "kind": "new"}, b"new", replace=True))
    if not isinstance(made, Exception) and made.get_secret() != b"new":
        wrong.append("created: " + repr(made.get_secret()))
    value = b"written %d" % right
    item.set_secret(value)
"""


@pytest.mark.night("clients")
def test_secretstorage_over_restarts(session):
    """No wrong byte is read or stored through a session of an earlier daemon."""
    assert session.login().returncode == 0
    with contextlib.ExitStack() as stack:
        holders = [stack.enter_context(Conversation(session, HOLDER.replace("NAME", name))) for name in "abc"]
        for holder in holders:
            assert holder.told()["wrong"] == []
        for number in RESTARTS:
            session.restart(number)
            assert session.login().returncode == 0
            for holder in holders:
                told = holder.go_on()
                assert told["wrong"] == []
        assert told["right"] == 24 * len(RESTARTS)
        assert len(set(told["paths"])) == len(RESTARTS) + 1


class Held:
    """The objects that one connection holds of the running daemon."""

    def __init__(self, peer):
        self.peer = peer
        self.session = peer.open_plain()[1]
        self.value = b"of " + self.session.encode()
        self.temporary = peer.create(
            self.value, MAIL | {"of": self.session}, collection=SESSION_COLLECTION, session=self.session
        )
        self.prompt = None

    @property
    def paths(self):
        return [self.session, self.temporary, self.prompt]


@pytest.fixture
def peers(session):
    assert session.login().returncode == 0
    opened = [Peer(session) for _ in range(3)]
    yield opened
    for peer in opened:
        peer.close()


def test_paths_of_a_former_daemon_are_refused(session, peers):
    item = peers[0].create("kept", MAIL, session=peers[0].open_plain()[1])
    seen, former = set(), []
    for number in RESTARTS[:4]:
        held = [Held(peer) for peer in peers]
        session.lock()
        for one in held:
            one.prompt = one.peer.unlock(LOGIN)[1]
            assert one.prompt != NOTHING
        paths = [path for one in held for path in one.paths]
        # A path that came back would name another object.
        assert len(set(paths)) == len(paths) and not seen & set(paths)
        seen |= set(paths)
        former += held
        session.restart(number)
        assert session.login().returncode == 0
        fresh = {peer: Held(peer) for peer in peers}
        for one in former:
            peer = one.peer
            assert peer.write_error(item, "lost", one.session) == NO_SESSION
            assert peer.read_error(item, one.session) == NO_SESSION
            assert peer.create_error("lost", MAIL, session=one.session).name == NO_SESSION
            for path, interface, method in (
                (one.session, SESSION, "Close"),
                (one.prompt, PROMPT, "Dismiss"),
                (one.temporary, ITEM, "Delete"),
            ):
                with pytest.raises(Failure):
                    peer.call(path, interface, method)
        for peer, one in fresh.items():
            assert peer.read(item, one.session) == b"kept"
            assert peer.read(one.temporary, one.session) == one.value
        assert not seen & {path for one in fresh.values() for path in (one.session, one.temporary)}
