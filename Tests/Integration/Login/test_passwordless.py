"""A login without a password. The user's vault is always unlocked, and depends only on the device key. Removing a
password destroys the items that need a password.
"""

import contextlib
import json
import os
import select
import shutil
import socket
import subprocess
import time

import pytest
from support.clients import CLASS, CLASSES
from support.control import MESSAGES, Control, packet
from support.deviced import Service
from support.disk import filled, small_disk
from support.hanging import Hanging
from support.items import new_collection
from support.pace import seconds
from support.peer import COLLECTION, LOGIN, NOTHING, ROOT, SERVICE, Peer
from support.session import Session, wait_until
from support.wire import constant

PASSCODE = "when-passcode-set-this-device-only"
DECLINED = constant("declined")
NO_PASSCODE = "org.latchkey.Error.NoPasscode"
OTHERS = [name for name in CLASSES if name != PASSCODE]
# Fields of the shadow file for logins that have a password, or that cannot log in with one.
FIELDS = ["!", "*", "x", "!!", "$6$salt$hash", "!$6$salt$hash"]


@pytest.fixture
def session(new_session):
    """A session without a login. The first login decides which protector the vault gets."""
    return new_session


@pytest.fixture
def service(session, stage):
    made = Service(program=stage / "usr/libexec/latchkey-deviced", path=session.root / "device.sock")
    yield made
    made.close()


@pytest.fixture
def passwordless(session):
    """A session whose first login had no password."""
    session.shadow("")
    assert session.login_without_password().returncode == 0
    return session


def fill(session, classes=CLASSES):
    for name in classes:
        session.store(f"of {name}", "class", name, CLASS, name)


def readable(session):
    session.status()  # waits until the daemon has talked to the service
    found = {name: session.lookup("class", name) for name in CLASSES}
    assert all(secret in (None, "", f"of {name}") for name, secret in found.items()), found
    return {name for name, secret in found.items() if secret}


def has(session, name):
    """Whether an item of this class exists, readable or not."""
    peer = Peer(session)
    try:
        return peer.search({"class": name}) != ([], [])
    finally:
        peer.close()


def state(session):
    status = session.status()
    return status["state"], status["passwordless"]


def copy_of(session, to):
    shutil.copytree(session.vault, to)
    return to


def put_back(session, copy, *names):
    """Replaces the vault's files with the files of an earlier copy."""
    session.stop_daemon()
    for name in names or [file.name for file in copy.iterdir() if file.is_file()]:
        for old in session.vault.glob(f"{name}*") if name == "vault.db" else [session.vault / name]:
            old.unlink(missing_ok=True)
        shutil.copy(copy / name, session.vault / name)
        shutil.chown(session.vault / name, session.uid, session.gid)
    session.start_daemon()


# MARK: no password


def test_the_vault_is_open_from_the_first_login_and_without_any(passwordless):
    session = passwordless
    assert state(session) == ("unlocked", True)
    fill(session, OTHERS)
    assert readable(session) == set(OTHERS)
    # A lingering user manager starts the daemon in this way before any login.
    session.restart()
    assert state(session) == ("unlocked", True)
    assert readable(session) == set(OTHERS)
    assert session.login_without_password().returncode == 0
    assert session.logout().returncode == 0
    assert state(session) == ("unlocked", True) and readable(session) == set(OTHERS)
    assert "the device key alone protects it" in session.run("latchkey", "status").stdout


def test_nothing_locks_it(passwordless):
    session = passwordless
    fill(session, OTHERS)
    done = session.run("latchkey", "lock")
    assert done.returncode == 1 and "your login has no password, so the vault cannot be locked" in done.stderr
    peer = Peer(session)
    peer.activate_screen_saver(True)
    wait_until(lambda: session.status()["locker_up"], "the locker")
    assert state(session) == ("unlocked", True) and readable(session) == set(OTHERS)
    peer.close()


def test_what_needs_a_password_is_refused(passwordless):
    session = passwordless
    peer = Peer(session)
    assert peer.create_error("secret", {"a": "b", CLASS: PASSCODE}).name == NO_PASSCODE
    item = peer.create("secret", {"a": "b"})
    assert peer.create_error("other", {"a": "b", CLASS: PASSCODE}).name == NO_PASSCODE
    assert peer.read(item) == b"secret"
    done = session.run("latchkey", "edit", "a=b", "--class", PASSCODE)
    assert done.returncode == 1 and "your login has no password" in done.stderr
    done = session.run("latchkey", "add", "--class", PASSCODE, "--label", "x", "c=d", input="secret")
    assert done.returncode == 1 and "your login has no password" in done.stderr
    assert peer.read(item) == b"secret" and session.status()["items"] == 1
    peer.close()


