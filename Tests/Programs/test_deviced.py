"""latchkey-deviced: the owner of each key, the content of its files, and the rule that it never replaces a key."""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import types

import pytest
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt as aead_open
from support import listener as listening
from support.derive import as_root
from support.deviced import (  # noqa: F401
    BOUND,
    DAEMON,
    ERASABLE,
    HOST,
    ME,
    NOBODY,
    OTHER_DEVICE,
    REFUSED,
    SHARE,
    UNAVAILABLE,
    Refused,
    Service,
    command,
    kdf,
    outcome,
    refusal,
    resummed,
    sealed,
    service,
    state_file,
    tpm,
)  # fmt: skip
from support.pace import seconds

# Numbers from here on belong to no account.
STRANGER = 3_000_000_000


def test_a_share_comes_back_also_after_a_restart(service):
    with service.peer() as peer:
        identity = peer.identity()
        assert identity[1] == HOST
        wrapped = {kind: peer.wrap(SHARE, kind) for kind in (BOUND, ERASABLE)}
    service.restart()
    with service.peer() as peer:
        assert peer.identity() == identity
        for kind, value in wrapped.items():
            assert len(value) == 72
            assert peer.unwrap(value, kind) == SHARE


def test_kind_context_and_every_byte_count(service):
    with service.peer() as peer:
        wrapped = peer.wrap(SHARE)
        peer.wrap(SHARE, ERASABLE)
        assert outcome(peer.unwrap, wrapped, ERASABLE) == OTHER_DEVICE
        assert outcome(peer.unwrap, wrapped, BOUND, b"contexT") == OTHER_DEVICE
        assert outcome(peer.unwrap, wrapped, BOUND, b"") == OTHER_DEVICE
    for offset in range(72):
        with service.peer() as peer:
            altered = bytes(byte ^ (position == offset) for position, byte in enumerate(wrapped))
            assert outcome(peer.unwrap, altered) == OTHER_DEVICE


def test_files_and_shares_are_those_of_the_format(service):
    with service.peer() as peer:
        identity, _ = peer.identity()
        wrapped = {kind: peer.wrap(SHARE, kind) for kind in (BOUND, ERASABLE)}
    files = service.files()
    assert set(files) == {"device", f"users/{ME}", f"users/{ME}.erasable"}
    for name in files:
        assert (service.state / name).stat().st_mode & 0o777 == 0o600
    assert service.state.stat().st_mode & 0o777 == 0o700
    device = state_file(files["device"], b"LATCHDVS")
    assert device[0] == HOST and len(device) == 33
    number = struct.pack("<I", ME)
    salt = state_file(files[f"users/{ME}"], b"LATCHUSR")
    erasable = state_file(files[f"users/{ME}.erasable"], b"LATCHERS")
    assert salt[:4] == erasable[:4] == number and len(salt) == len(erasable) == 36
    key = kdf(device[1:], "device-user", number, salt[4:])
    assert identity == kdf(key, "device-identity", size=16)
    for kind, more in ((BOUND, ()), (ERASABLE, (erasable[4:],))):
        value = wrapped[kind]
        assert aead_open(value[24:], b"context", value[:24], kdf(key, "device-wrap", bytes([kind]), *more)) == SHARE


@as_root
def test_nobody_unwraps_what_is_anothers(service):
    with service.peer(NOBODY) as peer, service.peer(DAEMON) as other, service.peer() as root:
        assert len({each.identity() for each in (peer, other, root)}) == 3
        for kind in (BOUND, ERASABLE):
            wrapped = peer.wrap(SHARE, kind)
            other.wrap(SHARE, kind)
            root.wrap(SHARE, kind)
            assert peer.unwrap(wrapped, kind) == SHARE
            assert outcome(other.unwrap, wrapped, kind) == OTHER_DEVICE
            assert outcome(root.unwrap, wrapped, kind) == OTHER_DEVICE


