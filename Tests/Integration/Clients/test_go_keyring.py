"""A client that makes the calls of go-keyring."""

import pytest
from support.clients import BEHIND, LOCKED, answer_behind_a_locker, bring_back, bring_to, python
from support.peer import COLLECTION, DEFAULT, LOGIN, NOTHING, ROOT, SERVICE, SESSION, Failure, Peer

pytestmark = [pytest.mark.night("clients"), pytest.mark.second_try]


class GoKeyring:
    """The calls and checks of github.com/zalando/go-keyring, in the same order."""

    def __init__(self, session):
        self.peer = Peer(session)
        collections = self.peer.get(ROOT, SERVICE, "Collections")
        self.collection = LOGIN if LOGIN in collections else DEFAULT

    def unlock(self, path):
        opened, prompt = self.peer.unlock(path)
        if prompt != NOTHING:
            dismissed, kind, result = self.peer.prompt(prompt)
            assert kind == "ao"
            opened += result
            if dismissed:
                return False
        assert opened == [path], "failed to unlock correct collection"
        return True

    def set(self, service, user, secret):
        _, session = self.peer.open_plain()
        if not self.unlock(self.collection):
            return False
        attributes = {"username": user, "service": service}
        try:
            self.peer.create(secret, attributes, f"Password for {user}", True, self.collection, session)
        finally:
            self.peer.call(session, SESSION, "Close")
        return True

    def get(self, service, user):
        if not self.unlock(self.collection):
            return None
        attributes = {"username": user, "service": service}
        found = self.peer.call(self.collection, COLLECTION, "SearchItems", "(a{ss})", attributes)
        if not found:
            raise LookupError
        _, session = self.peer.open_plain()
        if not self.unlock(found[0]):
            return None
        try:
            return self.peer.read(found[0], session)
        finally:
            self.peer.call(session, SESSION, "Close")


def test_go_keyring(session, peer):
    client = GoKeyring(session)
    assert client.collection == LOGIN
    with pytest.raises(LookupError):
        client.get("gh:github.com", "me")
    assert client.set("gh:github.com", "me", "token")
    assert client.get("gh:github.com", "me") == b"token"
    assert client.set("gh:github.com", "me", "newer")
    assert client.get("gh:github.com", "me") == b"newer"


@pytest.mark.parametrize("state", LOCKED)
def test_go_keyring_while_locked(session, peer, state):
    client = GoKeyring(session)
    assert client.set("gh:github.com", "me", "token")
    bring_to(state, session, peer)
    assert GoKeyring(session).collection == LOGIN
    assert client.get("gh:github.com", "me") is None
    assert client.set("gh:github.com", "me", "newer") is False
    bring_back(state, session, peer)
    assert client.get("gh:github.com", "me") == b"token"


def test_go_keyring_behind_a_locker(session, peer):
    client = GoKeyring(session)
    assert client.set("gh:github.com", "me", "token")
    assert answer_behind_a_locker(session, peer, lambda: client.get("gh:github.com", "me")) == b"token"
    bring_to(BEHIND, session, peer)
    with pytest.raises(Failure, match="IsLocked"):
        client.set("gh:github.com", "me", "newer")
    assert client.set("gh:github.com", "you", "other")
    bring_back(BEHIND, session, peer)
    assert client.get("gh:github.com", "you") == b"other"
    assert client.get("gh:github.com", "me") == b"token"


def test_a_client_like_go_keyring(session):
    session.login()
    session.store("secret", "service", "s", "username", "u")
    python(
        session,
        """
        from gi.repository import Gio, GLib
        bus = Gio.bus_get_sync(Gio.BusType.SESSION)
        NAME, ROOT = "org.freedesktop.secrets", "/org/freedesktop/secrets"
        def call(path, interface, member, arguments=None):
            return bus.call_sync(NAME, path, interface, member, arguments, None, 0, 10000, None).unpack()
        service = "org.freedesktop.Secret.Service"
        (collections,) = call(ROOT, "org.freedesktop.DBus.Properties", "Get", GLib.Variant("(ss)", (service, "Collections")))
        login = ROOT + "/collection/login"
        assert login in collections
        output, session = call(ROOT, service, "OpenSession", GLib.Variant("(sv)", ("plain", GLib.Variant("s", ""))))
        assert output == ""
        # Exactly the one path that was asked for, and no prompt.
        assert call(ROOT, service, "Unlock", GLib.Variant("(ao)", ([login],))) == ([login], "/")
        (items,) = call(login, "org.freedesktop.Secret.Collection", "SearchItems", GLib.Variant("(a{ss})", ({"service": "s"},)))
        assert call(ROOT, service, "Unlock", GLib.Variant("(ao)", (items[:1],))) == (items[:1], "/")
        ((path, parameters, value, kind),) = call(items[0], "org.freedesktop.Secret.Item", "GetSecret", GLib.Variant("(o)", (session,)))
        assert (path, parameters, bytes(value)) == (session, [], b"secret"), (path, parameters, value)
        """,
    )
