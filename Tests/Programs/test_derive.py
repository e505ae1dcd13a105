"""latchkey-derive: its answers, the files that it writes, and the keys that it brings to the daemon."""

import hashlib
import os
import pwd
import shutil
import socket
import stat
import subprocess
import sys
import time

import pytest
from support import listener as listening
from support.derive import (
    AUTHENTICATE, BEGUN, CLOSE, CLOSED, DAEMON_SILENT, DAMAGED, CREATED, HOME_UNAVAILABLE, INTERNAL_ERROR, LATE, NO_DAEMON,
    NO_CREATE, NO_VAULT, NOTHING_NEEDED, OPEN, OTHER_VERSION as DAEMON_OF_OTHER_VERSION, PASSWORD, PERSON, REFUSED, ROTATE, UNLOCKED, WRONG_PASSWORD, as_root,
    but_generation, is_at_once,
)
from support.helper import now
from support.session import is_alive
from support.standin import (
    CLOSED as HANG_UP, GIVE_WAY, KEYS, LIVE, NOTHING, OTHER_VERSION, REFUSED as NEED_REFUSED, SILENT, STAGED, UNLOCK_REFUSED, UNUSABLE,
    VERSION, WRONG_KEYS, declined,
)

# The keybag's fields: magic, version, vault, generation, time of creation, number of protectors, kind; then the state.
GENERATION, STATE = 28, 46
UNPROVEN, PROVEN = 0, 1


def generation(keybag):
    return int.from_bytes(keybag[GENERATION : GENERATION + 8], "little")


def resealed(keybag):
    """The keybag with a valid check sum. Anybody who may write the file could make it."""
    return keybag[:-32] + hashlib.blake2b(keybag[:-32], digest_size=32).digest()


# ---- authenticate ----


@pytest.mark.parametrize("outcome, expected", [
    (LIVE, UNLOCKED), (STAGED, UNLOCKED), (WRONG_KEYS, DAMAGED), (UNLOCK_REFUSED, REFUSED), (UNUSABLE, DAMAGED),
    (SILENT, DAEMON_SILENT), (HANG_UP, DAEMON_SILENT)])  # fmt: skip
def test_keys_are_delivered(resident, new_keybag, outcome, expected):
    daemon = resident.daemon()
    daemon.outcome = outcome
    assert resident.run(AUTHENTICATE, service="i3lock", tty=":0", rhost="10.1.2.3") == expected
    assert daemon.hellos == [("authenticate", "i3lock", ":0", "10.1.2.3")]
    (delivery,) = daemon.deliveries
    assert delivery.vault == new_keybag[12:28]
    assert delivery.generation == 1
    assert len({delivery.unlocked, delivery.session, bytes(32)}) == 3
    assert but_generation(resident.keybag.read_bytes()) == but_generation(new_keybag), "authenticate changes no more than the generation"


@pytest.mark.parametrize("answer, expected", [
    (HANG_UP, DAEMON_SILENT), (declined(), REFUSED), (b"\2\41" + b"k" * 31, DAEMON_SILENT), (b"\2\41" + b"k" * 33, DAEMON_SILENT),
    (b"\2\41" + bytes(32), DAEMON_SILENT), (b"\2\1\1\0\0", DAEMON_SILENT)])  # fmt: skip
def test_without_a_key_to_seal_to_nothing_is_delivered(resident, new_keybag, answer, expected):
    daemon = resident.daemon()
    daemon.one_time_key = answer
    assert resident.run(AUTHENTICATE) == expected
    assert daemon.deliveries == [] and resident.keybag.read_bytes() == new_keybag
    daemon.one_time_key = None
    assert resident.run(AUTHENTICATE) == UNLOCKED and len(daemon.deliveries) == 1


