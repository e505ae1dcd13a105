"""Sleep, as the real logind announces it. It waits until the keys are erased, and for nothing else. A script plays the kernel,
which would sleep."""

import threading
import time
from types import SimpleNamespace

import pytest
from support.control import MAY_DERIVE, STATUS, Control, packet
from support.sleeping import Sleep, await_inhibitor, prepare, undo

pytestmark = pytest.mark.second_try


def start_anew(machine):
    machine.root("systemctl", "daemon-reload")
    machine.root("systemctl", "restart", "systemd-logind.service")


@pytest.fixture(scope="module")
def sleepy(machine):
    """A machine that can sleep, in the view of its logind."""
    prepare(machine.path("/"))
    start_anew(machine)
    yield machine
    undo(machine.path("/"))
    start_anew(machine)


@pytest.fixture
def sleep(sleepy, alice):
    """The machine's sleep, which ends with the test."""
    sleep = Sleep(alice)
    yield sleep
    sleep.asleep.unlink(missing_ok=True)


@pytest.fixture
def hanging(machine):
    """Stops the device key service, so that it does not answer."""
    machine.root("systemctl", "start", "latchkey-deviced.service")
    machine.root("systemctl", "kill", "--signal=STOP", "latchkey-deviced.service")
    yield
    machine.root("systemctl", "kill", "--signal=CONT", "latchkey-deviced.service")


def test_sleep_erases_and_ends(sleep, alice):
    with alice.login() as session:
        session.store("of unlocked", accessible="when-unlocked", app="unlocked")
        await_inhibitor(alice.machine)
        for _ in range(2):
            assert session.status()["state"] == "unlocked"
            sleep.begin()
            sleep.end()
            status = session.status()
            assert status["state"] == "locked" and status["lock_reasons"] == ["sleep"]
            assert session.authenticate(alice.password)
            # The daemon takes a new delay lock for the next sleep.
            await_inhibitor(alice.machine)


def unlock(session, password):
    """Begins to unlock as a person at a terminal does, and returns once the password is on its way."""
    session.start("latchkey unlock")
    session.expect("assword.*: ")
    session.send(password)


def test_sleep_does_not_wait_for_the_device_key_service(sleep, alice, request):
    """The daemon repeats its requests to the service again and again."""
    with alice.login() as session:
        session.store("of unlocked", accessible="when-unlocked-this-device-only", app="unlocked")
        request.getfixturevalue("hanging")
        session.run("systemctl --user restart latchkeyd.service")
        unlock(session, alice.password)
        session.finish()
        status = session.status()
        assert status["state"] == "unlocked" and status["device_key"] == "unavailable"
        await_inhibitor(alice.machine)
        sleep.begin()
        sleep.end()
        status = session.status()
        assert status["state"] == "locked" and status["lock_reasons"] == ["sleep"]


def test_sleep_does_not_wait_for_an_unlock_that_waits_for_the_service(sleep, alice, request):
    """The keys are about to come, or are being used. SessionWatchTests tests the fate of these keys."""
    with alice.login() as session:
        session.store("of unlocked", accessible="when-unlocked-this-device-only", app="unlocked")
        request.getfixturevalue("hanging")
        session.run("systemctl --user restart latchkeyd.service")
        await_inhibitor(alice.machine)
        unlock(session, alice.password)
        sleep.begin()
        sleep.end()
        session.finish()
        await_inhibitor(alice.machine)


def test_sleep_waits_for_a_helper_that_has_no_more_to_do(sleep, alice):
    """Such work is the helper's delivery of keys, for example. It erases the keys and the password before it ends."""
    with alice.login():
        await_inhibitor(alice.machine)
        helper = Control(SimpleNamespace(runtime=alice.machine.path(f"/run/user/{alice.uid}")), user=False)
        assert helper.ask(packet(MAY_DERIVE)) == packet(MAY_DERIVE)
        # The later request is answered at once, and does not count as work.
        assert helper.ask(packet(STATUS))[:2] == packet(STATUS)
        begun = time.monotonic()
        beginning = threading.Thread(target=sleep.begin)
        beginning.start()
        time.sleep(1.5)
        is_asleep = sleep.asleep.exists()
        # The sleep does not wait for the helper longer than 3 s.
        if time.monotonic() - begun < 2.5:
            assert not is_asleep
        helper.close()
        beginning.join()
        sleep.end()
