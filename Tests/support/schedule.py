"""Runs parts in parallel: chooses the next part, and decides when it is too late to begin one."""

import contextlib
import os
import subprocess
import tempfile
import time

from support.partrun import REPOSITORY, Failure, PartRun
from support.report import Report, minutes
from support.secondtries import Load, allowed, note

# Most tests wait for other processes, so more parts run than there are processors.
AT_A_TIME = 3


@contextlib.contextmanager
def installed():
    """Installs the build once for all parts, into a place that every user can read. Does nothing if there is no build.
    """
    if "LATCHKEY_STAGE" in os.environ or not (REPOSITORY / ".build/release/latchkeyd").exists():
        yield
        return
    with tempfile.TemporaryDirectory(prefix="latchkey-stage-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        command = ["make", "--silent", "install", f"DESTDIR={folder}", "PREFIX=/usr"]
        subprocess.run(command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, check=True, umask=0o022)
        os.environ["LATCHKEY_STAGE"] = folder
        try:
            yield
        finally:
            del os.environ["LATCHKEY_STAGE"]


class Schedule:
    """A run of several parts. The run goes on after failures."""

    def __init__(self, parts, select=None, deadline=None, second_tries=False, at_a_time=AT_A_TIME):
        # `select` chooses tests of a part's folders. Without `select`, a part runs the tests with its own marker, or
        # all tests.
        self.waiting = list(parts)
        self.select, self.deadline, self.second_tries, self.at_a_time = select, deadline, second_tries, at_a_time
        self.running, self.left = [], []
        self.report = Report()

    def run(self):
        """Runs all parts, reports the result of each, and returns the exit status."""
        try:
            with installed():
                while self.waiting or self.running:
                    while self.waiting and len(self.running) < self.at_a_time:
                        self._begin(self.waiting.pop(0))
                    self._collect()
                    time.sleep(0.2)
                if self.second_tries:
                    self._try_again()
        finally:
            # This also happens after Ctrl-C.
            for run in self.running:
                run.end()
        if self.left:
            self.report.remark(f"left for the night, as the time is over: {', '.join(part.name for part in self.left)}")
        return self.report.close()

    def _begin(self, part):
        if self.deadline is not None and time.monotonic() + part.minutes * 60 > self.deadline:
            self.left.append(part)
            return
        run = PartRun(part, self.select or (part.name if part.marked else None))
        for target in part.targets:
            done = subprocess.run(
                ["make", "-s", target], cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                print(done.stdout[-4000:])
                run.failures.append(Failure(part, f"part {part.name}", f"`make {target}` ended with {done.returncode}"))
                run.failed = 1
                self.report.ended(run)
                return
        print(f"{part.name:12} begins; its output is in {run.log}", flush=True)
        run.start()
        self.running.append(run)

    def _collect(self):
        for run in [run for run in self.running if run.poll()]:
            self.running.remove(run)
            run.finish()
            if run.failures:
                self._show_failures(run)
            self.report.ended(run)

    @staticmethod
    def _show_failures(run):
        print(f"\n--- {run.log}")
        print(run.shown)
        print(f"--- the end of {run.part.name}\n", flush=True)

    def _try_again(self):
        chosen, refused = allowed(self.report.failures)
        for line in refused:
            self.report.remark(line)
        for failure in chosen:
            again = PartRun(failure.part, None, only=[f"Tests/{failure.name}"], suffix="-again")
            print(f"once more, beside load: {failure.name}", flush=True)
            with Load():
                again.start()
                while not again.poll():
                    time.sleep(0.2)
            again.finish()
            if again.failures or not again.passed:
                self._show_failures(again)
            else:
                self.report.passed_on_second_try(failure)
        if self.report.second_tries:
            note(self.report.second_tries)
