"""What is expected of other people's test suites."""

import dataclasses
import os

import pytest

# All suites, and the control, as `make test-all PARTS=all-suites` runs them.
ALL = os.environ.get("LATCHKEY_SUITES") == "all"

needs_all = pytest.mark.skipif(not ALL, reason="runs in `make test-all PARTS=all-suites`")


@dataclasses.dataclass(frozen=True)
class Suite:
    """What is expected of a suite against latchkeyd."""

    name: str
    version: str
    # How many tests it has: a test that no longer runs is an error too.
    count: int
    # The tests that fail, by name, and why.
    failing: dict[str, str] = dataclasses.field(default_factory=dict)
    # The tests that the suite itself skips, and why.
    skipped: dict[str, str] = dataclasses.field(default_factory=dict)
