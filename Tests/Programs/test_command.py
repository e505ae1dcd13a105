"""The command line program latchkey, next to a stand-in for the daemon, with the test's own PAM services, on a real terminal."""

import json
import os
import pathlib
import re
import signal
import subprocess
import termios
import time

import pexpect
import pytest
from support.derive import ENVIRONMENT, IS_ROOT, PASSWORD, PERSON, as_root
from support.pace import Limit, seconds
from support.standin import CLOSED, OTHER_VERSION, SILENT, STATUS, VERSION, declined, status

SEALED, UNLOCKED, LOCKED = 0, 1, 2
DONE, FAILED, NO_VAULT, USAGE = 0, 1, 3, 64
KEYS = {
    "state", "first_unlocked", "lock_reasons", "lock_codes", "locker_up", "staged", "classes", "problems", "problem_codes", "vault", "generation",
    "device_key", "memory_locked", "swappable_secrets", "name_owner", "lock_sources", "items", "collections", "locked_collections",
    "other_device_items", "rotation", "recovery_code", "passwordless", "older_files", "needs_former_password",
    "opened_without_password", "protectors", "login_passwords", "version", "history",
    "damaged_files", "finger", "finger_problem",
}  # fmt: skip
PROMPT = "Password: "


class Person:
    """A person at a terminal, with a runtime folder in which the daemon listens."""

    def __init__(self, login, program):
        self.login, self.program, self.folder = login, program, login.folder
        self.environment = {**ENVIRONMENT, "XDG_RUNTIME_DIR": str(login.runtime), "TERM": "dumb",
                            # On a terminal, the toolchain's runtime would catch SIGQUIT.
                            "SWIFT_BACKTRACE": "enable=no"}
        self.pam = self.folder / "pam.d"
        self.pam.mkdir()
        hashed = subprocess.run(["openssl", "passwd", "-6", "-stdin"], input=PASSWORD, capture_output=True, text=True,
                                check=True).stdout
        (self.folder / "passwd").write_text(f"{PERSON.pw_name}:{hashed}")
        self.service(f"auth required pam_pwdfile.so nodelay pwdfile={self.folder}/passwd")

    def service(self, *lines):
        (self.pam / "latchkey-unlock").write_text("".join(line + "\n" for line in lines))

    def daemon(self, *answers):
        daemon = self.login.daemon()
        if answers:
            daemon.status = list(answers)
        return daemon

    @property
    def identity(self):
        return dict(user=PERSON.pw_uid, group=PERSON.pw_gid, extra_groups=[]) if IS_ROOT else {}

    def run(self, *arguments, **options):
        return subprocess.run([self.program, *arguments], env=options.pop("env", self.environment), text=True,
                              capture_output=True, timeout=seconds(20), cwd="/", stdin=options.pop("stdin", None),
                              start_new_session=True, **self.identity, **options)

    def unlock(self, *arguments, **options):
        return self.run("unlock", "--pam-folder", self.pam, *arguments, **options)

    def terminal(self, *command):
        def become():
            # A test runner in a shell's background ignores some of these signals.
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP):
                signal.signal(number, signal.SIG_DFL)
            if IS_ROOT:
                os.setgroups([])
                os.setgid(PERSON.pw_gid)
                os.setuid(PERSON.pw_uid)

        command = [str(word) for word in command or (self.program, "unlock", "--pam-folder", self.pam)]
        return pexpect.spawn(command[0], command[1:], env=self.environment, cwd="/", encoding="utf-8", timeout=seconds(10),
                             preexec_fn=become, dimensions=(24, 200))


@pytest.fixture
def person(login, programs):
    return Person(login, programs / "latchkey")


def settings(child):
    return termios.tcgetattr(child.child_fd)


def ending(child):
    """The remaining output, and the exit status or the negative number of the signal that ended the process."""
    child.expect(pexpect.EOF)
    child.close()
    return child.before, child.exitstatus if child.signalstatus is None else -child.signalstatus


def asked(person):
    """The terminal's settings before the question, and the terminal once it shows the question."""
    child = person.terminal("/bin/sh", "-c", f"stty sane; echo ready; read go; exec {person.program} unlock"
                            f" --pam-folder {person.pam}")
    child.expect("ready")
    before = settings(child)
    child.sendline("go")
    child.expect_exact(PROMPT)
    assert not settings(child)[3] & termios.ECHO
    return before, child


# ---- status ----


