"""The parts of the test run are complete, Tests/README.md describes them, and second tries happen only where they are allowed."""

import ast
import dataclasses
import pathlib
import re

import pytest
from support.parts import GATE_PARTS, NIGHT_NAMES, NIGHT_PARTS, parts_for, table

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TESTS = REPOSITORY / "Tests"
TEST_FILES = sorted(TESTS.rglob("test_*.py"))
# The topmost folder of a file below Tests.
folder_of = lambda path: path.relative_to(TESTS).parts[0]
name_of = lambda path: str(path.relative_to(REPOSITORY))
# Tests with these words are never tried a second time, because a race in them is a fault.
PROTECTED = re.compile(r"lock(?!er)|key(?!ring|chain)|memory|damage|crash|faults|peer|healing|power_cuts|kill|persist|lost|rotat")


def marks(path):
    """The markers in a file: name, arguments, and the marked test; None for the whole file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("pytest.mark."):
            yield ast.unparse(node.func).removeprefix("pytest.mark."), [ast.literal_eval(argument) for argument in node.args
                                                                         if isinstance(argument, ast.Constant)]
        elif isinstance(node, ast.Attribute) and ast.unparse(node).startswith("pytest.mark."):
            yield ast.unparse(node).removeprefix("pytest.mark."), []


def test_every_folder_with_tests_belongs_to_a_part():
    of_parts = {name.partition("/")[0] for part in (*GATE_PARTS, *NIGHT_PARTS) for name in part.tests}
    assert {folder_of(path) for path in TEST_FILES} - {"Benchmark"} == of_parts


def test_a_part_of_the_night_is_named_by_some_test():
    named = {arguments[0] for path in TEST_FILES for name, arguments in marks(path) if name == "night" and arguments}
    assert named == set(NIGHT_NAMES)


@pytest.mark.parametrize("path", TEST_FILES, ids=name_of)
def test_a_file_with_marked_tests_is_in_the_folders_of_their_part(path):
    folders = {part.name: part.tests for part in NIGHT_PARTS}
    for name, arguments in marks(path):
        if name == "night" and arguments:
            assert folder_of(path) in folders[arguments[0]]


@pytest.mark.parametrize("part", [part for part in NIGHT_PARTS if part.marked], ids=lambda part: part.name)
def test_a_run_over_several_folders_imports_no_conftest(part):
    """Each folder has a conftest, and Python can import only one module of that name."""
    for folder in part.tests:
        for path in sorted((TESTS / folder).rglob("test_*.py")):
            assert "from conftest import" not in path.read_text(), path.name


def floors():
    """The folders of Sources, down to each module or program."""
    return sorted(folder for folder in REPOSITORY.glob("Sources/*/*") if folder.is_dir())


@pytest.mark.parametrize("folder", floors(), ids=name_of)
def test_a_change_of_every_module_calls_for_a_part_of_the_night(folder):
    assert parts_for([f"{name_of(folder)}/Some.swift"])


@pytest.mark.parametrize("part", NIGHT_PARTS, ids=lambda part: part.name)
def test_what_calls_for_a_part_exists(part):
    for begin in part.sources:
        assert list(REPOSITORY.glob(f"{begin}*")), begin


def test_no_two_parts_have_one_name():
    names = [part.name for part in (*GATE_PARTS, *NIGHT_PARTS)]
    assert len(set(names)) == len(names)


def test_the_table_of_the_documentation_is_the_table_of_the_parts():
    assert table() in (TESTS / "README.md").read_text()


@pytest.mark.parametrize("path", TEST_FILES, ids=name_of)
def test_what_matters_most_gets_no_second_try(path):
    if "second_try" in {name for name, _ in marks(path)}:
        assert not PROTECTED.search(path.stem)


def test_every_line_of_the_second_tries_can_be_read():
    for line in (TESTS / "second-tries.txt").read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"\d{4}-\d\d-\d\d \S+ \S+/test_\w+\.py::.+", line), line
