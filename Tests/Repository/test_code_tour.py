"""The code tour: its steps and the list beside this file have as many files as the list says, and each name is one file of Sources."""

import re

import pytest
from support.documents import REPOSITORY

TOUR = (REPOSITORY / "docs/code-tour.md").read_text()
CALLED = (REPOSITORY / "Tests/Repository/called-on-the-way.txt").read_text()
SOURCES = [path.relative_to(REPOSITORY / "Sources").as_posix() for path in (REPOSITORY / "Sources").rglob("*.swift")]
COUNTS = {
    path: (int(read), int(called))
    for path, read, called in re.findall(r"^(.+): (\d+) to read, (\d+) called$", CALLED, re.M)}


def section(title):
    return re.search(rf"^## {title}$(.*?)(?=^## |\Z)", TOUR, re.M | re.S)[1]


def files(text):
    """The files of Sources that a text names. Each name must fit exactly one path."""
    named = set()
    for name in re.findall(r"`([\w+/-]+\.swift)`", text):
        # A name without its folder is enough if only one file has the name.
        paths = [path for path in SOURCES if path == name or path.endswith("/" + name)]
        assert len(paths) == 1, (name, paths)
        named |= set(paths)
    return named


def test_six_paths_are_counted():
    assert len(COUNTS) == 6
    assert all(read <= 20 for read, _ in COUNTS.values())


@pytest.mark.parametrize("title", COUNTS)
def test_numbers(title):
    steps = "".join(re.findall(r"^ ?\d+\. (?:.*\n)(?: {3,4}.*\n)*", section(title), re.M))
    (called,) = re.findall(rf"^{title}: .*\n((?:  .*\n)+)", CALLED, re.M)
    to_read, on_the_way = files(steps), files(re.sub(r"^  (.*)", r"`\1`", called, flags=re.M))
    assert not to_read & on_the_way
    assert (len(to_read), len(on_the_way)) == COUNTS[title]
