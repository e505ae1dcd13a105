"""Sleep, as the real logind announces it: it waits until the keys are erased, and for nothing else. The kernel's part, to sleep,
is played by a script."""

import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.control import MAY_DERIVE, STATUS, Control, packet
from support.machine import eventually

SHIM = Path(__file__).resolve().parents[1] / "support/Shims/power.c"

# All of the daemon's is frozen while the machine sleeps, as by the kernel.
SLEEP = """#!/bin/sh
kill -STOP $(cat /run/test-sleep/daemon)
touch /run/test-sleep/asleep
while [ -e /run/test-sleep/asleep ]; do sleep 0.1; done
kill -CONT $(cat /run/test-sleep/daemon)
"""
FILES = {
    # Longer than any test waits: who holds sleep up has to let go by itself.
    "/etc/systemd/logind.conf.d/test-sleep.conf": "[Login]\nInhibitDelayMaxSec=600\n",
    "/run/systemd/system/systemd-suspend.service.d/test.conf": "[Service]\nExecStart=\nExecStart=/bin/sh /run/test-sleep/sleep\n",
    "/run/systemd/system/systemd-logind.service.d/test.conf": "[Service]\nEnvironment=LD_PRELOAD=/run/test-sleep/power.so\n",
    "/run/test-sleep/sleep": SLEEP,
    "/run/test-sleep/state": "freeze mem\n",
}


class Sleep:
    """The machine's sleep."""

    def __init__(self, account):
        self.account, self.machine = account, account.machine
        self.asleep = self.machine.path("/run/test-sleep/asleep")

    def begin(self):
        """Has the machine go to sleep, and returns when all has been done that comes before."""
        shown = self.account.run("systemctl", "--user", "show", "-P", "MainPID", "latchkeyd.service").stdout
        self.machine.path("/run/test-sleep/daemon").write_text(shown)
        self.machine.root("systemctl", "suspend")
        eventually(self.asleep.exists, 60, "the machine's sleep")

    def end(self):
        """Wakes it up."""
        self.asleep.unlink()
        active = lambda: self.machine.root("systemctl", "is-active", "sleep.target", check=False).stdout.strip() == "active"
        eventually(lambda: not active(), 30, "the machine's waking up")


@pytest.fixture(scope="module")
def sleepy(machine):
    """A machine that can sleep, as far as its logind sees."""
    for name, text in FILES.items():
        machine.path(name).parent.mkdir(exist_ok=True)
        machine.path(name).write_text(text)
    library = machine.path("/run/test-sleep/power.so")
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-O1", "-o", library, SHIM, "-ldl"], check=True)
    machine.root("systemctl", "daemon-reload")
    machine.root("systemctl", "restart", "systemd-logind.service")
    yield machine
    for name in FILES:
        machine.path(name).unlink()
    machine.root("systemctl", "daemon-reload")
    machine.root("systemctl", "restart", "systemd-logind.service")


@pytest.fixture
def sleep(sleepy, alice):
    """Its sleep, which no test leaves it in."""
    sleep = Sleep(alice)
    yield sleep
    sleep.asleep.unlink(missing_ok=True)


def await_inhibitor(machine):
    """Without one, sleep waits for nothing, and shows nothing."""
    held = lambda: "latchkeyd" in machine.root("systemd-inhibit", "--list", "--no-legend", "--no-pager").stdout
    eventually(held, what="latchkeyd's delay lock")


@pytest.fixture
def hanging(machine):
    """The device key service, which does not answer."""
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
            # There is another one for the next time.
            await_inhibitor(alice.machine)


def unlock(session, password):
    """Begins to unlock, as a person at a terminal does, and returns when the password is on its way."""
    session.start("latchkey unlock")
    session.expect("assword.*: ")
    session.send(password)


def test_sleep_does_not_wait_for_the_device_key_service(sleep, alice, request):
    """What needs the service is asked for again and again."""
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
    """The keys are about to come, or have come and are being used. SessionWatchTests has what becomes of them."""
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
    """It has handed over its keys, say, and erases them and the password before it ends."""
    with alice.login():
        await_inhibitor(alice.machine)
        helper = Control(SimpleNamespace(runtime=alice.machine.path(f"/run/user/{alice.uid}")), user=False)
        assert helper.ask(packet(MAY_DERIVE)) == packet(MAY_DERIVE)
        # What follows is answered at once, and is no work.
        assert helper.ask(packet(STATUS))[:2] == packet(STATUS)
        begun = time.monotonic()
        beginning = threading.Thread(target=sleep.begin)
        beginning.start()
        time.sleep(1.5)
        is_asleep = sleep.asleep.exists()
        # After 3 s it is not waited for any more.
        if time.monotonic() - begun < 2.5:
            assert not is_asleep
        helper.close()
        beginning.join()
        sleep.end()
