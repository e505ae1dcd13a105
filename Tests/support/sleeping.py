"""The sleep of a booted system, as its real logind announces it: it waits for whoever has a delay lock. The kernel's part, to sleep,
is played by a script, because a container's processes cannot put the machine to sleep."""

import subprocess
from pathlib import Path

from support.machine import eventually

SHIM = Path(__file__).with_name("Shims") / "power.c"
# logind may write below /etc and /run only, and /run does not outlive a boot.
FOLDER = "/etc/test-sleep"

# All of the daemon's is frozen while the machine sleeps, as by the kernel.
SLEEP = f"""#!/bin/sh
kill -STOP $(cat {FOLDER}/daemon)
touch {FOLDER}/asleep
while [ -e {FOLDER}/asleep ]; do sleep 0.1; done
kill -CONT $(cat {FOLDER}/daemon)
"""
UNITS = "/etc/systemd/system"
FILES = {
    # Longer than any test waits: who holds sleep up has to let go by itself.
    "/etc/systemd/logind.conf.d/test-sleep.conf": "[Login]\nInhibitDelayMaxSec=600\n",
    f"{UNITS}/systemd-suspend.service.d/test.conf": f"[Service]\nExecStart=\nExecStart=/bin/sh {FOLDER}/sleep\n",
    f"{UNITS}/systemd-logind.service.d/test.conf": f"[Service]\nEnvironment=LD_PRELOAD={FOLDER}/power.so\n",
    f"{FOLDER}/sleep": SLEEP,
    f"{FOLDER}/state": "freeze mem\n",
}


def prepare(top):
    """Gives a system, whose root is seen at `top`, a sleep, from its next boot or from the next start of its logind on."""
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
        """Has the machine go to sleep, and returns when all has been done that comes before."""
        shown = self.account.run("systemctl", "--user", "show", "-P", "MainPID", "latchkeyd.service").stdout
        self.machine.path(f"{FOLDER}/daemon").write_text(shown)
        self.machine.root("systemctl", "suspend")
        eventually(self.asleep.exists, 60, "the machine's sleep")

    def end(self):
        """Wakes it up."""
        self.asleep.unlink()
        active = lambda: self.machine.root("systemctl", "is-active", "sleep.target", check=False).stdout.strip() == "active"
        eventually(lambda: not active(), 30, "the machine's waking up")


def await_inhibitor(machine):
    """Waits for latchkeyd's delay lock. Without one, sleep waits for nothing, and shows nothing."""
    held = lambda: "latchkeyd" in machine.root("systemd-inhibit", "--list", "--no-legend", "--no-pager").stdout
    eventually(held, what="latchkeyd's delay lock")
