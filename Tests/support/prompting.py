"""The surroundings of a prompt: PAM services, a terminal, a screen, a session bus, and a stand-in for Plasma's
prompter.
"""

import os
import pathlib
import select
import signal
import subprocess
import tempfile
import termios
import threading
import time

import pytest
from jeepney import DBusAddress, MessageType, new_error, new_method_call, new_method_return
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection
from support.derive import ENVIRONMENT, IS_ROOT, PASSWORD, PERSON
from support.pace import Limit, seconds
from support.screenshot import png
from support.standin import prompt

TIMEOUT = 30
NUMBER = 7
IDENTITY = dict(user=PERSON.pw_uid, group=PERSON.pw_gid, extra_groups=[]) if IS_ROOT else {}


def wait_until(condition, what):
    limit = Limit(TIMEOUT)
    while not (value := condition()):
        assert not limit.is_over, f"waited for {what}"
        time.sleep(0.02)
    return value


class Prompting:
    """A person who gets prompts from the daemon."""

    def __init__(self, login, program):
        self.login, self.program, self.folder = login, program, login.folder
        self.daemon = login.daemon()
        # No pinentry exists unless a test installs one.
        self.programs = self.folder / "bin"
        self.programs.mkdir()
        self.environment = {**ENVIRONMENT, "PATH": str(self.programs), "SWIFT_BACKTRACE": "enable=no",
                            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.folder}/no-bus", "HOME": str(login.home)}
        self.pam = self.folder / "pam.d"
        self.pam.mkdir()
        hashed = subprocess.run(["openssl", "passwd", "-6", "-stdin"], input=PASSWORD, capture_output=True, text=True,
                                check=True).stdout
        (self.folder / "passwd").write_text(f"{PERSON.pw_name}:{hashed}")
        self.password_line = f"auth required pam_pwdfile.so nodelay pwdfile={self.folder}/passwd"
        for name in ("latchkey-unlock", "latchkey-collection", "latchkey-item", "latchkey-presence", "latchkey-biometry"):
            self.service(name, self.password_line)
        self.log = self.folder / "log"
        self.process, self.number = None, NUMBER

    def agree(self, answer="echo OK"):
        """A person at a display gives this answer to every window that needs only a confirmation. The texts are
        recorded."""
        pinentry, said = self.programs / "pinentry", self.folder / "agreed-to"
        said.touch()
        said.chmod(0o666)
        pinentry.write_text(
            f"#!/bin/sh\necho OK\nwhile read -r what; do\n  case $what in\n    CONFIRM*) {answer};;\n"
            f"    GETPIN*) echo ERR 1;;\n    SETDESC*) echo \"$what\" >>{said}; echo OK;;\n    *) echo OK;;\n  esac\ndone\n")
        pinentry.chmod(0o755)
        self.environment["DISPLAY"] = ":4711"
        return said

    def service(self, name, *lines):
        (self.pam / name).write_text("".join(line + "\n" for line in lines))

    def start(self, *arguments, identity=IDENTITY, **request):
        self.daemon.prompts[self.number] = prompt(**request)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [self.program, *arguments, "--runtime", self.login.runtime, "--pam-folder", self.pam, str(self.number)],
                env=self.environment, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=default_signals, **identity)

    def withdraw(self):
        self.daemon.withdraw(self.number)

    def end(self):
        """Waits for the end, and returns the outcome that the daemon learned."""
        assert self.process.wait(seconds(TIMEOUT)) == 0, self.said
        wait_until(lambda: self.number in self.daemon.outcomes, "the end of the connection")
        return self.daemon.outcomes[self.number]

    @property
    def said(self):
        return self.log.read_text()

    def memory(self):
        """All of the process's memory that root can read."""
        mappings = [line.split() for line in open(f"/proc/{self.process.pid}/maps")]
        content = b""
        with open(f"/proc/{self.process.pid}/mem", "rb", buffering=0) as memory:
            for span, permissions, *rest in mappings:
                if not permissions.startswith("rw"):
                    continue
                start, end = (int(number, 16) for number in span.split("-"))
                memory.seek(start)
                content += memory.read(end - start)
        return content

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def default_signals():
    # A test runner in the background of a shell ignores some signals.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class Terminal:
    """The terminal of the client. Only the prompt reads from the terminal."""

    def __init__(self):
        self.screen, self.device = os.openpty()
        self.path = os.ttyname(self.device)
        if IS_ROOT:
            os.fchown(self.device, PERSON.pw_uid, -1)
        termios.tcsetwinsize(self.device, (24, 80))
        self.before = termios.tcgetattr(self.device)
        self.shown = b""
        self._seen = 0

    def expect(self, text):
        """Waits until this text appears after the text of the last call."""
        limit = Limit(TIMEOUT)
        while (at := self.shown.find(text.encode(), self._seen)) < 0:
            assert not limit.is_over, f"waited for {text!r}, saw {self.shown[self._seen:]!r}"
            self._read(0.1)
        self._seen = at + len(text.encode())

    def _read(self, seconds):
        while select.select([self.screen], [], [], seconds)[0]:
            self.shown += os.read(self.screen, 65536)
            seconds = 0

    def type(self, text):
        os.write(self.screen, text.encode())

    @property
    def is_silent(self):
        return not termios.tcgetattr(self.device)[3] & termios.ECHO

    @property
    def is_as_before(self):
        return termios.tcgetattr(self.device) == self.before

    def everything(self):
        self._read(0.1)
        return self.shown.decode(errors="replace")

    def close(self):
        os.close(self.device)
        os.close(self.screen)


