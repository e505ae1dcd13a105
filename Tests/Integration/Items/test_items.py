"""latchkey find, get, add, edit and rm while the vault is unlocked. Each test checks a command against another client
of the same vault.
"""

import base64
import json
import os
import re
import subprocess
import uuid

import pytest
from support.clients import CLASS, CLASSES
from support.items import (
    DONE,
    FAILED,
    KEYS,
    NO_ITEM,
    PREFIX,
    class_of,
    content_type,
    fresh,
    latchkey,
    new_collection,
    place,
    started,
    the_item,
    told,
)  # fmt: skip
from support.pace import seconds
from support.peer import COLLECTION, ITEM, LOGIN, ROOT, SERVICE

MEBIBYTE = bytes(range(256)) * 4096


@pytest.fixture
def session(open_peer, shared_session):
    return shared_session


@pytest.fixture
def other(open_peer):
    """A collection with a unique label. The fixture deletes the collection, because the number of collections is
    limited."""
    made = new_collection(open_peer, f"Other {uuid.uuid4().hex}")
    yield made
    open_peer.call(made, COLLECTION, "Delete")


# ---- add, and get ----


@pytest.mark.parametrize(
    "options, given, kept",
    [
        ([], b"secret", b"secret"),
        ([], b"secret\n", b"secret"),
        ([], "Geheimnis ü €\t\n".encode(), "Geheimnis ü €\t".encode()),
        ([], b"\n", b""),
        ([], b"", b""),
        ([], b"two\nlines\n", b"two\nlines\n"),
        ([], b"\n\n", b"\n\n"),
        ([], b"no end\nhere", b"no end\nhere"),
        ([], b"\0\n", b"\0\n"),
        ([], b"a\0b", b"a\0b"),
        ([], b"\xff\xfe\n", b"\xff\xfe\n"),
        ([], b"dos\r\n", b"dos\r\n"),
        ([], b"\xc2\x9b1m\n", b"\xc2\x9b1m\n"),
        ([], b"cut off \xc2\n", b"cut off \xc2\n"),
        ([], MEBIBYTE, MEBIBYTE),
        ([], b"x" * 65536, b"x" * 65536),
        ([], b"x" * 65536 + b"\n", b"x" * 65536),
        (["--newline", "keep"], b"secret\n", b"secret\n"),
        (["--newline", "strip"], b"two\nlines\n", b"two\nlines"),
        (["--newline", "strip"], b"\0\n\n", b"\0\n"),
        (["--newline", "strip"], b"none", b"none"),
        (["--newline", "auto"], b"secret\n", b"secret"),
    ],
)
def test_every_byte_comes_back(session, open_peer, options, given, kept):
    attributes, words = fresh()
    done = latchkey(session, "add", "--label", "Bytes", *options, *words, input=given)
    assert (b"without the line end" in done.stdout) == (given != kept)
    assert (b"empty" in done.stdout) == (kept == b"")
    item = the_item(open_peer, attributes)
    assert f"Added {place(item)} in Login".encode() in done.stdout
    assert open_peer.read(item) == kept
    for selector in (words, [place(item)], [item]):
        assert latchkey(session, "get", *selector).stdout == kept
    try:
        kept.decode()
        expected = "text/plain"
    except UnicodeDecodeError:
        expected = "application/octet-stream"
    assert content_type(open_peer, item) == expected


def test_what_is_more_than_a_vault_keeps(session, open_peer):
    attributes, words = fresh()
    done = latchkey(session, "add", "--label", "L", *words, input=b"x" * ((32 << 20) + 1), code=FAILED)
    assert "32 MiB" in done.stderr
    assert open_peer.search(attributes) == ([], [])