@as_root
def test_only_root_commands_and_each_erases_his_own(service):
    with service.peer(NOBODY) as peer, service.peer(DAEMON) as other, service.peer() as root:
        wrapped = peer.wrap(SHARE, ERASABLE)
        assert outcome(peer.move, HOST) == REFUSED
        assert outcome(peer.forget, NOBODY) == REFUSED
        assert outcome(other.erase, NOBODY) == REFUSED
        assert peer.unwrap(wrapped, ERASABLE) == SHARE
        root.move(HOST)
        root.erase(NOBODY)
        assert outcome(peer.unwrap, wrapped, ERASABLE) == OTHER_DEVICE
    assert f"user {NOBODY} was erased" in service.journal()


@as_root
def test_whoever_has_no_account_gets_no_file(service):
    with service.peer(54321) as peer:
        failure = refusal(peer.identity)
        assert failure.outcome == UNAVAILABLE and "54321" in failure.text
        assert outcome(peer.wrap, SHARE) == UNAVAILABLE
        assert outcome(peer.unwrap, bytes(72)) == OTHER_DEVICE
    assert set(service.files()) == {"device"}


def test_an_erased_secret_is_gone_and_the_next_is_another(service):
    with service.peer() as peer:
        identity = peer.identity()
        bound, erasable = peer.wrap(SHARE), peer.wrap(SHARE, ERASABLE)
        file = service.state / f"users/{ME}.erasable"
        before = file.read_bytes()
        # A second open descriptor shows the content of the file's blocks.
        with open(file, "rb") as held:
            peer.erase(ME)
            assert held.read() == bytes(len(before))
        assert not file.exists()
        assert outcome(peer.unwrap, erasable, ERASABLE) == OTHER_DEVICE
        assert peer.unwrap(bound) == SHARE
        assert not file.exists(), "unwrapping makes none"
        again = peer.wrap(SHARE, ERASABLE)
        assert peer.unwrap(again, ERASABLE) == SHARE
        assert outcome(peer.unwrap, erasable, ERASABLE) == OTHER_DEVICE
        assert peer.identity() == identity
        peer.erase(ME)
        peer.erase(ME)


@as_root
def test_a_user_who_was_forgotten_meets_another_device(service):
    with service.peer(NOBODY) as peer, service.peer() as root:
        identity, _ = peer.identity()
        wrapped = peer.wrap(SHARE)
        others, _ = root.identity()
        root.forget(NOBODY)
        assert outcome(peer.unwrap, wrapped) == OTHER_DEVICE
        assert peer.identity()[0] != identity
        assert root.identity()[0] == others


@as_root
def test_the_command_line_moves_erases_and_forgets(sealed):
    with sealed.peer() as peer:
        wrapped = {kind: peer.wrap(SHARE, kind) for kind in (BOUND, ERASABLE)}
        assert command(sealed, "show").stdout == "tpm\n"
        assert command(sealed, "move", "host").returncode == 0
        assert command(sealed, "show").stdout == "host\n"
        assert command(sealed, "erase").returncode == 64
        assert peer.unwrap(wrapped[ERASABLE], ERASABLE) == SHARE
        assert command(sealed, "erase", "--yes").returncode == 0
        assert outcome(peer.unwrap, wrapped[ERASABLE], ERASABLE) == OTHER_DEVICE
        assert peer.unwrap(wrapped[BOUND]) == SHARE
        assert command(sealed, "forget", "0").returncode == 64
        done = command(sealed, "forget", "--yes", "root")
        assert done.returncode == 64 and "<uid>" in done.stderr and "<user>" not in done.stderr
        done = command(sealed, "forget", "0", "--yes")
        assert (done.returncode, done.stdout) == (0, "")
        assert outcome(peer.unwrap, wrapped[BOUND]) == OTHER_DEVICE
    # The service has nothing left to erase for this user, and never had anything for others.
    for words, user in ((("forget", "0"), 0), (("forget", "4711"), 4711), (("erase", "--user", "4711"), 4711)):
        done = command(sealed, *words, "--yes")
        assert (done.returncode, done.stdout) == (0, f"The device key service has nothing of user {user} to erase.\n"), words
    sealed.stop()
    gone = command(sealed, "show")
    assert gone.returncode == 1 and "Connection refused" in gone.stderr
    sealed.path.unlink()
    assert "no service listens" in command(sealed, "show").stderr