def test_a_collection_that_is_locked_by_itself_opens_without_a_question(passwordless):
    session = passwordless
    fill(session, OTHERS)
    peer = Peer(session)
    assert peer.call(ROOT, SERVICE, "Lock", "(ao)", [LOGIN]) == ([LOGIN], NOTHING)
    assert peer.get(LOGIN, COLLECTION, "Locked") is True
    assert readable(session) == set(OTHERS), "as secret-tool unlocks what it finds"
    peer.call(ROOT, SERVICE, "Lock", "(ao)", [LOGIN])
    opened, prompt = peer.unlock(LOGIN)
    assert opened == [] and peer.prompt(prompt) == (False, "ao", [LOGIN])
    assert peer.get(LOGIN, COLLECTION, "Locked") is False
    peer.close()


def test_keys_and_recovery_code_need_no_password(passwordless):
    session = passwordless
    fill(session, OTHERS)
    assert session.run("latchkey", "rotate").stdout.startswith("The vault has new keys.\n")
    assert session.status()["rotation"]["epoch"] == 2 and state(session) == ("unlocked", True)
    code = session.run("latchkey", "recovery", "create", "--stdout", check=True).stdout
    assert session.run("latchkey", "recovery", "check", "--stdin", input=code).returncode == 0
    session.run("latchkey", "recovery", "remove", check=True)
    assert session.status()["recovery_code"] is False
    session.restart()
    assert state(session) == ("unlocked", True) and readable(session) == set(OTHERS)


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_with_anything_in_it_is_no_missing_password(session, field):
    session.shadow(field)
    assert session.login_without_password().returncode == 0
    assert not session.vault.exists() and state(session) == ("sealed", False)


def test_a_missing_line_or_file_is_no_missing_password(session):
    (session.root / "shadow").write_text("somebody::20000:0:99999:7:::\n")
    assert session.login_without_password().returncode == 0
    (session.root / "shadow").unlink()
    assert session.login_without_password().returncode == 0
    assert not session.vault.exists() and state(session) == ("sealed", False)


def test_what_a_stack_asked_for_otherwise_is_no_password(session):
    """The shadow field is empty, so any typed text counts as no password, for example the code of a token."""
    session.shadow("")
    assert session.login().returncode == 0
    assert state(session) == ("unlocked", True)
    session.restart()
    assert state(session) == ("unlocked", True)


# MARK: the first password


@pytest.mark.night("login")
def test_the_first_password_changes_all_keys(passwordless, tmp_path):
    session = passwordless
    fill(session, OTHERS)
    session.stop_daemon()
    before = copy_of(session, tmp_path / "before")
    session.start_daemon()
    session.shadow("$6$salt$hash")
    assert session.login().returncode == 0
    assert state(session) == ("unlocked", False)
    status = session.status()["rotation"]
    assert (status["epoch"], status["left"], status["former_keys_needed"]) == (2, 0, False)
    fill(session, [PASSCODE])
    assert readable(session) == set(CLASSES)
    session.lock()
    assert readable(session) == {"after-first-unlock", "after-first-unlock-this-device-only", "always",
                                 "always-this-device-only"}  # fmt: skip
    assert session.locker().returncode == 0 and readable(session) == set(CLASSES)
    session.restart()
    assert state(session) == ("sealed", False)
    assert readable(session) == {"always", "always-this-device-only"}
    # The former keybag opened without a password. That keybag does not open the present database.
    after = copy_of(session, tmp_path / "after")
    put_back(session, before, "keybag")
    assert state(session) == ("sealed", False)
    assert any("do not belong together" in line for line in session.status()["problems"])
    assert readable(session) == {"always", "always-this-device-only"}
    put_back(session, after, "keybag")
    assert session.login().returncode == 0 and readable(session) == set(CLASSES)


def test_the_first_password_ends_a_code_that_anybody_could_have_made(passwordless):
    session = passwordless
    code = session.run("latchkey", "recovery", "create", "--stdout", check=True).stdout
    assert session.status()["recovery_code"] is True
    session.shadow("*")
    assert session.login().returncode == 0
    assert state(session) == ("unlocked", False) and session.status()["recovery_code"] is False
    done = session.run("latchkey", "recovery", "check", "--stdin", input=code)
    assert done.returncode == 1 and "that code does not unlock this vault" in done.stderr


