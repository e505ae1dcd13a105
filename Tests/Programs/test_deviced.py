"""latchkey-deviced: whose keys are whose, what is on its disk, and that nothing of it is ever lost or replaced."""

import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile

import pytest
from conftest import as_root
from deviced import (
    BOUND, ERASABLE, HOST, OTHER_DEVICE, REFUSED, TPM, UNAVAILABLE, Refused, Service, SoftwareTPM, kdf, resummed,
    state_file,
)
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt as aead_open

ME = os.geteuid()
NOBODY, DAEMON = 65534, 1
SHARE = bytes(range(32))


@pytest.fixture
def service():
    started = Service().start()
    yield started
    started.close()


@pytest.fixture
def tpm():
    chip = SoftwareTPM()
    yield chip
    chip.close()


@pytest.fixture
def sealed(tpm):
    """A service whose secret is in a TPM."""
    started = Service(tcti=tpm.tcti).start()
    yield started
    started.close()


def refusal(call, *arguments):
    with pytest.raises(Refused) as caught:
        call(*arguments)
    return caught.value


def outcome(call, *arguments):
    return refusal(call, *arguments).outcome


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
        # A second name shows what becomes of the blocks.
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


def command(service, *words, user=None):
    options = {"user": user, "group": user, "extra_groups": []} if user else {}
    return subprocess.run(
        [service.program.parent / "latchkey", "device", words[0], "--socket", service.path, *words[1:]],
        capture_output=True, text=True, timeout=60, cwd="/", env={"PATH": "/usr/bin:/bin"}, **options)


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
        assert command(sealed, "forget", "0", "--yes").returncode == 0
        assert outcome(peer.unwrap, wrapped[BOUND]) == OTHER_DEVICE
    sealed.stop()
    gone = command(sealed, "show")
    assert gone.returncode == 1 and "Connection refused" in gone.stderr
    sealed.path.unlink()
    assert "nobody listens" in command(sealed, "show").stderr


@as_root
def test_the_command_line_refuses_others(service):
    # Below /tmp, as a user must be able to run it.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        shutil.copy(service.program.parent / "latchkey", folder)
        program, service.program = service.program, pathlib.Path(folder) / "latchkey-deviced"
        refused = command(service, "move", "host", user=NOBODY)
        service.program = program
    assert refused.returncode == 1 and "only root moves" in refused.stderr


# Bad peers


def garbage():
    good = bytes([1, 2, BOUND, 3]) + b"abc" + SHARE
    yield from (good[:size] for size in range(1, len(good)))
    yield good + b"\0"
    yield bytes([0]) + good[1:]
    yield bytes([2]) + good[1:]
    yield from (bytes([1, operation]) for operation in (0, 7, 255))
    yield bytes([1, 2, 0, 0]) + SHARE
    yield bytes([1, 2, 3, 0]) + SHARE
    yield bytes([1, 2, BOUND, 65]) + bytes(65) + SHARE
    yield bytes([1, 3, BOUND, 0]) + bytes(71)
    yield bytes([1, 5, 0])
    yield bytes([1, 5, 3])
    yield bytes([1, 1, 0])
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


def test_silence_ends_a_connection(service):
    with service.peer() as peer:
        assert peer.socket.recv(1) == b""


def test_it_ends_when_nobody_needs_it():
    service = Service()
    try:
        service.start("--idle", "1")
        with service.peer() as peer:
            peer.identity()
        assert service.process.wait(20) == 0
    finally:
        service.close()


