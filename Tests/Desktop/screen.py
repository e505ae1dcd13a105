"""The display of a desktop with a real locker, and the person in front of it."""

import re

from support.machine import eventually


class Display:
    """Xvfb in a graphical session, and its keyboard. These methods do not use the session's terminal."""

    def __init__(self, account, session):
        self.account, self.session = account, session
        # Without -noreset, the server would restart after its last client, and would reject a locker at that moment.
        session.run("Xvfb :5 -screen 0 640x480x24 -nolisten tcp -noreset >/dev/null 2>&1 &")
        eventually(lambda: self._do("getdisplaygeometry").returncode == 0, 20, "the display")

    def type(self, line):
        """Types a line for any window that has the keyboard."""
        self._do("type", "--delay", "30", line)
        self.press("Return")

    def press(self, key):
        """Presses one key. Returns whether there is a display."""
        return self._do("key", key).returncode == 0

    def sizes(self, name):
        """The sizes of the visible windows with this name."""
        shown = self._do("search", "--onlyvisible", "--name", name, "getwindowgeometry", "%@").stdout
        return re.findall(r"Geometry: (\S+)", shown)

    def close(self):
        """Ends the server, and all windows with it."""
        self.account.run("pkill", "Xvfb", check=False)

    def _do(self, *words):
        return self.account.run("env", "DISPLAY=:5", "xdotool", *words, check=False)


class Screen(Display):
    """A display with xss-lock, which starts i3lock."""

    def __init__(self, account, session):
        super().__init__(account, session)
        session.run("xss-lock -- i3lock -n >/dev/null 2>&1 &")

    def lock(self):
        """Locks the session."""
        # xss-lock subscribes some time after its start, so the test repeats the lock until the locker is up.
        asked = lambda: self.session.run("loginctl lock-session; sleep 0.2") and self.is_locked()
        eventually(asked, 15, "i3lock")
        eventually(lambda: self.account.status()["locker_up"], what="the locker's hint")

    def is_locked(self):
        """Whether the locker runs."""
        return self.account.run("pgrep", "-x", "i3lock", check=False).returncode == 0

    def enter(self, password):
        """Types the password until the locker ends. Keys from before it has the keyboard are lost."""
        for tries_left in (2, 1, 0):
            self.type(password)
            try:
                return eventually(lambda: not self.is_locked(), 5, "the end of i3lock")
            except AssertionError:
                if tries_left == 0:
                    raise

    def kill_locker(self):
        """Kills the locker, as if it had crashed."""
        self.account.run("pkill", "-KILL", "-x", "i3lock")

    def close(self):
        """Ends the locker and the display."""
        self.account.run("sh", "-c", "pkill i3lock; pkill xss-lock", check=False)
        super().close()
