"""A screen for programs with windows: an X server of the test's own, in its session and gone with it."""

import os
import pathlib
import subprocess
import tempfile

import pytest
from support.pace import seconds
from support.screenshot import png


class Display:
    """Xvfb with a number that nobody has, which the session's programs find in DISPLAY."""

    def __init__(self, session):
        self._session = session
        self._pixels = session.root / "tmp"
        read, write = os.pipe()
        # The server chooses the number and tells it as soon as it can be used.
        command = ["Xvfb", "-displayfd", write, "-screen", "0", "1280x1024x24", "-nolisten", "tcp", "-noreset"]
        with open(session.root / "display.log", "wb") as log:
            self._server = session.start(
                *command, "-fbdir", self._pixels, pass_fds=[write], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        os.close(write)
        with os.fdopen(read) as number:
            self.name = f":{number.readline().strip()}"
        if self.name == ":":
            self.close()
            raise RuntimeError(f"no X server: {(session.root / 'display.log').read_text()}")
        session.environment["DISPLAY"] = self.name

    def close(self):
        """Ends the server, and with it every program that has a window."""
        self._session.environment.pop("DISPLAY", None)
        self._server.terminate()
        self._server.wait(seconds(10))

    def press(self, *keys):
        """Presses keys, as xdotool names them, in the window that has the focus."""
        return self._session.run("xdotool", "key", "--clearmodifiers", *keys)

    def pixels(self):
        """What is on the screen, as the server keeps it."""
        return (self._pixels / "Xvfb_screen0").read_bytes()

    def screenshot(self, path=None, area=None):
        """Writes what is on the screen, or in an area of it (left, top, width, height), to a PNG file that stays, and
        returns its path."""
        image = png(self.pixels(), area)
        if path is None:
            number, path = tempfile.mkstemp(prefix="latchkey-screenshot-", suffix=".png")
            os.close(number)
        path = pathlib.Path(path)
        path.write_bytes(image)
        return path


@pytest.fixture
def display(session):
    """A screen of its own for the test's session. A failing test leaves a picture of it."""
    opened = Display(session)
    yield opened
    opened.close()
