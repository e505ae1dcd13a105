"""latchkey-kwallet with KDE's kwallet-query, and with a program on libKF5Wallet."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import types

import pytest
from support.clients import bring_back, bring_to
from support.foreign import KWallet, seen
from support.importing import encoded
from support.kdeprogram import NAMES, SCREENLESS, SOURCE, WIDE, Program, asked, fill, query, use_everything
from support.kwallet import FOLDER, KDEWALLET, Client, end, process_of, qt_map, qt_text, serve
from support.notifications import know_the_first, notifications  # noqa: F401
from support.peer import Peer
from support.session import wait_until

pytestmark = pytest.mark.night("kwallet")

HEADERS = pathlib.Path("/usr/include/KF5/KWallet")
NO_WALLET = 1
# The exit status of latchkey import.
NO_SERVICE = 3


@pytest.fixture(scope="module")
def program():
    """The test's program on libKF5Wallet."""
    if not HEADERS.is_dir():
        pytest.skip("libkf5wallet-dev is missing")
    asked = ["pkg-config", "--cflags", "--libs", "Qt5Gui"]
    flags = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    # The session's user can reach this folder.
    with tempfile.TemporaryDirectory(prefix="kwallet-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        binary = pathlib.Path(folder) / "program"
        subprocess.run(["g++", "-fPIC", "-O1", f"-I{HEADERS}", "-o", binary, SOURCE, *flags, "-lKF5Wallet"], check=True)
        binary.chmod(0o755)
        yield binary


def test_kwallet_query(unlocked):
    serve(unlocked)
    client = Client(unlocked)
    client.open()
    fill(client)
    told = asked(unlocked)
    assert told["entries"] == (0, sorted([*NAMES, "map"])) and told["password"][1] == [f"secret of {WIDE}"]
    assert json.loads("".join(query(unlocked, "-r", "map", KDEWALLET).stdout)) == {"key": "value", WIDE: WIDE}
    # kwallet-query reports that it could not read, but ends with status 0. With kwalletd5, kwallet-query does the same.
    assert told["no wallet"] == (NO_WALLET, ["Wallet none not found"]) and told["no folder"][1] == ["The folder none does not exist!"]
    assert told["no entry"][1] == [f"Failed to read entry none value from the {KDEWALLET} wallet."]
    assert told["write"] == (0, "new\nlines\n")
    # Behind a lock, kwallet-query finds the entry, but reads and stores nothing.
    peer = Peer(unlocked)
    bring_to("behind a locker", unlocked, peer)
    assert query(unlocked, "-r", WIDE, KDEWALLET).stdout == ""
    assert "Failed to write entry plain" in query(unlocked, "-w", "plain", KDEWALLET, input="lost?\n").stdout
    bring_back("behind a locker", unlocked, peer)
    assert query(unlocked, "-r", "plain", KDEWALLET).stdout == "new\nlines\n"
    peer.close()


@pytest.mark.second_try
def test_kwallet_query_says_what_it_says_with_kwalletd(unlocked):
    """The control: kwalletd5 with the same entries."""
    serve(unlocked)
    client = Client(unlocked)
    client.open()
    fill(client)
    control = KWallet(unlocked)
    try:
        entries = [[FOLDER, name, 1, encoded(qt_text(f"secret of {name}"))] for name in NAMES]
        control.write_entries([*entries, [FOLDER, "map", 3, encoded(qt_map({"key": "value", WIDE: WIDE}))]])
        environment = unlocked.environment | control.environment
        assert asked(unlocked) == asked(unlocked, environment)
    finally:
        control.close()


@pytest.mark.parametrize("way", ["open", "open-async"])
def test_a_program_of_kdes(unlocked, program, way):
    serve(unlocked)
    app = Program(unlocked, program)
    assert use_everything(app, way) == len(seen(unlocked))
    app.end()


def test_a_program_of_kdes_with_kwalletd(unlocked, program):
    """The control: kwalletd5 answers the program in the same way."""
    control = KWallet(unlocked)
    try:
        beside = types.SimpleNamespace(start=unlocked.start, environment=unlocked.environment | control.environment)
        # kwalletd5 allows a program of this name to read without a question.
        app = Program(beside, program, "test")
        assert use_everything(app, "open") == len(NAMES) + 1
        app.end()
    finally:
        control.close()


@pytest.mark.parametrize("way", ["open", "open-async"])
def test_the_local_and_the_network_wallet(unlocked, program, way):
    """Some people have a local and a network wallet. The two wallets must stay separate."""
    settings = unlocked.home / ".config/kwalletrc"
    unlocked.run("mkdir", "-p", settings.parent, check=True)
    settings.write_text("[Wallet]\nUse One Wallet=false\nLocal Wallet=here\nDefault Wallet=everywhere\n")
    os.chown(settings, unlocked.uid, unlocked.gid)
    serve(unlocked)
    local, network = (Program(unlocked, program, name) for name in ("local", "network"))
    assert local.texts("local") == ["here", "everywhere"]
    for app, wallet in ((local, "here"), (network, "everywhere")):
        assert app(way, wallet) == "1" and app("folder", WIDE) == "1" and app("write-password", "a", f"of {wallet}") == "0"
    for app, wallet in ((local, "here"), (network, "everywhere")):
        assert app.texts("entries") == ["a"] and app.value("read-password", "a") == (0, [f"of {wallet}".encode()])
        app.end()
    # The network wallet is the default collection, because most programs use it.
    assert sorted(row[0] for row in seen(unlocked)) == ["everywhere", "here"]


def test_programs_survive_locks_and_kills(unlocked, program):
    """50 cycles of lock and unlock. Programs start before, behind and after the lock, and the test kills each of the
    two daemons. No entry is lost or doubled, and no call hangs."""
    serve(unlocked)
    peer = Peer(unlocked)
    before = Program(unlocked, program, "before")
    expected = {}
    for cycle in range(50):
        if before("is-open") != "1":
            assert before("open", KDEWALLET) == "1" and before("folder", FOLDER) == "1"
        name = f"entry {cycle}"
        assert before("write-password", name, f"value {cycle}") == "0"
        expected[name] = f"value {cycle}"
        unlocked.lock()
        peer.activate_screen_saver(True)
        behind = Program(unlocked, program, "behind")
        assert behind("open", KDEWALLET) == "1" and behind("folder", FOLDER) == "1"
        for app in (before, behind):
            # The read returns an empty value or an error. In both cases, the write fails and the old value stays.
            assert app.value("read-password", name) == (0, [b""]) and app("write-password", name, "lost") == "-1"
        assert behind("write-password", f"behind {cycle}", "new") == "0"
        expected[f"behind {cycle}"] = "new"
        if cycle % 10 == 3:
            end(unlocked, signal.SIGKILL)
        if cycle % 10 == 7:
            unlocked.restart(signal.SIGKILL)
        assert unlocked.locker().returncode == 0
        peer.activate_screen_saver(False)
        if cycle % 10 == 7:
            assert unlocked.login().returncode == 0
        after = Program(unlocked, program, "after")
        assert after("open", KDEWALLET) == "1" and after("folder", FOLDER) == "1"
        assert after.value("read-password", name) == (0, [expected[name].encode()])
        for app in (behind, after):
            app.end()
    reader = Client(unlocked, "reader")
    reader.open()
    assert reader.of("passwordList", "s", FOLDER) == expected
    assert len(seen(unlocked)) == len(expected) and process_of(unlocked) is not None
    before.end()
    peer.close()


def test_wallets_of_before_are_offered_once(new_session, notifications):
    """A notification offers the import when a program opens a wallet. latchkey-kwallet does not read the old files."""
    know_the_first(new_session)
    folder = ".local/share/kwalletd"
    new_session.run("sh", "-c", f"mkdir -p {folder} && touch {folder}/kdewallet.kwl && chmod 0 {folder}/kdewallet.kwl", check=True)
    assert new_session.login().returncode == 0
    serve(new_session)
    for _ in range(2):
        client = Client(new_session)
        assert client.open() > 0
        wait_until(lambda: notifications.look(), "the notification")
        # A file records that the person has seen the notification.
        wait_until(lambda: (new_session.home / ".local/state/latchkey/kwallet-notice").exists(), "the note")
        client.call("close", "sb", KDEWALLET, True)
        assert client.open() > 0
        end(new_session)
    ((title, text),) = notifications.look()
    assert "KDE" in title and "latchkey import kwallet" in text


def test_an_import_of_the_running_kwallet_is_none_of_this_one(unlocked):
    serve(unlocked)
    client = Client(unlocked)
    client.open()
    done = unlocked.run("latchkey", "import", "kwallet", "--running")
    assert done.returncode == NO_SERVICE and "latchkey-kwallet answers" in done.stderr


def test_ksshaskpass(unlocked):
    """ksshaskpass answers ssh with a stored passphrase."""
    serve(unlocked)
    client = Client(unlocked)
    client.open()
    key = f"{unlocked.home}/.ssh/id {WIDE}"
    assert client.write(key, "of the key", "ksshaskpass") == 0
    done = unlocked.run("ksshaskpass", f"Enter passphrase for key '{key}': ", env=unlocked.environment | SCREENLESS)
    assert (done.returncode, done.stdout) == (0, "of the key"), done.stderr
    # The control: kwalletd5 with the same entry.
    control = KWallet(unlocked)
    try:
        control.write_entries([["ksshaskpass", key, 1, encoded(qt_text("of the key"))]])
        told = unlocked.run("ksshaskpass", f"Enter passphrase for key '{key}': ", env=unlocked.environment | control.environment | SCREENLESS)
        assert (told.returncode, told.stdout) == (done.returncode, done.stdout), told.stderr
    finally:
        control.close()
