"""latchkey-kwallet: org.kde.KWallet for KDE's programs. latchkey-kwallet keeps all entries in the vault."""

import itertools
import os
import re
import subprocess

import pytest
from gi.repository import GLib
from support.clients import bring_back, bring_to
from support.foreign import seen
from support.importing import encoded
from support.kwallet import (
    FOLDER, KDEWALLET, MAP, PASSWORD, STREAM, Client, ask_in_windows, asked, process_of, qt_text, serve)  # fmt: skip
from support.memory import scan
from support.peer import DEFAULT, ITEM, Peer, octets
from support.session import wait_until

SCHEMA = {"xdg:schema": "org.qt.keychain"}
WIDE = "\u00e4/\u6f22 \U0001f511"
# Readers and Swift see one string. To KDE's programs these strings are two names.
COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"
# The rules that come with Latchkey make entries of this folder readable behind the lock.
NETWORK = "Network Management"
MAPPED = {"user": 'm"e\\', "empty": "", WIDE: "\x01\t\n/" + WIDE}
JSON = '{"empty":"","user":"m\\"e\\\\","' + WIDE + '":"\\u0001\\t\\n/' + WIDE + '"}'


@pytest.fixture
def kde(unlocked):
    """A program that has opened the default wallet."""
    serve(unlocked)
    client = Client(unlocked)
    assert client.open() > 0
    return client


def attributes(folder, entry, kind):
    return {"server": folder, "user": entry, "type": kind, **SCHEMA}


def own(folder, entry, kind, secret, wallet=KDEWALLET):
    """An entry in the form that libsecret shows."""
    pairs = [list(pair) for pair in sorted(attributes(folder, entry, kind).items())]
    return [wallet, f"{folder}/{entry}", pairs, encoded(secret)]


def test_entries_lie_where_kdes_proxy_looks_for_them(unlocked, kde):
    values = {
        "plain": ("secret " + WIDE, "plaintext", ("secret " + WIDE).encode()), "none": ("", "plaintext", b""),
        WIDE: (MAPPED, "map", JSON.encode()), "no map": ({}, "map", b"{}"),
        COMPOSED: (bytes(range(256)), "base64", encoded(bytes(range(256))).encode()), DECOMPOSED: (b"", "base64", b""),
    }  # fmt: skip
    for entry, (value, *_) in values.items():
        assert kde.write(entry, value, WIDE) == 0
    assert seen(unlocked) == sorted(own(WIDE, entry, kind, secret) for entry, (_, kind, secret) in values.items())
    assert {entry: kde.read(entry, WIDE) for entry in values} == {entry: value for entry, (value, *_) in values.items()}
    assert sorted(kde.entries(WIDE)) == sorted(values) and set(kde.of("folderList", "")) == {FOLDER, "Form Data", WIDE}
    listed = {name: bytes(value) for name, value in kde.of("entriesList", "s", WIDE).items()}
    assert listed["plain"] == qt_text(values["plain"][0]) and listed[COMPOSED] == bytes(range(256)) and len(listed) == 6
    assert kde.of("passwordList", "s", WIDE) == {"plain": values["plain"][0], "none": ""}
    assert set(kde.of("readPasswordList", "ss", WIDE, "pl?[a-i]n")) == {"plain"}
    # Items of KDE's proxy, QtKeychain or an import are entries. Items of other programs are not.
    peer = Peer(unlocked)
    peer.create(b"\0\xff", attributes("other", "octets", "binary"))
    peer.create("another", {**attributes("other", "octets", "binary"), "more": "1"})
    peer.create("no schema", {"server": "other", "user": "x", "type": "plaintext"})
    assert kde.entries("other") == ["octets"] and kde.read("octets", "other") == b"\0\xff"
    peer.close()


@pytest.mark.night("kwallet")
def test_one_entry_has_one_item(unlocked, kde):
    for value, kind in (("a", PASSWORD), (MAPPED, MAP), (b"b", STREAM), ("c", PASSWORD), ("d", PASSWORD)):
        assert kde.write("entry", value) == 0
        assert (kde.kind("entry"), kde.read("entry"), len(seen(unlocked))) == (kind, value, 1)
    assert kde.of("writeEntry", "ssayi", FOLDER, "entry", octets(qt_text("e")), PASSWORD) == 0
    assert kde.read("entry") == "e" and bytes(kde.of("readEntry", "ss", FOLDER, "entry")) == qt_text("e")
    # The first value is not a valid map, and the second has an unknown kind.
    for value, kind in ((b"\0\0\0\x09", MAP), (b"x", 7)):
        assert kde.of("writeEntry", "ssayi", FOLDER, "entry", octets(value), kind) == -1
    assert kde.read("entry") == "e"
    assert kde.write("other", "o") == 0
    assert kde.of("renameEntry", "sss", FOLDER, "entry", "other") == -1
    assert kde.of("renameEntry", "sss", FOLDER, "entry", WIDE) == 0
    assert seen(unlocked) == sorted([own(FOLDER, "other", "plaintext", b"o"), own(FOLDER, WIDE, "plaintext", b"e")])
    assert kde.of("removeEntry", "ss", FOLDER, WIDE) == 0 and kde.of("removeEntry", "ss", FOLDER, WIDE) == -3
    kde.wait_for("entryRenamed", KDEWALLET, FOLDER, "entry", WIDE)
    kde.wait_for("entryDeleted", KDEWALLET, FOLDER, WIDE)
    assert kde.of("createFolder", "s", "new") and not kde.of("createFolder", "s", "new")
    assert kde.of("removeFolder", "s", FOLDER) and not kde.of("removeFolder", "s", FOLDER)
    assert seen(unlocked) == [] and set(kde.of("folderList", "")) == {"Form Data", "new"}


