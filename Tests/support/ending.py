"""The memory of a process at its end: after its signal handlers have run, and before the kernel frees a page. Needs
root.
"""

import contextlib
import ctypes
import os
import re
import signal
from pathlib import Path

from support.memory import scan

SEIZE, CONTINUE = 0x4206, 7
# PTRACE_O_TRACEEXIT, and the stop that it causes.
TRACE_EXIT, EXIT = 0x40, 6
WALL = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)


def _ptrace(request, pid, data):
    arguments = [ctypes.c_long(request), ctypes.c_long(pid), ctypes.c_void_p(0), ctypes.c_void_p(data)]
    if _libc.ptrace(*arguments) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def end(pid, number, needles, looked=lambda: None):
    """Ends a process by a signal, and calls `looked` after the first search of its memory. Returns the needles in
    memory at the arrival of the signal, the needles in memory at the end, and the signal that ended the process (0 for
    none)."""
    before = None
    ignored = int(re.search(r"SigIgn:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())[1], 16)
    assert not ignored >> number - 1 & 1, "it ignores the signal, and would not end"
    _ptrace(SEIZE, pid, TRACE_EXIT)
    os.kill(pid, number)
    while True:
        _, status = os.waitpid(pid, WALL)
        assert os.WIFSTOPPED(status), "it ended before it stopped"
        if status >> 16 == EXIT:
            after = scan(pid, needles)
            _ptrace(CONTINUE, pid, 0)
            break
        arrived = os.WSTOPSIG(status) if status >> 16 == 0 else 0
        if arrived == number and before is None:
            before = scan(pid, needles)
            looked()
        _ptrace(CONTINUE, pid, arrived)
    # The parent may have collected the process already.
    with contextlib.suppress(ChildProcessError):
        _, status = os.waitpid(pid, WALL)
    return before, after, os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


# The signals of faults of the program, the C library or the kernel, and SIGQUIT, which a person sends with a key.
FAULTS = [signal.SIGTRAP, signal.SIGILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGQUIT]
