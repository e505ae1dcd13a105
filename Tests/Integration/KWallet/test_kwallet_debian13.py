"""latchkey-kwallet with Debian 13's programs of KDE's: its kwallet-query, and a program on its libKF6Wallet."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from support.foreign import KWallet, seen
from support.importing import encoded
from support.kdeprogram import NAMES, SOURCE, WIDE, Program, asked, fill, use_everything
from support.kderoot import Inside, entrance, root_of
from support.kwallet import FOLDER, Client, process_of, qt_map, qt_text, serve

pytestmark = [
    pytest.mark.night("kwallet"), pytest.mark.skipif(os.getuid() != 0, reason="another Debian's programs need a root of their own")]


@pytest.fixture(scope="module")
def root():
    with root_of("trixie", "kwallet6", "libkf6wallet-dev", "qt6-base-dev", "g++", "pkgconf") as folder:
        yield folder


@pytest.fixture(scope="module")
def program(root):
    """The program on libKF6Wallet."""
    # Where the session's user can run it, and the other root has it, too.
    with tempfile.TemporaryDirectory(prefix="kwallet-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        shutil.copy(SOURCE, folder)
        build = f"g++ -fPIC -O1 -I/usr/include/KF6/KWallet -o program {SOURCE.name} $(pkg-config --cflags --libs Qt6Gui) -lKF6Wallet"
        subprocess.run(["chroot", root, "sh", "-ec", f"cd {folder}; {build}"], check=True)
        yield pathlib.Path(folder, "program")


@pytest.mark.parametrize("way", ["open", "open-async"])
def test_a_program_of_kdes(unlocked, root, program, way):
    serve(unlocked)
    app = Program(Inside(root, unlocked), program)
    assert len(seen(unlocked)) == 0 and use_everything(app, way) == len(seen(unlocked))
    assert process_of(unlocked) == process_of(unlocked, "org.kde.kwalletd6")
    # Behind a lock it reads nothing, and loses nothing.
    unlocked.lock()
    name = NAMES[1]
    assert app.value("read-password", name) == (0, [b""]) and app("write-password", name, "lost") == "-1"
    assert unlocked.locker().returncode == 0
    assert app.value("read-password", name) == (0, [f"secret of {name}".encode()])
    app.end()


@pytest.mark.second_try
def test_kwallet_query_says_what_it_says_with_kwalletd(unlocked, root):
    """The control: that Debian's kwalletd6 with the same entries."""
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
