"""Secrets for systemd units: `latchkey credential`, with a connection like systemd's."""

import socket

import pytest
from support.pace import seconds

pytestmark = pytest.mark.night("ssh")


def ask(session, name=b"\0d1e2/unit/backup.service/token"):
    """The credential that a unit gets, and the exit status of the command."""
    address = f"\0latchkey-credentials-{session.root.name}"
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as unit:
        listener.bind(address)
        listener.listen()
        if name:
            unit.bind(name)
        unit.settimeout(seconds(20))
        unit.connect(address)
        connection, _ = listener.accept()
        process = session.start("latchkey", "credential", stdin=connection)
        connection.close()
        taken = b""
        while part := unit.recv(4096):
            taken += part
        return taken, process.wait(seconds(10))


def store(session, secret, *attributes, kind="when-unlocked"):
    session.run("latchkey", "add", "--label", "Backup", "--class", kind, *attributes, input=secret, check=True)


NAMES = ("systemd-unit=backup.service", "systemd-credential=token")


def test_a_unit_gets_the_item_that_names_it(unlocked):
    assert ask(unlocked) == (b"", 2)
    store(unlocked, "line\nline", *NAMES, kind="after-first-unlock")
    assert ask(unlocked) == (b"line\nline", 0)
    for name in (b"\0d1e2/unit/other.service/token", b"\0d1e2/unit/backup.service/other"):
        assert ask(unlocked, name) == (b"", 2)
    for name in (b"\0d1e2/unit/backup.service", b"\0d1e2/unit/backup.service/token/more", b"\0d1e2/unit//token", None):
        assert ask(unlocked, name) == (b"", 1)
    unlocked.lock()
    assert ask(unlocked) == (b"line\nline", 0)


def test_an_item_that_locks_with_the_screen_needs_a_rule(unlocked):
    store(unlocked, "secret", *NAMES)
    assert ask(unlocked) == (b"", 1)
    store(unlocked, "allowed", "systemd-unit=late.service", "systemd-credential=token", "systemd-unlocked=yes")
    late = b"\0d1e2/unit/late.service/token"
    assert ask(unlocked, late) == (b"allowed", 0)
    # While the session is locked, no prompt appears.
    unlocked.lock()
    assert ask(unlocked, late) == (b"", 1)
