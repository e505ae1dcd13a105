"""latchkey import service from a running KWallet and KeePassXC. Items keep the attributes by which their programs find
them. The Secret Service reveals too little about some entries. The command leaves these entries out, and the report
names the command that imports these entries.
"""

import pathlib
import subprocess

import pytest
from support.exporting import fill
from support.foreign import KWallet, KeePassXC, OtherHome, seen
from support.importing import (
    DONE, PARTLY, arrived, counts, encoded, keepass_entry, keepass_string, kept, marked, qt_text, report, run)  # fmt: skip
from support.pace import seconds

pytestmark = [pytest.mark.night("imports"), pytest.mark.second_try]

STRIPPING = pathlib.Path(__file__).parents[2] / "support/strippingprovider.py"
TEXT, OCTETS = "text/plain", "application/octet-stream"
WIDE = "\u00e4\u6f22\U0001f511"
# Label, attributes, secret and content type, as programs store them.
STORED = [
    ("Mail", {"xdg:schema": "org.example.Mail", "server": "a.org", "user": WIDE}, b"secret", TEXT),
    ("Wide", {"n": "2"}, (WIDE + "\nline").encode(), TEXT), ("Octets", {"n": "3"}, bytes(range(256)), OCTETS),
    ("Empty", {"n": "4"}, b"", TEXT), ("App", {"app_id": "org.example.App"}, bytes(range(64)), OCTETS)]  # fmt: skip
ARRIVED = marked(arrived(label, attributes, secret) for label, attributes, secret, _ in STORED)


def left(done):
    return sorted((line["label"], line["reason"]) for line in report(done)["lines"] if line["outcome"] == "left")


def test_kwallet(unlocked):
    kwallet = KWallet(unlocked)
    try:
        # Entries in the form of KDE's programs.
        kwallet.write_entries([["Passwords", "plain", 1, encoded(qt_text("of KDE"))], ["Form Data", "octets", 2, encoded(b"\0\1")]])
        # KWallet's Secret Service only has wallets that existed at its start.
        kwallet.stop()
        kwallet.start()
        fill(kwallet, [(None, STORED)])
        words = ("service", "--bus", kwallet.bus, "--json")
        done = run(unlocked, *words)
        assert done.returncode == PARTLY and counts(done) == {"items": 7, "added": 5, "left": 2}, done.stdout + done.stderr
        for name, reason in left(done):
            assert name.startswith("/org/freedesktop/secrets/collection/kdewallet/")
            assert "is an entry of KDE's programs; 'latchkey import kwallet --running' imports it" in reason
        assert seen(unlocked) == ARRIVED
        assert sorted(item[4] for item in kept(unlocked)) == sorted(kind for *_, kind in STORED)
        again = run(unlocked, *words)
        assert again.returncode == PARTLY and counts(again) == {"items": 7, "same": 5, "left": 2} and seen(unlocked) == ARRIVED
        # The command from the report imports the remaining entries.
        assert run(unlocked, "kwallet", "--running", "--bus", kwallet.bus, "--into", "Wallet").returncode == DONE
        entries = [one[1] for one in seen(unlocked) if one[0] == "Wallet" and ["xdg:schema", "org.qt.keychain"] in one[2]]
        assert {"Passwords/plain", "Form Data/octets"} <= set(entries)
    finally:
        kwallet.close()


def test_keepassxc(unlocked):
    own = [keepass_entry(20, keepass_string("Title", "Own"), keepass_string("UserName", "me"), keepass_string("Password", "p1"),
                         keepass_string("URL", "https://a.org"), keepass_string("Notes", "a private note")),
           keepass_entry(21, keepass_string("Title", "Plain"), keepass_string("Password", "p2"))]  # fmt: skip
    keepassxc = KeePassXC(unlocked, entries="".join(own))
    try:
        fill(keepassxc, [(None, STORED)])
        words = ("service", "--bus", keepassxc.bus, "--json")
        done = run(unlocked, *words)
        assert done.returncode == PARTLY and counts(done) == {"items": 8, "added": 7, "left": 1}, done.stdout + done.stderr
        assert left(done) == [("Own", "its notes and one-time password; 'latchkey import keepass' imports them")]
        here = seen(unlocked)
        # The import drops the attributes that KeePassXC adds to each item. With these extra attributes, a program could
        # not replace the item.
        assert [one for one in here if one[1] not in ("Own", "Plain")] == ARRIVED
        mine = {one[1]: (dict(map(tuple, one[2])), one[3]) for one in here if one[1] in ("Own", "Plain")}
        attributes, secret = mine["Own"]
        assert secret == encoded(b"p1") and "a private note" not in attributes.values()
        assert {"Title": "Own", "UserName": "me", "URL": "https://a.org", "Path": "/Own"}.items() <= attributes.items()
        assert mine["Plain"][1] == encoded(b"p2") and set(mine["Plain"][0]) == {"Title", "Path", "Uuid"}
        again = run(unlocked, *words)
        assert again.returncode == PARTLY and counts(again) == {"items": 8, "same": 7, "left": 1} and seen(unlocked) == here
        # A program replaces an imported item.
        unlocked.run("secret-tool", "store", "--label=Wide", "n", "2", input="newer", check=True)
        assert len([one for one in seen(unlocked) if one[1] == "Wide"]) == 1 and unlocked.lookup("n", "2") == "newer"
    finally:
        keepassxc.close()


def test_a_provider_that_strips_the_leading_zeros_of_a_shared_secret(unlocked):
    """KWallet strips the zeros too. A session with a stripped secret encrypts unreadable data, so the import opens and
    uses another session."""
    other = OtherHome(unlocked, "stripping")
    provider = unlocked.start("/usr/bin/python3", unlocked.lend(STRIPPING, "secretclient.py"), env=other.environment, stdout=subprocess.PIPE, text=True)
    try:
        assert provider.stdout.readline() == "ready\n"
        done = run(unlocked, "service", "--bus", other.bus, "--json")
        assert done.returncode == DONE and counts(done) == {"items": 1, "added": 1}, done.stdout + done.stderr
        assert [(one[1], one[3]) for one in seen(unlocked)] == [("One", encoded(b"a secret"))]
    finally:
        provider.terminate()
        said = provider.communicate(timeout=seconds(30))[0].splitlines()
        other.close()
    assert said == ["session 1: zeros", "closed 1", "session 2: none"]
