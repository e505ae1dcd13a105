"""GNOME's real prompter on the session's own screen, and the person in front of it."""

import re
import subprocess
import time

import pytest
from support.display import Display
from support.pace import seconds
from support.peer import Peer
from support.session import BUS, is_alive, wait_until

NAME = "org.gnome.keyring.SystemPrompter"
# Programs with windows start slowly on a busy machine.
TIMEOUT = 30


class Dialog:
    """A desktop for the session: an X server, and gcr-prompter, which the session's bus starts on demand."""

    def __init__(self, session):
        self.session = session
        self.display = Display(session)
        (session.root / f"services/{NAME}.service").write_text(
            f"[D-BUS Service]\nName={NAME}\nExec=/usr/libexec/gcr-prompter\n"
        )
        (session.root / f"services/{NAME}.service").chmod(0o644)
        # No other prompter works, even if the machine has one.
        pinentry = session.root / "bin/pinentry"
        pinentry.write_text("#!/bin/false\n")
        pinentry.chmod(0o755)
        # A desktop tells these variables to the bus and the user manager when it starts.
        told = f"DISPLAY,{self.display.name},NO_AT_BRIDGE,1,GSETTINGS_BACKEND,memory"
        for method, *arguments in (["ReloadConfig"], ["UpdateActivationEnvironment", f"dict:string:string:{told}"]):
            command = ["dbus-send", "--session", "--print-reply", *BUS, f"org.freedesktop.DBus.{method}", *arguments]
            session.run(*command, check=True)
        session.restart()
        self._heard = session.root / "heard"
        rules = "org.gnome.keyring.internal.Prompter", "org.gnome.keyring.internal.Prompter.Callback"
        with open(self._heard, "wb") as out:
            command = ["dbus-monitor", "--session", *(f"interface='{rule}'" for rule in rules)]
            self._monitor = session.start(*command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        wait_until(lambda: "NameAcquired" in self.heard or "NameLost" in self.heard, "dbus-monitor")
        self._expected = 0

    def close(self):
        self._monitor.terminate()
        self._monitor.wait(seconds(10))
        self.display.close()

    @property
    def heard(self):
        """All messages on the bus between prompters and their clients."""
        return self._heard.read_text(errors="replace")

    # MARK: the screen

    @property
    def questions(self):
        """The texts of all questions so far, by name."""
        calls = self.heard.split("member=PerformPrompt")[1:]
        return [dict(re.findall(r'string "([\w-]+)"\s+variant\s+string "(.*)"', call)) for call in calls]

    def properties(self):
        """The boolean properties of the last question, as the bus's monitor prints them."""
        call = self.heard.split("member=PerformPrompt")[-1]
        return dict(re.findall(r'string "([\w-]+)"\s+variant\s+boolean (\w+)', call))

    def strength(self):
        """The strength of the last new passphrase, as the prompter reports it."""
        return int(re.findall(r'string "password-strength"\s+(?:variant\s+)+int32 (\d+)', self.heard)[-1])

    def picture(self, path):
        """Saves a picture of the window after the window is complete."""
        def area():
            shown = self._do("getwindowgeometry", "--shell", self.windows()[0]).stdout
            return [int(re.search(rf"^{name}=(-?\d+)$", shown, re.M)[1]) for name in ("X", "Y", "WIDTH", "HEIGHT")]

        def is_still():
            before = path.read_bytes() if path.exists() else b""
            time.sleep(0.3)
            return self.display.screenshot(path, area()).read_bytes() == before

        wait_until(is_still, "the window's picture", TIMEOUT)

    def windows(self):
        return self._do("search", "--onlyvisible", "--name", "Unlock Latchkey|New passphrase").stdout.split()

    def programs(self):
        """The running processes of latchkey-prompt."""
        found = self.session.run("pgrep", "-U", str(self.session.uid), "-f", f"latchkey-prompt.*{self.session.root}/run")
        return [int(process) for process in found.stdout.split() if is_alive(int(process))]

    def prompter(self):
        """The process of gcr-prompter."""
        return self.session.owner(NAME)

    def expect(self):
        """Waits for the next question, and returns its texts."""
        self._expected += 1
        wait_until(lambda: len(self.questions) >= self._expected, "the next question", TIMEOUT)
        assert len(self.questions) == self._expected
        wait_until(self.windows, "the window", TIMEOUT)
        return self.questions[-1]

    def expect_nothing(self):
        """Waits until no window is left, and no program that could open one."""
        wait_until(lambda: not self.windows(), "the window's end", TIMEOUT)
        wait_until(lambda: not self.programs(), "the end of latchkey-prompt", TIMEOUT)
        assert len(self.questions) == self._expected

    # MARK: the person

    def answer(self, *texts):
        """Types the answers, each into a field. If the window appeared too late, types the answers again."""
        self._act(lambda: (self.fill(*texts), self._do("key", "Return")))

    def answer_in_vain(self, *texts):
        """Types answers that the prompter itself rejects."""
        self.fill(*texts)
        before = self.display.pixels()
        self._do("key", "Return")
        wait_until(lambda: self.display.pixels() != before, "what the prompter says", TIMEOUT)
        self._do("key", "shift+Tab")

    def fill(self, *texts):
        """Types the answers without pressing Enter."""
        self._focus()
        for number, text in enumerate(texts):
            self._do("key", *(["Tab"] if number else []), "ctrl+a")
            self._do("type", "--file", "-", input=text)

    def cancel(self):
        self._act(lambda: (self._focus(), self._do("key", "Escape")))

    def _focus(self):
        for window in self.windows()[:1]:
            self._do("windowfocus", "--sync", window)

    def _act(self, act):
        answers = lambda: self.heard.count("member=PromptReady") + self.heard.count("member=PromptDone")
        before = answers()
        for timeout in (3, 3, TIMEOUT):
            act()
            try:
                return wait_until(lambda: answers() > before, "the answer", timeout)
            except AssertionError:
                if timeout == TIMEOUT:
                    raise

    def _do(self, *words, input=""):
        return self.session.run("xdotool", *words, input=input)


class Tool:
    """A running secret-tool."""

    def __init__(self, session, *arguments, input=""):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self._process = session.start("secret-tool", *arguments, text=True, **pipes)
        self._process.stdin.write(input)
        self._process.stdin.close()
        self._process.stdin = None

    @property
    def is_waiting(self):
        return self._process.poll() is None

    def kill(self):
        self._process.kill()
        self._process.communicate()

    def end(self):
        """The output and the exit status."""
        output, _ = self._process.communicate(timeout=seconds(TIMEOUT))
        return output, self._process.returncode


@pytest.fixture(scope="module")
def screen(shared_session):
    opened = Dialog(shared_session)
    yield opened
    opened.close()


@pytest.fixture
def display(screen):
    """The screen, for the picture of a failed test."""
    return screen.display


@pytest.fixture
def locker(dialog):
    """A screen saver. When the screen saver starts, the daemon erases the keys."""
    opened = Peer(dialog.session)

    def turn(on, meanwhile=lambda: None):
        opened.activate_screen_saver(on)
        meanwhile()
        wait_until(lambda: dialog.session.status()["locker_up"] is on, "the locker")

    yield turn
    opened.close()
    wait_until(lambda: not dialog.session.status()["locker_up"], "the locker's end")
