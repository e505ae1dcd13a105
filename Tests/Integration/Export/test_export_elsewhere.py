"""latchkey export into other programs: a database for the real KeePassXC, and a running gnome-keyring."""

import base64
import json

import pytest
from support.archive import other  # noqa: F401 (a fixture)
from support.exporting import DONE, FAILED, PARTLY, WIDE, attached, database, export, fill, left, private_folder
from support.foreign import PASSWORD, GnomeKeyring, seen
from support.importing import carry, counts, place, run
from support.person import Person
from support.session import wait_until

pytestmark = [pytest.mark.night("imports"), pytest.mark.second_try]

GENERIC, OCTETS = "org.freedesktop.Secret.Generic", "application/octet-stream"
LOGINS = (
    "name,url,username,password,notes,totp,group\r\n"
    f'Shop,https://shop.org/,me,pw <1> & "x",two {WIDE},otpauth://x,In/Deep\r\nBank,https://bank.org/,me,pw2,,,\r\n'
)


@pytest.fixture
def stocked(unlocked):
    """Logins from an import, and items of programs."""
    assert run(unlocked, "csv", place(unlocked, "in.csv", LOGINS)).returncode == DONE
    fill(unlocked, [
        (None, [("Mail", {"service": "mail", "user": "you", "odd &<>": f"\"{WIDE}'"}, b"lines\n\tand <tags> & more", "text/plain"),
                    ("Key", {"n": "key"}, bytes(range(256)), OCTETS), ("Return", {"n": "cr"}, b"a\r\nb", "text/plain"),
                    ("Bound", {"n": "bound", "latchkey:accessible": "when-unlocked-this-device-only"}, b"stays", "text/plain")]),
        ("Work", [("Empty", {"n": "empty"}, b"", "text/plain")])])  # fmt: skip
    return unlocked


def entries(xml):
    """Each entry, by its title: its group, its fields, and its files."""
    files, found = attached(xml), {}

    def walk(group, path):
        for entry in group.findall("Entry"):
            fields = {one.findtext("Key"): one.findtext("Value") or "" for one in entry.findall("String")}
            attached = {one.findtext("Key"): files[one.find("Value").get("Ref")] for one in entry.findall("Binary")}
            title = fields.pop("Title")
            found[title] = (path, {name: value for name, value in fields.items() if value}, attached)
        for below in group.findall("Group"):
            walk(below, [*path, below.findtext("Name")])

    walk(xml.find("Root/Group"), [])
    return found


def test_a_database_that_keepassxc_opens(stocked, other):  # noqa: F811
    out = private_folder(stocked)
    file = out / "all.kdbx"
    done = export(stocked, "keepass", "--json", file, lines=[PASSWORD])
    assert done.returncode == PARTLY and set(left(done)) == {"Bound"}, done.stderr
    assert file.stat().st_mode & 0o7777 == 0o600 and [one.name for one in out.iterdir()] == [file.name]
    assert not list(stocked.runtime.glob("latchkey-export-*"))
    found = entries(database(stocked, file))
    assert found == {
        "Shop": (["Login", "In", "Deep"], {"UserName": "me", "URL": "https://shop.org/", "Password": 'pw <1> & "x"',
                                           "Notes": f"two {WIDE}", "otp": "otpauth://x"}, {}),
        "Bank": (["Login"], {"UserName": "me", "URL": "https://bank.org/", "Password": "pw2"}, {}),
        "Mail": (["Login"], {"UserName": "you", "Password": "lines\n\tand <tags> & more", "service": "mail", "user": "you",
                             "odd &<>": f"\"{WIDE}'"}, {}),
        "Key": (["Login"], {"n": "key", "FDO_SECRETS_CONTENT_TYPE": OCTETS}, {"FDO_SECRETS_DATA": bytes(range(256))}),
        "Return": (["Login"], {"n": "cr", "FDO_SECRETS_CONTENT_TYPE": "text/plain"}, {"FDO_SECRETS_DATA": b"a\r\nb"}),
        "Empty": (["Work"], {"n": "empty"}, {}),
    }  # fmt: skip
    told = done.stdout + done.stderr + stocked.log()
    assert not any(secret in told for secret in (PASSWORD, "pw2", "and <tags>"))
    # The import recognizes the logins in the database.
    there = place(other, "all.kdbx", file.read_bytes())
    assert run(other, "keepass", there).returncode == DONE
    logins = [one for one in seen(other) if one[1].startswith(("Shop", "Bank"))]
    assert len(logins) == 4
    assert {base64.b64decode(one[3]).decode() for one in logins} == {'pw <1> & "x"', f"two {WIDE}", "otpauth://x", "pw2"}


def test_a_database_is_not_replaced_or_left_half(stocked):
    out = private_folder(stocked)
    file = out / "p.kdbx"
    person = Person(stocked, "latchkey", "export", "keepass", file).expect("Password: ").type(stocked.password)
    person.expect(f"New password for '{file}': ").type(PASSWORD).expect("again: ").type("other")
    person.expect("The two answers differ").expect("New password").type(PASSWORD).expect("again: ").type(PASSWORD)
    person.output()
    assert person.status == PARTLY and "Mail" in entries(database(stocked, file))
    before = file.read_bytes()
    done = export(stocked, "keepass", file, lines=[PASSWORD])
    assert done.returncode == FAILED and "exists already" in done.stderr and file.read_bytes() == before
    done = export(stocked, "keepass", out / "e.kdbx", lines=[""])
    assert done.returncode == FAILED and "would not be encrypted" in done.stderr
    assert export(stocked, "keepass", out / "w.kdbx", lines=[PASSWORD], password="wrong").returncode == FAILED
    # First KeePassXC fails, and then it is missing.
    broken = stocked.root / "broken"
    broken.mkdir()
    (broken / "keepassxc-cli").write_text("#!/bin/sh\necho it broke >&2\nexit 1\n")
    (broken / "keepassxc-cli").chmod(0o755)
    broken.chmod(0o755)
    path = stocked.environment["PATH"]
    for folders, words in ((f"{broken}:{path}", "it broke"), (str(stocked.root / "bin"), "not installed")):
        done = export(stocked, "keepass", out / "b.kdbx", lines=[PASSWORD], env=stocked.environment | {"PATH": folders})
        assert done.returncode == FAILED and words in done.stderr, done
    assert [one.name for one in out.iterdir()] == [file.name] and not list(stocked.runtime.glob("latchkey-export-*"))


