"""The end of the class whenPasscodeSetThisDeviceOnly. Afterwards no key, secret, label, attribute or cipher text of the
class is in the daemon's memory or in a file. An old copy of all the vault's files does not open either.

Each function of `DESTROYERS` destroys the class in its own way.
"""

import json
import os
import secrets
import subprocess

import pytest
from support.client import SecretClient
from support.deviced import Service
from support.memory import PIECE, scan_files
from support.session import wait_until
from support.vaultreader import APPLICATION, DeviceKey, ServiceKey, Unreadable, Vault, machine_identity
from test_memory import ENCRYPTED, memory  # noqa: F401 (a fixture)

pytestmark = [
    pytest.mark.night("vault"),
    pytest.mark.skipif(os.getuid() != 0, reason="reading another process's memory needs root")]

AKPU, FREE = "when-passcode-set-this-device-only", "when-unlocked"
SIZES = (48, 5000, 16 << 20)


def erase(session, *words):
    """On a busy machine, the service asks the person to try again while it looks up the account."""
    wait_until(lambda: session.run("latchkey", "device", "erase", "--yes", *words).returncode == 0, "the erasure")


def erase_beside(session, service):
    """Erases through another socket than the daemon's, so the daemon hears nothing of it."""
    erase(session, "--socket", service.path)


def by_command(session, _service):
    """`latchkey device erase` through the daemon."""
    erase(session)


def by_an_empty_field(session, _service):
    """Root removed the login's password. At the next login, the field of the shadow file is empty."""
    session.shadow("")
    assert session.login_without_password().returncode == 0


def by_passwd(session, _service):
    """The login's password was removed, and PAM reports that."""
    session.shadow("")
    assert session.change_token(session.password, "").returncode == 0
    assert session.status()["passwordless"]


def by_the_next_login(session, service):
    """Erases beside the running daemon. The daemon notices the erasure after a restart and an unlock."""
    erase_beside(session, service)
    session.restart()
    assert session.login().returncode == 0


def by_new_keys(session, service):
    """Erases beside the running daemon, and then asks the daemon for new keys."""
    erase_beside(session, service)
    done = session.run("latchkey", "rotate", "--stdin", "--json", input=session.password + "\n", check=True, timeout=60)
    assert json.loads(done.stdout)["epoch"] == 2


DESTROYERS = [by_command, by_an_empty_field, by_passwd, by_the_next_login, by_new_keys]
# After these functions, items of the class can exist again only after a new password.
WITHOUT_PASSWORD = [by_an_empty_field, by_passwd]


@pytest.fixture(params=["service", "file"])
def served(request, memory, stage):  # noqa: F811
    """An unlocked vault whose device key is in the service or in a file. The fixture gives the daemon's memory and the
    service."""
    session, path = memory.session, memory.session.root / "device.sock"
    service = Service(program=stage / "usr/libexec/latchkey-deviced", path=path)
    try:
        if request.param == "service":
            service.start()
            memory.device = lambda: ServiceKey(service.state, session.uid)
        assert session.login().returncode == 0
        assert session.status()["device_key"] == {"service": "host"}.get(request.param, "file")
        yield memory, service
    finally:
        service.close()


def rows_of(folder, vault):
    """The sealed values of the class in the database, by name. Of each value, the first and the last bytes."""
    sealed = {}
    for row in vault._rows["class_key"]:
        if row["class"] == 12:
            sealed |= {f"{name} of class {row['id']}": row[name] for name in ("class_key", "metadata_key")}
    for row in vault._rows["item"]:
        if vault.items[row["id"]].accessibility == AKPU:
            sealed |= {f"{name} of item {row['id']}": row[name] for name in ("metadata", "item_key", "secret")}
    return {name: value[:PIECE] + value[-PIECE:] for name, value in sealed.items()}


CASES = [("service", destroy) for destroy in DESTROYERS] + [("file", by_command)]


@pytest.mark.parametrize("served, destroy", CASES, indirect=["served"], ids=lambda value: getattr(value, "__name__", value))
def test_nothing_is_left(served, destroy, tmp_path):
    memory, service = served  # noqa: F811
    session = memory.session
    folders, here = [session.vault, service.state], machine_identity(APPLICATION)

    def device_key():
        return memory.device() or DeviceKey((session.vault / "device.key").read_bytes(), here)

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
        # A daemon that ends moves SQLite's log into the database.
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
    erasable = {"the erasable secret": device_key().erasable}

    # The controls: all values are in their places now.
    kept = {key.name: key.value for key in mine}
    assert set(memory.found(kept)) == set(kept)
    assert set(scan_files([session.vault], sealed)) == set(sealed)
    assert set(scan_files(folders, erasable)) == set(erasable)
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-a", session.vault, copy], check=True)

    destroy(session, service)
    assert session.status()["problems"] == []
    assert json.loads(session.run("latchkey", "find", "--class", AKPU, "--json").stdout) == []
    assert memory.found(gone | needles | erasable) == {}
    assert scan_files(folders, gone | needles | erasable) == {}
    if destroy not in WITHOUT_PASSWORD:
        # New items of the class are possible, and have new keys.
        session.store("another", "another", "yes", "latchkey:accessible", AKPU)
        again = memory.learn()
        assert not {key.value for key in again.keys} & set(gone.values())
        assert memory.found({key.name: key.value for key in again.keys if key.name == "erasable share"})
    # The daemon erases generations when it is idle. The daemon empties the log when the vault has been idle for a
    # while, or when the daemon ends.
    generations = session.vault / "generations"
    wait_until(lambda: not list(generations.glob("*.erased")), "the end of former generations")
    session.stop_daemon()
    assert scan_files(folders, gone | needles | erasable | sealed) == {}

    # After the password is set again, the old files open, but this class does not. Neither the daemon nor an attacker
    # with all present files can open the class. (A device key in a file is an exception: docs/security/classes.md.)
    for name in ("keybag", "vault.db"):
        subprocess.run(["cp", "-a", copy / name, session.vault], check=True)
    with pytest.raises(Unreadable, match="erasable share"):
        Vault(session.vault, session.password, here, device=memory.device())
    old = Vault(session.vault, session.password, here, device=memory.device(), erased=True)
    assert {item.number for item in old.items.values() if item.secret is None} == set(numbers)
    assert all(item.label is None and item.attributes is None for item in old.items.values() if item.number in numbers)
    session.shadow("*")
    session.start_daemon()
    assert session.login().returncode == 0
    assert session.lookup("free", "yes") == "still there"
    wait_until(lambda: session.status()["problems"] == [], "the look at the database")
    for size in SIZES:
        assert not session.lookup("secret", texts[f"attribute beside {size} bytes"])
    assert memory.found(gone | needles | erasable) == {}
    assert AKPU not in {item.accessibility for item in memory.learn().items.values()}
