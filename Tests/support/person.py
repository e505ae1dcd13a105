"""Somebody at a terminal of a session."""

import os

import pexpect
from support.pace import seconds

TIMEOUT = 20


class Person:
    """Starts a command on a terminal of its own, and types there."""

    def __init__(self, session, *command):
        words = [str(word) for word in command]
        if session.uid != 0:
            words = ["setpriv", f"--reuid={session.uid}", f"--regid={session.gid}", "--clear-groups", "--", *words]
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
        """What came since the last expected text, when the command is at its end."""
        self._terminal.expect(pexpect.EOF)
        self._terminal.wait()
        return self._terminal.before

    def last_line(self):
        """What the command printed in the end."""
        lines = self.output().split("\r\n")
        return next((line for line in reversed(lines) if line), "")

    @property
    def status(self):
        return self._terminal.exitstatus

    @property
    def signal(self):
        """What ended it, if that was a signal."""
        return self._terminal.signalstatus

    @property
    def pid(self):
        return self._terminal.pid


def own_terminal(session):
    """A login gives the terminal to the person; pexpect, run as root, does not."""
    os.fchown(0, session.uid, -1)


def ask_on_terminals(session, agreeing=False):
    """From now on prompts come line by line on the caller's terminal.

    With `agreeing`, somebody at a display agrees to every window that asks for nothing more than that.
    """
    pinentry = session.root / "bin/pinentry"
    pinentry.write_text(AGREEING if agreeing else "#!/bin/false\n")
    pinentry.chmod(0o755)
    if agreeing:
        # A desktop tells the bus its display when it starts.
        session.run("dbus-update-activation-environment", "DISPLAY=:4711", check=True)
        session.restart()
    return session


# What is to be typed goes to the next prompter, which is the terminal.
AGREEING = """#!/bin/sh
echo OK
while read -r what; do
  case $what in
    GETPIN*) echo ERR 1 nobody types here;;
    *) echo OK;;
  esac
done
"""
