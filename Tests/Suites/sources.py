"""The sources of other people's suites. Each has a pinned version, is downloaded once, and is verified before anything
in it runs.
"""

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
    """A file of a Debian source package. In the archive, the file lies beside the named binary package."""

    def download(folder):
        # This uses the mirror of apt, and needs no list of source packages.
        [uri] = _run("apt-get", "--print-uris", "download", package).splitlines()[-1:]
        place = uri.split()[0].strip("'").rpartition("/")[0]
        _run(APT_HELPER, "download-file", f"{place}/{file}", folder / file, f"SHA256:{checksum}")

    return _cached(checksum, download)


def unpack(archive, folder, *names):
    """Unpacks the archive, or only the parts below these names, into a folder that a session's user can read. Returns
    the folder."""
    with tarfile.open(archive) as opened:
        members = opened.getmembers()
        [top] = {member.name.split("/")[0] for member in members}
        wanted = [one for one in members if not names or one.name.startswith(tuple(f"{top}/{name}" for name in names))]
        opened.extractall(folder, wanted)
    make_readable(folder)
    return folder / top


def make_readable(folder):
    """Makes everything in the folder readable for a session's user."""
    _run("chmod", "-R", "a+rX", folder)


def build(*command, folder, **environment):
    """Builds a suite. A failed build fails the test instead of skipping it."""
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, env=os.environ | environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout


class Unavailable(Exception):
    """A download failed. The text gives the reason."""


def _cached(checksum, download):
    CACHE.mkdir(parents=True, exist_ok=True)
    # Several workers may need the same file.
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
            # In CI a lost network must not look like success.
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
