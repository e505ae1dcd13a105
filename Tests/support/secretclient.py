#!/usr/bin/python3
"""A client of the Secret Service with its own cryptography for transport sessions. The client reveals the session keys.

Each line of standard input is a request, a JSON object with "do". For each request the client prints a line of JSON:
the result, or {"error": NAME}. Large secrets do not travel on these lines, because a secret is a text that is repeated
up to a size. Debian: python3-jeepney, python3-cryptography.
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
    """The service answered with an error of this name."""


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
        """Opens a transport session. Returns the session's path and, in hexadecimal, the AES key and the shared number.
        """
        if algorithm == PLAIN:
            _, path = self._call("/org/freedesktop/secrets", "Service", "OpenSession", "sv", (PLAIN, ("s", "")))
            self._keys[path] = None
            return {"session": path}
        own = secrets.randbelow(PRIME - 3) + 2
        return self._agree(own, pow(2, own, PRIME).to_bytes(128, "big"))

    def _agree(self, own, public):
        """Opens an encrypted session with this private key. `public` is the public key in the form to send."""
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
        """Opens this many encrypted sessions, with public keys of every length. In each session, the client sets a
        secret and reads the secret back.

        Returns how many secrets came back unchanged, how many shared secrets and public keys of the service began with
        a zero byte, and how often the client sent each length of a public key."""
        told = {"right": 0, "zeros": 0, "short": 0, "lengths": {}}
        for number in range(count):
            # Powers of two are short public keys with a known private key. The steps cover every length.
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
        """From now on uses another client's plain session."""
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
        """Calls CreateItem, and returns the item's path."""
        properties = {f"{INTERFACE}.Item.Label": ("s", label), f"{INTERFACE}.Item.Attributes": ("a{ss}", attributes)}
        body = (properties, self._seal(session, repeated(text, size)), replace)
        path = f"/org/freedesktop/secrets/collection/{collection}"
        return {"item": self._call(path, "Collection", "CreateItem", "a{sv}(oayays)b", body)[0]}

    def set(self, session, item, text, size=None):
        """Calls SetSecret."""
        self._call(item, "Item", "SetSecret", "(oayays)", (self._seal(session, repeated(text, size)),))
        return {}

    def get(self, session, item):
        """Calls GetSecret. Returns the secret's size and its SHA-256."""
        secret = self._unseal(self._call(item, "Item", "GetSecret", "o", (session,))[0])
        return {"size": len(secret), "hash": hashlib.sha256(secret).hexdigest()}

    def get_all(self, session, items):
        """Calls GetSecrets. Returns the sizes of the readable secrets, by item."""
        found = self._call("/org/freedesktop/secrets", "Service", "GetSecrets", "aoo", (items, session))[0]
        return {"sizes": {path: len(self._unseal(secret)) for path, secret in dict(found).items()}}

    def search(self, attributes):
        """Calls SearchItems. Returns the readable and the locked items."""
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
        """Calls CreateCollection, and returns its path."""
        body = ({f"{INTERFACE}.Collection.Label": ("s", label)}, "")
        return {"collection": self._call("/org/freedesktop/secrets", "Service", "CreateCollection", "a{sv}s", body)[0]}

    def delete_collection(self, path):
        """Deletes a collection."""
        self._call(path, "Collection", "Delete")
        return {}

    def lock(self, path):
        """Locks one collection."""
        self._call("/org/freedesktop/secrets", "Service", "Lock", "ao", ([path],))
        return {}

    def screen_saver(self, active):
        """Sends the signal of a screen saver that starts or ends."""
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