class Screen:
    """A display without a window manager."""

    def __init__(self):
        read, write = os.pipe()
        self._pixels = tempfile.TemporaryDirectory()
        # Without -noreset, the server would restart when its last client leaves, and would refuse a dialog at that
        # moment.
        command = ["Xvfb", "-displayfd", str(write), "-ac", "-nolisten", "tcp", "-noreset", "-screen", "0", "1280x1024x24",
                   "-fbdir", self._pixels.name]
        self._server = subprocess.Popen(command, pass_fds=[write], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as numbers:
            self.display = f":{numbers.readline().strip()}"
        # An American keyboard lacks a letter of PASSWORD. xdotool would map the letter to a key for a moment, and a
        # dialog on a busy machine could read the key too late. So the keyboard is German.
        subprocess.run(["setxkbmap", "de"], env={**ENVIRONMENT, "DISPLAY": self.display}, check=True)

    def do(self, *words, text=None):
        done = subprocess.run(["xdotool", *words], env={**ENVIRONMENT, "DISPLAY": self.display, "LANG": "C.UTF-8"},
                              input=text, capture_output=True, text=True, timeout=seconds(TIMEOUT))
        return done.stdout.split()

    def windows(self):
        return self.do("search", "--onlyvisible", "--name", "Unlock Latchkey|New passphrase")

    def focus(self):
        """Waits for the dialog, and gives it the focus."""
        self.do("windowfocus", "--sync", wait_until(self.windows, "a window")[0])

    def type(self, text, key="Return"):
        # The text does not go into an argument, which every user could read.
        self.do("type", "--delay", "20", "--file", "-", text=text)
        self.press(key)

    def press(self, key):
        self.do("key", key)

    def picture(self):
        """The content of the screen, as soon as it does not change any more."""
        def is_still():
            before = self._last
            time.sleep(0.5)
            self._last = (pathlib.Path(self._pixels.name) / "Xvfb_screen0").read_bytes()
            return before == self._last

        self._last = b""
        wait_until(is_still, "a picture that stays")
        return png(self._last)

    def close(self):
        self._server.kill()
        self._server.wait()
        self._pixels.cleanup()


class SessionBus:
    """A bus that starts only the services of a test, and records all messages."""

    def __init__(self, folder, environment):
        self.services = folder / "services"
        self.services.mkdir()
        configuration = folder / "bus.conf"
        configuration.write_text(f"""<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path={folder}/run/bus</listen><auth>EXTERNAL</auth>
<servicedir>{self.services}</servicedir><policy context="default"><allow user="*"/>
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>""")
        command = ["dbus-daemon", f"--config-file={configuration}", "--nofork", "--nosyslog", "--print-address"]
        self._daemon = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, start_new_session=True, **IDENTITY)
        self.address = self._daemon.stdout.readline().decode().strip()
        self.messages = []
        self._monitor = self.connect()
        driver = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus.Monitoring")
        self._monitor.send_and_get_reply(new_method_call(driver, "BecomeMonitor", "asu", ([], 0)))
        threading.Thread(target=self._watch, daemon=True).start()

    def connect(self):
        return open_dbus_connection(self.address, enable_fds=True)

    def offer(self, name, command):
        (self.services / f"{name}.service").write_text(f"[D-BUS Service]\nName={name}\nExec={command}\n")
        with self.connect() as connection:
            connection.send_and_get_reply(new_method_call(message_bus, "ReloadConfig"))

    def owner(self, name):
        """The process that owns a name, or None."""
        with self.connect() as connection:
            reply = connection.send_and_get_reply(message_bus.GetConnectionUnixProcessID(name))
        return reply.body[0] if reply.header.message_type == MessageType.method_return else None

    def _watch(self):
        try:
            while True:
                self.messages.append(self._monitor.receive())
        except (OSError, ValueError):
            pass

    def calls(self, member):
        """The arguments of all calls of a method so far."""
        return [message.body for message in list(self.messages)
                if message.header.message_type == MessageType.method_call
                and message.header.fields.get(3) == member]

    def close(self):
        os.killpg(self._daemon.pid, signal.SIGTERM)
        self._daemon.stdout.close()
        self._daemon.wait()
        self._monitor.close()


