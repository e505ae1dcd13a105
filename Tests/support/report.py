"""The final report of a run: a line for each part, then each failed test with its reason."""


class Report:
    """Collects the ended parts and other remarks. The last lines name all failures."""

    def __init__(self, show=print):
        self.show = show
        self.parts, self.second_tries, self.failures, self.remarks = [], [], [], []

    def ended(self, run):
        """Reports an ended part. The part's numbers appear now, and its failures at the end."""
        counts = f"{run.passed} passed, {run.failed} failed" + (f", {run.skipped} skipped" if run.skipped else "")
        self.show(f"{run.part.name:12} {counts}, {minutes(run.seconds)}, processor {minutes(run.processor)}")
        for failure in run.failures:
            self.show(f"    failed: {failure}")
        self.parts.append(run)
        self.failures += run.failures

    def passed_on_second_try(self, failure):
        """Removes the failure, but the report still names it."""
        self.second_tries.append(failure.name)
        self.failures.remove(failure)

    def remark(self, line):
        """Adds a line for the end."""
        self.remarks.append(line)

    @property
    def is_green(self):
        return not self.failures and bool(self.parts)

    def close(self):
        """Prints the last lines. Returns the exit status."""
        self.show("")
        for reason, number in sorted(self._reasons_to_skip().items()):
            self.show(f"left out, {number} times: {reason}")
        for line in self.remarks:
            self.show(line)
        for name in self.second_tries:
            self.show(f"passed on the second try: {name}")
        for failure in self.failures:
            self.show(f"failed: {failure}")
        passed = sum(run.passed for run in self.parts) + len(self.second_tries)
        failed = sum(run.failed for run in self.parts) - len(self.second_tries)
        skipped = sum(run.skipped for run in self.parts)
        self.show(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
        return 0 if self.is_green else 1

    def _reasons_to_skip(self):
        reasons = {}
        for run in self.parts:
            for reason, number in run.reasons_to_skip.items():
                reasons[reason] = reasons.get(reason, 0) + number
        return reasons


def minutes(seconds):
    """A duration in readable form."""
    return f"{seconds / 60:.0f} min {seconds % 60:.0f} s" if seconds >= 60 else f"{seconds:.0f} s"
