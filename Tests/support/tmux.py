"""A shell of a session in a window of tmux. The test sees the screen as a person does. Keys go through the kernel's
terminal to the foreground program.
"""

import time

from support.pace import Limit

TIMEOUT = 20
PROMPT = "at the shell>"


class Tmux:
    """A bash with line editing, as a person has it."""

    def __init__(self, session):
        self._session, self._socket = session, session.root / "tmux.socket"
        shell = f"env PS1='{PROMPT} ' HISTFILE= bash --noprofile --norc"
        self._do("new-session", "-d", "-x", "100", "-y", "40", shell, check=True)
        self.wait_for_shell()

    def close(self):
        self._do("kill-server")

    def _do(self, *words, **options):
        return self._session.run("tmux", "-S", self._socket, "-f", "/dev/null", *words, **options)

    @property
    def screen(self):
        """The visible text, without blanks at the ends of lines."""
        shown = self._do("capture-pane", "-p", check=True).stdout
        return "\n".join(line.rstrip() for line in shown.splitlines()).strip("\n")

    def type(self, text, key="Enter"):
        """Types the text, and then a key."""
        if text:
            self._do("send-keys", "-l", "--", text, check=True)
        if key:
            self.press(key)
        return self

    def press(self, *keys):
        """Presses keys by tmux's names."""
        self._do("send-keys", *keys, check=True)
        return self

    def expect(self, *texts, times=1, gone=None):
        """Waits until each text is visible at least `times` times, and `gone` is not visible."""
        limit = Limit(TIMEOUT)
        while any((screen := self.screen).count(text) < times for text in texts) or (gone and gone in screen):
            assert not limit.is_over, f"waited for {texts} and saw:\n{screen}"
            time.sleep(0.03)
        return self

    def wait_for_shell(self):
        """Waits until the last line has only the shell's prompt."""
        limit = Limit(TIMEOUT)
        while (screen := self.screen).splitlines()[-1:] != [PROMPT]:
            assert not limit.is_over, f"the shell does not come back:\n{screen}"
            time.sleep(0.03)
        return self

    def run(self, command):
        """Types a command on an empty screen."""
        # The key clears the screen without another command.
        return self.press("C-l").wait_for_shell().type(command)

    def output(self, command):
        """The output of a command that asks no question."""
        self.run(command).wait_for_shell()
        return "\n".join(self.screen.splitlines()[1:-1])

    @property
    def settings(self):
        """The settings of the terminal, from `stty -a`."""
        return self.output("stty -a")
