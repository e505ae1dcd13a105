"""After the end of whenPasscodeSetThisDeviceOnly no key, secret, label or attribute of it is in the daemon's memory or in a
file, nor the cipher text; and an old copy of all the vault's files stays dead.

Whatever destroys the class is one function of `DESTROYERS`.
"""

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys

import pytest
import vaultreader
from client import SecretClient
from memory import PIECE, scan_files
from session import REPOSITORY, wait_until
from test_memory import ENCRYPTED, Memory, memory  # noqa: F401 (a fixture)
from vaultreader import ServiceKey, Unreadable, Vault

sys.path.append(str(REPOSITORY / "Tests/Programs"))
from deviced import Service  # noqa: E402

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="reading another process's memory needs root")

AKPU, FREE = "when-passcode-set-this-device-only", "when-unlocked"
SIZES = (48, 5000, 16 << 20)


def erase(session, service):
    """`latchkey device erase`."""
    session.run("latchkey", "device", "erase", "--yes", "--socket", service.path, check=True)


def by_the_next_login(session, service):
    """Erased while the daemon runs, which finds out when it is started again and the vault is unlocked."""
    erase(session, service)
    session.restart()
    assert session.login().returncode == 0


def by_new_keys(session, service):
    """Erased while the daemon runs, which is asked for new keys then."""
    erase(session, service)
    done = session.run("latchkey", "rotate", "--stdin", "--json", input=session.password + "\n", check=True, timeout=60)
    assert json.loads(done.stdout)["epoch"] == 2


DESTROYERS = [by_the_next_login, by_new_keys]


@pytest.fixture
def served(memory, stage):  # noqa: F811
    """A vault that hangs on a device key service, unlocked: its memory, and the service."""
    session = memory.session
    service = Service(program=stage / "usr/libexec/latchkey-deviced", path=session.root / "device.sock").start()
    try:
        memory.device = lambda: ServiceKey(service.state, session.uid)
        assert session.login().returncode == 0
        assert session.status()["device_key"] == "host"
        yield memory, service
    finally:
        service.close()


def rows_of(folder, vault):
    """What the database has of the class, sealed, by name: of each value its first and its last bytes."""
    sealed = {}
    for row in vault._rows["class_key"]:
        if row["class"] == 12:
            sealed |= {f"{name} of class {row['id']}": row[name] for name in ("class_key", "metadata_key")}
    for row in vault._rows["item"]:
        if vault.items[row["id"]].accessibility == AKPU:
            sealed |= {f"{name} of item {row['id']}": row[name] for name in ("metadata", "item_key", "secret")}
    return {name: value[:PIECE] + value[-PIECE:] for name, value in sealed.items()}


@pytest.mark.parametrize("destroy", DESTROYERS, ids=lambda function: function.__name__)
def test_nothing_is_left(served, destroy, tmp_path):
    memory, service = served  # noqa: F811
    session = memory.session
    folders = [session.vault, service.state]
    with SecretClient(session) as client:
        via = client.open(algorithm=ENCRYPTED)["session"]
        texts = {}
        for size in SIZES:
            texts[f"secret of {size} bytes"] = text = secrets.token_hex(24)
            texts[f"label beside {size} bytes"] = label = secrets.token_hex(24)
            texts[f"attribute beside {size} bytes"] = value = secrets.token_hex(24)
            attributes = {"secret": value, "latchkey:accessible": AKPU}
            item = client.store(session=via, attributes=attributes, text=text, size=size, label=label)["item"]
            assert client.get(session=via, item=item)["size"] == size
        needles = {name: text.encode() for name, text in texts.items()}
        client.store(session=via, attributes={"free": "yes", "latchkey:accessible": FREE}, text="still there")
        # Into the database itself, out of SQLite's log: a daemon that ends does that.
        session.restart()
        assert session.login().returncode == 0
        vault = memory.learn()
    sealed = rows_of(session.vault, vault)
    assert len(sealed) == 2 + 3 * len(SIZES)
    mine = [key for key in vault.keys if key.name.startswith((f"class {AKPU}", f"metadata {AKPU}", "erasable share"))]
    numbers = [item.number for item in vault.items.values() if item.accessibility == AKPU]
    items = [key for key in vault.keys if key.name in {f"key of item {number}" for number in numbers}]
    assert (len(mine), len(items)) == (3, len(SIZES))
    gone = {f"{key.name}": key.value for key in mine + items}
    erasable = {"the erasable secret": memory.device().erasable}

    # The controls: it is all there now, where it belongs.
    kept = {key.name: key.value for key in mine}
    assert set(memory.found(kept)) == set(kept)
    assert set(scan_files([session.vault], sealed)) == set(sealed)
    assert set(scan_files([service.state], erasable)) == set(erasable)
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-a", session.vault, copy], check=True)

    destroy(session, service)
    assert session.status()["problems"] == []
    assert json.loads(session.run("latchkey", "find", "--class", AKPU, "--json").stdout) == []
    assert memory.found(gone | needles | erasable) == {}
    assert scan_files(folders, gone | needles | erasable) == {}
    # There are such items again, with keys of their own.
    session.store("another", "another", "yes", "latchkey:accessible", AKPU)
    again = memory.learn()
    assert not {key.value for key in again.keys} & set(gone.values())
    assert memory.found({key.name: key.value for key in again.keys if key.name == "erasable share"})
    # The log's turn is when the vault is quiet for a while, or the daemon ends.
    session.stop_daemon()
    assert scan_files(folders, gone | needles | erasable | sealed) == {}

    # Put back, the old files open but for that class, to the daemon and to whoever has the service's state.
    shutil.rmtree(session.vault)
    subprocess.run(["cp", "-a", copy, session.vault], check=True)
    with contextlib.suppress(Unreadable):
        Vault(copy, session.password, device=memory.device())
        raise AssertionError("the old copy opens as a whole")
    old = Vault(copy, session.password, device=memory.device(), erased=True)
    assert {item.number for item in old.items.values() if item.secret is None} == set(numbers)
    assert all(item.label is None and item.attributes is None for item in old.items.values() if item.number in numbers)
    session.start_daemon()
    assert session.login().returncode == 0
    assert session.lookup("free", "yes") == "still there"
    wait_until(lambda: session.status()["problems"] == [], "the look at the database")
    for size in SIZES:
        assert not session.lookup("secret", texts[f"attribute beside {size} bytes"])
    assert memory.found(gone | needles | erasable) == {}
    assert vaultreader.CLASSES[12] not in {item.accessibility for item in memory.learn().items.values()}