def test_status_as_json(person):
    person.daemon(status(
        state=LOCKED, first=True, locker=True, staged=True, memory=False, reasons=[("session.screenSaver",)],
        problems=[("because", ("subject.keybag",), ("vault.itemDamaged", 5))], sources=[("session.logind",), "org.gnome.ScreenSaver"],
        classes=[("when-unlocked", False), ("always", True)], vault="/home/ä/x", generation=7, device="file",
        owner=":1.5", items=12, collections=2, locked_collections=1, foreign=8, rotation=(3, 4, 5, 6), former=1,
        epoch=2, code=1700000000, passwordless=1, older=7, without_password=1, history=(True, 24, 1700000000, ("vault.diskFull",)),
        damaged=["keybag.damaged-1"],
        protectors=[(1, 2, 1700000000), (2, 1, 0), (3, 1, 1700000001), (4, 0, 2**64 - 1), (9, 9, 0)]))  # fmt: skip
    done = person.run("status", "--json")
    assert (done.returncode, done.stderr) == (DONE, "")
    reported = json.loads(done.stdout)
    assert [(one["kind"], one["state"]) for one in reported["protectors"]] == [
        ("password", "retiring"), ("recovery-code", "proven"), ("session", "proven"), ("device", "unproven"),
        ("unknown", "unknown")]
    assert reported.pop("protectors")[2]["created"] == "2023-11-14T22:13:21Z"
    assert reported.pop("login_passwords") == 1 and reported.pop("version") == person.run("--version").stdout.strip()
    assert reported == {
        "state": "locked", "first_unlocked": True, "lock_reasons": ["screen locked (screen saver)"],
        "lock_codes": [{"code": "session.screenSaver", "values": []}], "locker_up": True,
        "staged": True, "classes": {"when-unlocked": False, "always": True},
        "problems": ["keybag: item 5 is damaged"],
        "problem_codes": [{"code": "because", "values": [{"code": "subject.keybag", "values": []}, {"code": "vault.itemDamaged", "values": [5]}]}],
        "vault": "/home/ä/x", "generation": 7, "device_key": "file",
        "memory_locked": False, "swappable_secrets": 0, "name_owner": ":1.5", "lock_sources": ["logind", "org.gnome.ScreenSaver"], "items": 12,
        "collections": 2, "locked_collections": 1, "other_device_items": 8, "recovery_code": True,
        "history": {"on": True, "generations": 24, "newest": 1700000000, "problem": "the disk is full",
                    "problem_code": {"code": "vault.diskFull", "values": []}},
        "passwordless": True, "older_files": ["keybag", "vault.db"], "needs_former_password": True,
        "opened_without_password": True, "damaged_files": ["keybag.damaged-1"], "finger": "not-added", "finger_problem": "",
        "rotation": {"epoch": 2, "left": 3, "closed": 4, "other_device": 5, "quarantined": 6, "former_keys_needed": True},
    }  # fmt: skip


@pytest.mark.parametrize("state, name", [(SEALED, "sealed"), (UNLOCKED, "unlocked"), (LOCKED, "locked")])
def test_status_ends_with_0_whatever_the_state_is(person, state, name):
    person.daemon(status(state=state, problems=["vault.db: the file is damaged"]))
    done = person.run("status")
    assert done.returncode == DONE and done.stderr == ""
    assert re.search(rf"^State\s+{name}$", done.stdout, re.M)
    assert "vault.db: the file is damaged" in done.stdout
    done = person.run("status", "--json")
    assert done.returncode == DONE and json.loads(done.stdout)["state"] == name


def test_the_manual_page_has_each_key(person):
    """latchkey(1) explains each key of the JSON and names no other. docs/user/fleet.md says when to be alarmed."""
    person.daemon(status())
    keys = set(json.loads(person.run("status", "--json").stdout))
    docs = pathlib.Path(__file__).parents[2] / "docs"
    described = (docs / "man/latchkey.1").read_text().split("The keys of the JSON are:")[1].split("\n.Ss ")[0]
    assert sorted(re.findall(r"\w+", " ".join(re.findall(r"^\.It Cm (.*)", described, re.M)))) == sorted(keys)
    table = (docs / "user/fleet.md").read_text().split("### Alert on these keys")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", "".join(cells))) <= keys | {"problem"}