def test_pipes_that_do_not_block(session, open_peer):
    """Another process may have set the shared pipe to non-blocking mode. The command must neither cut a secret nor
    fail."""
    attributes, words = fresh()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with started(session, "add", "--label", "L", *words, stdin=reading, stdout=subprocess.PIPE) as process:
        os.close(reading)
        # The test writes in pieces, so that the command finds the pipe empty in between.
        for at in range(0, len(MEBIBYTE), 65536):
            assert os.write(writing, MEBIBYTE[at : at + 65536]) == 65536
        os.close(writing)
        process.communicate(timeout=seconds(30))
    assert process.returncode == DONE and open_peer.read(the_item(open_peer, attributes)) == MEBIBYTE
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with started(session, "get", *words, stdout=writing) as process:
        os.close(writing)
        with open(reading, "rb") as end:
            assert end.read() == MEBIBYTE
    assert process.returncode == DONE


def test_words_of_all_kinds(session, open_peer):
    attributes, words = fresh(**{"ключ": "значение = 1", "empty": "", "quote'd": "a 'b' \"c\" $d"})
    label = "Etikett „ü“ 🔑 with blanks"
    latchkey(session, "add", "--label", label, *words, input=b"x")
    item = the_item(open_peer, attributes)
    assert open_peer.get(item, ITEM, "Label") == label
    assert open_peer.get(item, ITEM, "Attributes") == attributes
    text = latchkey(session, "find", *words).stdout.decode()
    assert label in text
    # The shell accepts the printed attributes again.
    line = text.splitlines()[1]
    again = session.run("sh", "-c", f"latchkey find --json {line}", check=True).stdout
    assert [one["attributes"] for one in json.loads(again)] == [attributes]


@pytest.mark.parametrize("name", CLASSES)
def test_classes(session, open_peer, name):
    attributes, words = fresh()
    latchkey(session, "add", "--label", "L", "--class", name, *words, input=b"x")
    item = the_item(open_peer, attributes)
    assert class_of(open_peer, item) == [name]
    assert open_peer.get(item, ITEM, "Attributes") == attributes
    [one] = told(session, "find", "--json", "--class", name, *words)
    assert one["class"] == name and one["path"] == place(item)
    for wrong in CLASSES:
        if wrong != name:
            latchkey(session, "find", "--class", wrong, *words, code=NO_ITEM)
    paths = {one["path"] for one in told(session, "find", "--json", "--class", name)}
    assert paths == {place(path) for path in sum(open_peer.search({CLASS: name}), [])}
    # A replacement keeps the class, unless the command names another one.
    latchkey(session, "add", "--label", "L", "--replace", *words, input=b"y")
    assert class_of(open_peer, item) == [name]
    latchkey(session, "add", "--label", "L", "--replace", "--class", "always", *words, input=b"z")
    assert class_of(open_peer, item) == ["always"] and open_peer.read(item) == b"z"


def test_the_class_of_an_item_without_one_is_by_the_rules(session, open_peer):
    folder = session.home / ".config/latchkey"
    attributes, words = fresh()
    for part in (folder.parent, folder):
        part.mkdir(exist_ok=True)
        os.chown(part, session.uid, session.gid)
    rules = folder / "rules.yaml"
    rules.write_text(f"- name: ours\n  match: {{test: '{attributes['test']}'}}\n  class: after-first-unlock\n")
    os.chown(rules, session.uid, session.gid)
    try:
        latchkey(session, "add", "--label", "L", *words, input=b"x")
        assert class_of(open_peer, the_item(open_peer, attributes)) == ["after-first-unlock"]
    finally:
        rules.unlink()