def without_schema(items):
    """The items as their programs stored them. gnome-keyring adds a schema to items without a schema."""
    return sorted([home, label, [one for one in named if one != ["xdg:schema", GENERIC]], secret] for home, label, named, secret in items)


def test_gnome_keyring_gets_everything_and_gives_it_back(stocked, other):  # noqa: F811
    keyring = GnomeKeyring(stocked)
    try:
        # A dry run needs no answer: the test gives no password and no terminal.
        empty = seen(keyring)
        for words in ((), ("--no-prompt",)):
            dry = stocked.run("latchkey", "export", "service", "--bus", keyring.bus, "--dry-run", "--json", *words)
            assert dry.returncode == PARTLY and counts(dry) == {"items": 9, "exported": 8, "left": 1}, dry
            assert set(left(dry)) == {"Bound"} and seen(keyring) == empty
            assert "did not ask the other program" in " ".join(json.loads(dry.stdout)["notices"])
        words = ("service", "--bus", keyring.bus, "--no-prompt", "--json")
        done = export(stocked, *words, "--collection", "login", "--with-this-device-only")
        assert done.returncode == DONE and counts(done) == {"items": 8, "exported": 8}, done.stdout + done.stderr
        mine = [one for one in seen(stocked) if one[0] == "Login"]
        assert without_schema(seen(keyring)) == without_schema(mine)
        again = export(stocked, *words, "--collection", "login", "--with-this-device-only")
        assert again.returncode == DONE and counts(again) == {"items": 8, "same": 8}
        # The export does not replace a different secret in the other program. The report names a collection that the
        # export cannot create.
        stocked.run("latchkey", "edit", "n=cr", "--secret", input="changed here", check=True)
        theirs = seen(keyring)
        done = export(stocked, *words)
        assert done.returncode == PARTLY and counts(done) == {"items": 9, "same": 6, "conflicts": 1, "left": 2}, done.stdout
        assert "Empty" in left(done) and "only after a prompt" in left(done)["Empty"] and seen(keyring) == theirs
        # An import brings everything into a third vault.
        keyring.stop()
        carry(other, keyring.folder.iterdir(), ".local/share/keyrings")
        assert run(other, "gnome-keyring").returncode == DONE
        assert without_schema(seen(other)) == without_schema(theirs)
    finally:
        keyring.close()


def test_a_locked_keyring_has_advice(stocked):
    """The keyring still has the former login password, as after a change that it did not notice."""
    keyring = GnomeKeyring(stocked)
    try:
        service = "/org/freedesktop/secrets"
        stocked.run(
            "busctl", "--address", keyring.bus, "call", "org.freedesktop.secrets", service, "org.freedesktop.Secret.Service", "Lock",
            "ao", "1", f"{service}/collection/login", check=True)  # fmt: skip
        done = export(stocked, "service", "--bus", keyring.bus, "--no-prompt", "--collection", "login")
        assert done.returncode == PARTLY and "the other program said" not in done.stdout
        assert done.stdout.count("Its password is often a former login password of yours. Unlock it there") == 1
        assert "Mail (login/5): the collection 'Login' of the other program is locked" in done.stdout
    finally:
        keyring.close()


def test_an_export_leaves_no_sign_of_a_check_on_the_terminal(stocked):
    keyring = GnomeKeyring(stocked)
    try:
        person = Person(stocked, "latchkey", "export", "service", "--bus", keyring.bus).expect("Password: ").type(stocked.password)
        lines = person.expect("Checking...").output().split("\r\n")
        assert lines[0].startswith("\r\x1b[K") and "items found" in lines[0], lines
    finally:
        keyring.close()


def test_latchkey_itself_is_no_place_to_go(unlocked):
    done = export(unlocked, "service")
    assert done.returncode == FAILED and "is Latchkey itself" in done.stderr
    done = export(unlocked, "service", "--owner", "org.example.None")
    assert done.returncode == 3 and "org.example.None" in done.stderr


def test_a_gnome_keyring_without_its_part_for_secrets(unlocked):
    """Another component of gnome-keyring owns the name org.gnome.keyring."""
    keyring = unlocked.start(
        "gnome-keyring-daemon", "--foreground", "--components=pkcs11", "--control-directory", unlocked.runtime / "keyring")
    try:
        wait_until(lambda: unlocked.run("busctl", "--user", "status", "org.gnome.keyring").returncode == 0, "gnome-keyring")
        for command in ("export", "import"):
            done = unlocked.run("latchkey", command, "service", "--owner", "org.gnome.keyring", "--dry-run")
            assert done.returncode == 3 and f"gnome-keyring (process {keyring.pid}) runs without its component for secrets" in done.stderr
            assert "'Going back' in latchkey-switch(1)" in done.stderr
    finally:
        keyring.terminate()
        keyring.wait()
