"""latchkey import of hostile files. No item of the vault becomes less protected, and one malformed item does not stop
the import.
"""

import json
import os
import pathlib

import pytest
from support.foreign import PASSWORD
from support.importing import (
    DONE, FAILED, PARTLY, counts, keepass_database, keepass_entry, keepass_group, keepass_string, place, report, run)  # fmt: skip

pytestmark = pytest.mark.night("imports")

XML = ("<?xml version='1.0' encoding='UTF-8'?><KeePassFile><Meta><Generator>test</Generator></Meta><Root>"
       + keepass_group(1, "Passwords", keepass_entry(10, keepass_string("Title", "one"), keepass_string("Password", "the secret")))
       + "</Root></KeePassFile>")  # fmt: skip


def exported(*items):
    """A Latchkey export with these items. Each has attributes, a secret and further properties."""
    told = [{"label": "Label", "attributes": attributes, "secret": secret, **more} for attributes, secret, more in items]
    return json.dumps({"format": "latchkey-export", "version": 1, "default": "login", "collections": [{"name": "login", "label": "Login", "items": told}]})


def only_line(done):
    (line,) = report(done)["lines"]
    return line


@pytest.mark.parametrize(
    ("here", "there", "taken"),
    [
        ("always", {"require": "user-presence"}, False),
        ("when-unlocked", {"require": "user-presence"}, False),
        ("always", {"class": "when-unlocked"}, False),
        ("always", {"class": "after-first-unlock-this-device-only"}, False),
        ("when-unlocked", {"class": "when-unlocked-this-device-only"}, False),
        ("after-first-unlock", {"class": "when-unlocked"}, False),
        ("when-unlocked", {"class": "a class of later"}, False),
        ("when-unlocked", {"class": "after-first-unlock"}, True),
        ("when-unlocked", {"class": "when-unlocked"}, True),
        ("after-first-unlock", {"class": "always"}, True),
        ("when-unlocked", {}, True),
    ],
)
def test_a_secret_that_is_better_protected_there_replaces_none(unlocked, here, there, taken):
    unlocked.store("here", "k", "v", "latchkey:accessible", here)
    file = place(unlocked, "vault.json", exported(({"k": "v"}, "there", {"modified": 1 << 40, **there})))
    for prefer in ("there", "newer"):
        # Without the record, the import treats the item as stored by a program.
        (unlocked.home / ".local/state/latchkey/imported.json").unlink(missing_ok=True)
        unlocked.run("latchkey", "edit", "k=v", "--secret", input="here", check=True)
        for words in (("--dry-run",), ()):
            done = run(unlocked, "json", file, "--prefer", prefer, "--json", *words)
            if taken:
                assert done.returncode == DONE and counts(done) == {"items": 1, "newer_there": 1}, done.stdout
            else:
                assert done.returncode == PARTLY and counts(done) == {"items": 1, "conflicts": 1}, done.stdout
                assert next(iter(there.values())) in only_line(done)["reason"]
            assert unlocked.lookup("k", "v") == ("there" if taken and words == () else "here")


def test_only_conflicts_that_an_option_decides_name_it(unlocked):
    """Some conflicts remain even with --prefer there. The vault's item or the file decides these conflicts."""
    unlocked.store("here", "k", "open")
    unlocked.store("here", "k", "weaker", "latchkey:accessible", "always")
    unlocked.store("here", "k", "asking", "latchkey:require", "user-presence")
    items = [({"k": "open"}, "there", {}), ({"k": "weaker"}, "there", {"class": "when-unlocked"}), ({"k": "asking"}, "there", {})]
    file = place(unlocked, "vault.json", exported(*items))

    def headings(*words):
        done = run(unlocked, "json", file, *words)
        assert done.returncode == PARTLY
        return [line for line in done.stdout.splitlines() if line.endswith(":") and not line.startswith(" ")]

    stays, asks = "In conflict; the vault's item stays, whatever --prefer says:", "Not compared, because each reading requires a confirmation."
    first, last = headings("--dry-run"), headings("--prefer", "there")
    assert "(--prefer there takes" in first[0] and first[1].startswith(asks), first
    assert last[0].startswith("Replaced") and last[1] == stays and last[2].startswith(asks) and len(last) == 3, last


def keyring(*items):
    """A textual keyring of gnome-keyring. The items of the keyring have these attributes."""
    text = "[keyring]\ndisplay-name=Login\n"
    for number, attributes in enumerate(items):
        text += f"\n[{number}]\nitem-type=0\ndisplay-name=Label\nsecret=secret {number}\nmtime=1700000000\nctime=1700000000\n"
        for place, (name, value) in enumerate(attributes.items()):
            text += f"\n[{number}:attribute{place}]\nname={name}\ntype=string\nvalue={value}\n"
    return text


@pytest.mark.parametrize("odd", [{"k": "a\0b"}, {"a\0b": "v"}], ids=["value", "name"])
def test_one_odd_item_ends_nothing(unlocked, odd):
    file = place(unlocked, "login.keyring", keyring(odd, {"k": "v"}))
    done = run(unlocked, "gnome-keyring", file, "--json")
    assert done.returncode == PARTLY and counts(done) == {"items": 2, "added": 1, "left": 1}, done.stdout[:500] + done.stderr
    assert [line["outcome"] for line in report(done)["lines"]] == ["left", "new"] and report(done)["lines"][0]["reason"]
    assert unlocked.lookup("k", "v") == "secret 1"


