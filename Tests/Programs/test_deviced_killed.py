"""latchkey-deviced is killed before every call that changes its state. It loses nothing and leaves no stray files."""

import pathlib
import subprocess

import pytest
from support.derive import as_root
from support.deviced import (  # noqa: F401
    ERASABLE,
    HOST,
    ME,
    OTHER_DEVICE,
    SHARE,
    TPM,
    Refused,
    Service,
    sealed,
    service,
    state_file,
    tpm,
)  # fmt: skip

pytestmark = pytest.mark.night("faults")


@pytest.fixture(scope="module")
def killer(tmp_path_factory):
    """The environment that kills the program before the call with this number."""
    library = tmp_path_factory.mktemp("shim") / "killat.so"
    source = pathlib.Path(__file__).parent / "killat.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return lambda number: {"LD_PRELOAD": str(library), "LATCHKEY_KILL_AT": str(number)}


def kill_everywhere(service, killer, prepare, act, check):
    """Runs `act` again and again, and kills each run one call later, until a run finishes. Returns the number of killed runs."""
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


def test_killed_while_a_vault_is_noted(killer, service):
    vault, known = b"v" * 16, [0]
    with service.peer() as peer:
        peer.identity()
        peer.note(b"w" * 16, 7, 7)

    def prepare():
        with service.peer() as peer:
            peer.note(vault, known[0], known[0])

    def act(peer):
        return peer.note(vault, known[0] + 1, known[0] + 2) == (known[0], known[0])

    def check(noted):
        with service.peer() as peer:
            before, after = (known[0], known[0]), (known[0] + 1, known[0] + 2)
            found = peer.note(vault, 0, 0)
            # The service remembers both numbers or neither, and answers only once they are on the disk.
            assert found == after or found == before and not noted
            assert peer.note(b"w" * 16, 0, 0) == (7, 7)
            peer.note(vault, 100 + known[0], 100 + known[0], begin=True)
        known[0] += 100

    assert kill_everywhere(service, killer, prepare, act, check) > 3


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
