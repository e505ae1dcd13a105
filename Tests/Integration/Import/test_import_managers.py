"""latchkey import pass and keepass: a store of the real pass, and databases of the real KeePassXC."""

import pytest
from support import kdbx
from support.foreign import PASSWORD, seen
from support.importing import (
    DONE, FAILED, KEEPASS_CUSTOM, PARTLY, arrived, counts, encoded, gpg_home, keepass_database, keepass_entry, keepass_group, keepass_string,
    kept, place, run, state, times)  # fmt: skip

pytestmark = [pytest.mark.night("imports"), pytest.mark.second_try]

WIDE = "\u00e4\u6f22\U0001f511"
LOGIN = "org.latchkey.Login"


def item(label, secret, **attributes):
    return arrived(label, {"xdg:schema": LOGIN} | attributes, secret)


# MARK: pass


@pytest.fixture
def gnupg(unlocked):
    with gpg_home(unlocked):
        yield


ENTRIES = {
    "plain": b"secret\n", "web/a.org": b"secret 1\nlogin: me\nurl: https://a.org\n", f"web/{WIDE} name": WIDE.encode(),
    "empty": b"\n", "-dash": b"x",
}  # fmt: skip
PASS_ITEMS = [
    item("plain", b"secret", name="plain", field="password"),
    item("web/a.org", b"secret 1", name="web/a.org", field="password"),
    item("web/a.org (notes)", b"login: me\nurl: https://a.org\n", name="web/a.org", field="notes"),
    item(f"web/{WIDE} name", WIDE.encode(), name=f"web/{WIDE} name", field="password"),
    item("empty", b"", name="empty", field="password"),
    item("-dash", b"x", name="-dash", field="password"),
]  # fmt: skip


def test_pass(unlocked, gnupg):
    assert "no file that ends with .gpg" in run(unlocked, "pass", unlocked.home).stderr
    unlocked.run("pass", "init", "me@example.org", check=True)
    for name, secret in ENTRIES.items():
        unlocked.run("pass", "insert", "--multiline", "--", name, input=secret.decode(), check=True)
    store = unlocked.home / ".password-store"
    before = [state(folder) for folder in (store / "web",)]
    done = run(unlocked, "pass")
    assert done.returncode == DONE and f"rm -r -- '{store}'" in done.stdout, done.stderr
    assert seen(unlocked) == sorted(PASS_ITEMS)
    assert counts(run(unlocked, "pass", store, "--json")) == {"items": 6, "same": 6}
    assert [state(folder) for folder in (store / "web",)] == before
    # A file that is not an entry may be its owner's only copy. So the report does not advise deleting the store.
    place(unlocked, ".password-store/notes.txt", "x")
    done = run(unlocked, "pass")
    assert "no entries, which were left there: 1: notes.txt." in done.stdout and "rm -r" not in done.stdout
    (store / "notes.txt").unlink()
    # The command leaves out a file that gpg cannot read. The person still needs the store.
    place(unlocked, ".password-store/zz.gpg", "none")
    done = run(unlocked, "pass")
    assert done.returncode == PARTLY and "zz / all of it" in done.stdout and "rm -r" not in done.stdout
    # If gpg cannot read anything, the command runs it only once.
    unlocked.environment["GNUPGHOME"] = str(unlocked.home)
    done = run(unlocked, "pass")
    assert done.returncode == FAILED and "nothing was imported" in done.stderr
    assert "-dash.gpg was not decrypted" in done.stderr


# MARK: KeePass


ATTACHED = bytes(range(256)) * 40
ODD = 'a "b" <c> & d\'\t\nline 2\n' + WIDE
XML = (
    "<?xml version='1.0' encoding='UTF-8'?><KeePassFile><Meta><Generator>test</Generator><RecycleBinEnabled>True</RecycleBinEnabled>"
    f"<RecycleBinUUID>{encoded((9).to_bytes(16, 'big'))}</RecycleBinUUID>"
    f"<Binaries><Binary ID='0'>{encoded(ATTACHED)}</Binary></Binaries></Meta><Root>"
    + keepass_group(1, "Passwords",
            keepass_entry(10, keepass_string("Title", "first"), keepass_string("UserName", "me"), keepass_string("Password", ODD), keepass_string("URL", "https://a.org/x"),
                  keepass_string("Notes", "two\nlines"), keepass_string("otp", "otpauth://totp/x?secret=AA"), keepass_string("PIN & PUK", "1234"),
                  "<Binary><Key>file.bin</Key><Value Ref='0'/></Binary>",
                  "<History>" + keepass_entry(10, keepass_string("Title", "first"), keepass_string("Password", "older")) + "</History>"),
            keepass_entry(11, keepass_string("Title", "nothing")),
            keepass_group(2, f"In & {WIDE}", keepass_group(3, "Deep", keepass_entry(12, keepass_string("Title", "second"), keepass_string("Password", "p2")))),
            keepass_group(9, "Recycle Bin", keepass_entry(13, keepass_string("Title", "gone"), keepass_string("Password", "p3"))))
    + "</Root></KeePassFile>")  # fmt: skip
