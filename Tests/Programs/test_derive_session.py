"""latchkey-derive at logins without a password: the keys that it opens, and for which user, service and process."""

import contextlib
import os
import signal
import socket
import struct
import threading
import time

import pytest
from support.derive import (
    ADD_SESSION,
    ANYWHERE,
    AUTHENTICATE,
    CREATE_CODE,
    DAEMON_SILENT,
    DAMAGED,
    CREATED,
    IS_ROOT,
    NO_DEVICE_KEY,
    NOTHING_NEEDED,
    OPEN,
    PASSWORD,
    PASSWORDLESS,
    PERSON,
    RECOVER,
    REMOVE_SESSION,
    ROTATE,
    SERVICES_UNBELIEVED,
    SESSION_OPENED,
    UNLOCKED,
    WRONG_PASSWORD,
    Login,
    as_root,
)  # fmt: skip
from support.deviced import UNWRAP, Service, resummed, service  # noqa: F401
from support.helper import EXCLUDED_SERVICES
from support.pace import seconds
from support.standin import (
    CLOSED, HELLO, NEEDED_EPOCH, NOTHING, REFUSED as NEED_REFUSED, SILENT, STAGED, UNLOCK_REFUSED, UNUSABLE, VERSION,
    WRONG_KEYS, Daemon,
)
from test_derive_rotate import Bag, bag

BY = "autologin"
PASSWORD_KIND, CODE, SESSION, DEVICE = 1, 2, 3, 4


def name(person, content, mode=0o644):
    """The administrator names these services."""
    person.services.write_text(content)
    person.services.chmod(mode)


def arrive(person, **fields):
    """A login without a password."""
    return person.run(OPEN, **{"token": "", "service": BY, **fields})


@pytest.fixture(scope="module")
def good_service():
    """A device key service that no test changes, so that all tests can use keybags that depend on it."""
    started = Service().start()
    yield started
    started.close()


@pytest.fixture(scope="module")
def good_keybag(folder, programs, new_keybag, good_service):
    """The keybag of a vault. Logins without a password open a part of this vault."""
    place = folder / "good"
    place.mkdir()
    person = Login(place, programs / "latchkey-derive")
    person.created_before(new_keybag)
    person.device = good_service.path
    assert person.run(ADD_SESSION) == UNLOCKED
    return person.keybag.read_bytes()


@pytest.fixture
def user(resident, good_service):
    """A person with a vault, on a machine with a device key service. The administrator has named one service."""
    resident.device = good_service.path
    name(resident, f"{BY}\n")
    return resident


@pytest.fixture
def guest(user, request):
    """The same person, who lets logins without a password open a part of the vault."""
    if "service" in request.fixturenames:  # this test changes the service
        user.device = request.getfixturevalue("service").path
        assert user.run(ADD_SESSION) == UNLOCKED
    else:
        user.write(user.keybag, request.getfixturevalue("good_keybag"))
    return user


def keys_of(person, daemon):
    """The keys that the password opens."""
    assert person.run(AUTHENTICATE) == UNLOCKED
    delivery = daemon.deliveries.pop()
    return delivery.unlocked, delivery.session


# ---- the keys that a login without a password opens ----


@as_root
def test_the_login_brings_tier_key_c_and_nothing_else(guest, new_keybag):
    daemon = guest.daemon()
    assert bag(guest).kinds == [PASSWORD_KIND, SESSION] and bag(guest).generation == Bag(new_keybag).generation + 1
    unlocked, session = keys_of(guest, daemon)
    daemon.packets.clear()
    assert arrive(guest) == SESSION_OPENED
    assert daemon.sessions == [(new_keybag[12:28], 1, session)]
    assert daemon.deliveries == [] and daemon.hellos[-1] == ("openSession", BY, "tty1", "")
    everything = b"".join(daemon.packets)
    assert session in everything and unlocked not in everything
    assert guest.keybag.read_bytes().count(session) == 0


