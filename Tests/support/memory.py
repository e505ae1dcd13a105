"""Searches for secrets in the memory of a running process, and in files. Needs root, because the daemon's own user
cannot read its memory.
"""

import ctypes
import dataclasses
import functools
import pathlib
import struct
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).with_name("Shims") / "find.c"

CHUNK = 4 << 20
# The search looks for pieces of this size. So the search also finds a freed key whose beginning was overwritten.
PIECE = 16
# The search reports at most this many places for each needle.
ENOUGH = 100


@dataclasses.dataclass(frozen=True)
class Place:
    """The place of a piece of a needle."""

    address: int
    mapping: str
    # The offset in the needle of the first found byte.
    offset: int

    def __str__(self):
        return f"{self.address:x} in {self.mapping} (from byte {self.offset})"


def mappings(pid):
    """The readable mappings of a process: start, end and name."""
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        span, permissions, _, _, _, *name = line.split(maxsplit=5)
        name = name[0] if name else "memory without a name"
        if permissions.startswith("r") and name not in ("[vvar]", "[vvar_vclock]", "[vsyscall]"):
            start, end = (int(number, 16) for number in span.split("-"))
            yield start, end, name


def pieces(needle):
    """The needle cut into pieces, each with its offset. A short needle is a single piece."""
    assert len(needle) >= PIECE, "a needle this short is found by chance"
    return [(at, needle[at : at + PIECE]) for at in range(0, len(needle) - PIECE + 1, PIECE)]


@functools.cache
def finder():
    """The function of Shims/find.c."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", f"{folder}/find.so", SOURCE], check=True)
        return ctypes.CDLL(f"{folder}/find.so").find


class Needles:
    """The needles, as pairs of a name and bytes."""

    def __init__(self, needles):
        self._pieces = [(name, offset, piece) for name, needle in needles.items() for offset, piece in pieces(needle)]
        self._bytes = b"".join(piece for _, _, piece in self._pieces)
        self._found = (ctypes.c_uint64 * (2 * ENOUGH * len(self._pieces)))()
        finder().restype = ctypes.c_size_t

    def find(self, content):
        """The places of pieces: offsets in the content, names, and offsets in the needle."""
        sizes = [ctypes.c_size_t(size) for size in (len(content), len(self._pieces), ENOUGH)]
        count = finder()(content, sizes[0], self._bytes, sizes[1], self._found, sizes[2])
        for at, number in zip(self._found[: 2 * count : 2], self._found[1 : 2 * count : 2]):
            yield at, *self._pieces[number][:2]


def scan(pid, needles):
    """The places of the needles (a name and bytes each) in all readable mappings: lists of Place, by name.

    The scan skips unreadable memory. So a scan is meaningful only with a control: a needle that must be found."""
    wanted, found = Needles(needles), {}
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for start, end, mapping in mappings(pid):
            tail = b""
            for address in range(start, end, CHUNK):
                try:
                    memory.seek(address)
                    content = tail + memory.read(min(CHUNK, end - address))
                except OSError:
                    tail = b""
                    continue
                base = address - len(tail)
                for at, name, offset in wanted.find(content):
                    if len(found.setdefault(name, [])) < ENOUGH:
                        found[name].append(Place(base + at, mapping, offset))
                # The overlap is shorter than a piece, so nothing is found twice.
                tail = content[-(PIECE - 1) :]
    return found


def scan_files(folders, needles):
    """The places of the needles in all files below the folders, by name."""
    wanted, found = Needles(needles), {}
    for file in (path for folder in folders for path in folder.rglob("*") if path.is_file()):
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            continue  # The daemon has erased the file meanwhile.
        for at, name, offset in wanted.find(content):
            if len(found.setdefault(name, [])) < ENOUGH:
                found[name].append(f"{file.name} at {at} (from byte {offset})")
    return found


def hchacha20(key, nonce):
    """The key that XChaCha20 derives from a key and the first 16 bytes of a nonce. Anyone with this key can read the value
    that was encrypted with this nonce."""
    state = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *struct.unpack("<12I", key + nonce[:16])]

    def quarter(a, b, c, d):
        for first, second, third, shift in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[first] = (state[first] + state[second]) & 0xFFFFFFFF
            mixed = state[third] ^ state[first]
            state[third] = (mixed << shift | mixed >> 32 - shift) & 0xFFFFFFFF

    for _ in range(10):
        for column in range(4):
            quarter(column, column + 4, column + 8, column + 12)
        for column in range(4):
            quarter(column, (column + 1) % 4 + 4, (column + 2) % 4 + 8, (column + 3) % 4 + 12)
    return struct.pack("<8I", *state[:4], *state[12:])
