"""latchkey-kwallet with KDE's programs from Debian 13: kwallet-query, and programs on libKF6Wallet and QtKeychain."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from support.clients import bring_back, bring_to
from support.foreign import KWallet, seen
from support.importing import encoded
from support.kdeprogram import NAMES, SOURCE, WIDE, Program, asked, fill, use_everything
from support.kderoot import Inside, entrance, root_of
from support.kwallet import FOLDER, Client, process_of, qt_map, qt_text, serve
from support.peer import Peer

pytestmark = [
    pytest.mark.night("kwallet"), pytest.mark.skipif(os.getuid() != 0, reason="another Debian's programs need a root of their own")]

# QtKeychain's error.
ENTRY_NOT_FOUND = "1"


@pytest.fixture(scope="module")
def root():
    with root_of("trixie", "kwallet6", "libkf6wallet-dev", "qtkeychain-qt6-dev", "qt6-base-dev", "g++", "pkgconf") as folder:
        yield folder


@contextlib.contextmanager
def built(root, source, *flags):
    """A program that is compiled in the other root."""
    # The session's user and the other root can both reach this folder.
    with tempfile.TemporaryDirectory(prefix="kwallet-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        shutil.copy(source, folder)
        build = f"g++ -fPIC -O1 -I/usr/include/KF6/KWallet -o program {source.name} $(pkg-config --cflags --libs Qt6Gui) {' '.join(flags)}"
        subprocess.run(["chroot", root, "sh", "-ec", f"cd {folder}; {build}"], check=True)
        yield pathlib.Path(folder, "program")


@pytest.fixture(scope="module")
def program(root):
    """The program on libKF6Wallet."""
    with built(root, SOURCE, "-lKF6Wallet") as binary:
        yield binary


@pytest.fixture(scope="module")
def keychain(root):
    """The program on QtKeychain."""
    with built(root, SOURCE.with_name("keychainprogram.cpp"), "-lqt6keychain") as binary:
        yield binary


@pytest.mark.parametrize("way", ["open", "open-async"])
def test_a_program_of_kdes(unlocked, root, program, way):
    serve(unlocked)
    app = Program(Inside(root, unlocked), program)
    assert len(seen(unlocked)) == 0 and use_everything(app, way) == len(seen(unlocked))
    assert process_of(unlocked) == process_of(unlocked, "org.kde.kwalletd6")
    # Behind a lock, the program reads nothing and loses nothing.
    unlocked.lock()
    name = NAMES[1]
    assert app.value("read-password", name) == (0, [b""]) and app("write-password", name, "lost") == "-1"
    assert unlocked.locker().returncode == 0
    assert app.value("read-password", name) == (0, [f"secret of {name}".encode()])
    app.end()


@pytest.mark.second_try
def test_kwallet_query_says_what_it_says_with_kwalletd(unlocked, root):
    """The control: Debian's kwalletd6 with the same entries."""
    serve(unlocked)
    client = Client(unlocked, version=6)
    client.open()
    fill(client)
    programs = Inside(root, unlocked)
    control = KWallet(unlocked, command=[*entrance(root, unlocked), "kwalletd6"])
    try:
        entries = [[FOLDER, name, 1, encoded(qt_text(f"secret of {name}"))] for name in NAMES]
        control.write_entries([*entries, [FOLDER, "map", 3, encoded(qt_map({"key": "value", WIDE: WIDE}))]])
        told = asked(programs)
        assert told["password"] == (0, [f"secret of {WIDE}"]) and told["entries"] == (0, sorted([*NAMES, "map"]))
        assert told == asked(programs, unlocked.environment | control.environment)
    finally:
        control.close()


def test_a_program_on_qtkeychain(unlocked, root, keychain):
    """In a Plasma session, QtKeychain uses KWallet instead of the Secret Service. KMail's resources use QtKeychain."""
    serve(unlocked)
    plasma = unlocked.environment | {"XDG_CURRENT_DESKTOP": "KDE", "KDE_SESSION_VERSION": "6"}
    said = lambda *words: Inside(root, unlocked).run(keychain, *words, env=plasma, timeout=60).stdout.split()
    value, other = bytes(range(256)), "of the app".encode()
    assert said("read", "example.app", WIDE) == [ENTRY_NOT_FOUND]
    assert said("write", "example.app", WIDE, value.hex()) == ["0"] and said("read", "example.app", WIDE) == ["0", value.hex()]
    client = Client(unlocked, version=6)
    client.open()
    assert client.entries("example.app") == [WIDE] and client.read(WIDE, "example.app") == value
    # Behind the lock, the program cannot read or remove the entry.
    peer = Peer(unlocked)
    bring_to("behind a locker", unlocked, peer)
    assert said("read", "example.app", WIDE)[1:] == []
    # QtKeychain ignores the answers to these calls.
    for words in (("write", "example.app", WIDE, other.hex()), ("delete", "example.app", WIDE)):
        said(*words)
    bring_back("behind a locker", unlocked, peer)
    assert said("read", "example.app", WIDE) == ["0", value.hex()]
    assert said("delete", "example.app", WIDE) == ["0"] and seen(unlocked) == []
    peer.close()
