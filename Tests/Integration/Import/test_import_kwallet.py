"""latchkey import kwallet: wallets of the real kwalletd5 with a password or a GPG key, wallets of KDE 4, and the
entries that a running KWallet reveals.
"""

import json
import struct
import subprocess

import pytest
from support.foreign import PASSWORD, KWallet, seen
from support.importing import (
    DONE, FAILED, PARTLY, carry, counts, encoded, gpg_home, marked, old_wallet, place, qt_octets, qt_text, report, run, state)  # fmt: skip
from support.pace import seconds
from support.session import Session, wait_until

pytestmark = [pytest.mark.night("imports"), pytest.mark.second_try]

FOLDER = ".local/share/kwalletd"
NO_SERVICE = 3
COLLECTION = "kdewallet"
TEXT, STREAM, MAP = 1, 2, 3
WIDE = "\u00e4\u6f22\U0001f511"


def mapped(pairs):
    return struct.pack(">I", len(pairs)) + b"".join(qt_text(key) + qt_text(value) for key, value in pairs.items())


# Folder, entry, kind, and the value as Qt writes it. Then the type and the secret that KDE's programs look for.
ENTRIES = [
    ["Passwords", "plain", TEXT, qt_text("secret"), "plaintext", b"secret"],
    ["Passwords", f"{WIDE} name", TEXT, qt_text(WIDE * 3 + "\n"), "plaintext", (WIDE * 3 + "\n").encode()],
    ["Passwords", "empty", TEXT, qt_text(""), "plaintext", b""],
    ["Passwords", "null", TEXT, b"\xff\xff\xff\xff", "plaintext", b""],
    ["Form Data", "https://a.org/#login", MAP, mapped({"user": 'm"e\\', "a": "\x01\t\n/\x7f", WIDE: WIDE}), "map",
     ('{"a":"\\u0001\\t\\n/\x7f","user":"m\\"e\\\\","' + WIDE + '":"' + WIDE + '"}').encode()],
    ["Form Data", "empty map", MAP, mapped({}), "map", b"{}"],
    [WIDE, "octets", STREAM, bytes(range(256)) * 300, "base64", encoded(bytes(range(256)) * 300).encode()],
    [WIDE, "none", STREAM, b"", "base64", b""],
    [WIDE, "no map", MAP, b"\0\0\0\x09", "base64", b"AAAACQ=="],
    ["", "outside", TEXT, qt_text("x"), "plaintext", b"x"],
]  # fmt: skip
# Items that programs stored through KWallet's Secret Service. The programs find these items only by their own
# attributes.
SERVED = [
    ["kdewallet", "A label", "org.example.Program", {"user": "me", "server": "a.org"}, encoded(b"a secret")],
    ["kdewallet", "A label", None, {"app_id": "org.example.App"}, encoded(bytes(range(64)))],
]


def own(folder, entry, kind, secret):
    attributes = {"server": folder, "type": kind, "user": entry, "xdg:schema": "org.qt.keychain"}
    return [COLLECTION, f"{folder}/{entry}", [list(pair) for pair in sorted(attributes.items())], encoded(secret)]


ARRIVED = [own(folder, entry, kind, secret) for folder, entry, _, _, kind, secret in ENTRIES]
ARRIVED_SERVED = marked(
    [COLLECTION, label, sorted([name, value] for name, value in (attributes | ({"xdg:schema": schema} if schema else {})).items()),
     secret] for _, label, schema, attributes, secret in SERVED)  # fmt: skip


@pytest.fixture(scope="module")
def kwallet(stage):
    session = Session(stage)
    opened = KWallet(session)
    opened.write_entries([[folder, entry, kind, encoded(value)] for folder, entry, kind, value, _, _ in ENTRIES])
    # KWallet's Secret Service only has wallets that existed at its start.
    opened.stop()
    opened.start()
    opened.write(SERVED)
    # This call makes KWallet write the file now instead of later.
    opened.write_entries([])
    yield opened
    opened.close()
    session.close()


