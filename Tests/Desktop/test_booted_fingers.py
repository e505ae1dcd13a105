"""Items that require a finger, with the real pam_fprintd and fprintd and libfprint's virtual reader.

The reader is a socket that exists while a program claims the reader. The text that is written there names the finger on the
reader."""

import socket

import pytest
from support.machine import eventually
from support.pace import seconds

pytestmark = [pytest.mark.night("prompters"), pytest.mark.second_try]

STATE = "/var/lib/fprint"
SOCKET = f"{STATE}/reader"
DROP_IN = "/etc/systemd/system/fprintd.service.d/latchkey-test.conf"
RULES = "/etc/polkit-1/rules.d/60-latchkey-test.rules"
PINENTRY = "/usr/local/bin/pinentry"
# fprintd lets a person at the machine's seat verify, but a container has no seat.
RULE = """polkit.addRule(function(action, subject) {
  if (action.id == "net.reactivated.fprint.device.verify" && subject.user == "alice") return polkit.Result.YES;
});
"""
RIGHT, LEFT = "right-index-finger", "left-thumb"
ANY, CURRENT = "biometry-any", "biometry-current-set"
ASKED = "fingerprint reader"


class Reader:
    """The reader, and alice's enrolled fingers."""

    def __init__(self, machine):
        self.machine = machine

    def lay(self, print_of):
        """Lays a finger on the reader as soon as a program waits for one."""

        def laid():
            try:
                with socket.socket(socket.AF_UNIX) as finger:
                    finger.settimeout(seconds(5))
                    finger.connect(str(self.machine.path(SOCKET)))
                    finger.sendall(f"SCAN {print_of}".encode())
                    # The reader closes the socket once it has read the finger.
                    finger.recv(1)
                return True
            except (FileNotFoundError, ConnectionError):
                return False

        eventually(laid, 20, "somebody who waits for a finger")

    def enroll(self, finger):
        enrolling = self.machine.terminal_until_read("fprintd-enroll", "-f", finger, "alice")
        for _ in range(20):
            self.lay(finger)
            if enrolling.expect(["enroll-completed", r"enroll-stage-passed\s"]) == 0:
                enrolling.expect("status 0")  # until then the program still has the reader
                enrolling.close()
                return self
        raise AssertionError("it wants more and more")

    def forget(self, finger):
        self.machine.root("fprintd-delete", "alice", "-f", finger)

    def fingers(self):
        return self.machine.root("fprintd-list", "alice").stdout

    def unplug(self, gone=True):
        """Removes the reader, or connects it again."""
        variable = "" if gone else f"Environment=FP_VIRTUAL_DEVICE={SOCKET}\n"
        path = self.machine.path(DROP_IN)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"[Service]\nEnvironment=FP_DRIVERS_ALLOWLIST=virtual_device\n{variable}")
        self.machine.root("systemctl", "daemon-reload")
        self.machine.root("systemctl", "stop", "fprintd.service")


@pytest.fixture
def reader(machine):
    """A reader without enrolled fingers."""
    machine.path(RULES).write_text(RULE)
    machine.root("systemctl", "restart", "polkit.service")
    reader = Reader(machine)
    reader.unplug(False)
    yield reader
    machine.path(RULES).unlink()
    machine.path(DROP_IN).unlink()
    machine.root("systemctl", "daemon-reload")
    machine.root("systemctl", "stop", "fprintd.service")
    machine.root("rm", "-rf", STATE)


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
