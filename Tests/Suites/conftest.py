"""Fixtures of the suites, and the table that a run prints at its end.

LATCHKEY_SUITES=all, which `make test-all PARTS=all-suites` sets, adds the suites that need a compiler of their own
language. The variable also runs every suite against gnome-keyring.
"""

import collections
import pathlib
import tempfile

import pytest
import service as services
from suite import ALL
from support.session import stage  # noqa: F401

SERVICES = {"latchkeyd": services.Latchkeyd, "gnome-keyring": services.GnomeKeyring}


@pytest.fixture(params=SERVICES if ALL else ["latchkeyd"])
def service(request, stage):  # noqa: F811
    """A Secret Service, unlocked."""
    opened = SERVICES[request.param](stage)
    yield opened
    opened.close()


@pytest.fixture
def judge(service, record_property):
    """Compares the outcomes of a suite's tests with the expected outcomes, and adds the result to the table."""

    def compare(suite, outcomes, output=""):
        by = collections.defaultdict(set)
        for name, how in outcomes.items():
            by[how].add(name)
        counts = [len(outcomes), len(by["passed"]), len(by["failed"]), len(by["skipped"])]
        record_property("suite", [suite.name, suite.version, service.name, *counts, ", ".join(sorted(by["failed"]))])
        if service.name != "latchkeyd":
            # gnome-keyring is the control. Failures of gnome-keyring are in the table, but do not fail the test.
            return
        report = f"{output[-6000:]}\n{service.session.log()[-2000:]}"
        assert by["failed"] - set(suite.failing) == set(), f"failed unexpectedly\n{report}"
        assert set(suite.failing) - by["failed"] == set(), "passed, and was expected to fail: correct the suite's list"
        assert by["skipped"] == set(suite.skipped), report
        assert len(outcomes) == suite.count, report

    return compare


@pytest.fixture(scope="session")
def folder():
    """A folder for sources and builds that a session's user can read."""
    with tempfile.TemporaryDirectory(prefix="latchkey-suites-", dir="/tmp") as path:
        path = pathlib.Path(path)
        path.chmod(0o755)
        yield path


def pytest_terminal_summary(terminalreporter):
    """Prints the table from all workers."""
    rows = [value for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])
            for name, value in getattr(report, "user_properties", []) if name == "suite"]
    if rows:
        terminalreporter.section("suites")
        terminalreporter.line("suite | version | service | tests | passed | failed | skipped | failed tests")
        for row in sorted(rows):
            terminalreporter.line(" | ".join(map(str, row)))
