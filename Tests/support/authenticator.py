"""A FIDO2 security key in software. The key handles CTAPHID packets of 64 bytes, and above them CTAP 2.0 with clientPIN
(protocol 1), hmac-secret and credProtect.

The packets come over a socket, to which Shims/authenticator.c connects libfido2. In Tests/Machine the packets come from
/dev/uhid.
"""

import hashlib
import hmac
import os
import socket
import struct
import threading

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

BROADCAST = 0xFFFFFFFF
PING, INIT, CBOR, CANCEL, KEEPALIVE, ERROR = 0x01, 0x06, 0x10, 0x11, 0x3B, 0x3F
MAKE, ASSERT, INFO, PIN = 0x01, 0x02, 0x04, 0x06
(OK, BUSY, INVALID, EXCLUDED, TIMEOUT, NO_CREDENTIALS, PIN_INVALID, PIN_BLOCKED, PIN_AUTH, PIN_PAUSED, NO_PIN, PIN_REQUIRED) = (
    0, 0x06, 0x01, 0x19, 0x2F, 0x2E, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36)  # fmt: skip
TRIES, TRIES_IN_A_ROW = 8, 3


def encoded(value):
    """CBOR in CTAP's canonical form: the shortest encoding, with the keys of a map in order."""
    def head(kind, number):
        for size, mark in ((0, None), (1, 24), (2, 25), (4, 26)):
            if mark is None and number < 24:
                return bytes([kind << 5 | number])
            if mark and number < 1 << 8 * size:
                return bytes([kind << 5 | mark]) + number.to_bytes(size, "big")
        raise ValueError(number)

    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(encoded, value))
    pairs = sorted((encoded(key), encoded(one)) for key, one in value.items())
    pairs.sort(key=lambda pair: (pair[0][0] >> 5, len(pair[0]), pair[0]))
    return head(5, len(pairs)) + b"".join(key + one for key, one in pairs)


def decoded(content):
    value, rest = _item(content)
    assert not rest
    return value


def _item(content):
    kind, number, content = content[0] >> 5, content[0] & 31, content[1:]
    if kind == 7:
        return {20: False, 21: True, 22: None}[number], content
    if number >= 24:
        size = 1 << number - 24
        number, content = int.from_bytes(content[:size], "big"), content[size:]
    if kind < 2:
        return (number if kind == 0 else -1 - number), content
    if kind < 4:
        return (content[:number] if kind == 2 else content[:number].decode()), content[number:]
    items = []
    for _ in range(number * (kind - 3)):
        item, content = _item(content)
        items.append(item)
    return (items if kind == 4 else dict(zip(items[::2], items[1::2]))), content


