"""The process ends in the middle of a test."""

import os
import signal


def test_before():
    pass


def test_that_kills_everything():
    os.kill(os.getpid(), signal.SIGKILL)


def test_after():
    pass
