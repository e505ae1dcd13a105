"""Prompts at a real login: units of the real user manager and PAM with the real pam_unix, on the client's terminal."""

import json
import os
import re
import signal
from pathlib import Path

import pytest
from screen import Screen
from support.machine import eventually
from support.sandbox import sandboxed

pytestmark = pytest.mark.second_try

ASKED = "Enter your login password: "
WRONG = "That password is not right. Try again."
PASSPHRASE = 'Enter the passphrase of the collection "Private": '
LOCKED = "org.freedesktop.Secret.Error.IsLocked"
LOOKUP = "secret-tool lookup app default"
BUS_CALL = ("busctl", "--user", "call", "org.freedesktop.secrets")
SERVICE = f"{' '.join(BUS_CALL)} /org/freedesktop/secrets org.freedesktop.Secret.Service"
PINENTRY = "/usr/local/bin/pinentry"


@pytest.fixture(autouse=True)
def pinentry(machine):
    """The machine has no working pinentry, so questions come line by line. A test may install another pinentry."""
    program = machine.path(PINENTRY)
    program.write_text("#!/bin/false\n")
    program.chmod(0o755)
    yield program
    program.unlink()


@pytest.fixture
def opened(alice):
    """A terminal session in which the vault is unlocked."""
    with alice.login() as session:
        session.store("of default", app="default")
        yield session
        await_no_prompt(alice)


@pytest.fixture
def session(opened):
    """A terminal session in which the vault is locked and no locker is up."""
    opened.run("latchkey lock")
    return opened


def units(account):
    """The units of prompts in the user manager, in any state."""
    listed = account.run("systemctl", "--user", "list-units", "--all", "--plain", "--no-legend", "latchkey-prompt@*")
    return [line.split()[0] for line in listed.stdout.splitlines()]


def shown(account):
    """The unit of the only prompt, once the unit of an earlier prompt has ended."""
    (unit,) = eventually(lambda: len(found := units(account)) == 1 and found, what="one prompt")
    return unit


def main_pid(account, unit):
    """The main process of a unit, by its number outside of the container."""
    number = account.run("systemctl", "--user", "show", "-P", "MainPID", unit).stdout
    assert int(number) > 0, f"{unit} does not run"
    return account.machine.host_pid(number)


def processes(account):
    """The programs of a running prompt, and the user's zombie processes."""
    listed = account.machine.root("ps", "-u", account.uid, "-o", "stat=,args=").stdout.splitlines()
    return [line for line in listed if line.startswith("Z") or re.search("latchkey-prompt|pinentry|unix_chkpwd", line)]


def await_no_prompt(account):
    """Waits until a prompt has left no unit and no process."""
    eventually(lambda: not units(account), what="the end of the prompt's unit")
    eventually(lambda: not processes(account), what="the end of the prompt's processes")
    assert account.run("systemctl", "--user", "--failed", "--plain", "--no-legend").stdout == ""