def test_the_first_password_behind_a_locker(passwordless):
    """From now on, lockers count. The rule includes a locker that is already active."""
    session = passwordless
    fill(session, OTHERS)
    peer = Peer(session)
    peer.activate_screen_saver(True)
    wait_until(lambda: session.status()["locker_up"], "the locker")
    session.shadow("*")
    assert session.login().returncode == 0
    assert state(session) == ("locked", False)
    peer.activate_screen_saver(False)
    assert session.locker().returncode == 0
    assert state(session) == ("unlocked", False) and readable(session) == set(OTHERS)
    assert session.status()["rotation"]["left"] == 0
    peer.close()


def test_without_creating_a_password_is_not_taken(passwordless):
    """A PAM line with no_create must not set its password as the vault's."""
    session = passwordless
    session.shadow("*")
    service = session.root / "pam.d/login"
    service.write_text(service.read_text().replace(" debug ", " debug no_create "))
    assert session.login().returncode == 0
    assert state(session) == ("unlocked", True)


# MARK: the password goes


@pytest.mark.parametrize("backend", ["file", "host"])
def test_a_password_that_root_removed(session, service, tmp_path, backend):
    """Root ran `passwd -d`. The next login notices the removal."""
    if backend == "host":
        service.start()
    assert session.login().returncode == 0
    fill(session)
    session.stop_daemon()
    before = copy_of(session, tmp_path / "before")
    session.start_daemon()
    assert session.login().returncode == 0
    assert session.status()["device_key"] == backend
    for field in FIELDS:
        session.shadow(field)
        assert session.login_without_password().returncode == 0
    assert readable(session) == set(CLASSES)
    peer = Peer(session)
    item = peer.search({"class": PASSCODE})[0][0]
    session.shadow("")
    assert session.login_without_password().returncode == 0
    assert peer.wait_for_member("ItemDeleted", LOGIN) == (item,)
    assert readable(session) == set(OTHERS) and not has(session, PASSCODE)
    assert "destroyed for good" in session.log() and f"1 items of class {PASSCODE}" in session.log()
    assert peer.create_error("secret", {"class": PASSCODE, CLASS: PASSCODE}).name == NO_PASSCODE
    peer.close()
    # The rest of the vault waits for the former password.
    session.restart()
    assert session.login_without_password().returncode == 0
    assert state(session) == ("sealed", False)
    assert readable(session) == {"always", "always-this-device-only"}
    session.shadow("*")
    assert session.login().returncode == 0
    assert readable(session) == set(OTHERS)
    fill(session, [PASSCODE])
    assert readable(session) == set(CLASSES)
    # A copy of the vault brings the destroyed items back only if it includes the device key.
    put_back(session, before, *[name for name in ("keybag", "vault.db") if (before / name).exists()])
    assert session.login().returncode == 0
    assert readable(session) == set(OTHERS)


@pytest.mark.night("login")
@pytest.mark.parametrize("harm", ["away", "damaged"])
def test_a_database_that_cannot_be_used_saves_nothing(session, service, tmp_path, harm):
    """An attacker who can write into the folder could remove the database while no password exists."""
    service.start()
    assert session.login().returncode == 0 and session.login().returncode == 0
    fill(session)
    session.stop_daemon()
    before = copy_of(session, tmp_path / "before")
    for file in session.vault.glob("vault.db*"):
        file.unlink()
    if harm == "damaged":
        (session.vault / "vault.db").write_bytes(b"no database" * 1000)
        shutil.chown(session.vault / "vault.db", session.uid, session.gid)
    session.start_daemon()
    session.shadow("")
    assert session.login_without_password().returncode == 0
    put_back(session, before)
    session.shadow("*")
    assert session.login().returncode == 0
    assert readable(session) == set(OTHERS) and not has(session, PASSCODE)


def test_a_password_that_is_removed_by_pam(session):
    assert session.login().returncode == 0
    fill(session)
    session.shadow("")
    assert session.change_token(session.password, "").returncode == 0
    assert state(session) == ("unlocked", True)
    assert readable(session) == set(OTHERS) and not has(session, PASSCODE)
    session.restart()
    assert state(session) == ("unlocked", True) and readable(session) == set(OTHERS)
    # A later module refused the change, or the person sets the password again. The password counts as the first
    # password.
    session.shadow("*")
    assert session.login().returncode == 0
    assert state(session) == ("unlocked", False)
    session.restart()
    assert state(session) == ("sealed", False)
    assert session.login().returncode == 0 and readable(session) == set(OTHERS)


