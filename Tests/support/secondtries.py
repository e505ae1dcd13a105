"""Second tries. A failed test of other people's programs runs once more, and the report names it.

For each second try, `Tests/second-tries.txt` has a line `DATE COMMIT TEST`. A test with a line gets no further second
try, because a second failure within 20 runs needs an explanation. Remove the line when you have the explanation. Nobody
counts the runs. So a line counts until somebody removes the line, or for 30 days, which is longer than 20 runs.
"""

import datetime
import os
import subprocess
import sys

from support.partrun import REPOSITORY

NOTES = REPOSITORY / "Tests/second-tries.txt"
# More second tries in one run show a fault of the tests, of the machine or of Latchkey.
MOST = 3
DAYS = 30


def noted():
    """The names of tests with a recent line."""
    names = set()
    for line in NOTES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            date, _, name = line.split(" ", 2)
            if datetime.date.today() - datetime.date.fromisoformat(date) <= datetime.timedelta(days=DAYS):
                names.add(name)
    return names


def note(names):
    """Adds a line for each name."""
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True).stdout.strip()
    with NOTES.open("a", encoding="utf-8") as file:
        for name in names:
            file.write(f"{datetime.date.today()} {head or '-'} {name}\n")


def allowed(failures):
    """The failures that get a second try. Returns these tests, and a line for each other test, with the reason."""
    candidates, known, refused = [f for f in failures if f.second_try], noted(), []
    for failure in candidates:
        if failure.name in known:
            refused.append(f"no second try for {failure.name}: it had one already, see Tests/second-tries.txt")
    candidates = [failure for failure in candidates if failure.name not in known]
    if len(candidates) > MOST:
        return [], [*refused, f"no second tries: {len(candidates)} tests would need one, and {MOST} is the most"]
    return candidates, refused


class Load:
    """Puts as much load beside a second try as there was beside the first try: a computing process for each processor,
    and a process that writes to the disk."""

    COMPUTES = "while True: sum(range(10000))"
    WRITES = (
        "import os, tempfile\n"
        "with tempfile.TemporaryFile() as file:\n"
        "    while True: file.seek(0); file.write(bytes(1 << 20)); file.flush(); os.fsync(file.fileno())"
    )

    def __enter__(self):
        programs = [self.COMPUTES] * len(os.sched_getaffinity(0)) + [self.WRITES]
        self.processes = [subprocess.Popen([sys.executable, "-c", program]) for program in programs]

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
