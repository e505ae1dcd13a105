"""Replaces the mock services of libsecret's tests. This program forwards their calls to the session's real Secret
Service.

The tests name objects by the mock's paths, such as /org/freedesktop/secrets/collection/english/1. This program creates
the same collections and items in the real service. The real service chooses other paths, so the program translates
paths in both directions. The program's file name tells which mock it replaces. The program prints its bus name, as a
mock does, and runs until it is killed.

SUITES_UNLOCK is a shell command that unlocks everything in the real service. Without the command, the program calls a
prompt.
"""

import os
import pathlib
import subprocess
import sys

from jeepney import DBusAddress, HeaderFields, MatchRule, MessageType, new_error, new_method_call, new_method_return, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

NAME = "org.freedesktop.secrets"
ROOT = "/org/freedesktop/secrets"
COLLECTION = f"{ROOT}/collection/"
SERVICE_INTERFACE = "org.freedesktop.Secret.Service"
COLLECTION_INTERFACE = "org.freedesktop.Secret.Collection"
ITEM_INTERFACE = "org.freedesktop.Secret.Item"
NOTHING = "/"
# A call that never ends. The caller gives up earlier.
HANGING = 600

SCHEMA, PRIMES = "org.mock.Schema", "org.mock.Primes"


def numbered(number, string, schema=SCHEMA, **more):
    named = {"number": number, "string": string, **more}
    return named | ({"xdg:schema": schema} if schema else {})


# The contents of a mock. Each collection has a label, a lock state, and items (label, secret, attributes).
STANDARD = {
    "english": ("Collection One", False, {
        "1": ("Item One", "111", numbered("1", "one", even="false")),
        "2": ("Item Two", "222", numbered("2", "two", even="true")),
        "3": ("Item Three", "333", numbered("3", "three", even="false")),
    }),
    "spanish": ("Collection", True, {
        "10": ("Item", "111", numbered("1", "uno", even="false")),
        "20": ("Item", "222", numbered("2", "dos", even="true")),
        "30": ("Item", "3333", numbered("3", "tres", even="false")),
    }),
    "german": ("Collection", True, {
        "300": ("Item", "333", numbered("3", "drei", PRIMES, prime="true")),
        "400": ("Item", "444", numbered("4", "vier", PRIMES, prime="false")),
        "500": ("Item", "555", numbered("5", "fuenf", PRIMES, prime="true")),
        "600": ("Item", "666", numbered("6", "sechs", PRIMES, prime="false")),
    }),
    "empty": ("Collection", False, {}),
}


def pair(first, second):
    """The standard collections, and two more for tests of locks and deletions."""
    return STANDARD | {
        first: ("Collection", False, {
            "item": ("Item", "uno", numbered("1", "one", None, even="false")),
            "confirm": ("Item", "dos", numbered("2", "two", None, even="true")),
        }),
        second: ("Collection", True, {"locked": ("Item", "tres", numbered("3", "three", None, even="false"))}),
    }


MOCKS = {
    "normal": STANDARD,
    "only-plain": STANDARD,
    "lock": pair("lockone", "lockprompt"),
    "delete": pair("todelete", "twodelete"),
    "empty": {},
}


