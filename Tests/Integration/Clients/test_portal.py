"""The daemon's side of the Secret portal, for sandboxed applications."""

import contextlib
import fcntl
import os
import pathlib
import signal
import socket
import sqlite3
import struct

import pytest
from gi.repository import Gio, GLib
from support.memory import scan
from support.pace import seconds
from support.peer import (
    ACCESS_DENIED, INVALID, ITEM, LOGIN, NOT_SUPPORTED, NOTHING, PROPERTIES, ROOT, SECRETS, SERVICE, Failure, Peer,
    acting_as,
)
from support.portal import (
    ALIAS,
    BACKEND,
    CANCELLED,
    CLASS,
    ONE,
    OTHER,
    PORTAL,
    SECRET,
    SUCCESS,
    TWO,
    Retrieval,
    give_pinentry,
    lock_everything,
    pipe_of,
    portal_collection,
    retrieve,
    secrets_of,
    session,  # noqa: F401
)
from support.session import Session, wait_until


@pytest.fixture(scope="module", autouse=True)
def forgotten(stage):
    """A request behind a locked screen, before any login. The session makes the request first, and the last test checks
    the answer."""
    session = Session(stage)
    peer = Peer(session)
    # Without the locked screen, a prompt would ask the person.
    peer.activate_screen_saver(True)
    yield Retrieval(peer, ONE)
    peer.close()
    session.close()


# MARK: the secret


def test_each_application_has_a_secret_of_its_own_for_ever(session, peer):
    one, two = retrieve(peer, ONE), retrieve(peer, TWO)
    assert len(one) == len(two) == 64
    assert one != two
    assert (retrieve(peer, ONE), retrieve(peer, TWO)) == (one, two)
    session.lock()
    assert (retrieve(peer, ONE), retrieve(peer, TWO)) == (one, two)
    third = retrieve(peer, "org.example.Third")
    assert session.locker().returncode == 0
    assert LOGIN in lock_everything(peer)
    assert (retrieve(peer, ONE), retrieve(peer, TWO)) == (one, two)
    session.restart()
    assert session.login().returncode == 0
    assert [retrieve(peer, name) for name in (ONE, TWO, "org.example.Third")] == [one, two, third]
    assert retrieve(peer, "") not in (one, two, third)


def test_what_is_kept(session, peer):
    peer.listen()
    peer.signals.clear()
    secret = retrieve(peer, ONE)
    collection = portal_collection(peer)
    assert peer.get(collection, "org.freedesktop.Secret.Collection", "Label") == "Flatpak apps"
    assert peer.wait_for_member("CollectionCreated") == (collection,)
    [item] = secrets_of(peer, ONE)
    assert item.startswith(collection + "/")
    assert peer.wait_for_member("ItemCreated", collection) == (item,)
    assert peer.get(item, ITEM, "Attributes") == {"app_id": ONE, "xdg:schema": "org.freedesktop.portal.Secret"}
    assert peer.read(item) == secret
    assert item in peer.search({CLASS: "after-first-unlock"})[1]
    # The same connection answers under the name in gnome-keyring's .portal file.
    assert Retrieval(peer, ONE, name=SECRETS).secret() == secret
    assert peer.call(PORTAL, PROPERTIES, "Get", "(ss)", SECRET, "version") == 1


def test_two_requests_at_once_get_the_same_secret(session):
    peer, other = Peer(session), Peer(session)
    requests = [Retrieval(caller, ONE) for caller in (peer, other, peer, other)]
    assert all(request.is_pending for request in requests)
    assert session.login().returncode == 0
    assert len({request.secret() for request in requests}) == 1
    assert len(secrets_of(peer, ONE)) == 1
    assert session.status()["collections"] == 2
    peer.close()
    other.close()


def test_the_secret_that_is_there_already_is_given(session, peer):
    """An import brought the secret. The secret is in another collection, in the form of its former provider."""
    imported = os.urandom(64)
    marked = {"app_id": ONE, "xdg:schema": "org.freedesktop.portal.Secret"}
    # The portal must ignore items of other programs, which may have an attribute of the same name.
    peer.create(b"somebody's own", {"app_id": ONE})
    item = peer.create(imported, marked)
    assert peer.create(b"a later one", marked | {"more": "x"}) != item
    peer.create(b"another program's", {"app_id": TWO, "xdg:schema": "other"})
    assert retrieve(peer, ONE) == imported
    assert retrieve(peer, TWO) != imported
    collection = portal_collection(peer)
    assert collection != NOTHING

    # The secret's class is locked first, and then its collection. In neither state does the portal create another
    # secret.
    session.lock()
    request = Retrieval(peer, ONE)
    assert request.is_pending
    assert session.locker().returncode == 0
    assert request.secret() == imported
    lock_everything(peer)
    request = Retrieval(peer, ONE)
    assert request.is_pending
    assert retrieve(peer, TWO) != imported
    assert session.login().returncode == 0
    assert request.secret() == imported
    assert len(secrets_of(peer, ONE)) == 3

    # The portal prefers its own secret, although this secret is the youngest.
    peer.create(b"own", marked, collection=collection)
    assert retrieve(peer, ONE) == b"own"


