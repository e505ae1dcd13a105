"""latchkey-kwallet: every method and signal of org.kde.KWallet, KWallet's settings, and interrupted removals."""

import contextlib
import os
import pathlib
import signal
import threading
from xml.etree import ElementTree

import pytest
from gi.repository import Gio, GLib
from support.foreign import seen
from support.kwallet import FOLDER, INTERFACE, KDEWALLET, Client, process_of, qt_map, qt_text, serve
from support.peer import Peer, acting_as
from support.session import SECRETS

pytestmark = pytest.mark.night("kwallet")

# KDE's own description of the interface.
DESCRIPTION = pathlib.Path("/usr/share/dbus-1/interfaces/kf5_org.kde.KWallet.xml")
# KDE's description lacks these signals, but kwalletd emits them.
UNDESCRIBED = {("signal", "entryUpdated", "sss", ""), ("signal", "entryRenamed", "ssss", ""), ("signal", "entryDeleted", "sss", "")}
# The number of items that the vault deletes in one step.
STEP = 4096


@pytest.fixture
def kde(unlocked):
    """A program that has opened the default wallet."""
    serve(unlocked)
    client = Client(unlocked)
    assert client.open() > 0
    return client


def shape(text):
    """The types of each member's arguments and results."""
    interface = next(part for part in ElementTree.fromstring(text) if part.get("name") == INTERFACE)
    types = lambda member, way: "".join(
        one.get("type") for one in member.findall("arg") if member.tag == "signal" and way == "in" or member.tag == "method" and one.get("direction") == way)
    return {(part.tag, part.get("name"), types(part, "in"), types(part, "out")) for part in interface if part.tag in ("method", "signal")}


@pytest.mark.skipif(not DESCRIPTION.exists(), reason="libkf5wallet-dev is missing")
def test_it_has_what_kde_describes(kde):
    for version in (5, 6):
        name = f"org.kde.kwalletd{version}"
        answer = kde.bus.call_sync(name, f"/modules/kwalletd{version}", "org.freedesktop.DBus.Introspectable", "Introspect", None, None, 0, 10_000, None)
        assert shape(answer.unpack()[0]) == shape(DESCRIPTION.read_text()) | UNDESCRIBED


def configure(session, *lines):
    """Writes these settings to kwalletrc."""
    file = session.home / ".config/kwalletrc"
    session.run("mkdir", "-p", file.parent, check=True)
    file.write_text("\n".join(["[Wallet]", *lines, ""]))
    os.chown(file, session.uid, session.gid)


def test_settings_of_kwallet(unlocked, kde):
    assert kde.call("isEnabled") is True and kde.write("a", "of the network") == 0
    configure(unlocked, "Use One Wallet=false", "Local Wallet=here", "Leave Open=false")
    kde.call("reconfigure")
    assert [kde.call("localWallet"), kde.call("networkWallet")] == ["here", KDEWALLET]
    local = Client(unlocked, "local")
    assert local.open("here") not in (-1, kde.handle) and local.write("a", "of this machine") == 0
    assert [kde.read("a"), local.read("a")] == ["of the network", "of this machine"]
    # A wallet closes when the last of its programs closes it.
    kde.signals.clear()
    assert local.call("close", "ibs", local.handle, False, "local") == 0 and not kde.call("isOpen", "s", "here")
    for closed in (("walletClosed", "here"), ("walletClosed", local.handle), ("walletClosedId", local.handle)):
        kde.wait_for(*closed)
    # If the settings disable KWallet, all wallets close, and programs cannot open one.
    configure(unlocked, "Enabled=false")
    kde.call("reconfigure")
    kde.wait_for("allWalletsClosed")
    assert kde.call("isEnabled") is False and kde.read("a") is None and kde.open() == kde.open_async() == -1
    configure(unlocked)
    kde.call("reconfigure")
    assert kde.open() > 0 and kde.read("a") == "of the network"


