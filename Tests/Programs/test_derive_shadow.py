"""latchkey-derive and the shadow file: only an empty field means that there is no password."""

import os
import time

import pytest
from support.derive import NO_DAEMON, NO_CREATE, NO_VAULT, NOTHING_NEEDED, OPEN, PERSON, REMOVE_PASSWORD, as_root
from support.pace import Limit
from support.standin import SILENT
from test_derive_process import pages_with

NAME = PERSON.pw_name
CHUNK = 4096
TAIL = ":20000:0:99999:7:::\n"
NONE, SOME, UNKNOWN = "none", "some", "unknown"

pytestmark = as_root


def known(login, **fields):
    """The helper's view of the password, derived from its answers when there is no vault."""
    fields = dict(token="", flags=NO_CREATE, runtime="/nowhere") | fields
    opened, removed = login.run(OPEN, **fields), login.run(REMOVE_PASSWORD, **fields)
    answers = {(NO_VAULT, NO_VAULT): NONE, (NO_DAEMON, NOTHING_NEEDED): SOME, (NO_DAEMON, NO_VAULT): UNKNOWN}
    return answers[opened, removed]


def line(name, field, tail=TAIL):
    return f"{name}:{field}{tail}"


FILES = {
    # Cases of the field.
    "empty field": (line(NAME, ""), NONE),
    "locked": (line(NAME, "!"), SOME),
    "locked twice": (line(NAME, "!!"), SOME),
    "no password fits": (line(NAME, "*"), SOME),
    "shadowed": (line(NAME, "x"), SOME),
    "a hash": (line(NAME, "$6$salt$" + "h" * 86), SOME),
    "a locked hash": (line(NAME, "!$6$salt$" + "h" * 86), SOME),
    "a blank": (line(NAME, " "), SOME),
    "a NUL": (line(NAME, "\0"), SOME),
    "a carriage return": (f"{NAME}:\r\n", SOME),
    # Cases of the line.
    "no lines": ("", UNKNOWN),
    "only an end of line": ("\n", UNKNOWN),
    "the user is absent": (line("root", "") + line("daemon", ""), UNKNOWN),
    "the name begins another's": (line(NAME + "2", "") + line(NAME, "!"), SOME),
    "the name ends another's": (line("x" + NAME, "") + line(NAME, "!"), SOME),
    "another's begins the name": (line(NAME[:-1], "") + line(NAME[:1], "") + line(NAME, "!"), SOME),
    "only longer and shorter names": (line(NAME + "2", "") + line("x" + NAME, "") + line(NAME[:-1], ""), UNKNOWN),
    "other letters": (line(NAME.upper(), ""), UNKNOWN),
    "the name in another field": (f"root:{NAME}::{NAME}:\nroot:*:{NAME}::\n", UNKNOWN),
    "a blank before the name": (line(" " + NAME, ""), UNKNOWN),
    "a line without a name": ("::::\n" + line(NAME, ""), NONE),
    "behind others": (line("root", "$6$a$b") + "\n" + line("daemon", "*") + line(NAME, ""), NONE),
    "the first of two is empty": (line(NAME, "") + line(NAME, "!"), NONE),
    "the first of two is not": (line(NAME, "!") + line(NAME, ""), SOME),
    "no end of line": (f"{NAME}::", NONE),
    "no end of line, a hash": (f"{NAME}:$6$a$b", SOME),
    "no colon": (f"{NAME}\n", UNKNOWN),
    "no colon at the end": (NAME, UNKNOWN),
    "no colon, then a line": (f"{NAME}\n" + line(NAME, "!"), SOME),
    "no field at the end": (f"{NAME}:", UNKNOWN),
    "no second colon": (f"{NAME}:\n", UNKNOWN),
    "no second colon, then a line": (f"{NAME}:\n" + line(NAME, ""), UNKNOWN),
    "carriage returns": (f"root:*:\r\n{NAME}::1:\r\n", NONE),
    "NULs before the name": ("\0\0\n\0" + line(NAME, ""), UNKNOWN),
    "a NUL in the name": (line(NAME[:3] + "\0" + NAME[3:], "") + line(NAME + "\0", ""), UNKNOWN),
    "only NULs": ("\0" * 10000, UNKNOWN),
    "no text": (b"\xff\xfe\x80" * 1000 + b"\n" + NAME.encode() + b"::\n", NONE),
}  # fmt: skip


