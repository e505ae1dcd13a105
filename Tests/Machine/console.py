"""A machine's serial line: one person at a keyboard, who logs in, types commands and logs out."""

import base64
import re
import subprocess

import pexpect

PROMPT = "@@> "


class LoginRefused(Exception):
    """The login program did not accept the password."""


class Console:
    """The line. One session at a time."""

    def __init__(self, process, timeout):
        self._process = process
        self._timeout = timeout

    def await_login(self):
        """Waits until somebody may log in."""
        self._expect("login: $")

    def login(self, name, password):
        """Logs in through login(1). What PAM does beside that has then happened, or goes on by itself."""
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
        """Logs out, and waits until the next may log in."""
        self.send("exit")
        self.await_login()

    def start(self, command):
        """Types a command and does not wait for it; `finish` does."""
        self.send(command)

    def answer(self, question, line):
        """Waits for what the running command asks, and types a line."""
        self._expect(question)
        self.send(line)

    def finish(self):
        """Waits for the end of the running command: its output and status."""
        self._expect(PROMPT)
        output = self._process.before.replace("\r", "")
        self.send("echo rc''=$?")
        self._expect(r"rc=(\d+)\s")
        status = int(self._process.match[1])
        self._expect(PROMPT)
        return subprocess.CompletedProcess([], status, output, "")

    def run(self, command, check=True):
        """Runs one line of shell. `stdout` is all that came to the line."""
        self.start(command)
        done = self.finish()
        if check and done.returncode != 0:
            raise AssertionError(f"{command!r} ended with {done.returncode}:\n{done.stdout}")
        return done

    def read_file(self, path):
        """The content of a file inside. Meant for small ones: it crosses the line."""
        shown = self.run(f"base64 -w 0 {path} && echo").stdout
        return base64.b64decode(re.sub(r"\s", "", shown))

    def write_file(self, path, content):
        """Writes a small file inside."""
        self.run(f": >{path}")
        text = base64.b64encode(content).decode()
        # A terminal takes 4,095 characters a line.
        for at in range(0, len(text), 3000):
            self.run(f"echo {text[at : at + 3000]} | base64 -d >>{path}")

    def await_answer(self):
        """Waits until the shell answers again. What is typed while the line wakes up may be lost."""
        for _ in range(int(self._timeout // 3)):
            self.send("echo aw''ake")
            if self._process.expect(["awake\\s+" + PROMPT, pexpect.TIMEOUT], timeout=3) == 0:
                break
        # Earlier ones may have been late, not lost.
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
