"""A person at a terminal of a session."""

import os

import pexpect
from support.pace import seconds

TIMEOUT = 20


class Person:
    """Starts a command on its own terminal, and types there."""

    def __init__(self, session, *command):
        words = session.command_line(*command)
        self._terminal = pexpect.spawn(
            words[0], words[1:], env=session.environment, cwd=session.home, timeout=seconds(TIMEOUT), encoding="utf-8",
            preexec_fn=lambda: own_terminal(session), dimensions=(24, 200),
        )

    def expect(self, text):
        self._terminal.expect_exact(text)
        return self

    def type(self, text):
        self._terminal.sendline(text)
        return self

    def press(self, key):
        self._terminal.sendcontrol(key)
        return self

    def output(self):
        """The output since the last expected text, up to the end of the command."""
        self._terminal.expect(pexpect.EOF)
        self._terminal.wait()
        return self._terminal.before

    def last_line(self):
        """The last line that is not empty."""
        lines = self.output().split("\r\n")
        return next((line for line in reversed(lines) if line), "")

    @property
    def status(self):
        return self._terminal.exitstatus

    @property
    def signal(self):
        """The number of the signal that ended the command, if any."""
        return self._terminal.signalstatus

    @property
    def pid(self):
        return self._terminal.pid


def own_terminal(session):
    """Gives the terminal to the session's user. A login does this too, but pexpect under root does not."""
    os.fchown(0, session.uid, -1)


def ask_on_terminals(session, agreeing=False):
    """From now on, prompts appear line by line on the client's terminal.

    With `agreeing`, a person at a display confirms every window that asks for no text."""
    pinentry = session.root / "bin/pinentry"
    pinentry.write_text(AGREEING if agreeing else "#!/bin/false\n")
    pinentry.chmod(0o755)
    if agreeing:
        # A desktop gives its display to the bus at its start.
        session.run("dbus-update-activation-environment", "DISPLAY=:4711", check=True)
        session.restart()
    return session


# For a question that needs a text, this pinentry fails, so that the prompt goes to the terminal.
AGREEING = """#!/bin/sh
echo OK
while read -r what; do
  case $what in
    GETPIN*) echo ERR 1 nobody types here;;
    *) echo OK;;
  esac
done
"""