def test_everything_arrives(kwallet, unlocked):
    kwallet.stop()
    folder = carry(unlocked, kwallet.folder.iterdir(), FOLDER)
    kwallet.start()
    before = state(folder)
    expected = sorted(ARRIVED + ARRIVED_SERVED)
    dry = run(unlocked, "kwallet", "--dry-run", "--json")
    assert dry.returncode == DONE, dry.stderr
    assert counts(dry) == {"items": len(expected), "added": len(expected)} and seen(unlocked) == []
    done = run(unlocked, "kwallet")
    assert done.returncode == DONE and f"rm -- '{folder}/kdewallet.kwl'" in done.stdout, done.stderr
    assert seen(unlocked) == expected
    again = run(unlocked, "kwallet", "--json")
    assert again.returncode == DONE and counts(again) == {"items": len(expected), "same": len(expected)}
    assert seen(unlocked) == expected and state(folder) == before
    assert PASSWORD not in done.stdout + done.stderr + unlocked.log()


# kwalletd of KDE Frameworks 6.14 and later makes these libsecret calls. Until 6.28, programs name the wallet from
# kwalletrc. From 6.29 on, kwalletd names the default collection. kwalletd takes the first collection with that label,
# or creates one. kwalletd finds entries by server, user and type, and reads the entries as text.
LOOKUP = """
import base64, json, sys
import gi
gi.require_version("Secret", "1")
from gi.repository import Gio, GLib, Secret
named, entries = json.load(sys.stdin)
service = Secret.Service.get_sync(Secret.ServiceFlags.OPEN_SESSION | Secret.ServiceFlags.LOAD_COLLECTIONS, None)
text = Secret.SchemaAttributeType.STRING
schema = Secret.Schema.new("org.qt.keychain", Secret.SchemaFlags.DONT_MATCH_NAME, {"user": text, "server": text, "type": text})
default = service.get_connection().call_sync(service.get_name(), "/org/freedesktop/secrets", "org.freedesktop.Secret.Service",
    "ReadAlias", GLib.Variant("(s)", ("default",)), None, 0, -1, None).unpack()[0]
labels = {one.get_object_path(): one.get_label() for one in service.get_collections()}
def opened(name):
    service.load_collections_sync(None)
    for collection in service.get_collections():
        if collection.get_label() == name:
            return collection
    return Secret.Collection.create_sync(service, name, None, Secret.CollectionCreateFlags.NONE, None)
def read(collection, folder, entry, kind):
    given = {"server": folder, "user": entry, "type": kind}
    for item in collection.search_sync(schema, given, Secret.SearchFlags.ALL | Secret.SearchFlags.LOAD_SECRETS, None):
        value = item.get_secret()
        return None if value.get_text() is None else base64.b64encode(bytes(value.get())).decode()
found = {}
for name in {named or labels[default], labels[default]}:
    collection = opened(name)
    found[name] = [read(collection, *entry) for entry in entries]
service.load_collections_sync(None)
labels = [one.get_label() for one in service.get_collections() if not one.get_object_path().endswith("/session")]
print(json.dumps([found, sorted(labels)]))
"""


def found_by_kde(session, named):
    """The secrets that KDE's programs find, by the label of the collection. Also returns the labels of all collections
    afterwards."""
    entries = [[folder, entry, kind] for folder, entry, _, _, kind, _ in ENTRIES]
    done = session.run("/usr/bin/python3", "-c", LOOKUP, input=json.dumps([named, entries]), check=True, timeout=120)
    return json.loads(done.stdout)


SECRETS = [encoded(secret) for *_, secret in ENTRIES]


def carried(kwallet, session, name="kdewallet"):
    """Copies the wallet's files into the session's home, under another name."""
    folder = session.home / FOLDER
    for file in kwallet.folder.iterdir():
        place(session, f"{FOLDER}/{file.name.replace('kdewallet', name)}", file.read_bytes())
    return folder


