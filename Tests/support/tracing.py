"""The data that processes read, write, send and receive, as the kernel sees it. Debian: strace."""

import re

_CALL = re.compile(r"(\w+)\((?:\d+<((?:\\x[0-9a-f]{2})*)>)?")


def command(trace, *program):
    """A command that runs a program, and traces the program and its children. The calls of each process go to a file
    `trace.NUMBER`."""
    calls = "trace=network,read,readv,write,writev,pread64,pwrite64,splice,vmsplice"
    return ["strace", "-ff", "-y", "-xx", "-s", "65536", "-e", calls, "-o", trace, *program]


def spelled(data):
    """The data in strace's notation."""
    return "".join(f"\\x{byte:02x}" for byte in data)


class Call:
    """One line of the trace: the call's name, and the kind of its descriptor, such as "socket:[123]"."""

    def __init__(self, line):
        self.line = line
        match = _CALL.match(line)
        self.name = match[1] if match else ""
        self.file = bytes.fromhex((match[2] or "").replace("\\x", "")).decode(errors="replace") if match else ""

    def has(self, data):
        return spelled(data) in self.line


def calls(trace):
    files = trace.parent.glob(f"{trace.name}.*")
    return [Call(line) for file in files for line in file.read_text().splitlines()]