def test_lists_and_signals(unlocked, kde):
    assert kde.write("text", "t") == kde.write("map", {"k": "v"}) == kde.write("stream", b"s") == 0
    octets_of = lambda *call: {name: bytes(value) for name, value in kde.of(*call).items()}
    everything = {"text": qt_text("t"), "map": qt_map({"k": "v"}), "stream": b"s"}
    assert octets_of("entriesList", "s", FOLDER) == octets_of("readEntryList", "ss", FOLDER, "*") == everything
    assert octets_of("mapList", "s", FOLDER) == octets_of("readMapList", "ss", FOLDER, "m*") == {"map": everything["map"]}
    assert octets_of("readEntryList", "ss", FOLDER, "s*") == {"stream": b"s"} and octets_of("readMapList", "ss", FOLDER, "x") == {}
    # A pattern may be as long as a name, but not longer.
    assert octets_of("readEntryList", "ss", FOLDER, "*" * 5000) == {}
    # The comparison skips longer names. For each unclosed "[", the comparison would read to the end of the pattern,
    # which would take minutes.
    assert kde.of("writePassword", "sss", "long", "[" * 16000, "p") == 0
    assert kde.of("readPasswordList", "ss", "long", "*" + "[" * 4000 + "x") == {}
    assert kde.of("hasEntry", "ss", FOLDER, "map") and not kde.of("hasEntry", "ss", FOLDER, "none")
    assert kde.of("hasFolder", "s", FOLDER) and not kde.of("hasFolder", "s", "none")
    assert not kde.call("keyDoesNotExist", "sss", KDEWALLET, FOLDER, "map") and kde.call("keyDoesNotExist", "sss", KDEWALLET, FOLDER, "none")
    assert kde.of("sync", "") is None and kde.call("openPathAsync", "sxsb", "/x.kwl", 0, "test", True) == -1
    assert kde.of("createFolder", "s", "new")
    second = Client(unlocked, "second")
    assert second.open("second") > 0 and second.call("disconnectApplication", "ss", "second", "second") and second.open("second") > 0
    assert kde.call("deleteWallet", "s", "second") == 0
    kde.call("closeAllWallets")
    for heard in (
        ("folderListUpdated", KDEWALLET), ("folderUpdated", KDEWALLET, FOLDER), ("entryUpdated", KDEWALLET, FOLDER, "map"), ("walletCreated", "second"),
        ("walletOpened", "second"), ("applicationDisconnected", "second", "second"), ("walletDeleted", "second"), ("walletListDirty",),
        ("walletClosed", KDEWALLET), ("walletClosedId", kde.handle), ("allWalletsClosed",),
    ):  # fmt: skip
        kde.wait_for(*heard)
    assert not kde.call("isOpen", "s", KDEWALLET)


def test_an_entry_of_two_forms_is_one(unlocked, kde):
    """Programs of the Secret Service may store an entry in two forms. A write replaces both forms, so that the former
    value never comes back."""
    peer = Peer(unlocked)
    for form, value in (("plaintext", "old"), ("map", '{"a":"b"}')):
        peer.create(value, {"server": FOLDER, "user": "entry", "type": form, "xdg:schema": "org.qt.keychain"})
    assert len(seen(unlocked)) == 2 and kde.entries() == ["entry"] and kde.read("entry") == {"a": "b"}
    assert kde.write("entry", b"new") == 0 and len(seen(unlocked)) == 1 and kde.read("entry") == b"new"
    peer.create("old", {"server": FOLDER, "user": "entry", "type": "plaintext", "xdg:schema": "org.qt.keychain"})
    assert kde.of("renameEntry", "sss", FOLDER, "entry", "other") == 0
    assert kde.entries() == ["other"] and kde.read("other") == "old" and len(seen(unlocked)) == 1
    peer.close()


