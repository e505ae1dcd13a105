"""The shell of a logged-in user, and the commands that tests run in it."""

import json
import subprocess

import pexpect
from support.machine import eventually
from support.pace import seconds, settled

PROMPT = "@@> "


class LoginRefused(Exception):
    """The login program or sshd refused the password."""


class Terminal:
    """A shell of a logged-in user."""

    def __init__(self, machine, user, terminal, refusal):
        self.machine = machine
        self.user = user
        self.terminal = terminal
        ended = terminal.expect([r"[$#] $", refusal, pexpect.EOF])
        if ended != 0:
            terminal.close(force=True)
            # systemd-run can lose the last line of a program that ends. The status of ssh gives the same information.
            assert ended == 1 or terminal.exitstatus == 255, (terminal.exitstatus, terminal.before)
            raise LoginRefused(terminal.before)
        # The two quotes keep the echo of this line from looking like the prompt.
        terminal.sendline("PS1='@''@> ' PS2=; stty -echo; bind 'set enable-bracketed-paste off' 2>/dev/null")
        terminal.expect(PROMPT)
        machine.await_helpers()
        self.session = self.run("echo $XDG_SESSION_ID").stdout.strip()

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        if failure is None:
            self.close()
        else:  # This does not wait for remaining processes.
            self.terminal.close(force=True)

    def start(self, command):
        """Types a command without waiting for its end. `expect` and `finish` wait."""
        self.terminal.sendline(command)

    def expect(self, pattern, timeout=60):
        """Waits for output."""
        self.terminal.expect(pattern, timeout=seconds(timeout))

    def send(self, line):
        """Types a line to the running command."""
        self.terminal.sendline(line)

    def finish(self, timeout=60):
        """Waits for the running command's end, and returns its output and status."""
        self.terminal.expect(PROMPT, timeout=seconds(timeout))
        output = self.terminal.before.replace("\r", "")
        self.terminal.sendline("echo rc''=$?")
        self.terminal.expect(r"rc=(\d+)\s")
        status = int(self.terminal.match[1])
        self.terminal.expect(PROMPT)
        return subprocess.CompletedProcess([], status, output, "")

    def run(self, command, timeout=60, check=True):
        """Runs one line of shell. `stdout` is everything that appeared on the terminal."""
        self.start(command)
        done = self.finish(timeout)
        if check and done.returncode != 0:
            raise AssertionError(f"{command!r} ended with {done.returncode}:\n{done.stdout}")
        return done

    def close(self):
        """Logs out, and returns when logind has ended the session."""
        if not self.terminal.isalive():
            return
        self.terminal.sendline("exit")
        try:
            self.terminal.expect(pexpect.EOF, timeout=seconds(30))
        finally:
            self.terminal.close(force=True)
        if self.session:
            gone = lambda: self.machine.root("loginctl", "show-session", self.session, check=False).returncode != 0
            eventually(gone, 15, f"the end of session {self.session}")

    # MARK: calls of the tests in a session

    def store(self, secret, accessible=None, **attributes):
        """Stores an item with secret-tool; `accessible` names its class."""
        pairs = " ".join(f"{name} {value}" for name, value in attributes.items())
        kind = f" latchkey:accessible {accessible}" if accessible else ""
        return self.run(f"printf %s '{secret}' | timeout {seconds(20)} secret-tool store --label=test {pairs}{kind}")

    def lookup(self, **attributes):
        """The secret that secret-tool prints, or None if it ends with an error or prints nothing."""
        pairs = " ".join(f"{name} {value}" for name, value in attributes.items())
        # The pipe is needed because secret-tool adds a newline on a terminal.
        done = self.run(f"(set -o pipefail; timeout {seconds(20)} secret-tool lookup {pairs} 2>/dev/null | cat)", check=False)
        return done.stdout if done.returncode == 0 and done.stdout else None

    def find(self, **attributes):
        """The answer of a search on the bus: lists of paths `unlocked` and `locked`. `items` has, by path, the secret
        or the name of GetSecret's error. If the search fails, the answer has `error`. No prompt appears."""
        pairs = " ".join(f"{name}={value}" for name, value in attributes.items())
        return json.loads(self.run(f"/usr/local/lib/latchkey-test/items find {pairs}").stdout)

    def secret(self, **attributes):
        """The secret of the only item that a search finds, or the name of the error."""
        found = self.find(**attributes)
        if "error" in found:
            return found["error"]
        assert len(found["items"]) == 1, found
        (item,) = found["items"].values()
        return item.get("secret", item.get("error"))

    def status(self):
        """The output of `latchkey status --json`."""
        return settled(lambda: json.loads(self.run("latchkey status --json").stdout))

    def set_locked_hint(self, locked):
        """Reports a locked or unlocked screen to logind, as a locker does."""
        self.run(
            "busctl call org.freedesktop.login1 /org/freedesktop/login1/session/auto "
            f"org.freedesktop.login1.Session SetLockedHint b {str(locked).lower()}"
        )

    def authenticate(self, password, service="i3lock"):
        """Authenticates as the user inside the session, as a locker does. Returns whether PAM accepted."""
        self.start(f"pamtester {service} {self.user} authenticate")
        self.expect("assword: ")
        self.send(password)
        done = self.finish()
        self.machine.await_helpers()
        return done.returncode == 0
