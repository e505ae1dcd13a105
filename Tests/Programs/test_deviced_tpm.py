"""latchkey-deviced and a TPM: sealing, moving, the loss after the chip is cleared, and the data on the chip's bus."""

import signal
import socket
import threading

from support.derive import as_root
from support.deviced import (  # noqa: F401
    BOUND,
    ERASABLE,
    HOST,
    ME,
    SHARE,
    TPM,
    UNAVAILABLE,
    Service,
    outcome,
    refusal,
    resummed,
    sealed,
    state_file,
    tpm,
)  # fmt: skip
from support.pace import seconds


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
        assert "device.tpmOther" in refusal(peer.identity).text
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
        assert refusal(peer.identity).text == "device.noTPM"
    sealed.tcti = "swtpm:host=127.0.0.1,port=1"
    sealed.restart()
    with sealed.peer() as peer:
        assert "device.tpmUnusable device.tpmFailed device.tpmConnecting" in refusal(peer.identity).text
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
            assert "device.tpmUnusable" in refusal(peer.identity).text
        assert (sealed.state / "device").read_bytes() == bad


def test_a_tpm_that_does_not_work_leaves_the_host():
    service = Service(tcti="swtpm:host=127.0.0.1,port=1").start()
    try:
        with service.peer() as peer:
            assert peer.identity()[1] == HOST
            if ME == 0:
                assert "device.tpmUnusable" in refusal(peer.move, TPM).text
                assert peer.identity()[1] == HOST
        assert "the TPM cannot be used" in service.journal()
    finally:
        service.close()


def test_the_secret_does_not_cross_the_tpms_wire(tpm):
    """An eavesdropper records the whole bus, from the creation of the secret to its unsealing."""
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


def test_a_tpm_that_does_not_answer_ends_the_process_and_nothing_else(sealed):
    with sealed.peer() as peer:
        identity = peer.identity()
    files, working = sealed.files(), sealed.tcti
    first, second = listening_neighbours()
    with first, second:
        sealed.tcti = f"swtpm:host=127.0.0.1,port={first.getsockname()[1]}"
        sealed.restart("--tpm-timeout", "1")
        with sealed.peer() as peer:
            assert peer.raw(bytes([1, 1])) == b""
        assert sealed.process.wait(seconds(20)) == -signal.SIGALRM
    assert sealed.files() == files
    sealed.tcti = working
    sealed.restart()
    with sealed.peer() as peer:
        assert peer.identity() == identity


def listening_neighbours():
    """Two sockets that listen on neighbouring ports."""
    for port in range(20000, 30000, 2):
        first, second = socket.socket(), socket.socket()
        try:
            first.bind(("127.0.0.1", port))
            second.bind(("127.0.0.1", port + 1))
            first.listen()
            second.listen()
            return first, second
        except OSError:
            first.close()
            second.close()
    raise AssertionError("no free ports")


class Wire:
    """A relay between a client and swtpm that records all data."""

    def __init__(self, tpm):
        self.seen = []
        target = int(tpm.tcti.rpartition("=")[2])
        self.ears = listening_neighbours()
        self.tcti = f"swtpm:host=127.0.0.1,port={self.ears[0].getsockname()[1]}"
        for offset, ear in enumerate(self.ears):
            threading.Thread(target=self._accept, args=(ear, target + offset), daemon=True).start()

    def _accept(self, ear, port):
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
