"""latchkey-kwallet beside KDE's own proxy to the Secret Service, the kwalletd6 of Debian's next release: each reads what the other
wrote."""

import os
import pathlib
import shutil
import subprocess

import pytest
from support.foreign import seen
from support.kwallet import FOLDER, NAMES, Client, end, process_of, serve
from support.pace import seconds
from support.session import BUS, wait_until

pytestmark = [
    pytest.mark.night("kwallet"), pytest.mark.skipif(os.getuid() != 0, reason="another Debian's programs need a root of their own")]

PLACE = pathlib.Path("/var/tmp/latchkey-kde")
RELEASE, PACKAGE = "forky", "kwallet6"
MIRROR = "http://deb.debian.org/debian"
PROXY = "org.kde.kwalletd6"
# It keeps everything in the Secret Service that there is.
SETTINGS = "[KSecretD]\nEnabled=false\n[Wallet]\nEnabled=true\n"
WIDE = "\u00e4/\u6f22 \U0001f511"
VALUES = {"plain": f"secret {WIDE}", WIDE: "x", "map": {"a": "1", WIDE: WIDE}, "stream": bytes(range(256)) * 9}
CHANGED = {"plain": "changed", "new": "by the proxy", "new map": {"k": "v"}, "new stream": b"octets of the proxy"}
PASSED = "HOME DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME USER LANG".split()


@pytest.fixture(scope="module")
def root():
    """A root with that KWallet, which takes some minutes once."""
    folder, partial = PLACE / RELEASE, PLACE / f"{RELEASE}.partial"
    if not folder.is_dir():
        PLACE.mkdir(exist_ok=True)
        shutil.rmtree(partial, ignore_errors=True)
        # A mirror may be older than a release in the making says that it is good for.
        done = subprocess.run(
            ["mmdebstrap", "--variant=apt", '--aptopt=Acquire::Check-Valid-Until "false"', f"--include={PACKAGE}", RELEASE, partial,
             MIRROR], stdin=subprocess.DEVNULL, capture_output=True, text=True)  # fmt: skip
        if done.returncode != 0:
            pytest.skip(f"no root of {RELEASE}: {done.stderr[-500:]}")
        partial.rename(folder)
    subprocess.run(["mount", "--bind", "/tmp", folder / "tmp"], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", folder / "tmp"], check=True)


def unserve(session):
    """Has the bus start latchkey-kwallet no more."""
    end(session)
    for name in NAMES:
        (session.root / f"services/{name}.service").unlink()
    session.run("dbus-send", "--session", "--print-reply", *BUS, "org.freedesktop.DBus.ReloadConfig", check=True)


def test_each_reads_what_the_other_wrote(unlocked, root):
    serve(unlocked)
    ours = Client(unlocked, version=6)
    ours.open()
    for folder in (FOLDER, WIDE):
        for entry, value in VALUES.items():
            assert ours.write(entry, value, folder) == 0
    unserve(unlocked)
    settings = unlocked.home / ".config/kwalletrc"
    settings.write_text(SETTINGS)
    os.chown(settings, unlocked.uid, unlocked.gid)
    environment = [f"{name}={unlocked.environment[name]}" for name in PASSED] + ["QT_QPA_PLATFORM=offscreen", "PATH=/usr/bin:/bin"]
    proxy = subprocess.Popen(
        ["chroot", f"--userspec={unlocked.uid}:{unlocked.gid}", root, "/usr/bin/env", "-i", *environment, "/usr/bin/kwalletd6"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        wait_until(lambda: process_of(unlocked, PROXY) is not None, "the proxy", 30)
        theirs = Client(unlocked, version=6)
        assert theirs.open(theirs.call("networkWallet")) > 0
        for folder in (FOLDER, WIDE):
            assert {entry: theirs.read(entry, folder) for entry in theirs.entries(folder)} == VALUES
        for entry, value in CHANGED.items():
            assert theirs.write(entry, value) == 0
    finally:
        proxy.kill()
        proxy.wait(seconds(10))
    serve(unlocked)
    ours = Client(unlocked, version=6)
    ours.open()
    assert {entry: ours.read(entry) for entry in ours.entries()} == VALUES | CHANGED
    assert len(seen(unlocked)) == len(VALUES) + len(VALUES | CHANGED)
