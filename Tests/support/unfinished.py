"""What a program has written of a file that has no name yet."""

import os
import pathlib
import re

import pytest

# A process that forbids inspection shows its files to root alone.
as_root = pytest.mark.skipif(os.getuid() != 0, reason="what a command writes before its file has a name is seen by root only")


def unfinished(process):
    """The size of that file of a running process; 0 if there is none."""
    try:
        folder = pathlib.Path(f"/proc/{process.pid}/fd")
        # Standard output and error may be such files of the test runner's, and the process may have them twice.
        standard = {os.readlink(folder / name) for name in "012"}
        for link in folder.iterdir():
            target = os.readlink(link)
            if target not in standard and re.search(r"/#\d+ \(deleted\)$", target):
                return link.stat().st_size
    except (FileNotFoundError, ProcessLookupError):
        # The process came to its end meanwhile.
        pass
    return 0
