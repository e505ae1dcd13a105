"""Collects evidence of each failure, as the test folders do."""

import time

import pytest
from support.evidence import add_evidence


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when == "call" and report.failed:
        add_evidence(report, "a journal that does not answer", lambda: time.sleep(600), within=0.2)
        add_evidence(report, "a screen that cannot be had", lambda: pytest.fail("no screen"))
