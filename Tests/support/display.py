"""A screen for programs with windows. The screen's X server belongs to the test's session, and ends with the session.
"""

import os
import pathlib
import subprocess
import tempfile

import pytest
from support.pace import seconds
from support.screenshot import png


class Display:
    """Xvfb with a free display number. The session's programs find the number in DISPLAY."""

    def __init__(self, session):
        self._session = session
        self._pixels = session.root / "tmp"
        read, write = os.pipe()
        # The server chooses the number, and reports it as soon as the display works.
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
        """Ends the server, which also ends every program with a window."""
        self._session.environment.pop("DISPLAY", None)
        self._server.terminate()
        self._server.wait(seconds(10))

    def press(self, *keys):
        """Presses keys in the focused window. xdotool defines the names of the keys."""
        return self._session.run("xdotool", "key", "--clearmodifiers", *keys)

    def pixels(self):
        """The content of the screen in the server's own format."""
        return (self._pixels / "Xvfb_screen0").read_bytes()

    def screenshot(self, path=None, area=None):
        """Writes the screen, or an area of it (left, top, width, height), to a PNG file, and returns its path."""
        image = png(self.pixels(), area)
        if path is None:
            number, path = tempfile.mkstemp(prefix="latchkey-screenshot-", suffix=".png")
            os.close(number)
        path = pathlib.Path(path)
        path.write_bytes(image)
        return path


@pytest.fixture
def display(session):
    """A screen for the test's session. If the test fails, a picture of the screen is kept."""
    opened = Display(session)
    yield opened
    opened.close()