@pytest.mark.parametrize("settings, wallet, label", [
    (None, "kdewallet", "kdewallet"), ("[Wallet]\nEnabled=true\n", "kdewallet", "kdewallet"),
    ("[Other]\nDefault Wallet=none\n\n[Wallet]\nDefault Wallet=Meine\nEnabled=true\n", "Meine", "Meine"),
    ("[Wallet][$i]\nDefault Wallet[$i]=Meine\n", "Meine", "Meine"), ("[Wallet]\nDefault Wallet=\n", "kdewallet", "kdewallet"),
    # kwalletd has already moved this wallet to the Secret Service, and its settings name that default collection.
    ("[Wallet]\nDefault Wallet=Login\n", "kdewallet", "Login")], ids=["none", "unnamed", "other", "kept", "empty", "moved"])  # fmt: skip
def test_programs_of_kde_find_their_default_wallet(kwallet, unlocked, settings, wallet, label):
    if settings is not None:
        place(unlocked, ".config/kwalletrc", settings)
    carried(kwallet, unlocked, wallet)
    for words in (("--dry-run",), (), ("--dry-run",), ()):
        done = run(unlocked, "kwallet", *words)
        assert done.returncode == DONE, done.stdout + done.stderr
        if words:
            assert found_by_kde(unlocked, None)[1] == (["Login"] if done.stdout.count("would be imported") else [label])
    found, labels = found_by_kde(unlocked, "Meine" if wallet == "Meine" else "kdewallet" if label != "Login" else "Login")
    assert found == {label: SECRETS} and labels == [label]
    assert "12 there already" in done.stdout


def test_a_default_wallet_beside_collections_that_were_named(kwallet, unlocked):
    """The import renames no collection of the person. The import creates a collection with the wallet's name, and the
    report names the programs that look elsewhere."""
    carried(kwallet, unlocked)
    collection = "/org/freedesktop/secrets/collection/login"
    unlocked.run("busctl", "--user", "set-property", "org.freedesktop.secrets", collection, "org.freedesktop.Secret.Collection", "Label",
                 "s", "Own", check=True)  # fmt: skip
    done = run(unlocked, "kwallet")
    assert done.returncode == DONE and "6.29 and later look in your default collection, 'Own'" in done.stdout, done
    found, labels = found_by_kde(unlocked, "kdewallet")
    assert labels == ["Own", "kdewallet"] and found == {"kdewallet": SECRETS, "Own": [None] * len(SECRETS)}
    # Versions that look in the default collection find the secrets too.
    assert run(unlocked, "kwallet", "--into", "Own").returncode == DONE
    assert found_by_kde(unlocked, None)[0] == {"Own": SECRETS}


def test_what_lies_in_the_old_place_is_named(kwallet, unlocked):
    folder = carried(kwallet, unlocked)
    done = run(unlocked, "kwallet")
    told = [line for line in done.stdout.splitlines() if line.startswith("  rm -- ")]
    assert told == [f"  rm -- '{folder}/kdewallet{ending}'" for ending in (".kwl", ".salt", "_attributes.json")]
    # These commands remove all of KWallet's files.
    unlocked.run("sh", "-c", "\n".join(told), check=True)
    assert list(folder.iterdir()) == []


def test_a_running_kwallet(kwallet, unlocked):
    words = ("kwallet", "--running", "--bus", kwallet.bus)
    # Only a file beside the wallet has the attributes of items from KWallet's Secret Service.
    carry(unlocked, kwallet.folder.glob("*_attributes.json"), FOLDER)
    done = run(unlocked, *words)
    assert done.returncode == DONE, done.stdout + done.stderr
    assert seen(unlocked) == sorted(ARRIVED + ARRIVED_SERVED)
    assert counts(run(unlocked, *words, "--json")) == {"items": 12, "same": 12}
    assert "There are: kdewallet" in run(unlocked, *words, "--collection", "nosuch").stderr
    assert "KWallet does not run" in run(unlocked, "kwallet", "--running").stderr


# ---- a wallet with a GPG key ----