@as_root
def test_without_a_protector_nobody_asks_for_anything(user):
    daemon = user.daemon()
    assert arrive(user) == NOTHING_NEEDED
    assert [packet[1] for packet in daemon.packets] == [HELLO]


@as_root
def test_who_gives_a_password_gets_all_by_that(guest):
    daemon = guest.daemon()
    assert guest.run(OPEN, service=BY) == UNLOCKED
    assert guest.run(OPEN, service=BY, token=PASSWORD + "x") == WRONG_PASSWORD
    assert guest.run(AUTHENTICATE, service=BY) == UNLOCKED
    assert daemon.sessions == []


@as_root
def test_a_first_login_without_a_password_creates_nothing(login, service):  # noqa: F811
    login.device = service.path
    name(login, f"{BY}\n")
    login.daemon()
    assert arrive(login) == NOTHING_NEEDED
    assert not login.keybag.exists()


@as_root
def test_a_login_that_has_no_password_is_another_thing(guest):
    daemon = guest.daemon()
    guest.shadow.write_text(f"{PERSON.pw_name}::20000:0:99999:7:::\n")
    guest.shadow.chmod(0o600)
    daemon.need = NOTHING
    assert arrive(guest) == PASSWORDLESS
    assert daemon.sessions == [] and daemon.destructions == [True]


# ---- the service ----


@as_root
@pytest.mark.parametrize("content", [
    "autologin", "other\nautologin\n", "  autologin \t\n", "autologin\r\nother\r\n", "# these\n\nautologin\n", "\xff\nautologin\n",
])
def test_services_that_are_named(guest, content):
    guest.daemon()
    name(guest, content)
    assert arrive(guest) == SESSION_OPENED


@as_root
@pytest.mark.parametrize("content", [
    None, "", "\n", "other\n", "# autologin\n", "#autologin", "autologin2\n", "autologi\n", "Autologin\n", "autologin other\n",
    "autologin # mine\n", "autologin\0\n", "*\n",
])
def test_services_that_are_not(guest, content):
    daemon = guest.daemon()
    guest.services.unlink()
    if content is not None:
        name(guest, content)
    assert arrive(guest) == NOTHING_NEEDED
    assert daemon.sessions == [] and len(daemon.hellos) == 1
    assert arrive(guest, service="") == NOTHING_NEEDED


@as_root
@pytest.mark.parametrize("name_of", EXCLUDED_SERVICES)
def test_services_that_never_count(guest, name_of):
    daemon = guest.daemon()
    name(guest, f"{name_of}\n{BY}\n")
    assert arrive(guest, service=name_of) == NOTHING_NEEDED
    assert daemon.sessions == []


def writable_for_the_group(person):
    person.services.chmod(0o664)


def writable_for_all(person):
    person.services.chmod(0o646)


def somebody_elses(person):
    os.chown(person.services, PERSON.pw_uid, 0)


def a_link(person):
    person.services.rename(person.folder / "real")
    person.services.symlink_to(person.folder / "real")


def a_folder(person):
    person.services.unlink()
    person.services.mkdir()


def a_pipe(person):
    person.services.unlink()
    os.mkfifo(person.services, 0o644)


def too_large(person):
    name(person, f"{BY}\n" + "x" * 65536)


def in_a_folder_of_others(person):
    folder = person.folder / "etc"
    folder.mkdir()
    folder.chmod(0o777)
    person.services = person.services.rename(folder / "services")


def in_a_folder_of_somebody_else(person):
    folder = person.folder / "etc"
    folder.mkdir(mode=0o755)
    person.services = person.services.rename(folder / "services")
    os.chown(folder, PERSON.pw_uid, PERSON.pw_gid)


