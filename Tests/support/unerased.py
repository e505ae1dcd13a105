#!/usr/bin/python3
"""unerased PROGRAM: has latchkey-derive leave Argon2id's memory as it is, as the control of what is looked for.

The program's own mmap and munmap get other names, so that libsodium finds libc's. Nothing else changes.
"""

import sys
from pathlib import Path


def leave_memory(program):
    program = Path(program)
    content = program.read_bytes()
    for name in (b"mmap", b"munmap"):
        assert b"\0%s\0" % name in content, f"{program} exports no {name}"
        content = content.replace(b"\0%s\0" % name, b"\0%s\0" % (name[:-1] + b"q"))
    changed = program.with_name("unerased")
    changed.write_bytes(content)
    changed.chmod(0o755)
    changed.rename(program)


if __name__ == "__main__":
    leave_memory(sys.argv[1])