def test_status_says_what_to_do_about_items_of_another_device(person):
    daemon = person.daemon()
    for foreign in (0, 2):
        daemon.status = status(foreign=foreign)
        text = person.run("status").stdout
        for way in ("bring /var/lib/latchkey back", "remove them with 'latchkey rm'"):
            assert (way in text) == bool(foreign)


def test_status_says_what_generations_there_are(person):
    daemon = person.daemon()
    for history, line in (
            ((True, 24, 1700000000, ""), r"24 are kept, the newest made on 2023-11-1\d \d\d:\d\d"), ((False, 0, 0, ""), "off"),
            ((True, 1, 1700000000, ""), r"1 is kept, made on 2023-11-1\d \d\d:\d\d"),
            ((False, 2, 1700000000, ""), r"2 are kept, the newest made on \S+ \S+; turned off, so no new one is made"),
            ((True, 0, 0, "the disk is full"), "none yet; a new one could not be made: the disk is full")):
        daemon.status = status(history=history)
        assert re.search(rf"^Generations +{line}$", person.run("status").stdout, re.M), line


def test_status_says_what_an_older_copy_means(person):
    daemon = person.daemon()
    for older, files in ((0, set()), (1, {"keybag"}), (2, {"vault.db"}), (3, {"keybag", "vault.db"})):
        daemon.status = status(older=older, vault="/home/anna/x")
        output = person.run("status").stdout
        assert {name for name in ("keybag", "vault.db") if f"{name} is older than" in output} == files
        assert ("An older copy of the vault was put back" in output) == ("/home/anna/x" in output.split("Keys")[1]) == bool(files)
        assert ("latchkey rotate" in output) == ("keybag" in files) and ("is lost" in output) == ("vault.db" in files)


def test_status_tells_damaged_files_from_another_vaults_keybag(person):
    person.daemon(status(damaged=["keybag.other-2", "vault.db.damaged-1"], vault="/v"))
    output = person.run("status").stdout
    assert re.search("another vault.*\n  /v/keybag.other-2\n.*Keep it", output)
    assert re.search("repaired.*\n  /v/vault.db.damaged-1\n.*delete it", output)


def test_status_names_the_ways_where_the_device_key_was_the_only_one(person):
    """An account with an empty password has lost its device key, so it has no password for `latchkey unlock`."""
    lost = ("because", ("subject.keybag",), ("keybag.onlyOtherDevice",))
    person.daemon(status(state=SEALED, passwordless=True, problems=[lost]))
    line = re.search(r"To unlock +(.*)", person.run("status").stdout)[1]
    assert "latchkey unlock --recovery" in line and "latchkey start-empty" in line


def account(person, words):
    """Sets passwd(1)'s answer about the person's account."""
    folder = person.folder / "programs"
    folder.mkdir()
    (folder / "passwd").write_text(f"#!/bin/sh\n[ \"$*\" = -S ] && echo {PERSON.pw_name} {words}\n")
    (folder / "passwd").chmod(0o755)
    person.environment["PATH"] = f"{folder}:{person.environment.get('PATH', os.environ['PATH'])}"


ACCOUNTS = pytest.mark.parametrize("words, lacks", [("L 2025-05-20 0 99999 7 -1", True), ("P 2025-05-20 0 99999 7 -1", False)])


@ACCOUNTS
def test_unlock_promises_no_vault_to_an_account_without_a_password(person, words, lacks):
    account(person, words)
    person.daemon(status(state=SEALED, first=False, vault="/v", generation=0))
    done = person.unlock("--stdin", input="wrong\n")
    assert done.returncode == FAILED and ("your login password creates it" in done.stdout) != lacks
    assert (f"You have no vault yet, and this account has no password, which a vault needs: give it one with 'sudo passwd "
            f"{PERSON.pw_name}'" in done.stdout) == lacks  # fmt: skip


@ACCOUNTS
def test_status_says_that_an_account_without_a_password_gets_no_vault(person, words, lacks):
    account(person, words)
    person.daemon(status(state=SEALED, first=False, vault="/v", generation=0))
    text = person.run("status").stdout
    assert ("which creates the vault" in text) != lacks
    assert (f"'sudo passwd {PERSON.pw_name}'" in text and "mask latchkeyd.socket" in text) == lacks


def test_status_of_nothing_has_every_key(person):
    person.daemon(status(state=SEALED, first=False, memory=False, sources=(), classes=(), vault="", generation=0,
                         device="", owner="nobody", items=0, collections=0))
    reported = json.loads(person.run("status", "--json").stdout)
    assert reported.keys() == KEYS
    assert reported["version"] == person.run("--version").stdout.strip()
    assert "owned by no program" in person.run("status").stdout


