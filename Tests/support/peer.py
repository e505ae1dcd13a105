"""A client of the Secret Service that makes any call, and hears all signals."""

import contextlib
import os
import time
from xml.etree import ElementTree

from gi.repository import Gio, GLib
from support.pace import Limit, seconds

SECRETS = "org.freedesktop.secrets"
ROOT = "/org/freedesktop/secrets"
LOGIN = ROOT + "/collection/login"
SESSION_COLLECTION = ROOT + "/collection/session"
DEFAULT = ROOT + "/aliases/default"
NOTHING = "/"
SERVICE = "org.freedesktop.Secret.Service"
COLLECTION = "org.freedesktop.Secret.Collection"
ITEM = "org.freedesktop.Secret.Item"
SESSION = "org.freedesktop.Secret.Session"
PROMPT = "org.freedesktop.Secret.Prompt"
PROPERTIES = "org.freedesktop.DBus.Properties"
IS_LOCKED = "org.freedesktop.Secret.Error.IsLocked"
NO_SESSION = "org.freedesktop.Secret.Error.NoSession"
NO_SUCH_OBJECT = "org.freedesktop.Secret.Error.NoSuchObject"
INVALID = "org.freedesktop.DBus.Error.InvalidArgs"
ACCESS_DENIED = "org.freedesktop.DBus.Error.AccessDenied"
NOT_SUPPORTED = "org.freedesktop.DBus.Error.NotSupported"
# The seconds that a call may take.
LIMIT = 10.0
# Errors that clients take for a missing object.
ABSENT = {NO_SUCH_OBJECT, "org.freedesktop.DBus.Error.UnknownMethod"}


class Failure(Exception):
    """An error answer."""

    def __init__(self, name, message):
        super().__init__(f"{name}: {message}")
        self.name, self.message = name, message