def cose(key, algorithm):
    numbers = key.public_numbers()
    return {1: 2, 3: algorithm, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def mac(key, *parts):
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()


class Refused(Exception):
    pass


class Authenticator:
    """A security key with or without a PIN. `touches` is the behavior of the person: True touches, False lets the touch
    time out, and a function runs instead of a touch. With `is_busy`, the key refuses every command, as while another
    program uses it. `asked` counts the commands, and `touched` counts the touches."""

    def __init__(self, pin="1234", extensions=("credProtect", "hmac-secret")):
        self.pin, self.extensions = pin, list(extensions)
        self.tries, self.row = TRIES, 0
        self.credentials, self.counter = {}, 0
        self.touches, self.is_busy = True, False
        self.asked, self.touched = [], 0
        self.keepalive = lambda: None
        self._token = os.urandom(32)
        self._renew()

    def _renew(self):
        self._agreement = ec.generate_private_key(ec.SECP256R1())

    def plug(self):
        """Plugs the key in again. A key then accepts PINs again."""
        self.row = 0

    def know(self, party):
        """Adds a credential for the party, as if it had been made earlier. Returns the secret of the credential's
        answers with the PIN."""
        ident, random = os.urandom(64), {True: os.urandom(32), False: os.urandom(32)}
        self.credentials[ident] = {
            "party": party, "protection": 3, "key": ec.generate_private_key(ec.SECP256R1()), "random": random}
        return ident, random[True]

    # MARK: CTAP

    def answer(self, request):
        self.asked.append(request[0])
        try:
            work = {INFO: self._info, PIN: self._client_pin, MAKE: self._make, ASSERT: self._assert}.get(request[0])
            if work is None:
                raise Refused(INVALID)
            return bytes([OK]) + work(decoded(request[1:]) if request[1:] else {})
        except Refused as refused:
            return bytes([refused.args[0]])

    def _info(self, _):
        return encoded({
            1: ["FIDO_2_0"], 2: self.extensions, 3: bytes(16), 4: {"rk": True, "up": True, "clientPin": self.pin is not None},
            5: 1200, 6: [1],
        })

    def _shared(self, point):
        public = ec.EllipticCurvePublicNumbers(
            int.from_bytes(point[-2], "big"), int.from_bytes(point[-3], "big"), ec.SECP256R1()).public_key()
        return sha256(self._agreement.exchange(ec.ECDH(), public))

    @staticmethod
    def _cipher(key):
        return Cipher(algorithms.AES(key), modes.CBC(bytes(16)))

    def _client_pin(self, fields):
        if fields[2] == 1:
            return encoded({3: self.tries})
        if fields[2] == 2:
            return encoded({1: cose(self._agreement.public_key(), -25)})
        assert fields[2] == 5
        if self.pin is None:
            raise Refused(NO_PIN)
        if self.tries == 0:
            raise Refused(PIN_BLOCKED)
        if self.row == TRIES_IN_A_ROW:
            raise Refused(PIN_PAUSED)
        shared = self._shared(fields[3])
        decryptor = self._cipher(shared).decryptor()
        if decryptor.update(fields[6]) != sha256(self.pin.encode())[:16]:
            self.tries, self.row = self.tries - 1, self.row + 1
            self._renew()
            raise Refused(PIN_BLOCKED if self.tries == 0 else PIN_PAUSED if self.row == TRIES_IN_A_ROW else PIN_INVALID)
        self.tries, self.row = TRIES, 0
        return encoded({2: self._cipher(shared).encryptor().update(self._token)})

    def _verified(self, data, proof):
        """Whether the PIN was right."""
        if proof is None:
            return False
        if not hmac.compare_digest(mac(self._token, data)[:16], proof):
            raise Refused(PIN_AUTH)
        return True

    def _touch(self):
        self.keepalive()
        if callable(self.touches):
            self.touches()
        elif not self.touches:
            raise Refused(TIMEOUT)
        self.touched += 1

    def _found(self, party, listed, verified):
        """The first listed credential of the party that this key has. Some credentials need the PIN, which `verified` reports."""
        for one in listed:
            known = self.credentials.get(one["id"])
            if known and known["party"] == party and (verified or known["protection"] < 3):
                return one["id"], known
        return None, None

    def _make(self, fields):
        verified = self._verified(fields[1], fields.get(8))
        if not verified and self.pin is not None:
            raise Refused(PIN_REQUIRED)
        party = fields[2]["id"]
        if self._found(party, fields.get(5, []), verified)[0]:
            self._touch()
            raise Refused(EXCLUDED)
        self._touch()
        wanted = fields.get(6, {})
        ident, _ = self.know(party)
        made = self.credentials[ident]
        made["protection"] = wanted.get("credProtect", 1)
        told = {name: wanted[name] for name in ("credProtect", "hmac-secret") if name in wanted}
        data = self._data(party, 0xC1 | verified << 2)
        data += bytes(16) + struct.pack(">H", len(ident)) + ident + encoded(cose(made["key"].public_key(), -7)) + encoded(told)
        signature = made["key"].sign(data + fields[1], ec.ECDSA(hashes.SHA256()))
        return encoded({1: "packed", 2: data, 3: {"alg": -7, "sig": signature}})

    def _data(self, party, flags):
        self.counter += 1
        return sha256(party.encode()) + bytes([flags]) + struct.pack(">I", self.counter)

    def _assert(self, fields):
        verified = self._verified(fields[2], fields.get(6))
        ident, known = self._found(fields[1], fields.get(3, []), verified)
        present = fields.get(5, {}).get("up", True)
        if known is None:
            raise Refused(NO_CREDENTIALS)
        if present:
            self._touch()
        extensions = fields.get(4, {})
        data = self._data(fields[1], present | verified << 2 | (0x80 if extensions else 0))
        if "hmac-secret" in extensions:
            data += encoded({"hmac-secret": self._secret(known["random"][verified], extensions["hmac-secret"])})
        signature = known["key"].sign(data + fields[2], ec.ECDSA(hashes.SHA256()))
        return encoded({1: {"id": ident, "type": "public-key"}, 2: data, 3: signature})

    def _secret(self, random, asked):
        shared = self._shared(asked[1])
        if mac(shared, asked[2])[:16] != asked[3]:
            raise Refused(PIN_AUTH)
        decryptor = self._cipher(shared).decryptor()
        return self._cipher(shared).encryptor().update(mac(random, decryptor.update(asked[2])))

    # MARK: CTAPHID

    def serve(self, receive, send):
        """Answers packets of 64 bytes until none come any more."""
        waiting, channels = {}, 0
        while packet := receive():
            channel, command = struct.unpack(">IB", packet[:5])
            if command & 0x80:
                size, content, wanted = struct.unpack(">H", packet[5:7])[0], packet[7:], command & 0x7F
            elif channel in waiting:
                wanted, size, content = waiting[channel]
                content += packet[5:]
            else:
                continue
            if len(content) < size:
                waiting[channel] = (wanted, size, content)
                continue
            waiting.pop(channel, None)
            content = content[:size]
            if wanted == INIT:
                channels += 1
                self._send(send, channel, INIT, content + struct.pack(">IBBBBB", channels, 2, 1, 0, 0, 0x04 | 0x08))
            elif self.is_busy:
                self._send(send, channel, ERROR, bytes([BUSY]))
            elif wanted == PING:
                self._send(send, channel, PING, content)
            elif wanted == CBOR:
                self.keepalive = lambda: self._send(send, channel, KEEPALIVE, b"\2")
                self._send(send, channel, CBOR, self.answer(content))

    @staticmethod
    def _send(send, channel, command, content):
        head = struct.pack(">IBH", channel, command | 0x80, len(content))
        send((head + content[:57]).ljust(64, b"\0"))
        for number, start in enumerate(range(57, len(content), 59)):
            send((struct.pack(">IB", channel, number) + content[start : start + 59]).ljust(64, b"\0"))


class Socket:
    """A plugged-in key at a socket, for Shims/authenticator.c."""

    def __init__(self, authenticator, path):
        self.authenticator, self.path = authenticator, str(path)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(self.path)
        os.chmod(self.path, 0o666)
        self._listener.listen(4)
        self._connection = None
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                self._connection, _ = self._listener.accept()
                # The first byte is the report number.
                self.authenticator.serve(lambda: self._connection.recv(65)[1:], self._connection.send)
            except OSError:
                if not os.path.exists(self.path):
                    return

    def pull(self):
        """Unplugs the key. Waiting programs get no answer."""
        os.unlink(self.path)
        self._listener.close()
        if self._connection:
            self._connection.shutdown(socket.SHUT_RDWR)
