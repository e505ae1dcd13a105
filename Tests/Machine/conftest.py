"""The machine that the tests of a file share, and what its console said where one fails."""

import contextlib
import os

import pytest
from qemu import Machine, Unavailable
from support.evidence import add_evidence


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
        add_evidence(report, "console", lambda: item.funcargs["machine"].said()[-20000:])
