"""How long tests wait: one place for all of them.

A limit in a test turns a hang into a message. It does not say how fast anything must be, so it scales with the machine: write
`seconds(10)` for what takes well below 10 s on a quiet one, and `Limit(10)` for a loop that waits.
"""

import hashlib
import os
import time

# Added to what was measured: no test should notice a machine that is three times as slow for a moment.
MARGIN = 2.0
# A measurement counts for this long. The load of a test run changes all the time.
FRESH = 5.0
# What the measured work takes on the machine that the limits were written for, and how much of it there is.
USUAL = 0.02
BLOCKS = 20

_measured = (-FRESH, 1.0)


def _work():
    """The time on the clock that a fixed amount of work takes: longer on a slow machine, under a quota, beside others."""
    block, begun = bytes(1 << 20), time.monotonic()
    for _ in range(BLOCKS):
        hashlib.sha256(block).digest()
    return time.monotonic() - begun


def _waiting():
    """How many processes there are for each processor that we may use."""
    with open("/proc/loadavg") as file:
        minute, _, _, running, _ = file.read().split()
    return max(float(minute), int(running.split("/")[0])) / len(os.sched_getaffinity(0))


def slowness():
    """How many times as long as usual things take now; at least 1."""
    global _measured
    if time.monotonic() - _measured[0] > FRESH:
        # A short piece of work is favoured by the scheduler, so the queue is looked at as well.
        _measured = (time.monotonic(), max(1.0, _work() / USUAL, _waiting()))
    return _measured[1]


def seconds(usual):
    """A limit for what takes less than `usual` seconds on a quiet machine."""
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
        """The seconds that are left, if the machine does not get slower; never below 0."""
        return max(self._begun + self.seconds - time.monotonic(), 0)


def settled(ask):
    """The daemon's status, once the device key service had its turn: on a busy machine other work comes before it, and the
    daemon says so and asks it again in a moment."""
    limit = Limit(10)
    while True:
        status = ask()
        if limit.is_over or not any("asks again in a moment" in problem for problem in status["problems"]):
            return status
        time.sleep(0.1)