FIRST = {"name": "first", "url": "https://a.org/x", "server": "a.org", "user": "me"}
KEEPASS_ITEMS = [
    item("first", ODD.encode(), **FIRST, field="password"),
    item("first (notes)", b"two\nlines", **FIRST, field="notes"),
    item("first (totp)", b"otpauth://totp/x?secret=AA", **FIRST, field="totp"),
    item("first (PIN & PUK)", b"1234", **FIRST, field="custom", custom="PIN & PUK"),
    item("first (file.bin)", ATTACHED, **FIRST, field="attachment", attachment="file.bin"),
    item("second", b"p2", name="second", group=f"In & {WIDE}/Deep", field="password"),
]  # fmt: skip


@pytest.mark.parametrize("version, xml", [(3, XML), (4, XML.replace("</Entry>", KEEPASS_CUSTOM + "</Entry>"))], ids=["3", "4"])
def test_keepass(unlocked, version, xml):
    file = keepass_database(unlocked, xml)
    assert int.from_bytes(file.read_bytes()[10:12], "little") == version
    before = state(unlocked.home)[file.name]
    done = run(unlocked, "keepass", file)
    assert done.returncode == PARTLY, done.stderr
    assert "nothing: it has no password, note or other secret" in done.stdout
    assert "recycle bin, which were left there: 1: gone." in done.stdout and "rm --" not in done.stdout
    assert "Older states of entries, which were left there: 1" in done.stdout
    assert seen(unlocked) == sorted(KEEPASS_ITEMS)
    again = run(unlocked, "keepass", file, "--json")
    assert counts(again) == {"items": 7, "same": 6, "left": 1} and state(unlocked.home)[file.name] == before
    assert counts(run(unlocked, "keepass", file, "--json", "--since", "2026-01-03")) == {"items": 1, "left": 1}
    wrong = run(unlocked, "keepass", file, password="wrong")
    assert wrong.returncode == FAILED and "was not opened, so nothing was imported. keepassxc-cli says: " in wrong.stderr
    assert "Invalid credentials" in wrong.stderr
    cut = place(unlocked, "-cut.kdbx", file.read_bytes()[:-100])
    done = unlocked.run("sh", "-c", f"cd '{cut.parent}' && latchkey import keepass -- -cut.kdbx", input=PASSWORD + "\n")
    assert done.returncode == FAILED and "nothing was imported" in done.stderr, done
    assert seen(unlocked) == sorted(KEEPASS_ITEMS)


@pytest.mark.parametrize("kind", kdbx.KINDS)
def test_keepass_with_argon2(unlocked, kind):
    """KeePassXC's window makes databases with Argon2. keepassxc-cli of Debian 12 makes databases only with AES."""
    xml = ("<?xml version='1.0' encoding='UTF-8'?><KeePassFile><Meta><Generator>test</Generator></Meta><Root>"
           + keepass_group(1, "Passwords", keepass_entry(20, keepass_string("Title", "first"), keepass_string("Password", ODD)))
           + "</Root></KeePassFile>")  # fmt: skip
    file = place(unlocked, "argon.kdbx", kdbx.written(PASSWORD, xml, kind))
    done = run(unlocked, "keepass", file)
    assert done.returncode == DONE and f"rm -- '{file}'" in done.stdout, done.stderr
    assert [one[:7] for one in kept(unlocked)] == [
        ("Login", "first", [("field", "password"), ("name", "first"), ("xdg:schema", LOGIN)], ODD.encode(), "text/plain", *times(20))]
    wrong = run(unlocked, "keepass", file, password="wrong")
    assert wrong.returncode == FAILED and "Invalid credentials" in wrong.stderr


def test_a_database_that_would_take_all_memory(unlocked):
    """The database names a huge cost. KeePassXC would trust the file and try to derive the key."""
    whole = keepass_database(unlocked, XML).read_bytes()
    # keepassxc-cli of Debian 12 writes version 3, with rounds of AES.
    at = 12
    while whole[at] != 6:
        at += 3 + int.from_bytes(whole[at + 1 : at + 3], "little")
    at += 3
    assert whole[8:12] == b"\x01\0\x03\0" and int.from_bytes(whole[at : at + 8], "little") >= 6000
    rounds = whole[:at] + (1 << 40).to_bytes(8, "little") + whole[at + 8 :]
    # A file of version 4 names the memory for Argon2.
    cost = b"\0\x01\x05\x01\0\0\0M\x08\0\0\0" + (1 << 40).to_bytes(8, "little") + b"\0"
    memory = whole[:8] + b"\0\0\x04\0\x0b" + len(cost).to_bytes(4, "little") + cost + bytes(5)
    for content in (rounds, memory):
        file = place(unlocked, "hostile.kdbx", content)
        done = run(unlocked, "keepass", file)
        assert done.returncode == FAILED and "asks for more than 1 GiB of memory" in done.stderr, done
        assert "Database Security" in done.stderr and "Nothing was imported" in done.stderr and "keepassxc-cli" not in done.stderr
    assert seen(unlocked) == []


def test_keepass_with_a_key_file(unlocked):
    key, file = unlocked.home / "my.key", unlocked.home / "keyed.kdbx"
    unlocked.run("keepassxc-cli", "db-create", "--set-key-file", key, file, check=True, timeout=120)
    unlocked.run("keepassxc-cli", "add", "--no-password", "--key-file", key, "--password-prompt", file, "one",
                 input="p1\n", check=True, timeout=120)  # fmt: skip
    done = run(unlocked, "keepass", "--no-password", "--key-file", key, file)
    assert done.returncode == DONE and f"rm -- '{file}'" in done.stdout, done.stderr
    assert seen(unlocked) == [item("one", b"p1", name="one", field="password")]
