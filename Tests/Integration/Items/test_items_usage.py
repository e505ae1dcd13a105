"""latchkey find, get, add, edit and rm: wrong usage, the places where a secret may appear, and a person at a terminal.
"""

import fcntl
import json
import os
import subprocess
import termios
import uuid

import pytest
from support.items import DONE, FAILED, KEYS, USAGE, fresh, latchkey, started, the_item
from support.pace import seconds
from support.person import Person
from support.session import wait_until

pytestmark = pytest.mark.night("vault")


@pytest.fixture
def session(open_peer, shared_session):
    return shared_session


# ---- wrong usage ----


@pytest.mark.parametrize(
    "words",
    [
        ["find", "=tiger5"], ["find", "a=1", "a=2"], ["find", "--class", "tiger5"],
        ["find", "latchkey:accessible=always"], ["find", "--bogus"],
        ["get"], ["get", "tiger5"], ["get", "a=b", "login/1"], ["get", "login/1", "login/2"], ["get", "login/01"],
        ["get", "login/-1"], ["get", "login/"], ["get", "/1"], ["get", "/org/freedesktop/secrets/aliases/default/1"],
        ["get", "latchkey:accessible=always"],
        ["add", "--label", "L"], ["add", "a=b"], ["add", "--label", "L", "tiger5"],
        ["add", "--label", "L", "a=b", "tiger5"], ["add", "--label", "L", "--secret=tiger5", "a=b"],
        ["add", "--label", "L", "--tiger5", "a=b"], ["add", "--label", "L", "a=b", "--newline", "tiger5"],
        ["add", "--label", "L", "a=b", "--newline=tiger5"], ["add", "--label", "L", "--class", "tiger5", "a=b"],
        ["add", "--label", "L", "-xtiger5", "a=b"], ["add", "--label", "L", "latchkey:accessible=always"],
        ["add", "--label", "L", "latchkey:colour=tiger5"], ["add", "--label", "L", "a=b", "--replace=tiger5"],
        ["edit", "a=b"], ["edit", "--label", "L"], ["edit", "a=b", "--secret=tiger5"], ["edit", "a=b", "--set", "tiger5"],
        ["edit", "a=b", "--set", "c=1", "--unset", "c"], ["edit", "a=b", "--class", "tiger5"],
        ["edit", "a=b", "--set", "latchkey:accessible=always"], ["edit", "a=b", "--unset", "latchkey:accessible"],
        ["edit", "login/1", "login/2", "--label", "L"], ["edit", "a=b", "tiger5", "--label", "L"],
        ["rm"], ["rm", "--all"], ["rm", "--all", "latchkey:accessible=when-unlocked"], ["rm", "tiger5"],
    ],
)  # fmt: skip
def test_wrong_usage(session, open_peer, words):
    before = open_peer.search({})
    done = latchkey(session, *words, input=b"x", code=USAGE)
    assert done.stdout == b"" and "Usage: latchkey" in done.stderr
    assert "tiger5" not in done.stderr
    assert open_peer.search({}) == before


# ---- where secrets are ----


@pytest.mark.skipif(os.getuid() != 0, reason="reading what the program hides needs root")
def test_the_secret_is_seen_by_nobody(session, open_peer):
    attributes, words = fresh()
    secret = uuid.uuid4().hex
    reading, writing = os.pipe()
    with open(reading, "rb") as end, open(writing, "wb", buffering=0) as begin:
        begin.write(secret.encode())
        with started(session, "add", "--label", "L", *words, stdin=end, stdout=subprocess.PIPE) as process:
            # The command has read the secret, and waits for the end of its input.
            wait_until(lambda: fcntl.ioctl(end, termios.FIONREAD, bytes(4)) == bytes(4), "a reader")
            for name in ("cmdline", "environ"):
                with open(f"/proc/{process.pid}/{name}", "rb") as file:
                    assert secret.encode() not in file.read()
            assert os.stat(f"/proc/{process.pid}/environ").st_uid == 0, "not dumpable: its files in /proc are root's"
            begin.close()
            assert secret.encode() not in process.communicate(timeout=seconds(30))[0]
    assert process.returncode == DONE
    assert latchkey(session, "get", *words).stdout.decode() == secret


# ---- on a terminal ----


def test_get_on_a_terminal(session, open_peer):
    attributes, words = fresh()
    item = open_peer.create("geheim ü", attributes)
    person = Person(session, "latchkey", "get", *words)
    said = person.output()
    assert "--show" in said and "geheim" not in said and person.status == FAILED
    person = Person(session, "latchkey", "get", "--show", *words)
    assert person.output() == "geheim ü\r\n" and person.status == DONE
    person = Person(session, "latchkey", "get", "--json", *words)
    assert json.loads(person.output()).keys() == KEYS
    person = Person(session, "latchkey", "get", "--json", "--show", *words)
    assert json.loads(person.output())["secret"] == "geheim ü"
    # If standard output is a pipe, the command prints no extra text.
    person = Person(session, "sh", "-c", f"latchkey get {words[0]} | wc -c")
    assert person.output().strip() == "9"
    for value in (b"\x1b[31mred", "\u009b31m".encode(), b"\xff", b"\0"):
        open_peer.write(item, value)
        person = Person(session, "latchkey", "get", "--show", *words)
        said = person.output()
        assert person.status == FAILED and "not text" in said and "red" not in said and "31m" not in said
    open_peer.write(item, "two\nlines\tand a tab")
    assert Person(session, "latchkey", "get", "--show", *words).output().startswith("two\r\nlines")


def test_add_on_a_terminal(session, open_peer):
    attributes, words = fresh()
    person = Person(session, "latchkey", "add", "--label", "L", *words)
    person.expect("New secret: ").type("geheim ü").expect("The same again: ").type("other")
    person.expect("The two answers differ").expect("New secret: ").type("geheim ü").expect("again: ").type("geheim ü")
    said = person.output()
    assert "Added" in said and "geheim" not in said and person.status == DONE
    item = the_item(open_peer, attributes)
    assert open_peer.read(item) == "geheim ü".encode()
    person = Person(session, "latchkey", "edit", "--secret", *words)
    person.expect("New secret: ").type("next").expect("again: ").type("next")
    assert "Changed" in person.output() and open_peer.read(item) == b"next"
    # The command does not accept an empty secret from a terminal.
    person = Person(session, "latchkey", "edit", "--secret", *words)
    person.expect("New secret: ").type("").expect("again: ").type("").expect("not be empty").expect("New secret: ").press("d")
    assert "nothing was done" in person.output() and person.status == FAILED
    person = Person(session, "latchkey", "edit", "--secret", *words).expect("New secret: ").press("c")
    person.output()
    assert person.signal == 2 and open_peer.read(item) == b"next"


def test_a_duplicate_is_told_before_anything_is_typed(session, open_peer):
    attributes, words = fresh()
    open_peer.create("x", attributes)
    person = Person(session, "latchkey", "add", "--label", "L", *words)
    said = person.output()
    assert "--replace" in said and "New secret" not in said and person.status == FAILED