GPG_WALLET = b"KWALLET\n\r\0\r\n\0\1\2\0"


def gpg_key(session):
    lines = session.run("gpg", "--batch", "--with-colons", "--list-secret-keys", check=True).stdout.splitlines()
    return next(fields[4] for fields in (line.split(":") for line in lines) if fields[0] == "sec")


def gpg_wallet(session, key):
    """A wallet without entries: the key's number, the hashes of all names, and the entries."""
    content = qt_text(key) + qt_octets(struct.pack(">I", 0)) + qt_octets(b"")
    source = place(session, "wallet", content)
    session.run("gpg", "--batch", "--recipient", key, "--encrypt", source, check=True)
    source.unlink()
    return GPG_WALLET + source.with_name("wallet.gpg").read_bytes()


@pytest.fixture(scope="module")
def gpg_kwallet(stage):
    """KWallet with a wallet that it has encrypted with a GPG key."""
    session = Session(stage)
    with gpg_home(session):
        key = gpg_key(session)
        opened = KWallet(session, wallet=gpg_wallet(session, key))
        opened.write_entries([[folder, entry, kind, encoded(value)] for folder, entry, kind, value, _, _ in ENTRIES])
        opened.stop()
        opened.start()
        opened.write_entries([])
        opened.write(SERVED)
        opened.write_entries([])
        yield opened
        opened.close()
    session.close()


def test_the_file_of_a_wallet_for_gpg_stays_behind_and_the_way_to_it_is_told(gpg_kwallet, unlocked):
    folder = carry(unlocked, gpg_kwallet.folder.iterdir(), FOLDER)
    file = folder / "kdewallet.kwl"
    for words in ((), (file,)):
        done = run(unlocked, "kwallet", *words)
        assert done.returncode == FAILED and f"{file} is encrypted with GPG; use 'latchkey import kwallet --running'" in done.stderr
        assert "Nothing was imported." in done.stderr and done.stdout == ""
    assert seen(unlocked) == []


def test_a_running_kwallet_reveals_a_wallet_for_gpg(gpg_kwallet, unlocked):
    # The file has KWallet's own format, and that key opens it.
    wallet = (gpg_kwallet.folder / "kdewallet.kwl").read_bytes()
    assert wallet.startswith(GPG_WALLET)
    sealed = place(gpg_kwallet.session, "sealed.gpg", wallet[len(GPG_WALLET) :])
    gpg_kwallet.session.run("gpg", "--batch", "--output", sealed.with_suffix(""), "--decrypt", sealed, check=True)
    content = sealed.with_suffix("").read_bytes()
    assert all(qt_text(entry) + struct.pack(">I", kind) + qt_octets(value) in content for _, entry, kind, value, *_ in ENTRIES if value)
    # Only a file beside the wallet has the attributes of items from KWallet's Secret Service.
    carry(unlocked, gpg_kwallet.folder.glob("*_attributes.json"), FOLDER)
    before = state(gpg_kwallet.folder)
    words = ("kwallet", "--running", "--bus", gpg_kwallet.bus)
    done = run(unlocked, *words)
    assert done.returncode == DONE, done.stdout + done.stderr
    expected = sorted(ARRIVED + ARRIVED_SERVED)
    assert seen(unlocked) == expected
    assert counts(run(unlocked, *words, "--json")) == {"items": len(expected), "same": len(expected)}
    assert seen(unlocked) == expected and state(gpg_kwallet.folder) == before


# This pinentry answers later than the usual timeout of a bus call, and notes that it was asked.
SLOW_PINENTRY = """#!/usr/bin/python3
import pathlib, sys, time
print("OK", flush=True)
for line in sys.stdin:
    if line.startswith("GETPIN"):
        pathlib.Path(__file__).with_name("asked").touch()
        time.sleep(15)
        print("D the key's passphrase")
    print("OK", flush=True)
"""