@pytest.mark.parametrize("state", [pytest.param("locked", marks=pytest.mark.night("kwallet")), "behind a locker"])
def test_nothing_is_lost_behind_a_lock(unlocked, kde, state):
    wifi = {"psk": "of the air"}
    assert (kde.write("mail", "a password"), kde.write("map", MAPPED), kde.write("uuid", wifi, NETWORK)) == (0, 0, 0)
    assert kde.write("gone", wifi, NETWORK) == 0
    before = seen(unlocked)
    peer = Peer(unlocked)
    bring_to(state, unlocked, peer)
    # The program learns the kind of the entry. The value is empty, as with kwalletd when the wallet is closed.
    assert (kde.kind("mail"), kde.read("mail")) == (PASSWORD, "") and kde.entries() == ["mail", "map"]
    assert bytes(kde.of("readMap", "ss", FOLDER, "map")) == b""
    assert kde.read("uuid", NETWORK) == wifi
    # A program may take the empty answer for the value, and store it.
    assert kde.write("mail", "") == kde.write("map", {}) == kde.write("mail", {}) == -1
    assert kde.of("renameEntry", "sss", FOLDER, "mail", "post") == -1
    # A program cannot destroy an entry that it cannot read.
    assert kde.of("removeEntry", "ss", FOLDER, "mail") == kde.call("deleteWallet", "s", KDEWALLET) == -1
    assert not kde.of("removeFolder", "s", FOLDER) and kde.of("removeEntry", "ss", NETWORK, "gone") == 0
    assert kde.write("new", "n") == 0 and kde.write("uuid", wifi | {"more": "m"}, NETWORK) == 0
    bring_back(state, unlocked, peer)
    assert (kde.read("mail"), kde.read("map"), kde.read("new")) == ("a password", MAPPED, "n")
    assert kde.read("uuid", NETWORK) == wifi | {"more": "m"} and len(seen(unlocked)) == len(before)
    peer.close()


@pytest.mark.night("kwallet")
@pytest.mark.skipif(os.getuid() != 0, reason="reading another process's memory needs root")
def test_no_secret_is_left_in_memory(unlocked, kde):
    """The memory of latchkey-kwallet contains no secret that passed through, so there is no cache. The control: the memory
    contains the names, which are not secret."""
    secret = {kind: f"a secret {kind} that nothing else has, " * 40 for kind in ("text", "key", "value", "stream")}
    control = "a folder whose name is long enough to be found, and that this program keeps"
    for entry, value in (("text", secret["text"]), ("map", {"k": "v", secret["key"]: secret["value"]}), ("stream", secret["stream"].encode())):
        for _ in range(3):
            assert kde.write(entry, value, control) == 0 and kde.read(entry, control) == value
    assert len(kde.of("entriesList", "s", control)) == 3 and kde.of("createFolder", "s", control) is False
    forms = {"UTF-8": str.encode, "UTF-16": lambda text: text.encode("utf-16-be"), "units": lambda text: text.encode("utf-16-le"), "Base64": lambda text: encoded(text.encode()).encode()}
    needles = {f"{kind} in {form}": code(text) for kind, text in secret.items() for form, code in forms.items()}
    assert kde.of("removeFolder", "s", "none") is False
    found = scan(process_of(unlocked), needles | {"control": control.encode()})
    assert found.keys() == {"control"}, {name: [str(place) for place in places[:3]] for name, places in found.items()}


