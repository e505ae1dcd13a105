"""latchkey import of a large set of items from each provider. The independent reader finds all these items in the
vault's files, with times and content types. A second import changes nothing. The part `corpora` takes 2,000 items from
each provider.
"""

import csv
import io
import json
import time

import pytest
from support.archive import opened
from support.corpus import COUNT, OCTETS, TEXT, TIMEOUT, items, secret, text
from support.exporting import everything, export, fill, private_folder
from support.foreign import GnomeKeyring, KWallet, KeePassXC, PASSWORD, seen
from support.importing import (
    DONE, KEEPASS_CUSTOM, arrived, carry, counts, encoded, gpg_home, keepass_database, keepass_entry, keepass_group, keepass_string, kept,
    place, qt_text, run, times, variant_keyring)  # fmt: skip
from support.session import Session

pytestmark = pytest.mark.night("imports")

LOGIN = "org.latchkey.Login"
ATTACHED = bytes(range(256))


class Expected:
    """An item that must be in the vault. A time that the provider does not tell is None."""

    def __init__(self, label, attributes, secret, content_type=TEXT, created=None, modified=None, collection="Login"):
        self.label, self.attributes, self.secret, self.content_type = label, attributes, secret, content_type
        self.created, self.modified, self.collection = created, modified, collection

    def seen(self):
        return arrived(self.label, self.attributes, self.secret, self.collection)

    def kept(self, started, ended):
        """The expected values in the vault's files. An unknown time may be any moment of the import."""
        moments = [told if told is not None else (started, ended) for told in (self.created, self.modified)]
        return (self.collection, self.label, sorted(self.attributes.items()), self.secret, self.content_type, *moments)


# Each function makes a source with COUNT secrets. The function returns the arguments of the command and the expected
# items.


TIMES = """
import json
import gi
gi.require_version("Secret", "1")
from gi.repository import Secret
service = Secret.Service.get_sync(Secret.ServiceFlags.LOAD_COLLECTIONS, None)
print(json.dumps({item.get_label(): [item.get_created(), item.get_modified()]
                  for collection in service.get_collections() for item in collection.get_items()}))
"""


def told_times(provider):
    """The times that the provider itself reports for each label."""
    return json.loads(provider.run("/usr/bin/python3", "-c", TIMES, check=True, timeout=TIMEOUT).stdout)


def gnome_keyring(session):
    keyring = GnomeKeyring(session)
    keyring.write([["Login", label, None, named, encoded(value)] for label, named, value, _ in items()], timeout=TIMEOUT)
    return keyring, told_times(keyring)


def from_gnome_keyring(session):
    keyring, told = gnome_keyring(session)
    keyring.close()
    carry(session, keyring.folder.iterdir(), ".local/share/keyrings")
    yield ("gnome-keyring",), [Expected(*item, *told[item[0]]) for item in items()]


def from_service(session):
    """gnome-keyring stores no content type, and returns the same content type for all items."""
    keyring, told = gnome_keyring(session)
    yield ("service", "--bus", keyring.bus), [Expected(label, named, value, TEXT, *told[label]) for label, named, value, _ in items()]
    keyring.close()


def from_keepassxc(session):
    keepassxc = KeePassXC(session)
    fill(keepassxc, [(None, items())])
    told = told_times(keepassxc)
    yield ("service", "--bus", keepassxc.bus), [Expected(*item, *told[item[0]]) for item in items()]
    keepassxc.close()


def wallet(session):
    """A wallet with text and binary entries of KDE's programs, which have no times. The name of the wallet selects
    their collection."""
    kwallet = KWallet(session)
    entries, expected = [], []
    for number in range(COUNT):
        folder, entry = f"Folder {number % 7}", f"entry {number}"
        value, kind = secret(number)
        named = {"xdg:schema": "org.qt.keychain", "server": folder, "user": entry}
        if kind == OCTETS:
            entries.append([folder, entry, 2, encoded(value)])
            named, value = named | {"type": "base64"}, encoded(value).encode()
        else:
            entries.append([folder, entry, 1, encoded(qt_text(value.decode()))])
            named = named | {"type": "plaintext"}
        expected.append(Expected(f"{folder}/{entry}", named, value, collection="kdewallet"))
    kwallet.write_entries(entries)
    return kwallet, expected


def from_kwallet(session):
    kwallet, expected = wallet(session)
    kwallet.close()
    carry(session, kwallet.folder.iterdir(), ".local/share/kwalletd")
    yield ("kwallet",), expected


def from_running_kwallet(session):
    kwallet, expected = wallet(session)
    yield ("kwallet", "--running", "--bus", kwallet.bus), expected
    kwallet.close()


def from_kwallets_secret_service(session):
    """Items that programs stored through KWallet's Secret Service. KWallet keeps attributes, content types and times in
    a file beside the wallet."""
    kwallet = KWallet(session)
    # KWallet's Secret Service only has wallets that existed at its start.
    kwallet.write_entries([])
    kwallet.stop()
    kwallet.start()
    fill(kwallet, [(None, items())])
    kwallet.write_entries([])
    kwallet.close()
    folder = carry(session, kwallet.folder.iterdir(), ".local/share/kwalletd")
    notes = json.loads((folder / "kdewallet_attributes.json").read_text())
    told = {}
    for note in notes.values():
        if isinstance(note, dict):
            told[note["attributes"]["n"]] = [int(note["$fdo_created"]), int(note["$fdo_modified"])]
    yield ("kwallet",), [Expected(label, named, value, kind, *told[named["n"]], collection="kdewallet") for label, named, value, kind in items()]