def test_the_same_keys_each_time_and_never_the_password(resident):
    daemon = resident.daemon()
    for operation in (AUTHENTICATE, OPEN, AUTHENTICATE):
        assert resident.run(operation) == UNLOCKED
    assert len({(d.unlocked, d.session) for d in daemon.deliveries}) == 1
    assert not any(PASSWORD.encode() in packet for packet in daemon.packets)


@pytest.mark.night("login")
@pytest.mark.parametrize("need, expected", [
    (NOTHING, NOTHING_NEEDED), (NEED_REFUSED, REFUSED), (SILENT, DAEMON_SILENT), (HANG_UP, DAEMON_SILENT),
    (b"\2\1", DAEMON_SILENT), (b"\3\1\0\0\0", DAEMON_SILENT), (b"\2\1\7\0\0", DAEMON_SILENT),
    (b"x" * 60000, DAEMON_SILENT)])  # fmt: skip
@pytest.mark.parametrize("operation", [AUTHENTICATE, OPEN])
def test_without_need_of_keys_no_password_is_worked_on(resident, new_keybag, operation, need, expected):
    # The keybag is damaged, so the answer would differ if the helper tried to open it.
    resident.write(resident.keybag, new_keybag[:100])
    daemon = resident.daemon()
    daemon.need = need
    if need == SILENT:
        assert resident.run(operation) == expected
    else:
        assert is_at_once(lambda: resident.start(operation), expected)
    assert daemon.deliveries == []


STAYS, GIVES_WAY = (bytes([VERSION + 1, answer]) for answer in (OTHER_VERSION, GIVE_WAY))


@pytest.mark.parametrize("operation", [AUTHENTICATE, OPEN])
def test_a_daemon_of_another_version_that_gives_way_to_a_password(resident, operation):
    """Before the last hello, the service manager has started the installed daemon."""
    daemon = resident.daemon()
    daemon.need = [GIVES_WAY, GIVES_WAY, KEYS]
    assert resident.run(operation) == UNLOCKED
    assert daemon.given_way == 1 and len(daemon.deliveries) == 1


@pytest.mark.parametrize("service", ["login", "latchkey-unlock"])
@pytest.mark.parametrize("age, result", [(3, UNLOCKED), (60, LATE)])
def test_a_daemon_of_another_version_cannot_know_when_the_password_was_given(resident, service, age, result):
    """The old daemon watches locks from the hello on. The installed daemon learns until which moment the old one watched."""
    daemon = resident.daemon()
    daemon.need = [GIVES_WAY, GIVES_WAY, KEYS]
    begun = now()
    assert resident.run(AUTHENTICATE, service=service, given=begun - age * 1_000_000) == result
    assert daemon.given_way == len(daemon.deliveries) == (result == UNLOCKED)
    assert result == LATE or begun < daemon.given[-1] < now()


@pytest.mark.parametrize("operation, fields, expected", [
    (AUTHENTICATE, dict(token="wrong"), WRONG_PASSWORD), (OPEN, dict(token="wrong"), WRONG_PASSWORD),
    (OPEN, dict(token=""), DAEMON_OF_OTHER_VERSION), (CLOSE, dict(token=""), DAEMON_OF_OTHER_VERSION)])  # fmt: skip
def test_a_daemon_of_another_version_is_left_alone_where_there_are_no_keys_for_it(resident, operation, fields, expected):
    """The daemon has the keys of the items that are readable behind the locked screen. Neither a login by ssh key nor its end may
    erase those keys."""
    daemon = resident.daemon()
    daemon.need = GIVES_WAY
    assert resident.run(operation, **fields) == expected
    assert daemon.given_way == 0 and daemon.deliveries == []


@pytest.mark.parametrize("operation", [AUTHENTICATE, OPEN, ROTATE])
def test_a_daemon_of_another_version_that_stays_is_asked_once(resident, new_keybag, operation):
    daemon = resident.daemon()
    daemon.need = daemon.may_rotate = STAYS
    assert resident.run(operation) == DAEMON_OF_OTHER_VERSION
    assert len(daemon.packets) == 1 and daemon.deliveries == [] and resident.keybag.read_bytes() == new_keybag


