"""A stand-in for logind on a session's system bus. The stand-in has one session, whose screen can lock, and a machine
that can sleep.

Tests/Desktop and Tests/Machine have the real logind. The stand-in answers on its own thread, so a waiting test does not
block the stand-in.
"""

import os
import select
import threading
import time

import pytest
from gi.repository import Gio, GLib
from support.pace import Limit
from support.systembus import SystemBus

NAME, PATH = "org.freedesktop.login1", "/org/freedesktop/login1"
MANAGER, SESSION = f"{NAME}.Manager", f"{NAME}.Session"
SESSION_PATH = f"{PATH}/session/_31"
INTERFACES = f"""<node>
  <interface name="{MANAGER}">
    <method name="ListSessions"><arg type="a(susso)" direction="out"/></method>
    <method name="Inhibit">
      <arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="s" direction="in"/>
      <arg type="h" direction="out"/>
    </method>
    <property name="PreparingForSleep" type="b" access="read"/>
    <signal name="PrepareForSleep"><arg type="b"/></signal>
  </interface>
  <interface name="{SESSION}">
    <property name="Id" type="s" access="read"/><property name="Class" type="s" access="read"/>
    <property name="Type" type="s" access="read"/><property name="State" type="s" access="read"/>
    <property name="Service" type="s" access="read"/><property name="Active" type="b" access="read"/>
    <property name="LockedHint" type="b" access="read"/><property name="Remote" type="b" access="read"/>
    <property name="User" type="(uo)" access="read"/><property name="Seat" type="(so)" access="read"/>
  </interface>
</node>"""


def any_open(ends):
    """Whether the other end of a pipe is still open. An open end means that a program holds a delay lock."""
    poll = select.poll()
    for end in ends:
        poll.register(end, 0)
    return len(poll.poll(0)) < len(ends)


class Logind:
    """`sleep`, `wake` and `show_locked` send logind's signals."""

    def __init__(self, session):
        self._session, self._inhibitors, self._prepares, self._locked = session, [], False, False
        self._system = SystemBus.of(session)
        self._context = GLib.MainContext()
        self._loop = GLib.MainLoop(self._context)
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(Limit(10).seconds), "logind's stand-in does not start"

    def _serve(self, ready):
        self._context.push_thread_default()
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        self._bus = Gio.DBusConnection.new_for_address_sync(
            self._session.environment["DBUS_SYSTEM_BUS_ADDRESS"], flags, None, None)
        manager, session = Gio.DBusNodeInfo.new_for_xml(INTERFACES).interfaces
        self._bus.register_object(PATH, manager, self._called, lambda *_: GLib.Variant("b", self._prepares), None)
        self._bus.register_object(SESSION_PATH, session, None, self._property, None)
        self._bus.call_sync(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
            GLib.Variant("(su)", (NAME, 4)), None, 0, 10000, None)
        ready.set()
        self._loop.run()

    def _called(self, _bus, _sender, _path, _interface, method, arguments, call):
        if method == "ListSessions":
            return call.return_value(
                GLib.Variant("(a(susso))", ([("1", self._session.uid, self._session.user, "seat0", SESSION_PATH)],)))
        assert arguments.unpack()[0] == "sleep" and arguments.unpack()[3] == "delay"
        given, kept = os.pipe()
        self._inhibitors.append(kept)
        descriptors = Gio.UnixFDList.new()
        number = descriptors.append(given)
        os.close(given)
        call.return_value_with_unix_fd_list(GLib.Variant("(h)", (number,)), descriptors)

    def _property(self, _bus, _sender, _path, _interface, name):
        return {
            "Id": GLib.Variant("s", "1"), "Class": GLib.Variant("s", "user"), "Type": GLib.Variant("s", "tty"),
            "State": GLib.Variant("s", "active"), "Service": GLib.Variant("s", "login"), "Active": GLib.Variant("b", True),
            "LockedHint": GLib.Variant("b", self._locked), "Remote": GLib.Variant("b", False),
            "User": GLib.Variant("(uo)", (self._session.uid, f"{PATH}/user/_1")), "Seat": GLib.Variant("(so)", ("seat0", "/")),
        }[name]  # fmt: skip

    def _change(self, name, value, *signal):
        """Changes the value and sends the signal between two answers, as the real logind does. No answer with the old
        value may come after the signal."""
        done = threading.Event()

        def change():
            setattr(self, name, value)
            self._bus.emit_signal(None, *signal)
            done.set()

        self._context.invoke_full(GLib.PRIORITY_DEFAULT, change)
        assert done.wait(Limit(10).seconds), "logind's stand-in does not answer"
        self._bus.flush_sync(None)

    def _announce(self, prepares):
        self._change("_prepares", prepares, PATH, MANAGER, "PrepareForSleep", GLib.Variant("(b)", (prepares,)))

    def holds(self):
        """Whether a program delays sleep."""
        return any_open(self._inhibitors)

    def sleep(self, usual=30):
        """Announces sleep, and waits until no program delays it. Returns the seconds."""
        limit, begun = Limit(usual), time.monotonic()
        self._announce(True)
        while self.holds():
            assert not limit.is_over, "sleep is held up"
            time.sleep(0.0005)
        return time.monotonic() - begun

    def show_locked(self, locked):
        """Reports that the screen is locked or unlocked."""
        self._change(
            "_locked", locked, SESSION_PATH, "org.freedesktop.DBus.Properties", "PropertiesChanged",
            GLib.Variant("(sa{sv}as)", (SESSION, {"LockedHint": GLib.Variant("b", locked)}, [])))

    def wake(self):
        self._announce(False)

    def close(self):
        self._loop.quit()
        self._thread.join()
        self._bus.close_sync(None)
        for end in self._inhibitors:
            os.close(end)
        self._system.close()


@pytest.fixture
def logind(session):
    """The stand-in, on the system bus of the session."""
    stand_in = Logind(session)
    yield stand_in
    stand_in.close()