def test_a_program_waits_for_the_login(session):
    """The vault is sealed, and the person does not answer the prompt. The login opens the wallet."""
    ask_in_windows(session)
    serve(session)
    patient, leaving = Client(session, "plasma-nm"), Client(session, "leaving")
    transaction = patient.open_async()
    # A program may have at most 64 waiting requests.
    leaving.wait_for("walletAsyncOpened", [leaving.open_async() for _ in range(65)][-1], -1)
    wait_until(lambda: "GETPIN" in asked(session), "the prompt")
    leaving.close_connection()
    assert not any(signal[:2] == ("walletAsyncOpened", transaction) for signal in patient.listen())
    assert patient.call("keyDoesNotExist", "sss", KDEWALLET, FOLDER, "x") is False and patient.call("wallets") == [KDEWALLET]
    assert session.login().returncode == 0
    patient.handle = patient.wait_for("walletAsyncOpened", transaction)[2]
    assert patient.handle > 0 and patient.write("uuid", {"psk": "p"}, NETWORK) == 0
    assert patient.call("users", "s", KDEWALLET) == ["plasma-nm"]
    # Behind the locked screen, a wallet opens at once.
    session.lock()
    peer = Peer(session)
    peer.activate_screen_saver(True)
    wait_until(lambda: session.status()["locker_up"], "the locker")
    later = Client(session, "later")
    assert later.open() == patient.handle and later.read("uuid", NETWORK) == {"psk": "p"}
    patient.close_connection()
    wait_until(lambda: later.call("users", "s", KDEWALLET) == ["later"], "the end of what a program opened")
    peer.close()


@pytest.mark.night("kwallet")
def test_a_person_opens_a_wallet(session):
    """The vault is locked without a locker. The prompt names the program, and the answer opens the wallet."""
    ask_in_windows(session, session.password)
    serve(session)
    client = Client(session, "kmail")
    # The login password unlocks the vault for the first time.
    assert client.open() > 0 and client.write("a", "b") == 0 and client.read("a") == "b"
    assert "kmail" in asked(session)
    session.lock()
    assert client.read("a") == "" and client.open() > 0 and client.read("a") == "b"
    # Now no prompt can appear.
    (session.root / "bin/pinentry").write_text("#!/bin/false\n")
    session.lock()
    transaction = client.open_async()
    assert client.call("open", "sxs", KDEWALLET, 0, "kmail") == -1
    client.wait_for("walletAsyncOpened", transaction, -1)


@pytest.mark.night("kwallet")
def test_handles_and_wallets(unlocked, kde):
    other = Client(unlocked, "other", version=6)
    assert other.open() == kde.handle and sorted(kde.call("users", "s", KDEWALLET)) == ["other", "test"]
    assert kde.write("a", "b") == 0 and other.read("a") == "b"
    stranger = Client(unlocked, "stranger")
    stranger.handle = kde.handle
    assert stranger.of("readPassword", "ss", FOLDER, "a") == "" and stranger.write("a", "c") == -1
    assert stranger.of("folderList", "") == stranger.entries() == []
    # The default collection of a new vault is the default wallet.
    assert kde.call("wallets") == [KDEWALLET] and kde.call("networkWallet") == kde.call("localWallet") == KDEWALLET
    second = Client(unlocked, "second")
    assert second.open(WIDE) not in (kde.handle, -1) and second.write("a", "of the second") == 0
    second.wait_for("walletCreated", WIDE)
    assert sorted(kde.call("wallets")) == sorted([KDEWALLET, WIDE]) and kde.read("a") == "b"
    assert kde.call("isOpen", "s", WIDE) and kde.call("isOpen", "i", kde.handle) and not kde.call("isOpen", "i", 4711)
    assert [kde.call("folderDoesNotExist", "ss", wallet, FOLDER) for wallet in (KDEWALLET, "none")] == [False, True]
    assert kde.call("openPath", "sxs", "/x.kwl", 0, "test") == -1
    # The collection's new label is the wallet's new name.
    second.signals.clear()
    unlocked.run("latchkey", "collection", "rename", WIDE, "renamed", check=True)
    second.wait_for("walletListDirty")
    assert "renamed" in kde.call("wallets") and second.entries() == []
    unlocked.run("latchkey", "collection", "rename", "renamed", WIDE, check=True)
    wait_until(lambda: second.read("a") == "of the second", "the former name")
    # Without force, the wallet stays open, as KWallet's settings require.
    assert other.call("close", "ibs", other.handle, False, "other") == 1 and other.entries() == []
    assert kde.call("disconnectApplication", "ss", WIDE, "second") and second.entries() == []
    assert kde.call("close", "sb", KDEWALLET, True) == 0 and kde.call("close", "sb", KDEWALLET, True) == -1
    kde.wait_for("walletClosedId", kde.handle)
    assert kde.entries() == [] and kde.open() > 0 and kde.read("a") == "b"
    # The call deletes the wallet's entries. The call also deletes the collection if the collection has no other item.
    peer = Peer(unlocked)
    peer.create("not KWallet's", {"a": "b"}, collection=DEFAULT)
    assert kde.call("deleteWallet", "s", WIDE) == kde.call("deleteWallet", "s", KDEWALLET) == 0
    assert kde.call("deleteWallet", "s", WIDE) == -1 and kde.call("wallets") == [KDEWALLET]
    assert [label for _, label, *_ in seen(unlocked)] == ["Test"]
    for member, signature, *arguments in (["changePassword", "sxs", KDEWALLET, 0, "test"],
                                          ["pamOpen", "sayi", KDEWALLET, octets(bytes(56)), 0]):  # fmt: skip
        with pytest.raises(GLib.Error, match="NotSupported"):
            kde.call(member, signature, *arguments)
    peer.close()