@contextlib.contextmanager
def acting_as(session):
    """Takes the session's user for a moment, because a bus sees the user of a new connection. At the end, the process
    is root again."""
    if os.getuid() == session.uid:
        yield
        return
    os.setresuid(session.uid, session.uid, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def octets(value):
    """A D-Bus byte array (`ay`). The function makes no Python object for each byte, because some arrays are large."""
    return GLib.Variant.new_from_bytes(GLib.VariantType("ay"), GLib.Bytes.new(value), True)


def attributes_of(value):
    return GLib.Variant("a{ss}", value)


class Peer:
    """One connection to the session's bus."""

    def __init__(self, session):
        self.session = session
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        with acting_as(session):
            address = session.environment["DBUS_SESSION_BUS_ADDRESS"]
            self.bus = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
        self.name = self.bus.get_unique_name()
        self.signals = []
        self._plain = None
        # The subscription covers broadcasts and signals to this peer. The bus delivers a signal to one peer without a
        # match rule.
        self.bus.signal_subscribe(SECRETS, None, None, None, None, Gio.DBusSignalFlags.NONE, self._heard)
        self.bus.call_sync(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId", None, None, 0, 10000, None
        )

    def _heard(self, _bus, _sender, path, interface, member, parameters):
        self.signals.append((path, interface, member, parameters.unpack()))

    def close(self):
        self.bus.close_sync(None)

    # MARK: calls

    def raw(self, path, interface, method, parameters=None):
        """The answer as a variant."""
        began = time.monotonic()
        try:
            return self.bus.call_sync(
                SECRETS, path, interface, method, parameters, None, Gio.DBusCallFlags.NONE, int(seconds(LIMIT) * 1000), None
            )
        except GLib.Error as error:
            name = Gio.DBusError.get_remote_error(error)
            assert name is not None, f"{method} at {path} after {time.monotonic() - began:.1f} s: {error.message}"
            Gio.DBusError.strip_remote_error(error)
            raise Failure(name, error.message) from None

    def call(self, path, interface, method, signature=None, *arguments):
        """The values of the answer: None, a single value, or a tuple."""
        parameters = GLib.Variant(signature, arguments) if signature else None
        values = self.raw(path, interface, method, parameters).unpack()
        return values[0] if len(values) == 1 else values or None

    def error(self, path, interface, method, signature=None, *arguments):
        """The name of the error. Raises an exception if the call succeeds."""
        return self.failure(path, interface, method, signature, *arguments).name

    def failure(self, path, interface, method, signature=None, *arguments):
        try:
            answer = self.call(path, interface, method, signature, *arguments)
        except Failure as failure:
            return failure
        raise AssertionError(f"{method} at {path} answered {answer}")

    def get(self, path, interface, name):
        return self.call(path, PROPERTIES, "Get", "(ss)", interface, name)

    def all(self, path, interface):
        return self.call(path, PROPERTIES, "GetAll", "(s)", interface)

    def set(self, path, interface, name, signature, value):
        return self.call(path, PROPERTIES, "Set", "(ssv)", interface, name, GLib.Variant(signature, value))

    # MARK: signals

    def listen(self, seconds=0.0):
        """Reads all signals that have arrived, and those that arrive within the time."""
        context = GLib.MainContext.default()
        end = time.monotonic() + seconds
        while True:
            while context.iteration(False):
                pass
            if time.monotonic() >= end:
                return self.signals
            time.sleep(0.01)

    def wait_for(self, condition, what):
        """The first signal that fits. Signals that arrived earlier count too."""
        limit = Limit(LIMIT)
        while not limit.is_over:
            for signal in self.listen(0.02):
                if condition(signal):
                    return signal
        raise AssertionError(f"no {what} in {limit.seconds:.0f} s, but {self.signals}")

    def wait_for_member(self, member, path=None):
        return self.wait_for(lambda signal: signal[2] == member and path in (None, signal[0]), member)[3]

    def wait_for_property(self, name, path):
        """The new value in the first signal about the property."""
        told = self.wait_for(
            lambda signal: signal[0] == path and signal[2] == "PropertiesChanged" and name in signal[3][1],
            f"new {name}",
        )
        return told[3][1][name]

    def property_changes(self, path):
        """All changed values and invalidated names at the path, from all signals so far."""
        # The daemon answers this call after it has sent all earlier signals, so the signals have arrived by now.
        self.call(ROOT, "org.freedesktop.DBus.Peer", "Ping")
        changed, invalidated = {}, set()
        for where, _, member, arguments in self.listen(0.2):
            if member == "PropertiesChanged" and where == path:
                changed.update(arguments[1])
                invalidated.update(arguments[2])
        return changed, invalidated

    # MARK: the Secret Service

    @property
    def plain(self):
        """An unencrypted transport session of this connection."""
        if self._plain is None:
            output, self._plain = self.open_plain()
            assert output == ""
        return self._plain

    def open_plain(self):
        return self.call(ROOT, SERVICE, "OpenSession", "(sv)", "plain", GLib.Variant("s", ""))

    def secret(self, value, session=None, content_type="text/plain"):
        """The structure Secret."""
        return GLib.Variant.new_tuple(
            GLib.Variant("o", session or self.plain),
            octets(b""),
            octets(value.encode() if isinstance(value, str) else value),
            GLib.Variant("s", content_type),
        )

    def create(self, value, attributes, label="Test", replace=True, collection=DEFAULT, session=None):
        """Calls CreateItem, and returns the item's path."""
        properties = {ITEM + ".Label": GLib.Variant("s", label), ITEM + ".Attributes": attributes_of(attributes)}
        return self.create_raw(properties, self.secret(value, session), replace, collection)

    def create_raw(self, properties, secret, replace=True, collection=DEFAULT):
        parameters = GLib.Variant.new_tuple(
            GLib.Variant("a{sv}", properties), secret, GLib.Variant("b", replace)
        )
        item, prompt = self.raw(collection, COLLECTION, "CreateItem", parameters).unpack()
        assert prompt == NOTHING
        return item

    def create_error(self, *arguments, **options):
        try:
            item = self.create(*arguments, **options)
        except Failure as failure:
            return failure
        raise AssertionError(f"CreateItem made {item}")

    def read(self, item, session=None):
        """Calls GetSecret, and returns the bytes."""
        answer = self.raw(item, ITEM, "GetSecret", GLib.Variant("(o)", (session or self.plain,)))
        secret = answer.get_child_value(0)
        assert secret.get_child_value(0).unpack() == (session or self.plain)
        assert secret.get_child_value(1).n_children() == 0
        return secret.get_child_value(2).get_data_as_bytes().get_data() or b""

    def read_error(self, item, session=None):
        return self.error(item, ITEM, "GetSecret", "(o)", session or self.plain)

    def write(self, item, value, session=None):
        self.raw(item, ITEM, "SetSecret", GLib.Variant.new_tuple(self.secret(value, session)))

    def write_error(self, item, value, session=None):
        try:
            self.write(item, value, session)
        except Failure as failure:
            return failure.name
        raise AssertionError("SetSecret succeeded")

    def search(self, attributes):
        """Unlocked paths and locked paths."""
        return self.call(ROOT, SERVICE, "SearchItems", "(a{ss})", attributes)

    def prompts(self):
        """The names of the prompts of all clients."""
        told = self.call(ROOT + "/prompt", "org.freedesktop.DBus.Introspectable", "Introspect")
        return [node.get("name") for node in ElementTree.fromstring(told).findall("node")]

    def unlock(self, *paths):
        return self.call(ROOT, SERVICE, "Unlock", "(ao)", paths)

    def prompt(self, path):
        """Calls the prompt. Returns whether the prompt was dismissed, and the typed result."""
        results = []

        def completed(_bus, _sender, _path, _interface, _member, parameters):
            result = parameters.get_child_value(1).get_variant()
            results.append((parameters.get_child_value(0).unpack(), result.get_type_string(), result.unpack()))

        subscription = self.bus.signal_subscribe(
            SECRETS, PROMPT, "Completed", path, None, Gio.DBusSignalFlags.NONE, completed
        )
        try:
            self.call(path, PROMPT, "Prompt", "(s)", "")
            limit = Limit(LIMIT)
            while not results:
                assert not limit.is_over, "the prompt does not complete"
                self.listen(0.01)
        finally:
            self.bus.signal_unsubscribe(subscription)
        assert len(results) == 1
        return results[0]

    def activate_screen_saver(self, active):
        """Sends the signal of a screen locker on the session bus."""
        self.bus.emit_signal(
            None, "/org/gnome/ScreenSaver", "org.gnome.ScreenSaver", "ActiveChanged", GLib.Variant("(b)", (active,))
        )
        self.bus.flush_sync(None)
