"""A client of org.kde.KWallet that makes any call, and the service files by which a session's bus starts
latchkey-kwallet.
"""

import os
import signal
import struct

from gi.repository import Gio, GLib
from support.pace import Limit, seconds
from support.peer import acting_as, octets
from support.session import is_alive, wait_until

INTERFACE = "org.kde.KWallet"
NAMES = ("org.kde.kwalletd5", "org.kde.kwalletd6")
# The seconds that a call may take.
LIMIT = 5.0
PASSWORD, STREAM, MAP = 1, 2, 3
KDEWALLET = "kdewallet"
FOLDER = "Passwords"


def qt_text(text):
    """A string as Qt writes it."""
    wide = text.encode("utf-16-be")
    return struct.pack(">I", len(wide)) + wide


def qt_map(pairs):
    """A map of texts as Qt writes it."""
    return struct.pack(">I", len(pairs)) + b"".join(qt_text(key) + qt_text(value) for key, value in pairs.items())


def pairs_of(octets):
    """The map that Qt wrote."""
    offset, pairs = 4, {}

    def text():
        nonlocal offset
        size = struct.unpack_from(">I", octets, offset)[0]
        offset += 4 + size
        return octets[offset - size : offset].decode("utf-16-be")

    for _ in range(struct.unpack_from(">I", octets)[0]):
        key = text()
        pairs[key] = text()
    assert offset == len(octets)
    return pairs


def serve(session):
    """Makes the session's bus start latchkey-kwallet, with the files that `latchkey switch` installs."""
    for name in NAMES:
        session.offer(name, f"[D-BUS Service]\nName={name}\nExec={session.stage}/usr/libexec/latchkey-kwallet\n")


def process_of(session, name=NAMES[0]):
    """The process that owns the name, or None."""
    return session.owner(name)


def end(session, number=signal.SIGKILL):
    """Ends latchkey-kwallet. The next call starts latchkey-kwallet again."""
    process = process_of(session)
    assert process is not None
    os.kill(process, number)
    wait_until(lambda: not is_alive(process) and process_of(session) != process, "the end of latchkey-kwallet")


def ask_in_windows(session, answer=None):
    """From now on, prompts use a stand-in for pinentry on an unused display. `answer` is the typed text, or None if no
    person is there. The session's file `asked` records the texts."""
    typed = f"echo 'D {answer}'; echo OK" if answer is not None else "exec sleep 1000"
    pinentry = session.root / "bin/pinentry"
    pinentry.write_text(
        f"#!/bin/sh\necho OK\nwhile read -r line; do\n  echo \"$line\" >>{session.root}/tmp/asked\n"
        f"  case $line in GETPIN*) {typed};; *) echo OK;; esac\ndone\n")
    pinentry.chmod(0o755)
    session.run("dbus-update-activation-environment", "DISPLAY=:4711", check=True)
    session.restart()


def asked(session):
    """The texts of prompts so far."""
    file = session.root / "tmp/asked"
    return file.read_text() if file.exists() else ""


class Client:
    """A program with its own connection. `app` is the name that the program gives itself."""

    def __init__(self, session, app="test", version=5):
        self.session, self.app = session, app
        self.name, self.path = f"org.kde.kwalletd{version}", f"/modules/kwalletd{version}"
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        with acting_as(session):
            self.bus = Gio.DBusConnection.new_for_address_sync(
                session.environment["DBUS_SESSION_BUS_ADDRESS"], flags, None, None)
        self.signals = []
        self.bus.signal_subscribe(None, INTERFACE, None, self.path, None, Gio.DBusSignalFlags.NONE, self._heard)
        self.handle = None

    def _heard(self, _bus, _sender, _path, _interface, member, parameters):
        self.signals.append((member, *parameters.unpack()))

    def close_connection(self):
        self.bus.close_sync(None)

    def call(self, member, signature="", *arguments, limit=LIMIT):
        """Calls a method, and returns its value. An error raises GLib.Error."""
        values = self.bus.call_sync(
            self.name, self.path, INTERFACE, member, GLib.Variant(f"({signature})", arguments), None,
            Gio.DBusCallFlags.NONE, int(seconds(limit) * 1000), None).unpack()
        return values[0] if values else None

    # MARK: calls about an open wallet

    def open(self, wallet=KDEWALLET):
        self.handle = self.call("open", "sxs", wallet, 0, self.app)
        return self.handle

    def open_async(self, wallet=KDEWALLET, session=True):
        """The transaction's number."""
        return self.call("openAsync", "sxsb", wallet, 0, self.app, session)

    def of(self, member, signature, *arguments):
        """A call whose first argument is the handle, and whose last argument is the program's name."""
        return self.call(member, f"i{signature}s", self.handle, *arguments, self.app)

    def write(self, entry, value, folder=FOLDER):
        """Stores a text, a map or bytes. Returns the answer of the call."""
        if isinstance(value, str):
            return self.of("writePassword", "sss", folder, entry, value)
        if isinstance(value, dict):
            return self.of("writeMap", "ssay", folder, entry, octets(qt_map(value)))
        return self.of("writeEntry", "ssay", folder, entry, octets(value))

    def kind(self, entry, folder=FOLDER):
        return self.of("entryType", "ss", folder, entry)

    def read(self, entry, folder=FOLDER):
        """The value of the entry by its kind, or None if there is no entry."""
        match self.kind(entry, folder):
            case 0:
                return None
            case 1:
                return self.of("readPassword", "ss", folder, entry)
            case 3:
                return pairs_of(bytes(self.of("readMap", "ss", folder, entry)) or b"\0\0\0\0")
            case _:
                return bytes(self.of("readEntry", "ss", folder, entry))

    def entries(self, folder=FOLDER):
        return self.of("entryList", "s", folder)

    # MARK: signals

    def listen(self):
        context = GLib.MainContext.default()
        while context.iteration(False):
            pass
        return self.signals

    def wait_for(self, *signal):
        """The first signal that begins with these values."""
        limit = Limit(10)
        while not limit.is_over:
            for heard in self.listen():
                if heard[: len(signal)] == signal:
                    return heard
            GLib.usleep(10_000)
        raise AssertionError(f"no {signal} in {limit.seconds:.0f} s, but {self.signals}")
