"""The access log names each client that read a protected item or was refused. Any client library gives the same
entries.
"""

import json
import os
import re
import signal
import sqlite3
import subprocess
import time

import pytest
from support.access import PASSPHRASE, PRESENCE, REQUIRE, lookup, opened, peer, reader, store  # noqa: F401
from support.disk import filled, small_disk
from support.peer import ITEM
from support.person import Person, ask_on_terminals
from support.session import Session, wait_until
from support.vaultreader import APPLICATION, Unreadable, Vault, machine_identity
from test_portal_frontend import sandboxes  # noqa: F401

KEYS = {"number", "time", "action", "outcome", "count", "item", "label", "program", "state", "missing"}
PERMIT = "auth required pam_permit.so\naccount required pam_permit.so\n"


def log(session, *options):
    """The entries of the log, the newest last."""
    entries = json.loads(session.run("latchkey", "log", "--json", *options, check=True).stdout)
    assert all(set(entry) == KEYS for entry in entries)
    return entries


def outcomes(session):
    return [(entry["action"], entry["outcome"]) for entry in log(session)]


def await_outcome(session, outcome):
    """Waits until the newest entry has this outcome, and returns the entry."""
    wait_until(lambda: outcomes(session)[-1:] and outcomes(session)[-1][1] == outcome, outcome)
    return log(session)[-1]


def prompt_processes(session):
    found = session.run("pgrep", "-U", str(session.uid), "-f", f"latchkey-prompt.*{session.root}/run")
    return [int(line) for line in found.stdout.split()]


def altered(session, *statements):
    """Changes the database after it has stopped the daemon."""
    session.stop_daemon()
    with sqlite3.connect(session.vault / "vault.db") as database:
        for statement in statements:
            database.execute(statement)
    database.close()
    for name in ("vault.db", "vault.db-wal", "vault.db-shm"):
        if (session.vault / name).exists():
            os.chown(session.vault / name, session.uid, session.gid)
    session.start_daemon()


# MARK: each outcome


def test_a_passphrase_that_was_chosen_and_given(opened):
    store(opened, "the secret", "open sesame", "k", "v")
    assert lookup(opened, "k", "v").expect("assphrase").type("open sesame").last_line() == "the secret"
    entries = log(opened)
    assert [(one["action"], one["outcome"]) for one in entries] == [
        ("store", "granted"), ("open", "granted"), ("open", "used")]  # fmt: skip
    for number, one in enumerate(entries, 1):
        assert (one["number"], one["item"], one["label"], one["program"]) == (number, "login/1", "Bank", "secret-tool")
        assert one["state"] == "whole" and one["missing"] == 0 and abs(one["time"] - time.time()) < 600
    told = json.dumps(entries)
    assert "the secret" not in told and "open sesame" not in told


def test_an_answer_that_is_wrong(opened):
    store(opened, "the secret", "open sesame", "k", "v")
    opened.store("another", "k", "w", REQUIRE, PRESENCE, label="Shop")
    for value, label, asked in (("v", "Bank", "assphrase"), ("w", "Shop", "login password")):
        person = lookup(opened, "k", value).expect(asked)
        for _ in range(2):
            person.type("something else").expect("not right").expect(asked)
        person.type("something else").output()
        one = log(opened)[-1]
        assert (one["action"], one["outcome"], one["label"]) == ("open", "refused", label)


def test_the_person_wants_none_of_it(opened):
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE)
    lookup(opened, "k", "v").expect("login password").press("c").output()
    assert outcomes(opened) == [("open", "dismissed")]
    person = Person(opened, "secret-tool", "store", "--label=Bank", "k", "w", REQUIRE, PASSPHRASE)
    person.expect("Password: ").type("the secret").expect("Choose a passphrase").press("c").output()
    one = log(opened)[-1]
    assert (one["action"], one["outcome"], one["item"], one["label"]) == ("store", "dismissed", None, "Bank")


def test_nobody_can_be_asked(opened):
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE)
    assert opened.lookup("k", "v") is None
    assert outcomes(opened) == [("open", "unavailable")]


