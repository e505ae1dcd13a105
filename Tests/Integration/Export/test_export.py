"""latchkey export: a person exports everything to JSON and imports it again. The export reveals nothing without the
person's consent.
"""

import csv
import json
import os
import pathlib
import signal
import subprocess
import tempfile

import pytest
from support.archive import opened, other  # noqa: F401 (a fixture)
from support.exporting import DONE, FAILED, PARTLY, WIDE, everything, export, fill, left, private_folder
from support.importing import counts, place, report, run
from support.pace import seconds
from support.peer import COLLECTION, ROOT, SERVICE, Peer
from support.person import Person, ask_on_terminals
from support.session import wait_until
from support.unfinished import as_root, unfinished

DEVICE_ONLY = "when-unlocked-this-device-only"
OCTETS = "application/octet-stream"


def items():
    """Items of many kinds, as label, attributes, secret and content type."""
    secrets = [b"secret", f"{WIDE}\n\"quoted\\\" {chr(0x85)}".encode(), b"", bytes(range(256)), b"tab\tcr\r\n\x00\x1b[0m", b"x" * 70_000]
    classes = ["when-unlocked", "after-first-unlock"]
    return [
        (f"Label {number} {WIDE}", {"n": str(number), "empty": "", "na me": f'{WIDE}="\\\n', "latchkey:accessible": classes[number % 2]}, secret,
         ["text/plain", OCTETS, "text/plain; charset=utf8"][number % 3])
        for number, secret in enumerate(secrets * 3)]  # fmt: skip


def collection(peer, label):
    (path,) = [path for path in peer.get(ROOT, SERVICE, "Collections") if peer.get(path, COLLECTION, "Label") == label]
    return path


@pytest.fixture(scope="module")
def filled(stage):
    """A vault with a default collection, and a folder for exports. No test changes an item."""
    with opened(stage) as session:
        fill(session, [(None, items()), (f"Work {WIDE}", [("Bare", {}, b"no attributes", "text/plain"),
                                                          ("app", {"app_id": "org.example.App"}, bytes(64), OCTETS)])])  # fmt: skip
        peer = Peer(session)
        peer.call(ROOT, SERVICE, "SetAlias", "(so)", "default", collection(peer, f"Work {WIDE}"))
        peer.close()
        session.out = private_folder(session)
        yield session


def test_json_brings_everything_to_another_vault(filled, other):  # noqa: F811
    file = filled.out / "vault.json"
    done = export(filled, "json", "--plain", file)
    assert done.returncode == DONE and "20 items found: 20 exported." in done.stdout, done.stdout + done.stderr
    assert "not encrypted" in done.stdout and f"Written to {file}." in done.stdout
    assert file.stat().st_mode & 0o7777 == 0o600 and file.stat().st_uid == filled.uid
    assert [one.name for one in filled.out.iterdir()] == [file.name]
    content = json.loads(file.read_text())
    assert (content["format"], content["version"], len(content["collections"])) == ("latchkey-export", 1, 2)
    theirs = everything(filled)
    # The items get earlier times, so that the test can see whether the import keeps the times of items.
    assert len(theirs) == 20
    there = place(other, "own/vault.json", older(content))
    dry = run(other, "json", "--dry-run", "--json", there)
    assert dry.returncode == DONE and counts(dry) == {"items": 20, "added": 20} and everything(other) == []
    done = run(other, "json", there)
    assert done.returncode == DONE, done.stdout + done.stderr
    assert "store in 'Work" in done.stdout
    expected = [[*one[:6], one[6] - 1000, one[7] - 500, *one[8:]] for one in theirs]
    assert everything(other) == sorted(expected)
    again = run(other, "json", "--json", there)
    assert again.returncode == DONE and counts(again) == {"items": 20, "same": 20}
    assert everything(other) == sorted(expected)
    sent = other.run("latchkey", "import", "json", "--json", "-", input=there.read_text())
    assert sent.returncode == DONE and counts(sent) == {"items": 20, "same": 20} and report(sent)["files"] == []
    # An export from the second vault has the same content.
    back = export(other, "json", "-")
    assert back.returncode == DONE and by_label(json.loads(back.stdout)) == by_label(json.loads(there.read_text()))


def by_label(content):
    return {one["label"]: one["items"] for one in content["collections"]}


