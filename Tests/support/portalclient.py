#!/usr/bin/python3
"""A sandboxed application that asks the Secret portal for its secret, as libsecret does in a Flatpak.

The program prints the handle of its request, then the response and the secret in hexadecimal. With `close`, the program
closes the request when a line arrives on standard input. Debian: python3-jeepney.
"""

import os
import secrets
import sys

from jeepney import DBusAddress, HeaderFields, MatchRule, MessageType, message_bus, new_method_call
from jeepney.io.blocking import Proxy, open_dbus_connection
from support.pace import seconds

FRONTEND = "org.freedesktop.portal.Desktop"
REQUEST = "org.freedesktop.portal.Request"
PORTAL = DBusAddress(
    "/org/freedesktop/portal/desktop", bus_name=FRONTEND, interface="org.freedesktop.portal.Secret"
)


def main():
    bus = open_dbus_connection("SESSION", enable_fds=True)
    token = "t" + secrets.token_hex(4)
    handle = f"/org/freedesktop/portal/desktop/request/{bus.unique_name[1:].replace('.', '_')}/{token}"
    rule = MatchRule(type="signal", interface=REQUEST, member="Response", path=handle)
    Proxy(message_bus, bus).AddMatch(rule)
    reading, writing = os.pipe()
    with bus.filter(rule) as responses:
        call = new_method_call(PORTAL, "RetrieveSecret", "ha{sv}", (writing, {"handle_token": ("s", token)}))
        reply = bus.send_and_get_reply(call, timeout=seconds(30))
        os.close(writing)
        if reply.header.message_type == MessageType.error:
            sys.exit(f"{reply.header.fields[HeaderFields.error_name]}: {reply.body}")
        assert reply.body == (handle,)
        print(handle, flush=True)
        if sys.argv[1:] == ["close"]:
            sys.stdin.readline()
            bus.send_and_get_reply(new_method_call(DBusAddress(handle, FRONTEND, REQUEST), "Close"), timeout=seconds(30))
            secret = read_all(reading)
            print("closed", secret.hex(), flush=True)
            return
        response, results = bus.recv_until_filtered(responses, timeout=seconds(100)).body
    assert results == {}
    print(response, read_all(reading).hex(), flush=True)


def read_all(descriptor):
    """Reads to the end. So no other process may hold the other end of the pipe."""
    with os.fdopen(descriptor, "rb") as pipe:
        return pipe.read()


if __name__ == "__main__":
    main()