def test_what_is_there_is_not_replaced_unless_that_is_said(session, open_peer):
    attributes, words = fresh()
    item = open_peer.create("old", attributes, label="Old one")
    done = latchkey(session, "add", "--label", "New", *words, input=b"new", code=FAILED)
    assert "--replace" in done.stderr and "Old one" in done.stderr and place(item) in done.stderr
    assert open_peer.read(item) == b"old" and the_item(open_peer, attributes) == item
    done = latchkey(session, "add", "--label", "New", "--replace", *words, input=b"new")
    assert f"Replaced the secret of {place(item)}".encode() in done.stdout
    assert open_peer.read(item) == b"new" and open_peer.get(item, ITEM, "Label") == "New"
    # More or fewer attributes make another item.
    more = {**attributes, "more": "1"}
    latchkey(session, "add", "--label", "More", *words, "more=1", input=b"more")
    assert open_peer.read(the_item(open_peer, more)) == b"more"
    less = fresh()[0]
    open_peer.create("wide", {**less, "x": "1"})
    latchkey(session, "add", "--label", "L", f"test={less['test']}", input=b"narrow")
    assert len(sum(open_peer.search(less), [])) == 2


def test_add_as_json(session, open_peer):
    attributes, words = fresh()
    first = told(session, "add", "--json", "--label", "L", *words, input=b"x\n")
    assert first == {"path": place(the_item(open_peer, attributes)), "replaced": False, "newline_removed": True}
    second = told(session, "add", "--json", "--replace", "--label", "L", *words, input=b"x")
    assert second == first | {"replaced": True, "newline_removed": False}


def test_the_content_type(session, open_peer):
    attributes, words = fresh()
    latchkey(session, "add", "--label", "L", "--content-type", "application/x-key", *words, input=b"x")
    item = the_item(open_peer, attributes)
    assert content_type(open_peer, item) == "application/x-key"
    assert told(session, "get", "--json", "--show", *words)["content_type"] == "application/x-key"
    # The item keeps its content type when its secret changes.
    latchkey(session, "edit", "--secret", *words, input=b"\xff")
    assert content_type(open_peer, item) == "application/x-key" and open_peer.read(item) == b"\xff"


# ---- collections ----


def test_collections(session, open_peer, other):
    label, name = open_peer.get(other, COLLECTION, "Label"), place(other)
    attributes, words = fresh()
    open_peer.create("in login", attributes)
    latchkey(session, "add", "--label", "L", "--collection", label, *words, input=b"by label")
    done = latchkey(session, "add", "--label", "L", "--collection", name, *words, input=b"x", code=FAILED)
    assert "--replace" in done.stderr
    latchkey(session, "add", "--label", "L", "--collection", name, "--replace", *words, input=b"by name")
    for given in (label, name):
        [one] = told(session, "find", "--json", "--collection", given, *words)
        assert one["collection"] == label and one["path"].startswith(name + "/")
        assert latchkey(session, "get", one["path"]).stdout == b"by name"
    [one] = told(session, "find", "--json", "--collection", "login", *words)
    assert latchkey(session, "get", one["path"]).stdout == b"in login"
    assert len(told(session, "find", "--json", *words)) == 2
    for command in (["find"], ["add", "--label", "L"]):
        done = latchkey(session, *command, "--collection", "nowhere", *words, code=FAILED)
        assert "no collection has that name" in done.stderr and label in done.stderr


def test_two_collections_of_one_label(session, open_peer, other):
    label = open_peer.get(other, COLLECTION, "Label")
    twin = new_collection(open_peer, label)
    try:
        for command in (["find"], ["add", "--label", "L", "a=b"]):
            done = latchkey(session, *command, "--collection", label, code=FAILED)
            assert place(other) in done.stderr and place(twin) in done.stderr
    finally:
        open_peer.call(twin, COLLECTION, "Delete")


def test_the_collection_of_the_session(session, open_peer):
    attributes, words = fresh()
    latchkey(session, "add", "--label", "L", "--collection", "session", *words, input=b"for now")
    assert the_item(open_peer, attributes).startswith(PREFIX + "session/")
    assert latchkey(session, "get", *words).stdout == b"for now"
    assert told(session, "find", "--json", *words)[0]["class"] in CLASSES
    latchkey(session, "rm", *words)


