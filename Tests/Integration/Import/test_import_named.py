"""latchkey import names every entry that it leaves out. Each source has entries that can be imported, and an entry for
each reason that prevents an import. All these entries are in the report.
"""

import json
import os

import pytest
from support.exporting import fill
from support.foreign import PASSWORD, KWallet
from support.importing import (
    PARTLY, encoded, gpg_home, keepass_database, keepass_entry, keepass_group, keepass_string, kept, old_wallet, place, qt_text, report, run,
    variant_keyring)  # fmt: skip

KEYRINGS, WALLETS = ".local/share/keyrings", ".local/share/kwalletd"


def keyring(session):
    text = "[keyring]\ndisplay-name=Login\n"
    for number, (label, value) in enumerate((("good", "v"), ("with zero", "a\0b"))):
        text += f"\n[{number}]\nitem-type=0\ndisplay-name={label}\nsecret=s\n\n[{number}:attribute0]\nname=k\ntype=string\nvalue={value}\n"
    folder = place(session, f"{KEYRINGS}/login.keyring", text).parent
    place(session, f"{KEYRINGS}/cut.keyring", b"GnomeKeyring\n\r\0\n\0\0")
    place(session, f"{KEYRINGS}/other.keyring", variant_keyring(b"of another", [("x", {"n": "1"}, b"x", "text/plain")]))
    place(session, f"{KEYRINGS}/old.keyring.bak", "text")
    place(session, f"{KEYRINGS}/user.keystore", "keys")
    os.mkfifo(folder / "pipe.keyring")
    (folder / "gone.keyring").symlink_to("nothing")
    (folder / "linked").symlink_to("/usr")
    yield ("gnome-keyring",), ["good"], ["with zero", "cut", "other", "old.keyring.bak", "user.keystore", "pipe", "gone", "linked"]


def oo7(session):
    items = [("good", {"n": "1"}, b"s", "text/plain"), ("own", {"latchkey:x": "1"}, b"s", "text/plain")]
    place(session, f"{KEYRINGS}/v1/login.keyring", variant_keyring(PASSWORD.encode(), items))
    place(session, f"{KEYRINGS}/v1/other.keyring", variant_keyring(b"of another", items))
    place(session, f"{KEYRINGS}/v1/old.keyring.bak", "text")
    yield ("oo7",), ["good"], ["own", "other", "old.keyring.bak"]


def wallet(session):
    place(session, f"{WALLETS}/kdewallet.kwl", old_wallet(PASSWORD.encode(), {"Passwords": [["good", 1, qt_text("s")], ["map", 3, b"odd"]]}))
    place(session, f"{WALLETS}/gpg.kwl", b"KWALLET\n\r\0\r\n\0\1\2\0" + bytes(60))
    place(session, f"{WALLETS}/old.kwl.bak", "text")
    # This file tells which attributes programs gave to the items.
    place(session, f"{WALLETS}/kdewallet_attributes.json", "{")
    yield ("kwallet",), ["Passwords/good", "Passwords/map"], ["gpg", "old.kwl.bak", "kdewallet_attributes.json"]


def store(session):
    with gpg_home(session):
        def entry(path, secret):
            file = place(session, path, "")
            file.unlink()
            session.run("gpg", "--batch", "--trust-model", "always", "-e", "-r", "me@example.org", "-o", file, input=secret, check=True)
            return file

        own = entry(".password-store/own.gpg", "s\n").parent
        entry("team-store/server.gpg", "shared\n")
        entry("team-store/deep/er.gpg", "deeper\n")
        entry(".password-store/.hidden/vpn.gpg", "v\n")
        place(session, "team-store/.git/objects.gpg", "of Git")
        for name, target in (("team", "../team-store"), ("round", "."), ("gone", "../unmounted"), ("gone2.gpg", "nothing"),
                             ("single.gpg", "own.gpg")):  # fmt: skip
            (own / name).symlink_to(target)
        place(session, ".password-store/zz.gpg", "none")
        place(session, ".password-store/notes.txt", "text")
        os.mkfifo(own / "fifo.gpg")
        place(session, ".password-store/closed/x.gpg", "x").parent.chmod(0)
        yield (("pass",), ["own", "team/server", "team/deep/er", ".hidden/vpn", "single"],
               ["round", "gone", "gone2.gpg", "zz", "notes.txt", "fifo.gpg", "closed"])  # fmt: skip
        (own / "closed").chmod(0o700)