@pytest.mark.night("kwallet")
def test_no_program_fills_the_memory(unlocked, kde):
    """The number of empty folders is limited, and so is the number of programs with an open wallet."""
    long = "f" * 4000
    made = [kde.of("createFolder", "s", f"{number}{long}") for number in range(300)]
    assert made[0] and not made[-1] and len(kde.of("folderList", "")) == sum(made) + 2
    assert kde.of("removeFolder", "s", f"0{long}") and kde.of("createFolder", "s", f"n{long}")
    opened = [kde.call("open", "sxs", KDEWALLET, 0, f"program {number}") for number in range(300)]
    assert opened[0] == kde.open() == kde.handle and opened[-1] == -1
    assert kde.call("open", "sxs", KDEWALLET, 0, "p" * 5000) == kde.call("open", "sxs", "w" * 5000, 0, "test") == -1
    # Each program with its own connection has its own limit.
    other = Client(unlocked, "other")
    assert other.wait_for("walletAsyncOpened", other.open_async())[2] == kde.handle


@pytest.mark.night("kwallet")
def test_only_what_is_handed_out_is_opened(unlocked, kde):
    """The program gets only the entry that it asked for. Entries of the same folder and name in another wallet stay
    apart, and so do entries of another kind."""
    assert kde.write("entry", "own") == kde.write("map", MAPPED) == 0
    second = Client(unlocked, "second")
    assert second.open("second") > 0 and second.write("entry", "other") == 0
    rules = "type='method_return'", "type='method_call',member='isEnabled'"
    with unlocked.start("dbus-monitor", "--session", *rules, stdout=subprocess.PIPE, text=True) as monitor:
        monitor.stdout.readline()
        assert kde.of("passwordList", "s", FOLDER) == {"entry": "own"} and kde.read("entry") == "own"
        # Once the monitor shows that call, it has shown everything before it.
        assert kde.call("isEnabled")
        heard = "".join(itertools.takewhile(lambda line: "member=isEnabled" not in line, monitor.stdout))
        monitor.kill()
    opened = re.findall(r'dict entry\(\s+object path "([^"]+)"\s+struct', heard)
    assert len(opened) == 2 and len(set(opened)) == 1, opened


@pytest.mark.night("kwallet")
def test_changes_by_other_programs_are_announced(unlocked, kde):
    peer = Peer(unlocked)

    def announced():
        """The signals about entries so far. A new entry marks the end of the list."""
        peer.create("s", attributes("signal", "s", "plaintext"))
        kde.wait_for("entryUpdated", KDEWALLET, "signal", "s")
        heard = [signal for signal in kde.signals if signal[0].startswith("entry") or signal[0] == "folderListUpdated"]
        kde.signals.clear()
        return [signal for signal in heard if "signal" not in signal]

    assert announced() == [("folderListUpdated", KDEWALLET)]
    item = peer.create("x", attributes("other", "a", "plaintext"))
    assert announced() == [("folderListUpdated", KDEWALLET), ("entryUpdated", KDEWALLET, "other", "a")]
    peer.set(item, ITEM, "Attributes", "a{ss}", attributes("other", "b", "plaintext"))
    assert announced() == [("entryRenamed", KDEWALLET, "other", "a", "b")]
    peer.create("y", attributes("other", "b", "plaintext"))
    assert announced() == [("entryUpdated", KDEWALLET, "other", "b")]
    peer.call(item, ITEM, "Delete")
    assert announced() == [("entryDeleted", KDEWALLET, "other", "b"), ("folderListUpdated", KDEWALLET)]
    # A client hears of its own changes once. A client does not hear of items that are not entries, nor of locks.
    assert kde.write("own", "1") == kde.write("own", "2") == kde.of("renameEntry", "sss", FOLDER, "own", "new") == 0
    assert kde.of("removeEntry", "ss", FOLDER, "new") == 0
    peer.create("z", {"a": "b"})
    unlocked.lock()
    assert unlocked.locker().returncode == 0
    own = [("entryUpdated", KDEWALLET, FOLDER, "own")] * 2 + [
        ("entryRenamed", KDEWALLET, FOLDER, "own", "new"), ("entryDeleted", KDEWALLET, FOLDER, "new")]
    assert announced() == own
    peer.close()
