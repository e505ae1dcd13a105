"""latchkey import, a corpus from each provider: all of it arrives, and a second run does nothing. `make suites` takes 2,000
items from each."""

import csv
import io

import pytest
from support.archive import opened
from support.corpus import COUNT, TIMEOUT, attributes, items, secret
from support.exporting import everything, export, fill, private_folder
from support.foreign import GnomeKeyring, KWallet, PASSWORD, seen
from support.importing import (
    DONE, arrived, carry, counts, encoded, gpg_home, keepass_database, keepass_entry, keepass_group, keepass_string, place, qt_text, run,
    variant_keyring)  # fmt: skip
from support.session import Session

LOGIN = "org.latchkey.Login"


# Each makes a place with COUNT secrets. It returns the words of the command, and what must be in the vault afterwards.


def gnome_keyring(session):
    keyring = GnomeKeyring(session)
    keyring.write([["Login", label, None, named, encoded(value)] for label, named, value, _ in items()], timeout=TIMEOUT)
    return keyring, [arrived(label, named, value) for label, named, value, _ in items()]


def from_gnome_keyring(session):
    keyring, expected = gnome_keyring(session)
    keyring.close()
    carry(session, keyring.folder.iterdir(), ".local/share/keyrings")
    yield ("gnome-keyring",), expected


def from_service(session):
    keyring, expected = gnome_keyring(session)
    yield ("service", "--bus", keyring.bus), expected
    keyring.close()


def wallet(session):
    kwallet = KWallet(session)
    names = [(f"Folder {number % 7}", f"entry {number}", secret(number)) for number in range(COUNT)]
    kwallet.write_entries([[folder, entry, 1, encoded(qt_text(text))] for folder, entry, text in names])
    expected = [
        arrived(f"{folder}/{entry}", {"xdg:schema": "org.qt.keychain", "server": folder, "user": entry, "type": "plaintext"}, text.encode())
        for folder, entry, text in names]  # fmt: skip
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


def from_oo7(session):
    place(session, ".local/share/keyrings/v1/login.keyring", variant_keyring(PASSWORD.encode(), items()))
    yield ("oo7",), [arrived(label, named, value) for label, named, value, _ in items()]


def from_pass(session):
    with gpg_home(session):
        session.run("pass", "init", "me@example.org", check=True)
        folder = session.home / ".password-store/web"
        # As pass does it: a thousand starts of pass itself take minutes.
        script = 'mkdir -p "$1" && for n in $(seq 0 $2); do printf "secret %s" $n | gpg -q -e -r me@example.org -o "$1/$n.gpg"; done'
        session.run("sh", "-c", script, "sh", folder, str(COUNT - 1), check=True, timeout=TIMEOUT)
        yield ("pass",), [
            arrived(f"web/{number}", {"xdg:schema": LOGIN, "name": f"web/{number}", "field": "password"}, f"secret {number}".encode())
            for number in range(COUNT)]  # fmt: skip


def from_keepass(session):
    entries = [keepass_entry(number + 10, keepass_string("Title", f"title {number}"), keepass_string("Password", secret(number)))
               for number in range(COUNT)]  # fmt: skip
    xml = ("<?xml version='1.0' encoding='UTF-8'?><KeePassFile><Meta/><Root>" + keepass_group(1, "Passwords", *entries)
           + "</Root></KeePassFile>")  # fmt: skip
    yield ("keepass", keepass_database(session, xml)), [
        arrived(f"title {number}", {"xdg:schema": LOGIN, "name": f"title {number}", "field": "password"}, secret(number).encode())
        for number in range(COUNT)]


def from_csv(session):
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(["name", "url", "username", "password"])
    rows.writerows([f"name {number}", f"https://{number}.org/", "me", secret(number)] for number in range(COUNT))
    logins = [
        {"xdg:schema": LOGIN, "url": f"https://{number}.org/", "server": f"{number}.org", "user": "me", "field": "password"}
        for number in range(COUNT)]
    yield ("csv", place(session, "corpus.csv", text.getvalue())), [
        arrived(f"name {number}", one, secret(number).encode()) for number, one in enumerate(logins)]


def from_json(session):
    """Another vault, with times, classes and content types."""
    with opened(session.stage) as source:
        fill(source, [(None, items())])
        file = private_folder(source) / "vault.json"
        assert export(source, "json", "--plain", file, timeout=TIMEOUT).returncode == DONE
        whole, text = everything(source), file.read_bytes()
    yield ("json", place(session, "vault.json", text)), [arrived(label, named, value) for label, named, value, _ in items()]
    assert everything(session) == whole


PROVIDERS = [from_gnome_keyring, from_service, from_kwallet, from_running_kwallet, from_oo7, from_pass, from_keepass, from_csv, from_json]


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.__name__.removeprefix("from_"))
def test_all_of_it_arrives_once(stage, provider):
    session = Session(stage)
    try:
        assert session.login().returncode == 0
        for words, expected in provider(session):
            done = run(session, *words, "--json", timeout=TIMEOUT)
            assert done.returncode == DONE, done.stderr
            assert counts(done) == {"items": COUNT, "added": COUNT}
            assert seen(session) == sorted(expected)
            again = run(session, *words, "--json", timeout=TIMEOUT)
            assert again.returncode == DONE and counts(again) == {"items": COUNT, "same": COUNT}
            assert seen(session) == sorted(expected)
    finally:
        session.close()
