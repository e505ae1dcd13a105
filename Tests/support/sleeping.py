"""The sleep of a booted system. The system's real logind announces sleep, and waits for programs with a delay lock. A
script replaces the kernel, because a container's processes cannot put the machine to sleep.
"""

import subprocess
from pathlib import Path

from support.machine import eventually

SHIM = Path(__file__).with_name("Shims") / "power.c"
# logind may write only below /etc and /run, and /run does not survive a boot.
FOLDER = "/etc/test-sleep"

# During sleep the daemon is frozen, as a real kernel would freeze it.
SLEEP = f"""#!/bin/sh
kill -STOP $(cat {FOLDER}/daemon)
touch {FOLDER}/asleep
while [ -e {FOLDER}/asleep ]; do sleep 0.1; done
kill -CONT $(cat {FOLDER}/daemon)
"""
UNITS = "/etc/systemd/system"
FILES = {
    # This limit is longer than any test waits, so sleep begins only if the program itself releases its delay lock.
    "/etc/systemd/logind.conf.d/test-sleep.conf": "[Login]\nInhibitDelayMaxSec=600\n",
    f"{UNITS}/systemd-suspend.service.d/test.conf": f"[Service]\nExecStart=\nExecStart=/bin/sh {FOLDER}/sleep\n",
    f"{UNITS}/systemd-logind.service.d/test.conf": f"[Service]\nEnvironment=LD_PRELOAD={FOLDER}/power.so\n",
    f"{FOLDER}/sleep": SLEEP,
    f"{FOLDER}/state": "freeze mem\n",
}


def prepare(top):
    """Prepares a system for sleep. `top` is the system's root folder. The files take effect at the next boot or the
    next start of logind."""
    for name, text in FILES.items():
        file = top / name.lstrip("/")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    library = top / FOLDER.lstrip("/") / "power.so"
    defined = ["-D_GNU_SOURCE", f'-DSTATE="{FOLDER}/state"']
    subprocess.run(["cc", *defined, "-shared", "-fPIC", "-O1", "-o", library, SHIM, "-ldl"], check=True)


def undo(top):
    """Removes these files again."""
    for name in FILES:
        (top / name.lstrip("/")).unlink()


class Sleep:
    """The sleep of an account's machine."""

    def __init__(self, account):
        self.account, self.machine = account, account.machine
        self.asleep = self.machine.path(f"{FOLDER}/asleep")

    def begin(self):
        """Puts the machine to sleep. Returns after all preparations for sleep."""
        shown = self.account.run("systemctl", "--user", "show", "-P", "MainPID", "latchkeyd.service").stdout
        self.machine.path(f"{FOLDER}/daemon").write_text(shown)
        self.machine.root("systemctl", "suspend")
        eventually(self.asleep.exists, 60, "the machine's sleep")

    def end(self):
        """Wakes the machine up."""
        self.asleep.unlink()
        active = lambda: self.machine.root("systemctl", "is-active", "sleep.target", check=False).stdout.strip() == "active"
        eventually(lambda: not active(), 30, "the machine's waking up")


def await_inhibitor(machine):
    """Waits for latchkeyd's delay lock. Without the lock, sleep would not wait, and the test would prove nothing."""
    held = lambda: "latchkeyd" in machine.root("systemd-inhibit", "--list", "--no-legend", "--no-pager").stdout
    eventually(held, what="latchkeyd's delay lock")