def test_a_second_service_does_not_touch_the_state(service):
    done = subprocess.run(
        [service.program, "--state", service.state, "--socket", service.root / "other", "--tcti", "none"],
        capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "flock" in done.stderr


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
        # The device secret is read at the start, where each costs a process.
        variants = list(altered(content)) if name != "device" else list(altered(content))[::9] + list(altered(content))[-3:]
        for bad in variants:
            service.stop() if name == "device" else None
            path.write_bytes(bad)
            service.start() if name == "device" else None
            with service.peer() as peer:
                failure = refusal(peer.wrap, SHARE, ERASABLE)
                assert failure.outcome == UNAVAILABLE and path.name in failure.text, bad
            assert path.read_bytes() == bad
        service.stop() if name == "device" else None
        path.write_bytes(content)
        service.start() if name == "device" else None
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
        assert "damaged" in refusal(peer.identity).text


def test_a_missing_secret_is_not_replaced(service):
    with service.peer() as peer:
        peer.identity()
    service.stop()
    (service.state / "device").unlink()
    service.start()
    with service.peer() as peer:
        assert "missing" in refusal(peer.identity).text
    assert not (service.state / "device").exists()


# The TPM


def test_the_secret_is_sealed_and_survives_restarts(sealed, tpm):
    with sealed.peer() as peer:
        identity = peer.identity()
        assert identity[1] == TPM
        wrapped = peer.wrap(SHARE)
    sealed.stop()
    tpm.stop()
    tpm.start()
    sealed.tcti = tpm.tcti
    sealed.start()
    with sealed.peer() as peer:
        assert peer.identity() == identity
        assert peer.unwrap(wrapped) == SHARE


@as_root
def test_the_secret_moves_and_stays_the_same(sealed):
    with sealed.peer() as peer:
        identity, _ = peer.identity()
        wrapped = {kind: peer.wrap(SHARE, kind) for kind in (BOUND, ERASABLE)}
        first = sealed.files()
        secret = None
        for backend in (HOST, TPM, HOST, TPM):
            with open(sealed.state / "device", "rb") as held:
                peer.move(backend)
                assert set(held.read()) == {0}, "what was there before is overwritten"
            if backend == HOST:
                secret = state_file(sealed.files()["device"], b"LATCHDVS")[1:]
            else:
                assert secret not in b"".join(sealed.files().values())
            sealed.restart()
            with sealed.peer() as again:
                assert again.identity() == (identity, backend)
                for kind, value in wrapped.items():
                    assert again.unwrap(value, kind) == SHARE
            peer.close()
            peer = sealed.peer()
        assert set(sealed.files()) == set(first)


@as_root
def test_a_cleared_tpm_is_told_and_nothing_is_replaced(sealed, tpm):
    with sealed.peer() as peer:
        peer.identity()
    files = sealed.files()
    sealed.stop()
    tpm.clear()
    sealed.tcti = tpm.tcti
    sealed.start()
    with sealed.peer() as peer:
        assert "it was cleared, or it is another one" in refusal(peer.identity).text
        assert outcome(peer.wrap, SHARE) == UNAVAILABLE
        assert outcome(peer.move, HOST) == UNAVAILABLE
    assert sealed.files() == files
    assert "it was cleared" in sealed.journal()


def test_without_its_tpm_nothing_is_replaced(sealed, tpm):
    with sealed.peer() as peer:
        identity = peer.identity()
    files = sealed.files()
    here, sealed.tcti = sealed.tcti, "none"
    sealed.restart()
    with sealed.peer() as peer:
        assert refusal(peer.identity).text == "there is no TPM to be used"
    sealed.tcti = "swtpm:host=127.0.0.1,port=1"
    sealed.restart()
    with sealed.peer() as peer:
        assert "the TPM cannot be used: connecting failed" in refusal(peer.identity).text
    assert sealed.files() == files
    sealed.tcti = here
    sealed.restart()
    with sealed.peer() as peer:
        assert peer.identity() == identity


def test_a_damaged_seal_is_told(sealed):
    with sealed.peer() as peer:
        peer.identity()
    content = (sealed.state / "device").read_bytes()
    for bad in (
        resummed(content[:60] + bytes([content[60] ^ 1]) + content[61:]),
        resummed(content[:13] + bytes(32) + content[45:]),
        resummed(content[:20] + content[-32:]),
        resummed(content[:-32] + b"\0" + content[-32:]),
    ):
        (sealed.state / "device").write_bytes(bad)
        sealed.restart()
        with sealed.peer() as peer:
            assert "the TPM cannot be used" in refusal(peer.identity).text
        assert (sealed.state / "device").read_bytes() == bad


def test_a_tpm_that_does_not_work_leaves_the_host():
    service = Service(tcti="swtpm:host=127.0.0.1,port=1").start()
    try:
        with service.peer() as peer:
            assert peer.identity()[1] == HOST
            if ME == 0:
                assert "the TPM cannot be used" in refusal(peer.move, TPM).text
                assert peer.identity()[1] == HOST
        assert "the TPM cannot be used" in service.journal()
    finally:
        service.close()


def test_the_secret_does_not_cross_the_tpms_wire(tpm, monkeypatch):
    """The bus as whoever sits on it sees it, from the making to the unsealing."""
    with Wire(tpm) as wire:
        service = Service(tcti=wire.tcti).start()
        try:
            with service.peer() as peer:
                assert peer.identity()[1] == TPM
            service.restart()
            with service.peer() as peer:
                peer.identity()
                if ME != 0:
                    return
                peer.move(HOST)
            secret = state_file(service.files()["device"], b"LATCHDVS")[1:]
        finally:
            service.close()
        seen = b"".join(wire.seen)
        assert len(seen) > 2000
        assert bytes.fromhex("0000015e") in seen, "TPM2_Unseal went by"
        assert secret not in seen


class Wire:
    """Stands between a client and swtpm, and keeps all that goes by."""

    def __init__(self, tpm):
        import threading

        self.seen = []
        target = int(tpm.tcti.rpartition("=")[2])
        for _ in range(50):
            ears = [socket.socket(), socket.socket()]
            ears[0].bind(("127.0.0.1", 0))
            port = ears[0].getsockname()[1]
            try:
                ears[1].bind(("127.0.0.1", port + 1))
                break
            except OSError:
                [ear.close() for ear in ears]
        self.ears = ears
        self.tcti = f"swtpm:host=127.0.0.1,port={port}"
        for offset, ear in enumerate(ears):
            ear.listen()
            threading.Thread(target=self._accept, args=(ear, target + offset, threading), daemon=True).start()

    def _accept(self, ear, port, threading):
        while True:
            try:
                near, _ = ear.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", port))
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one, other):
        try:
            while data := one.recv(65536):
                self.seen.append(data)
                other.sendall(data)
        except OSError:
            pass
        for end in (one, other):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for ear in self.ears:
            ear.close()