def test_status_names_passwords_in_plain_words(person):
    person.daemon(status(protectors=[(1, 0, 1700000000), (1, 1, 1600000000), (1, 2, 1500000000)]))
    assert re.search(r"^Unlocked by +login password\n +former login password\n(?! )", person.run("status").stdout, re.M)


def test_status_for_people_is_aligned_and_cannot_command_the_terminal(person):
    person.daemon(status(problems=["\x1b[2Jgone\x07", "line\nbreak"], vault="/home/\x9b1mx", owner=":1.\x1b]0;title\x07"))
    done = person.run("status")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.stdout)
    head = done.stdout.split("Keys in memory")[0].splitlines()
    assert len({re.match(r".*?\S  +", line).end() for line in head}) == 1, "one column"


@pytest.mark.parametrize("answer", [SILENT, CLOSED, b"", bytes([VERSION, STATUS]), b"x" * 100, status()[:-1]])
def test_a_daemon_that_makes_no_sense(person, answer):
    daemon = person.daemon()
    daemon.status = answer or CLOSED
    done = person.run("status")
    assert done.returncode == NO_VAULT and done.stdout == "" and "does not answer" in done.stderr


# ---- a missing daemon ----


@pytest.mark.parametrize("command", [["status"], ["status", "--json"], ["lock"], ["unlock"], ["unlock", "--stdin"]])
def test_no_daemon(person, command):
    done = person.run(*command, stdin=subprocess.DEVNULL)
    assert done.returncode == NO_VAULT and done.stdout == ""
    assert f"{person.login.runtime}/latchkey/control" in done.stderr
    # A user manager from before the installation must read the units first.
    start = "'systemctl --user daemon-reload && systemctl --user start latchkeyd.socket', then run 'latchkey unlock'"
    assert start in done.stderr
    person.daemon().close(remove=False)
    person.login.daemons.clear()
    assert person.run(*command, stdin=subprocess.DEVNULL).returncode == NO_VAULT


def test_the_runtime_folder(person):
    person.daemon()
    runtime = str(person.login.runtime)
    nowhere = {**ENVIRONMENT, "XDG_RUNTIME_DIR": "/nowhere"}
    assert person.run("status").returncode == DONE
    assert person.run("--runtime", runtime, "status", env=nowhere).returncode == DONE
    assert person.run("status", "--runtime", runtime, env=nowhere).returncode == DONE
    assert person.run("--runtime", "/nowhere", "status", "--runtime", runtime).returncode == DONE
    for environment in (nowhere, {**ENVIRONMENT, "XDG_RUNTIME_DIR": ""}, {**ENVIRONMENT, "XDG_RUNTIME_DIR": "run"}):
        assert person.run("--runtime", "/elsewhere", "status", env=environment).returncode == NO_VAULT
    done = person.run("status", env=nowhere)
    assert done.returncode == NO_VAULT and "/nowhere/latchkey/control" in done.stderr


@as_root
def test_nothing_is_said_to_a_daemon_of_another_user(person):
    daemon = person.daemon()
    os.chown(daemon.path, 1, 1)
    done = person.run("status")
    assert done.returncode == NO_VAULT and "another user's" in done.stderr
    assert daemon.packets == []


# ---- lock ----


def test_lock(person):
    daemon = person.daemon()
    done = person.run("lock")
    assert (done.returncode, done.stderr) == (DONE, "")
    assert daemon.packets == [b"\2\4"]
    daemon.lock = CLOSED
    assert person.run("lock").returncode == NO_VAULT


@pytest.mark.parametrize("command", [["status"], ["lock"], ["unlock", "--stdin"], ["rotate", "--stdin"]])
def test_a_service_of_another_version_is_named_with_what_helps(person, command):
    """The service was started before an upgrade, and has the keys."""
    daemon = person.daemon()
    daemon.status = daemon.lock = daemon.may_rotate = daemon.need = bytes([VERSION + 1, OTHER_VERSION])
    done = person.run(*command, input=PASSWORD + "\n")
    assert done.returncode == NO_VAULT and "systemctl --user restart latchkeyd && latchkey unlock" in done.stderr