def test_the_default_collection(session, open_peer, other):
    attributes, words = fresh()
    open_peer.call(ROOT, SERVICE, "SetAlias", "(so)", "default", other)
    try:
        latchkey(session, "add", "--label", "L", *words, input=b"x")
        assert the_item(open_peer, attributes).startswith(other + "/")
    finally:
        open_peer.call(ROOT, SERVICE, "SetAlias", "(so)", "default", LOGIN)


# ---- find ----


def test_find(session, open_peer):
    attributes, words = fresh(user="me")
    item = open_peer.create("never shown", attributes, label="First")
    second = open_peer.create("never shown", {**attributes, "user": "you"}, label="Second")
    [one] = told(session, "find", "--json", *words)
    assert one == {
        "path": place(item), "label": "First", "attributes": attributes, "class": "when-unlocked", "require": "",
        "collection": "Login", "state": "open", "reason": None, "created": open_peer.get(item, ITEM, "Created"),
        "modified": open_peer.get(item, ITEM, "Modified"),
    }  # fmt: skip
    both = told(session, "find", "--json", words[0])
    assert [one["path"] for one in both] == [place(second), place(item)]
    text = latchkey(session, "find", words[0]).stdout.decode()
    for word in ("First", "Second", "user=me", "user=you", "when-unlocked", "in Login", "unlocked", place(item)):
        assert word in text
    everything = {one["path"] for one in told(session, "find", "--json")}
    assert everything == {place(path) for path in sum(open_peer.search({}), [])}
    for output in (text, json.dumps(both), latchkey(session, "find").stdout.decode()):
        assert "never shown" not in output


def test_find_by_label(session, open_peer):
    attributes, words = fresh()
    open_peer.create("never shown", attributes, label="Straßen Bank")
    open_peer.create("never shown", {**attributes, "n": "2"}, label="Other")
    for labels in (["bank"], ["STRA", "Bank"], ["n Ba"]):
        [one] = told(session, "find", "--json", *labels, *words)
        assert one["label"] == "Straßen Bank"
    assert told(session, "find", "--json", "bank", "other", *words, code=NO_ITEM) == []
    # find also accepts the place of an item, which other commands take.
    place = one["path"].removeprefix("/org/freedesktop/secrets/collection/")
    assert told(session, "find", "--json", place, *words) == [one]
    # The error does not repeat the words, because a person may have typed a secret by mistake.
    assert "hunter2" not in latchkey(session, "find", "hunter2", code=NO_ITEM).stderr
    assert "'latchkey find' with a word of its label" in latchkey(session, "get", "bank", code=64).stderr
    session.lock()
    try:
        done = latchkey(session, "find", "hunter2", code=NO_ITEM)
        assert ("latchkey unlock" in done.stderr) == any(one["label"] is None for one in told(session, "find", "--json"))
    finally:
        session.locker()


def test_find_nothing(session):
    _, words = fresh()
    done = latchkey(session, "find", *words, code=NO_ITEM)
    assert done.stdout == b""
    assert told(session, "find", "--json", *words, code=NO_ITEM) == []


def test_names_cannot_command_the_terminal(session, open_peer):
    attributes, words = fresh()
    attributes |= {"\x1b[2Jname": "\x07value\x9b1m"}
    item = open_peer.create("x", attributes, label="\x1b]0;label\x07\x9b1m\x7f")
    open_peer.create("x", {**attributes, "more": "1"}, label="\x1b]0;label\x07\nlatchkey: line")
    control = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
    for arguments in (["find"], ["find", "--json"], ["get", "--json", place(item)], ["rm", "-n", "--all"]):
        selector = [] if place(item) in arguments else words
        assert not control.search(latchkey(session, *arguments, *selector).stdout.decode()), arguments
    for command in ("get", "rm"):
        assert not control.search(latchkey(session, command, *words, code=FAILED).stderr)
    done = latchkey(session, "edit", place(item), "--unset", "\x1b[2J\x9b", code=FAILED)
    assert "no attribute" in done.stderr and not control.search(done.stderr)
    assert [one["attributes"] for one in told(session, "find", "--json", *words)][-1] == attributes