def test_pam_refuses_without_a_question(opened):
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE)
    (opened.root / "pam.d/latchkey-presence").write_text("auth required pam_deny.so\n")
    lookup(opened, "k", "v").output()
    assert outcomes(opened) == [("open", "unavailable")]


def test_the_vault_is_locked_meanwhile(opened):
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE)
    person = lookup(opened, "k", "v").expect("login password to unlock")
    opened.lock()
    person.expect("wants access to your secrets").expect("login password").press("c").output()
    done = opened.run("latchkey", "log")
    assert done.returncode == 1 and "it is locked" in done.stderr
    assert opened.locker().returncode == 0
    assert outcomes(opened) == [("open", "locked")]


def test_the_session_ends_meanwhile(opened):
    """After the logout the daemon has no key, so the entry is written at the next login."""
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE, label="Bank")
    person = lookup(opened, "k", "v").expect("login password to unlock")
    assert opened.logout().returncode == 0
    person.expect("wants access to your secrets").expect("login password").press("c").output()
    assert opened.run("latchkey", "log").returncode == 1
    assert opened.login().returncode == 0
    (one,) = log(opened)
    assert (one["outcome"], one["label"], one["program"]) == ("locked", "Bank", "secret-tool")


def test_the_item_is_deleted_meanwhile(opened, peer):
    store(opened, "the secret", "open sesame", "k", "v")
    opened.store("another", "k", "w", REQUIRE, PRESENCE, label="Shop")
    person = lookup(opened, "k", "w").expect("login password")
    peer.call(peer.search({"k": "w"})[1][0], ITEM, "Delete")
    person.type(opened.password).output()
    one = log(opened)[-1]
    assert (one["outcome"], one["item"], one["label"]) == ("outdated", "login/2", "Shop")


def test_the_program_does_not_want_it_any_more(opened):
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE)
    person = lookup(opened, "k", "v").expect("login password")
    os.kill(person.pid, signal.SIGKILL)
    one = await_outcome(opened, "withdrawn")
    assert one["item"] == "login/1" and one["program"] == "secret-tool"
    person.output()


def test_what_asks_is_killed(opened):
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE)
    person = lookup(opened, "k", "v").expect("login password")
    (prompt,) = prompt_processes(opened)
    os.kill(prompt, signal.SIGKILL)
    person.output()
    assert await_outcome(opened, "broken")["item"] == "login/1"


def test_items_that_ask_for_nothing_are_not_in_it(opened):
    opened.store("free", "k", "v")
    assert opened.lookup("k", "v") == "free"
    opened.lock()
    lookup(opened, "k", "v").expect("login password").type(opened.password).last_line()
    assert log(opened) == []
    assert opened.run("latchkey", "log").stdout == ""


# MARK: who


@pytest.fixture
def present(opened):
    """An item that requires the person's presence. The PAM stack confirms the presence without a question."""
    (opened.root / "pam.d/latchkey-presence").write_text(PERMIT)
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE)
    return opened


def test_a_sandboxed_application_is_called_by_its_id(present, sandboxes):  # noqa: F811
    info = present.root / "info"
    info.write_text("[Application]\nname=org.example.Mail\n")
    info.chmod(0o644)
    sandbox = ["bwrap", "--unshare-pid", "--die-with-parent", "--bind", "/usr", "/usr", "--proc", "/proc"]
    for folder in ("bin", "lib", "lib64"):
        sandbox += ["--symlink", f"usr/{folder}", f"/{folder}"]
    sandbox += ["--dev", "/dev", "--perms", "0755", "--dir", "/tmp", "--bind", present.root, present.root]
    sandbox += ["--ro-bind", info, "/.flatpak-info", "--"]
    lookup_it = ["secret-tool", "lookup", "k", "v"]
    if os.getuid() == 0:
        # Root needs no user namespace for the sandbox. The system may forbid user namespaces to others.
        done = subprocess.run([*sandbox, *present.command_line(*lookup_it)], env=present.environment, capture_output=True, text=True)
    else:
        done = present.run(*sandbox, *lookup_it)
    assert done.stdout == "the secret", done.stderr
    assert {one["program"] for one in log(present)} == {"org.example.Mail"}