def test_a_vault_without_a_password_is_not_locked_and_nobody_is_asked_to_unlock_it(person):
    daemon = person.daemon(status(state=UNLOCKED, locked_collections=1, passwordless=True))
    daemon.lock = declined("your login has no password")
    done = person.run("lock")
    assert (done.returncode, done.stdout) == (FAILED, "") and "your login has no password" in done.stderr
    done = person.run("unlock", "--stdin")
    assert (done.returncode, done.stderr) == (DONE, "") and "Your login has no password" in done.stdout
    assert re.search(r"Login password +none", person.run("status").stdout)
    daemon.status = status(state=UNLOCKED)
    assert "Login password" not in person.run("status").stdout


# ---- unlock on a terminal ----


def test_the_right_password(person):
    daemon = person.daemon(status(state=LOCKED), status())
    before, child = asked(person)
    child.sendline(PASSWORD)
    said, code = ending(child)
    assert code == DONE and "The vault is unlocked." in said
    assert PASSWORD not in said
    assert daemon.packets == [b"\2\3"] * 2, "the daemon is asked, and told nothing"


def test_a_wrong_password_is_asked_for_again(person):
    daemon = person.daemon(*[status(state=LOCKED)] * 2, status())
    _, child = asked(person)
    child.sendline("wrong")
    child.expect_exact("The password was not accepted. Try again.")
    child.expect_exact(PROMPT)
    child.sendline(PASSWORD)
    said, code = ending(child)
    assert code == DONE and "The vault is unlocked." in said and daemon.packets == [b"\2\3"] * 3


def test_three_wrong_passwords_are_one_transaction_of_pam(person):
    """A module that counts failures sees three failures, and pam_unix applies its own limit."""
    log = person.login.home / "tries"
    checks = f"auth required pam_pwdfile.so pwdfile={person.folder}/passwd"
    person.service(f"auth optional pam_exec.so type=auth log={log} /bin/true", checks)
    person.daemon(status(state=LOCKED))
    _, child = asked(person)
    for _ in range(2):
        child.sendline("wrong")
        child.expect_exact("Try again.")
        child.expect_exact(PROMPT)
    child.sendline("wrong")
    said, code = ending(child)
    assert code == FAILED and "was not accepted. Try again with your" in said and PROMPT not in said
    assert len(log.read_text().splitlines()) == 3


@pytest.mark.parametrize("result, words", [
    ("auth_err", "not accepted. Try"), ("maxtries", "not accepted. Try"),
    ("acct_expired", "not accepted (User account has expired). Try")])  # fmt: skip
def test_words_of_pam_that_say_no_more_are_left_out(person, result, words):
    person.service(f"auth required pam_debug.so auth={result}")
    person.daemon(status(state=LOCKED))
    done = person.unlock("--stdin", input=PASSWORD + "\n")
    assert done.returncode == FAILED and words in done.stderr


def test_a_word_that_is_no_attribute_has_an_example(person):
    assert "for example 'latchkey find service=mail'" in " ".join(person.run("add", "--label", "L", "mail").stderr.split())


def test_a_refusal_without_a_question_is_not_repeated(person):
    log = person.login.home / "tries"
    person.service(f"auth optional pam_exec.so type=auth log={log} /bin/true", "auth required pam_deny.so")
    person.daemon(status(state=LOCKED))
    child = person.terminal("/bin/sh", "-c", f"exec {person.program} unlock --pam-folder {person.pam}")
    said, code = ending(child)
    assert code == FAILED and "Try again." not in said.replace("Try again with", "") and len(log.read_text().splitlines()) == 1


@as_root
def test_the_password_is_seen_by_nobody(person):
    person.daemon(status(state=LOCKED))
    _, child = asked(person)
    child.send(PASSWORD)
    for name in ("cmdline", "environ"):
        with open(f"/proc/{child.pid}/{name}", "rb") as file:
            assert PASSWORD.encode() not in file.read()
    assert os.stat(f"/proc/{child.pid}/environ").st_uid == 0, "not dumpable: its files in /proc are root's"
    child.close(force=True)


