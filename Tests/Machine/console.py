"""A machine's serial console, with a person who logs in, types commands and logs out."""

import base64
import re
import subprocess

import pexpect

PROMPT = "@@> "


class LoginRefused(Exception):
    """The login program refused the password."""


class Console:
    """The console, which has one session at a time."""

    def __init__(self, process, timeout):
        self._process = process
        self._timeout = timeout

    def await_login(self):
        """Waits for the login prompt."""
        self._expect("login: $")

    def login(self, name, password):
        """Logs in through login(1). When the method returns, PAM's session modules have run. Programs that they started may
        continue in the background."""
        self.send(name)
        self._expect("assword: $")
        self.send(password)
        if self._expect([r"[$#] $", "Login incorrect"]) == 1:
            self.await_login()
            raise LoginRefused(name)
        # The two quotes keep the echo of this line from looking like the prompt.
        self.send("PS1='@''@> ' PS2=; stty -echo cols 400; bind 'set enable-bracketed-paste off' 2>/dev/null; unset HISTFILE")
        self._expect(PROMPT)

    def logout(self):
        """Logs out, and waits for the next login prompt."""
        self.send("exit")
        self.await_login()

    def start(self, command):
        """Types a command without waiting for its end. `finish` waits."""
        self.send(command)

    def answer(self, question, line):
        """Waits for the question of the running command, and types a line."""
        self._expect(question)
        self.send(line)

    def finish(self):
        """Waits for the end of the running command. Returns its output and status."""
        self._expect(PROMPT)
        output = self._process.before.replace("\r", "")
        self.send("echo rc''=$?")
        self._expect(r"rc=(\d+)\s")
        status = int(self._process.match[1])
        self._expect(PROMPT)
        return subprocess.CompletedProcess([], status, output, "")

    def run(self, command, check=True):
        """Runs one line of shell. `stdout` is everything that appeared on the console."""
        self.start(command)
        done = self.finish()
        if check and done.returncode != 0:
            raise AssertionError(f"{command!r} ended with {done.returncode}:\n{done.stdout}")
        return done

    def read_file(self, path):
        """The content of a file in the machine. The file should be small, because it crosses the console."""
        shown = self.run(f"base64 -w 0 {path} && echo").stdout
        return base64.b64decode(re.sub(r"\s", "", shown))

    def write_file(self, path, content):
        """Writes a small file in the machine."""
        self.run(f": >{path}")
        text = base64.b64encode(content).decode()
        # A terminal takes at most 4,095 characters in a line.
        for at in range(0, len(text), 3000):
            self.run(f"echo {text[at : at + 3000]} | base64 -d >>{path}")

    def await_answer(self):
        """Waits until the shell answers. While the console wakes up, typed text may be lost."""
        for _ in range(int(self._timeout // 3)):
            self.send("echo aw''ake")
            if self._process.expect(["awake\\s+" + PROMPT, pexpect.TIMEOUT], timeout=3) == 0:
                break
        # Earlier answers may be late instead of lost.
        while self._process.expect([PROMPT, pexpect.TIMEOUT], timeout=3) == 0:
            pass

    def send(self, line):
        """Types a line."""
        self._process.sendline(line)

    def _expect(self, pattern):
        try:
            return self._process.expect(pattern, timeout=self._timeout)
        except pexpect.ExceptionPexpect as error:
            said = self._process.before if isinstance(self._process.before, str) else ""
            raise AssertionError(f"the console never said {pattern!r} ({type(error).__name__}), but:\n{said[-2000:]}") from None
