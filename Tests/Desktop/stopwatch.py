"""The time that PAM stacks stay in the module, and the limits for it."""

import re
from collections import defaultdict

from support.account import TOOLS
from support.pace import seconds

# The limits of pam/README.md: for authenticate and open_session of one login together, and for a close_session.
LOGIN, LOGOUT = 3.0, 1.0
# Each measured time includes the start and end of two programs that read the clock, on a machine that may be busy.
MARGIN = 1.0
LINES = "/run/stopwatch"


class Stopwatch:
    """Reads the clock before and after each line of the module, in the stacks that all services share."""

    def __init__(self, machine):
        self.lines = machine.path(LINES)
        self.lines.write_text("")
        self.lines.chmod(0o666)
        self.stacks = {}
        for name in ("common-auth", "common-session"):
            path = machine.path(f"/etc/pam.d/{name}")
            self.stacks[path] = path.read_text()
            stamp = rf"\1 optional pam_exec.so quiet {TOOLS}/stamp"
            watched, count = re.subn(
                r"^(\w+)\s+optional\s+pam_latchkey\.so.*$", rf"{stamp} begin\n\g<0>\n{stamp} end", self.stacks[path],
                flags=re.M)  # fmt: skip
            assert count == 1, f"not the one line of the module in {name}"
            path.write_text(watched)

    def close(self):
        """Restores the stacks."""
        for path, text in self.stacks.items():
            path.write_text(text)

    def spans(self):
        """The measured times: for each process that called PAM and its service, the kinds of calls with their seconds."""
        begun, spans = {}, defaultdict(list)
        for line in self.lines.read_text().splitlines():
            process, service, kind, edge, now = line.split()
            if edge == "begin":
                begun[process, kind] = float(now)
            else:
                spans[process, service].append((kind, float(now) - begun.pop((process, kind))))
        assert not begun, f"a call of PAM is not over yet, or never ended: {begun}"
        return spans

    def services(self):
        """The services in which the module was called."""
        return {service for _, service in self.spans()}

    def assert_in_time(self):
        """Checks that all logins and logouts since the start kept the limits, and that there was at least one."""
        spans = self.spans()
        assert spans, "nobody logged in"
        for who, calls in spans.items():
            login = sum(span for kind, span in calls if kind != "close_session")
            assert login < LOGIN + seconds(MARGIN), (who, calls)
            for kind, span in calls:
                assert kind != "close_session" or span < LOGOUT + seconds(MARGIN), (who, calls)
