"""Writes a KeePass database of version 4 whose key comes from Argon2. keepassxc-cli reads such databases, but itself
writes only databases with AES. The format is described at https://keepass.info/help/kb/kdbx.html. Debian:
python3-argon2, python3-cryptography.
"""

import hashlib
import hmac
import os
import struct

import argon2.low_level

SIGNATURES = bytes.fromhex("03d9a29a67fb4bb5")
VERSION_4 = b"\0\0\4\0"
AES = bytes.fromhex("31c1f2e6bf714350be5805216afc5aff")
KINDS = {"argon2d": (bytes.fromhex("ef636ddf8c29444b91f7a9a403e30a0c"), argon2.low_level.Type.D),
         "argon2id": (bytes.fromhex("9e298b1956db4773b23dfc3ec6f0a1e6"), argon2.low_level.Type.ID)}  # fmt: skip
MEMORY, PASSES, LANES = 8 << 20, 2, 2


def field(number, content):
    return struct.pack("<BI", number, len(content)) + content


def value(kind, name, content):
    return struct.pack("<BI", kind, len(name)) + name + struct.pack("<I", len(content)) + content


def written(password, xml, kind):
    """The bytes of the file. The XML may have no protected values."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    uuid, argon = KINDS[kind]
    seed, iv, salt = os.urandom(32), os.urandom(16), os.urandom(32)
    derivation = b"\0\1" + b"".join([
        value(0x42, b"$UUID", uuid), value(0x42, b"S", salt), value(0x04, b"V", struct.pack("<I", 0x13)),
        value(0x04, b"P", struct.pack("<I", LANES)), value(0x05, b"M", struct.pack("<Q", MEMORY)),
        value(0x05, b"I", struct.pack("<Q", PASSES))]) + b"\0"  # fmt: skip
    header = SIGNATURES + VERSION_4 + b"".join([
        field(2, AES), field(3, bytes(4)), field(4, seed), field(7, iv), field(11, derivation), field(0, b"\r\n\r\n")])  # fmt: skip
    composite = hashlib.sha256(hashlib.sha256(password.encode()).digest()).digest()
    key = argon2.low_level.hash_secret_raw(composite, salt, time_cost=PASSES, memory_cost=MEMORY // 1024, parallelism=LANES, hash_len=32,
                                           type=argon, version=0x13)  # fmt: skip
    base = hashlib.sha512(seed + key + b"\1").digest()

    def sealed(number, content):
        return hmac.new(hashlib.sha512(struct.pack("<Q", number) + base).digest(), content, "sha256").digest()

    # The header must name a cipher for protected values, although the file has no such values.
    clear = field(1, struct.pack("<I", 3)) + field(2, os.urandom(64)) + field(0, b"") + xml.encode()
    padding = 16 - len(clear) % 16
    cipher = Cipher(algorithms.AES(hashlib.sha256(seed + key).digest()), modes.CBC(iv)).encryptor()
    blocks = [cipher.update(clear + bytes([padding]) * padding), b""]
    body = b"".join(sealed(number, struct.pack("<QI", number, len(block)) + block) + struct.pack("<I", len(block)) + block
                    for number, block in enumerate(blocks))  # fmt: skip
    return header + hashlib.sha256(header).digest() + sealed(2**64 - 1, header) + body