@pytest.fixture
def asking_kwallet(unlocked):
    """KWallet with a wallet for a GPG key. The key has a passphrase."""
    with gpg_home(unlocked, "the key's passphrase") as home:
        wallet = gpg_wallet(unlocked, gpg_key(unlocked))
        pinentry = place(unlocked, "pinentry", SLOW_PINENTRY)
        pinentry.chmod(0o755)
        (home / "gpg-agent.conf").write_text(f"pinentry-program {pinentry}\n")
        # The agent remembers the passphrase from the creation of the key, so the test ends the agent.
        unlocked.run("gpgconf", "--kill", "all", check=True)
        opened = KWallet(unlocked, wallet=wallet)
        opened.words = ("env", "SYSTEMD_BUS_TIMEOUT=10s", "latchkey", "import", "kwallet", "--running", "--bus", opened.bus)
        yield opened
        opened.close()


def test_a_running_kwallet_may_wait_for_the_passphrase_of_a_key(asking_kwallet, unlocked):
    done = unlocked.run(*asking_kwallet.words, timeout=120)
    assert done.returncode == DONE and "0 items found" in done.stdout, done


def test_a_kwallet_that_ends_is_not_taken_for_the_vault(asking_kwallet, unlocked):
    process = unlocked.start(*asking_kwallet.words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until((unlocked.home / "asked").exists, "the question for the passphrase", 60)
    asking_kwallet.process.kill()
    told = process.communicate(timeout=seconds(60))
    assert process.returncode == NO_SERVICE and told[0] == "", told
    assert told[1] == "latchkey: KWallet does not answer, or has ended. Start it again, then run this again.\n"
    assert seen(unlocked) == []


@pytest.mark.filterwarnings("ignore:Blowfish")
@pytest.mark.parametrize("password", ["", "short", "p" * 17, "q" * 40, "r" * 70], ids=len)
def test_wallets_of_kde_4(unlocked, password):
    wallet = old_wallet(password.encode(), {"Passwords": [["a", TEXT, qt_text("secret")]]})
    # The file name stands for the wallet "old/1".
    file = place(unlocked, "old;2f1.kwl", wallet)
    done = run(unlocked, "kwallet", file, password=password)
    assert done.returncode == DONE, done.stderr
    assert seen(unlocked) == [["old/1", *own("Passwords", "a", "plaintext", b"secret")[1:]]]


def test_what_cannot_be_read(kwallet, unlocked):
    folder = carry(unlocked, kwallet.folder.iterdir(), FOLDER)
    file = folder / "kdewallet.kwl"
    done = run(unlocked, "kwallet", file, password="wrong")
    assert done.returncode == FAILED and "does not open with that password. Nothing was imported." in done.stderr
    whole = file.read_bytes()
    cut = place(unlocked, "cut/kdewallet.kwl", b"")
    place(unlocked, "cut/kdewallet.salt", (folder / "kdewallet.salt").read_bytes())
    for size in (0, 1, 11, 12, 15, 16, 19, 20, 40, 200, len(whole) // 2, len(whole) - 8, len(whole) - 1):
        cut.write_bytes(whole[:size])
        done = run(unlocked, "kwallet", cut)
        assert done.returncode == FAILED and "Nothing was imported" in done.stderr, (size, done)
    # This change flips one bit of a secret.
    at = len(whole) - 4000
    cut.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert run(unlocked, "kwallet", cut).returncode == FAILED
    cut.with_suffix(".salt").unlink()
    assert "has no salt beside it" in run(unlocked, "kwallet", cut).stderr
    assert seen(unlocked) == []
    # The command leaves out a wallet that GPG encrypts. The command imports the good wallet, and names the command for
    # the encrypted wallet.
    place(unlocked, f"{FOLDER}/gpg.kwl", b"KWALLET\n\r\0\r\n\0\1\2\0" + bytes(60))
    done = run(unlocked, "kwallet")
    assert done.returncode == PARTLY and "latchkey import kwallet --running" in done.stdout and "rm --" not in done.stdout
    assert report(run(unlocked, "kwallet", "--json"))["left"] == 1
