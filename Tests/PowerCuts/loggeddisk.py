"""A file system on a disk that logs its writes and flushes, and the states in which a power cut may leave the disk.

`LoggedDisk` mounts the file system at `place`. `Log` reads the log, and `Log.states` replays it.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import random
import subprocess
import tempfile
import time

from support.pace import Limit, seconds

SOURCE = pathlib.Path(__file__).with_name("writelog.c")
SECTOR, FLUSH, MARK = 512, 1, 8
# A disk writes whole blocks. Of a longer write, any of the blocks may arrive.
BLOCK = 4096
MAKE = {
    "ext4": (64, ["mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"]),
    "btrfs": (128, ["mkfs.btrfs", "-q", "-K", "-M"]),
}


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def scratch():
    """A new folder in memory, if the machine has such a file system."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp")


class LoggedDisk:
    """The disk with its file system. `close` ends the logging, and then `log` has everything."""

    def __init__(self, kind, folder):
        self.kind, self.folder = kind, pathlib.Path(folder)
        self.size, make = MAKE[kind][0] << 20, MAKE[kind][1]
        program, disk, self.shown = self.folder / "writelog", self.folder / "disk", self.folder / "shown"
        flags = run("pkg-config", "--cflags", "--libs", "fuse3").split()
        run("cc", "-O1", "-o", program, SOURCE, *flags)
        disk.touch()
        os.truncate(disk, self.size)
        self.shown.mkdir()
        self._server = subprocess.Popen([program, disk, self.folder / "log", self.shown])
        self._loop = None
        # The session's sockets are in this folder. So the folder's path must be short, and the session's user must be
        # able to enter the folder.
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="cut-", dir="/tmp"))
        try:
            self._wait_for_server()
            self._loop = run("losetup", "--find", "--show", "--direct-io=on", self.shown / "disk")
            run(*make, self._loop)
            run("mount", "-t", kind, "-o", "noatime", self._loop, self.place)
            self.place.chmod(0o755)
        except BaseException:
            self.close()
            raise
        self._marks = os.open(self.shown / "mark", os.O_WRONLY)

    def _wait_for_server(self):
        limit = Limit(30)
        while not (self.shown / "disk").exists():
            assert self._server.poll() is None and not limit.is_over, "the logging disk does not start"
            time.sleep(0.02)

    def mark(self, told):
        """Writes a mark into the log. `told` is any JSON value that describes the present state."""
        content = json.dumps(told).encode()
        assert os.write(self._marks, content) == len(content)

    def close(self):
        with contextlib.suppress(AttributeError):
            os.close(self._marks)
        self._unmount(self.place)
        if self._loop:
            run("losetup", "--detach", self._loop)
        # The loop device releases the file a moment later, if no other container has mounted the file system meanwhile.
        # The log is complete in any case.
        self._unmount(self.shown, 10)
        if os.path.ismount(self.shown):
            run("umount", "--lazy", self.shown)
            self._server.kill()
        self._server.wait(seconds(60))
        self.place.rmdir()

    @staticmethod
    def _unmount(place, timeout=60):
        limit = Limit(timeout)
        while os.path.ismount(place) and not limit.is_over:
            subprocess.run(["umount", place], stderr=subprocess.DEVNULL)
            time.sleep(0.05)

    def log(self):
        return Log(self.kind, self.size, self.folder / "log")


@dataclasses.dataclass
class Entry:
    """One entry of the log: a write (its data is at offset `at`), a flush, or a mark."""

    kind: str
    offset: int
    at: int
    size: int
    told: object = None


@dataclasses.dataclass
class State:
    """The disk after a power cut, as a file."""

    image: pathlib.Path
    # The marks before the cut, oldest first.
    marks: list
    # The place of the cut and the arrived writes, for messages.
    description: str
    is_at_flush: bool


