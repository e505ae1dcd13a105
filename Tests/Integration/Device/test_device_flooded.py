"""The vault locks, and the machine sleeps, while other users flood the device key service. test_device_hangs tests a
lock in the middle of an unlock. Tests/Benchmark measures the times.
"""

import json
import os
import time

import pytest
from support.clients import CLASS
from support.deviced import Service
from support.floods import CONNECT, ERASER, HALVES, UNKNOWN, flood
from support.pace import seconds
from support.peer import IS_LOCKED, Peer
from support.session import wait_until

pytestmark = [pytest.mark.night("device"), pytest.mark.skipif(os.getuid() != 0, reason="only root is several users")]
ROUNDS = 2


@pytest.fixture
def service(session, stage):
    """A service outside the session's folder, because other users must reach it."""
    made = Service(program=stage / "usr/libexec/latchkey-deviced").start()
    (session.root / "device.sock").symlink_to(made.path)
    yield made
    made.close()


@pytest.fixture
def stocked(session, service):
    """An unlocked vault with an item that needs the service."""
    assert session.login().returncode == 0
    wait_until(lambda: all(session.status()["classes"].values()), "what needs the device", 60)
    session.store("the secret", "k", "v", CLASS, "when-unlocked-this-device-only")
    return session


def status(session):
    """The status without waiting, even while the daemon waits for the service."""
    return json.loads(session.run("latchkey", "status", "--json", check=True).stdout)


def is_locked(session):
    peer = Peer(session)
    try:
        unlocked, locked = peer.search({"k": "v"})
        return unlocked == [] and all(peer.read_error(path) == IS_LOCKED for path in locked)
    finally:
        peer.close()


def unlock(session):
    """Unlocks with `latchkey unlock`, because the stand-in of logind has no session for pamtester."""
    session.run("latchkey", "unlock", "--stdin", input=session.password + "\n", check=True)
    wait_until(lambda: status(session)["state"] == "unlocked", "the unlock", 60)


def test_a_lock_erases_within_a_second(stocked, service):
    with flood(service, CONNECT, HALVES, ERASER, UNKNOWN):
        for _ in range(ROUNDS):
            begun = time.monotonic()
            stocked.lock()
            took = time.monotonic() - begun
            print(f"the lock took {took * 1000:.0f} ms")
            assert took < seconds(1)
            assert is_locked(stocked)
            unlock(stocked)


def test_sleep_is_not_held_up(stocked, service, logind):
    wait_until(logind.holds, "the daemon's delay lock", 60)
    with flood(service, CONNECT, HALVES, ERASER, UNKNOWN):
        for _ in range(ROUNDS):
            took = logind.sleep()
            print(f"sleep was held up for {took * 1000:.0f} ms")
            assert took < seconds(1)
            logind.wake()
            found = status(stocked)
            assert found["state"] == "locked" and "sleep" in found["lock_reasons"]
            unlock(stocked)
            wait_until(logind.holds, "the daemon's delay lock", 60)
