"""A shell of a session in a window of tmux: what programs draw there can be read as a person sees it, and keys go the way
of the kernel's terminal, to whoever has the foreground."""

import time

from support.pace import Limit

TIMEOUT = 20
PROMPT = "at the shell>"


class Tmux:
    """bash, whose line editor is on, as a person has it."""

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
        """What is to be seen now, without the blanks at the ends of lines."""
        shown = self._do("capture-pane", "-p", check=True).stdout
        return "\n".join(line.rstrip() for line in shown.splitlines()).strip("\n")

    def type(self, text, key="Enter"):
        """Types the text, and a key after it."""
        if text:
            self._do("send-keys", "-l", "--", text, check=True)
        if key:
            self.press(key)
        return self

    def press(self, *keys):
        """Presses keys, as tmux names them."""
        self._do("send-keys", *keys, check=True)
        return self

    def expect(self, *texts, times=1, gone=None):
        """Waits until all of it is to be seen, so many times at least, and what is to be gone is not."""
        limit = Limit(TIMEOUT)
        while any((screen := self.screen).count(text) < times for text in texts) or (gone and gone in screen):
            assert not limit.is_over, f"waited for {texts} and saw:\n{screen}"
            time.sleep(0.03)
        return self

    def wait_for_shell(self):
        """Waits until the shell asks for the next command, and that is all there is in the last line."""
        limit = Limit(TIMEOUT)
        while (screen := self.screen).splitlines()[-1:] != [PROMPT]:
            assert not limit.is_over, f"the shell does not come back:\n{screen}"
            time.sleep(0.03)
        return self

    def run(self, command):
        """Types a command with nothing before it on the screen."""
        # The key clears the screen without another command.
        return self.press("C-l").wait_for_shell().type(command)

    def output(self, command):
        """What a command that asks for nothing shows."""
        self.run(command).wait_for_shell()
        return "\n".join(self.screen.splitlines()[1:-1])

    @property
    def settings(self):
        """How the terminal works, as `stty -a` says."""
        return self.output("stty -a")
