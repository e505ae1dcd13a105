"""The sources of other people's suites: downloaded once, of a pinned version, and checked before anything in them runs."""

import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile

import pytest
from support.pace import seconds

CACHE = pathlib.Path(__file__).resolve().parents[2] / ".build/suites"
APT_HELPER = "/usr/lib/apt/apt-helper"


def from_pypi(name, version, checksum):
    """The source distribution of a package on PyPI."""

    def download(folder):
        requirements = folder / "requirements"
        requirements.write_text(f"{name}=={version} --hash=sha256:{checksum}\n")
        _run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", folder,
             "--requirement", requirements)

    return _cached(checksum, download)


def from_debian(package, file, checksum):
    """A file of a source package, by the binary package beside which it lies in Debian's archive."""

    def download(folder):
        # The mirror that apt uses here. No list of source packages is needed for this.
        [uri] = _run("apt-get", "--print-uris", "download", package).splitlines()[-1:]
        place = uri.split()[0].strip("'").rpartition("/")[0]
        _run(APT_HELPER, "download-file", f"{place}/{file}", folder / file, f"SHA256:{checksum}")

    return _cached(checksum, download)


def unpack(archive, folder, *names):
    """Unpacks the archive, or what lies below these names in it, where a session's user can read it; returns its folder."""
    with tarfile.open(archive) as opened:
        members = opened.getmembers()
        [top] = {member.name.split("/")[0] for member in members}
        wanted = [one for one in members if not names or one.name.startswith(tuple(f"{top}/{name}" for name in names))]
        opened.extractall(folder, wanted)
    make_readable(folder)
    return folder / top


def make_readable(folder):
    """Lets a session's user read everything in the folder."""
    _run("chmod", "-R", "a+rX", folder)


def build(*command, folder, **environment):
    """Builds a suite. That this fails is a failure, not a reason to skip."""
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, env=os.environ | environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout


class Unavailable(Exception):
    """A download failed; the text says why."""


def _cached(checksum, download):
    CACHE.mkdir(parents=True, exist_ok=True)
    # Several workers may want the same file.
    with open(CACHE / f"{checksum}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = CACHE / checksum
        try:
            return _checked(folder, checksum)
        except FileNotFoundError:
            folder.mkdir(exist_ok=True)
        try:
            download(folder)
            return _checked(folder, checksum)
        except (Unavailable, FileNotFoundError) as error:
            # A build server must not go green because it lost its network.
            if os.environ.get("CI") == "true":
                pytest.fail(f"the suite's source cannot be downloaded: {error}", pytrace=False)
            pytest.skip(f"the suite's source cannot be downloaded: {error}")


def _checked(folder, checksum):
    """The file in the folder that has the checksum."""
    for file in folder.glob("*.tar.*") if folder.is_dir() else []:
        if hashlib.sha256(file.read_bytes()).hexdigest() == checksum:
            return file
    raise FileNotFoundError(f"no file with checksum {checksum}")


def _run(*command):
    try:
        done = subprocess.run(
            [str(word) for word in command], text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds(300))
    except subprocess.TimeoutExpired as error:
        raise Unavailable(str(error)) from error
    if done.returncode != 0:
        raise Unavailable(f"{command[0]}: {done.stderr.strip()[-500:]}")
    return done.stdout
