"""The programs as they were built, each run as a process of its own beside a stand-in for the daemon.

LATCHKEY_BUILT names the folder they are in; else it is where `make build` puts them. As root the person is `nobody`, so
that it is seen how latchkey-derive becomes a user; as anybody else it is oneself, and what needs root is skipped. No test
comes near a real vault: each has a home and a runtime folder of its own.
"""

import pathlib
import shutil
import tempfile

import pytest
from support import creation
from support.derive import BUILT, PASSWORD, Login


@pytest.fixture(scope="session")
def folder():
    # /tmp, not TMPDIR: the path of a socket must stay below 108 bytes.
    with tempfile.TemporaryDirectory(prefix="latchkey-", dir="/tmp") as path:
        path = pathlib.Path(path)
        path.chmod(0o755)
        yield path


@pytest.fixture(scope="session")
def programs(folder):
    """The programs where every user can run them."""
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
    """The keybag that a first login creates, but that a password costs less to try."""
    return creation.keybag(PASSWORD)


@pytest.fixture
def resident(login, new_keybag):
    """A person who has a vault."""
    login.created_before(new_keybag)
    return login