def test_a_removed_password_opens_what_was_locked(session):
    assert session.login().returncode == 0
    fill(session)
    session.lock()
    # If the password is not in a local file, the daemon trusts PAM about its removal.
    (session.root / "shadow").unlink()
    assert session.change_token(session.password, "").returncode == 0
    assert state(session) == ("unlocked", True) and readable(session) == set(OTHERS)


@pytest.mark.night("faults")
@pytest.mark.skipif(os.getuid() != 0, reason="mounting a small disk needs root")
@pytest.mark.parametrize("rest", [0, 4096, 8192, 16384, 65536])
def test_a_password_that_is_removed_on_a_full_disk(stage, rest):
    """In one case, the disk has no room for keybag, device key and database. In the other case, only the keybag has no
    room. The next session completes the removal."""
    with small_disk() as place, contextlib.closing(Session(stage, place)) as session:
        assert session.login().returncode == 0
        fill(session)
        session.shadow("")
        with filled(place, rest):
            assert session.change_token(session.password, "").returncode == 0
            assert state(session)[0] == "unlocked" and readable(session) >= set(OTHERS)
        assert session.login_without_password().returncode == 0
        assert readable(session) == set(OTHERS) and not has(session, PASSCODE)
        assert session.status()["problems"] == []
        session.restart()
        if state(session) == ("sealed", False):
            # The keybag still has its password.
            session.shadow("*")
            assert session.login().returncode == 0
        assert readable(session) == set(OTHERS)


def test_a_removed_password_that_is_another_opens_nothing(session):
    assert session.login().returncode == 0
    fill(session)
    session.lock()
    session.shadow("")
    assert session.change_token("another", "").returncode == 0
    assert state(session) == ("locked", False) and not has(session, PASSCODE)
    assert session.locker().returncode == 0 and readable(session) == set(OTHERS)


def test_a_password_that_the_system_still_knows_was_not_removed(session):
    session.shadow("$6$salt$hash")
    assert session.login().returncode == 0
    fill(session)
    assert session.change_token(session.password, "").returncode == 0
    assert state(session) == ("unlocked", False) and readable(session) == set(CLASSES)


@pytest.mark.parametrize("new", ["another", " "])
def test_a_changed_password_is_not_a_removed_one(session, new):
    assert session.login().returncode == 0
    fill(session)
    session.shadow("")
    assert session.change_token(session.password, new).returncode == 0
    assert state(session) == ("unlocked", False) and readable(session) == set(CLASSES)


# MARK: devices


def test_the_vault_follows_the_device_key_to_the_service(passwordless, service):
    session = passwordless
    fill(session, OTHERS)
    assert session.status()["device_key"] == "file"
    service.start()
    session.restart()
    assert state(session) == ("unlocked", True) and session.status()["device_key"] == "host"
    wait_until(lambda: not (session.vault / "device.key").exists(), "the end of the file", timeout=40)
    for _ in range(2):
        session.restart()
        assert state(session) == ("unlocked", True) and readable(session) == set(OTHERS)


def test_a_service_that_comes_late(session, service):
    service.start()
    session.shadow("")
    assert session.login_without_password().returncode == 0
    fill(session, OTHERS)
    service.stop()
    session.restart()
    assert state(session) == ("sealed", False)
    assert any(line.startswith("device key service: ") for line in session.status()["problems"])
    assert session.login_without_password().returncode == 0, "a login goes on"
    service.start()
    wait_until(lambda: state(session) == ("unlocked", True), "the vault", timeout=30)
    assert readable(session) == set(OTHERS) and session.status()["problems"] == []


def test_a_deleted_collection_while_the_service_is_away(session, service):
    service.start()
    session.shadow("")
    assert session.login_without_password().returncode == 0
    peer = Peer(session)
    collection = new_collection(peer, "Work")
    peer.create(b"work", {"n": "w"}, label="At work", collection=collection)
    made = session.run("latchkey", "history", "make", "--json", check=True)
    assert peer.call(collection, COLLECTION, "Delete") == NOTHING
    service.stop()
    words = ("latchkey", "history", "restore", str(json.loads(made.stdout)["number"]), "--collection", "Work")
    done = session.run(*words)
    assert done.returncode == 1 and "deleted collections requires the device key: device key service: " in done.stderr
    assert "run the command again when it can be used" in done.stderr
    # All other state is unchanged.
    assert state(session) == ("unlocked", True) and session.status()["problems"] == []
    service.start()
    assert session.run(*words).returncode == 0
    assert session.lookup("n", "w") == "work"
    peer.close()


