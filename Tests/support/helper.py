"""The protocol of latchkey-derive, read from the C headers of the programs: Sources/C/CHelper/.

Operations, results and flags are also constants of this module. The constants have the names of the header, in
capitals, such as CREATE_VAULT.
"""

import re
import time

from support.session import REPOSITORY

HEADER = "".join((REPOSITORY / "Sources/C/CHelper" / name).read_text() for name in ("helper.h", "request.h"))


def _entries(what):
    """The arguments of each entry of a list."""
    begun = HEADER.index(f"#define HELPER_{what}(entry)")
    return re.findall(r"^\s+entry\((.+?)\)", HEADER[begun : HEADER.index("\n\n", begun)], re.M)


def _numbers(what):
    entries = (entry.split(", ") for entry in _entries(what))
    return {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper(): int(number) for name, number in entries}


def _constant(name):
    return int(re.search(rf"^#define HELPER_{name} (\d+)$", HEADER, re.M)[1])


VERSION, LIMIT, TOKEN_LIMIT, GO_ON, REQUEST, MEMORY_SIZE, HEAD_SIZE = map(
    _constant, ("VERSION", "REQUEST_LIMIT", "TOKEN_LIMIT", "GO_ON", "REQUEST", "MEMORY_SIZE", "HEAD_SIZE"))
OPERATIONS, RESULTS, FLAGS, FIELDS = map(_numbers, ("OPERATIONS", "RESULTS", "FLAGS", "FIELDS"))
EXCLUDED_SERVICES, FINGER_SERVICES = (
    [entry.strip('"') for entry in _entries(name)] for name in ("EXCLUDED_SERVICES", "FINGER_SERVICES"))

globals().update(OPERATIONS | RESULTS | FLAGS)


def now():
    """The present moment in requests and hellos: microseconds since the machine started."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