def older(content):
    """The same content with earlier times, as if the vault were older than this test."""
    for collection in content["collections"]:
        for one in collection["items"]:
            one["created"] -= 1000
            one["modified"] -= 500
    return json.dumps(content)


def test_parts_and_rehearsals(filled):
    # The command asks no question, because it reads no secret.
    dry = filled.run("latchkey", "export", "json", "--dry-run", "--json", filled.out / "d.json")
    assert dry.returncode == DONE, dry.stderr
    report = json.loads(dry.stdout)
    assert report["dry_run"] and report["exported"] == 20 and report["file"] is None
    assert not (filled.out / "d.json").exists()
    done = export(filled, "json", "--plain", "--json", "--collection", f"Work {WIDE}", filled.out / "w.json")
    assert done.returncode == DONE and json.loads(done.stdout)["exported"] == 2
    assert {line["label"] for line in json.loads(done.stdout)["lines"]} == {"Bare", "app"}
    wrong = export(filled, "json", "--plain", "--collection", "None", filled.out / "n.json")
    assert wrong.returncode == FAILED and "There are: Login" in wrong.stderr and not (filled.out / "n.json").exists()


def test_standard_input_that_cannot_be_read(filled):
    done = filled.run("latchkey", "import", "json", "-", input="{}")
    assert done.returncode == FAILED and "standard input was not written by 'latchkey export json'" in done.stderr
    person = Person(filled, "latchkey", "import", "csv", "-").expect("standard input is a terminal")
    person.output()
    assert person.status == FAILED


def test_standard_output(filled):
    done = export(filled, "json", "-")
    assert done.returncode == DONE and len(json.loads(done.stdout)["collections"]) == 2
    assert "20 exported" in done.stderr and "Written" not in done.stderr
    person = Person(filled, "latchkey", "export", "json", "-")
    assert "only with --show" in person.output() and person.status == FAILED
    shown = Person(filled, "latchkey", "export", "json", "--show", "--collection", f"Work {WIDE}", "-")
    shown.expect("Password: ").type(filled.password)
    assert "no attributes" in shown.output() and shown.status == DONE
    # Control characters of an item do not reach the terminal.
    shown = Person(filled, "latchkey", "export", "csv", "--show", "--collection", "Login", "-")
    shown.expect("Password: ").type(filled.password)
    told = shown.output()
    assert "could control the terminal" in told and "\x1b[0m" not in told and '"secret"' in told and shown.status == PARTLY


def test_the_line_that_says_how_far_it_is_leaves_the_terminal(filled):
    person = Person(filled, "latchkey", "export", "json", "--dry-run", filled.out / "never")
    told = person.output()
    assert person.status == DONE and "0 items, " in told and "20 items found" in told
    assert not [line for line in told.split("\r\n") if "0 items, " in line.rpartition("\r\x1b[K")[2]], told


