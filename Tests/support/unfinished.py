"""The size of a file that a program is writing, and that has no name yet."""

import os
import pathlib
import re

import pytest

# Only root can see the files of a process that forbids inspection.
as_root = pytest.mark.skipif(os.getuid() != 0, reason="what a command writes before its file has a name is seen by root only")


def unfinished(process):
    """The size of the unnamed file that a running process is writing, or 0 if there is none."""
    try:
        folder = pathlib.Path(f"/proc/{process.pid}/fd")
        # Standard output and error may be such files of the test runner, and the process may have further copies of
        # them.
        standard = {os.readlink(folder / name) for name in "012"}
        for link in folder.iterdir():
            target = os.readlink(link)
            if target not in standard and re.search(r"/#\d+ \(deleted\)$", target):
                return link.stat().st_size
    except (FileNotFoundError, ProcessLookupError):
        # The process has ended meanwhile.
        pass
    return 0