def process_status(pid):
    """The fields of /proc/PID/status."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def waiting(account):
    """The number of clients that wait at a prompt of the daemon, whether it is shown or not."""
    introspect = ("org.freedesktop.DBus.Introspectable", "Introspect")
    return account.run(*BUS_CALL, "/org/freedesktop/secrets/prompt", *introspect).stdout.count("<node name=")


def finish(session, secret="of default"):
    """Finishes a lookup whose question is answered."""
    done = session.finish()
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == secret
    return done


def test_the_right_password_on_the_clients_terminal(alice, session):
    cursor = alice.machine.cursor()
    session.start(LOOKUP)
    session.expect(ASKED)

    unit = shown(alice)
    pid, daemon = main_pid(alice, unit), alice.daemon()
    process = process_status(pid)
    # The prompt is a child of the user manager and not of the hardened daemon, and has a control group of its own.
    manager = alice.machine.root("systemctl", "show", "-P", "MainPID", f"user@{alice.uid}.service").stdout
    assert int(process["PPid"]) == alice.machine.host_pid(manager)
    assert Path(f"/proc/{daemon}/task/{daemon}/children").read_text() == ""
    assert Path(f"/proc/{pid}/cgroup").read_text().strip().endswith(f"/session.slice/{unit}")
    assert (process["NoNewPrivs"], process["Seccomp"]) == ("0", "0")

    session.send(alice.password)
    finish(session)
    assert session.status()["state"] == "unlocked"
    await_no_prompt(alice)
    assert alice.password not in alice.machine.journal(cursor)


def test_a_wrong_password_is_refused_by_pam_unix(alice, session):
    cursor = alice.machine.cursor()
    session.start(LOOKUP)
    session.expect(ASKED)
    session.send("not the password")
    session.expect(re.escape(WRONG))
    session.expect(ASKED)
    assert alice.status()["state"] == "locked"
    session.send(alice.password)
    finish(session)
    # unix_chkpwd, which may read the machine's passwords, refused the password for the service of prompts.
    assert "password check failed for user (alice)" in alice.machine.journal(cursor, "unix_chkpwd")
    assert "pam_unix(latchkey-unlock:auth): authentication failure" in alice.machine.journal(cursor, "latchkey-prompt")


def test_the_units_own_hardening_would_keep_pam_unix_from_any_password(alice, session):
    """A prompt's unit has no such hardening, because a filter of system calls also sets NoNewPrivileges."""
    folder = "~/.config/systemd/user/latchkey-prompt@.service.d"
    session.run(f"mkdir -p {folder}; printf '[Service]\\nSystemCallFilter=@system-service\\n' >{folder}/x.conf")
    session.run("systemctl --user daemon-reload")
    session.start(LOOKUP)
    session.expect(ASKED)
    assert process_status(main_pid(alice, shown(alice)))["NoNewPrivs"] == "1"
    session.send(alice.password)
    assert session.finish().returncode == 1
    assert session.status()["state"] == "locked"
    await_no_prompt(alice)
    session.run(f"rm -r {folder}; systemctl --user daemon-reload")
    session.start(LOOKUP)
    session.expect(ASKED)
    session.send(alice.password)
    finish(session)


def test_dismissed(alice, session):
    for key in ("c", "d"):
        # The terminal echoes, as for a person. Only text that is typed at the prompt must stay hidden.
        told = "echo status $?; [ $was = $(stty -g) ] && echo as before; stty -echo"
        session.start(f"stty echo; was=$(stty -g); {LOOKUP}; {told}")
        session.expect(ASKED)
        if key == "c":
            session.terminal.send("half a word")
        session.terminal.sendcontrol(key)
        session.expect(r"status 1\s+as before")
        assert "half" not in session.terminal.before
        session.finish()
        await_no_prompt(alice)
    assert session.status()["state"] == "locked"


def test_pinentry_on_the_clients_terminal(alice, session, pinentry):
    pinentry.unlink()
    pinentry.symlink_to("/usr/bin/pinentry-curses")
    session.start(f"was=$(stty -g); {LOOKUP}; [ $was = $(stty -g) ] && echo as before")
    session.expect("Enter your login password")
    session.expect("<Cancel>")
    session.terminal.send("not the password\r")
    session.expect("not right")
    session.expect("<Cancel>")
    session.terminal.send(f"{alice.password}\r")
    session.expect(r"of default\s+as before")
    assert session.finish().returncode == 0
    await_no_prompt(alice)


def test_killed_while_it_asks(alice, session):
    daemon = alice.daemon()
    session.start(LOOKUP)
    session.expect(ASKED)
    os.kill(main_pid(alice, shown(alice)), signal.SIGKILL)
    done = session.finish()
    assert done.returncode == 1 and "of default" not in done.stdout
    await_no_prompt(alice)
    assert alice.daemon() == daemon
    assert session.status()["state"] == "locked"
    session.run("stty sane -echo")  # no process was left to restore the terminal
    session.start(LOOKUP)
    session.expect(ASKED)
    session.send(alice.password)
    finish(session)


