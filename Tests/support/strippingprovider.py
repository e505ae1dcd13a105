#!/usr/bin/python3
"""A provider with one item. The provider strips the leading zeros of a shared secret, as KWallet does. It chooses its
keys so that only the first of every two sessions has such zeros. It prints each opening and closing of a session.

Debian: python3-gi, python3-cryptography.
"""

import hmac
import secrets

from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from gi.repository import Gio, GLib
from support.secretclient import PRIME

ROOT = "/org/freedesktop/secrets"
HOME, ITEM = ROOT + "/collection/a", ROOT + "/collection/a/1"
PROPERTIES = {
    ROOT: {"Collections": GLib.Variant("ao", [HOME])},
    HOME: {"Label": GLib.Variant("s", "A"), "Locked": GLib.Variant("b", False), "Items": GLib.Variant("ao", [ITEM])},
    ITEM: {"Label": GLib.Variant("s", "One"), "Attributes": GLib.Variant("a{ss}", {"a": "b"})},
}
keys = []


def say(text):
    print(text, flush=True)


def open_session(theirs):
    wanted = len(keys) % 2 == 0
    own = secrets.randbelow(PRIME // 2) + 2
    shared = pow(theirs, own, PRIME)
    # One key in 256 gives leading zeros. The next candidate costs only a multiplication, because the client does not
    # wait long for the answer.
    while (shared >> 1016 == 0) != wanted:
        own, shared = own + 1, shared * theirs % PRIME
    stripped = shared.to_bytes((shared.bit_length() + 7) // 8, "big")
    # HKDF-SHA256 without salt and info, one block.
    keys.append(hmac.digest(hmac.digest(bytes(32), stripped, "sha256"), b"\1", "sha256")[:16])
    say(f"session {len(keys)}: {'zeros' if wanted else 'none'}")
    public = GLib.Variant("ay", pow(2, own, PRIME).to_bytes(128, "big"))
    return GLib.Variant("(vo)", (public, f"{ROOT}/session/{len(keys)}"))


def number(session):
    return int(session.rpartition("/")[2])


def secret(session):
    iv = secrets.token_bytes(16)
    padder = padding.PKCS7(128).padder()
    cipher = Cipher(algorithms.AES(keys[number(session) - 1]), modes.CBC(iv)).encryptor()
    sealed = cipher.update(padder.update(b"a secret") + padder.finalize())
    return GLib.Variant("((oayays))", ((session, iv, sealed, "text/plain"),))


def answer(member, path, body):
    match member:
        case "OpenSession":
            return open_session(int.from_bytes(bytes(body[1]), "big"))
        case "Close":
            return say(f"closed {number(path)}")
        case "ReadAlias":
            return GLib.Variant("(o)", (HOME,))
        case "GetAll":
            return GLib.Variant("(a{sv})", (PROPERTIES[path],))
        case "GetSecret":
            return secret(body[0])


def filtered(connection, message, is_incoming):
    if not is_incoming or message.get_message_type() != Gio.DBusMessageType.METHOD_CALL:
        return message
    reply = Gio.DBusMessage.new_method_reply(message)
    body = message.get_body()
    result = answer(message.get_member(), message.get_path(), body.unpack() if body is not None else ())
    if result is not None:
        reply.set_body(result)
    connection.send_message(reply, Gio.DBusSendMessageFlags.NONE)
    return None


if __name__ == "__main__":
    bus = Gio.bus_get_sync(Gio.BusType.SESSION)
    bus.add_filter(filtered)
    Gio.bus_own_name_on_connection(bus, "org.freedesktop.secrets", 0, lambda *_: say("ready"), None)
    GLib.MainLoop().run()