LIAR = """
import ctypes, subprocess, sys, gi
gi.require_version("Secret", "1")
from gi.repository import Secret
ctypes.CDLL(None).prctl(15, b"firefox\\n\\x1b[31m", 0, 0, 0)
schema = Secret.Schema.new("x", Secret.SchemaFlags.DONT_MATCH_NAME, {"k": Secret.SchemaAttributeType.STRING})
print(Secret.password_lookup_sync(schema, {"k": "v"}, None))
"""


def test_a_program_that_gives_itself_another_name_is_called_by_its_executable(present):
    done = present.run("/usr/bin/python3", "-c", LIAR)
    assert done.stdout.strip() == "the secret", done.stderr
    (name,) = {one["program"] for one in log(present)}
    assert name.startswith("python3")


def test_a_program_with_a_strange_name(present):
    """The program's name cannot control the terminal or look like another column."""
    name = 'a\x1b[31m\n"b'
    program = present.home / name
    present.run("cp", "/usr/bin/secret-tool", str(program), check=True)
    done = present.run(str(program), "lookup", "k", "v")
    assert done.stdout == "the secret", done.stderr
    assert {one["program"] for one in log(present)} == {name}
    table = present.run("latchkey", "log").stdout
    assert "\x1b" not in table and len(table.splitlines()) == 2 and "a?[31m?'b" in table


def test_a_program_whose_file_is_gone(present):
    program = present.home / "my tool"
    present.run("cp", "/usr/bin/python3", str(program), check=True)
    environment = present.environment | {"PYTHONHOME": "/usr"}
    done = present.run(str(program), "-c", f"import os; os.unlink({str(program)!r})\n{LIAR}", env=environment)
    assert done.stdout.strip() == "the secret", done.stderr
    assert not program.exists() and {one["program"] for one in log(present)} == {"my tool"}


def test_the_person_is_told_who_it_is_as_far_as_that_is_known(opened):
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE, label="Bank")
    person = lookup(opened, "k", "v")
    person.expect('The application "secret-tool" (as far as can be told) wants to read or change the item "Bank".')
    person.expect("login password").press("c").output()


# MARK: the log


def test_it_is_shown_as_a_table(present):
    present.store("another", "k", "w", REQUIRE, PRESENCE, label='A "label"\x1b[2J\n2026-01-01 forged')
    for value in ("v", "w"):
        assert present.lookup("k", value) is not None
    lines = present.run("latchkey", "log", check=True).stdout.splitlines()
    assert len(lines) == 4
    assert re.fullmatch(r'20\d\d-\d\d-\d\d \d\d:\d\d:\d\d  login/1 "Test" +allowed  secret-tool', lines[0])
    assert re.fullmatch(r".*  login/2 \"A 'label'\?\[2J\?2026-01-01 forged\"  used +secret-tool", lines[3])
    assert present.run("latchkey", "log", "-n", "1", check=True).stdout.split() == lines[3].split()
    assert [one["number"] for one in log(present, "-n", "3")] == [2, 3, 4]


def test_it_can_be_cleared_which_stays_to_be_seen(present):
    assert present.lookup("k", "v") == "the secret"
    assert present.run("latchkey", "log", "--clear", check=True).stdout == "Removed 2 entries.\n"
    (one,) = log(present)
    assert (one["action"], one["outcome"], one["count"], one["program"]) == ("log", "cleared", 2, "latchkey")
    assert one["item"] is None and one["number"] == 3
    present.lock()
    done = present.run("latchkey", "log", "--clear")
    assert done.returncode == 1 and "it is locked" in done.stderr


@pytest.mark.parametrize("options", [["-n", "0"], ["-n", "-1"], ["-n", "x"], ["--clear", "--json"], ["--clear", "-n", "1"], ["x"]])
def test_wrong_usage(shared_session, options):
    assert shared_session.run("latchkey", "log", *options).returncode == 64


def test_without_a_daemon(shared_session):
    done = shared_session.run("latchkey", "log", "--runtime", str(shared_session.home))
    assert done.returncode == 3 and "no vault is running" in done.stderr