@pytest.mark.parametrize("how", ["restart", "kill --signal=KILL"])
def test_the_daemon_ends_while_a_prompt_is_up(alice, session, how):
    session.start(f"was=$(stty -g); {LOOKUP}; echo status $?; [ $was = $(stty -g) ] && echo as before")
    session.expect(ASKED)
    before = alice.daemon()
    alice.run("systemctl", "--user", *how.split(), "latchkeyd.service")
    await_no_prompt(alice)
    if how == "restart":
        session.expect(r"status 1\s+as before")  # the ending daemon has answered
        session.finish()
    else:
        # libsecret waits for ever in this case. The terminal and its keys belong to the person again.
        session.terminal.sendcontrol("c")
        assert session.finish().returncode == 130
    assert session.status()["state"] == "sealed"  # a new daemon answers
    assert alice.daemon() != before
    session.start(LOOKUP)
    session.expect(ASKED)
    session.send(alice.password)
    finish(session)


def test_a_logout_ends_the_prompt(alice):
    with alice.login() as session:
        session.store("of default", app="default")
        session.run("latchkey lock")
        session.start(LOOKUP)
        session.expect(ASKED)
        unit = shown(alice)
        assert process_status(main_pid(alice, unit))
        session.terminal.close(force=True)  # the end of the terminal ends the login
    alice.await_end()


def test_two_clients_share_one_prompt(alice, session):
    with alice.login() as other:  # this login opens the vault
        other.run("latchkey lock")

        def both_ask():
            session.start(LOOKUP)
            session.expect(ASKED)
            unit = shown(alice)
            other.start(LOOKUP)
            eventually(lambda: waiting(alice) == 2, what="the second client")
            assert shown(alice) == unit

        # If a person dismissed the prompt, the other client causes no second prompt.
        both_ask()
        session.terminal.sendcontrol("c")
        dismissed = session.finish(), other.finish()
        assert [done.returncode for done in dismissed] == [1, 1]
        await_no_prompt(alice)
        both_ask()
        session.send(alice.password)
        answered = finish(session), finish(other)
        assert all(ASKED not in done.stdout for done in (*dismissed, *answered))


def test_a_collection_with_a_passphrase(alice, opened):
    label = "1 org.freedesktop.Secret.Collection.Label s Private"
    path = opened.run(f"{SERVICE} CreateCollection 'a{{sv}}s' {label} ''").stdout.split('"')[1]
    opened.run(f"printf hidden | secret-tool store --label=test --collection={path} in private")
    opened.start("latchkey passphrase set Private")
    opened.expect("New passphrase for 'Private': ")
    opened.send("sesame")
    opened.expect("again: ")
    opened.send("sesame")
    assert opened.finish().returncode == 0
    opened.run(f"{SERVICE} Lock ao 1 {path}")
    assert opened.secret(**{"in": "private"}) == LOCKED

    opened.start("secret-tool lookup in private")
    opened.expect(PASSPHRASE)
    opened.send(alice.password)  # the login password is not the passphrase
    opened.expect("not right")
    opened.expect(PASSPHRASE)
    opened.send("sesame")
    finish(opened, "hidden")

    # With a sealed vault, the prompt asks for the password and then for the passphrase.
    opened.run("systemctl --user restart latchkeyd.service")
    opened.start("secret-tool lookup in private")
    opened.expect(ASKED)
    opened.send(alice.password)
    opened.expect(PASSPHRASE)
    opened.send("sesame")
    finish(opened, "hidden")


# Lockers


def set_locked_hint(session, locked):
    """Reports a lock or an unlock to logind as the session's locker does, while the session's terminal waits for a prompt."""
    path = f"/org/freedesktop/login1/session/_3{session.session}"
    call = ("busctl", "call", "org.freedesktop.login1", path, "org.freedesktop.login1.Session", "SetLockedHint")
    session.machine.root(*call, "b", str(locked).lower())


def test_a_locker_comes_while_a_prompt_is_up(alice, session):
    # The process is inside the session, as a locker is. It authenticates once the password comes.
    session.run("mkfifo typed; (pamtester i3lock alice authenticate <typed >/dev/null 2>&1 &)")
    session.start(LOOKUP)
    session.expect(ASKED)
    before = shown(alice)
    set_locked_hint(session, True)
    await_no_prompt(alice)
    assert waiting(alice) == 1
    # The locker ends without a password, so the prompt asks again.
    set_locked_hint(session, False)
    session.expect(ASKED)
    assert shown(alice) != before
    # The locker ends with a password, which also answers the prompt.
    set_locked_hint(session, True)
    await_no_prompt(alice)
    alice.run("sh", "-c", f"echo {alice.password} >{alice.home}/typed")
    ended = lambda: alice.machine.root("pgrep", "-x", "pamtester", check=False).returncode != 0
    eventually(ended, what="the locker's authentication")
    alice.machine.await_helpers()
    set_locked_hint(session, False)
    assert ASKED not in finish(session).stdout


