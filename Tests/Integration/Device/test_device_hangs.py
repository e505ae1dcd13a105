"""The device key service does not answer. The daemon still hears locks, and opens device-bound items as soon as the
service answers again.
"""

import subprocess
import time

import pytest
from support.hanging import Hanging, login
from support.pace import seconds
from support.session import wait_until
from test_device import BOUND, CLASS, FREE, begin, device, fill, readable, readable_now  # noqa: F401

pytestmark = pytest.mark.night("device")

# The seconds that latchkeyd waits for one answer.
TIMEOUT = 2


@pytest.fixture
def hanging(session, stage):
    made = Hanging(session, stage)
    yield made
    made.close()


@pytest.fixture
def stocked(session, hanging):
    """A session with items that need the device. The session's daemon has restarted, and the vault is sealed."""
    assert session.login().returncode == 0
    # On a busy machine the service may miss the first timeouts.
    wait_until(lambda: all(session.status()["classes"].values()), "what needs the device", 60)
    fill(session)
    wait_until(lambda: device(session) == ("host", []), "a note of how far the files are", 60)
    session.restart()
    return session


def test_a_lock_does_not_wait_for_the_service(stocked, hanging):
    """The daemon has the keys, and waits for the service while it opens the vault."""
    hanging.hang("answering")
    coming = login(stocked)
    coming.stdin.write(stocked.password.encode())
    coming.stdin.close()
    wait_until(hanging.requests, "a request of the daemon's")
    start = time.monotonic()
    stocked.lock()
    took = time.monotonic() - start
    print(f"the lock took {took * 1000:.0f} ms")
    assert took < seconds(TIMEOUT / 3)
    assert coming.wait(seconds(60)) == 0
    assert stocked.status_now()["state"] == "locked"
    assert FREE not in readable_now(stocked)
    hanging.answer()
    assert stocked.locker().returncode == 0
    wait_until(lambda: readable(stocked) == {FREE, *BOUND}, "what needs the device", 60)


def test_what_needs_the_service_opens_when_it_answers_again(stocked, hanging):
    hanging.hang()
    begin(stocked)
    assert readable(stocked) == {FREE}
    state, reasons = device(stocked)
    assert state == "unavailable" and "does not answer" in reasons[0]
    hanging.answer()
    # No login and no unlock follows.
    wait_until(lambda: readable(stocked) == {FREE, *BOUND}, "what needs the device", 60)
    wait_until(lambda: device(stocked) == ("host", []), "the note of how far the files are", 60)


def test_what_was_not_noted_is_noted_when_it_answers_again(stocked, hanging):
    assert stocked.login().returncode == 0
    stocked.lock()
    hanging.hang("answering")
    assert stocked.locker().returncode == 0
    wait_until(lambda: readable_now(stocked) == {FREE, *BOUND}, "the unlock", 60)

    def is_told():
        state, problems = device(stocked, stocked.status_now())
        return state == "host" and any("whether an older copy of the vault was put back" in problem for problem in problems)

    # The daemon reports the problem only after another attempt, and other work may come first.
    wait_until(is_told, "the problem", 60)
    hanging.answer()
    wait_until(lambda: device(stocked) == ("host", []), "the note of how far the files are", 60)


def test_before_a_login_it_opens_when_the_service_answers_again(stocked, hanging):
    hanging.hang()
    stocked.restart()
    assert stocked.status()["device_key"] == "unavailable"
    hanging.answer()
    wait_until(lambda: readable(stocked) == {"always-this-device-only"}, "what needs the device alone", 60)


def test_items_are_destroyed_although_other_work_came_first(stocked, hanging):
    begin(stocked)
    hanging.hang("answering")
    before = hanging.requests()
    erasing = stocked.start("latchkey", "device", "erase", "--yes", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    wait_until(lambda: hanging.requests() > before, "the request to erase the secret")
    hanging.answer()
    # The daemon breaks off the unanswered request.
    assert stocked.status()["state"] == "unlocked"
    said, _ = erasing.communicate(timeout=seconds(60))
    assert (erasing.returncode, said) == (0, b"")