@as_root
@pytest.mark.parametrize("spoil", [
    writable_for_the_group, writable_for_all, somebody_elses, a_link, a_folder, a_pipe, too_large, in_a_folder_of_others,
    in_a_folder_of_somebody_else,
])
def test_a_list_that_somebody_else_could_have_written(guest, spoil):
    daemon = guest.daemon()
    spoil(guest)
    assert arrive(guest) == SERVICES_UNBELIEVED
    assert daemon.sessions == [] and len(daemon.hellos) == 1


# ---- the user ----


def test_a_program_of_the_users_is_no_login(resident, service):  # noqa: F811
    """The module runs in a program of the user, as in a locker, or the user starts the helper directly."""
    resident.device = service.path
    assert resident.run(ADD_SESSION) == UNLOCKED
    daemon = resident.daemon()
    name(resident, f"{BY}\n")
    identity = dict(user=PERSON.pw_uid, group=PERSON.pw_gid, extra_groups=[]) if IS_ROOT else {}
    assert resident.start(OPEN, token="", service=BY, options=identity).result() == NOTHING_NEEDED
    assert daemon.sessions == [] and len(daemon.hellos) == 1


@as_root
def test_it_is_root_no_more_when_it_reads_anything_of_the_users(guest):
    daemon = guest.daemon()
    came, go = threading.Event(), threading.Event()

    def wait(_operation):
        came.set()
        assert go.wait(seconds(5))

    daemon.on_request = wait
    run = guest.start(OPEN, token="", service=BY)
    try:
        assert came.wait(seconds(5))
        status = run.proc("status").decode()
        ids = [line.split()[1:] for line in status.splitlines() if line.startswith(("Uid:", "Gid:"))]
        assert ids == [[str(PERSON.pw_uid)] * 4, [str(PERSON.pw_gid)] * 4]
        assert "CapEff:\t0000000000000000" in status and "CapPrm:\t0000000000000000" in status
        # Nobody can take root's connection from the helper, because the kernel protects a process that is not dumpable.
        assert os.stat(f"/proc/{run.pid}/fd").st_uid == 0
        assert any("socket" in os.readlink(file) for file in run.open_files())
    finally:
        go.set()
    assert run.result() == SESSION_OPENED


@as_root
def test_root_has_none(guest):
    for place in (guest.home, guest.runtime, *guest.home.rglob("*")):
        os.chown(place, 0, 0)
    daemon = Daemon(guest.runtime)
    guest.daemons.append(daemon)
    assert guest.run(ADD_SESSION, user="root") == UNLOCKED
    assert guest.run(OPEN, user="root", token="", service=BY) == NOTHING_NEEDED
    assert daemon.sessions == [] and len(daemon.hellos) == 1


# ---- obstacles ----


@as_root
def test_without_the_device_key_service(guest, service):  # noqa: F811
    daemon = guest.daemon()
    service.stop()
    assert arrive(guest) == NO_DEVICE_KEY
    service.path.unlink()
    assert arrive(guest) == NO_DEVICE_KEY
    assert daemon.sessions == [] and len(daemon.hellos) == 2
    service.start()
    assert arrive(guest) == SESSION_OPENED


@as_root
def test_a_device_key_service_that_does_not_answer(guest, service):  # noqa: F811
    guest.daemon()
    service.process.send_signal(signal.SIGSTOP)
    try:
        run = guest.start(OPEN, token="", service=BY)
        assert run.result() == NO_DEVICE_KEY
    finally:
        service.process.send_signal(signal.SIGCONT)


class Slow:
    """A relay between a login and the service. It delays one answer, as a TPM does right after the start of the machine."""

    def __init__(self, path, service, delay):
        self.path, self.service, self.delay = path, service, delay
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(path))
        self.listener.listen(4)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                with client, self.service.peer() as peer:
                    while packet := client.recv(4096):
                        if packet[1] == UNWRAP:
                            time.sleep(self.delay)
                        client.send(peer.raw(packet))

    def close(self):
        self.listener.close()