def test_a_locker_that_takes_a_fingerprint(alice, session):
    """A locker's or greeter's stack never asks for the password on behalf of the vault. A prompt asks afterwards."""
    service = session.machine.path("/etc/pam.d/fingerprint")
    service.write_text("auth required pam_permit.so\nauth optional pam_latchkey.so\n")
    session.set_locked_hint(True)
    for done in (
        session.run("pamtester fingerprint alice authenticate"),
        session.machine.root("pamtester", "fingerprint", "alice", "authenticate"),
    ):
        assert "assword" not in done.stdout + done.stderr
    session.set_locked_hint(False)
    assert session.status()["state"] == "locked"
    session.start(LOOKUP)
    session.expect(ASKED)
    session.send(alice.password)
    finish(session)


def test_behind_i3lock(alice):
    with alice.graphical_login() as desktop:
        desktop.store("of default", app="default")
        screen = Screen(alice, desktop)

        def ask_behind_it():
            screen.lock()
            desktop.start(LOOKUP)
            eventually(lambda: waiting(alice) == 1, what="the client")
            assert units(alice) == []

        cursor = alice.machine.cursor()
        ask_behind_it()
        screen.enter(alice.password)
        was_asked = ASKED in finish(desktop).stdout
        # i3lock waits 3 s for the helper. On a slow machine only the vault is still locked after that, and the prompt stays until
        # the keys come.
        was_late = "takes longer than a login waits" in alice.machine.journal(cursor, "i3lock")
        assert was_late or not was_asked
        ask_behind_it()
        screen.kill_locker()  # a crash lets nobody in
        desktop.expect(ASKED)
        assert alice.status()["state"] == "locked"
        desktop.send(alice.password)
        finish(desktop)
        await_no_prompt(alice)
        screen.close()


# The asking program


def test_who_asks_is_named_by_the_unit_that_systemd_started(alice, opened):
    """Nobody can be asked there, and the error names the asking program."""
    opened.run("printf x | secret-tool store --label=Bank app bank latchkey:require user-presence")
    read = "secret-tool lookup app bank"
    for options, words in [
        ("--wait --unit=backup", read),
        ("--wait --unit=app-gnome-org.example.Mail@autostart", read),
        ("--wait --unit='app-my\\x2dmail'", read),
        ("--scope --unit=app-org.example.Editor-1234", f"setsid -w {read}"),
        ("--scope", f"setsid -w {read}"),
    ]:
        opened.run(f"systemd-run --user --quiet --collect {options} {words}; true")
    entries = json.loads(alice.run("latchkey", "log", "--json").stdout)
    assert [entry["program"] for entry in entries] == [
        "secret-tool (backup.service)", "secret-tool (org.example.Mail)", "secret-tool (my-mail)",
        "secret-tool (org.example.Editor)", "secret-tool"]  # fmt: skip
    assert {entry["outcome"] for entry in entries} == {"unavailable"}


def test_a_flatpak_application_is_called_by_its_id(alice, opened):
    """The system call filters of its unit allow the daemon to read the application's sandbox."""
    info = alice.machine.path("/run/information")
    info.write_text("[Application]\nname=org.example.Mail\n")
    opened.run("printf x | secret-tool store --label x app boxed latchkey:require user-presence")
    # If a portal answers, libsecret keeps the secret in a file of the sandbox instead.
    opened.run("systemctl --user mask --runtime xdg-desktop-portal.service")
    command = "SECRET_BACKEND=service secret-tool lookup app boxed; true"
    sandboxed(alice, "/run/information", "sh", "-c", command)
    entries = json.loads(opened.run("latchkey log --json").stdout)
    assert [entry["program"] for entry in entries] == ["org.example.Mail"]
