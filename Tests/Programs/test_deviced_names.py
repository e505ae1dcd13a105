"""latchkey-deviced next to a slow directory service: only users whose names are looked up there wait."""

import os
import pathlib
import subprocess

import pytest
from support.derive import as_root
from support.deviced import SHARE, UNAVAILABLE, Service, outcome, refusal
from support.session import wait_until

pytestmark = as_root

KNOWN, UNKNOWN = 4_000_000_001, 4_000_000_002


@pytest.fixture
def slow(tmp_path):
    """A service that looks up high numbers only once the file `hold` is gone."""
    library = tmp_path / "slownames.so"
    source = pathlib.Path(__file__).parent / "slownames.c"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    service = Service()
    service.hold = service.root / "hold"
    service.hold.touch()
    service.start(LD_PRELOAD=str(library), LATCHKEY_HOLD=str(service.hold))
    yield service
    service.close()


def is_served(service, uid):
    with service.peer(uid) as peer:
        try:
            peer.identity()
            return True
        except Exception as refused:
            assert refused.args[0] == UNAVAILABLE, refused
            return False


def test_others_are_served_while_a_name_is_looked_up(slow):
    # The service does not look up a user who has keys.
    with slow.peer() as honest:
        honest.wrap(SHARE)
    with slow.peer(KNOWN) as first:
        # These are far more users than the service looks up at a time.
        crowd = [slow.peer(UNKNOWN + number) for number in range(6)]
        for peer in [first, *crowd]:
            peer.socket.send(bytes([1, 1]))
        with slow.peer() as honest:
            for _ in range(20):
                assert honest.unwrap(honest.wrap(SHARE)) == SHARE
        assert slow.hold.exists()
        for peer in crowd:
            peer.close()


def test_who_is_looked_up_is_told_so_and_served_when_the_answer_has_come(slow):
    with slow.peer(KNOWN) as peer:
        assert "device.slowLookup" in refusal(peer.identity).text
    slow.hold.unlink()
    wait_until(lambda: is_served(slow, KNOWN), "the answer of the directory service", 60)
    with slow.peer(UNKNOWN) as peer:
        assert "device.noAccount" in refusal(peer.identity).text


def test_it_ends_at_once_while_a_name_is_looked_up(slow):
    with slow.peer(KNOWN) as peer:
        assert outcome(peer.identity) == UNAVAILABLE
    process = slow.process
    slow.stop()
    assert process.returncode == 0
    assert os.path.exists(slow.hold)
