"""Searches all of a machine's physical memory for byte strings and for traces of Argon2id."""

import ctypes
import dataclasses
import functools
import subprocess
import tempfile
from pathlib import Path

from support.memory import Needles

SHIMS = Path(__file__).with_name("Shims")
CHUNK = 64 << 20
# Two chunks overlap. The overlap is longer than any needle or block, so no needle or block is missed between chunks.
OVERLAP = 4096
ENOUGH = 1000
BLOCK = 1024
# These bytes identify a block, because every block looks random.
BEGINNING = 16


@dataclasses.dataclass(frozen=True)
class Trace:
    """A finding at a physical address."""

    name: str
    address: int
    # "bytes" is a piece of 16 bytes, at this offset in the needle. "block" is a block of Argon2id that reveals the
    # needle. "all" is the whole needle in a row.
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
    """The blocks of Argon2id that reveal one of the keys (a name and 32 bytes each): offsets and names."""
    names = list(keys)
    found = (ctypes.c_uint64 * (2 * ENOUGH))()
    sizes = [ctypes.c_size_t(size) for size in (len(content), len(names), ENOUGH)]
    count = _blocks()(content, sizes[0], b"".join(keys[name] for name in names), sizes[1], found, sizes[2])
    return [(at, names[number]) for at, number in zip(found[: 2 * count : 2], found[1 : 2 * count : 2])]


@functools.cache
def _working_memory():
    """The program of Shims/workingmemory.c. The program's folder exists as long as this process."""
    folder = tempfile.TemporaryDirectory()
    program = f"{folder.name}/workingmemory"
    exported = "-Wl,--export-dynamic-symbol=munmap"
    subprocess.run(["cc", "-O2", exported, "-o", program, SHIMS / "workingmemory.c", "-lsodium"], check=True)
    return folder, program


def working_blocks(password, salt, passes, memory):
    """The beginnings of all blocks in Argon2id's memory at the end of the derivation."""
    _, program = _working_memory()
    command = [program, str(passes), str(memory)]
    content = subprocess.run(command, input=salt + password, stdout=subprocess.PIPE, check=True).stdout
    assert len(content) == memory
    return {content[at : at + BEGINNING] for at in range(0, memory, BLOCK)}


@dataclasses.dataclass(frozen=True)
class Found:
    """The findings in a machine's memory."""

    traces: set
    # The number of Argon2id's working blocks, whether they reveal a key or not.
    blocks: int


def places(content, needle):
    """The places of the whole needle."""
    at = content.find(needle)
    while at >= 0:
        yield at
        at = content.find(needle, at + 1)


def scan(machine, needles, derived, blocks=frozenset(), packets=None):
    """All traces of the needles (a name and bytes each), and of the keys `derived` by Argon2id, in the stopped machine.
    Also counts the `blocks` by their beginnings, and lists the `packets` (a name and bytes each) that are there as a
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
            # Argon2id's memory begins at a page. The overlap with the previous chunk is not counted again.
            new = range(len(tail), len(content), BLOCK)
            count += sum(content[at : at + BEGINNING] in blocks for at in new)
            tail = content[-OVERLAP:]
            base += len(content) - len(tail)
    return Found(traces, count)
