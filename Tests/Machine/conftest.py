"""The machine that the tests of a file share, and its console output for the report of a failure."""

import contextlib
import os
import secrets

import pytest
from qemu import Machine, Unavailable
from support.evidence import add_evidence


@contextlib.contextmanager
def running(**options):
    """A running machine, with options of `Machine`. If no machine can be made, the tests are skipped. In CI the tests
    fail, because they must run in CI."""
    try:
        machine = Machine(**options).boot()
    except Unavailable as why:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no machine could be booted: {why}")
        pytest.skip(f"no machine could be booted: {why}")
    with machine:
        yield machine


@pytest.fixture(scope="module")
def password():
    """A word that is nowhere in a machine's memory before somebody types it."""
    return "Password-" + secrets.token_hex(12)


@pytest.fixture(scope="module")
def machine():
    with running() as machine:
        yield machine


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Adds the machine's console output to the report of a failure."""
    report = (yield).get_result()
    if report.failed and "machine" in item.funcargs:
        add_evidence(report, "console", lambda: item.funcargs["machine"].said()[-20000:])