# ---- get ----


def test_get_of_nothing_and_of_several(session, open_peer):
    attributes, words = fresh()
    done = latchkey(session, "get", *words, code=NO_ITEM)
    assert done.stdout == b""
    items = [open_peer.create("x", {**attributes, "n": n}, label=f"Number {n}") for n in "12"]
    done = latchkey(session, "get", *words, code=FAILED)
    assert done.stdout == b""
    for item, n in zip(items, "12"):
        assert f"Number {n}" in done.stderr and place(item) in done.stderr
    open_peer.call(items[0], ITEM, "Delete")
    assert latchkey(session, "get", *words).stdout == b"x"
    for gone in (place(items[0]), items[0], "login/999999", "c77/1"):
        latchkey(session, "get", gone, code=NO_ITEM)


def test_get_as_json(session, open_peer):
    attributes, words = fresh()
    item = open_peer.create("", attributes, label="L")
    plain = told(session, "get", "--json", *words)
    assert plain.keys() == KEYS and plain["path"] == place(item)
    values = [b"", b"text", 'a "quoted" \\ \n\t line €'.encode(), b"\0\x01\x1f\x7f", "\u009b1m\u0080\u009f\u00a0".encode()]
    for value in values:
        open_peer.write(item, value)
        shown = latchkey(session, "get", "--json", "--show", *words).stdout
        assert json.loads(shown) == plain | {
            "content_type": "text/plain", "secret": value.decode(), "secret_base64": None,
            "modified": open_peer.get(item, ITEM, "Modified"),
        }  # fmt: skip
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown.decode())
    for value in (b"\xff", b"\xc2", b"a\xc2", b"\xff\xfe\0", MEBIBYTE):
        open_peer.write(item, value)
        shown = told(session, "get", "--json", "--show", *words)
        assert shown["secret"] is None and base64.b64decode(shown["secret_base64"], validate=True) == value
    assert shown.keys() == KEYS | {"content_type", "secret", "secret_base64"}


def test_output_that_cannot_be_written(session, open_peer):
    attributes, words = fresh()
    open_peer.create("x", attributes)
    for more in ([], ["--json", "--show"]):
        with open("/dev/full", "wb") as full:
            with started(session, "get", *more, *words, stdout=full, stderr=subprocess.PIPE) as process:
                assert "could not be written" in process.communicate(timeout=seconds(30))[1].decode()
        assert process.returncode == FAILED


# ---- edit ----


