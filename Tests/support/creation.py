"""Vaults as a first login creates them, but with the least Argon2id cost that the format allows.

The Argon2id of a new vault takes 128 MiB and a quarter of a second. With each login, unlock and rotation, that would be
most of the tests' processor time. Tests of the first login create their vaults themselves.
"""

import functools
import importlib.util
import os
import pathlib
import time

MIB = 1 << 20
VECTORS = pathlib.Path(__file__).resolve().parents[1] / "KeybagTests/Vectors"


@functools.cache
def _format():
    """The implementation of FORMAT.md that generated the test vectors, here with real random numbers.

    All vaults of a run have the same salt, so a run computes Argon2id once for each password. The common salt saves a
    fifth of a session's time. Each vault still has new identifiers, keys and nonces."""
    specification = importlib.util.spec_from_file_location("format", VECTORS / "generate_keybags.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    salt = os.urandom(16)
    module.pattern = lambda name, size: salt if name.endswith(" salt") else os.urandom(size)
    module.argon2id = functools.cache(module.argon2id)
    return module


def keybag(password, passes=3, memory=32 * MIB):
    """The bytes of a keybag: generation 1, one protector that no login has proven yet, and one key epoch."""
    format = _format()
    vault, root, now = os.urandom(16), os.urandom(32), int(time.time())
    protector, _ = format.protector(vault, root, "", password.encode(), 0, now, 0, passes, memory)
    epoch, _ = format.epoch(vault, root, 1)
    return format.keybag(vault, 1, now, root, [protector], [epoch])


def create_vault(session):
    """Creates a vault with minimal cost in the session, before any login."""
    session.vault.mkdir(mode=0o700)
    file = session.vault / "keybag"
    file.write_bytes(keybag(session.password))
    file.chmod(0o600)
    for path in (session.vault, file):
        os.chown(path, session.uid, session.gid)