@as_root
def test_the_command_line_refuses_others(service):
    # The folder is below /tmp, so that a user can run the program.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        shutil.copy(service.program.parent / "latchkey", folder)
        program, service.program = service.program, pathlib.Path(folder) / "latchkey-deviced"
        refused = command(service, "move", "host", user=NOBODY)
        service.program = program
    assert refused.returncode == 1 and "only root moves" in refused.stderr


@as_root
def test_nothing_is_said_to_a_listener_of_another_user(service):
    """A listener of another user at this socket would learn the shares."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        other = types.SimpleNamespace(program=service.program, path=f"{folder}/device.sock")
        with subprocess.Popen([sys.executable, listening.__file__, other.path], user=NOBODY, group=NOBODY, extra_groups=[],
                              stdout=subprocess.PIPE, text=True, cwd="/", env={"PYTHONDONTWRITEBYTECODE": "1"}) as listener:
            try:
                assert listener.stdout.readline() == "listening\n"
                refused = command(other, "show")
                assert refused.returncode == 1 and "Operation not permitted" in refused.stderr
                assert listener.stdout.readline() == "nothing\n"
            finally:
                listener.kill()


# Bad peers


def garbage():
    good = bytes([1, 2, BOUND, 3]) + b"abc" + SHARE
    yield from (good[:size] for size in range(1, len(good)))
    yield good + b"\0"
    yield bytes([0]) + good[1:]
    yield bytes([2]) + good[1:]
    yield from (bytes([1, operation]) for operation in (0, 9, 255))
    yield bytes([1, 2, 0, 0]) + SHARE
    yield bytes([1, 2, 4, 0]) + SHARE
    yield bytes([1, 3, 4, 0]) + bytes(72)
    yield bytes([1, 8, 1, 0, 0])
    yield bytes([1, 8, 1, 0, 0, 0, 0])
    yield bytes([1, 2, BOUND, 65]) + bytes(65) + SHARE
    yield bytes([1, 3, BOUND, 0]) + bytes(71)
    yield bytes([1, 5, 0])
    yield bytes([1, 5, 3])
    yield bytes([1, 1, 0])
    yield bytes([1, 7]) + bytes(32)
    yield bytes([1, 7]) + bytes(32) + b"\2"
    yield bytes([1, 7]) + bytes(34)
    yield bytes(512)
    yield bytes(513)
    yield bytes(100_000)


def test_garbage_ends_its_own_connection_only(service):
    with service.peer() as bystander:
        wrapped = bystander.wrap(SHARE)
        files = service.files()
        for packet in garbage():
            with service.peer() as peer:
                assert peer.raw(packet) == b"", packet
        assert bystander.unwrap(wrapped) == SHARE
    assert service.files() == files
    assert service.process.poll() is None


def test_a_connection_ends_after_many_requests(service):
    with service.peer() as peer:
        wrapped = peer.wrap(SHARE)
        for _ in range(63):
            assert peer.unwrap(wrapped) == SHARE
        with pytest.raises(ConnectionResetError):
            peer.unwrap(wrapped)
    assert service.process.poll() is None
    with service.peer() as peer:
        assert peer.unwrap(wrapped) == SHARE


@as_root
def test_one_users_connections_leave_room_for_others(service):
    crowd = [service.peer(NOBODY) for _ in range(40)]
    with service.peer(DAEMON) as other:
        assert len(other.identity()[0]) == 16
    served = 0
    for peer in crowd:
        try:
            peer.identity()
            served += 1
        except ConnectionResetError:
            pass
        peer.close()
    assert served == 8


@as_root
def test_numbers_without_an_account_leave_room_for_users(service):
    # As many users as there are places, each with one connection.
    crowd = [service.peer(STRANGER + number) for number in range(64)]
    with service.peer(DAEMON) as other:
        assert len(other.identity()[0]) == 16
    answered = 0
    for peer in crowd:
        try:
            peer.identity()
        except Refused:
            answered += 1
        except ConnectionResetError:
            pass
        peer.close()
    assert answered == 8


def test_silence_ends_a_connection(service):
    with service.peer() as peer:
        assert peer.socket.recv(1) == b""


def test_it_ends_when_nobody_needs_it():
    service = Service()
    try:
        service.start("--idle", "1")
        with service.peer() as peer:
            peer.identity()
        assert service.process.wait(seconds(20)) == 0
    finally:
        service.close()


def test_what_was_left_while_leftovers_were_erased_is_erased(service):
    with service.peer() as peer:
        peer.identity()
    files = set(service.files())
    service.stop()
    for name in ("device.new.erased", "users/1.new.erased"):
        (service.state / name).write_bytes(b"a secret that was never used")
    service.restart()
    assert set(service.files()) == files


def test_a_second_service_does_not_touch_the_state(service):
    (service.root / "new").mkdir(0o700)
    for state, socket, taken in [(service.state, service.root / "other", service.state), (service.root / "new", service.path, service.path)]:
        done = subprocess.run([service.program, "--state", state, "--socket", socket, "--tcti", "none"],
                              capture_output=True, text=True, timeout=seconds(20))
        assert done.returncode == 1
        assert f"another latchkey-deviced runs, or the service manager starts one: {taken} is in use" in done.stderr
        assert "systemctl stop latchkey-deviced.socket latchkey-deviced.service" in done.stderr


# Damage


def altered(content):
    yield b""
    yield content[:20]
    yield content[:-1]
    yield content + b"\0"
    yield bytes(len(content))
    for offset in range(len(content)):
        yield bytes(byte ^ (position == offset) for position, byte in enumerate(content))
    yield resummed(b"M" + content[1:])
    yield resummed(content[:8] + struct.pack("<I", 2) + content[12:])
    yield resummed(content[:12] + bytes([9]) + content[13:])


def test_damaged_files_are_told_and_stay_as_they_are(service):
    with service.peer() as peer:
        identity = peer.identity()
        wrapped = peer.wrap(SHARE, ERASABLE)
    good = service.files()
    for name, content in good.items():
        path = service.state / name
        variants = list(altered(content))
        # The service reads the device secret once, so each variant needs a new process.
        put = service.restart if name == "device" else lambda: None
        for bad in variants[::9] + variants[-3:] if name == "device" else variants:
            path.write_bytes(bad)
            put()
            with service.peer() as peer:
                failure = refusal(peer.wrap, SHARE, ERASABLE)
                assert failure.outcome == UNAVAILABLE and path.name in failure.text, bad
            assert path.read_bytes() == bad
        path.write_bytes(content)
        put()
    assert service.files() == good
    with service.peer() as peer:
        assert peer.identity() == identity
        assert peer.unwrap(wrapped, ERASABLE) == SHARE


@as_root
def test_a_users_file_is_no_others(service):
    with service.peer(NOBODY) as peer, service.peer(DAEMON) as other:
        peer.identity()
        other.identity()
        (service.state / f"users/{NOBODY}").write_bytes((service.state / f"users/{DAEMON}").read_bytes())
        assert "device.stateDamaged" in refusal(peer.identity).text


def test_a_missing_secret_is_not_replaced(service):
    with service.peer() as peer:
        peer.identity()
    service.stop()
    (service.state / "device").unlink()
    service.start()
    with service.peer() as peer:
        assert "device.stateMissing" in refusal(peer.identity).text
    assert not (service.state / "device").exists()
