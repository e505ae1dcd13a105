"""A vault as a first login leaves it, whose password costs the least that the format allows to try.

A new vault's Argon2id takes 128 MiB and a quarter of a second; with each login, unlock and rotation that is most of what
the tests compute. Tests that are about the first login create their vaults themselves.
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
    """The implementation of FORMAT.md that the test vectors are from, with real randomness.

    All vaults of a run have one salt, so a run computes Argon2id once for each password: that was a fifth of what a session
    costs. Identifiers, keys and nonces are new for each vault.
    """
    specification = importlib.util.spec_from_file_location("format", VECTORS / "generate_keybags.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    salt = os.urandom(16)
    module.pattern = lambda name, size: salt if name.endswith(" salt") else os.urandom(size)
    module.argon2id = functools.cache(module.argon2id)
    return module


def keybag(password, passes=3, memory=32 * MIB):
    """The keybag's bytes: generation 1, one protector that no login has proved yet, one epoch."""
    format = _format()
    vault, root, now = os.urandom(16), os.urandom(32), int(time.time())
    protector, _ = format.protector(vault, root, "", password.encode(), 0, now, 0, passes, memory)
    epoch, _ = format.epoch(vault, root, 1)
    return format.keybag(vault, 1, now, root, [protector], [epoch])


def create_vault(session):
    """Gives the session such a vault, before anybody logged in."""
    session.vault.mkdir(mode=0o700)
    file = session.vault / "keybag"
    file.write_bytes(keybag(session.password))
    file.chmod(0o600)
    for path in (session.vault, file):
        os.chown(path, session.uid, session.gid)