def test_a_large_secret_goes_through_the_pipe_as_the_application_reads(session, peer):
    imported = os.urandom(300_000)
    peer.create(imported, {"app_id": ONE, "xdg:schema": "org.freedesktop.portal.Secret"})
    request = Retrieval(peer, ONE)
    assert request.is_pending
    assert len(retrieve(peer, TWO)) == 64, "nobody else waits for that reader"
    with os.fdopen(request.reading, "rb", buffering=0) as pipe:
        received = b""
        while len(received) < len(imported):
            received += pipe.read(len(imported))
    assert received == imported
    assert request.wait() == SUCCESS


def test_a_secret_that_damage_may_hide_is_not_made_anew(session, peer):
    retrieve(peer, ONE)
    session.stop_daemon()
    session.remove_generations()
    with contextlib.closing(sqlite3.connect(session.vault / "vault.db")) as database:
        database.execute("DELETE FROM token")
        database.commit()
    session.start_daemon()
    session.login()
    request = Retrieval(peer, ONE)
    assert request.wait() == OTHER
    assert request.read() == b""
    assert session.status()["items"] == 1


# MARK: waiting


def test_a_request_waits_for_the_login(session):
    """One request comes before the vault exists, and another before a later login."""
    peer = Peer(session)
    request = Retrieval(peer, ONE)
    assert request.is_pending and request.exists()
    assert session.status()["state"] == "sealed", "the loop goes on"
    assert session.login().returncode == 0
    secret = request.secret()
    assert not request.exists()
    assert session.logout().returncode == 0
    request, new = Retrieval(peer, ONE), Retrieval(peer, TWO)
    assert request.is_pending and new.is_pending
    assert session.login().returncode == 0
    assert request.secret() == secret
    assert new.secret() != secret
    peer.close()


def test_the_first_request_behind_the_lock_waits_for_the_unlock(session, peer):
    session.lock()
    request = Retrieval(peer, ONE)
    assert request.is_pending
    assert portal_collection(peer) == NOTHING
    assert session.locker().returncode == 0
    assert len(request.secret()) == 64


def test_a_person_who_does_not_want_to(session):
    give_pinentry(session, "echo ERR 83886179 cancelled")
    peer = Peer(session)
    assert session.login().returncode == 0
    assert session.logout().returncode == 0
    request = Retrieval(peer, ONE)
    assert request.wait() == CANCELLED
    assert request.read() == b""
    peer.close()


def test_an_application_that_asks_again_and_again(session):
    """The person dismissed the prompt. The application gets no new prompt at once, but other applications get theirs.
    """
    give_pinentry(session, f"echo asked >>{session.home}/asked; echo ERR 83886179 cancelled")
    peer = Peer(session)
    assert session.login().returncode == 0
    assert session.logout().returncode == 0
    asked = session.home / "asked"
    for application, count in ((ONE, 1), (ONE, 1), (TWO, 2), (ONE, 2), (TWO, 2)):
        request = Retrieval(peer, application)
        assert request.wait() == CANCELLED and request.read() == b""
        assert len(asked.read_text().splitlines()) == count
    # After a new login, the application gets a prompt again.
    assert session.login().returncode == 0
    assert len(retrieve(peer, ONE)) == 64
    assert session.logout().returncode == 0
    assert Retrieval(peer, ONE).wait() == CANCELLED
    assert len(asked.read_text().splitlines()) == 3
    peer.close()


def test_close(session):
    peer, other = Peer(session), Peer(session)
    request = Retrieval(peer, ONE)
    with pytest.raises(Failure, match=ACCESS_DENIED):
        request.close(other)
    assert request.is_pending
    # Another caller may use the same handle for a request of its own.
    same = Retrieval(other, ONE, handle=request.handle)
    request.close()
    assert request.wait() == CANCELLED
    assert request.read() == b""
    assert same.is_pending and same.exists()
    assert session.login().returncode == 0
    assert len(same.secret()) == 64
    assert not request.exists()
    peer.close()
    other.close()


