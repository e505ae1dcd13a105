"""Helpers for tests of latchkey import: the command, its report, and the files that it reads."""

import base64
import contextlib
import hashlib
import hmac
import html
import json
import os
import struct
import time

from support import vaultreader
from support.foreign import PASSWORD

DONE, FAILED, PARTLY = 0, 1, 4


def run(session, *words, password=PASSWORD, timeout=120):
    """Runs latchkey import, with the password as the first line of its input."""
    return session.run("latchkey", "import", *words, input=password + "\n", timeout=timeout)


def report(done):
    """The report from --json."""
    return json.loads(done.stdout)


def counts(done):
    """The numbers of the report that are not zero."""
    return {name: value for name, value in report(done).items() if type(value) is int and value}


def place(session, name, content):
    """Writes a file of the session's user."""
    file = session.home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    for path in (file, *(parent for parent in file.parents if parent.is_relative_to(session.home))):
        os.chown(path, session.uid, session.gid)
    return file


def carry(session, files, folder):
    """Copies files to their usual places in a home."""
    for file in files:
        place(session, f"{folder}/{file.name}", file.read_bytes()).chmod(0o600)
    return session.home / folder


def state(folder):
    """Hash and time of each file."""
    return {file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns) for file in folder.iterdir() if file.is_file()}


def encoded(secret):
    """A secret in the form that `seen` returns."""
    return base64.b64encode(secret).decode()


def arrived(label, attributes, secret, collection="Login"):
    """An item in the form that `seen` returns."""
    return [collection, label, sorted([name, value] for name, value in attributes.items()), encoded(secret)]


def marked(items):
    """The result of `seen` with the portal's schema at each application's secret. An import from other programs adds
    this schema."""
    portal, generic = ["xdg:schema", "org.freedesktop.portal.Secret"], ["xdg:schema", "org.freedesktop.Secret.Generic"]

    def attributes(own, secret):
        names = [name for name, value in own if [name, value] != generic]
        return [*own[:1], portal] if names == ["app_id"] and len(base64.b64decode(secret)) == 64 else own

    return sorted([home, label, attributes(own, secret), secret] for home, label, own, secret in items)


def qt_text(value):
    """A string as Qt writes it."""
    wide = value.encode("utf-16-be")
    return struct.pack(">I", len(wide)) + wide


def qt_octets(octets):
    """Bytes as Qt writes them."""
    return struct.pack(">I", len(octets)) + octets


def kept(session):
    """The items in the vault's files, as the independent reader finds them: collection, label, attributes, secret,
    content type, and the times of creation and change."""
    machine = vaultreader.machine_identity(vaultreader.APPLICATION)
    vault = vaultreader.Vault(session.vault, session.password, machine)
    return sorted(
        (vault.collections[item.collection].label, item.label, sorted(item.attributes.items()), item.secret, item.content_type,
         item.created, item.modified) for item in vault.items.values())  # fmt: skip


@contextlib.contextmanager
def gpg_home(session, passphrase=""):
    """A home folder of GPG with a key. With an empty passphrase, no prompt appears. The folder contains the agent's
    socket, so its path must be short."""
    home = session.root / "gpg"
    home.mkdir(mode=0o700)
    os.chown(home, session.uid, session.gid)
    session.environment["GNUPGHOME"] = str(home)
    session.run("gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", passphrase, "--quick-generate-key", "me@example.org",
                "future-default", "default", "never", check=True, timeout=120)  # fmt: skip
    yield home
    session.environment["GNUPGHOME"] = str(home)
    session.run("gpgconf", "--kill", "all")


def times(number):
    """The times at which another program created and changed an item."""
    return 1_600_000_000 + number, 1_700_000_000 + 7 * number


