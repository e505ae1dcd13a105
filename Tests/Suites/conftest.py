"""Fixtures of the suites, and the table that is printed at the end of a run.

LATCHKEY_SUITES=all, which `make test-all PARTS=all-suites` sets, adds the suites that need a compiler of their own language, and runs
every suite against gnome-keyring as well.
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
    """Compares the outcomes of a suite's tests with those expected, and puts them into the table."""

    def compare(suite, outcomes, output=""):
        by = collections.defaultdict(set)
        for name, how in outcomes.items():
            by[how].add(name)
        counts = [len(outcomes), len(by["passed"]), len(by["failed"]), len(by["skipped"])]
        record_property("suite", [suite.name, suite.version, service.name, *counts, ", ".join(sorted(by["failed"]))])
        if service.name != "latchkeyd":
            # The control. What fails there is in the table, and nobody's error here.
            return
        report = f"{output[-6000:]}\n{service.session.log()[-2000:]}"
        assert by["failed"] - set(suite.failing) == set(), f"failed unexpectedly\n{report}"
        assert set(suite.failing) - by["failed"] == set(), "passed, and was expected to fail: correct the suite's list"
        assert by["skipped"] == set(suite.skipped), report
        assert len(outcomes) == suite.count, report

    return compare


@pytest.fixture(scope="session")
def folder():
    """A folder for sources and what is built from them. A session's user can read it."""
    with tempfile.TemporaryDirectory(prefix="latchkey-suites-", dir="/tmp") as path:
        path = pathlib.Path(path)
        path.chmod(0o755)
        yield path


def pytest_terminal_summary(terminalreporter):
    """The table, of all workers."""
    rows = [value for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])
            for name, value in getattr(report, "user_properties", []) if name == "suite"]
    if rows:
        terminalreporter.section("suites")
        terminalreporter.line("suite | version | service | tests | passed | failed | skipped | failed tests")
        for row in sorted(rows):
            terminalreporter.line(" | ".join(map(str, row)))