def test_a_service_that_is_still_starting_at_the_first_login(session, stage):
    hanging = Hanging(session, stage)
    try:
        hanging.hang()
        session.shadow("")
        words = ("pamtester", "autologin", session.user, "authenticate", "open_session")
        coming = session.start(*words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_until(hanging.requests, "a request of the daemon's")
        assert not (session.vault / "keybag").exists()
        hanging.answer()
        assert coming.wait(seconds(60)) == 0
        wait_until(lambda: state(session) == ("unlocked", True), "the vault", timeout=30)
        status = session.status()
        assert (status["device_key"], status["problems"]) == ("host", [])
    finally:
        hanging.close()


@pytest.mark.night("login")
def test_nobody_waits_for_the_service_in_the_place_of_a_first_login(session, stage):
    """Helpers that have ended do not count for the limit of waiting helpers."""
    wanted = packet(MESSAGES["DeviceSecretRequest"], bytes([1]) + os.urandom(16 + 16 + 32))
    # A real helper also makes the folder first.
    session.run("mkdir", "-p", "-m", "700", str(session.vault), check=True)
    hanging = Hanging(session, stage)
    try:
        hanging.hang()
        gone = [Control(session) for _ in range(3)]
        for one in gone:
            one.send(wanted)
        # If a fourth helper is refused, three are waiting.
        wait_until(lambda: is_refused(session, wanted), "the limit", timeout=15)
        for one in gone:
            one.close()
        closed = time.monotonic()
        wait_until(lambda: not is_refused(session, wanted), "the end of those that wait for nobody", timeout=30)
        # By itself, each helper would end after 20 seconds.
        assert time.monotonic() - closed < 12
        waiting = Control(session)
        waiting.send(wanted)
        time.sleep(0.5)
        hanging.answer()
        answer = waiting.receive()
        assert answer[:2] == wanted[:2] and len(answer) > 100
        waiting.close()
    finally:
        hanging.close()


def is_refused(session, request):
    """Whether the daemon refuses a request for a secret at once, instead of making it wait."""
    control = Control(session)
    try:
        control.send(request)
        return bool(select.select([control.socket], [], [], 2)[0]) and control.receive()[1] == DECLINED
    finally:
        control.close()


@pytest.mark.night("login")
def test_a_service_that_hangs_creates_nothing(session):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as mute:
        mute.bind(str(session.root / "device.sock"))
        (session.root / "device.sock").chmod(0o666)
        mute.listen()
        session.shadow("")
        assert session.login_without_password().returncode == 0
        assert not (session.vault / "keybag").exists()
        wait_until(lambda: session.status()["device_key"] == "unavailable", "what is wrong", timeout=60)
        told = session.run("latchkey", "status").stdout
        assert "To unlock" in told and "log out and in again" in told and "'latchkey unlock'" not in told
        # The test waits until no request is under way. Otherwise the failure of a request could end the problem instead
        # of the missing socket.
        time.sleep(3)
    (session.root / "device.sock").unlink()
    wait_until(lambda: session.status()["problems"] == [], "the end of what was wrong", timeout=60)
    assert session.login_without_password().returncode == 0
    assert state(session) == ("unlocked", True)


def test_on_another_machine_only_the_recovery_code_opens_it(passwordless):
    session = passwordless
    fill(session, OTHERS)
    code = session.run("latchkey", "recovery", "create", "--stdout", check=True).stdout
    session.stop_daemon()
    (session.vault / "device.key").unlink()
    session.start_daemon()
    assert state(session) == ("sealed", False)
    assert any("only the device key of another machine opens it" in line for line in session.status()["problems"])
    session.shadow("*")
    assert session.login().returncode == 0
    assert state(session) == ("sealed", False), "a password that opened nothing opens nothing"
    done = session.run("latchkey", "unlock", "--recovery", "--stdin", input=code + session.password + "\n")
    assert done.returncode == 0, done.stderr
    here = {name for name in OTHERS if not name.endswith("this-device-only")}
    assert state(session) == ("unlocked", False) and readable(session) == here
    session.restart()
    assert session.login().returncode == 0 and readable(session) == here
