"""A waiting gnome-keyring does not get the name when latchkeyd ends, however latchkeyd ends."""

import re
import signal

import pytest
from gi.repository import Gio, GLib
from support.control import GIVE_WAY, VERSION, Control, hello, packet
from support.peer import SECRETS, Peer
from support.session import REPOSITORY, wait_until
from support.startagain import START_AGAIN, Manager

DRIVER = "org.freedesktop.DBus"
KEYRING = ("gnome-keyring-daemon", "--foreground", "--components=secrets,pkcs11")


def other(data):
    """The packet with the version of another release."""
    return bytes([VERSION + 1]) + data[1:]


def ask(session, method, name):
    """The answer of the bus about a name. Empty if the bus has no answer."""
    done = session.run("busctl", "--user", "call", DRIVER, "/", DRIVER, method, "s", name)
    return re.sub(r"^\w+ (\d+ )?|\"", "", done.stdout).split()


def queue(session):
    """The processes that own the name or wait for it, without processes that end at this moment."""
    asked = [ask(session, "GetConnectionUnixProcessID", one) for one in ask(session, "ListQueuedOwners", SECRETS)]
    return [int(process) for answer in asked for process in answer]


@pytest.fixture
def manager(session, stage):
    session.stop_daemon()
    runs = Manager(session, stage)
    runs.start()
    wait_until(lambda: session.daemon_pid() == runs.process.pid, "the daemon")
    yield runs
    runs.close()


@pytest.fixture
def owners(session):
    """The connections that got the name, in order."""
    peer = Peer(session)
    heard = []
    peer.bus.signal_subscribe(
        DRIVER, DRIVER, "NameOwnerChanged", "/org/freedesktop/DBus", SECRETS, Gio.DBusSignalFlags.NONE,
        lambda *told: heard.append(told[5].unpack()[2]))  # fmt: skip

    def look():
        peer.bus.call_sync(DRIVER, "/", DRIVER, "GetId", None, None, 0, 10000, None)
        peer.listen()
        return heard

    yield look
    peer.close()


@pytest.fixture
def keyring(session, manager):
    """The real gnome-keyring, which waits for the name."""
    process = session.start(*KEYRING, env=session.environment | {"GNOME_KEYRING_CONTROL": str(session.runtime / "keyring")})
    await_queue(session, manager, process)
    yield process
    process.terminate()
    process.wait()


def await_queue(session, manager, keyring):
    """Waits until the daemon owns the name, and gnome-keyring waits behind the daemon's second connection."""
    wanted = [manager.process.pid] * 2 + [keyring.pid]
    wait_until(lambda: queue(session) == wanted and len(manager.kept) == 1, "the place in front of gnome-keyring")


def assert_it_never_owned(session, keyring, owners):
    (connection,) = ask(session, "GetNameOwner", "org.gnome.keyring")
    assert ask(session, "GetConnectionUnixProcessID", connection) == [str(keyring.pid)]
    assert connection not in owners() and "" not in owners(), owners()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGTERM], ids=["killed", "crashed", "restarted"])
def test_the_next_daemon_has_the_name(session, manager, keyring, owners, number):
    assert session.login().returncode == 0
    session.store("of default", "app", "default")
    for _ in range(3):
        manager.restart(number)
        await_queue(session, manager, keyring)
        assert_it_never_owned(session, keyring, owners)
    assert session.login().returncode == 0 and session.lookup("app", "default") == "of default"


def test_one_that_gives_way_leaves_the_name_to_the_installed_one(session, manager, keyring, owners):
    assert session.login().returncode == 0
    session.lock()
    helper = Control(session)
    assert helper.ask(other(hello())) == packet(GIVE_WAY)
    assert helper.ask(other(packet(GIVE_WAY))) == packet(GIVE_WAY)
    assert manager.await_end() == START_AGAIN
    helper.close()
    manager.start()
    await_queue(session, manager, keyring)
    assert_it_never_owned(session, keyring, owners)
    unit = (REPOSITORY / "dbus/latchkeyd.service.in").read_text()
    assert f"\nRestartForceExitStatus={START_AGAIN}\nSuccessExitStatus={START_AGAIN}\n" in unit


def test_a_call_while_there_is_no_daemon_ends_with_the_next_one(session, manager, keyring):
    manager.process.kill()
    manager.await_end()
    call = session.start("busctl", "--user", "--timeout=600", "call", SECRETS, "/", f"{DRIVER}.Peer", "Ping")
    wait_until(lambda: len(ask(session, "ListQueuedOwners", SECRETS)) == 2, "the place alone")
    manager.start()
    await_queue(session, manager, keyring)
    assert call.wait(60) != 0
    assert session.run("busctl", "--user", "call", SECRETS, "/", f"{DRIVER}.Peer", "Ping").returncode == 0


def test_where_nobody_waits_the_bus_keeps_calls(session, manager):
    assert queue(session) == [manager.process.pid] and manager.kept == {}
    manager.restart(signal.SIGKILL)
    wait_until(lambda: queue(session) == [manager.process.pid], "the daemon alone")


def test_it_is_given_up_with_the_last_that_waits(session, manager, keyring):
    keyring.terminate()
    wait_until(lambda: queue(session) == [manager.process.pid] and manager.kept == {}, "the daemon alone")


def test_one_that_passes_it_does_not_stay_in_front(session, manager, keyring):
    """If a second keyring asks to replace the owner, the bus puts it in front of all waiting programs."""
    peer = Peer(session)
    peer.bus.call_sync(DRIVER, "/", DRIVER, "RequestName", GLib.Variant("(su)", ("org.example.Other", 0)), None, 0, 10000, None)
    peer.bus.call_sync(DRIVER, "/", DRIVER, "RequestName", GLib.Variant("(su)", (SECRETS, 2)), None, 0, 10000, None)
    wait_until(lambda: queue(session)[:2] == [manager.process.pid] * 2 and len(queue(session)) == 4, "the place in front")
    peer.close()


def test_where_another_has_the_name_nothing_is_kept(session, manager, keyring):
    """After a stop, the daemon keeps no connection in the queue. gnome-keyring gets the name, and keeps the name until
    gnome-keyring ends."""
    manager.process.terminate()
    manager.await_end()
    manager.forget()
    wait_until(lambda: queue(session) == [keyring.pid], "gnome-keyring")
    manager.start()
    wait_until(lambda: session.run("latchkey", "status").returncode == 0, "the daemon")
    assert manager.kept == {} and queue(session) == [keyring.pid]
    # Both commands name the program that owns the name and the command that helps, as doctor does.
    line = f"gnome-keyring (process {keyring.pid}) owns {SECRETS}, so programs do not reach this vault"
    shown = session.run("latchkey", "status").stdout
    assert f"{line}; run 'latchkey switch --to latchkey'" in shown
    found = session.run("latchkey", "find")
    assert found.returncode == 3 and f"{line}.\nRun 'latchkey switch --to latchkey', then this again.\n" in found.stderr
    keyring.terminate()
    wait_until(lambda: session.daemon_pid() == manager.process.pid, "the daemon")
