"""The list of defects: those in chosen.txt, where a promise is decided, and those in drawn.txt, which a seed drew.

    FILE | SUBJECT | TEST, ...  the tests that look most likely to find it: `unit FILTER`, `module`, a file of pytest's, `night FILE`
    - TEXT                      as it is
    + TEXT                      as the defect has it; § is true when the defect is switched on
"""

import dataclasses
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclasses.dataclass
class Defect:
    number: int
    file: str
    subject: str
    tests: list[str]
    old: str = ""
    new: str = ""

    @property
    def floor(self):
        return self.file.split("/")[0]


def all_defects():
    found = []
    for line in "".join((HERE / name).read_text() for name in ("chosen.txt", "drawn.txt")).splitlines():
        text = line[2:]
        match line[:2]:
            case "- ":
                found[-1].old += "\n" * bool(found[-1].old) + text
            case "+ ":
                found[-1].new += "\n" * bool(found[-1].new) + text
            case _:
                file, subject, tests = line.split(" | ")
                found.append(Defect(len(found) + 1, file, subject, tests.split(", ")))
    return found
