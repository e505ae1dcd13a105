"""The time limits of all tests.

A limit turns a hang into an error message. A limit does not demand any speed, so it scales with the machine. Write
`seconds(10)` for work that takes much less than 10 s on a quiet machine. Write `Limit(10)` for a loop that waits.
"""

import hashlib
import os
import time

# A margin above the measured slowness. The tests must not fail on a machine that is three times as slow for a moment.
MARGIN = 2.0
# The seconds for which a measurement counts. The load of a test run changes all the time.
FRESH = 5.0
# The seconds that the measured work takes on the reference machine, and the size of that work.
USUAL = 0.02
BLOCKS = 20

_measured = (-FRESH, 1.0)


def _work():
    """The elapsed time of a fixed amount of work. The time grows on a slow machine, under a quota, and beside other
    work."""
    block, begun = bytes(1 << 20), time.monotonic()
    for _ in range(BLOCKS):
        hashlib.sha256(block).digest()
    return time.monotonic() - begun


def _waiting():
    """The number of running processes for each processor that we may use."""
    with open("/proc/loadavg") as file:
        minute, _, _, running, _ = file.read().split()
    return max(float(minute), int(running.split("/")[0])) / len(os.sched_getaffinity(0))


def slowness():
    """The factor by which the machine is slower than the reference now, at least 1."""
    global _measured
    if time.monotonic() - _measured[0] > FRESH:
        # The scheduler favors a short piece of work, so the length of its queue counts too.
        _measured = (time.monotonic(), max(1.0, _work() / USUAL, _waiting()))
    return _measured[1]


def seconds(usual):
    """A limit for work that takes less than `usual` seconds on a quiet machine."""
    return usual * (MARGIN + slowness())


class Limit:
    """A limit for a loop that waits. The slowest moment of the wait counts."""

    def __init__(self, usual):
        self._usual, self._begun = usual, time.monotonic()
        self.seconds = usual * (MARGIN + 1)

    @property
    def is_over(self):
        if self.left > 0:
            return False
        self.seconds = max(self.seconds, seconds(self._usual))
        return self.left <= 0

    @property
    def left(self):
        """The seconds that are left if the machine does not get slower, at least 0."""
        return max(self._begun + self.seconds - time.monotonic(), 0)


def settled(ask):
    """The daemon's status after the daemon has talked to the device key service. On a busy machine the daemon first
    does other work, reports that, and asks the service again soon."""
    limit = Limit(10)
    while True:
        status = ask()
        if limit.is_over or not any("asks again in a moment" in problem for problem in status["problems"]):
            return status
        time.sleep(0.1)