def from_oo7(session):
    place(session, ".local/share/keyrings/v1/login.keyring", variant_keyring(PASSWORD.encode(), items()))
    yield ("oo7",), [Expected(*item, *times(number)) for number, item in enumerate(items())]


def from_pass(session):
    with gpg_home(session):
        session.run("pass", "init", "me@example.org", check=True)
        folder = session.home / ".password-store/web"
        # gpg makes the files directly, as pass does, because a thousand runs of pass take minutes.
        script = 'mkdir -p "$1" && for n in $(seq 0 $2); do printf "secret %s" $n | gpg -q -e -r me@example.org -o "$1/$n.gpg"; done'
        session.run("sh", "-c", script, "sh", folder, str(COUNT - 1), check=True, timeout=TIMEOUT)
        yield ("pass",), [
            Expected(f"web/{number}", {"xdg:schema": LOGIN, "name": f"web/{number}", "field": "password"}, f"secret {number}".encode(),
                     TEXT, *[int((folder / f"{number}.gpg").stat().st_mtime)] * 2)
            for number in range(COUNT)]  # fmt: skip


def keepass(session, *parts):
    """A database in which every sixth entry has an attached file instead of a password."""
    entries, expected = [], []
    for number in range(COUNT):
        title, key = f"title {number}", number + 10
        named = {"xdg:schema": LOGIN, "name": title}
        # KeePass stores times in whole seconds.
        moments = times(key)
        if number % 6 == 4:
            entries.append(keepass_entry(key, keepass_string("Title", title), "<Binary><Key>file</Key><Value Ref='0'/></Binary>", *parts))
            named = named | {"field": "attachment", "attachment": "file"}
            expected.append(Expected(f"{title} (file)", named, ATTACHED, OCTETS, *moments))
        else:
            entries.append(keepass_entry(key, keepass_string("Title", title), keepass_string("Password", text(number)), *parts))
            expected.append(Expected(title, named | {"field": "password"}, text(number).encode(), TEXT, *moments))
    files = f"<Binaries><Binary ID='0'>{encoded(ATTACHED)}</Binary></Binaries>"
    xml = (f"<?xml version='1.0' encoding='UTF-8'?><KeePassFile><Meta>{files}</Meta><Root>"
           + keepass_group(1, "Passwords", *entries) + "</Root></KeePassFile>")  # fmt: skip
    return keepass_database(session, xml), expected


def from_keepass_3(session):
    file, expected = keepass(session)
    assert file.read_bytes()[8:12] == b"\x01\0\x03\0"
    yield ("keepass", file), expected


def from_keepass_4(session):
    file, expected = keepass(session, KEEPASS_CUSTOM)
    assert file.read_bytes()[8:12] == b"\0\0\x04\0"
    yield ("keepass", file), expected


def from_csv(session):
    written = io.StringIO()
    rows = csv.writer(written)
    rows.writerow(["name", "url", "username", "password"])
    rows.writerows([f"name {number}", f"https://{number}.org/", "me", text(number)] for number in range(COUNT))
    logins = [
        {"xdg:schema": LOGIN, "url": f"https://{number}.org/", "server": f"{number}.org", "user": "me", "field": "password"}
        for number in range(COUNT)]
    yield ("csv", place(session, "corpus.csv", written.getvalue())), [
        Expected(f"name {number}", one, text(number).encode()) for number, one in enumerate(logins)]


def from_json(session):
    """An export of another vault, with times, classes and content types."""
    with opened(session.stage) as source:
        fill(source, [(None, items())])
        file = private_folder(source) / "vault.json"
        assert export(source, "json", "--plain", file, timeout=TIMEOUT).returncode == DONE
        whole, text, there = everything(source), file.read_bytes(), {item[1]: item[5:] for item in kept(source)}
    yield ("json", place(session, "vault.json", text)), [Expected(*item, *there[item[0]]) for item in items()]
    assert everything(session) == whole


PROVIDERS = [
    from_gnome_keyring, from_service, from_keepassxc, from_kwallet, from_running_kwallet, from_kwallets_secret_service, from_oo7, from_pass, from_keepass_3,
    from_keepass_4, from_csv, from_json]  # fmt: skip


def same(found, expected, started, ended):
    """Whether the vault's files have exactly the expected items. The comparison is outside the assertion, because
    pytest would print all items."""
    for one, other in zip(found, sorted((item.kept(started, ended) for item in expected), key=lambda item: item[:4])):
        for mine, theirs in zip(one, other):
            # If no program told a time, the vault notes the moment of the import.
            if not (theirs[0] <= mine <= theirs[1] if isinstance(theirs, tuple) else mine == theirs):
                return False, (one, other)
    return len(found) == len(expected), (len(found), len(expected))


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.__name__.removeprefix("from_"))
def test_all_of_it_arrives_once(stage, provider):
    session = Session(stage)
    try:
        assert session.login().returncode == 0
        for words, expected in provider(session):
            shown = sorted(item.seen() for item in expected)
            started = int(time.time())
            done = run(session, *words, "--json", timeout=TIMEOUT)
            ended = int(time.time())
            assert done.returncode == DONE, done.stdout + done.stderr
            assert counts(done) == {"items": COUNT, "added": COUNT}
            assert seen(session) == shown
            is_same, what = same(kept(session), expected, started, ended)
            assert is_same, what
            again = run(session, *words, "--json", timeout=TIMEOUT)
            assert again.returncode == DONE and counts(again) == {"items": COUNT, "same": COUNT}
            assert seen(session) == shown
            is_same, what = same(kept(session), expected, started, ended)
            assert is_same, what
    finally:
        session.close()