@pytest.mark.parametrize("answer, expected", [(STAYS, DAEMON_OF_OTHER_VERSION), (HANG_UP, DAEMON_SILENT), (b"\2\3", DAEMON_SILENT)])
def test_a_daemon_of_another_version_that_stays_after_all(resident, answer, expected):
    daemon = resident.daemon()
    daemon.need, daemon.give_way = GIVES_WAY, answer
    assert resident.run(AUTHENTICATE) == expected
    assert daemon.given_way == 1 and daemon.deliveries == []


def test_where_the_installed_daemon_is_of_another_version_one_is_ended_and_no_more(resident):
    daemon = resident.daemon()
    daemon.need = GIVES_WAY
    assert resident.run(AUTHENTICATE) == DAEMON_OF_OTHER_VERSION
    assert daemon.given_way == 1 and daemon.deliveries == []


def test_a_first_vault_waits_until_a_daemon_of_another_version_is_replaced(login):
    daemon = login.daemon()
    daemon.need = [GIVES_WAY, GIVES_WAY, KEYS]
    assert login.run(OPEN) == CREATED
    assert daemon.given_way == 1 and len(daemon.deliveries) == 1


def test_wrong_password(resident):
    daemon = resident.daemon()
    for operation in (AUTHENTICATE, OPEN):
        for token in (PASSWORD + "x", PASSWORD[:-1], PASSWORD.upper(), "\0", "x" * 4096):
            assert resident.run(operation, token=token) == WRONG_PASSWORD
    assert daemon.deliveries == []


@pytest.mark.parametrize("operation", [AUTHENTICATE, CLOSE])
def test_no_daemon_is_known_at_once(resident, operation):
    assert is_at_once(lambda: resident.start(operation), NO_DAEMON)
    resident.daemon().close(remove=False)  # the daemon was killed: the socket exists, and nobody listens
    resident.daemons.clear()
    assert resident.run(operation) == NO_DAEMON


def test_authenticate_creates_nothing(login):
    daemon = login.daemon()
    assert login.run(AUTHENTICATE) == NO_VAULT
    assert daemon.deliveries == []
    assert list(login.home.iterdir()) == []


# ---- open and close ----


def test_creating_with_the_daemon(login):
    daemon = login.daemon()
    assert login.run(OPEN) == CREATED
    assert daemon.hellos == [("openSession", "login", "tty1", "")]
    (delivery,) = daemon.deliveries
    keybag = login.keybag.read_bytes()
    assert delivery.flags == 1 and delivery.vault == keybag[12:28] and generation(keybag) == 2, "there is a database"
    assert keybag[STATE] == UNPROVEN
    for path in (login.vault, login.vault.parent, login.vault.parents[1]):
        assert path.stat().st_mode & 0o7777 == 0o700 and path.stat().st_uid == PERSON.pw_uid
    assert {path.name for path in login.vault.iterdir()} == {"keybag", "keybag.copy", "keybag.lock"}
    assert all(path.stat().st_mode & 0o7777 == 0o600 for path in login.vault.iterdir())


@pytest.mark.night("login")
@pytest.mark.parametrize("need, outcome, expected", [
    (NOTHING, LIVE, CREATED), (NEED_REFUSED, LIVE, CREATED), (SILENT, LIVE, CREATED), (HANG_UP, LIVE, CREATED),
    (KEYS, STAGED, CREATED), (KEYS, UNLOCK_REFUSED, CREATED), (KEYS, SILENT, CREATED), (KEYS, WRONG_KEYS, DAMAGED),
    (KEYS, UNUSABLE, DAMAGED)])  # fmt: skip
