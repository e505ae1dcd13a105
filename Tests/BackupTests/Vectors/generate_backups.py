#!/usr/bin/env python3
"""Makes backups.json. This implementation of FORMAT.md, "Backups", shares no code with Latchkey.

Everything random is a fixed byte pattern here, so the output is always the same. The tests do not run this program. To run it,
with python3-nacl and python3-argon2:

    python3 generate_backups.py > backups.json
"""

import json
import pathlib
import sys
from hashlib import blake2b

from nacl.bindings import (
    crypto_secretstream_xchacha20poly1305_init_pull as init_stream,
    crypto_secretstream_xchacha20poly1305_push as push,
    crypto_secretstream_xchacha20poly1305_state as Stream,
)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "KeybagTests/Vectors"))
from generate_keybags import MIB, argon2id, kdf, pattern, seal, u8, u16, u32, u64  # noqa: E402

FINAL = 3


def long(raw):
    return u32(len(raw)) + raw


def metadata(label, attributes, content_type="text/plain", flags=0):
    plain = bytes(16) + u32(flags) + u16(len(content_type)) + content_type.encode() + long(label.encode())
    plain += u32(len(attributes))
    for name, value in sorted(attributes.items()):
        plain += long(name.encode()) + long(value.encode())
    return plain + bytes(-len(plain) % 64)


def record(kind, head, secret=b""):
    return u8(kind) + u32(len(head)) + u32(len(secret)) + head + secret


def text16(text):
    return u16(len(text)) + text.encode()


class Backup:
    def __init__(self, name, passphrase, passes, memory):
        self.name, self.passphrase = name, passphrase
        self.id, salt = pattern(name + " id", 16), pattern(name + " salt", 16)
        self.key = argon2id(passphrase.encode(), salt, passes, memory)
        head = b"LATCHBAK" + u32(1) + self.id + u64(1_700_000_000) + salt + u32(passes) + u64(memory)
        stream = pattern(name + " stream", 24)
        header = head + kdf(self.key, "backup-commitment", head) + stream
        self.header = header + blake2b(header, digest_size=32).digest()
        self.state = Stream()
        # Both ends of a stream begin with the same state. Only the function for the reader accepts a chosen header.
        init_stream(self.state, stream, kdf(self.key, "backup-stream", self.id))
        self.device_key = pattern(name + " device key", 32)
        self.share = pattern(name + " share", 32)
        self.records, self.items, self.collections = b"", [], 0

    def begin(self, with_device):
        context = b"latchkey/1/backup-device" + self.id
        by_share = by_key = b""
        if with_device:
            wrap = kdf(self.share, "backup-device-wrap", self.id)
            by_share = seal(wrap, self.device_key, context, pattern(self.name + " nonce 1", 24))
            by_key = seal(pattern("a device key", 32), self.device_key, context, pattern(self.name + " nonce 2", 24))
        identity = pattern("identity", 16) if with_device else bytes(16)
        head = pattern("a vault", 16) + identity + u16(len(by_key)) + by_key + u16(len(by_share)) + by_share
        self.records += record(1, head)

    def collection(self, label, bits):
        head = pattern(label, 16) + u8(bits) + u64(1_600_000_000) + long(label.encode())
        self.records += record(2, head)
        self.collections += 1

    def item(self, collection, raw, label, attributes, secret):
        number = len(self.items)
        sealing = {6: 0, 7: 0, 8: 0, 9: 1, 10: 1, 11: 3}[raw]
        plain, sealed = metadata(label, attributes), secret
        place = self.id + u8(raw) + u64(number)
        shown = plain
        if sealing:
            associated = text16("latchkey/1/backup-secret") + place + blake2b(plain, digest_size=32).digest()
            sealed = seal(self.device_key, secret, associated, pattern(f"item {number}", 24))
        if sealing == 3:
            associated = text16("latchkey/1/backup-metadata") + place
            shown = seal(self.device_key, plain, associated, pattern(f"metadata {number}", 24))
        head = u32(collection) + u8(raw) + u8(sealing) + u64(1000 + number) + u64(2000 + number) + long(shown)
        self.records += record(3, head, sealed)
        self.items.append({
            "collection": collection, "class": raw, "metadata": plain.hex(), "size": len(secret),
            "secret": blake2b(secret, digest_size=32).hexdigest(), "created": 1000 + number, "modified": 2000 + number,
        })

    def file(self, sizes):
        """The bytes of a backup. `sizes` are the sizes of its chunks in order, and the last chunk has the rest."""
        content = self.records + record(4, u64(len(self.items)) + u32(self.collections))
        out, turn = self.header, 0
        while True:
            size = sizes[turn % len(sizes)]
            turn += 1
            chunk, content = content[:size], content[size:]
            sealed = push(self.state, chunk, self.header, 0 if content else FINAL)
            out += u32(len(sealed)) + sealed
            if not content:
                return {
                    "name": self.name, "passphrase": self.passphrase, "argon2id": self.key.hex(),
                    "deviceKey": self.device_key.hex(), "share": self.share.hex(), "items": self.items,
                    "file": out.hex(),
                }


def everything():
    backup = Backup("every class", "correct horse é", 3, 32 * MIB)
    backup.begin(True)
    backup.collection("Login", 3)
    backup.collection("Wörk", 0x80)
    for raw in (6, 7, 8, 9, 10, 11):
        backup.item(raw % 2, raw, f"Label {raw}", {"a": str(raw), "xdg:schema": "é"}, b"secret %d" % raw)
    backup.item(1, 6, "", {}, b"")
    return backup.file([1, 8, 9, 500])


def empty():
    backup = Backup("nothing but a collection", "x", 4, 33 * MIB)
    backup.begin(False)
    backup.collection("Login", 3)
    return backup.file([32_000])


def large():
    backup = Backup("a large secret", "y", 3, 32 * MIB)
    backup.begin(False)
    backup.collection("Login", 7)
    backup.item(0, 6, "Large", {"size": "70000"}, bytes(n % 251 for n in range(70_000)))
    return backup.file([32_000])


if __name__ == "__main__":
    print(json.dumps([everything(), empty(), large()], indent=1))