def write(login, content):
    login.shadow.write_bytes(content if isinstance(content, bytes) else content.encode())
    login.shadow.chmod(0o600)


@pytest.mark.parametrize("name", FILES)
def test_fields_and_lines(login, name):
    content, expected = FILES[name]
    write(login, content)
    assert known(login) == expected


@pytest.mark.parametrize("field, expected", [("", NONE), ("!", SOME)])
def test_a_line_across_the_end_of_a_chunk(login, field, expected):
    text = line(NAME, field)
    # The line moves across the boundary of two chunks, one byte at a time.
    for before in range(CHUNK - len(text), CHUNK + 1):
        write(login, "#" * (before - 1) + "\n" + text)
        assert known(login) == expected, before


@pytest.mark.parametrize("size", [CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 7])
def test_a_line_that_is_longer_than_a_chunk(login, size):
    # No new line begins at the long line's colons, at the name at its end, or at the name at the start of a chunk.
    long = (":" + NAME + "::") * (size // (len(NAME) + 3) + 1)
    write(login, "x" + long[:size] + "\n" + line(NAME, ""))
    assert known(login) == NONE
    write(login, "x" * CHUNK + line(NAME, "") + line(NAME, "!"))
    assert known(login) == SOME


def test_a_large_file(login):
    write(login, line("someone", "$6$salt$" + "h" * 86) * 18000 + line(NAME, ""))
    assert login.shadow.stat().st_size > 2 << 20
    assert known(login) == NONE


@pytest.mark.parametrize("kind", ["absent", "folder", "fifo", "link", "dangling link", "device", "socket", "below a file"])
def test_what_is_no_file(login, kind):
    target = login.folder / "target"
    target.write_text(line(NAME, ""))
    path = login.shadow
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind in ("link", "dangling link"):
        path.symlink_to(target if kind == "link" else login.folder / "nothing")
    elif kind == "device":
        os.mknod(path, 0o020666, os.makedev(1, 5))  # endless zeros
    elif kind == "socket":
        login.daemon(path=str(path))
    elif kind == "below a file":
        path = target / "shadow"
    assert known(login, shadow=path) == UNKNOWN


def test_whoever_may_not_read_it_knows_nothing(login):
    options = dict(user=PERSON.pw_uid, group=PERSON.pw_gid, extra_groups=[])
    write(login, line(NAME, ""))
    assert known(login) == NONE
    assert known(login, options=options) == UNKNOWN
    write(login, line(NAME, "!"))
    assert known(login, options=options) == UNKNOWN


def test_the_system_s_own_file_is_the_one_that_counts(login):
    with open("/etc/shadow") as shadow:
        (field,) = [fields[1] for fields in (entry.split(":") for entry in shadow) if fields[0] == NAME]
    assert field, "this account must not be without a password"
    assert known(login, shadow="") == SOME


def test_nothing_of_it_stays_in_memory(login):
    mine, theirs = "$6$mine$" + "m" * 86, "$6$theirs$" + "t" * 86
    write(login, line("someone", theirs) * 100 + line(NAME, mine) + line("other", theirs))
    daemon = login.daemon()
    daemon.need = SILENT
    run = login.start(OPEN, token="")
    limit = Limit(5)
    while not daemon.hellos and not limit.is_over:
        time.sleep(0.01)
    assert daemon.hellos
    # Positive control: a path from the request is found in memory.
    assert pages_with(run.worker, str(login.shadow).encode())
    for secret in (theirs, mine, theirs[:24], mine[:24]):
        assert pages_with(run.worker, secret.encode()) == []
    assert str(login.shadow) not in [os.readlink(path) for path in run.open_files()]
    run.end()