def test_it_is_sealed_and_what_format_says(present):
    # The label is so long that no sealed value contains it by chance.
    store(present, "more", "open sesame", "k", "w", label="Bank of the needle")
    for _ in range(3):
        assert present.lookup("k", "v") == "the secret"
    told = log(present)
    present.restart()
    files = b"".join(path.read_bytes() for path in present.vault.rglob("*") if path.is_file())
    assert b"secret-tool" not in files and b"Bank of the needle" not in files
    vault = reader(present)
    assert [(one.number, one.created, one.action, one.outcome, one.label, one.program) for one in vault.log] == [
        tuple(one[key] for key in ("number", "time", "action", "outcome", "label", "program")) for one in told]  # fmt: skip
    assert {(one.collection, one.item) for one in vault.log} == {(1, 1), (1, 2)}
    assert present.login().returncode == 0
    assert log(present) == told


def test_new_keys_take_it_along(present):
    assert present.lookup("k", "v") == "the secret"
    told = log(present)
    present.run("latchkey", "rotate", "--stdin", input=present.password + "\n", check=True)
    assert log(present) == told
    assert present.lookup("k", "v") == "the secret"
    present.restart()
    assert [one.outcome for one in reader(present).log] == ["granted", "used"] * 2
    assert present.login().returncode == 0
    assert log(present)[:2] == told and present.status()["rotation"]["former_keys_needed"] is False


def test_a_backup_leaves_it_out_and_a_restore_leaves_it_alone(present):
    present.store("free", "a", "b")
    assert present.lookup("k", "v") == "the secret"
    told = log(present)
    backup = str(present.home / "backup")
    present.run("latchkey", "backup", "--passphrase-stdin", backup, input="backup\n")
    present.run("latchkey", "log", "--clear", check=True)
    assert present.run("latchkey", "restore", "--passphrase-stdin", backup, input="backup\n").returncode in (0, 4)
    assert [one["outcome"] for one in log(present)] == ["cleared"] and len(told) == 2


@pytest.mark.parametrize("statement, states", [
    ("UPDATE access_log SET entry = zeroblob(length(entry)) WHERE id = 2", ["whole", "damaged", "whole", "whole"]),
    ("UPDATE access_log SET entry = (SELECT entry FROM access_log WHERE id = 4), checksum = (SELECT checksum FROM"
     " access_log WHERE id = 4) WHERE id = 2", ["whole", "damaged", "whole", "whole"]),
    ("DELETE FROM access_log WHERE id = 2", ["whole", "whole", "whole"]),
])  # fmt: skip
def test_what_somebody_altered_shows_and_is_in_nobodys_way(present, statement, states):
    for _ in range(2):
        assert present.lookup("k", "v") == "the secret"
    assert len(log(present)) == 4
    altered(present, statement)
    assert present.login().returncode == 0
    found = log(present)
    assert [one["state"] for one in found] == states
    table = present.run("latchkey", "log").stdout
    assert ("damaged, or was altered" in table) == ("damaged" in states)
    if len(states) == 3:
        assert [one["missing"] for one in found] == [0, 1, 0] and "missing here: 1" in table
    assert present.status()["problems"] == []
    assert present.lookup("k", "v") == "the secret"
    assert len(log(present)) == len(states) + 2
    if "damaged" in states:
        present.stop_daemon()
        with pytest.raises(Unreadable):
            Vault(present.vault, present.password, machine_identity(APPLICATION))


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a file system")
def test_on_a_full_disk_secrets_are_read_and_the_log_is_written_when_there_is_room(stage):
    with small_disk() as place:
        session = Session(stage, below=place)
        ask_on_terminals(session, agreeing=True)
        assert session.login().returncode == 0
        try:
            (session.root / "pam.d/latchkey-presence").write_text(PERMIT)
            session.store("the secret", "k", "v", REQUIRE, PRESENCE)
            with filled(place, 0):
                for _ in range(3):
                    assert session.lookup("k", "v") == "the secret"
                assert log(session) == []
            assert [outcome for _, outcome in outcomes(session)] == ["granted", "used"] * 3
        finally:
            session.close()
