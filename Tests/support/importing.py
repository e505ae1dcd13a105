"""What the tests of latchkey import share: running it, its report, and the files that it reads."""

import base64
import hashlib
import json
import os

from support.foreign import PASSWORD

DONE, FAILED, PARTLY = 0, 1, 4


def run(session, *words, password=PASSWORD, timeout=120):
    """latchkey import, with the password as the first line of its input."""
    return session.run("latchkey", "import", *words, input=password + "\n", timeout=timeout)


def report(done):
    """What it reported with --json."""
    return json.loads(done.stdout)


def counts(done):
    """The numbers of that report that are not zero."""
    return {name: value for name, value in report(done).items() if type(value) is int and value}


def place(session, name, content):
    """A file of the session's user."""
    file = session.home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    for path in (file, *(parent for parent in file.parents if parent.is_relative_to(session.home))):
        os.chown(path, session.uid, session.gid)
    return file


def carry(session, files, folder):
    """Copies files to where a person has them."""
    for file in files:
        place(session, f"{folder}/{file.name}", file.read_bytes()).chmod(0o600)
    return session.home / folder


def state(folder):
    """Hash and time of each file."""
    return {file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns) for file in folder.iterdir()}


def encoded(secret):
    """As `seen` shows a secret."""
    return base64.b64encode(secret).decode()
