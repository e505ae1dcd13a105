"""The Latchkey window as a screen reader sees it: names and roles on the accessibility bus."""

import json
import subprocess
from pathlib import Path

from support.pace import seconds
from support.session import wait_until

# For each line, which is a list, prints the matching parts of the screen.
READER = """
import json, sys, warnings
warnings.simplefilter("ignore")
import gi
gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib
Atspi.init()
# Its own limit of 0.8 s would make a slow program look empty.
Atspi.set_timeout(int(sys.argv[1]), int(sys.argv[1]))

def shown(node):
    try:
        if node is None:
            return
        if node.get_role_name() not in ("desktop frame", "application"):
            if not node.get_state_set().contains(Atspi.StateType.VISIBLE):
                return
        yield node
        for index in range(min(node.get_child_count(), 400)):
            yield from shown(node.get_child_at_index(index))
    except GLib.Error:
        return  # gone meanwhile

def roots():
    # This program alone: whatever else has a window is of no interest.
    desktop = Atspi.get_desktop(0)
    for index in range(desktop.get_child_count()):
        program = desktop.get_child_at_index(index)
        if program is not None and "latchkey" in program.get_name():
            yield from shown(program)

def text(node):
    content = node.get_text_iface()
    # GTK 4 does not know -1 as the end.
    return Atspi.Text.get_text(content, 0, Atspi.Text.get_character_count(content)) if content else node.get_name()

def tree():
    return [[node.get_role_name(), node.get_name(), text(node)] for node in roots()]

def texts():
    return [text(node) for node in roots() if node.get_role_name() in ("label", "text", "password text", "entry")]

def said(node):
    # libadwaita's own buttons have the text twice, with its underscore.
    names = [node.get_name()] + [text(node.get_child_at_index(index)) for index in range(node.get_child_count())]
    return names

# AT-SPI 2.53 renamed the role.
BUTTONS = ("push button", "button", "toggle button")

def press(name):
    # The first one: a question of libadwaita's has the same buttons once more, for a narrow window.
    found = [node for node in roots() if node.get_role_name() in BUTTONS and name in said(node)
             and node.get_state_set().contains(Atspi.StateType.SENSITIVE)]
    return bool(found) and found[0].get_action_iface().do_action(0)

def centre(name, role=None):
    found = None
    for node in roots():
        if name in (node.get_name(), text(node)) and (role is None or node.get_role_name() == role):
            found = node
    if found is None:
        return None
    area = found.get_component_iface().get_extents(Atspi.CoordType.WINDOW)
    return [area.x, area.y, area.width, area.height]

def nameless():
    # What a person can use and a screen reader has no name for.
    roles = (*BUTTONS, "list item", "text", "entry", "combo box", "password text")
    return [[node.get_role_name(), text(node)] for node in roots()
            if node.get_role_name() in roles and not (node.get_name() or text(node))]

for line in sys.stdin:
    name, *arguments = json.loads(line)
    try:
        answer = globals()[name](*arguments)
    except GLib.Error as error:
        answer = None
    print(json.dumps(answer), flush=True)
"""


class ReadWindow:
    """A reader of the program's windows, on the bus of any session."""

    def __init__(self, start):
        """`start` starts a command in the session, and takes the options of Popen."""
        self._reader = start(
            "/usr/bin/python3", "-c", READER, str(round(seconds(10) * 1000)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self):
        self._reader.terminate()
        self._reader.wait(seconds(10))

    def ask(self, *question):
        self._reader.stdin.write(json.dumps(question) + "\n")
        self._reader.stdin.flush()
        return json.loads(self._reader.stdout.readline())

    def texts(self):
        return self.ask("texts") or []

    def shows(self, text):
        return any(text in label for label in self.texts())

    def wait_for(self, text, timeout=20):
        try:
            wait_until(lambda: self.shows(text), f"{text!r}", timeout)
        except AssertionError as error:
            raise AssertionError(f"{error}; there are: {self.texts()}") from error

    def wait_without(self, text):
        # If the reader found no text at all, it has not read the window.
        wait_until(lambda: (texts := self.texts()) and not any(text in one for one in texts), f"the end of {text!r}")

    def press(self, name):
        """Presses a button by its name."""
        wait_until(lambda: self.ask("press", name), f"the button {name!r}")


class AppWindow(ReadWindow):
    """The program on an X server, and a reader of its windows."""

    def __init__(self, session, display, *words, first=None, program=None, **variables):
        self.session, self._display = session, display
        # The session's bus starts no other service than the accessibility bus.
        session.offer("org.a11y.Bus", Path("/usr/share/dbus-1/services/org.a11y.Bus.service").read_text())
        self.log = session.root / "app.log"
        # This renderer needs no graphics hardware.
        environment = {"GSK_RENDERER": "cairo", "GSETTINGS_BACKEND": "memory", "GDK_BACKEND": "x11", **variables}
        with open(self.log, "wb") as log:
            self.program = session.start(
                program or session.stage / "usr/bin/latchkey-app", *words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=session.environment | environment)
        super().__init__(session.start)
        if first:
            # The bus starts the program, and calls the program's action.
            action = ["--object-path", "/org/latchkey/app", "--method", "org.freedesktop.Application.ActivateAction", first, "[]", "{}"]
            wait_until(lambda: session.run("gdbus", "call", "--session", "--dest", "org.latchkey.app", *action).returncode == 0, "the action")
        found = session.run("xdotool", "search", "--sync", "--onlyvisible", "--class", "latchkey", check=True)
        self.window = found.stdout.split()[0]
        session.run("xdotool", "windowsize", "--sync", self.window, "1100", "800", check=True)

    def close(self):
        super().close()
        self.program.terminate()
        self.program.wait(seconds(10))

    def click(self, name, role=None):
        """Clicks with the mouse, after the button has stopped moving."""
        found = []

        def is_still():
            found.append(self.ask("centre", name, role))
            return found[-1] and found[-2:-1] == found[-1:]

        wait_until(is_still, f"{name!r}")
        x, y, width, height = found[-1]
        self.session.run(
            "xdotool", "mousemove", "--window", self.window, x + width // 2, y + height // 2, "click", "1", check=True)

    def type(self, text):
        self.session.run("xdotool", "type", "--window", self.window, text, check=True)

    def answer(self, name, text):
        """Types into the field of a dialog, and presses Enter. The dialog is a window at the same place."""
        self.click(name)
        self.session.run("xdotool", "type", text, check=True)
        self.keys("Return")
        wait_until(lambda: not self.ask("centre", name), f"the end of the dialog with {name!r}")

    def keys(self, *keys):
        self._display.press(*keys)
