"""Items that ask for a finger, through the real pam_fprintd and fprintd, with libfprint's virtual reader."""

import pytest
from support.machine import eventually
from support.pace import seconds
from support.virtualreader import LEFT, RIGHT, RULE, RULES, STATE, Reader

pytestmark = [pytest.mark.night("prompters"), pytest.mark.second_try]

ANY, CURRENT = "biometry-any", "biometry-current-set"
ASKED = "fingerprint reader"
PINENTRY = "/usr/local/bin/pinentry"


@pytest.fixture
def reader(machine):
    """A reader that knows no finger."""
    reader = Reader(machine)
    yield reader
    reader.close()


@pytest.fixture
def session(machine, reader, alice):
    """A terminal session with an unlocked vault. There is no working pinentry, so questions come line by line."""
    program = machine.path(PINENTRY)
    program.write_text("#!/bin/false\n")
    program.chmod(0o755)
    with alice.login() as session:
        session.store("free", app="free")
        yield session
        quiet = lambda: not session.run("pgrep -u alice latchkey-prompt", check=False).stdout.strip()
        eventually(quiet, what="the end of the prompts")
    program.unlink()


def add(session, app, require, check=True):
    return session.run(
        f"printf %s 'secret of {app}' | timeout {seconds(20)} secret-tool store --label='The {app}' app {app} "
        f"latchkey:require {require}", check=check)


def look(session, app):
    session.start(f"secret-tool lookup app {app}")


def found(session, app):
    done = session.finish()
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"secret of {app}")


def nothing(session, app):
    done = session.finish()
    assert done.returncode == 1 and f"secret of {app}" not in done.stdout


def test_the_right_finger_opens_and_another_does_not(reader, session):
    reader.enroll(RIGHT)
    add(session, "bank", ANY)
    look(session, "bank")
    session.expect(ASKED)
    reader.lay(RIGHT)
    found(session, "bank")
    look(session, "bank")
    for _ in range(3):
        session.expect(ASKED)
        reader.lay("a stranger's")
    nothing(session, "bank")
    # Any enrolled finger is enough, even a later one. This reader distinguishes fingers only by itself.
    reader.enroll(LEFT)
    reader.forget(RIGHT)
    look(session, "bank")
    session.expect(ASKED)
    reader.lay(LEFT)
    found(session, "bank")


def test_another_finger_locks_what_asks_for_these(machine, reader, session):
    refused = add(session, "bank", CURRENT, check=False)
    assert refused.returncode == 1 and "no finger is enrolled" in refused.stdout
    reader.enroll(RIGHT)
    add(session, "bank", CURRENT)
    add(session, "any", ANY)
    look(session, "bank")
    session.expect(ASKED)
    reader.lay(RIGHT)
    found(session, "bank")
    look(session, "bank")
    for _ in range(3):
        session.expect(ASKED)
        reader.lay("a stranger's")
    nothing(session, "bank")

    reader.enroll(LEFT)
    cursor = machine.cursor()
    look(session, "bank")
    nothing(session, "bank")
    line, = [line for line in machine.journal(cursor, "latchkeyd").splitlines() if "no finger opens" in line]
    assert "other fingers are enrolled" in line and "The bank" not in line
    reader.forget(LEFT)
    assert RIGHT in reader.fingers() and LEFT not in reader.fingers()
    look(session, "bank")
    session.expect(ASKED)
    reader.lay(RIGHT)
    found(session, "bank")
    look(session, "any")
    session.expect(ASKED)
    reader.lay(RIGHT)
    found(session, "any")
    add(session, "again", CURRENT)
    reader.forget(RIGHT)
    look(session, "again")
    nothing(session, "again")
    reader.enroll(RIGHT)
    look(session, "again")
    session.expect(ASKED)
    reader.lay(RIGHT)
    found(session, "again")


def test_prints_that_fprintd_cannot_read_lose_nothing(machine, reader, session):
    """fprintd then says that there are no prints."""
    reader.enroll(RIGHT)
    add(session, "bank", CURRENT)
    machine.root("mv", f"{STATE}/alice", f"{STATE}/elsewhere")
    machine.root("systemctl", "stop", "fprintd.service")
    look(session, "bank")
    nothing(session, "bank")
    assert "reports no enrolled finger" in session.run("latchkey status").stdout
    machine.root("mv", f"{STATE}/elsewhere", f"{STATE}/alice")
    machine.root("systemctl", "stop", "fprintd.service")
    look(session, "bank")
    session.expect(ASKED)
    reader.lay(RIGHT)
    found(session, "bank")


def test_a_finger_that_is_enrolled_while_one_is_asked_for(reader, session):
    """The daemon reads the set again after PAM has accepted. The reader is busy, so the test adds the finger as fprintd's
    file."""
    reader.enroll(RIGHT).enroll(LEFT)
    (file,) = reader.machine.path(f"{STATE}/alice").rglob("1")
    content = file.read_bytes()
    reader.forget(LEFT)
    add(session, "bank", CURRENT)
    look(session, "bank")
    session.expect(ASKED)
    file.write_bytes(content)
    reader.lay(RIGHT)
    nothing(session, "bank")
    reader.forget(LEFT)
    look(session, "bank")
    session.expect(ASKED)
    reader.lay(RIGHT)
    found(session, "bank")


def test_without_its_reader_it_stays_and_stays_closed(reader, session):
    reader.enroll(RIGHT)
    add(session, "bank", CURRENT)
    reader.unplug()
    look(session, "bank")
    nothing(session, "bank")
    refused = add(session, "other", CURRENT, check=False)
    assert refused.returncode == 1 and "no fingerprint reader" in refused.stdout
    reader.unplug(False)
    look(session, "bank")
    session.expect(ASKED)
    reader.lay(RIGHT)
    found(session, "bank")


def test_who_may_not_ask_fprintd_is_refused_and_loses_nothing(machine, reader, session):
    reader.enroll(RIGHT)
    add(session, "bank", CURRENT)
    machine.path(RULES).write_text("")
    machine.root("systemctl", "restart", "polkit.service")
    cursor = machine.cursor()
    look(session, "bank")
    nothing(session, "bank")
    assert "PermissionDenied" in machine.journal(cursor, "latchkeyd")
    machine.path(RULES).write_text(RULE)
    machine.root("systemctl", "restart", "polkit.service")
    look(session, "bank")
    session.expect(ASKED)
    reader.lay(RIGHT)
    found(session, "bank")