class Interruption:
    """Runs `act` when the bus carries the first Delete call to the vault."""

    def __init__(self, session, act):
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        with acting_as(session):
            self._bus = Gio.DBusConnection.new_for_address_sync(session.environment["DBUS_SESSION_BUS_ADDRESS"], flags, None, None)
        self._act, self.come = act, threading.Event()
        self._bus.add_filter(self._seen)
        rules = GLib.Variant("(asu)", (["type='method_call',member='Delete'"], 0))
        self._bus.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.Monitoring", "BecomeMonitor", rules, None, 0, 10_000, None)

    def _seen(self, _bus, message, is_incoming):
        if is_incoming and message.get_member() == "Delete" and not self.come.is_set():
            self._act()
            self.come.set()
        return message

    def close(self):
        with contextlib.suppress(GLib.Error):
            self._bus.close_sync(None)


@contextlib.contextmanager
def interrupted(session, act, call):
    """Makes the call, and runs `act` at its first deletion. The body of the `with` runs before the call goes on.
    Afterwards `answers` has the answer."""
    interruption, answers = Interruption(session, act), []
    thread = threading.Thread(target=lambda: answers.append(call()))
    thread.start()
    assert interruption.come.wait(30)
    yield answers
    thread.join()
    interruption.close()


@contextlib.contextmanager
def locked_meanwhile(session, call):
    """Makes the call, stops latchkey-kwallet at the first deletion, and lets it go on after a lock of the vault."""
    process = process_of(session)
    with interrupted(session, lambda: os.kill(process, signal.SIGSTOP), call) as answers:
        session.lock()
        os.kill(process, signal.SIGCONT)
    yield answers[0]


def test_a_lock_within_the_removal_of_a_wallet(unlocked, kde):
    """The whole wallet is deleted, and programs hear of it."""
    second = Client(unlocked, "second")
    assert second.open("second") > 0 and second.write("a", "b") == second.write("c", "d", "folder") == 0
    with locked_meanwhile(unlocked, lambda: kde.call("deleteWallet", "s", "second", limit=30)) as answer:
        assert answer == 0
    kde.wait_for("walletDeleted", "second")
    assert unlocked.locker().returncode == 0
    assert kde.call("wallets") == [KDEWALLET] and seen(unlocked) == [] and not kde.call("isOpen", "s", "second")


def test_a_lock_within_the_removal_of_a_large_folder(unlocked, kde):
    """The vault deletes a large folder in several steps. Each entry was readable at the call, so the whole folder is
    deleted."""
    for number in range(STEP + 10):
        assert kde.write(f"entry {number}", "x", "large") == 0
    assert kde.write("stays", "here") == 0
    with locked_meanwhile(unlocked, lambda: kde.of("removeFolder", "s", "large")) as answer:
        assert answer is True
    assert kde.entries("large") == [] and unlocked.locker().returncode == 0
    assert kde.read("stays") == "here" and len(seen(unlocked)) == 1


@pytest.mark.parametrize("comes_back", [True, False])
def test_an_end_of_the_vault_within_a_removal(unlocked, kde, comes_back):
    """The next daemon completes the removal. If no daemon starts, the call fails, and all programs read the folder
    again."""
    entries = {f"entry {number}": "x" for number in range(20)}
    for entry, value in entries.items():
        assert kde.write(entry, value, "folder") == 0
    kde.listen()
    kde.signals.clear()
    daemon = unlocked.daemon_pid()
    service = unlocked.root / f"services/{SECRETS}.service"
    usual = service.read_text()
    if not comes_back:
        unlocked.offer(SECRETS, f"[D-BUS Service]\nName={SECRETS}\nExec=/bin/false\n")
    with interrupted(unlocked, lambda: os.kill(daemon, signal.SIGKILL), lambda: kde.of("removeFolder", "s", "folder")) as answers:
        pass
    assert answers == [comes_back]
    kde.wait_for("folderListUpdated", KDEWALLET) if comes_back else kde.wait_for("folderUpdated", KDEWALLET, "folder")
    unlocked.offer(SECRETS, usual)
    assert unlocked.login().returncode == 0
    assert kde.of("passwordList", "s", "folder") in ([{}] if comes_back else [{}, entries])
