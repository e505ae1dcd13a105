"""latchkey-kwallet beside KDE's own proxy to the Secret Service, the kwalletd6 of Debian's next release. Each reads the
other's entries.
"""

import os
import subprocess

import pytest
from support.foreign import seen
from support.kderoot import Inside, root_of
from support.kwallet import FOLDER, NAMES, Client, end, process_of, serve
from support.pace import seconds
from support.session import BUS, wait_until

pytestmark = [
    pytest.mark.night("kwallet"), pytest.mark.skipif(os.getuid() != 0, reason="another Debian's programs need a root of their own")]

PROXY = "org.kde.kwalletd6"
# With these settings, the proxy keeps its entries in whatever Secret Service runs.
SETTINGS = "[KSecretD]\nEnabled=false\n[Wallet]\nEnabled=true\n"
WIDE = "\u00e4/\u6f22 \U0001f511"
VALUES = {"plain": f"secret {WIDE}", WIDE: "x", "map": {"a": "1", WIDE: WIDE}, "stream": bytes(range(256)) * 9}
CHANGED = {"plain": "changed", "new": "by the proxy", "new map": {"k": "v"}, "new stream": b"octets of the proxy"}


@pytest.fixture(scope="module")
def root():
    """A root folder with the kwalletd6 of Debian's next release."""
    with root_of("forky", "kwallet6") as folder:
        yield folder


def unserve(session):
    """Prevents the bus from starting latchkey-kwallet."""
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
    proxy = Inside(root, unlocked).start("/usr/bin/kwalletd6", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
