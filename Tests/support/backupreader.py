#!/usr/bin/python3
"""Reads a backup: an implementation of FORMAT.md, "Backups", that shares no code with the programs.

    python3 -m support.backupreader FILE [--device FILE] [--machine HEX] <PASSPHRASE

The reader authenticates everything, and raises Unreadable for any mismatch. Debian: python3-nacl, python3-argon2.
"""

import argparse
import dataclasses
import json
import pathlib
import sys

import nacl.exceptions
from nacl.bindings import (
    crypto_secretstream_xchacha20poly1305_init_pull,
    crypto_secretstream_xchacha20poly1305_pull,
    crypto_secretstream_xchacha20poly1305_state,
)
from support import vaultreader
from support.vaultreader import CLASSES, DeviceKey, Unreadable, blake2b, kdf, number, require, same, text16, unseal

HEADER, CHUNK, MIB = 152, 32_017, 1 << 20
MESSAGE, FINAL = 0, 3
BEGINNING, COLLECTION, ITEM, END = 1, 2, 3, 4
SEALING = {6: 0, 7: 0, 8: 0, 9: 1, 10: 1, 11: 3}


@dataclasses.dataclass
class Item:
    """An item. If another device's key protects the item, its label, attributes and secret may be None."""

    collection: int
    accessibility: str
    created: int
    modified: int
    label: str = None
    attributes: dict = None
    content_type: str = None
    secret: bytes = None


@dataclasses.dataclass
class Collection:
    uuid: bytes
    label: str
    aliases: set
    had_passphrase: bool
    created: int
    name: str = None


class Fields:
    def __init__(self, content):
        self.content, self.at = content, 0

    def take(self, size):
        require(size <= len(self.content) - self.at, "backup: a record is cut")
        self.at += size
        return self.content[self.at - size : self.at]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def counted(self, size):
        return self.take(self.number(size))

    @property
    def rest(self):
        return len(self.content) - self.at


class Backup:
    """The content of a backup. `device` is the DeviceKey that opens bound items."""

    def __init__(self, content, passphrase, device=None):
        self.collections, self.items = [], []
        self._seal = None
        header = content[:HEADER]
        require(len(header) == HEADER and header[:12] == b"LATCHBAK" + number(1, 4), "backup: foreign, or cut")
        same(header[120:], blake2b(header[:120]), "backup: check sum")
        self.id = header[12:28]
        passes, memory = int.from_bytes(header[52:56], "little"), int.from_bytes(header[56:64], "little")
        require(3 <= passes <= 10 and 32 * MIB <= memory <= 1024 * MIB and memory % 1024 == 0, "backup: cost")
        self.key = vaultreader.argon2id(passphrase, header[36:52], passes, memory)
        same(header[64:96], kdf(self.key, "backup-commitment", header[:64]), "backup: the passphrase")
        self.stream_key = kdf(self.key, "backup-stream", self.id)
        self._read(Fields(self._plain(content, header)), device)

    def _plain(self, content, header):
        state = crypto_secretstream_xchacha20poly1305_state()
        crypto_secretstream_xchacha20poly1305_init_pull(state, header[96:120], self.stream_key)
        out, at, tag, self.chunks = [], HEADER, MESSAGE, 0
        while tag == MESSAGE:
            size = int.from_bytes(content[at : at + 4], "little")
            chunk = content[at + 4 : at + 4 + size]
            require(17 <= size <= CHUNK and len(chunk) == size, "backup: a chunk is cut")
            try:
                plain, tag = crypto_secretstream_xchacha20poly1305_pull(state, chunk, header)
            except (nacl.exceptions.CryptoError, RuntimeError) as error:
                raise Unreadable("backup: a chunk") from error
            out.append(plain)
            at += 4 + size
            self.chunks += 1
        require(tag == FINAL and at == len(content), "backup: its end")
        return b"".join(out)

    def _read(self, records, device):
        ended = False
        while records.rest:
            require(not ended, "backup: something behind its end")
            kind, size, secret_size = records.number(1), records.number(4), records.number(4)
            require(size <= 18 * MIB and secret_size <= 32 * MIB + 40, "backup: a record's size")
            head, secret = Fields(records.take(size)), records.take(secret_size)
            require(kind == ITEM or not secret, "backup: a secret")
            if kind == BEGINNING:
                self._begin(head, device)
            elif kind == COLLECTION:
                self._collection(head)
            elif kind == ITEM:
                self._item(head, secret)
            else:
                require(kind == END, "backup: a record's kind")
                require(head.number(8) == len(self.items) and head.number(4) == len(self.collections), "backup: counts")
                ended = True
            require(not head.rest, "backup: a record's end")
        require(ended, "backup: its end")

    def _begin(self, head, device):
        self.vault, self.identity = head.take(16), head.take(16)
        self.by_key, self.by_share = head.counted(2), head.counted(2)
        context = b"latchkey/1/backup-device" + self.id
        if device is not None and self.by_key and device.identity == self.identity:
            self._seal = unseal(device.bound_wrap, self.by_key, context, "backup: device key")

    def _collection(self, head):
        uuid, bits, created, label = head.take(16), head.number(1), head.number(8), head.counted(4)
        aliases = {name for bit, name in ((1, "default"), (2, "login"), (4, "portal")) if bits & bit}
        label, _, name = label.partition(b"\0/")
        self.collections.append(Collection(uuid, label.decode(), aliases, bool(bits & 128), created, name.decode() or None))

    def _item(self, head, secret):
        place, raw, sealing = head.number(4), head.number(1), head.number(1)
        created, modified, metadata = head.number(8), head.number(8), head.counted(4)
        require(place < len(self.collections) and SEALING.get(raw) == sealing, "backup: an item")
        item = Item(place, CLASSES[raw], created, modified)
        binding = self.id + number(raw, 1) + number(len(self.items), 8)
        self.items.append(item)
        if sealing == 3:
            if self._seal is None:
                return
            metadata = unseal(self._seal, metadata, text16("latchkey/1/backup-metadata") + binding, "backup: metadata")
        self._metadata(item, Fields(metadata))
        if sealing:
            if self._seal is None:
                return
            binding = text16("latchkey/1/backup-secret") + binding + blake2b(metadata)
            secret = unseal(self._seal, secret, binding, "backup: secret")
        item.secret = secret

    @staticmethod
    def _metadata(item, fields):
        require(fields.take(16) == bytes(16) and fields.number(4) == 0, "backup: revision or flags")
        item.content_type, item.label = fields.counted(2).decode(), fields.counted(4).decode()
        pairs = [(fields.counted(4).decode(), fields.counted(4).decode()) for _ in range(fields.number(4))]
        item.attributes = dict(pairs)
        require(len(item.attributes) == len(pairs) and fields.rest < 64, "backup: attributes")
        require(not any(fields.take(fields.rest)), "backup: padding")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip(), description=__doc__.split("\n\n")[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--device", type=pathlib.Path, help="the device.key of its vault")
    parser.add_argument("--machine", help="this machine's identity, in hexadecimal")
    options = parser.parse_args()
    machine = bytes.fromhex(options.machine) if options.machine else None
    device = DeviceKey(options.device.read_bytes(), machine) if options.device else None
    backup = Backup(options.file.read_bytes(), sys.stdin.readline().rstrip("\n"), device)
    for item in backup.items:
        shown = {"collection": backup.collections[item.collection].label, "class": item.accessibility}
        shown |= {"label": item.label, "attributes": item.attributes, "secret": item.secret and item.secret.decode("latin-1")}
        print(json.dumps(shown))


if __name__ == "__main__":
    main()