def test_creating_whatever_the_daemon_says(login, need, outcome, expected):
    daemon = login.daemon()
    daemon.need, daemon.outcome = need, outcome
    assert login.run(OPEN) == expected
    # Only accepted keys lead to a database.
    assert generation(login.keybag.read_bytes()) == (2 if need == KEYS and outcome in (LIVE, STAGED) else 1)


def test_creating_without_the_daemon(login):
    run = login.start(OPEN, runtime=login.folder / "nowhere")
    assert run.result() == CREATED
    assert stat.S_IMODE(login.keybag.stat().st_mode) == 0o600
    first = login.keybag.read_bytes()
    daemon = login.daemon()
    assert login.run(AUTHENTICATE) == UNLOCKED, "the password waits for nobody: it opens what was created"
    assert daemon.deliveries[0].flags == 1, "the database has still to be made"
    assert but_generation(login.keybag.read_bytes()) == but_generation(first)


def test_the_second_login_proves_the_password(resident):
    daemon = resident.daemon()
    daemon.outcome = [UNUSABLE, UNLOCK_REFUSED, STAGED, LIVE]
    for expected in (DAMAGED, REFUSED):
        assert resident.run(OPEN) == expected
        assert resident.keybag.read_bytes()[STATE] == UNPROVEN
    assert resident.run(OPEN) == UNLOCKED
    keybag = resident.keybag.read_bytes()
    assert keybag[STATE] == PROVEN and generation(keybag) == 2
    assert resident.run(OPEN) == UNLOCKED
    assert resident.keybag.read_bytes() == keybag
    assert [delivery.flags for delivery in daemon.deliveries] == [1, 1, 1, 0], "then a database that is gone is a loss"
    assert [delivery.generation for delivery in daemon.deliveries] == [1, 1, 1, 2]


@pytest.mark.parametrize("fields", [dict(flags=NO_CREATE), dict(service="su"), dict(service="sudo"), dict(service="doas"),
                                    dict(service="cron"), dict(service="systemd-user")])
def test_where_no_vault_is_founded_the_session_is_told_all_the_same(login, fields):
    daemon = login.daemon()
    assert login.run(OPEN, **fields) == NO_VAULT
    assert list(login.home.iterdir()) == []
    assert [stage for stage, *_ in daemon.hellos] == ["openSession"]


def test_a_session_without_a_password_is_told(login):
    daemon = login.daemon()
    for daemon.need in (NOTHING, KEYS, NEED_REFUSED):
        assert login.run(OPEN, token="") == NOTHING_NEEDED
    assert login.run(CLOSE, token="") == CLOSED
    assert [stage for stage, *_ in daemon.hellos] == ["openSession"] * 3 + ["closeSession"]
    assert daemon.deliveries == [] and list(login.home.iterdir()) == []


@pytest.mark.night("login")
@pytest.mark.parametrize("operation, token", [(OPEN, ""), (CLOSE, "")])
def test_a_silent_daemon_at_the_ends_of_a_session(login, operation, token):
    login.daemon().need = SILENT
    assert login.run(operation, token=token) == DAEMON_SILENT


def test_open_waits_for_the_socket(resident):
    run = resident.start(OPEN)
    worker = run.worker
    time.sleep(0.2)
    daemon = resident.daemon()
    assert is_alive(worker)
    assert run.result() == UNLOCKED and len(daemon.deliveries) == 1
    daemon.close()
    resident.daemons.clear()
    run = resident.start(OPEN)
    assert run.result() == NO_DAEMON
    assert 0.9 < run.seconds
    assert is_at_once(lambda: resident.start(OPEN, runtime=resident.folder / "nowhere"), NO_DAEMON)


def test_two_creations_at_once_give_one_vault(login):
    daemon = login.daemon()
    runs = [login.start(OPEN) for _ in range(3)]
    results = [run.result() for run in runs]
    assert sorted(results) == [UNLOCKED, UNLOCKED, CREATED]
    assert len({(d.vault, d.unlocked, d.session) for d in daemon.deliveries}) == 1 and len(daemon.deliveries) == 3
    assert daemon.deliveries[0].vault == login.keybag.read_bytes()[12:28]