def everything(peer, item):
    properties = peer.all(item, ITEM)
    return {
        "label": properties["Label"], "attributes": properties["Attributes"], "secret": peer.read(item),
        "class": class_of(peer, item), "type": content_type(peer, item), "created": properties["Created"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "words, input, expected, changed",
    [
        (["--label", "Neu ü"], b"", {"label": "Neu ü"}, ["label"]),
        (["--label", ""], b"", {"label": ""}, ["label"]),
        (["--set", "user=you"], b"", {"attributes": {"user": "you", "server": "s"}}, ["attributes"]),
        (["--set", "a=b=c", "--set", "e="], b"", {"attributes": {"user": "me", "server": "s", "a": "b=c", "e": ""}}, ["attributes"]),
        (["--unset", "user"], b"", {"attributes": {"server": "s"}}, ["attributes"]),
        (["--unset", "user", "--set", "u=1"], b"", {"attributes": {"server": "s", "u": "1"}}, ["attributes"]),
        (["--class", "after-first-unlock"], b"", {"class": ["after-first-unlock"]}, ["class"]),
        (["--secret"], b"new\n", {"secret": b"new"}, ["secret"]),
        (["--secret"], b"", {"secret": b""}, ["secret"]),
        (["--secret"], MEBIBYTE, {"secret": MEBIBYTE}, ["secret"]),
        (["--secret", "--newline", "keep"], b"new\n", {"secret": b"new\n"}, ["secret"]),
        (
            ["--secret", "--label", "All", "--class", "always", "--set", "user=you"], b"new",
            {"secret": b"new", "label": "All", "class": ["always"], "attributes": {"user": "you", "server": "s"}},
            ["attributes", "class", "secret", "label"],
        ),
    ],
)  # fmt: skip
def test_edit_changes_what_is_named_and_nothing_else(session, open_peer, words, input, expected, changed):
    attributes, selector = fresh()
    item = open_peer.create("old", attributes | {"user": "me", "server": "s"}, label="Old")
    before = everything(open_peer, item)
    done = told(session, "edit", "--json", *selector, *words, input=input)
    newline = input == b"new\n" and expected["secret"] == b"new"
    assert done == {"path": place(item), "changed": changed, "newline_removed": newline}
    if "attributes" in expected:
        expected = expected | {"attributes": attributes | expected["attributes"]}
    assert everything(open_peer, item) == before | expected


def test_edit_for_people(session, open_peer):
    attributes, words = fresh()
    item = open_peer.create("x", attributes)
    done = latchkey(session, "edit", place(item), "--label", "L", "--secret", input=b"new\n")
    assert done.stdout.decode() == f"Changed {place(item)}: secret, label (without the line end of the input).\n"


def test_edits_that_are_refused_change_nothing(session, open_peer):
    attributes, words = fresh()
    item = open_peer.create("x", {**attributes, "n": "1"}, label="One")
    twin = open_peer.create("x", {**attributes, "n": "2"}, label="Two")
    before = everything(open_peer, item)
    done = latchkey(session, "edit", *words, "--label", "New", code=FAILED)
    assert "One" in done.stderr and "Two" in done.stderr
    done = latchkey(session, "edit", place(item), "--set", "n=2", "--label", "New", "--class", "always", code=FAILED)
    assert "Two" in done.stderr and place(twin) in done.stderr
    done = latchkey(session, "edit", place(item), "--unset", "absent", "--label", "New", code=FAILED)
    assert "absent" in done.stderr
    assert everything(open_peer, item) == before
    latchkey(session, "edit", "login/999999", "--label", "x", code=NO_ITEM)
    latchkey(session, "edit", *fresh()[1], "--label", "x", code=NO_ITEM)


# ---- rm ----


def test_rm(session, open_peer):
    attributes, words = fresh()
    latchkey(session, "rm", *words, code=NO_ITEM)
    items = [open_peer.create("x", {**attributes, "n": n}, label=f"Number {n}") for n in "12345"]
    done = latchkey(session, "rm", *words, code=FAILED)
    assert "--all" in done.stderr and "Number 5" in done.stderr
    done = latchkey(session, "rm", "--dry-run", "--all", *words)
    assert done.stdout.decode().count("Would delete") == 5
    assert told(session, "rm", "-n", "--json", "--all", *words)["dry_run"]
    assert len(sum(open_peer.search(attributes), [])) == 5
    done = latchkey(session, "rm", *words, "n=1")
    assert done.stdout.decode() == f"Deleted {place(items[0])}  Number 1\n"
    # If one path does not exist, rm deletes nothing. A path that is named twice counts once.
    latchkey(session, "rm", place(items[1]), "login/999999", code=NO_ITEM)
    assert len(sum(open_peer.search(attributes), [])) == 4
    done = latchkey(session, "rm", place(items[1]), items[2], place(items[1]))
    assert done.stdout.decode().splitlines() == [f"Deleted {place(items[n])}  Number {n + 1}" for n in (1, 2)]
    gone = told(session, "rm", "--json", "--all", *words)
    assert not gone["dry_run"] and [one["label"] for one in gone["removed"]] == ["Number 5", "Number 4"]
    assert all(one.keys() == KEYS for one in gone["removed"])
    assert open_peer.search(attributes) == ([], [])
