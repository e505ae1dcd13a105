"""Programs that tests build with Swift: those of the repository, and packages that depend on the repository.

All programs are built in the repository's `.build`, because `swift test` may have compiled the modules there already.
SwiftPM reuses compiled modules for another root package.
"""

import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import tempfile

from support.session import REPOSITORY

SCRATCH = REPOSITORY / ".build"


def build(package, *options, anew=()):
    """Builds a package. If pytest-xdist runs several workers, one worker makes the build for all.

    `anew` names targets that are always compiled again. Only the worker that builds removes their objects."""
    SCRATCH.mkdir(exist_ok=True)
    run, name = os.environ.get("PYTEST_XDIST_TESTRUNUID"), " ".join([str(package), *options])
    with open(SCRATCH / "tests.lock", "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        done = lock.read().splitlines()
        if run is None or done[:1] != [run]:
            done = [run or ""]
        elif name in done:
            return
        for path in objects_of(anew):
            path.unlink()
        _build(package, options)
        lock.truncate(0)
        lock.write("\n".join([*done, name]))


def objects_of(targets):
    return [path for target in targets for path in (SCRATCH / "debug").glob(f"{target}.build/*.o")]


def _build(package, options):
    # SwiftPM caches its plan, and would use the plan for the next package in the same folder.
    command = ["swift", "build", "--disable-build-manifest-caching", "--package-path", package, "--scratch-path", SCRATCH]
    try:
        done = subprocess.run(
            [*command, *options], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    finally:
        (SCRATCH / "debug/description.json").unlink(missing_ok=True)
    assert done.returncode == 0, done.stdout


@contextlib.contextmanager
def readable(*names, built=SCRATCH / "debug"):
    """A folder with built programs that a session's user can read."""
    with tempfile.TemporaryDirectory(prefix="latchkey-programs-", dir="/tmp") as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        for name in names:
            shutil.copy(built / name, folder)
            (folder / name).chmod(0o755)
        yield folder


def run(*command, **options):
    """Runs a command that must succeed, and returns its output."""
    done = subprocess.run(
        command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout


def without_overrides():
    """The environment without the variables that `make` sets for this repository's manifest."""
    return {name: value for name, value in os.environ.items() if not name.startswith("LATCHKEY_")}


def write(folder, files):
    """Writes the files of a package, given as a map of names to texts."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.lstrip())


def write_library(folder):
    """Makes a copy of this repository, with a version, in `folder/latchkey`, as a client package fetches it."""
    ours = folder / "latchkey"
    ours.mkdir()
    shutil.copy(REPOSITORY / "Package.swift", ours)
    for name in ("Sources", "Tests"):
        shutil.copytree(REPOSITORY / name, ours / name, ignore=shutil.ignore_patterns(".build", "__pycache__"))
    git = ("git", "-C", ours, "-c", "user.name=a", "-c", "user.email=a@example.com")
    run(*git, "init", "-q")
    run(*git, "add", "-A")
    run(*git, "commit", "-q", "-m", "All")
    run(*git, "tag", "1.0.0")
