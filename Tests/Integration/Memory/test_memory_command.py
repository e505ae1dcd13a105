"""A person ends a command by a signal. The command's memory then has no secret."""

import ctypes
import os
import signal
import subprocess

import pytest
from support.memory import scan
from support.session import wait_until

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="reading another process's memory needs root")

SECRET = b"a secret that is long enough to be found, and that nothing else has"
# The numbers are in linux/ptrace.h.
CONTINUE, SEIZE, TRACE_EXIT, STOPPED_AT_EXIT = 7, 0x4206, 0x40, signal.SIGTRAP | 6 << 8
ALL_THREADS = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
libc.ptrace.restype = ctypes.c_long


def has_it(process):
    return "secret" in scan(process.pid, {"secret": SECRET})


def end_by(process, number):
    """Stops the process at its exit, while its memory still exists."""
    assert libc.ptrace(SEIZE, process.pid, 0, TRACE_EXIT) == 0
    os.kill(process.pid, number)
    while True:
        _, status = os.waitpid(process.pid, ALL_THREADS)
        assert os.WIFSTOPPED(status), status
        if status >> 8 == STOPPED_AT_EXIT:
            return
        libc.ptrace(CONTINUE, process.pid, 0, os.WSTOPSIG(status))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_a_command_that_is_ended_leaves_no_secret(unlocked, number):
    # nohup and a shell's & make the tests ignore the signal, and programs inherit that.
    process = unlocked.start(
        "latchkey", "add", "--label=x", "k=v", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    process.stdin.write(SECRET)
    process.stdin.flush()
    # The command waits for the end of its input.
    wait_until(lambda: has_it(process), "the secret's arrival")
    end_by(process, number)
    assert not has_it(process)
    libc.ptrace(CONTINUE, process.pid, 0, 0)
    process.wait()
