"""Each promise of SECURITY.md has a row in the table of promises, and each test in the table exists."""

import re

from support.documents import REPOSITORY

TESTS = REPOSITORY / "Tests"
PROMISED = (REPOSITORY / "SECURITY.md").read_text().split("\n## Promises\n")[1].split("\n## ")[0]
NUMBERS = re.findall(r"^(\d+)\. ", PROMISED, re.M)
ROWS = re.findall(r"^\| (\d+) \| (.*) \|$", (REPOSITORY / "docs/developer/promises.md").read_text(), re.M)


def exists(test):
    """A Python test is a function in its file, and a Swift test is the text of its `@Test`."""
    file, function = re.fullmatch(r"([\w/]+\.py)::(\w+)", test).groups() if "::" in test else (test.split(": ")[0], None)
    text = (TESTS / file).read_text() if (TESTS / file).is_file() else ""
    if function:
        return re.search(rf"^def {function}\(", text, re.M) is not None
    return re.search(rf'@Test\(\s*"{re.escape(test.split(": ", 1)[1])}"', text) is not None


def test_each_promise_has_a_row():
    assert len(NUMBERS) > 30
    assert NUMBERS == [str(number) for number in range(1, len(NUMBERS) + 1)]
    assert [number for number, _ in ROWS] == NUMBERS


def test_each_test_of_a_promise_exists():
    named = {number: re.findall(r"`([^`]+)`", tests) for number, tests in ROWS}
    assert all(named.values())
    assert [(number, test) for number, tests in named.items() for test in tests if not exists(test)] == []


def test_a_test_that_does_not_exist_is_seen():
    assert exists("Repository/test_promises.py::test_each_promise_has_a_row")
    for other in ("Repository/test_promises.py::test_none", "Repository/none.py::test_none", "VaultTests/SecrecyTests.swift: none"):
        assert not exists(other)
