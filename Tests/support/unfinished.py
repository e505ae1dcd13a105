"""What a program has written of a file that has no name yet."""

import os
import pathlib
import re

import pytest

# A process that forbids inspection shows its files to root alone.
as_root = pytest.mark.skipif(os.getuid() != 0, reason="what a command writes before its file has a name is seen by root only")


def unfinished(process):
    """The size of that file of a running process; 0 where there is none."""
    try:
        for link in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
            # Standard error may be such a file of the test runner's.
            if int(link.name) > 2 and re.search(r"/#\d+ \(deleted\)$", os.readlink(link)):
                return link.stat().st_size
    except (FileNotFoundError, ProcessLookupError):
        # It came to its end meanwhile.
        pass
    return 0
