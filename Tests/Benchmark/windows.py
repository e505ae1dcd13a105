"""The time that a person waits for a window with many items: latchkey-app beside Seahorse, with latchkeyd and with
gnome-keyring.

The clock begins with the program's start, or with a key from the X server. The clock stops at the last change of the
picture below the search field. The picture counts only if the accessibility bus then has exactly the expected rows.
Otherwise a window that is quiet because it has not begun yet would count.
"""

import ctypes
import json
import mmap
import os
import re
import statistics
import struct
import subprocess
import threading
import time
from pathlib import Path

from support.display import Display
from support.pace import seconds
from support.subject import GnomeKeyring, Latchkeyd

SIZES = (1_000, 100_000)
# Each key leaves fewer rows.
WORDS = {1_000: "734", 100_000: "73415"}
STARTS = 3
# A picture is complete if it has not changed for this many seconds.
QUIET = 0.5
# The seconds after which the measurement gives up on a window.
LIMIT = 120
FIRST_GOAL, KEY_GOAL = 0.3, 0.1
# The part of the window with the rows, on a screen of 1280 by 1024. This part is below the search field, and leaves out
# the scroll bars, which fade slowly.
LEFT, RIGHT, TOP, BOTTOM = 250, 900, 170, 760

# For each line, prints the labels at several points in the part with the rows.
READER = """
import itertools, json, sys, warnings
warnings.simplefilter("ignore")
import gi
gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib
Atspi.init()
Atspi.set_timeout(60000, 60000)

def text(node):
    content = node.get_text_iface()
    return Atspi.Text.get_text(content, 0, Atspi.Text.get_character_count(content)) if content else node.get_name()

def program(name):
    desktop = Atspi.get_desktop(0)
    for index in range(desktop.get_child_count()):
        one = desktop.get_child_at_index(index)
        if one is not None and name in one.get_name():
            return one

def find(node, roles, depth=0):
    for index in range(min(node.get_child_count(), 400)):
        child = node.get_child_at_index(index)
        # GTK 4 says of few things that they are on the screen.
        state = Atspi.StateType.SHOWING if "seahorse" in sys.argv else Atspi.StateType.VISIBLE
        if child is None or not child.get_state_set().contains(state):
            continue
        if child.get_role_name() in roles:
            yield child
        if depth < 25:
            yield from find(child, roles, depth + 1)

def labels(node):
    if node.get_role_name() == "label":
        yield text(node)
    for index in range(min(node.get_child_count(), 50)):
        child = node.get_child_at_index(index)
        if child is not None:
            yield from labels(child)

def rows(name, top, bottom):
    if name != "seahorse":
        # GTK 4 has rows near the screen only.
        items = (one for one in find(program(name), ("list item",)) if one.get_parent().get_name() == "Items")
        return [next(labels(one), "") for one in itertools.islice(items, 10)]
    found = []
    for one in find(program(name), ("list box",)):
        place = one.get_component_iface()
        area = place.get_extents(Atspi.CoordType.SCREEN)
        # GTK 3 has all rows, so the ones are asked for that are at some points.
        for y in range(top, bottom, 12) if area.x > 200 else ():
            node = place.get_accessible_at_point(area.x + 60, y, Atspi.CoordType.SCREEN)
            while node is not None and node.get_role_name() not in ("list item", "list box"):
                node = node.get_parent()
            if node is not None and node.get_role_name() == "list item":
                words = " ".join(labels(node)) or node.get_name()
                if not found or found[-1] != words:
                    found.append(words)
    return found

def choose(name, title):
    for row in find(program(name), ("list item",)):
        if any(title in words.split("\\n") for words in labels(row)):
            row.get_component_iface().grab_focus()
            return row.get_parent().get_selection_iface().select_child(row.get_index_in_parent())
    return False

for line in sys.stdin:
    name, *arguments = json.loads(line)
    try:
        answer = globals()[name](*arguments)
    except (GLib.Error, AttributeError):
        answer = None  # not there yet
    print(json.dumps(answer), flush=True)
"""


class Keyboard:
    """Presses keys of an X server without starting a process for each."""

    def __init__(self, name):
        self._x, self._test = ctypes.CDLL("libX11.so.6"), ctypes.CDLL("libXtst.so.6")
        self._x.XOpenDisplay.restype = ctypes.c_void_p
        self._display = ctypes.c_void_p(self._x.XOpenDisplay(name.encode()))
        assert self._display.value, f"the display {name} is closed to the benchmark"

    def press(self, symbol):
        code = self._x.XKeysymToKeycode(self._display, ctypes.c_ulong(symbol))
        for down in (1, 0):
            self._test.XTestFakeKeyEvent(self._display, code, down, ctypes.c_ulong(0))
        self._x.XFlush(self._display)

    def close(self):
        self._x.XCloseDisplay(self._display)


