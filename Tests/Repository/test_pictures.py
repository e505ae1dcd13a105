"""The pictures in the documents are drawn from the documents' own data."""

import re
import subprocess
import sys

import pytest
from support.documents import REPOSITORY

sys.path.append(str(REPOSITORY / "Tests/Benchmark"))
import plots  # noqa: E402

FOLDER = REPOSITORY / "docs/pictures"
REPORT = (FOLDER / "benchmark.txt").read_text()


def is_drawn_by_this_gnuplot(picture):
    version = subprocess.run(["gnuplot", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return version.lower() in picture.lower()


def test_a_table_gives_its_points():
    table = """
| operation | items | latchkeyd | gnome-keyring | ratio | goal |
| --- | --: | --: | --: | --: | --- |
| store (CreateItem) | 10 | 12.5 (10.7–13.8) | 29.6 (25.9–36.6) | 0.42 | ≤ 15: met |
|  | 1,000 | 6.7 (5.9–7.7) | 5745 (5515–5898) | 0.001 | ≤ 15: met |
|  | 100,000 | 14.4 (13.1–16.6) |  |  | ≤ 15: met |
| replace (CreateItem) | 10 | 14.0 (12.1–15.5) | 31.6 (27.7–36.8) | 0.44 |  |
"""
    script = plots.script(table, "store")
    assert "$latchkey << END\n10 12.5\n1000 6.7\n100000 14.4\nEND" in script
    assert "$gnome << END\n10 29.6\n1000 5745\nEND" in script
    assert plots.script(table, "lookup") is None


@pytest.mark.parametrize("name", plots.PICTURES)
def test_a_plot_is_that_of_the_table(name):
    picture = (FOLDER / f"{name}.svg").read_text()
    if not is_drawn_by_this_gnuplot(picture):
        pytest.skip("drawn by another version of gnuplot")
    assert plots.draw(plots.script(REPORT, name)) == picture


def test_the_day_is_drawn_from_its_text():
    picture = (FOLDER / "day.svg").read_text()
    if not is_drawn_by_this_gnuplot(picture):
        pytest.skip("drawn by another version of gnuplot")
    assert plots.draw((FOLDER / "day.gp").read_text()) == picture


def test_every_picture_is_shown_by_a_document():
    shown = {
        (path.parent / link).resolve() for path in [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]
        for link in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", path.read_text())
    }
    assert {path for path in shown if path.parent == FOLDER} == {*FOLDER.glob("*.svg"), *FOLDER.glob("*.png")}
    assert all(path.is_file() for path in shown)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.png")), ids=lambda path: path.name)
def test_a_photograph_is_small(path):
    """`make test-all PARTS=desktops` took the photograph and cut it to the window."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG") and len(content) < 150_000