@as_root
def test_a_device_key_that_takes_its_time(guest, good_service):
    """The delay is longer than the daemon may take for an answer, but within a login's time."""
    daemon = guest.daemon()
    slow = Slow(guest.folder / "slow.sock", good_service, 1.4)
    try:
        assert arrive(guest, device=slow.path) == SESSION_OPENED
        assert len(daemon.sessions) == 1
    finally:
        slow.close()


@as_root
def test_on_another_machine(guest, service):  # noqa: F811
    daemon = guest.daemon()
    other = Service().start()
    try:
        assert arrive(guest, device=other.path) == NO_DEVICE_KEY
    finally:
        other.close()
    assert daemon.sessions == []


@as_root
def test_a_user_who_was_forgotten(guest, service):  # noqa: F811
    guest.daemon()
    with service.peer() as root:
        root.forget(PERSON.pw_uid)
    assert arrive(guest) == NO_DEVICE_KEY


@pytest.mark.night("login")
@as_root
@pytest.mark.parametrize("attribute, answer, expected", [
    ("need", NOTHING, NOTHING_NEEDED), ("need", NEED_REFUSED, NOTHING_NEEDED), ("outcome", UNLOCK_REFUSED, NOTHING_NEEDED),
    ("outcome", STAGED, SESSION_OPENED), ("outcome", WRONG_KEYS, DAMAGED), ("outcome", UNUSABLE, DAMAGED),
    # The helper waits a minute for a daemon that does not answer this hello, because a device key may be slow.
    ("outcome", SILENT, DAEMON_SILENT), ("need", CLOSED, DAEMON_SILENT),
])
def test_what_the_daemon_says(guest, attribute, answer, expected):
    daemon = guest.daemon()
    setattr(daemon, attribute, answer)
    run = guest.start(OPEN, token="", service=BY)
    assert run.result() == expected
    assert len(daemon.sessions) == (attribute == "outcome")


@as_root
def test_an_altered_keybag_brings_nothing(guest):
    """Changes bytes of the protector and of the data that it is bound to, with the right check sum."""
    daemon = guest.daemon()
    good = guest.keybag.read_bytes()
    first = 45 + 96 + 72
    protector = range(first, first + 96 + 148)
    assert good[first] == SESSION
    # Vault, salt, commitment, wrapped secret, the epoch's number, tier key C; then the epoch's number and commitment.
    places = [12, first + 2, first + 34, first + 62, first + 96, first + 96 + 71, first + 168, first + 172, protector[-1]]
    places += [protector[-1] + 2, protector[-1] + 2 + 4 + 72 + 72 + 32]
    for place in places:
        guest.write(guest.keybag, resummed(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :]))
        assert arrive(guest) in (NO_DEVICE_KEY, DAMAGED), place
    guest.write(guest.keybag, good[:200])
    assert arrive(guest) == DAMAGED
    assert daemon.sessions == []
    guest.write(guest.keybag, good)
    assert arrive(guest) == SESSION_OPENED


# ---- added, kept, removed ----


def test_adding_takes_the_password_and_the_service(resident, service, new_keybag):  # noqa: F811
    assert resident.run(ADD_SESSION) == NO_DEVICE_KEY
    resident.device = service.path
    for token in (PASSWORD + "x", "ü"):
        assert resident.run(ADD_SESSION, token=token) == WRONG_PASSWORD
        assert resident.run(REMOVE_SESSION, token=token) == WRONG_PASSWORD
    # Nobody uses an empty password, so the helper does not try it.
    for operation in (ADD_SESSION, REMOVE_SESSION):
        run = resident.start(operation, token="")
        assert run.result() == WRONG_PASSWORD
    assert resident.run(REMOVE_SESSION) == NOTHING_NEEDED
    assert resident.keybag.read_bytes() == new_keybag
    service.stop()
    assert resident.run(ADD_SESSION) == NO_DEVICE_KEY
    assert resident.keybag.read_bytes() == new_keybag