def test_handles_elsewhere(session):
    """The frontend may choose any path for its requests."""
    peer = Peer(session)
    requests = [Retrieval(peer, ONE, handle=handle) for handle in (f"{PORTAL}/request", "/org/example/request/1")]
    assert all(request.exists() for request in requests)
    requests[0].close()
    assert requests[0].wait() == CANCELLED and not requests[0].exists()
    assert session.login().returncode == 0
    assert len(requests[1].secret()) == 64 and not requests[1].exists()
    peer.close()


def test_callers_that_are_gone(session):
    peer, other = Peer(session), Peer(session)
    gone, unread = Retrieval(other, ONE), Retrieval(peer, TWO)
    # Another process still holds the writing end of the pipe open. The daemon closes its own end when the caller has
    # left.
    other.close()
    assert gone.read() == b""
    os.close(unread.reading)
    daemon = session.daemon_pid()
    assert session.login().returncode == 0
    assert unread.wait() == OTHER
    assert secrets_of(peer, ONE) == []
    assert len(retrieve(peer, TWO)) == 64
    assert session.daemon_pid() == daemon
    peer.close()


# MARK: what is passed


def test_a_full_pipe_holds_up_nobody(session, peer):
    reading, writing = pipe_of(session)
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writing, bytes(4096))
    watched = os.dup(writing)
    request = Retrieval(peer, ONE, pipe=(reading, writing))
    assert request.is_pending and request.exists()
    assert retrieve(peer, TWO)
    assert not fcntl.fcntl(watched, fcntl.F_GETFL) & os.O_NONBLOCK, "the application's own end is as it was"
    os.close(watched)
    assert os.read(reading, 4096) == bytes(4096)
    assert len(request.secret()) == 64


@pytest.mark.skipif(os.getuid() != 0, reason="reading another process's memory needs root")
def test_the_secret_is_in_memory_only_while_it_is_written(session, peer):
    secret = retrieve(peer, ONE)
    reading, writing = pipe_of(session)
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writing, bytes(4096))
    request = Retrieval(peer, ONE, pipe=(reading, writing))
    assert request.is_pending
    assert scan(session.daemon_pid(), {"secret": secret}) != {}
    assert os.read(reading, 4096) == bytes(4096)
    assert request.secret() == secret
    assert scan(session.daemon_pid(), {"secret": secret}) == {}


def test_a_socket_will_do(session, peer):
    ours, theirs = socket.socketpair()
    request = Retrieval(peer, ONE, pipe=(ours.detach(), theirs.detach()))
    assert request.secret() == retrieve(peer, ONE)


def test_what_is_refused(session, peer):
    for application in ("x" * 256, "org.example/One", "org.example One", "org.example.\n", "org.exämple"):
        request = Retrieval(peer, application)
        request.wait()
        assert request.failure == INVALID, application
        assert request.read() == b""
    for handle in ("/", PORTAL, ROOT, ROOT + "/prompt/1", "/org/latchkey/vault"):
        request = Retrieval(peer, ONE, handle=handle)
        request.wait()
        assert request.failure == INVALID, handle
    # Descriptors that could make the daemon wait, and descriptors that it cannot write to.
    reading, writing = pipe_of(session)
    with acting_as(session):
        file = os.open(session.home / "file", os.O_CREAT | os.O_WRONLY)
    for pipe in ((reading, file), (writing, os.dup(reading))):
        request = Retrieval(peer, ONE, pipe=pipe)
        request.wait()
        assert request.failure == INVALID
    assert (session.home / "file").read_bytes() == b""
    assert portal_collection(peer) == NOTHING


