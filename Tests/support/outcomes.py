"""The record of a run, for readers who did not watch the run (a pytest plugin).

With `--record FILE`, each start of a test and each outcome becomes a line of JSON in FILE at once. However the run
ends, a reader sees which tests failed and which were under way.
"""

import json


def pytest_addoption(parser):
    parser.addoption("--record", metavar="FILE", help="a file for one line of JSON for each test that begins or ends")


def pytest_configure(config):
    # The workers of xdist report to the main process, and only that process writes.
    if config.getoption("--record") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Record(config.getoption("--record")), "record")


class Record:
    """The record file of one run."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")

    def _write(self, **line):
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def pytest_runtest_logstart(self, nodeid):
        self._write(begins=nodeid)

    def pytest_runtest_logreport(self, report):
        # A passed test is reported after its call, a skipped test after its setup or its call. A failure is reported at
        # any stage.
        if report.failed or report.skipped or report.when == "call":
            self._write(
                test=report.nodeid, outcome=report.outcome, when=report.when, seconds=round(report.duration, 2),
                reason=reason_of(report), second_try="second_try" in report.keywords)

    def pytest_collectreport(self, report):
        if report.failed:
            self._write(test=report.nodeid, outcome="failed", when="collect", seconds=0, reason=reason_of(report), second_try=False)


def reason_of(report):
    """The reason why the test did not pass, in one line."""
    if report.passed:
        return ""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        text = crash.message
    elif isinstance(report.longrepr, tuple):
        text = report.longrepr[2]
    else:
        text = str(report.longrepr or "no reason was given")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # The last line of a report explains a foreign error. The first line explains an assertion.
    line = (lines[0] if crash is not None else lines[-1]) if lines else "no reason was given"
    return line[:300]
