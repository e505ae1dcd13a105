"""A notification server for tests, on a session's bus."""

import pytest
from gi.repository import Gio, GLib
from support.peer import Peer

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
INTERFACE = """
<node><interface name="org.freedesktop.Notifications"><method name="Notify">
  <arg type="s" direction="in"/><arg type="u" direction="in"/><arg type="s" direction="in"/><arg type="s" direction="in"/>
  <arg type="s" direction="in"/><arg type="as" direction="in"/><arg type="a{sv}" direction="in"/>
  <arg type="i" direction="in"/><arg type="u" direction="out"/>
</method><method name="CloseNotification"><arg type="u" direction="in"/></method></interface></node>"""


MARKER = ".local/state/latchkey/first-notice"


def know_the_first(session):
    """Marks the notification of the first login as seen."""
    session.run("sh", "-c", f"mkdir -p ~/{MARKER.rpartition('/')[0]} && touch ~/{MARKER}", check=True)


class Notifications:
    """`shown` has title and text of each notification. `closed` has the numbers (from 1) of the withdrawn
    notifications."""

    def __init__(self, session):
        self.peer, self.shown, self.closed = Peer(session), [], []
        (interface,) = Gio.DBusNodeInfo.new_for_xml(INTERFACE).interfaces
        self.peer.bus.register_object(PATH, interface, self._called, None, None)
        self.peer.bus.call_sync(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
            GLib.Variant("(su)", (NAME, 4)), None, 0, 10000, None)

    def _called(self, _bus, _sender, _path, _interface, method, arguments, invocation):
        values = arguments.unpack()
        if method == "CloseNotification":
            self.closed += values
            return invocation.return_value(None)
        assert values[0] == "Latchkey" and values[1] == 0 and values[7] == -1, values
        # The sender may be latchkey-kwallet, whose notifications have no action.
        assert (values[5][::2], values[6]) in (([], {}), (["default"], {"desktop-entry": "org.latchkey.app"})), values
        self.shown.append(values[3:5])
        invocation.return_value(GLib.Variant("(u)", (len(self.shown),)))
        self.peer.bus.flush_sync(None)

    def click(self, number):
        """The person clicks on a notification, counted from 1."""
        for member, text in (("ActivationToken", "token"), ("ActionInvoked", "default")):
            self.peer.bus.emit_signal(None, PATH, NAME, member, GLib.Variant("(us)", (number, text)))
        self.peer.bus.flush_sync(None)

    def look(self):
        """All notifications so far. The daemon sends earlier notifications before it answers a call."""
        self.peer.get("/org/latchkey/vault", "org.latchkey.Vault", "State")
        context = GLib.MainContext.default()
        while context.iteration(False):
            pass
        return self.shown

    def close(self):
        self.peer.close()


@pytest.fixture
def notifications(new_session):
    """A notification server in a session."""
    shown = Notifications(new_session)
    yield shown
    shown.close()
