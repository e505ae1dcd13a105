"""Desktops on an X server that draws into memory. The tests type on the keyboard of the X server."""

import time

from desktop import Desktop
from support.machine import eventually
from support.pace import seconds
from support.screenshot import png

SCREEN = "/tmp/screen"
SERVER = f"Xvfb :7 -screen 0 1280x800x24 -nolisten tcp -noreset -fbdir {SCREEN}"
PACKAGES = "python3 python3-gi fonts-dejavu-core xvfb xdotool".split()


class XDesktop(Desktop):
    """A session that the display manager's PAM service opened for a password."""

    # What logind is told to be the display and the seat, the command that starts the session, and a program that runs when it has.
    display, seat = ":7", None
    command = ""
    sign = ""

    def __init__(self, account):
        super().__init__(account)
        self.terminal = account.graphical_login(display=self.display, seat=self.seat)
        self.terminal.run(f"mkdir -p {SCREEN}; {SERVER} >/tmp/xvfb.log 2>&1 &")
        eventually(lambda: self._xdotool("getdisplaygeometry").returncode == 0, 20, "the X server")
        self.terminal.run(f"{self.command} >/tmp/desktop.log 2>&1 &")
        eventually(lambda: self.runs(self.sign), 60, self.sign)
        time.sleep(seconds(3))

    def runs(self, program):
        return self.machine.root("pgrep", "-u", self.account.name, "-x", program[:15], check=False).returncode == 0

    def _xdotool(self, *words):
        return self.account.run("env", "DISPLAY=:7", "xdotool", *words, check=False)

    def type(self, text):
        assert self._xdotool("type", "--delay", "100", text).returncode == 0

    def press(self, *keys):
        assert self._xdotool("key", "+".join(keys)).returncode == 0

    def camera(self, path):
        time.sleep(0.5)
        path.write_bytes(png(self.machine.path(f"{SCREEN}/Xvfb_screen0").read_bytes()))

    def wake(self):
        # The first key only brings up the password field. If the key were a letter, it could become a part of the
        # password.
        self.press("BackSpace")
        time.sleep(seconds(1))

    def close(self):
        self.machine.root("loginctl", "terminate-user", self.account.name)
        self.account.await_end()
