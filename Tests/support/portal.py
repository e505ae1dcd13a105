"""Helpers for tests of the Secret portal, which make the calls of its frontend."""

import os
import pathlib
import select

import pytest
from gi.repository import Gio, GLib
from support.pace import seconds
from support.peer import ABSENT, LIMIT, NOTHING, ROOT, SERVICE, Failure, acting_as
from support.session import wait_until

BACKEND = "org.freedesktop.impl.portal.desktop.latchkey"
FRONTEND = "org.freedesktop.portal.Desktop"
PORTAL = "/org/freedesktop/portal/desktop"
SECRET = "org.freedesktop.impl.portal.Secret"
REQUEST = "org.freedesktop.impl.portal.Request"
SUCCESS, CANCELLED, OTHER = 0, 1, 2
ONE, TWO = "org.example.One", "org.example.Two"
ALIAS = ROOT + "/aliases/portal"
CLASS = "latchkey:accessible"
PROGRAM = pathlib.Path(__file__).with_name("portalclient.py")


def pipe_of(session):
    """A pipe that belongs to the session's user, like the pipe of a sandboxed application."""
    with acting_as(session):
        return os.pipe()


def has_request(peer, handle):
    """Whether the request object exists."""
    try:
        return REQUEST in peer.call(handle, "org.freedesktop.DBus.Introspectable", "Introspect")
    except Failure as failure:
        assert failure.name in ABSENT
        return False


class Retrieval:
    """One call of RetrieveSecret, as the frontend makes it. The constructor does not wait for the response."""

    number = 0

    def __init__(self, peer, application, handle=None, pipe=None, name=BACKEND):
        Retrieval.number += 1
        self.peer = peer
        self.handle = handle or f"{PORTAL}/request/1_1/t{Retrieval.number}"
        self.reading, writing = pipe or pipe_of(peer.session)
        self.response = self.failure = None
        passed = Gio.UnixFDList.new()
        arguments = (self.handle, application, passed.append(writing), {})
        os.close(writing)
        peer.bus.call_with_unix_fd_list(
            name, PORTAL, SECRET, "RetrieveSecret", GLib.Variant("(osha{sv})", arguments), None,
            Gio.DBusCallFlags.NONE, 100_000, passed, None, self._done,
        )
        # The daemon serves the calls of a connection in order, so the daemon has read the first call when this call
        # returns.
        peer.call("/", "org.freedesktop.DBus.Peer", "Ping")
        peer.listen()

    def _done(self, bus, result):
        try:
            answer, _ = bus.call_with_unix_fd_list_finish(result)
            self.response, results = answer.unpack()
            assert results == {}
        except GLib.Error as error:
            self.failure = Gio.DBusError.get_remote_error(error)

    @property
    def is_pending(self):
        self.peer.listen()
        return self.response is None and self.failure is None

    def wait(self, timeout=LIMIT):
        wait_until(lambda: not self.is_pending, "a response", timeout)
        return self.response

    def read(self):
        """All bytes that were written. No process may still hold the other end."""
        received = b""
        with os.fdopen(self.reading, "rb", buffering=0) as pipe:
            while True:
                assert select.select([pipe], [], [], seconds(LIMIT))[0], "somebody holds the other end"
                part = pipe.read(65536)
                if not part:
                    return received
                received += part

    def secret(self):
        """The secret after a successful request."""
        assert self.wait() == SUCCESS, self.failure
        return self.read()

    def exists(self):
        return has_request(self.peer, self.handle)

    def close(self, peer=None):
        (peer or self.peer).call(self.handle, REQUEST, "Close")


def retrieve(peer, application):
    return Retrieval(peer, application).secret()


def lock_everything(peer):
    """Locks every collection, as Seahorse and `secret-tool lock` do. Returns the locked collections."""
    collections = peer.get(ROOT, SERVICE, "Collections")
    locked, prompt = peer.call(ROOT, SERVICE, "Lock", "(ao)", collections)
    assert prompt == NOTHING
    return locked


def portal_collection(peer):
    return peer.call(ROOT, SERVICE, "ReadAlias", "(s)", "portal")


def secrets_of(peer, application):
    """The application's items, readable or not."""
    unlocked, locked = peer.search({"app_id": application})
    return unlocked + locked


def give_pinentry(session, answer):
    """Installs a pinentry that gives this answer to a question for a password."""
    pinentry = session.root / "bin/pinentry"
    pinentry.write_text(
        f"#!/bin/sh\necho OK\nwhile read -r what; do case $what in GETPIN*) {answer};; *) echo OK;; esac; done\n"
    )
    pinentry.chmod(0o755)


@pytest.fixture
def session(session):  # noqa: F811
    """A session whose person sees the prompt but does not answer."""
    give_pinentry(session, "exec sleep 600")
    # A desktop gives its display to the bus at its start.
    session.run("dbus-update-activation-environment", "DISPLAY=:4711", check=True)
    session.restart()
    return session