def keepass(session):
    def one(number, title, *fields):
        return keepass_entry(number, keepass_string("Title", title), *(keepass_string(*field) for field in fields))

    xml = ("<?xml version='1.0' encoding='UTF-8'?><KeePassFile><Meta><Generator>test</Generator><RecycleBinEnabled>True</RecycleBinEnabled>"
           f"<RecycleBinUUID>{encoded((9).to_bytes(16, 'big'))}</RecycleBinUUID></Meta><Root>"
           + keepass_group(1, "Passwords", one(10, "good", ("Password", "p")), one(11, "nothing"), one(12, "lost", ("Password", "{REF:P@T:none}")),
                           one(13, "shell", ("Password", "p"), ("URL", "https://a:{PASSWORD}@a.example")),
                           one(14, "clock", ("Password", "p"), ("TimeOtp-Secret-Hex", "zz")),
                           keepass_group(9, "Recycle Bin", one(15, "thrown", ("Password", "p"))))
           + "</Root></KeePassFile>")  # fmt: skip
    file = keepass_database(session, xml)
    yield (("keepass", file), ["good", "shell", "clock", "clock (TimeOtp-Secret-Hex)"],
           ["nothing", "lost (Password)", "shell (URL)", "clock (TimeOtp-Secret-Hex)", "thrown"])  # fmt: skip


def table(session):
    file = place(session, "a.csv", "name,url,username,password,note,color\ngood,https://a.example,u,p,n,red\nnothing,,u,,,\nwide,,u,p,,,x\n"
                                   'open,,u,"p,,\n')  # fmt: skip
    yield ("csv", file), ["good", "good (notes)"], ["nothing", "wide", "open", "color"]


def export(session):
    items = [("good", {"k": "1"}, {}), ("own", {"latchkey:x": "1"}, {}), ("later", {"k": "2"}, {"class": "of later"}),
             ("wants", {"k": "3"}, {"require": "of later"})]  # fmt: skip
    told = [{"label": label, "attributes": attributes, "secret": "s", **more} for label, attributes, more in items]
    content = {"format": "latchkey-export", "version": 1, "default": "login", "collections": [{"name": "login", "label": "Login", "items": told}]}
    yield ("json", place(session, "vault.json", json.dumps(content))), ["good"], ["own", "later", "wants"]


def service(session):
    kwallet = KWallet(session)
    try:
        kwallet.write_entries([["Passwords", "of KDE", 1, encoded(qt_text("s"))]])
        kwallet.stop()
        kwallet.start()
        fill(kwallet, [(None, [("good", {"n": "1"}, b"s", "text/plain")])])
        yield ("service", "--bus", kwallet.bus), ["good"], ["Passwords/of KDE"]
    finally:
        kwallet.close()


@pytest.mark.night("imports")
@pytest.mark.filterwarnings("ignore:Blowfish")
@pytest.mark.parametrize("source", [keyring, oo7, wallet, store, keepass, table, export, service], ids=lambda source: source.__name__)
def test_every_entry_is_imported_or_named(unlocked, source):
    for words, coming, staying in source(unlocked):
        for outcome in ("new", "same"):
            done = run(unlocked, *words, "--json")
            assert done.returncode == PARTLY, done
            told = report(done)
            assert told["items"] == len(told["lines"]) == sum(told[name] for name in ("added", "same", "left")), told
            assert sorted(line["label"] for line in told["lines"] if line["outcome"] == outcome) == sorted(coming), told
            assert len(kept(unlocked)) == len(coming)
            # The report names a file in `collection` and an item in `label`. If the item has no label, the reason names
            # the item.
            left = [word for line in told["lines"] if line["outcome"] == "left" for word in (line["collection"], line["label"], line["reason"])]
            for name in staying:
                named = [word for word in left if word == name or f"'{name}'" in word] + [text for text in told["notices"] if name in text]
                assert named, (name, told)
            assert told["left"] <= len(staying), told
        shown = run(unlocked, *words).stdout
        assert "\n  rm " not in shown and all(name in shown for name in staying), shown
