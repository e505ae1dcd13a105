"""Looks for byte strings in the memory of a running process. Needs root."""

from pathlib import Path

CHUNK = 4 << 20


def mappings(pid):
    """The readable mappings of a process: pairs of first address and address after the last."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        span, permissions, _, _, _, *name = line.split(maxsplit=5)
        if permissions.startswith("r") and name not in (["[vvar]"], ["[vvar_vclock]"], ["[vsyscall]"]):
            yield tuple(int(end, 16) for end in span.split("-"))


def scan(pid: int, needles: dict[str, bytes]) -> dict[str, list[int]]:
    """The addresses at which each needle stands in any readable mapping of the process; every needle has its entry.

    Memory that cannot be read at its turn (a guard page) is passed over, so a scan needs a control: a needle that must be
    found."""
    found = {name: [] for name in needles}
    overlap = max(map(len, needles.values())) - 1
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for start, end in mappings(pid):
            tail = b""
            for address in range(start, end, CHUNK):
                try:
                    memory.seek(address)
                    chunk = memory.read(min(CHUNK, end - address))
                except OSError:
                    tail = b""
                    continue
                window, base = tail + chunk, address - len(tail)
                for name, needle in needles.items():
                    at = window.find(needle)
                    while at >= 0:
                        # One that lies in the overlap altogether was found before.
                        if at + len(needle) > len(tail):
                            found[name].append(base + at)
                        at = window.find(needle, at + 1)
                tail = window[max(0, len(window) - overlap) :]
    return found