class Plasma:
    """A stand-in for ksecretprompter. The stand-in opens its window at once, and acts for the person.

    `steps` are the person's actions, one for each time that the window waits: a password, REJECT, CLOSE, or WAIT."""

    REJECT, CLOSE, WAIT, VANISH = object(), object(), object(), object()
    NAME, INTERFACE = "org.kde.secretprompter", "org.kde.secretprompter.request"

    def __init__(self, bus, *steps, answers=True):
        self.steps, self.answers = list(steps), answers
        self.prompts, self.actions, self.retries, self.dismissed = [], [], [], 0
        # The bytes that remain of each answer.
        self.left = []
        self._connection = bus.connect()
        self._connection.send_and_get_reply(message_bus.RequestName(self.NAME))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        try:
            while True:
                self._handle(self._connection.receive())
        except (OSError, ValueError):
            pass

    def _handle(self, message):
        member, kind = message.header.fields.get(3), message.header.message_type
        if kind == MessageType.signal and message.header.fields.get(2) == self.INTERFACE:
            if member == "Retry":
                self.retries.append(message.body[0])
            if member == "Dismiss":
                self.dismissed += 1
        elif kind == MessageType.method_call and member in ("UnlockCollectionPrompt", "CreateCollectionPrompt"):
            self.prompts.append((member, *message.body))
            if self.answers:
                self._connection.send(new_method_return(message))
                self._caller = message.header.fields[7]
                self._step()
        elif kind == MessageType.method_call:
            self._connection.send(new_error(message, "org.freedesktop.DBus.Error.UnknownMethod"))
        elif kind in (MessageType.method_return, MessageType.error) and message.header.fields.get(5) == self._accepted:
            action = message.body[0] if kind == MessageType.method_return else message.header.fields[4]
            self.actions.append(action)
            if action == 1:
                self._step()

    _accepted = None

    def _step(self):
        step = self.steps.pop(0)
        address = DBusAddress(self.prompts[-1][1], self._caller, self.INTERFACE)
        if step is self.VANISH:
            self._connection.close()
        elif step is self.REJECT:
            self._connection.send(new_method_call(address, "Rejected"))
        elif step is self.CLOSE:
            self._connection.send(new_method_call(address, "Dismissed"))
        elif step is not self.WAIT:
            read, write = os.pipe()
            os.write(write, step.encode())
            os.close(write)
            call = new_method_call(address, "Accepted", "h", (read,))
            self._accepted = next(self._connection.outgoing_serial)
            self._connection.send(call, serial=self._accepted)
            self.left.append(read)

    def close(self):
        self._connection.close()
        for end in self.left:
            os.close(end)


@pytest.fixture
def prompting(login, programs):
    prompting = Prompting(login, programs / "latchkey-prompt")
    yield prompting
    prompting.close()


@pytest.fixture
def terminal():
    terminal = Terminal()
    yield terminal
    terminal.close()