def test_two_second_logins_at_once(resident):
    resident.daemon()
    runs = [resident.start(OPEN) for _ in range(3)]
    assert [run.result() for run in runs] == [UNLOCKED] * 3
    assert generation(resident.keybag.read_bytes()) == 2


def test_many_logins_at_once_end_in_time(resident):
    resident.daemon()
    runs = [resident.start(AUTHENTICATE) for _ in range(4)]
    assert {run.result() for run in runs} == {UNLOCKED}


# ---- files ----


def damaged(keybag):
    middle = len(keybag) // 2
    return {
        "empty": b"",
        "one byte": keybag[:1],
        "half": keybag[:middle],
        "without its last byte": keybag[:-1],
        "longer": keybag + b"\0",
        "flipped": keybag[:middle] + bytes([keybag[middle] ^ 1]) + keybag[middle + 1 :],
        "flipped, check sum right": resealed(keybag[:200] + bytes([keybag[200] ^ 1]) + keybag[201:]),
        "newer": resealed(keybag[:8] + b"\2\0\0\0" + keybag[12:]),
        "foreign": b"-----BEGIN PGP MESSAGE-----\n" * 20,
        "too large": keybag + bytes(70000),
        "last generation": resealed(keybag[:GENERATION] + b"\xff" * 8 + keybag[GENERATION + 8 :]),
        "no protector": resealed(keybag[:44] + b"\0" + keybag[45:]),
        "255 protectors": resealed(keybag[:44] + b"\xff" + keybag[45:]),
    }


@pytest.mark.parametrize("name", damaged(bytes(300)))
@pytest.mark.parametrize("operation", [AUTHENTICATE, OPEN])
def test_damaged_keybag(resident, new_keybag, operation, name):
    bad = damaged(new_keybag)[name]
    resident.write(resident.keybag, bad)
    daemon = resident.daemon()
    assert resident.run(operation) == DAMAGED
    assert daemon.deliveries == [] and len(daemon.hellos) == 1
    assert resident.keybag.read_bytes() == bad


# The position of the only protector's cost: after kind, state, id, two times and the salt.
PASSES = STATE + 1 + 16 + 8 + 8 + 16
MEMORY = PASSES + 4


@pytest.mark.parametrize("passes, memory, expected", [
    (3, 31 << 20, DAMAGED), (3, (1 << 30) + 1024, DAMAGED), (11, 64 << 20, DAMAGED), (1, 64 << 20, DAMAGED),
    (3, (64 << 20) + 1, DAMAGED), (2**32 - 1, 2**64 - 1, DAMAGED), (3, 33 << 20, WRONG_PASSWORD)])  # fmt: skip
def test_the_cost_is_bounded_before_any_work(resident, new_keybag, passes, memory, expected):
    cost = passes.to_bytes(4, "little") + memory.to_bytes(8, "little")
    resident.write(resident.keybag, resealed(new_keybag[:PASSES] + cost + new_keybag[MEMORY + 8 :]))
    resident.daemon()
    assert is_at_once(lambda: resident.start(AUTHENTICATE), expected, usual=1)


