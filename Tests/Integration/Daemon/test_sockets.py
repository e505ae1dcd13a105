"""No key and no password crosses a socket in the clear, because the kernel frees the buffers of sockets without
clearing them.

The test records everything on the control socket between the real ends. The test also records all packets of a login's
processes, as the kernel sees the packets. The independent reader of FORMAT.md gives the keys.
"""

import os
import pwd
import struct
import subprocess

import pytest
from nacl.bindings import crypto_pwhash_alg
from support import tracing, vaultreader
from support.archive import PASSPHRASE as BACKUP, backup, unlocked  # noqa: F401 (a fixture)
from support.control import HELLO, ONE_TIME_KEY, PASSPHRASE, ROTATE, UNLOCK, VERSION
from support.crossing import Crossing, pieces
from support.pace import seconds
from support.vaultreader import Vault
from test_keychain_prompts import new, peer, windows  # noqa: F401 (fixtures)

ARGON2ID, DERIVATION, TAKE_PASSPHRASE = 2, 7, 31
ITEM = "the item's own passphrase"


def secrets_of(session):
    """The secrets that no packet may contain: every key of the vault, and the password."""
    vault = Vault(session.vault, session.password, vaultreader.machine_identity(vaultreader.APPLICATION))
    keys = {f"{key.name} {key.value[:2].hex()}": key.value for key in vault.keys}
    assert sum(key.kind == "tier" for key in vault.keys) >= 2
    return keys | {"the password": session.password.encode()}


def seen(secrets, packets):
    """The names of the secrets of which a packet contains a piece."""
    content = b"\n".join(packets)
    return {name for name, secret in secrets.items() if any(piece in content for piece in pieces(secret))}


def backup_key(crossing):
    """The key that was derived from the passphrase of the last backup."""
    answer = [packet for packet in crossing.answered if packet[1] == DERIVATION][-1]
    salt, passes, memory = struct.unpack("<2x16sIQ", answer)
    return crypto_pwhash_alg(32, BACKUP.encode(), salt, passes, memory, ARGON2ID)


def test_nothing_secret_crosses_the_control_socket(unlocked):  # noqa: F811
    unlocked.lock()
    before = secrets_of(unlocked)
    with Crossing(unlocked) as crossing:
        assert unlocked.login().returncode == 0
        assert unlocked.status()["state"] == "unlocked"
        assert backup(unlocked).returncode == 0
        unlocked.run("latchkey", "rotate", "--stdin", input=unlocked.password + "\n", check=True, timeout=60)
    # The control: all these messages crossed the socket.
    assert {HELLO, UNLOCK, PASSPHRASE, ROTATE} <= crossing.operations()
    secrets = before | secrets_of(unlocked)
    secrets |= {"the backup's passphrase": BACKUP.encode(), "its key": backup_key(crossing)}
    assert len(secrets) > len(before) + 4
    assert seen(secrets, crossing.packets) == set()
    assert sum(packet[1] == ONE_TIME_KEY for packet in crossing.sent) >= 3
    # The control: the search finds a secret that the test adds.
    name = next(iter(secrets))
    assert seen(secrets, [*crossing.packets, b"x" + secrets[name] + b"x"]) == {name}


def test_no_passphrase_that_a_program_gives_crosses_it(session, peer):  # noqa: F811
    with Crossing(session) as crossing:
        new(peer, passphrase=ITEM)
    assert TAKE_PASSPHRASE in crossing.operations()
    assert seen({"the passphrase": ITEM.encode()}, crossing.packets) == set()


@pytest.mark.skipif(os.getuid() != 0, reason="tracing latchkey-derive needs root")
def test_nothing_secret_crosses_any_socket_of_a_login(unlocked, tmp_path):  # noqa: F811
    unlocked.lock()
    trace = tmp_path / "trace"
    program = ["pamtester", "login", unlocked.user, "authenticate", "open_session"]
    subprocess.run(
        tracing.command(trace, "-u", pwd.getpwuid(unlocked.uid).pw_name, *program), input=unlocked.password.encode(),
        env=unlocked.environment, cwd=unlocked.home, check=True, timeout=seconds(60))
    unlocked.await_helpers()
    assert unlocked.status()["state"] == "unlocked"
    calls, secrets = tracing.calls(trace), secrets_of(unlocked)
    found = {(name, call) for call in calls for name, secret in secrets.items() if any(call.has(piece) for piece in pieces(secret))}
    shared = {(name, call) for name, call in found if call.file.startswith("/memfd:latchkey-request")}
    assert [(name, call.line) for name, call in found - shared] == []
    # The controls: the helper reads the password from the memory that it shares with the module, and the helper has
    # sent keys.
    assert {name for name, call in shared if call.name == "pread64"} == {"the password"}
    assert any(call.file.startswith("socket:") and call.has(bytes([VERSION, UNLOCK])) for call in calls)
