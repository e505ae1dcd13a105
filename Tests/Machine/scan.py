"""Looks through all of a machine's physical memory: for byte strings, and for what is left of Argon2id."""

import ctypes
import dataclasses
import functools
import subprocess
import tempfile
from pathlib import Path

from support.memory import Needles

SHIMS = Path(__file__).with_name("Shims")
CHUNK = 64 << 20
# More than any needle or block: what crosses the end of a chunk is seen in the next one.
OVERLAP = 4096
ENOUGH = 1000
BLOCK = 1024
# Enough of a block to know it by: each is as good as random.
BEGINNING = 16


@dataclasses.dataclass(frozen=True)
class Trace:
    """Something found, at a physical address."""

    name: str
    address: int
    # "bytes": a piece of 16 bytes, this far from its beginning. "block": a block of Argon2id from which it follows. "all": every
    # byte of it, in a row.
    form: str
    offset: int = 0

    def __str__(self):
        return f"{self.form} of {self.name} at {self.address:#x}" + (f" (from byte {self.offset})" if self.offset else "")


@functools.cache
def _blocks():
    """The function of Shims/blocks.c."""
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/blocks.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, SHIMS / "blocks.c", "-lsodium"], check=True)
        function = ctypes.CDLL(library).blocks
        function.restype = ctypes.c_size_t
        return function


def find_blocks(content, keys):
    """Blocks of Argon2id from which one of the keys (a name and 32 bytes each) follows: offsets and names."""
    names = list(keys)
    found = (ctypes.c_uint64 * (2 * ENOUGH))()
    sizes = [ctypes.c_size_t(size) for size in (len(content), len(names), ENOUGH)]
    count = _blocks()(content, sizes[0], b"".join(keys[name] for name in names), sizes[1], found, sizes[2])
    return [(at, names[number]) for at, number in zip(found[: 2 * count : 2], found[1 : 2 * count : 2])]


@functools.cache
def _working_memory():
    """The program of Shims/workingmemory.c, in a folder that stays as long as this process."""
    folder = tempfile.TemporaryDirectory()
    program = f"{folder.name}/workingmemory"
    exported = "-Wl,--export-dynamic-symbol=munmap"
    subprocess.run(["cc", "-O2", exported, "-o", program, SHIMS / "workingmemory.c", "-lsodium"], check=True)
    return folder, program


def working_blocks(password, salt, passes, memory):
    """How each block begins that Argon2id has in its memory at its end."""
    _, program = _working_memory()
    command = [program, str(passes), str(memory)]
    content = subprocess.run(command, input=salt + password, stdout=subprocess.PIPE, check=True).stdout
    assert len(content) == memory
    return {content[at : at + BEGINNING] for at in range(0, memory, BLOCK)}


@dataclasses.dataclass(frozen=True)
class Found:
    """What is in a machine's memory."""

    traces: set
    # How many of the blocks that Argon2id worked in, whether a key follows from them or not.
    blocks: int


def places(content, needle):
    """Where the needle is, whole."""
    at = content.find(needle)
    while at >= 0:
        yield at
        at = content.find(needle, at + 1)


def scan(machine, needles, derived, blocks=frozenset(), packets=None):
    """Every trace of the needles (a name and bytes each), and of the keys `derived` by Argon2id, in the stopped machine. Also
    says how many of the `blocks` are there, by their beginnings, and which `packets` (a name and bytes each) are there as a
    whole."""
    wanted, traces, count = Needles(needles | derived), set(), 0
    with machine.stopped() as file, open(file, "rb", buffering=0) as memory:
        tail, base = b"", 0
        while chunk := memory.read(CHUNK):
            content = tail + chunk
            for at, name, offset in wanted.find(content):
                traces.add(Trace(name, base + at, "bytes", offset))
            for name, packet in (packets or {}).items():
                traces.update(Trace(name, base + at, "all") for at in places(content, packet))
            for at, name in find_blocks(content, derived):
                traces.add(Trace(name, base + at, "block"))
            # Argon2id's memory begins with a page. The part that the chunk before had as well is not counted again.
            new = range(len(tail), len(content), BLOCK)
            count += sum(content[at : at + BEGINNING] in blocks for at in new)
            tail = content[-OVERLAP:]
            base += len(content) - len(tail)
    return Found(traces, count)
