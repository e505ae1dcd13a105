"""A share of one processor, as on a slow or busy machine. A test's processes run in their own control group."""

import os
import pathlib

import pytest
from support.pace import Limit


def _hierarchy():
    """The folder for limited groups, the file that limits a group, and the file's text for a percentage. The result is
    None if the machine has no such folder."""
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, options, *_ = line.split()
        folder = pathlib.Path(where)
        if kind == "cgroup" and "cpu" in options.split(",") and os.access(folder, os.W_OK):
            return folder, "cpu.cfs_quota_us", lambda percent: f"{percent * 1000}"
        if kind == "cgroup2" and os.access(folder, os.W_OK):
            if "cpu" in (folder / "cgroup.subtree_control").read_text().split():
                return folder, "cpu.max", lambda percent: f"{percent * 1000} 100000"
    return None


class Quota:
    """A group whose processes together get this percentage of one processor."""

    count = 0

    def __init__(self, percent):
        folder, name, text = _hierarchy()
        Quota.count += 1
        self.folder = folder / f"latchkey-test-{os.getpid()}-{Quota.count}"
        self.folder.mkdir()
        (self.folder / name).write_text(text(percent))

    def join(self):
        """Moves the calling process into the group. Later children of the process are in the group too."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        """Moves the remaining processes back to the normal group."""
        limit = Limit(10)
        while True:
            for process in (self.folder / "cgroup.procs").read_text().split():
                try:
                    (self.folder.parent / "cgroup.procs").write_text(process)
                except ProcessLookupError:
                    pass
            try:
                return self.folder.rmdir()
            except OSError:
                assert not limit.is_over, "processes stay in the group"


@pytest.fixture
def quota():
    """Makes groups for the test. In CI, groups must be available."""
    if os.geteuid() != 0 or _hierarchy() is None:
        missing = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        missing("no control groups for processors here, or not root")
    made = []

    def make(percent):
        made.append(Quota(percent))
        return made[-1]

    yield make
    for one in made:
        one.close()