def test_there_is_one_at_most(resident, service):  # noqa: F811
    resident.device = service.path
    assert resident.run(ADD_SESSION) == UNLOCKED
    before = resident.keybag.read_bytes()
    assert resident.run(ADD_SESSION) == UNLOCKED
    assert bag(resident).kinds == [PASSWORD_KIND, SESSION] and resident.keybag.read_bytes() != before


def test_a_vault_without_a_password_gets_none(login, service):  # noqa: F811
    login.device = service.path
    login.daemon()
    login.shadow.write_text(f"{PERSON.pw_name}::20000:0:99999:7:::\n")
    if not IS_ROOT:
        pytest.skip("needs root")
    assert login.run(OPEN, token="") == CREATED
    before = login.keybag.read_bytes()
    assert bag(login).kinds == [DEVICE]
    for operation in (ADD_SESSION, REMOVE_SESSION):
        for token in (PASSWORD, ""):
            assert login.run(operation, token=token) == NOTHING_NEEDED
    assert login.keybag.read_bytes() == before


@as_root
def test_new_keys_keep_it_with_another_secret(guest):
    daemon = guest.daemon()
    _, before = keys_of(guest, daemon)
    old = guest.keybag.read_bytes()
    assert guest.run(ROTATE) == UNLOCKED
    assert bag(guest).kinds == [PASSWORD_KIND, SESSION] and bag(guest).epochs == [1, 2]
    _, after = keys_of(guest, daemon)
    assert arrive(guest) == SESSION_OPENED
    assert daemon.sessions[-1][1:] == (2, after) and after != before
    daemon.needed = bytes([VERSION, NEEDED_EPOCH]) + struct.pack("<I", 2)
    assert guest.run(AUTHENTICATE) == UNLOCKED and bag(guest).epochs == [2]
    assert arrive(guest) == SESSION_OPENED and daemon.sessions[-1][1:] == (2, after)
    # The old keybag in place of the new one has only the former key.
    guest.write(guest.keybag, old)
    assert arrive(guest) == SESSION_OPENED and daemon.sessions[-1][1:] == (1, before)


@as_root
def test_new_keys_do_not_wait_for_a_service_that_is_away(guest, service):  # noqa: F811
    guest.daemon()
    service.stop()
    assert guest.run(ROTATE) == UNLOCKED
    assert bag(guest).kinds == [PASSWORD_KIND]
    assert arrive(guest) == NOTHING_NEEDED


@as_root
def test_new_keys_on_another_machine_make_none_for_that(guest):
    guest.daemon()
    other = Service().start()
    try:
        assert guest.run(ROTATE, device=other.path) == UNLOCKED
    finally:
        other.close()
    assert bag(guest).kinds == [PASSWORD_KIND]


@as_root
def test_removed_it_opens_nothing_but_an_old_copy_does_until_the_keys_change(guest):
    daemon = guest.daemon()
    _, key = keys_of(guest, daemon)
    old = guest.keybag.read_bytes()
    assert guest.run(REMOVE_SESSION) == UNLOCKED
    assert bag(guest).kinds == [PASSWORD_KIND]
    assert arrive(guest) == NOTHING_NEEDED and daemon.sessions == []
    guest.write(guest.keybag, old)
    assert arrive(guest) == SESSION_OPENED and daemon.sessions[-1][2] == key


@as_root
def test_another_password_keeps_it(guest):
    daemon = guest.daemon()
    _, key = keys_of(guest, daemon)
    read, write = os.pipe()
    assert guest.start(CREATE_CODE, flags=ANYWHERE, options={"stdout": write}).result() == UNLOCKED
    os.close(write)
    code = os.read(read, 4096).decode().strip()
    os.close(read)
    assert guest.run(RECOVER, token=code, password="another one") == UNLOCKED
    assert sorted(bag(guest).kinds) == [PASSWORD_KIND, CODE, SESSION]
    assert guest.run(AUTHENTICATE, token="another one") == UNLOCKED
    assert arrive(guest) == SESSION_OPENED and daemon.sessions[-1][2] == key