def test_a_label_that_would_reorder_a_line(unlocked):
    label = "a\u202eb\u2066c\u200fd\u2028e\u200bf\x1bg \u200d\u200c\U0001f468\u200d\U0001f469 \u05d0"
    content = json.loads(exported(({"k": "v"}, "x", {})))
    content["collections"][0]["items"][0]["label"] = label
    done = run(unlocked, "json", "--dry-run", place(unlocked, "vault.json", json.dumps(content)))
    assert "a?b?c?d?e?f?g \u200d\u200c\U0001f468\u200d\U0001f469 \u05d0" in done.stdout, done.stdout


# KeePass


def stand_in(session, text):
    """Puts a program in the place of keepassxc-cli."""
    program = session.root / "bin/keepassxc-cli"
    program.write_text(text)
    program.chmod(0o755)


def copies(session):
    return [folder.name for folder in session.runtime.rglob("latchkey-import*")]


def test_what_was_checked_is_what_is_opened(unlocked):
    file = keepass_database(unlocked, XML)
    real = unlocked.run("sh", "-c", "command -v keepassxc-cli").stdout.strip()
    stand_in(unlocked, f"#!/bin/sh\necho another > '{file}'\nexec {real} \"$@\"\n")
    done = run(unlocked, "keepass", file)
    assert done.returncode == DONE and file.read_text() == "another\n", done.stdout + done.stderr
    assert unlocked.lookup("name", "one") == "the secret" and copies(unlocked) == []
    # An error names the file as the person typed it.
    stand_in(unlocked, '#!/bin/sh\nread line\nfor last; do :; done\ntest -f "$last" && echo "$last is odd" >&2\nexit 1\n')
    file.write_bytes(b"no database")
    done = run(unlocked, "keepass", file)
    assert done.returncode == FAILED and f"keepassxc-cli says: {file} is odd" in done.stderr and copies(unlocked) == [], done


@pytest.mark.parametrize("name", [b"M\0x", b"M\0", "\ufeffM".encode(), b"Q"])
def test_a_parameter_that_keepassxc_reads_under_another_name(unlocked, name):
    """KeePassXC ends the name of a parameter at its first zero byte, and drops a byte order mark."""
    size = len(name).to_bytes(4, "little")
    cost = b"\0\x01\x05" + size + name + b"\x08\0\0\0" + (1 << 40).to_bytes(8, "little") + b"\0"
    content = b"\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5\0\0\x04\0\x0b" + len(cost).to_bytes(4, "little") + cost + bytes(5)
    file = place(unlocked, "hostile.kdbx", content)
    stand_in(unlocked, "#!/bin/sh\necho started >&2\nexit 1\n")
    done = run(unlocked, "keepass", file)
    assert done.returncode == FAILED and "Nothing was imported" in done.stderr and "started" not in done.stderr, done


GREEDY = """#!/usr/bin/python3
import mmap, os, resource, signal, sys
# The limits hold when the password has come.
assert sys.stdin.readline() == "%s\\n"
print("time", resource.getrlimit(resource.RLIMIT_CPU), file=sys.stderr)
try:
    mmap.mmap(-1, 5 << 30)
    print("memory", file=sys.stderr)
except OSError:
    print("no memory", file=sys.stderr)
sys.stderr.flush()
if %d:
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    os.kill(os.getpid(), %d)
sys.exit(1)
"""


def test_keepassxc_has_limits(unlocked):
    file = place(unlocked, "some.kdbx", b"whatever")
    stand_in(unlocked, GREEDY % (PASSWORD, 0, 0))
    done = run(unlocked, "keepass", file)
    assert done.returncode == FAILED and "keepassxc-cli says: time (600, 600) no memory" in done.stderr, done
    for number in (6, 24):
        stand_in(unlocked, GREEDY % (PASSWORD, 1, number))
        done = run(unlocked, "keepass", file)
        assert done.returncode == FAILED and f"ended by signal {number}" in done.stderr and "4 GiB" in done.stderr, done
    assert copies(unlocked) == []


def test_secrets_go_by_pipes_of_one_page(unlocked):
    """The kernel keeps that page for the next write to the pipe, so the program can overwrite it. The kernel frees the
    buffers of sockets without clearing them."""
    file = place(unlocked, "some.kdbx", b"whatever")
    # The number 1032 is F_GETPIPE_SZ.
    stand_in(unlocked, "#!/usr/bin/python3\nimport fcntl, sys\nprint([fcntl.fcntl(n, 1032) for n in (0, 1)], file=sys.stderr)\nsys.exit(1)\n")
    done = run(unlocked, "keepass", file)
    size = os.sysconf("SC_PAGESIZE")
    assert f"keepassxc-cli says: [{size}, {size}]" in done.stderr, done


def test_an_import_that_is_ended_leaves_no_copy(unlocked):
    file = place(unlocked, "some.kdbx", b"whatever")
    ready = pathlib.Path(unlocked.home) / "ready"
    stand_in(unlocked, f"#!/bin/sh\nread line\necho > '{ready}'\nkill -TERM $PPID\nexec sleep 600\n")
    done = run(unlocked, "keepass", file)
    assert done.returncode == -15 and ready.exists() and copies(unlocked) == [], done
