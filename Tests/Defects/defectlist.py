"""The list of defects. The defects in chosen.txt are at places that decide a promise. A seed drew the defects in drawn.txt.

    FILE | SUBJECT | TEST, ...  the tests that most likely find the defect: `unit FILTER`, `module`, a file for pytest, `night FILE`
    - TEXT                      the original text
    + TEXT                      the text with the defect; § is true when the defect is switched on
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