# Killed


@pytest.fixture(scope="module")
def killer(tmp_path_factory):
    """Environment that kills the program before a call, by number."""
    library = tmp_path_factory.mktemp("shim") / "killat.so"
    source = pathlib.Path(__file__).parent / "killat.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return lambda number: {"LD_PRELOAD": str(library), "LATCHKEY_KILL_AT": str(number)}


def kill_everywhere(service, killer, prepare, act, check):
    """Runs `act` again and again, killed a call later each time, until it comes through. Returns how often it was killed."""
    for number in range(1, 200):
        prepare()
        service.restart(**killer(number))
        result = None
        try:
            with service.peer() as peer:
                result = act(peer)
        except OSError:
            pass
        service.restart()
        assert not [name for name in service.files() if name.endswith((".new", ".erased"))]
        check(result)
        if result is not None:
            return number - 1
    raise AssertionError("it never came through")


def test_killed_while_everything_is_made(killer):
    service = Service()

    def prepare():
        service.stop()
        for name in service.files():
            (service.state / name).unlink()

    def act(peer):
        return peer.identity(), peer.wrap(SHARE), peer.wrap(SHARE, ERASABLE)

    def check(result):
        with service.peer() as peer:
            if result:
                assert peer.identity() == result[0]
                assert peer.unwrap(result[1]) == peer.unwrap(result[2], ERASABLE) == SHARE
            else:
                assert peer.unwrap(peer.wrap(SHARE, ERASABLE), ERASABLE) == SHARE

    try:
        assert kill_everywhere(service, killer, prepare, act, check) > 10
    finally:
        service.close()


def test_killed_while_a_secret_is_erased(killer, service):
    made = {}

    def prepare():
        with service.peer() as peer:
            made["identity"], made["bound"], made["erasable"] = peer.identity(), peer.wrap(SHARE), peer.wrap(SHARE, ERASABLE)

    def act(peer):
        peer.erase(ME)
        return True

    def check(erased):
        with service.peer() as peer:
            assert peer.identity() == made["identity"]
            assert peer.unwrap(made["bound"]) == SHARE
            try:
                assert peer.unwrap(made["erasable"], ERASABLE) == SHARE and not erased
            except Refused as failure:
                assert failure.outcome == OTHER_DEVICE

    assert kill_everywhere(service, killer, prepare, act, check) > 4


@as_root
@pytest.mark.parametrize("start, target", [(HOST, TPM), (TPM, HOST)])
def test_killed_while_the_secret_moves(killer, sealed, start, target):
    with sealed.peer() as peer:
        peer.move(HOST)
        identity, wrapped = peer.identity()[0], peer.wrap(SHARE, ERASABLE)
        secret = state_file(sealed.files()["device"], b"LATCHDVS")[1:]

    def prepare():
        with sealed.peer() as peer:
            peer.move(start)

    def act(peer):
        peer.move(target)
        return True

    def check(moved):
        with sealed.peer() as peer:
            found, backend = peer.identity()
            assert found == identity and backend in (start, target)
            assert not moved or backend == target
            assert peer.unwrap(wrapped, ERASABLE) == SHARE
            assert (secret in b"".join(sealed.files().values())) == (backend == HOST)

    assert kill_everywhere(sealed, killer, prepare, act, check) > 6