@pytest.fixture
def public(filled):
    """A folder that other users can read. The session's own folders are private."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chown(folder, filled.uid, filled.gid)
        yield pathlib.Path(folder)


def test_a_locked_vault_asks_twice(session):
    """The answer that unlocks the vault is not consent to the export."""
    ask_on_terminals(session)
    assert session.login().returncode == 0
    session.store("the secret", "k", "v")
    file = private_folder(session) / "l.json"
    for answer, status in (("wrong", FAILED), (session.password, DONE)):
        session.lock()
        person = Person(session, "latchkey", "export", "json", "--plain", file).expect("login password").type(session.password)
        person.expect("Password: ").type(answer)
        person.output()
        assert person.status == status and file.exists() == (status == DONE)
    assert "the secret" in file.read_text()
    session.lock()
    file.unlink()
    (session.root / "pam.d/latchkey-unlock").write_text("auth required pam_deny.so\n")
    person = Person(session, "latchkey", "export", "json", "--plain", file)
    assert "so nothing was exported" in person.output() and person.status == FAILED and not file.exists()
    # With --no-prompt, no prompt can unlock the vault, so the export fails.
    assert export(session, "json", "--plain", "--no-prompt", file, password="wrong").returncode == FAILED


def test_unlocking_the_screen_exports_nothing(session):
    """The unlock ends the prompt of the export without an answer."""
    ask_on_terminals(session)
    assert session.login().returncode == 0
    session.store("the secret", "k", "v")
    file = private_folder(session) / "l.json"
    session.lock()
    person = Person(session, "latchkey", "export", "json", "--plain", file).expect("login password")
    assert session.locker().returncode == 0
    person.expect("Password: ").type("wrong")
    person.output()
    assert person.status == FAILED and not file.exists() and session.lookup("k", "v") == "the secret"


def test_the_prompt_of_another_program_exports_nothing(session):
    ask_on_terminals(session)
    assert session.login().returncode == 0
    session.store("the secret", "k", "v")
    file = private_folder(session) / "l.json"
    session.lock()
    other = Person(session, "latchkey", "get", "--show", "k=v").expect("login password")
    person = Person(session, "latchkey", "export", "json", "--plain", file)
    # Another terminal shows the prompt, and the export shares it.
    wait_until(lambda: "export" in session.run("sh", "-c", f"cat /proc/{person.pid}/cmdline").stdout, "the export runs")
    other.type(session.password)
    assert "the secret" in other.output()
    person.expect("Password: ").type("wrong")
    person.output()
    assert person.status == FAILED and not file.exists()


def test_refusals(filled, public):
    file = filled.out / "r.json"

    def refused(*words, **options):
        done = export(filled, "json", *words, **options)
        assert done.returncode == FAILED and done.stdout == "" and done.stderr.startswith("latchkey: "), done
        return done.stderr

    assert "--plain" in refused(file)
    assert "password was not accepted" in refused("--plain", file, password="wrong")
    assert "you gave no answer" in filled.run("latchkey", "export", "json", "--plain", "--stdin", file, input="").stderr
    for mode in (0o755, 0o703):
        public.chmod(mode)
        assert "--public-folder" in refused("--plain", public / "r.json") and not list(public.iterdir())
    # No other user can enter a folder inside a private one.
    inner = filled.out / "inner"
    inner.mkdir()
    os.chown(inner, filled.uid, filled.gid)
    inner.chmod(0o777)
    assert export(filled, "json", "--plain", inner / "r.json").returncode == DONE
    assert export(filled, "json", "--plain", "--public-folder", public / "r.json").returncode == DONE
    assert (public / "r.json").stat().st_mode & 0o777 == 0o600
    file.write_text("mine")
    os.chown(file, filled.uid, filled.gid)
    assert "exists already" in refused("--plain", file) and file.read_text() == "mine"
    assert export(filled, "json", "--plain", "--force", file).returncode == DONE
    assert json.loads(file.read_text()) and file.stat().st_mode & 0o777 == 0o600
    assert "cannot be written" in refused("--plain", filled.out / "none" / "r.json")
    # First the person refuses twice, and then agrees.
    for answer, status in (("", FAILED), ("n", FAILED), ("y", DONE)):
        file.unlink(missing_ok=True)
        person = Person(filled, "latchkey", "export", "json", file).expect("whoever gets it").expect("[y/N]").type(answer)
        if status == DONE:
            person.expect("Password: ").type(filled.password)
        person.output()
        assert person.status == status and file.exists() == (status == DONE)


def test_what_must_not_leave_is_named(unlocked):
    plain = [("Plain", {"n": "1"}, b"1", "text/plain"), ("Bound", {"n": "2", "latchkey:accessible": DEVICE_ONLY}, b"2", "text/plain"),
             ("Asking", {"n": "3", "latchkey:require": "user-presence"}, b"3", "text/plain")]  # fmt: skip
    fill(unlocked, [(None, plain), ("Shut", [("Hidden", {"n": "4"}, b"4", "text/plain")])])
    peer = Peer(unlocked)
    try:
        peer.call(ROOT, SERVICE, "Lock", "(ao)", [collection(peer, "Shut")])
    finally:
        peer.close()
    out = private_folder(unlocked)

    def exported(name, *words):
        done = export(unlocked, "json", "--plain", "--json", "--no-prompt", *words, out / name)
        found = json.loads((out / name).read_text())["collections"]
        return done, {one["label"] for collection in found for one in collection["items"]}

    done, found = exported("a.json")
    assert done.returncode == PARTLY and found == {"Plain"}
    reasons = left(done)
    assert len(reasons) == 3 and DEVICE_ONLY in reasons["Bound"] and "--with-this-device-only" in reasons["Bound"]
    assert "user-presence" in reasons["Asking"] and "--with-requirements" in reasons["Asking"]
    assert [reason for label, reason in reasons.items() if label not in ("Bound", "Asking")] == ["it is locked: its collection is locked"]
    done, found = exported("b.json", "--with-this-device-only", "--collection", "login")
    assert found == {"Plain", "Bound"} and set(left(done)) == {"Asking"}
    done, found = exported("c.json", "--with-requirements", "--collection", "login")
    assert found == {"Plain"} and done.returncode == PARTLY and set(left(done)) == {"Bound", "Asking"}
    text = export(unlocked, "json", "--plain", "--no-prompt", out / "d.json")
    assert text.returncode == PARTLY and "Left out:" in text.stdout and "Login / Bound (login/" in text.stdout


@pytest.fixture(scope="module")
def many(stage):
    """Enough items for an export to take a while."""
    with opened(stage) as session:
        fill(session, [(None, [(f"Item {number}", {"n": str(number)}, b"x" * 4000, "text/plain") for number in range(1500)])])
        session.out = private_folder(session)
        yield session


def ended_halfway(many, file, number):
    """Exports, and sends the signal after a part is written. Returns the exit status."""
    words = ["latchkey", "export", "json", "--plain", "--force", "--stdin", file]
    with many.start(*words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        process.stdin.write(many.password + "\n")
        process.stdin.flush()
        wait_until(lambda: unfinished(process) > 20_000 or process.poll() is not None, "the first items", 60)
        process.send_signal(number)
        return process.wait(seconds(60))


@pytest.mark.night("imports")
@as_root
@pytest.mark.parametrize("former", [None, "the former one"], ids=["first", "again"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_export_that_is_ended_leaves_nothing(many, number, former):
    file = many.out / f"{number.name}.json"
    for _ in range(20):
        file.unlink(missing_ok=True)
        if former:
            place(many, file.relative_to(many.home), former)
        if ended_halfway(many, file, number) == -number:
            break
        # The export ended before the signal came.
    else:
        pytest.fail("it could never be ended halfway")
    assert {one.name: one.read_text() for one in many.out.iterdir()} == ({file.name: former} if former else {})
    assert export(many, "json", "--plain", "--force", file).returncode == DONE
    assert len(json.loads(file.read_text())["collections"][0]["items"]) == 1500
    assert [one.name for one in many.out.iterdir()] == [file.name]
    file.unlink()


def test_csv(filled, other):  # noqa: F811
    fill(other, [(None, [
        ("Mail", {"service": "mail", "username": "me", "url": "https://mail.org/x?a=1,2"}, b'p"1",\r\nline', "text/plain"),
        ("Net", {"protocol": "smb", "server": "nas", "user": "you"}, "\u00e4".encode(), "text/plain"),
        ("Key", {"n": "key"}, b"\xff\xfe", OCTETS)])])  # fmt: skip
    logins = "name,url,username,password,note,totp\r\nShop,https://shop.org/,me,pw1,two\nlines,otpauth://x\r\nNotes only,,,,just a note,\r\n"
    assert run(other, "csv", place(other, "in.csv", logins.replace("two\nlines", '"two\nlines"'))).returncode == DONE
    out = private_folder(other)
    done = export(other, "csv", "--plain", "--json", out / "a.csv")
    assert done.returncode == PARTLY and set(left(done)) == {"Key"}, done.stderr
    with (out / "a.csv").open(newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert rows.keys() == {"Mail", "Net", "Shop", "Notes only"}
    assert (rows["Mail"]["url"], rows["Mail"]["username"], rows["Mail"]["password"]) == ("https://mail.org/x?a=1,2", "me", 'p"1",\r\nline')
    assert (rows["Net"]["url"], rows["Net"]["username"]) == ("smb://nas", "you")
    shop = rows["Shop"]
    assert [shop[name] for name in ("password", "note", "totp")] == ["pw1", "two\nlines", "otpauth://x"]
    # Imported logins are exported unchanged, so a second import finds nothing new.
    logins = [row for row in (out / "a.csv").read_bytes().decode().split("\r\n") if row.startswith(('"Shop', "name,", '"Notes'))]
    again = run(other, "csv", "--json", place(other, "again.csv", "\r\n".join(logins) + "\r\n"))
    assert again.returncode == DONE and counts(again) == {"items": 4, "same": 4}, again.stdout
