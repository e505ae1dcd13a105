"""latchkey import of gnome-keyring's own files, of a running gnome-keyring, and of CSV. The tests read the results
through libsecret.
"""

import base64
import json
import signal
import time

import pytest
from support.foreign import PASSWORD, GnomeKeyring, seen
from support.importing import DONE, FAILED, PARTLY, carry, counts, marked, place, report, run, state
from support.pace import seconds
from support.person import Person
from support.session import Session, wait_until

FOLDER = ".local/share/keyrings"
GENERIC, OWN = "org.freedesktop.Secret.Generic", "org.latchkey.Test"


def item(number, home="Login"):
    """One of many kinds of items: texts in several scripts, an empty secret, lines, octets, odd attributes."""
    secret = {0: f"secret {number}".encode(), 1: "\u00e4\u6f22\U0001f511".encode() * 3, 2: b"", 3: b"line\nanother\r\n\n",
              4: bytes(range(256)), 5: b"back\\nslash=[5]"}[number % 6]  # fmt: skip
    if number == 199:
        # Only the last item is large, because gnome-keyring writes its whole file for each item.
        secret = bytes((7 * place + place // 251) % 256 for place in range(64 << 10))
    attributes = {"n": str(number), "empty": "", "na me": "\u6f22=\n"}
    if number == 8:
        # The portal stores the secret of a sandboxed application in this form.
        attributes, secret = {"app_id": "org.example.App"}, bytes(range(64))
    schema = [GENERIC, OWN, None][number % 3]
    return [home, f"Label {number} \u00e4\u6f22", schema, attributes, base64.b64encode(secret).decode()]


@pytest.fixture(scope="module")
def keyring_session(stage):
    opened = Session(stage)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def keyring(keyring_session):
    """The real gnome-keyring with 200 items."""
    opened = GnomeKeyring(keyring_session)
    opened.write([item(number) for number in range(200)])
    # After gnome-keyring has read its own file, it reveals other attributes of some items.
    opened.stop()
    opened.start()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def shared(stage):
    opened = Session(stage)
    assert opened.login().returncode == 0
    yield opened
    opened.close()


def stored(items):
    """The items as their programs stored them. gnome-keyring adds its own schema to items without a schema."""
    bare = {f"Label {number} " for number in range(200) if number % 3 == 2}
    return sorted(
        [home, label, [one for one in attributes if one != ["xdg:schema", GENERIC]], secret]
        if any(label.startswith(start) for start in bare) else [home, label, attributes, secret]
        for home, label, attributes, secret in items)


def test_everything_arrives(keyring, unlocked):
    folder = carry(unlocked, keyring.folder.iterdir(), FOLDER)
    before = state(folder)
    theirs = marked(stored(seen(keyring)))
    assert len(theirs) == 200
    dry = run(unlocked, "gnome-keyring", "--dry-run", "--json")
    assert dry.returncode == DONE, dry.stderr
    assert counts(dry) == {"items": 200, "added": 200} and seen(unlocked) == []
    done = run(unlocked, "gnome-keyring")
    assert done.returncode == DONE, done.stderr
    assert f"rm -- '{folder}/login.keyring'" in done.stdout and "200 imported" in done.stdout
    assert seen(unlocked) == theirs
    again = run(unlocked, "gnome-keyring", "--json")
    assert again.returncode == DONE and counts(again) == {"items": 200, "same": 200}
    assert seen(unlocked) == theirs and state(folder) == before
    assert PASSWORD not in done.stdout + done.stderr + unlocked.log()


@pytest.mark.night("imports")
def test_a_second_run_takes_what_is_newer_there(unlocked):
    """An item that was changed in the vault after the import stays, even if the item in the keyring has a later time.
    """
    file = place(unlocked, "Plain.keyring", TEXTUAL)
    dry = run(unlocked, "gnome-keyring", file, "--dry-run", "--json")
    assert counts(dry) == {"items": 2, "added": 2} and report(dry)["dry_run"]
    assert counts(run(unlocked, "gnome-keyring", file, "--json")) == {"items": 2, "added": 2}
    first = seen(unlocked)
    # The item has changed only in the keyring.
    place(unlocked, "Plain.keyring", newer(TEXTUAL, "second=2", "second=3", -20))
    dry = run(unlocked, "gnome-keyring", file, "--dry-run", "--json")
    assert dry.returncode == DONE and counts(dry) == {"items": 2, "same": 1, "newer_there": 1} and seen(unlocked) == first
    (line,) = lines(dry, "newer_there")
    assert line == {"outcome": "newer_there", "collection": "Plain ring", "label": "Lines", "class": "when-unlocked",
                    "reason": "not changed here since it was imported"}  # fmt: skip
    assert "Newer there; would replace" in run(unlocked, "gnome-keyring", file, "--dry-run").stdout
    kept = run(unlocked, "gnome-keyring", file, "--prefer", "here", "--json")
    assert kept.returncode == PARTLY and reasons(kept, "conflict") == ["newer there"] and seen(unlocked) == first
    done = run(unlocked, "gnome-keyring", file)
    assert done.returncode == DONE and "1 newer there, imported" in done.stdout and "Newer there; replaced" in done.stdout
    assert unlocked.lookup("n", "lines") == "first\nsecond=3\n[third]"
    assert counts(run(unlocked, "gnome-keyring", file, "--json")) == {"items": 2, "same": 2}
    # The item has changed in the keyring again, with secret and label. The new time is later than the keyring's former
    # time, but before the import.
    place(unlocked, "Plain.keyring", newer(TEXTUAL, "second=2", "second=4", -30).replace("display-name=Lines", "display-name=Others"))
    again = run(unlocked, "gnome-keyring", file, "--json")
    assert again.returncode == PARTLY and counts(again) == {"items": 2, "same": 1, "newer_here": 1}
    place(unlocked, "Plain.keyring", newer(TEXTUAL, "second=2", "second=4", -5).replace("display-name=Lines", "display-name=Others"))
    again = run(unlocked, "gnome-keyring", file, "--json")
    assert again.returncode == DONE and counts(again) == {"items": 2, "same": 1, "newer_there": 1}
    assert unlocked.lookup("n", "lines") == "first\nsecond=4\n[third]" and "Others" in [one[1] for one in seen(unlocked)]
    # The item has changed in the vault, and then in the keyring.
    unlocked.run("latchkey", "edit", "n=lines", "--secret", "--label", "Mine", input="changed here", check=True)
    mine = seen(unlocked)
    for words in ((), ("--prefer", "newer"), ("--prefer", "here"), ("--dry-run",)):
        place(unlocked, "Plain.keyring", TEXTUAL)
        done = run(unlocked, "gnome-keyring", file, *words, "--json")
        assert done.returncode == PARTLY and counts(done) == {"items": 2, "same": 1, "newer_here": 1}, done
        place(unlocked, "Plain.keyring", newer(TEXTUAL, "second=2", "second=5", DAY))
        done = run(unlocked, "gnome-keyring", file, *words, "--json")
        assert done.returncode == PARTLY and counts(done) == {"items": 2, "same": 1, "conflicts": 1}, done
        reason = "newer there" if "here" in words else "newer there, but changed here too since it was imported"
        assert reasons(done, "conflict") == [reason] and seen(unlocked) == mine
    done = run(unlocked, "gnome-keyring", file, "--prefer", "there", "--json")
    assert done.returncode == DONE and counts(done) == {"items": 2, "same": 1, "newer_there": 1}
    assert unlocked.lookup("n", "lines") == "first\nsecond=5\n[third]"


def newer(textual, former, latter, seconds):
    """The same keyring with another secret, which was changed `seconds` after NOW."""
    return textual.replace(former, latter, 1).replace("mtime=1700000000", f"mtime={NOW + seconds}", 1)


# A day is later than any change of a test.
NOW, DAY = int(time.time()), 24 * 60 * 60


def lines(done, outcome):
    return [line for line in report(done)["lines"] if line["outcome"] == outcome]


def reasons(done, outcome):
    return [line["reason"] for line in lines(done, outcome)]


def test_what_no_import_brought_stays(unlocked):
    """A program stored this item in the vault. A later time in the keyring does not mean that the vault's item is
    obsolete."""
    file = place(unlocked, "Plain.keyring", newer(TEXTUAL, "second=2", "second=3", DAY))
    assert run(unlocked, "gnome-keyring", file, "--into", "Login").returncode == DONE
    (unlocked.home / ".local/state/latchkey/imported.json").unlink()
    unlocked.run("latchkey", "edit", "n=lines", "--secret", input="a program's own", check=True)
    mine = seen(unlocked)
    done = run(unlocked, "gnome-keyring", file, "--into", "Login", "--json")
    assert done.returncode == PARTLY and counts(done) == {"items": 2, "same": 1, "conflicts": 1} and seen(unlocked) == mine
    (reason,) = reasons(done, "conflict")
    assert reason == "newer there, but the item here is not imported; --prefer newer takes the one there"
    done = run(unlocked, "gnome-keyring", file, "--into", "Login", "--json", "--prefer", "newer")
    assert done.returncode == DONE and counts(done) == {"items": 2, "same": 1, "newer_there": 1}
    assert unlocked.lookup("n", "lines") == "first\nsecond=3\n[third]"
    # Only the person can read the record, which has no secret, label or attribute.
    record = unlocked.home / ".local/state/latchkey/imported.json"
    assert record.stat().st_mode & 0o777 == 0o600
    written = json.loads(record.read_text())
    assert set(written) == {"items", "version"} and all(set(one) == {"here", "there", "source"} for one in written["items"].values())
    # The import treats a damaged record as a missing one.
    record.write_text("{")
    assert counts(run(unlocked, "gnome-keyring", file, "--into", "Login", "--json")) == {"items": 2, "same": 2}


def test_a_newer_file_of_another_place_replaces_nothing(unlocked):
    """Another person may have made that file, with the same attributes and a later time."""
    file = place(unlocked, "Plain.keyring", TEXTUAL)
    assert run(unlocked, "gnome-keyring", file).returncode == DONE
    mine = seen(unlocked)
    (unlocked.home / "elsewhere").mkdir()
    other = place(unlocked, "elsewhere/Plain.keyring", newer(TEXTUAL, "second=2", "second=3", DAY))
    done = run(unlocked, "gnome-keyring", other, "--json")
    assert done.returncode == PARTLY and counts(done) == {"items": 2, "same": 1, "conflicts": 1} and seen(unlocked) == mine
    # A link to the same file counts as the same place.
    file.write_bytes(other.read_bytes())
    (unlocked.home / "link").symlink_to(file.parent)
    assert counts(run(unlocked, "gnome-keyring", unlocked.home / "link" / file.name, "--json")) == {
        "items": 2, "same": 1, "newer_there": 1}  # fmt: skip


def test_two_secrets_of_one_item(unlocked):
    file = place(unlocked, "Plain.keyring", TEXTUAL)
    assert run(unlocked, "gnome-keyring", file).returncode == DONE
    theirs = seen(unlocked)
    unlocked.run("latchkey", "edit", "n=lines", "--secret", input="changed here", check=True)
    mine = seen(unlocked)
    assert mine != theirs
    done = run(unlocked, "gnome-keyring", file, "--json")
    assert done.returncode == PARTLY and counts(done) == {"items": 2, "same": 1, "newer_here": 1}
    (line,) = lines(done, "newer_here")
    assert line["label"] == "Lines" and line["class"] == "when-unlocked" and line["reason"] == ""
    assert "Newer here; the vault's item stays" in run(unlocked, "gnome-keyring", file).stdout
    assert run(unlocked, "gnome-keyring", file, "--prefer", "newer").returncode == PARTLY and seen(unlocked) == mine
    dry = run(unlocked, "gnome-keyring", file, "--prefer", "there", "--dry-run")
    assert dry.returncode == DONE and "1 would replace another" in dry.stdout and seen(unlocked) == mine
    assert run(unlocked, "gnome-keyring", file, "--prefer", "there").returncode == DONE and seen(unlocked) == theirs
    # The item changes in the vault: first secret and label, then only the label.
    for words, secret in ((("--secret", "--label", "Mine"), "changed here"), (("--label", "Mine"), "")):
        unlocked.run("latchkey", "edit", "n=lines", *words, input=secret, check=True)
        assert counts(run(unlocked, "gnome-keyring", file, "--json", "--dry-run", "--prefer", "there")) == {"items": 2, "same": 1, "replaced": 1}
        assert run(unlocked, "gnome-keyring", file, "--prefer", "there").returncode == DONE and seen(unlocked) == theirs
        assert counts(run(unlocked, "gnome-keyring", file, "--json", "--prefer", "there")) == {"items": 2, "same": 2}
    unlocked.run("latchkey", "edit", "n=lines", "--label", "Mine", check=True)
    assert counts(run(unlocked, "gnome-keyring", file, "--json")) == {"items": 2, "same": 2}
    nothing = run(unlocked, "gnome-keyring", file, "--json", "--since", "2400-01-01")
    assert counts(nothing) == {} and report(nothing)["still_needed"] is True


def test_the_class_of_each_and_why(unlocked):
    """The dry run names the class that each new item gets, and the rule for it."""
    rules = place(unlocked, ".config/latchkey/rules.yaml", "- name: lines\n  match: {n: lines}\n  class: after-first-unlock\n")
    words = ("--home", unlocked.home)
    file = place(unlocked, "Plain.keyring", TEXTUAL)
    dry = run(unlocked, "gnome-keyring", file, *words, "--dry-run", "--json")
    told = {line["label"]: (line["class"], line["reason"]) for line in lines(dry, "new")}
    assert told == {"Lines": ("after-first-unlock", f"rule 'lines', {rules}:1"), "App": ("when-unlocked", "default class")}
    text = run(unlocked, "gnome-keyring", file, *words, "--dry-run").stdout
    assert f"  Plain ring / Lines (after-first-unlock): rule 'lines', {rules}:1\n" in text
    assert run(unlocked, "gnome-keyring", file, *words).returncode == DONE
    classes = {}
    for name in ("n=lines", "app_id=org.example.App"):
        (item,) = json.loads(unlocked.run("latchkey", "find", "--json", name, check=True).stdout)
        classes[item["label"]] = item["class"]
    assert classes == {label: kind for label, (kind, _) in told.items()}
    # For an existing item, the dry run names the item's present class.
    again = run(unlocked, "gnome-keyring", file, "--dry-run", "--json")
    assert {line["label"]: line["class"] for line in lines(again, "same")} == classes


def test_without_times_nothing_is_newer(unlocked):
    """Chromium's CSV files have no times, so every difference is a conflict."""
    file = place(unlocked, "plain.csv", CSV["chromium"])
    assert run(unlocked, "csv", file).returncode == DONE
    place(unlocked, "plain.csv", CSV["chromium"].replace("p1", "p2"))
    done = run(unlocked, "csv", file, "--json")
    assert done.returncode == PARTLY and reasons(done, "conflict") == ["the old place does not tell when it was changed"]


def test_items_that_only_their_secrets_tell_apart(unlocked):
    twice = TEXTUAL.replace("[2:attribute0]\nname=app_id\ntype=string\nvalue=org.example.App", "[2:attribute0]\nname=n\nvalue=lines")
    file = place(unlocked, "Plain.keyring", twice)
    assert counts(run(unlocked, "gnome-keyring", file, "--json")) == {"items": 2, "added": 2}
    assert counts(run(unlocked, "gnome-keyring", file, "--json")) == {"items": 2, "same": 2}
    # Two other items have the same attributes. The command cannot match old and new items, so it replaces no item.
    mine = seen(unlocked)
    place(unlocked, "Plain.keyring", twice.replace("first", "third").replace("00ff10", "00ff11"))
    done = run(unlocked, "gnome-keyring", file, "--prefer", "there")
    assert done.returncode == PARTLY and "2 items found: 2 in conflict." in done.stdout and seen(unlocked) == mine
    assert "2 there and 2 here have the same attributes" in done.stdout
    # One of the two items is the same in the keyring and in the vault. So the other new item can only replace the other
    # old item.
    place(unlocked, "Plain.keyring", twice.replace("first", "third"))
    assert run(unlocked, "gnome-keyring", file, "--prefer", "there").returncode == DONE
    assert counts(run(unlocked, "gnome-keyring", file, "--json")) == {"items": 2, "same": 2}


def test_what_cannot_be_read(keyring, unlocked):
    folder = carry(unlocked, keyring.folder.iterdir(), FOLDER)
    done = run(unlocked, "gnome-keyring", folder / "login.keyring", password="wrong")
    assert done.returncode == FAILED and "does not open with that password. Nothing was imported." in done.stderr
    assert "cannot be read" in run(unlocked, "gnome-keyring", "missing").stderr
    assert run(unlocked, "gnome-keyring", "/dev/null").returncode == FAILED
    # A file that is cut anywhere gives an error, no item and no crash.
    whole = (folder / "login.keyring").read_bytes()
    cut = folder / "cut.keyring"
    for size in (0, 1, 15, 16, 17, 20, 27, 60, 100, 999, len(whole) // 2, len(whole) - 17, len(whole) - 16, len(whole) - 1):
        cut.write_bytes(whole[:size])
        done = run(unlocked, "gnome-keyring", cut)
        assert done.returncode == FAILED and "Nothing was imported" in done.stderr, (size, done)
    # The command imports the good file, leaves out the bad files, and names these files.
    (folder / "user.keystore").write_text("keys")
    done = run(unlocked, "gnome-keyring")
    assert done.returncode == PARTLY and "200 imported" in done.stdout and "cut / all of its items" in done.stdout
    assert "user.keystore has keys" in done.stdout and "cut.keyring'" not in done.stdout


def test_the_question_names_the_file(keyring, unlocked):
    folder = carry(unlocked, keyring.folder.iterdir(), FOLDER)
    file = folder / "login.keyring"
    alone = Person(unlocked, "latchkey", "import", "gnome-keyring", file).expect(f"Password for '{file}': ").type(PASSWORD)
    assert "imported" in alone.output() and alone.status == DONE
    place(unlocked, f"{FOLDER}/Plain.keyring", TEXTUAL)
    several = Person(unlocked, "latchkey", "import", "gnome-keyring").expect("', tried for the other files too: ").type(PASSWORD)
    assert "imported" in several.output() and several.status == DONE


def test_links_that_lead_nowhere(unlocked):
    """Links to themselves, to nothing and to their own folder. The command leaves out these links, and imports the
    readable files."""
    file = place(unlocked, f"{FOLDER}/Plain.keyring", TEXTUAL)
    for name, target in (("loop", "loop.keyring"), ("gone", "nothing"), ("folder", ".")):
        (file.parent / f"{name}.keyring").symlink_to(target)
    (file.parent / "around").symlink_to("..")
    done = run(unlocked, "gnome-keyring", password="")
    assert done.returncode == PARTLY and "2 imported" in done.stdout and "rm --" not in done.stdout, done
    assert "loop / all of its items" in done.stdout and "Too many levels of symbolic links" in done.stdout
    assert "gone / all of its items" in done.stdout and "folder.keyring is not a file" in done.stdout
    alone = run(unlocked, "gnome-keyring", file.parent / "loop.keyring")
    assert alone.returncode == FAILED and "Too many levels of symbolic links" in alone.stderr


def test_the_default_keyring(unlocked):
    """Items of the default keyring go into the default collection, because programs store there by default. Other
    keyrings get their own collections."""
    place(unlocked, f"{FOLDER}/Work.keyring", TEXTUAL.replace("Plain ring", "Work").replace("n\ntype", "work\ntype", 1))
    place(unlocked, f"{FOLDER}/Plain.keyring", TEXTUAL)
    place(unlocked, f"{FOLDER}/default", "Work\n")
    for added in (4, 0):
        done = run(unlocked, "gnome-keyring", "--json", password="")
        assert done.returncode == DONE and counts(done).get("added", 0) == added, done
        assert sorted((one[0], one[1]) for one in seen(unlocked)) == [
            ("Login", "App"), ("Login", "Lines"), ("Plain ring", "App"), ("Plain ring", "Lines")]
    # If the file names a missing keyring or is empty, the keyrings keep their own collections.
    place(unlocked, f"{FOLDER}/default", "Gone\n")
    assert counts(run(unlocked, "gnome-keyring", "--json", password="")) == {"items": 4, "same": 2, "added": 2}
    assert ("Work", "Lines") in [(one[0], one[1]) for one in seen(unlocked)]


# sendmsg sends a request to the vault, write shows text to the person, and renameat puts a file on the disk.
@pytest.mark.night("imports")
@pytest.mark.parametrize("call", ["sendmsg", "write", "renameat"])
def test_a_kill_at_each_call_of_a_replacement(unlocked, call):
    """Label and secret of an item are both old or both new. The next run finishes the import."""
    file = place(unlocked, "Plain.keyring", TEXTUAL)
    latter = TEXTUAL.replace("display-name=Lines", "display-name=Others").replace("second=2", "second=9")
    assert run(unlocked, "gnome-keyring", file, "--into", "Login").returncode == DONE
    former = {("Lines", "first\nsecond=2\n[third]"), ("Others", "first\nsecond=9\n[third]")}
    replaced = 0
    for number in range(1, 200):
        place(unlocked, "Plain.keyring", TEXTUAL if replaced % 2 else latter)
        inject = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}")
        done = unlocked.run(*inject, "latchkey", "import", "gnome-keyring", file, "--into", "Login", "--prefer", "there", timeout=120)
        assert done.returncode in (DONE, -signal.SIGKILL), done
        (state,) = [(one[1], base64.b64decode(one[3]).decode()) for one in seen(unlocked) if one[1] != "App"]
        assert state in former, (number, state)
        if done.returncode == DONE:
            break
        assert run(unlocked, "gnome-keyring", file, "--into", "Login", "--prefer", "there").returncode == DONE
        replaced += 1
    assert done.returncode == DONE and number > 1


@pytest.mark.night("imports")
def test_a_kill_of_the_daemon_in_the_middle(keyring, unlocked):
    """Each item is complete or missing. The same command imports the rest."""
    folder = carry(unlocked, keyring.folder.iterdir(), FOLDER)
    theirs = marked(stored(seen(keyring)))
    for attempt, wanted in enumerate((1, 20, 60, 120)):
        words = ("gnome-keyring", "--into", f"Attempt {attempt}", folder)
        child = unlocked.start("latchkey", "import", *words, stdin=-1, stdout=-1, stderr=-1, text=True)
        child.stdin.write(PASSWORD + "\n")
        child.stdin.flush()
        wait_until(lambda: child.poll() is not None or found(unlocked, "empty=") >= attempt * 199 + wanted, "some items", 60)
        unlocked.stop_daemon(signal.SIGKILL)
        told = child.communicate(timeout=seconds(60))[1]
        assert child.returncode in (DONE, FAILED, 3), told
        unlocked.start_daemon()
        assert unlocked.login().returncode == 0
        here = [one[1:] for one in seen(unlocked) if one[0] == f"Attempt {attempt}"]
        whole = [item[1:] for item in theirs]
        assert all(one in whole for one in here)
        done = run(unlocked, *words, "--json")
        assert done.returncode == DONE and counts(done)["same"] == len(here), done.stdout + done.stderr
        assert [one[1:] for one in seen(unlocked) if one[0] == f"Attempt {attempt}"] == [one[1:] for one in theirs]


@pytest.mark.night("imports")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_a_kill_in_the_middle(keyring, unlocked, number):
    folder = carry(unlocked, keyring.folder.iterdir(), FOLDER)
    # On a busy machine the import may end before the signal comes. Then the test tries again with another collection.
    for attempt in range(6):
        words = ("gnome-keyring", "--into", f"Attempt {attempt}", folder)
        child = unlocked.start("latchkey", "import", *words, stdin=-1, stdout=-1, stderr=-1, text=True)
        child.stdin.write(PASSWORD + "\n")
        child.stdin.flush()
        wait_until(lambda: child.poll() is not None or found(unlocked, "n=10") > attempt, "some items", 60)
        child.send_signal(number)
        said = child.communicate()[1]
        if child.returncode != DONE:
            break
    assert child.returncode == -number, said
    assert number == signal.SIGKILL or "run the same command again" in said
    done = run(unlocked, *words, "--json")
    assert done.returncode == DONE and counts(done)["items"] == 200 and counts(done)["same"] > 10
    assert counts(done)["added"] == 200 - counts(done)["same"]
    here = [one[1:] for one in seen(unlocked) if one[0] == f"Attempt {attempt}"]
    assert here == [one[1:] for one in marked(stored(seen(keyring)))]


def found(session, *words):
    done = session.run("latchkey", "find", "--json", *words)
    return len(json.loads(done.stdout)) if done.returncode == DONE else 0


TEXTUAL = """[keyring]
display-name=Plain ring
ctime=0
mtime=0
lock-on-idle=false
lock-after=false

[1]
item-type=0
display-name=Lines
secret=first
second=2
[third]
mtime=1700000000
ctime=1700000000

[1:attribute0]
name=n
type=string
value=lines

[2]
item-type=0
display-name=App
binary-secret=00ff10
mtime=1700000000
ctime=1700000000

[2:attribute0]
name=app_id
type=string
value=org.example.App
"""


def test_a_new_password_takes_the_place_of_an_imported_one(unlocked):
    """A program without a schema replaces the imported item, and never reads the old secret again."""
    assert run(unlocked, "gnome-keyring", place(unlocked, "Plain.keyring", TEXTUAL), "--into", "Login").returncode == DONE
    assert unlocked.run("secret-tool", "store", "--label=Lines", "n", "lines", input="newer").returncode == 0
    assert unlocked.run("secret-tool", "lookup", "n", "lines").stdout == "newer"
    assert len([one for one in seen(unlocked) if one[1] == "Lines"]) == 1


def test_a_part_leaves_the_files_needed(unlocked):
    file = place(unlocked, "Plain.keyring", TEXTUAL)
    done = run(unlocked, "gnome-keyring", file, "--since", "2027-01-01")
    assert done.returncode == DONE and "rm --" not in done.stdout and "Keep the files" in done.stdout
    assert "not looked at because of --collection or --since: 2" in done.stdout
    done = run(unlocked, "gnome-keyring", file, "--collection", "nosuch")
    assert done.returncode == FAILED and "There are: Plain ring" in done.stderr


def test_one_keyring_of_several(keyring, unlocked):
    """The command does not read the other keyrings. The other keyrings may have another password, or be damaged."""
    carry(unlocked, keyring.folder.glob("*.keyring"), FOLDER)
    place(unlocked, f"{FOLDER}/Plain.keyring", TEXTUAL)
    place(unlocked, f"{FOLDER}/Cut.keyring", (unlocked.home / FOLDER / "login.keyring").read_bytes()[:200])
    for name in ("Plain", "Plain ring"):
        done = run(unlocked, "gnome-keyring", "--collection", name, password="")
        assert done.returncode == DONE and "Files that were not read because of --collection: 2." in done.stdout, done
    assert "Keep the files" in done.stdout and [one[0] for one in seen(unlocked)] == ["Plain ring"] * 2
    nobody = run(unlocked, "gnome-keyring", "--collection", "nosuch")
    assert nobody.returncode == FAILED and "There are: " in nobody.stderr and "Plain ring" in nobody.stderr


def test_a_textual_keyring(unlocked):
    file = place(unlocked, "Plain.keyring", TEXTUAL)
    # The test gives no password, because this file needs none.
    done = run(unlocked, "gnome-keyring", file, password="")
    assert done.returncode == DONE, done.stderr
    assert seen(unlocked) == [
        ["Plain ring", "App", [["app_id", "org.example.App"]], base64.b64encode(b"\0\xff\x10").decode()],
        ["Plain ring", "Lines", [["n", "lines"]], base64.b64encode(b"first\nsecond=2\n[third]").decode()]]
    assert counts(run(unlocked, "gnome-keyring", file, "--json")) == {"items": 2, "same": 2}


def test_a_running_service(keyring, unlocked):
    words = ("service", "--bus", keyring.bus)
    done = run(unlocked, *words)
    assert done.returncode == DONE, done.stderr
    assert seen(unlocked) == marked(seen(keyring))
    assert counts(run(unlocked, *words, "--json")) == {"items": 200, "same": 200}
    nobody = run(unlocked, *words, "--collection", "nosuch")
    assert nobody.returncode == FAILED and "There are: Login" in nobody.stderr
    own = run(unlocked, "service")
    assert own.returncode == FAILED and "Latchkey itself" in own.stderr
    assert "no bus" in run(unlocked, "service", "--bus", "unix:path=/nowhere").stderr


CSV = {
    "chromium": "name,url,username,password,note\na.org,https://a.org/,me,p1,\n",
    "firefox": '"url","username","password","httpRealm","formActionOrigin","guid","timeCreated","timeLastUsed",'
               '"timePasswordChanged"\n"https://a.org","me","p1",,"https://a.org","{1}","1","1","1700000000000"\n',
    "apple": "Title,URL,Username,Password,Notes,OTPAuth\na.org,https://a.org/,me,p1,,\n",
    "bitwarden": "folder,favorite,type,name,notes,fields,reprompt,login_uri,login_username,login_password,login_totp\n"
                 ",,login,a.org,,,0,https://a.org/,me,p1,\n",
    "keepassxc": '"Group","Title","Username","Password","URL","Notes","TOTP","Icon","Last Modified","Created"\n'
                 '"Root","a.org","me","p1","https://a.org/","","","0","2026-01-01T00:00:00Z","2026-01-01T00:00:00Z"\n',
}  # fmt: skip


@pytest.mark.parametrize("program", CSV)
def test_csv(shared, program):
    file = place(shared, f"{program}.csv", CSV[program])
    done = run(shared, "csv", "--into", program, file)
    assert done.returncode == DONE, done.stderr
    ((_, label, attributes, secret),) = [one for one in seen(shared) if one[0] == program]
    attributes = dict(attributes)
    assert (label, base64.b64decode(secret)) == ("a.org", b"p1")
    assert (attributes["server"], attributes["user"], attributes["field"]) == ("a.org", "me", "password")
    assert counts(run(shared, "csv", "--into", program, file, "--json")) == {"items": 1, "same": 1}
    assert f"rm -- '{file}'" in done.stdout


def test_csv_rows_without_a_secret_and_a_relative_path(shared):
    place(shared, "part.csv", "url,username,password\nhttps://a.org,me,p\nhttps://b.org,me,\n")
    words = ("sh", "-c", f"cd '{shared.home}' && exec latchkey import csv --into part part.csv \"$@\"", "sh")
    done = shared.run(*words)
    assert done.returncode == PARTLY and "row 3 / b.org: it has no password, note or other secret" in done.stdout
    assert "2 items found: 1 imported, 1 stayed behind." in done.stdout and "rm --" not in done.stdout
    place(shared, "part.csv", "url,username,password\nhttps://a.org,me,p\n")
    done = shared.run(*words)
    assert done.returncode == DONE and done.stdout.startswith("1 item found: 1 there already.\n")
    assert f"rm -- '{shared.home}/part.csv'" in done.stdout


def test_csv_with_a_comma_in_a_value_without_quotes(shared):
    rows = "name,url,username,password,note\nOne,https://one.example/,anna,{},word\nTwo,https://two.example/,bert,good,\n"
    file = place(shared, "comma.csv", rows.format("pa,ss"))
    done = run(shared, "csv", "--into", "comma", file)
    assert done.returncode == PARTLY and "2 items found: 1 imported, 1 stayed behind." in done.stdout
    assert "row 2 / One: it begins on line 2 and has more fields than the first row" in done.stdout
    assert 'pa,s"s becomes "pa,s""s"' in done.stdout and "Keep the files" in done.stdout and "rm --" not in done.stdout
    assert [base64.b64decode(one[3]) for one in seen(shared) if one[0] == "comma"] == [b"good"]
    place(shared, "comma.csv", rows.format('"pa,ss"'))
    done = run(shared, "csv", "--into", "comma", file)
    assert done.returncode == DONE and "3 items found: 2 imported, 1 there already." in done.stdout
    assert {base64.b64decode(one[3]) for one in seen(shared) if one[0] == "comma"} == {b"good", b"pa,ss", b"word"}


def test_csv_with_a_quote_that_is_not_closed(shared):
    rows = 'name,url,username,password,note\nq1,https://q1.example,anna,pw1,\nq2,https://q2.example,bob,{},\nq3,https://q3.example,eve,pw3,\n'
    file = place(shared, "quote.csv", rows.format('"open'))
    done = run(shared, "csv", "--into", "quote", file)
    assert done.returncode == PARTLY and "2 items found: 1 imported, 1 stayed behind." in done.stdout
    assert "row 3 / q2: a value begins with a quote on line 3 and does not end with one, so this row and all" in done.stdout
    assert 'pa,s"s becomes "pa,s""s"' in done.stdout and "If the file is cut off, export it once more" in done.stdout
    assert "Keep the files" in done.stdout and "rm --" not in done.stdout
    place(shared, "quote.csv", rows.format('"""open"'))
    done = run(shared, "csv", "--into", "quote", file)
    assert done.returncode == DONE and "3 items found: 2 imported, 1 there already." in done.stdout
    assert {base64.b64decode(one[3]) for one in seen(shared) if one[0] == "quote"} == {b"pw1", b'"open', b"pw3"}
    done = run(shared, "csv", place(shared, "quote.csv", 'name,"password\nq1,pw\n'))
    assert done.returncode == FAILED and "quote.csv has a value in its first row that begins with a quote on line 1" in done.stderr


def test_csv_that_is_cut_off(shared):
    file = place(shared, "cut.csv", "name,url,username,password,note\nOne,https://one.example/,anna,half")
    done = run(shared, "csv", "--into", "cut", file)
    assert done.returncode == PARTLY and "row 2 / One: the file ends in the middle of this row" in done.stdout
    assert "If the file is cut off, export it once more and import it again." in done.stdout and "rm --" not in done.stdout


def test_csv_that_is_none(shared):
    file = place(shared, "none.csv", "one,two\n1,2\n")
    done = run(shared, "csv", file)
    assert done.returncode == FAILED and "--column password=" in done.stderr
    done = run(shared, "csv", "--column", "password=tow", file)
    assert done.returncode == FAILED and "no column 'tow'. It has: one, two" in done.stderr
    done = run(shared, "csv", "--column", "password=two", "--dry-run", file)
    assert done.returncode == DONE and "Columns that were not read: one" in done.stdout
    done = run(shared, "csv", "--column", "password=two", "--column", "user=one", "--dry-run", file)
    assert done.returncode == DONE and "1 would be imported" in done.stdout
