"""A part of the test run as a process, and its result."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from support.pace import MARGIN, Limit
from support.parts import PYTEST

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / ".build/test"
TESTROOT = REPOSITORY / "Tests/Session/testroot"
# A part that takes this many times its usual time hangs. On a slow machine the factor is larger.
HANGING = 10


class Failure:
    """A failed test, or a part that ended without a result, with the reason."""

    def __init__(self, part, name, reason, second_try=False):
        self.part, self.name, self.reason, self.second_try = part, name, reason, second_try

    def __str__(self):
        return f"{self.name}: {self.reason}"


class PartRun:
    """A part's process. The process's output goes to a file, and `finish` reads the result only from files."""

    def __init__(self, part, select, only=(), suffix=""):
        self.part, self.only = part, only
        FOLDER.mkdir(parents=True, exist_ok=True)
        self.log = FOLDER / f"{part.name}{suffix}.log"
        self.record = FOLDER / f"{part.name}{suffix}.jsonl"
        self.record.unlink(missing_ok=True)
        self.select = select
        self.passed = self.failed = self.skipped = 0
        self.failures, self.reasons_to_skip = [], {}
        self.process = None
        self.seconds = self.processor = 0.0
        self.is_too_late = False

    # MARK: the running part

    @property
    def is_pytest(self):
        return not self.part.command

    @property
    def is_swift(self):
        return self.part.command[:2] == ("swift", "test")

    def start(self):
        """Starts the part in its own process group."""
        self.begun = time.monotonic()
        self.limit = Limit(self.part.minutes * 60 * HANGING / (MARGIN + 1))
        environment = os.environ | dict(self.part.environment)
        self.process = subprocess.Popen(
            self.command_line(), cwd=REPOSITORY, env=environment, stdin=subprocess.DEVNULL,
            stdout=self.log.open("w"), stderr=subprocess.STDOUT, start_new_session=True)

    def command_line(self):
        """The program and its arguments. If the part runs in the tests' root, the command includes that root."""
        if self.is_pytest:
            tests = self.only or [f"Tests/{name}" for name in self.part.tests]
            workers = min(self.part.workers, max(len(self.only), 1)) if self.only else self.part.workers
            # pytest reads Tests/conftest.py after the command line. Until then pytest does not know our options, and
            # would take a separate value for a path.
            command = [*PYTEST, f"--record={self.record}", *([f"--part={self.select}"] if self.select else []), *self.part.options]
            command += ["-n", workers] if workers > 1 else []
            command += tests
        else:
            command = list(self.part.command)
            if self.is_swift:
                command += ["--event-stream-output-path", self.record, "--event-stream-version", "0"]
        if self.part.in_root and os.geteuid() == 0:
            packages = ["--with", self.part.packages] if self.part.packages else []
            command = [TESTROOT, *packages, "--", *command]
        return [str(word) for word in command]

    def poll(self):
        """Whether the part has ended. Ends a part that hangs."""
        # The process is collected only later, because the kernel then forgets the processor time of its children.
        if os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if not self.limit.is_over:
                return False
            self.is_too_late = True
            self.end()
        else:
            self.processor = self._processor_seconds()
        self.process.wait()
        # Remaining processes of the part would disturb the other parts.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.seconds = time.monotonic() - self.begun
        return True

    def _processor_seconds(self):
        """The processor time of the process and of all its collected children. The process must have ended, and must
        not be collected yet."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")

    def end(self):
        """Ends the part with its process group. The first signal lets pytest clean up."""
        for number, patience in ((signal.SIGINT, 60), (signal.SIGKILL, 60)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(patience)
                return

    @property
    def shown(self):
        """The end of the output, with the failures. The file has the whole output."""
        output = self.log.read_text(errors="replace")
        if not self.is_pytest:
            # Swift Testing prints two lines for each test that passed.
            output = "\n".join(line for line in output.splitlines() if not line.startswith(("◇", "✔", "➜", "[")))
        return output[-30000:]

    # MARK: the result

    def finish(self):
        """Reads the record. Anything that the record does not explain is a failure of the part itself."""
        output = self.log.read_text(errors="replace")
        unfinished = self._unfinished(output)
        status = self.process.returncode
        ended = f"ended with signal {-status}" if status < 0 else f"ended with status {status}"
        if self.is_too_late:
            ended = f"was ended after {self.seconds / 60:.0f} minutes"
        # pytest's statuses: 0 means that all tests passed, 1 that some failed, and 5 that none was selected.
        explained = status == 0 or (status == 1 and self.failures) or (status == 5 and self.is_pytest)
        if not explained or self.is_too_late or unfinished:
            under_way = f"; under way: {', '.join(sorted(unfinished)[:5])}" if unfinished else ""
            last = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "it printed nothing")
            done = self.passed + self.failed + self.skipped
            self.failures.append(
                Failure(self.part, f"part {self.part.name}", f"{ended} after {done} tests{under_way}; last line: {last[:200]}"))
            self.failed += 1
        return self

    def _unfinished(self, output):
        """Counts outcomes for any test runner. Returns the tests that began but have no outcome."""
        if self.is_pytest:
            return self._read_record()
        if self.is_swift:
            return self._read_swift(output)
        self.passed = int(self.process.returncode == 0)
        return set()

    def _read_record(self):
        """Counts outcomes. Returns the tests that began but have no outcome."""
        begun, told, failed = set(), set(), {}
        for line in self._lines():
            if "begins" in line:
                begun.add(line["begins"])
                continue
            name, outcome = line["test"], line["outcome"]
            told.add(name)
            if outcome == "failed":
                failed.setdefault(name, line)
            elif outcome == "skipped":
                self._leave_out(line["reason"])
            elif name not in failed:
                self.passed += 1
        for name, line in failed.items():
            # A test that passed but failed in its cleanup has already been counted as passed.
            self.passed -= line["when"] == "teardown"
            self.failures.append(Failure(self.part, name, line["reason"], line["second_try"]))
        self.failed = len(failed)
        return begun - told

    def _leave_out(self, reason):
        self.skipped += 1
        self.reasons_to_skip[reason] = self.reasons_to_skip.get(reason, 0) + 1

    def _lines(self):
        if not self.record.exists():
            return
        for line in self.record.read_text(errors="replace").splitlines():
            # The last line is incomplete if the process was killed.
            with contextlib.suppress(ValueError):
                yield json.loads(line)

    def _read_swift(self, output):
        """Counts outcomes from Swift Testing's own record. Swift Testing's printed output is not reliable, because the
        text of a test may precede a line."""
        names, begun, told, failed = {}, set(), set(), {}
        for line in self._lines():
            payload = line["payload"]
            if line["kind"] == "test":
                if payload["kind"] == "function":
                    names[payload["id"]] = payload["id"].rsplit("/", 1)[0]
                continue
            test, kind = payload.get("testID"), payload["kind"]
            texts = [message["text"] for message in payload["messages"]]
            if kind == "issueRecorded" and not payload["issue"]["isKnown"]:
                failed.setdefault(names.get(test, str(test)), " ".join(texts)[:300] or "no reason was given")
            if test not in names:
                continue
            if kind == "testStarted":
                begun.add(test)
            elif kind == "testSkipped":
                told.add(test)
                # The text is `Test NAME skipped: "REASON"`.
                self._leave_out("Skipped: " + (" ".join(texts).rpartition(" skipped: ")[2].strip('"') or "no reason was given"))
            elif kind == "testEnded":
                told.add(test)
                if any(message["symbol"] == "fail" for message in payload["messages"]):
                    failed.setdefault(names[test], "no reason was given")
                else:
                    self.passed += 1
        self.failures += [Failure(self.part, name, reason) for name, reason in sorted(failed.items())]
        self.failed = len(failed)
        if not begun and (error := re.search(r"error: .*", output)):
            self.failures.append(Failure(self.part, "swift test", error[0][:300]))
            self.failed += 1
        return {names[test] for test in begun - told}