def test_the_terminal_is_as_it_was(person):
    # The shell stays, so that the test can check the terminal after the program's end.
    person.daemon(status(state=LOCKED))
    for keys, expected in [(PASSWORD + "\n", 1), (["wrong\n"] * 3, 1), ("\x04", 1), (["wrong\n", "\x03"], 130), ("\x1c", 131)]:
        child = person.terminal("/bin/bash", "--norc", "--noprofile", "-i")
        child.sendline("PS1='@''@> '; stty sane -tostop; bind 'set enable-bracketed-paste off'")
        child.expect("@@> ")
        child.sendline("stty -g")
        child.expect("@@> ")
        before = re.search(r"^\S*:\S*:\S*", child.before.split("\n", 1)[1], re.M)[0]
        child.sendline(f"ulimit -c 0; {person.program} unlock --pam-folder {person.pam}")
        for key in [keys] if isinstance(keys, str) else keys:
            child.expect_exact(PROMPT)
            time.sleep(0.05)
            child.send(key)
        child.expect("@@> ")
        assert PASSWORD not in child.before
        child.sendline("echo rc''=$?")
        child.expect(r"rc=(\d+)")
        assert int(child.match[1]) == expected, repr(keys)
        child.expect("@@> ")
        child.sendline("stty -g")
        child.expect("@@> ")
        assert re.search(r"^\S*:\S*:\S*", child.before.split("\n", 1)[1], re.M)[0] == before, repr(keys)
        child.close(force=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signals_from_elsewhere(person, number):
    person.daemon(status(state=LOCKED))
    before, child = asked(person)
    child.send("half a pass")
    os.kill(child.pid, number)
    # The terminal stays open until the program ends, so the test can read the settings here.
    limit = Limit(5)
    while child.isalive() and not limit.is_over:
        time.sleep(0.01)
    assert child.signalstatus == number
    assert settings(child) == before
    child.close()


def test_stopped_and_continued(person):
    person.daemon(status(state=LOCKED), status())
    child = person.terminal("/bin/bash", "--norc", "--noprofile", "-i")
    child.sendline("PS1='@''@> '; bind 'set enable-bracketed-paste off'")
    child.expect("@@> ")
    child.sendline(f"{person.program} unlock --pam-folder {person.pam}")
    child.expect_exact(PROMPT)
    child.send("half")
    child.sendcontrol("z")
    child.expect("Stopped")
    child.expect("@@> ")
    child.sendline("stty -a | tr ' ;' '\\n\\n' | grep -x -e echo -e -echo")
    child.expect("\r\n(-?echo)\r\n")
    assert child.match[1] == "echo"
    child.expect("@@> ")
    child.sendline("fg")
    child.expect_exact(PROMPT)
    child.sendline(PASSWORD)
    child.expect("The vault is unlocked.")
    assert PASSWORD not in child.before
    child.close(force=True)


def test_what_was_typed_before_the_question_is_no_answer(person):
    person.daemon(status(state=LOCKED), status(state=LOCKED))
    go = person.folder / "go"
    waiting = f"until [ -e {go} ]; do sleep 0.05; done"
    child = person.terminal("/bin/sh", "-c", f"echo ready; {waiting}; exec {person.program} unlock --pam-folder {person.pam}")
    child.expect("ready")
    child.sendline("typed ahead")
    # Now the terminal has the typed line.
    child.expect_exact("typed ahead\r\n")
    go.touch()
    child.expect_exact(PROMPT)
    with pytest.raises(pexpect.TIMEOUT):
        child.expect(pexpect.EOF, timeout=0.5)
    child.close(force=True)


def test_a_visible_question_is_answered_visibly(person):
    shim = "auth requisite pam_echo.so Welcome to %s"
    person.service(shim, f"auth required pam_pwdfile.so pwdfile={person.folder}/passwd")
    person.daemon(status(state=LOCKED), status())
    _, child = asked(person)
    assert "Welcome to latchkey-unlock" in child.before, "what PAM has to say is said"
    child.sendline(PASSWORD)
    assert ending(child)[1] == DONE


def test_input_may_be_redirected_on_a_terminal(person):
    person.daemon(status(state=LOCKED), status())
    child = person.terminal("/bin/sh", "-c", f"exec {person.program} unlock --pam-folder {person.pam} </dev/null >/dev/null")
    child.expect_exact(PROMPT)
    child.sendline(PASSWORD)
    assert ending(child)[1] == DONE


# ---- unlock: the final result ----


@pytest.mark.parametrize("after, words", [
    (status(state=SEALED, generation=0), "no vault was created"), (status(state=SEALED), "still locked"),
    (status(state=LOCKED), "still locked"), (status(state=LOCKED, locker=True), "screen locker"),
    (status(state=LOCKED, locker=True, staged=True), "screen locker"),
    (status(state=SEALED, problems=["keybag: the file is damaged"]), "keybag: the file is damaged"),
    (status(locked_collections=1), "still locked")])  # fmt: skip
def test_pam_accepts_and_the_vault_stays_locked(person, after, words):
    person.daemon(status(state=LOCKED), after)
    done = person.unlock("--stdin", input=PASSWORD + "\n")
    assert done.returncode == FAILED and done.stdout == "" and words in done.stderr


@pytest.mark.parametrize("generation", [0, 2])
def test_a_refusal_where_there_is_no_vault_says_which_account_cannot_have_one(person, generation):
    person.daemon(status(state=SEALED, first=False, generation=generation))
    done = person.unlock("--stdin", input="wrong\n")
    assert done.returncode == FAILED and "was not accepted" in done.stderr
    assert ("ssh keys only" in done.stderr) == (generation == 0)


def test_pam_refuses_and_the_vault_opens_all_the_same(person):
    person.daemon(status(state=LOCKED), status())
    done = person.unlock("--stdin", input="the old one\n")
    assert done.returncode == DONE and "The vault is unlocked." in done.stdout


def test_an_open_vault_asks_for_nothing(person):
    person.daemon(status())
    done = person.unlock()
    assert done.returncode == DONE and "already" in done.stdout


def test_collections_that_are_locked_by_themselves(person):
    person.daemon(status(locked_collections=1), status())
    assert person.unlock("--stdin", input=PASSWORD + "\n").returncode == DONE


# ---- unlock in scripts ----


@pytest.mark.parametrize("typed, code", [
    (PASSWORD + "\n", DONE), (PASSWORD, DONE), (PASSWORD + "\nmore\n", DONE), ("wrong\n", FAILED), ("", FAILED),
    ("\n", FAILED), ("x" * 600 + "\n", FAILED), (PASSWORD + "\0\n", FAILED)])  # fmt: skip
def test_a_line_of_standard_input(person, typed, code):
    person.daemon(status(state=LOCKED), status(state=UNLOCKED if code == DONE else LOCKED))
    done = person.unlock("--stdin", input=typed)
    assert done.returncode == code, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    assert bool(done.stderr) == (code != DONE)


def test_standard_input_is_left_alone_unless_asked_for(person):
    person.daemon(status(state=LOCKED))
    done = person.unlock(input=PASSWORD + "\n")
    assert done.returncode == FAILED and "--stdin" in done.stderr


@pytest.mark.parametrize("lines", [None, ["auth required pam_no_such_module.so"], ["auth required pam_deny.so"]])
def test_pam_that_is_not_set_up(person, lines):
    if lines is None:
        (person.pam / "latchkey-unlock").unlink()
    else:
        person.service(*lines)
    person.daemon(status(state=LOCKED))
    done = person.unlock("--stdin", input=PASSWORD + "\n")
    assert done.returncode == FAILED and done.stderr != ""


# ---- usage ----


@pytest.mark.parametrize("arguments", [["bogus"], ["status", "--bogus"], ["--runtime"], ["lock", "extra"]])
def test_wrong_usage(person, arguments):
    done = person.run(*arguments)
    assert done.returncode == USAGE and done.stdout == "" and "latchkey" in done.stderr


def test_help_and_completions(person):
    commands = ["status", "lock", "unlock", "find", "get", "add", "edit", "rm", "import", "export", "doctor"]
    for arguments in ([], ["--help"], *([command, "--help"] for command in commands), ["--version"]):
        done = person.run(*arguments)
        assert done.returncode == DONE and done.stdout != ""
        assert "pam-folder" not in done.stdout
    text = " ".join(person.run("--help").stdout.split())
    for word in ("0 done", "1 it could not be done", "2 there is no such item", "3 no vault", "something to fix (doctor)", "64 wrong usage",
                 "--generate-completion-script"):  # fmt: skip
        assert word in text
    for command in ("find", "get", "add", "edit", "rm", "import", "export", "doctor"):
        assert f"latchkey {command} " in person.run(command, "--help").stdout.split("Examples:")[1].split("USAGE")[0]
    for shell in ("bash", "zsh", "fish"):
        done = person.run("--generate-completion-script", shell)
        assert done.returncode == DONE and "unlock" in done.stdout and "no-prompt" in done.stdout
        assert "doctor" in done.stdout
        assert "when-unlocked-this-device-only" in done.stdout, "classes are completed"
    script = person.run("--generate-completion-script", "bash").stdout
    assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0
