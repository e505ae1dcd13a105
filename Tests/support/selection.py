"""The tests of a run (a pytest plugin).

A test without the marker `night` belongs to the gate, `make test`. `night("imports")` puts a test, one of its cases
(`pytest.param(…, marks=…)`) or a whole file (`pytestmark`) into that part of `make test-all`. Without `--part` all
tests run. LATCHKEY_ORDER, any text, shuffles files and tests. The same text gives the same order.

`second_try` marks a test that drives other people's programs. Tests/run may repeat the test once, and reports the
repetition. Tests of locks, keys, memory, peers, damage or lost data never have this mark
(Tests/Repository/test_parts.py).
"""

import os
import random

import pytest
from support.parts import GATE, NIGHT_NAMES


def pytest_addoption(parser):
    parser.addoption("--part", metavar="NAME", help=f"only the tests of this part of the run: {GATE}, or one of Tests/support/parts.py")


def pytest_configure(config):
    config.addinivalue_line("markers", "night(part): runs in that part of `make test-all`, not in `make test`")
    config.addinivalue_line("markers", "second_try: drives other people's programs; may be repeated once, which is told")


def part_of(item):
    """The part that a test belongs to. The nearest marker counts."""
    mark = item.get_closest_marker("night")
    if mark is None:
        return GATE
    (name,) = mark.args
    if name not in NIGHT_NAMES:
        raise pytest.UsageError(f"{item.nodeid}: there is no part {name!r} in Tests/support/parts.py")
    return name


def pytest_collection_modifyitems(config, items):
    if "LATCHKEY_ORDER" in os.environ:
        # Shuffles files and the tests in each file, in the same way in every worker.
        order = random.Random(os.environ["LATCHKEY_ORDER"])
        place = {path: order.random() for path in sorted({str(item.path) for item in items})}
        order.shuffle(items)
        items.sort(key=lambda item: place[str(item.path)])
    parts = {item: part_of(item) for item in items}
    wanted = config.getoption("--part")
    if wanted is None:
        return
    left_out = [item for item in items if parts[item] != wanted]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if parts[item] == wanted]