@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "socket", "device", "of another user"])
def test_a_keybag_that_is_no_file_of_the_user(resident, new_keybag, kind):
    resident.keybag.unlink()
    outside = resident.folder / "outside"
    resident.write(outside, new_keybag)
    if kind == "link":
        resident.keybag.symlink_to(outside)
    elif kind == "fifo":
        os.mkfifo(resident.keybag)
        os.chown(resident.keybag, PERSON.pw_uid, PERSON.pw_gid)
    elif kind == "folder":
        resident.keybag.mkdir()
        os.chown(resident.keybag, PERSON.pw_uid, PERSON.pw_gid)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(resident.keybag))
        os.chown(resident.keybag, PERSON.pw_uid, PERSON.pw_gid)
    elif os.geteuid() != 0:
        pytest.skip("needs root")
    elif kind == "device":
        os.mknod(resident.keybag, 0o020666, os.makedev(1, 5))
        os.chown(resident.keybag, PERSON.pw_uid, PERSON.pw_gid)
    else:
        shutil.copy(outside, resident.keybag)
        resident.keybag.chmod(0o666)
    daemon = resident.daemon()
    for operation in (AUTHENTICATE, OPEN):
        assert is_at_once(lambda: resident.start(operation), HOME_UNAVAILABLE)
    assert daemon.deliveries == [] and outside.read_bytes() == new_keybag


@pytest.mark.parametrize("daemon_is_up", [True, False])
def test_a_database_without_a_keybag_creates_no_other(login, daemon_is_up):
    login.created_before(b"")
    login.keybag.unlink()
    login.write(login.vault / "vault.db", b"SQLite format 3\0")
    if daemon_is_up:
        daemon = login.daemon()
        assert login.run(AUTHENTICATE) == DAMAGED
        assert login.run(OPEN) == DAMAGED
        assert [stage for stage, *_ in daemon.hellos] == ["authenticate", "openSession"]
    else:
        assert login.run(OPEN, runtime=login.folder / "nowhere") == DAMAGED
    assert [path.name for path in login.vault.iterdir()] == ["vault.db"]


@pytest.mark.parametrize("kind", ["absent", "a file", "a loop"])
def test_a_home_that_is_none(login, kind):
    home = login.folder / "other"
    if kind == "a file":
        home.touch()
    elif kind == "a loop":
        home.symlink_to(home)
    daemon = login.daemon()
    assert login.run(OPEN, home=home) == HOME_UNAVAILABLE
    assert len(daemon.hellos) == 1
    assert login.run(AUTHENTICATE, home=home) in (NO_VAULT, HOME_UNAVAILABLE)


@as_root
def test_a_home_of_another_user(login, new_keybag):
    os.chown(login.home, 0, 0)
    login.home.chmod(0o777)
    assert login.run(OPEN, runtime="/nowhere") == HOME_UNAVAILABLE
    assert list(login.home.iterdir()) == []
    os.chown(login.home, PERSON.pw_uid, PERSON.pw_gid)
    login.created_before(new_keybag)
    os.chown(login.vault, 0, 0)
    login.vault.chmod(0o777)
    daemon = login.daemon()
    for operation in (AUTHENTICATE, OPEN):
        assert login.run(operation) == HOME_UNAVAILABLE
    assert daemon.deliveries == []


@as_root
def test_the_lock_of_another_user(resident, new_keybag):
    # The helper cannot mark the password as proven in the keybag, but uses its keys.
    (resident.vault / "keybag.lock").write_bytes(b"")
    resident.daemon()
    assert resident.run(OPEN) == UNLOCKED
    assert resident.keybag.read_bytes() == new_keybag


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_a_lock_that_is_no_file(login, kind):
    login.created_before(b"")
    login.keybag.unlink()
    outside = login.folder / "outside"
    if kind == "link":
        (login.vault / "keybag.lock").symlink_to(outside)
    else:
        os.mkfifo(login.vault / "keybag.lock")
    assert login.run(OPEN, runtime="/nowhere") == HOME_UNAVAILABLE
    assert not outside.exists() and not login.keybag.exists()


