"""The expected results of other people's test suites."""

import dataclasses
import os

import pytest

# Whether to run all suites and the control, as `make test-all PARTS=all-suites` does.
ALL = os.environ.get("LATCHKEY_SUITES") == "all"

needs_all = pytest.mark.skipif(not ALL, reason="runs in `make test-all PARTS=all-suites`")


@dataclasses.dataclass(frozen=True)
class Suite:
    """The expected results of a suite with latchkeyd."""

    name: str
    version: str
    # The number of tests. If a test no longer runs, that is an error too.
    count: int
    # The failing tests, by name, with the reason.
    failing: dict[str, str] = dataclasses.field(default_factory=dict)
    # The tests that the suite itself skips, with the reason.
    skipped: dict[str, str] = dataclasses.field(default_factory=dict)