class Log:
    """All writes, in order."""

    def __init__(self, kind, size, path):
        self.kind, self.size, self.path = kind, size, path
        self.entries = []
        with open(path, "rb") as file:
            assert int.from_bytes(file.read(SECTOR)[:8], "little") == 0x6A736677736872, "not a log"
            while header := file.read(SECTOR):
                sector, sectors, flags, marked = (int.from_bytes(header[8 * i : 8 * i + 8], "little") for i in range(4))
                if flags & MARK:
                    data = file.read(-(-marked // SECTOR) * SECTOR)
                    self.entries.append(Entry("mark", 0, 0, 0, json.loads(data[:marked])))
                elif flags & FLUSH:
                    self.entries.append(Entry("flush", 0, 0, 0))
                else:
                    self.entries.append(Entry("write", sector * SECTOR, file.tell(), sectors * SECTOR))
                    file.seek(sectors * SECTOR, os.SEEK_CUR)
        self.flushes = [number for number, entry in enumerate(self.entries) if entry.kind == "flush"]

    def count(self, kind):
        return sum(entry.kind == kind for entry in self.entries)

    def _cuts(self, count, chance):
        """The places of the cuts, in order. The cuts are at flushes (at all flushes if the count allows it) and
        anywhere between flushes."""
        marks = [number for number, entry in enumerate(self.entries) if entry.kind == "mark"]
        # After the last mark, no client gets answers: the session is being removed.
        flushes = [number for number in self.flushes if marks[0] < number < marks[-1]]
        cuts = flushes if len(flushes) <= count * 3 // 4 else chance.sample(flushes, count // 2)
        cuts = cuts + chance.choices(range(marks[0], marks[-1] + 1), k=count - len(cuts))
        return sorted(cuts)

    def states(self, count, seed):
        """Yields `count` states of the disk. Each state is valid until the next one."""
        chance = random.Random(seed)
        with scratch() as folder, open(self.path, "rb") as data:
            base, image = pathlib.Path(folder) / "base", pathlib.Path(folder) / "image"
            base.touch()
            os.truncate(base, self.size)
            flushed = position = 0
            pending, marks = [], []
            for cut in self._cuts(count, chance):
                while position <= cut:
                    entry = self.entries[position]
                    if entry.kind == "write":
                        pending.append(entry)
                    elif entry.kind == "mark":
                        marks.append(entry.told)
                    else:
                        # A flush puts all earlier writes onto the disk.
                        self._write(base, data, [(entry.offset, entry.at, entry.size) for entry in pending])
                        pending, flushed = [], position
                    position += 1
                run("cp", "--sparse=always", base, image)
                arrived, description = self._arrived(pending, chance)
                self._write(image, data, arrived)
                yield State(image, list(marks), f"cut at {cut}, flushed at {flushed}, {description}", cut == flushed)

    @staticmethod
    def _arrived(pending, chance):
        """The parts of the unflushed writes that are on the disk, and their order."""
        pieces = [(entry.offset, entry.at, entry.size) for entry in pending]
        if chance.random() < 0.5:
            pieces = [
                (offset + at, start + at, min(BLOCK, size - at))
                for offset, start, size in pieces
                for at in range(0, size, BLOCK)
            ]
        share = chance.choice((0, 0.1, 0.5, 0.9, 1))
        # If two writes went to the same place, the later write or both writes may be lost. The earlier write never
        # overwrites the later write.
        arrived = [piece for piece in pieces if chance.random() < share]
        return arrived, f"{len(arrived)} of {len(pieces)} later pieces arrived"

    @staticmethod
    def _write(image, data, pieces):
        with open(image, "r+b") as file:
            for offset, at, size in pieces:
                data.seek(at)
                file.seek(offset)
                file.write(data.read(size))


@contextlib.contextmanager
def mounted(image, kind):
    """Mounts the file system of an image. The kernel repairs it as after a power cut."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        run("mount", "-t", kind, "-o", "loop,noatime", image, place)
        try:
            yield pathlib.Path(place)
        finally:
            run("umount", place)
