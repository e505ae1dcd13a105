"""The harm that other users can do to a user. Four users flood the device key service. The vault locks and the machine
sleeps during the flood, or while the service hangs.
"""

import contextlib
import statistics
import time

from support.clients import CLASS
from support.deviced import SHARE, WRAP, Service
from support.floods import CONNECT, ERASER, HALVES, REQUESTS, UNKNOWN, ask, flood
from support.hanging import Hanging, login
from support.logind import Logind
from support.session import Session, wait_until

# The milliseconds that the slowest request and the lock may take.
REQUEST_GOAL, LOCK_GOAL = 500, 1000
LOCKS = 5
UNWRAP = bytes([1, 3, 1, 0])


def milliseconds(call, *arguments):
    """The result of a call, and its time."""
    begin = time.monotonic()
    return call(*arguments), (time.monotonic() - begin) * 1000


def requests(stage):
    """The time of each request of an honest user: alone, and beside four users who flood the service."""
    service = Service(program=stage / "usr/libexec/latchkey-deviced").start()
    try:
        packet = UNWRAP + ask(service, bytes([1, WRAP, 1, 0]) + SHARE)
        alone = [milliseconds(ask, service, packet)[1] for _ in range(REQUESTS)]
        with flood(service, CONNECT, HALVES, ERASER, UNKNOWN):
            beside = [milliseconds(ask, service, packet)[1] for _ in range(REQUESTS)]
    finally:
        service.close()
    return alone, beside


def locks(stage, below):
    """The time of a lock while the daemon opens the vault and waits for a hanging service."""
    session = Session(stage, below)
    hanging = Hanging(session, stage)
    took = []
    try:
        session.login()
        session.store("secret", "bound", "to the device", CLASS, "when-unlocked-this-device-only")
        wait_until(lambda: session.status()["problems"] == [], "a note of how far the files are", 60)
        for _ in range(LOCKS):
            session.restart()
            hanging.hang("answering")
            before = hanging.requests()
            coming = login(session)
            coming.stdin.write(session.password.encode())
            coming.stdin.close()
            wait_until(lambda before=before: hanging.requests() > before, "a request of the daemon's")
            took.append(milliseconds(session.lock)[1])
            hanging.answer()
            coming.wait(60)
    finally:
        hanging.close()
        session.close()
    return took


def erasures(stage, below):
    """The time of a lock, and the delay of sleep until the keys are erased: alone, and beside four users who flood the
    service."""
    session = Session(stage, below)
    service = Service(program=stage / "usr/libexec/latchkey-deviced").start()
    (session.root / "device.sock").symlink_to(service.path)
    logind = Logind(session)
    took = {}

    def unlock():
        session.run("latchkey", "unlock", "--stdin", input=session.password + "\n", check=True)
        wait_until(lambda: session.status()["state"] == "unlocked", "the unlock", 60)

    try:
        session.login()
        session.store("secret", "bound", "to the device", CLASS, "when-unlocked-this-device-only")
        wait_until(logind.holds, "the daemon's delay lock", 60)
        for name, flooded in (("alone", contextlib.nullcontext()), ("beside", flood(service, CONNECT, HALVES, ERASER, UNKNOWN))):
            took["lock", name], took["sleep", name] = [], []
            with flooded:
                for _ in range(LOCKS):
                    took["lock", name].append(milliseconds(session.lock)[1])
                    unlock()
                    took["sleep", name].append(logind.sleep() * 1000)
                    logind.wake()
                    unlock()
                    wait_until(logind.holds, "the daemon's delay lock", 60)
    finally:
        logind.close()
        service.close()
        session.close()
    return took


class Neighbours:
    """Measures with its own services and sessions."""

    def __init__(self, stage, below):
        self.alone, self.beside = requests(stage)
        self.locks = locks(stage, below)
        self.erasures = erasures(stage, below)

    def report(self):
        """The lines of the report."""

        def mark(slowest, goal):
            return f"≤ {goal} ms: {'met' if slowest <= goal else '**missed**'}"

        def spread(times):
            return f"{statistics.median(times):.1f} ms, slowest {max(times):.0f} ms"

        alone, beside = spread(self.alone), spread(self.beside)
        yield (
            f"{REQUESTS} requests of a user to the device key service, all answered: median {alone}; beside four users who"
            f" flood it {beside} ({mark(max(self.beside), REQUEST_GOAL)}).\n")
        yield (
            f"A lock by `latchkey lock` while the daemon waits for a device key service that hangs, {LOCKS} times: median"
            f" {statistics.median(self.locks):.0f} ms, slowest {max(self.locks):.0f} ms ({mark(max(self.locks), LOCK_GOAL)})."
            "\n")
        for what, text in (("lock", "A lock by `latchkey lock`"), ("sleep", "From PrepareForSleep until the keys are erased")):
            alone, beside = self.erasures[what, "alone"], self.erasures[what, "beside"]
            yield (
                f"{text}, {LOCKS} times each: median {spread(alone)}; beside the four {spread(beside)}"
                f" ({mark(max(beside), LOCK_GOAL)}).\n")
