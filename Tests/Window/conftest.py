"""The fixtures of sessions, for a stage that has the window too."""

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
    """The folder where everything is installed, with the window."""
    given = pathlib.Path(os.environ.get("LATCHKEY_STAGE", "/nowhere"))
    if (given / "usr/bin/latchkey-app").exists():
        yield given.resolve()
        return
    # /tmp, as a session's user must be able to read it.
    with tempfile.TemporaryDirectory(prefix="latchkey-stage-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        for target in ("install", "install-window"):
            command = ["make", "--silent", target, f"DESTDIR={folder}", "PREFIX=/usr"]
            subprocess.run(command, cwd=REPOSITORY, check=True, umask=0o022)
        yield pathlib.Path(folder)
