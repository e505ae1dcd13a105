"""The machine that the tests of a file share, and what its console said where one fails."""

import contextlib
import os

import pytest
from qemu import Machine, Unavailable


def pytest_configure(config):
    config.addinivalue_line("markers", "thorough: takes its time; `make test` leaves it out, `make machine` does not")


@contextlib.contextmanager
def running():
    """A running machine. Where none can be had the tests are skipped, but not in CI, where they must run."""
    try:
        machine = Machine().boot()
    except Unavailable as why:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no machine could be booted: {why}")
        pytest.skip(f"no machine could be booted: {why}")
    with machine:
        yield machine


@pytest.fixture(scope="module")
def machine():
    with running() as machine:
        yield machine


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Puts the machine's console beside a failure."""
    report = (yield).get_result()
    if report.failed and "machine" in item.funcargs:
        report.sections.append(("console", item.funcargs["machine"].said()[-20000:]))