class Picture:
    """The part of the screen with the rows, and the time of its last change."""

    def __init__(self, session):
        file = os.open(session.root / "tmp/Xvfb_screen0", os.O_RDONLY)
        self._map = mmap.mmap(file, 0, prot=mmap.PROT_READ)
        os.close(file)
        fields = struct.unpack(">25I", self._map[:100])
        start, line = fields[0] + fields[19] * 12, fields[12]
        self._lines = [slice(start + y * line + LEFT * 4, start + y * line + RIGHT * 4) for y in range(TOP, BOTTOM)]

    def _image(self):
        return b"".join([self._map[line] for line in self._lines])

    def close(self):
        self._map.close()

    def watch(self, action, is_complete, is_there=lambda: True):
        """The seconds from the action until the last change before the picture was complete. The result is None if the
        picture took too long."""
        changes, is_over = [self._image()], threading.Event()
        moments = []

        def look():
            # The accessibility bus is slow, so it has its own thread.
            while not is_over.is_set():
                image = self._image()
                if image != changes[0]:
                    changes[0] = image
                    moments.append(time.monotonic())
                time.sleep(0.002)

        thread = threading.Thread(target=look)
        began = time.monotonic()
        thread.start()
        try:
            action()
            while time.monotonic() < began + LIMIT and is_there():
                count = len(moments)
                if count and time.monotonic() - moments[-1] > QUIET and is_complete() and len(moments) == count:
                    return moments[-1] - began
                time.sleep(0.05)
            return None
        finally:
            is_over.set()
            thread.join()


class Program:
    """A window with items, in its own session."""

    def __init__(self, session, name, command, kind, **variables):
        self.session, self.name, self._command, self._kind = session, name, command, kind
        session.offer("org.a11y.Bus", Path("/usr/share/dbus-1/services/org.a11y.Bus.service").read_text())
        self._allow_as_many_calls_as_debian()
        self._variables = {"GSETTINGS_BACKEND": "memory", "GDK_BACKEND": "x11", **variables}
        self.display = Display(session)
        self.keyboard = Keyboard(self.display.name)
        self.picture = Picture(session)
        self._reader = session.start(
            "/usr/bin/python3", "-c", READER, name, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        # This call starts the services of the accessibility bus before the first start of the program.
        self.ask("rows", self.name, 0, 0)
        self.process = None

    def _allow_as_many_calls_as_debian(self):
        """Raises the limits of the bus to Debian's. Seahorse asks for all items at once, and watches each. The
        throw-away bus allows 128 calls and 512 watches, and Debian's session bus allows 50,000 calls and watches."""
        file = self.session.root / "bus.conf"
        limits = "".join(
            f'<limit name="{name}">50000</limit>' for name in ("max_replies_per_connection", "max_match_rules_per_connection"))
        if limits not in file.read_text():
            file.write_text(file.read_text().replace("</busconfig>", f"{limits}</busconfig>"))
            method = "org.freedesktop.DBus.ReloadConfig"
            target = ["--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"]
            self.session.run("dbus-send", "--session", "--print-reply", *target, method, check=True)

    def close(self):
        self.stop()
        self._reader.terminate()
        self._reader.wait(seconds(10))
        self.keyboard.close()
        self.picture.close()
        self.display.close()

    def ask(self, *question):
        self._reader.stdin.write(json.dumps(question) + "\n")
        self._reader.stdin.flush()
        return json.loads(self._reader.stdout.readline())

    def rows(self):
        return self.ask("rows", self.name, TOP, BOTTOM) or []

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait(seconds(10))
            self.process = None

    def start(self):
        with open(self.session.root / f"{self.name}.log", "wb") as log:
            self.process = self.session.start(
                *self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self.session.environment | self._variables)  # fmt: skip

    def place(self):
        """Gives the window its size and the keyboard focus."""
        found = self.session.run("timeout", "60", "xdotool", "search", "--sync", "--onlyvisible", "--class", self._kind, check=True, timeout=LIMIT)
        window = found.stdout.split()[0]
        self.session.run("xdotool", "windowmove", window, 0, 0, "windowsize", window, 1100, 800, "windowfocus", window, check=True)

    def memory(self, process):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]
        return {line.split(":")[0]: int(line.split()[1]) for line in lines}


