"""A finger at a prompt, from end to end: real fprintd with libfprint's virtual reader, real logind, and the services as installed.
The person leaves the field empty, and touches the reader."""

import pexpect
import pytest
from support.machine import eventually
from support.virtualreader import RIGHT
from test_booted_finger_at_the_locker import SECRET, await_held, desktop, line  # noqa: F401
from test_booted_fingers import PINENTRY, reader  # noqa: F401

pytestmark = [pytest.mark.night("device"), pytest.mark.second_try]

OFFER = "Leave the field empty to use your finger."
ASKED, TOUCH = "Enter your login password: ", "Touch the fingerprint reader"
LOOKUP = "secret-tool lookup app bank"


@pytest.fixture
def locked(machine, desktop):  # noqa: F811
    """The session, whose vault alone is locked. There is no working pinentry, so prompts ask line by line."""
    program = machine.path(PINENTRY)
    program.write_text("#!/bin/false\n")
    program.chmod(0o755)
    desktop.run("latchkey lock")
    yield desktop
    program.unlink()


def choose_finger(session):
    session.expect(ASKED)
    session.send("")
    session.expect(TOUCH)


def touch(reader, session, finger, answer):  # noqa: F811
    """Touches the reader until the prompt has an answer. A finger that comes before fprintd has begun is lost."""

    def is_answered():
        # The answer may also come late to the finger before, when nobody reads this one.
        reader.is_read(finger)
        try:
            session.expect(answer, timeout=5)
        except pexpect.TIMEOUT:
            return False
        return True

    eventually(is_answered, 60, "the prompt's answer to the finger")


def finish(session):
    session.expect(SECRET)
    assert session.finish().returncode == 0
    assert session.status()["state"] == "unlocked"


def test_the_right_finger_opens_the_vault_and_another_does_not(reader, locked):  # noqa: F811
    locked.start(LOOKUP)
    locked.expect(OFFER)
    choose_finger(locked)
    touch(reader, locked, "a stranger's", "that finger does not match")
    choose_finger(locked)
    touch(reader, locked, RIGHT, f"(?={SECRET})")
    finish(locked)
    # The same key serves the next prompt.
    await_held(locked)
    locked.run("latchkey lock")
    locked.start(LOOKUP)
    choose_finger(locked)
    touch(reader, locked, RIGHT, f"(?={SECRET})")
    finish(locked)


def test_the_reader_is_free_at_once_when_somebody_else_takes_the_seat(machine, alice, bob, reader, locked):  # noqa: F811
    locked.start(LOOKUP)
    choose_finger(locked)
    with bob.graphical_login(seat="seat0"):
        locked.expect("you are not in front of the machine")
        other = machine.terminal_until_read("fprintd-verify", "alice")
        other.expect("Verify started")
        reader.lay(RIGHT)
        other.expect("verify-match")
        other.close()
        choose_finger(locked)
        locked.expect("you are not in front of the machine")
    locked.expect(ASKED)
    locked.send(alice.password)
    finish(locked)


def test_none_is_offered_on_a_terminal_at_another_machine(alice, locked):  # noqa: F811
    with alice.ssh() as remote:
        remote.start(LOOKUP)
        remote.expect(ASKED)
        assert "wants access to your secrets" in remote.terminal.before and OFFER not in remote.terminal.before
        remote.send(alice.password)
        finish(remote)
