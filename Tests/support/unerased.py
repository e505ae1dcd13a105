#!/usr/bin/python3
"""unerased [--kept] PROGRAM: makes latchkey-derive leave Argon2id's memory unerased, as the control of a memory scan.

unerased renames the program's own mmap and munmap, so that libsodium finds libc's functions. Nothing else changes. The
kernel gives the last freed page to the next process that needs one, and that page has the block that leads to the key.
With --kept, the program's munmap leaves a copy of the process instead, which sleeps and keeps the memory as it is.
"""

import struct
import sys
from pathlib import Path

NAMES = (b"mmap", b"munmap")
# if (fork()) return 0; close_range(0, -1, 0); for (;;) pause();
SPLIT = bytes.fromhex("6a39580f0585c0740331c0c3" "b8b401000031ff83ceff31d20f05" "6a22580f05ebf9")
DYNAMIC_SYMBOLS, LOADED = 11, 1


def renamed(content):
    for name in NAMES:
        content = content.replace(b"\0%s\0" % name, b"\0%s\0" % (name[:-1] + b"q"))
    return content


def kept(content):
    at, size = place(content, b"munmap")
    assert size >= len(SPLIT), f"munmap has {size} bytes"
    return content[:at] + SPLIT + content[at + len(SPLIT) :]


def place(content, name):
    """The position in the file of an exported function of an x86-64 program, and the function's size."""
    segments, sections = struct.unpack_from("<QQ", content, 32)
    segment_size, segment_count, section_size, section_count = struct.unpack_from("<HHHH", content, 54)
    table = [struct.unpack_from("<IIQQQQIIQQ", content, sections + section_size * number) for number in range(section_count)]
    symbols = next(section for section in table if section[1] == DYNAMIC_SYMBOLS)
    texts = table[symbols[6]][4]
    for at in range(symbols[4], symbols[4] + symbols[5], symbols[9]):
        text, _, _, _, address, length = struct.unpack_from("<IBBHQQ", content, at)
        if address and content[texts + text :].split(b"\0", 1)[0] == name:
            break
    else:
        raise AssertionError(f"{name} is not exported")
    for number in range(segment_count):
        kind, _, offset, start, _, size = struct.unpack_from("<IIQQQQ", content, segments + segment_size * number)
        if kind == LOADED and start <= address < start + size:
            return address - start + offset, length
    raise AssertionError(f"{name} is in no segment")


def leave_memory(program, change=renamed):
    program = Path(program)
    content = program.read_bytes()
    for name in NAMES:
        assert b"\0%s\0" % name in content, f"{program} exports no {name}"
    changed = program.with_name("unerased")
    changed.write_bytes(change(content))
    changed.chmod(0o755)
    changed.rename(program)


if __name__ == "__main__":
    leave_memory(sys.argv[-1], kept if sys.argv[1] == "--kept" else renamed)
