"""Programs that tests build with Swift: the repository's own, and packages beside it that depend on it.

All of them are built in the repository's `.build`, where the modules are already when `swift test` was there before: what
SwiftPM does for one root package it finds done for the next.
"""

import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import tempfile

from session import REPOSITORY

SCRATCH = REPOSITORY / ".build"


def build(package, *options):
    """Builds a package. pytest-xdist's workers do each build once for all of them."""
    SCRATCH.mkdir(exist_ok=True)
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    name = "-".join([pathlib.Path(package).name, *options])
    with open(SCRATCH / f"tests-{name}.lock", "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        if run is not None and lock.read() == run:
            return
        command = ["swift", "build", "--package-path", package, "--scratch-path", SCRATCH, *options]
        done = subprocess.run(
            command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout
        lock.truncate(0)
        lock.write(run or "")


@contextlib.contextmanager
def readable(*names, built=SCRATCH / "debug"):
    """A folder with programs that are built, where a session's user can read them."""
    with tempfile.TemporaryDirectory(prefix="latchkey-programs-", dir="/tmp") as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        for name in names:
            shutil.copy(built / name, folder)
            (folder / name).chmod(0o755)
        yield folder
