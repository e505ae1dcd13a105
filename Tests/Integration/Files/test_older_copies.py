"""Somebody puts an older copy of the vault back. The device key service notices the older copy, and `latchkey status`
reports the copy.
"""

import os
import shutil
import signal

import pytest
from support import vaultreader
from support.archive import DONE, backup, restore
from support.person import Person
from support.session import Session, wait_until
from test_device import service  # noqa: F401
from test_rotation import create, rotate

FILES = ("keybag", "vault.db")
TITLE = "An older copy of the vault was put back"
NOTICE = "an older copy of the vault was put back: "


@pytest.fixture
def vault(session, service):  # noqa: F811
    """A session whose vault the service knows."""
    service.start()
    assert session.login().returncode == 0
    session.store("first", "n", "1")
    return session


def begin(session):
    """Starts a new daemon, and logs in."""
    session.start_daemon()
    assert session.login().returncode == 0


def keep(session):
    """Stops the daemon, and returns the content of the vault's files."""
    session.stop_daemon()
    # The daemon empties the log when the daemon ends. SQLite deletes the log if no other process uses it.
    log = session.vault / "vault.db-wal"
    assert not log.exists() or log.stat().st_size == 0
    return {name: (session.vault / name).read_bytes() for name in FILES}


def put_back(session, copy, *names):
    session.stop_daemon()
    for name in names:
        (session.vault / name).write_bytes(copy[name])
    begin(session)


def older(session):
    """The files that status reports as older copies. The text and the JSON of status must agree."""
    found = session.status()["older_files"]
    text = session.run("latchkey", "status").stdout
    assert (TITLE in text) == bool(found)
    assert [name for name in FILES if f"{name} is older than when" in text] == found
    return found


def notices(session):
    return [line.partition(NOTICE)[2].partition(";")[0] for line in session.log().splitlines() if NOTICE in line]


@pytest.mark.parametrize("names", [("vault.db",), ("keybag",), FILES], ids=" and ".join)
def test_each_file_is_told_and_secrets_stay_readable(vault, names):
    old = keep(vault)
    begin(vault)
    vault.store("second", "n", "2")
    create(vault)
    # The service learns of the new keybag at the next unlock.
    vault.lock()
    assert vault.locker().returncode == 0
    put_back(vault, old, *names)
    assert vault.status()["state"] == "unlocked" and vault.status()["problems"] == []
    assert older(vault) == list(names)
    assert vault.lookup("n", "1") == "first"
    assert vault.lookup("n", "2") == (None if "vault.db" in names else "second")
    assert notices(vault) == [" and ".join(names)]
    # The report stays until the session ends, and does not come back in the next session.
    vault.lock()
    assert older(vault) == list(names)
    assert vault.locker().returncode == 0
    assert older(vault) == list(names) and len(notices(vault)) == 1
    vault.logout()
    wait_until(lambda: vault.status()["state"] == "sealed", "the end of the session")
    assert older(vault) == []
    assert vault.login().returncode == 0
    assert older(vault) == [] and len(notices(vault)) == 1
    # The daemon reports another older copy again.
    put_back(vault, old, "vault.db")
    assert older(vault) == ["vault.db"] and notices(vault)[1:] == ["vault.db"]


@pytest.mark.night("vault")
def test_what_is_no_older_copy(vault, service):  # noqa: F811
    """The usual events in the life of a vault. The daemon reports no older copy after any of these events."""
    for _ in range(2):
        vault.lock()
        assert vault.locker().returncode == 0
    keep(vault)
    begin(vault)
    vault.stop_daemon(signal.SIGKILL)
    begin(vault)
    assert backup(vault).returncode == DONE
    vault.run("secret-tool", "clear", "n", "1", check=True)
    assert restore(vault).returncode == DONE
    rotate(vault)
    begin(vault)
    # The login password changes, and a recovery code opens the vault for the new one.
    code = create(vault)
    vault.logout()
    vault.set_password("another password")
    person = Person(vault, "latchkey", "unlock", "--recovery").expect("Recovery code: ").type(code)
    person.expect("Password:").type(vault.password)
    assert "unlocked" in person.last_line()
    service.restart()
    keep(vault)
    begin(vault)
    # Without the service, the daemon knows no generation. Later the service returns, and the vault is newer than the
    # service remembers.
    service.stop()
    service.path.unlink()
    vault.lock()
    assert vault.locker().returncode == 0
    assert vault.status()["problems"] == []
    vault.restart()
    assert vault.login().returncode == 0
    service.start()
    vault.restart()
    assert vault.login().returncode == 0
    assert vault.status()["device_key"] == "host"
    assert older(vault) == [] and notices(vault) == [] and vault.lookup("n", "1") == "first"
    assert vault.status()["problems"] == []


def test_a_service_that_forgot_or_never_knew_says_nothing(vault, service):  # noqa: F811
    old = keep(vault)
    begin(vault)
    with service.peer(0) as root:
        root.forget(vault.uid)
    # Without its state, the service knows no generation, as on another machine.
    put_back(vault, old, *FILES)
    assert older(vault) == [] and notices(vault) == [] and vault.lookup("n", "1") == "first"


def test_a_damaged_state_is_told_and_in_the_way_of_nothing(vault, service):  # noqa: F811
    old = keep(vault)
    begin(vault)
    (service.state / f"users/{vault.uid}.vaults").write_bytes(b"damaged")
    put_back(vault, old, *FILES)
    assert older(vault) == []
    (problem,) = vault.status()["problems"]
    assert "is damaged" in problem and "not known whether an older copy of the vault was put back" in problem
    assert vault.lookup("n", "1") == "first"


@pytest.mark.night("vault")
def test_two_vaults_of_one_user(vault, service, stage):  # noqa: F811
    """The service knows each vault by its id. So a newer second vault does not make the first one look old."""
    other = Session(stage)
    try:
        # The second session's daemon looks for the service in its own folder.
        os.symlink(service.path, other.root / "device.sock")
        assert other.login().returncode == 0
        assert other.status()["device_key"] == "host"
        old = keep(other)
        begin(other)
        for _ in range(2):
            vault.lock()
            assert vault.locker().returncode == 0
        assert older(vault) == [] and older(other) == []
        put_back(other, old, "vault.db")
        assert older(other) == ["vault.db"]
        vault.lock()
        assert vault.locker().returncode == 0
        assert older(vault) == []
    finally:
        other.close()


def test_the_generation_is_that_of_the_format(vault, service, tmp_path):  # noqa: F811
    """The service remembers the same generation of the database that an independent reader finds."""
    last = 0
    for _ in range(2):
        # The helper of a login may write the keybag again after the vault is unlocked.
        vault.lock()
        assert vault.locker().returncode == 0
        for name in (*FILES, "vault.db-wal"):
            shutil.copy(vault.vault / name, tmp_path)
        read = vaultreader.Vault(tmp_path, vault.password, None)
        assert read.generation > last
        last = read.generation
        with service.peer(vault.uid) as peer:
            assert peer.note(read.id, 0, 0) == (vault.status()["generation"], last)
        keep(vault)
        begin(vault)
