#!/usr/bin/python3
"""A client of the Secret Service with its own session cryptography, which tells the keys it knows.

Reads one request per line (a JSON object with "do") from standard input, and answers each with a line of JSON: what was
asked for, or {"error": NAME}. Large secrets do not travel on these lines: a secret is a text repeated up to a size.
Debian: python3-jeepney, python3-cryptography.
"""

import hashlib
import hmac
import json
import secrets
import sys

from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from jeepney import DBusAddress, HeaderFields, MessageType, Properties, new_method_call, new_signal
from jeepney.io.blocking import open_dbus_connection
from support.pace import seconds

NAME = "org.freedesktop.secrets"
INTERFACE = "org.freedesktop.Secret"
PLAIN, ENCRYPTED = "plain", "dh-ietf1024-sha256-aes128-cbc-pkcs7"
# RFC 2409, second Oakley group.
PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
    "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF",
    16,
)


class Refused(Exception):
    """The service answered with an error, whose name this carries."""


class Client:
    def __init__(self):
        self._bus = open_dbus_connection("SESSION")
        self._keys = {}

    def _call(self, path, interface, method, signature=None, body=()):
        address = DBusAddress(path, bus_name=NAME, interface=f"{INTERFACE}.{interface}")
        return self._body(new_method_call(address, method, signature, body))

    def _body(self, message):
        reply = self._bus.send_and_get_reply(message, timeout=seconds(60))
        if reply.header.message_type == MessageType.error:
            raise Refused(reply.header.fields[HeaderFields.error_name])
        return reply.body

    def open(self, algorithm):
        """A new session: its path and, in hexadecimal, the AES key and the number both sides agreed on."""
        if algorithm == PLAIN:
            _, path = self._call("/org/freedesktop/secrets", "Service", "OpenSession", "sv", (PLAIN, ("s", "")))
            self._keys[path] = None
            return {"session": path}
        own = secrets.randbelow(PRIME - 3) + 2
        return self._agree(own, pow(2, own, PRIME).to_bytes(128, "big"))

    def _agree(self, own, public):
        """A new encrypted session with this private key, and its public one as it is to be sent."""
        output, path = self._call(
            "/org/freedesktop/secrets", "Service", "OpenSession", "sv", (ENCRYPTED, ("ay", public))
        )
        shared = pow(int.from_bytes(output[1], "big"), own, PRIME).to_bytes(128, "big")
        extracted = hmac.new(bytes(32), shared, hashlib.sha256).digest()
        key = hmac.new(extracted, b"\x01", hashlib.sha256).digest()[:16]
        self._keys[path] = key
        told = {"session": path, "key": key.hex(), "shared": shared.hex(), "extracted": extracted.hex()}
        return told | {"public": output[1].hex()}

    def handshakes(self, count, item):
        """That many encrypted sessions, with public keys of every length. In each a secret is set and read back.

        How many came back as they were, how many shared secrets and keys of the service began with a zero byte, and
        how often each length of a public key was sent.
        """
        told = {"right": 0, "zeros": 0, "short": 0, "lengths": {}}
        for number in range(count):
            # Powers of two are the short keys of which anybody knows the private half. The steps leave out no length.
            own = (number // 8 * 5 + secrets.randbelow(3)) % 1023 + 1 if number % 2 else secrets.randbits(160) + 1024
            public = pow(2, own, PRIME)
            least = (public.bit_length() + 7) // 8
            length = (least, 128, 129, least + secrets.randbelow(130 - least))[number // 2 % 4]
            agreed = self._agree(own, public.to_bytes(length, "big"))
            told["lengths"][length] = told["lengths"].get(length, 0) + 1
            told["zeros"] += agreed["shared"].startswith("00")
            told["short"] += len(agreed["public"]) != 256 or agreed["public"].startswith("00")
            session, secret = agreed["session"], secrets.token_bytes(secrets.randbelow(40))
            self._call(item, "Item", "SetSecret", "(oayays)", (self._seal(session, secret),))
            told["right"] += self._unseal(self._call(item, "Item", "GetSecret", "o", (session,))[0]) == secret
            self.close(session)
            del self._keys[session]
        return told

    def close(self, session):
        self._call(session, "Session", "Close")
        return {}

    def borrow(self, session):
        """Uses another client's plain session from now on."""
        self._keys[session] = None
        return {}

    def _seal(self, session, secret):
        key = self._keys[session]
        if key is None:
            return session, b"", secret, "text/plain"
        iv = secrets.token_bytes(16)
        padder = padding.PKCS7(128).padder()
        encryptor = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
        padded = padder.update(secret) + padder.finalize()
        return session, iv, encryptor.update(padded) + encryptor.finalize(), "text/plain"

    def _unseal(self, secret):
        session, iv, value, _ = secret
        key = self._keys[session]
        if key is None:
            return bytes(value)
        decryptor = Cipher(algorithms.AES(key), modes.CBC(bytes(iv))).decryptor()
        unpadder = padding.PKCS7(128).unpadder()
        padded = decryptor.update(bytes(value)) + decryptor.finalize()
        return unpadder.update(padded) + unpadder.finalize()

    def store(self, session, attributes, text, size=None, label="Test", replace=False, collection="login"):
        """CreateItem; the item's path."""
        properties = {f"{INTERFACE}.Item.Label": ("s", label), f"{INTERFACE}.Item.Attributes": ("a{ss}", attributes)}
        body = (properties, self._seal(session, repeated(text, size)), replace)
        path = f"/org/freedesktop/secrets/collection/{collection}"
        return {"item": self._call(path, "Collection", "CreateItem", "a{sv}(oayays)b", body)[0]}

    def set(self, session, item, text, size=None):
        """SetSecret."""
        self._call(item, "Item", "SetSecret", "(oayays)", (self._seal(session, repeated(text, size)),))
        return {}

    def get(self, session, item):
        """GetSecret: the secret's size and its SHA-256."""
        secret = self._unseal(self._call(item, "Item", "GetSecret", "o", (session,))[0])
        return {"size": len(secret), "hash": hashlib.sha256(secret).hexdigest()}

    def get_all(self, session, items):
        """GetSecrets: sizes of those that could be read, by item."""
        found = self._call("/org/freedesktop/secrets", "Service", "GetSecrets", "aoo", (items, session))[0]
        return {"sizes": {path: len(self._unseal(secret)) for path, secret in dict(found).items()}}

    def search(self, attributes):
        """SearchItems: readable and locked items."""
        found = self._call("/org/freedesktop/secrets", "Service", "SearchItems", "a{ss}", (attributes,))
        return {"unlocked": found[0], "locked": found[1]}

    def delete(self, item):
        """Deletes an item."""
        self._call(item, "Item", "Delete")
        return {}

    def relabel(self, item, label):
        """Sets an item's label."""
        address = DBusAddress(item, bus_name=NAME, interface=f"{INTERFACE}.Item")
        self._body(Properties(address).set("Label", "s", label))
        return {}

    def collection(self, label):
        """CreateCollection; its path."""
        body = ({f"{INTERFACE}.Collection.Label": ("s", label)}, "")
        return {"collection": self._call("/org/freedesktop/secrets", "Service", "CreateCollection", "a{sv}s", body)[0]}

    def delete_collection(self, path):
        """Deletes a collection."""
        self._call(path, "Collection", "Delete")
        return {}

    def lock(self, path):
        """Lock of one collection."""
        self._call("/org/freedesktop/secrets", "Service", "Lock", "ao", ([path],))
        return {}

    def screen_saver(self, active):
        """Says what a screen saver says when it goes on or off."""
        emitter = DBusAddress("/org/gnome/ScreenSaver", interface="org.gnome.ScreenSaver")
        self._bus.send(new_signal(emitter, "ActiveChanged", "b", (active,)))
        return {}


def repeated(text, size):
    text = text.encode()
    return text if size is None else (text * (size // len(text) + 1))[:size]


def main():
    client = Client()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(client, request.pop("do"))(**request)
        except Refused as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