def numbers(rows):
    return [found[1] for one in rows if (found := re.search(r"Benchmark benchmark (\d+)", one))]


class Windows:
    """Measures each window alone, one after the other, with the same items."""

    def __init__(self, stage, below, client):
        self.rows = []
        for size in SIZES:
            own = Latchkeyd(stage, below, client)
            try:
                own.fill(0, size)
                # The restart frees the memory of the fill, which is not part of the search.
                own.session.restart()
                own.session.login()
                command = [stage / "usr/bin/latchkey-app"]
                self._take(size, "latchkey-app over latchkeyd", own, Program(own.session, "latchkey-app", command, "latchkey", GSK_RENDERER="cairo"))
                self._take(size, "Seahorse over latchkeyd", own, self._seahorse(own.session))
            finally:
                own.close()
            peer = GnomeKeyring(stage, below, client)
            try:
                peer.fill(0, size)
                self._take(size, "Seahorse over gnome-keyring", peer, self._seahorse(peer.session))
            finally:
                peer.close()

    @staticmethod
    def _seahorse(session):
        return Program(session, "seahorse", ["seahorse"], "seahorse", GTK_MODULES="gail:atk-bridge")

    def _take(self, size, title, subject, program):
        """Measures one window, and returns its row of the report."""
        is_seahorse = program.name == "seahorse"
        firsts, keys = [], []
        alive = lambda: program.process is None or program.process.poll() is None
        has_rows = lambda: bool(numbers(program.rows()))

        def is_shown():
            return program.ask("rows", program.name, TOP, BOTTOM) is not None

        def choose():
            # Seahorse shows no items until a person chooses a keyring, which may not appear at once.
            end = time.monotonic() + LIMIT
            while time.monotonic() < end and not any(program.ask("choose", program.name, name) for name in ("Login", "login")):
                time.sleep(0.05)

        before = subject.memory()["Pss"]
        try:
            for _ in range(1 if is_seahorse else STARTS):
                program.stop()
                first = program.picture.watch(program.start, is_shown if is_seahorse else has_rows, alive)
                program.place()
                if is_seahorse and first is not None:
                    chosen = program.picture.watch(choose, has_rows, alive)
                    first = None if chosen is None else first + chosen
                firsts.append(first)
                if first is None:
                    break
                time.sleep(5)
                if is_seahorse:
                    program.display.press("ctrl+f")
                    time.sleep(1)
                for key, text in ((one, WORDS[size][: end + 1]) for end, one in enumerate(WORDS[size])):
                    former = numbers(program.rows())

                    def is_found():
                        now = numbers(program.rows())
                        return now and now != former and all(text in one for one in now)

                    keys.append(program.picture.watch(lambda: program.keyboard.press(ord(key)), is_found, alive))
                    if keys[-1] is None:
                        break
            own = program.memory(program.process.pid)["Pss"] if alive() and program.process else 0
            self.rows.append((title, size, firsts, keys, own, before, subject.memory()["Pss"]))
        finally:
            program.close()

    def report(self):
        """The lines of the report."""
        yield (
            f"Windows with items, each alone on Xvfb: {STARTS} starts of latchkey-app and one of Seahorse, then a search of which each key is"
            f" timed. Not within {LIMIT} s means that it was given up. The load of the machine was {os.getloadavg()[0]:.0f}.\n")
        yield "| window | items | first rows | goal | a key: median | slowest | goal | window: PSS | service: PSS before, after |"
        yield "| --- | --: | --: | --- | --: | --: | --- | --: | --: |"
        for title, size, firsts, keys, own, before, after in self.rows:
            cells = []
            for samples, goal in ((firsts, FIRST_GOAL), (keys, KEY_GOAL)):
                known = [one for one in samples if one is not None]
                cells.append(f"{statistics.median(known):.2f} s" if known and len(known) == len(samples) else f"not within {LIMIT} s")
                if samples is keys:
                    cells.append(f"{max(known):.2f} s" if known else "")
                is_met = len(known) == len(samples) and known and statistics.median(known) <= goal
                cells.append((f"≤ {goal} s: " + ("met" if is_met else "**missed**")) if title.startswith("latchkey") else "")
            yield f"| {title} | {size:,} | " + " | ".join(cells) + f" | {own / 1000:.0f} MB | {before / 1000:.1f}, {after / 1000:.1f} MB |"
