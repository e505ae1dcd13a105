"""Tests of the built programs. Each program runs as a process of its own, next to a stand-in for the daemon.

LATCHKEY_BUILT names the folder of the programs; without it, the tests use the folder of `make build`. A test run by root uses the
person `nobody`, which shows how latchkey-derive becomes a user. Otherwise the person is the caller, and tests that need root are
skipped. No test touches a real vault, because each has a home and a runtime folder of its own.
"""

import pathlib
import shutil
import tempfile

import pytest
from support import creation
from support.derive import BUILT, PASSWORD, Login


@pytest.fixture(scope="session")
def folder():
    # The folder is in /tmp and not in TMPDIR, because the path of a socket must stay below 108 bytes.
    with tempfile.TemporaryDirectory(prefix="latchkey-", dir="/tmp") as path:
        path = pathlib.Path(path)
        path.chmod(0o755)
        yield path


@pytest.fixture(scope="session")
def programs(folder):
    """Copies of the programs, for every user to run."""
    target = folder / "programs"
    target.mkdir()
    for name in ("latchkey-derive", "latchkey-prompt", "latchkey-security-key", "latchkey"):
        shutil.copy(BUILT / name, target)
        (target / name).chmod(0o755)
    return target


@pytest.fixture
def login(folder, programs):
    place = pathlib.Path(tempfile.mkdtemp(dir=folder))
    place.chmod(0o755)
    login = Login(place, programs / "latchkey-derive")
    yield login
    login.close()


@pytest.fixture(scope="session")
def new_keybag():
    """The keybag of a first login, with a password that is cheap to try."""
    return creation.keybag(PASSWORD)


@pytest.fixture
def resident(login, new_keybag):
    """A person who has a vault."""
    login.created_before(new_keybag)
    return login