def lingering():
    """A TCP connection and its peer. Closing the connection waits up to an hour, because the peer never reads."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        peer, _ = server.accept()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
    fill(ours)
    return ours, peer


def fill(connection):
    """Writes until the buffer is full."""
    connection.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            connection.send(bytes(65536))


def test_a_connection_of_the_network_holds_up_nobody(session, peer):
    """A close of the connection would wait until the peer has read everything, or as long as the application chose."""
    theirs, ours = lingering()
    request = Retrieval(peer, ONE, pipe=(ours.detach(), theirs.detach()))
    request.wait()
    assert request.failure == INVALID
    assert retrieve(peer, TWO)
    os.close(request.reading)


def test_a_connection_that_lies_in_a_socket_holds_up_nobody(session, peer):
    """No process has received the connection from the socket, so the connection closes together with the socket."""
    connection, far = lingering()
    ours, theirs = socket.socketpair()
    socket.send_fds(ours, [b"x"], [connection.fileno()])
    connection.close()
    # With a full buffer, the daemon must wait before it writes. So the daemon's end of the socket is closed last.
    fill(theirs)
    request = Retrieval(peer, ONE, pipe=(ours.detach(), theirs.detach()))
    assert request.is_pending
    os.close(request.reading)
    assert retrieve(peer, TWO)
    assert request.wait() == OTHER
    far.close()


def test_a_connection_beside_any_call_holds_up_nobody(session, peer):
    """The daemon owns the descriptors of each message, even if the daemon ignores the descriptors."""
    connection, far = lingering()
    daemon = session.daemon_pid()
    os.kill(daemon, signal.SIGSTOP)
    passed = Gio.UnixFDList.new()
    passed.append(connection.fileno())
    connection.close()
    peer.bus.call_with_unix_fd_list(
        SECRETS, ROOT, "org.freedesktop.DBus.Peer", "Ping", None, None, Gio.DBusCallFlags.NONE, 10_000, passed, None,
        None,
    )
    del passed
    # The test closes its own copies, so only the daemon still has the connection.
    peer.bus.flush_sync()
    peer.bus.call_sync(
        "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId", None, None, Gio.DBusCallFlags.NONE, 10_000, None
    )
    os.kill(daemon, signal.SIGCONT)
    assert retrieve(peer, TWO)
    far.close()


def test_one_application_cannot_take_all_places(session, peer):
    session.lock()
    waiting = [Retrieval(peer, ONE) for _ in range(8)]
    assert all(request.is_pending for request in waiting)
    ninth = Retrieval(peer, ONE)
    ninth.wait()
    assert ninth.failure == "org.freedesktop.DBus.Error.LimitsExceeded"
    other = Retrieval(peer, TWO)
    assert other.is_pending
    twice = Retrieval(peer, "org.example.Third", handle=other.handle)
    twice.wait()
    assert twice.failure == "org.freedesktop.Secret.Error.AlreadyExists"
    assert session.locker().returncode == 0
    assert len({request.secret() for request in waiting}) == 1
    assert other.secret()


# MARK: its collection and its name


def test_the_collection_is_not_locked_by_lock(session, peer):
    for _ in range(2):
        assert peer.error(ROOT, SERVICE, "SetAlias", "(so)", "portal", LOGIN) == NOT_SUPPORTED
        assert portal_collection(peer) != LOGIN
        secret = retrieve(peer, ONE)
        collection = portal_collection(peer)
    assert peer.error(ROOT, SERVICE, "SetAlias", "(so)", "portal", NOTHING) == NOT_SUPPORTED
    assert peer.call(ROOT, SERVICE, "Lock", "(ao)", [collection, ALIAS, LOGIN]) == ([LOGIN], NOTHING)
    assert peer.get(collection, "org.freedesktop.Secret.Collection", "Locked") is False
    [item] = secrets_of(peer, ONE)
    assert peer.read(item) == secret


def test_the_alias_is_not_to_be_had(session, peer):
    assert peer.error(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", {}, "portal") == NOT_SUPPORTED
    assert portal_collection(peer) == NOTHING


def test_whoever_deletes_the_collection_deletes_the_secrets(session, peer):
    secret = retrieve(peer, ONE)
    peer.call(portal_collection(peer), "org.freedesktop.Secret.Collection", "Delete")
    assert portal_collection(peer) == NOTHING
    assert retrieve(peer, ONE) != secret


def test_the_name_is_ours_where_another_program_provides_secrets(session):
    """The daemon owns the portal's name even while another program provides secrets and the vault is sealed."""
    peer = Peer(session)
    session.stop_daemon()
    take = GLib.Variant("(su)", (SECRETS, 4))
    bus = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
    peer.bus.call_sync(*bus, "RequestName", take, None, 0, 10_000, None)
    arguments = ["--home", session.home, "--runtime", session.runtime]
    daemon = session.start(pathlib.Path(session.environment["LATCHKEY_STAGE"]) / "usr/libexec/latchkeyd", *arguments)

    def has_owner():
        answer = peer.bus.call_sync(*bus, "NameHasOwner", GLib.Variant("(s)", (BACKEND,)), None, 0, 10_000, None)
        return answer.unpack() == (True,)

    wait_until(has_owner, "the name")
    assert session.status()["name_owner"] == peer.name
    # Behind a locked screen, the request waits for the login.
    peer.activate_screen_saver(True)
    # The bus may start programs that do not ignore SIGPIPE. The daemon itself must ignore the signal.
    unread = Retrieval(peer, TWO)
    os.close(unread.reading)
    assert session.login().returncode == 0
    peer.activate_screen_saver(False)
    assert unread.wait() == OTHER
    assert len(retrieve(peer, ONE)) == 64
    assert daemon.poll() is None
    daemon.terminate()
    daemon.wait(seconds(10))
    peer.close()


# MARK: last


@pytest.mark.night("prompters")
def test_a_request_does_not_wait_for_ever(forgotten):
    assert forgotten.wait(90) == OTHER
    assert forgotten.read() == b""