class Fixture:
    """A connection to the bus of the tests and the real service, and the table of paths."""

    def __init__(self, mock):
        self._mock = mock
        self._bus = open_dbus_connection("SESSION")
        self._real, self._theirs = {}, {}
        self._pending = {}
        self._held = []
        rule = MatchRule(type="signal", sender=NAME)
        self._bus.send_and_get_reply(message_bus.AddMatch(rule))
        self._session = self._call(ROOT, SERVICE_INTERFACE, "OpenSession", "sv", ("plain", ("s", "")))[1]
        self._clear()
        for name, contents in MOCKS[mock].items():
            self._create(name, *contents)
        if "english" in MOCKS[mock]:
            self._call(ROOT, SERVICE_INTERFACE, "SetAlias", "so", ("default", self._real[COLLECTION + "english"]))
        else:
            self._call(ROOT, SERVICE_INTERFACE, "SetAlias", "so", ("default", NOTHING))
        print(self._bus.unique_name, flush=True)

    # MARK: contents

    def _clear(self):
        """Deletes the objects of the previous test."""
        kept = {self._call(ROOT, SERVICE_INTERFACE, "ReadAlias", "s", (alias,))[0] for alias in ("login", "session")}
        left = [path for path in self._collections() if path not in kept and not path.endswith(("/login", "/session"))]
        if left and "SUITES_UNLOCK" in os.environ:
            subprocess.run(os.environ["SUITES_UNLOCK"], shell=True, check=True, stdout=subprocess.DEVNULL)
        # One prompt unlocks all collections.
        self._prompted(ROOT, SERVICE_INTERFACE, "Unlock", "ao", (left,))
        for path in left:
            self._prompted(path, COLLECTION_INTERFACE, "Delete")
        [session] = self._call(ROOT, SERVICE_INTERFACE, "ReadAlias", "s", ("session",))
        if session != NOTHING:
            self._map(COLLECTION + "session", session)

    def _collections(self):
        [(_, paths)] = self._call(
            ROOT, "org.freedesktop.DBus.Properties", "Get", "ss", (SERVICE_INTERFACE, "Collections"))
        return paths

    def _create(self, name, label, locked, items):
        properties = {f"{COLLECTION_INTERFACE}.Label": ("s", label)}
        path = self._prompted(ROOT, SERVICE_INTERFACE, "CreateCollection", "a{sv}s", (properties, ""))
        for item, (item_label, secret, attributes) in items.items():
            properties = {f"{ITEM_INTERFACE}.Label": ("s", item_label), f"{ITEM_INTERFACE}.Attributes": ("a{ss}", attributes)}
            value = (self._session, b"", secret.encode(), "text/plain")
            made, _ = self._call(path, COLLECTION_INTERFACE, "CreateItem", "a{sv}(oayays)b", (properties, value, False))
            self._map(f"{COLLECTION}{name}/{item}", made)
        if locked:
            self._prompted(ROOT, SERVICE_INTERFACE, "Lock", "ao", ([path],))
        self._map(COLLECTION + name, path)

    def _prompted(self, *call):
        """The result of a call that may return a prompt. If the call returns a prompt, the program calls the prompt."""
        # gnome-keyring sometimes dismisses a prompt.
        for _ in range(3):
            *result, prompt = self._call(*call)
            if prompt == NOTHING:
                return result[0] if result else None
            address = DBusAddress(prompt, NAME, "org.freedesktop.Secret.Prompt")
            self._bus.send(new_method_call(address, "Prompt", "s", ("",)))
            while True:
                message = self._bus.receive(timeout=HANGING)
                fields = message.header.fields
                if (fields.get(HeaderFields.path), fields.get(HeaderFields.member)) == (prompt, "Completed"):
                    break
            dismissed, (_, value) = message.body
            if not dismissed:
                return value
        raise RuntimeError(f"nobody answered the prompt of {call}")

    def _call(self, path, interface, member, signature=None, body=()):
        message = new_method_call(DBusAddress(path, NAME, interface), member, signature, body)
        reply = self._bus.send_and_get_reply(message, timeout=HANGING)
        assert reply.header.message_type is not MessageType.error, f"{member} of {path}: {reply.body}"
        return reply.body

    # MARK: paths

    def _map(self, theirs, real):
        self._real[theirs], self._theirs[real] = real, theirs

    @staticmethod
    def _translate(value, paths):
        """The value with all its paths translated."""
        again = lambda value: Fixture._translate(value, paths)  # noqa: E731
        if isinstance(value, str) and value.startswith(COLLECTION):
            if value in paths:
                return paths[value]
            folder, _, name = value.rpartition("/")
            return f"{paths[folder]}/{name}" if folder in paths else value
        if isinstance(value, (tuple, list)):
            return type(value)(map(again, value))
        return {again(key): again(one) for key, one in value.items()} if isinstance(value, dict) else value

    def _only_known(self, body):
        """The property Collections without the collections that the tests do not know."""
        known = lambda paths: [path for path in paths if path in self._theirs]  # noqa: E731
        match body:
            case (("ao", paths),):
                return (("ao", known(paths)),)
            case ({"Collections": ("ao", paths)},):
                return (body[0] | {"Collections": ("ao", known(paths))},)
        return body

    # MARK: messages

    def run(self):
        while True:
            message = self._bus.receive()
            kind = message.header.message_type
            if kind is MessageType.method_call:
                self._forward(message)
            elif kind in (MessageType.method_return, MessageType.error):
                self._answer(message)
            elif message.header.fields[HeaderFields.path].startswith(ROOT):
                self._held.append(message)
            # A test may end this process as soon as the signal of its own Set arrives. libsecret would then warn about
            # the missing reply, so the reply must come first.
            if not any(call.header.fields[HeaderFields.member] == "Set" for call in self._pending.values()):
                for signal in self._held:
                    self._repeat(signal)
                self._held.clear()

    def _forward(self, call):
        fields = call.header.fields
        if self._mock == "only-plain" and fields[HeaderFields.member] == "OpenSession" and call.body[0] != "plain":
            error = "org.freedesktop.DBus.Error.NotSupported"
            return self._bus.send(new_error(call, error, "s", ("only plain sessions",)))
        address = DBusAddress(self._translate(fields[HeaderFields.path], self._real), NAME, fields.get(HeaderFields.interface))
        body = self._translate(call.body, self._real)
        onward = new_method_call(address, fields[HeaderFields.member], fields.get(HeaderFields.signature), body)
        serial = next(self._bus.outgoing_serial)
        self._pending[serial] = call
        self._bus.send(onward, serial=serial)

    def _answer(self, reply):
        fields = reply.header.fields
        call = self._pending.pop(fields[HeaderFields.reply_serial], None)
        if call is None:
            return
        signature = fields.get(HeaderFields.signature)
        if reply.header.message_type is MessageType.error:
            return self._bus.send(new_error(call, fields[HeaderFields.error_name], signature, reply.body))
        body = reply.body
        if call.header.fields[HeaderFields.path] == ROOT and call.header.fields[HeaderFields.member] in ("Get", "GetAll"):
            body = self._only_known(body)
        self._bus.send(new_method_return(call, signature, self._translate(body, self._theirs)))

    def _repeat(self, signal):
        fields = signal.header.fields
        path = self._translate(fields[HeaderFields.path], self._theirs)
        body = self._translate(signal.body, self._theirs)
        emitter = DBusAddress(path, interface=fields[HeaderFields.interface])
        self._bus.send(new_signal(emitter, fields[HeaderFields.member], fields.get(HeaderFields.signature), body))


if __name__ == "__main__":
    Fixture(pathlib.Path(sys.argv[0]).stem.removeprefix("mock-service-")).run()
