"""GNOME's prompter, the real one, on a screen of the session's own, and the person who sits there."""

import re
import subprocess

from display import Display
from session import BUS, is_alive, wait_until

NAME = "org.gnome.keyring.SystemPrompter"
# Programs with windows start slowly on a busy machine.
PATIENCE = 30


class Dialog:
    """A desktop for the session: an X server, and gcr-prompter, which the session's bus starts when it is wanted."""

    def __init__(self, session):
        self.session = session
        self.display = Display(session)
        (session.root / f"services/{NAME}.service").write_text(
            f"[D-BUS Service]\nName={NAME}\nExec=/usr/libexec/gcr-prompter\n"
        )
        (session.root / f"services/{NAME}.service").chmod(0o644)
        # Nothing but it, whatever the machine has.
        pinentry = session.root / "bin/pinentry"
        pinentry.write_text("#!/bin/false\n")
        pinentry.chmod(0o755)
        # What a desktop tells to the bus and the user manager when it starts.
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
        self._monitor.wait(10)
        self.display.close()

    @property
    def heard(self):
        """All that went over the bus between prompters and those who ask by them."""
        return self._heard.read_text(errors="replace")

    # What there is to see

    @property
    def questions(self):
        """The texts of every question so far, by their names."""
        calls = self.heard.split("member=PerformPrompt")[1:]
        return [dict(re.findall(r'string "([\w-]+)"\s+variant\s+string "(.*)"', call)) for call in calls]

    def windows(self):
        return self._do("search", "--onlyvisible", "--name", "Unlock Latchkey").stdout.split()

    def programs(self):
        """The processes that ask now."""
        found = self.session.run("pgrep", "-U", str(self.session.uid), "-f", f"latchkey-prompt.*{self.session.root}/run")
        return [int(process) for process in found.stdout.split() if is_alive(int(process))]

    def prompter(self):
        """The process of gcr-prompter."""
        method = "org.freedesktop.DBus.GetConnectionUnixProcessID"
        reply = self.session.run("dbus-send", "--session", "--print-reply=literal", *BUS, method, f"string:{NAME}")
        return int(reply.stdout.split()[-1])

    def expect(self):
        """Waits for the next question, and returns its texts."""
        self._expected += 1
        wait_until(lambda: len(self.questions) >= self._expected, "the next question", PATIENCE)
        assert len(self.questions) == self._expected
        wait_until(self.windows, "the window", PATIENCE)
        return self.questions[-1]

    def expect_nothing(self):
        """Waits until no window is there, nor anything that could open one."""
        wait_until(lambda: not self.windows(), "the window's end", PATIENCE)
        wait_until(lambda: not self.programs(), "the end of latchkey-prompt", PATIENCE)
        assert len(self.questions) == self._expected

    # What the person does

    def answer(self, text):
        """Types it. What came too early for the window is typed once more."""
        self._act(lambda: (self._do("key", "ctrl+a"), self._do("type", "--file", "-", input=text), self._do("key", "Return")))

    def cancel(self):
        self._act(lambda: self._do("key", "Escape"))

    def _act(self, act):
        answers = lambda: self.heard.count("member=PromptReady") + self.heard.count("member=PromptDone")
        before = answers()
        for patience in (3, 3, PATIENCE):
            for window in self.windows()[:1]:
                self._do("windowfocus", "--sync", window)
            act()
            try:
                return wait_until(lambda: answers() > before, "the answer", patience)
            except AssertionError:
                if patience == PATIENCE:
                    raise

    def _do(self, *words, input=""):
        return self.session.run("xdotool", *words, input=input)
