"""Roots of other Debian releases, for the KDE programs of these releases. The programs share a session's files and bus.
"""

import contextlib
import fcntl
import hashlib
import pathlib
import subprocess

import pytest
from support.debianroot import remove
from support.pace import seconds

PLACE = pathlib.Path("/var/tmp/latchkey-kde")
MIRROR = "http://deb.debian.org/debian"
PASSED = (
    "HOME DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_CURRENT_DESKTOP KDE_SESSION_VERSION"
    " USER LANG QT_QPA_PLATFORM").split()


@contextlib.contextmanager
def root_of(release, *packages):
    """The folder of a root file system. The first call makes the folder in some minutes."""
    folder = PLACE / f"{release}-{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:8]}"
    partial = folder.with_suffix(".partial")
    PLACE.mkdir(exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        # The lock keeps parallel test processes from making the same root twice.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            if partial.is_dir():
                remove(partial)
            # If the release is not finished yet, the mirror's package lists may have expired.
            done = subprocess.run(
                ["mmdebstrap", "--variant=apt", '--aptopt=Acquire::Check-Valid-Until "false"', f"--include={','.join(packages)}", release,
                 partial, MIRROR], stdin=subprocess.DEVNULL, capture_output=True, text=True)  # fmt: skip
            if done.returncode != 0:
                pytest.skip(f"no root of {release}: {done.stderr[-500:]}")
            partial.rename(folder)
    subprocess.run(["mount", "--bind", "/tmp", folder / "tmp"], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder / "tmp"], check=True)


def command_in(root, session, *command, env=None):
    """A command that runs in that root as the session's user."""
    environment = {"QT_QPA_PLATFORM": "offscreen"} | (env or session.environment)
    passed = [f"{name}={environment[name]}" for name in PASSED if name in environment]
    return [*entrance(root, session), "/usr/bin/env", "-i", *passed, "PATH=/usr/bin:/bin", *map(str, command)]


def entrance(root, session):
    """The first words of `command_in`, for callers that set the environment themselves."""
    return ["chroot", f"--userspec={session.uid}:{session.gid}", str(root)]


class Inside:
    """Starts programs of a root in a session, with the session's own methods."""

    def __init__(self, root, session):
        self.root, self.session, self.environment = root, session, session.environment

    def start(self, *command, env=None, **options):
        return subprocess.Popen(command_in(self.root, self.session, *command, env=env), **options)

    def run(self, *command, input="", timeout=30, env=None):
        return subprocess.run(
            command_in(self.root, self.session, *command, env=env), input=input, capture_output=True, text=True, timeout=seconds(timeout))