@as_root
def test_read_only_and_full_file_systems(login, new_keybag):
    def mount(*arguments):
        subprocess.run(["mount", *arguments, login.home], check=True)

    owner = f"mode=700,uid={PERSON.pw_uid},gid={PERSON.pw_gid}"
    mount("-t", "tmpfs", "-o", f"size=64k,{owner}", "full")
    try:
        (login.home / "filler").write_bytes(bytes(60 << 10))
        with open("/proc/self/mounts") as mounts:
            assert str(login.home) in mounts.read()
        try:
            with open(login.home / "rest", "wb") as rest:
                while rest.write(bytes(4096)):
                    rest.flush()
        except OSError:
            pass
        assert login.run(OPEN, runtime="/nowhere") == HOME_UNAVAILABLE
        assert not login.keybag.exists() and not list(login.home.rglob("*.new"))
        (login.home / "filler").unlink()
        (login.home / "rest").unlink()
        assert login.run(OPEN, runtime="/nowhere") == CREATED, "with room again"
        login.write(login.keybag, new_keybag)
        mount("-o", "remount,ro")
        daemon = login.daemon()
        assert login.run(OPEN) == UNLOCKED
        assert len(daemon.deliveries) == 1 and login.keybag.read_bytes() == new_keybag
    finally:
        subprocess.run(["umount", login.home], check=True)
    mount("-t", "tmpfs", "-o", f"ro,size=64k,{owner}", "bare")
    try:
        assert login.run(OPEN) == HOME_UNAVAILABLE
    finally:
        subprocess.run(["umount", login.home], check=True)


# ---- who ----


@as_root
def test_system_accounts_get_no_vault(login):
    account = pwd.getpwnam("daemon")
    os.chown(login.home, account.pw_uid, account.pw_gid)
    assert login.run(OPEN, user="daemon", runtime="/nowhere") == NO_VAULT
    os.chown(login.home, 0, 0)
    assert login.run(OPEN, user="root", runtime="/nowhere") == NO_VAULT
    assert list(login.home.iterdir()) == []


@pytest.mark.parametrize("user", ["no-such-user-of-this-machine", "", "../root"])
def test_unknown_users(login, user):
    assert login.run(OPEN, user=user) == INTERNAL_ERROR


@as_root
def test_a_user_cannot_become_another(login):
    options = dict(user=PERSON.pw_uid, group=PERSON.pw_gid, extra_groups=[])
    for user in ("root", "daemon"):
        assert login.run(OPEN, user=user, options=options) == INTERNAL_ERROR
    daemon = login.daemon()
    assert login.run(OPEN, options=options) == CREATED, "but be oneself, as a screen locker's user is"
    assert len(daemon.deliveries) == 1


@as_root
@pytest.mark.parametrize("owner_of_file", ["the listener", "the user"])
def test_nothing_is_said_to_a_listener_of_another_user(resident, owner_of_file):
    os.makedirs(resident.runtime / "latchkey")
    os.chmod(resident.runtime, 0o777)
    os.chmod(resident.runtime / "latchkey", 0o777)
    path = resident.runtime / "latchkey/control"
    stranger = pwd.getpwnam("daemon")
    with subprocess.Popen([sys.executable, listening.__file__, path], user=stranger.pw_uid, group=stranger.pw_gid,
                          stdout=subprocess.PIPE, text=True, cwd="/", env={"PYTHONDONTWRITEBYTECODE": "1"}) as listener:
        try:
            assert listener.stdout.readline() == "listening\n"
            os.chmod(path, 0o777)
            if owner_of_file == "the user":
                os.chown(path, PERSON.pw_uid, -1)
            for operation in (AUTHENTICATE, OPEN, CLOSE):
                assert resident.run(operation) == REFUSED
                if owner_of_file == "the user":
                    assert listener.stdout.readline() == "nothing\n"
        finally:
            listener.kill()


def test_a_link_for_a_socket_is_not_followed(resident):
    elsewhere = resident.daemon(path=f"{resident.folder}/elsewhere/control")
    os.makedirs(resident.runtime / "latchkey")
    (resident.runtime / "latchkey/control").symlink_to(elsewhere.path)
    assert resident.run(AUTHENTICATE) == REFUSED
    assert elsewhere.packets == []
