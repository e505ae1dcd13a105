"""A keyring file in gnome-keyring's format, with any number of the benchmark's items.

gnome-keyring writes the whole file at every store. So filling the keyring through its own interface takes quadratic
time, for example an hour for 10,000 items. The daemon's `file-format.txt` describes the format.
"""

import hashlib
import struct
import subprocess
import time

ITERATIONS = 1024
SALT = b"latchkey"
NULL = struct.pack(">I", 0xFFFFFFFF)


def _number(value):
    return struct.pack(">I", value)


def _text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return _number(len(data)) + data


def _attributes(attributes, transform):
    parts = [_text(name) + _number(0) + _text(transform(value)) for name, value in attributes]
    return _number(len(parts)) + b"".join(parts)


def keyring(password, items):
    """The file's bytes. `items` are (label, attributes as pairs, secret); passwords are bytes."""
    moment = struct.pack(">Q", int(time.time()))
    plain, hashed = [], []
    for number, (label, attributes, secret) in enumerate(items, start=1):
        hashed.append(
            _number(number) + _number(0) + _attributes(attributes, lambda v: hashlib.md5(v.encode()).hexdigest())
        )
        plain.append(
            _text(label) + _text(secret) + moment + moment + NULL + bytes(16) + _attributes(attributes, str)
        )
        plain.append(_number(0))  # no access control list
    content = b"".join(plain)
    content += bytes(-len(content) % 16)
    content = hashlib.md5(content).digest() + content
    digest = hashlib.sha256(password + SALT).digest()
    for _ in range(ITERATIONS - 1):
        digest = hashlib.sha256(digest).digest()
    command = ["openssl", "enc", "-aes-128-cbc", "-nopad", "-K", digest[:16].hex(), "-iv", digest[16:].hex()]
    encrypted = subprocess.run(command, input=content, stdout=subprocess.PIPE, check=True).stdout
    return (
        b"GnomeKeyring\n\r\0\n"
        + bytes(4)  # version 0.0, AES, MD5
        + _text("login")
        + moment
        + moment
        + _number(0)
        + _number(0)
        + _number(ITERATIONS)
        + SALT
        + bytes(16)
        + _number(len(hashed))
        + b"".join(hashed)
        + _text(encrypted)
    )
