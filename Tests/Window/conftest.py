"""Fixtures for sessions whose stage includes the window."""

import os
import pathlib
import subprocess
import tempfile

import pytest
from support.clients import open_peer, peer, shared_peer  # noqa: F401
from support.display import display  # noqa: F401
from support.session import REPOSITORY, new_session, session, shared_session, unlocked  # noqa: F401


@pytest.fixture(scope="session")
def stage():
    """The folder of the installation, with the window."""
    given = pathlib.Path(os.environ.get("LATCHKEY_STAGE", "/nowhere"))
    if (given / "usr/bin/latchkey-app").exists():
        yield given.resolve()
        return
    # A session's user must be able to read the folder, so it is in /tmp.
    with tempfile.TemporaryDirectory(prefix="latchkey-stage-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        for target in ("install", "install-window"):
            command = ["make", "--silent", target, f"DESTDIR={folder}", "PREFIX=/usr"]
            subprocess.run(command, cwd=REPOSITORY, check=True, umask=0o022)
        yield pathlib.Path(folder)