def old_wallet(password, folders):
    """A wallet in KDE 4's format: no salt, SHA-1, and Blowfish by blocks with swapped halves."""
    from cryptography.hazmat.primitives.ciphers import Cipher, modes

    try:
        from cryptography.hazmat.decrepit.ciphers.algorithms import Blowfish
    except ImportError:
        from cryptography.hazmat.primitives.ciphers.algorithms import Blowfish
    parts = [password[:16], password[16:32], password[32:48], password[48:]]
    count = max(1, min(4, (len(password) + 15) // 16))
    digests = []
    for part in parts[:count]:
        for _ in range(2000):
            part = hashlib.sha1(part).digest()
        digests.append(part)
    sizes = {1: [20], 2: [20, 20], 3: [20, 20, 16], 4: [14] * 4}[count]
    key = b"".join(digest[:size] for digest, size in zip(digests, sizes))
    clear, content = struct.pack(">I", len(folders)), b""
    for folder, entries in folders.items():
        clear += hashlib.md5(folder.encode()).digest() + struct.pack(">I", len(entries))
        content += qt_text(folder) + struct.pack(">I", len(entries))
        for entry, kind, value in entries:
            clear += hashlib.md5(entry.encode()).digest()
            content += qt_text(entry) + struct.pack(">II", kind, len(value)) + value
    whole = bytes(8) + struct.pack(">I", len(content)) + content
    whole += bytes(-(len(whole) + 20) % 8) + hashlib.sha1(content).digest()

    def turned(octets):
        return b"".join(octets[at : at + 4][::-1] for at in range(0, len(octets), 4))

    cipher = Cipher(Blowfish(key), modes.ECB()).encryptor()
    return b"KWALLET\n\r\0\r\n" + bytes(4) + clear + turned(cipher.update(turned(whole)))


def variant_keyring(password, items):
    """A file in oo7's format. GLib itself makes the serialized form. The times of the items come from their positions.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from gi.repository import GLib

    salt, rounds = os.urandom(32), 100_000
    key = hashlib.pbkdf2_hmac("sha256", password, salt, rounds, 16)

    def code(octets):
        return hmac.new(key, octets, "sha256").digest()

    sealed = []
    for number, (label, attributes, secret, content_type) in enumerate(items):
        named = attributes | {"xdg:content-type": content_type}
        whole = GLib.Variant("(a{ss}sttay)", (named, label, *times(number), secret)).get_data_as_bytes().get_data()
        padding = 16 - len(whole) % 16
        iv = os.urandom(16)
        cipher = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
        blob = cipher.update(whole + bytes([padding]) * padding) + iv
        sealed.append(({name: code(value.encode()) for name, value in named.items()}, blob + code(blob)))
    body = GLib.Variant("(uayutua(a{say}ay))", (len(salt), salt, rounds, int(time.time()), 1, sealed))
    return b"GnomeKeyring\n\r\0\n\1\0" + body.get_data_as_bytes().get_data()


def keepass_database(session, xml, name="Passwords.kdbx"):
    """A database that KeePassXC itself imports from XML."""
    source = place(session, "source.xml", xml)
    file = session.home / name
    session.run("keepassxc-cli", "import", "--set-password", source, file, input=f"{PASSWORD}\n{PASSWORD}\n", check=True, timeout=120)
    source.unlink()
    return file


def keepass_string(key, value):
    return f"<String><Key>{html.escape(key)}</Key><Value>{html.escape(value)}</Value></String>"


# An entry with data of other programs. With such an entry, keepassxc-cli writes a database of version 4.
KEEPASS_CUSTOM = "<CustomData><Item><Key>by a test</Key><Value>of version 4</Value></Item></CustomData>"


def keepass_time(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def keepass_entry(number, *parts):
    """An entry with the times of its number."""
    uuid = encoded(number.to_bytes(16, "big"))
    created, modified = map(keepass_time, times(number))
    moments = f"<Times><CreationTime>{created}</CreationTime><LastModificationTime>{modified}</LastModificationTime></Times>"
    return f"<Entry><UUID>{uuid}</UUID>{moments}{''.join(parts)}</Entry>"


def keepass_group(number, name, *parts):
    return f"<Group><UUID>{encoded(number.to_bytes(16, 'big'))}</UUID><Name>{html.escape(name)}</Name>{''.join(parts)}</Group>"
