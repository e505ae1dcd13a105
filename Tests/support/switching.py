"""`latchkey switch` in a booted system: the owner of the name, and the person's files."""

import contextlib
import json

from support.machine import eventually

QUEUE = (
    "busctl --user call org.freedesktop.DBus / org.freedesktop.DBus ListQueuedOwners s org.freedesktop.secrets 2>/dev/null"
    r""" | grep -o '":[^"]*"' | tr -d '"' | while read name; do"""
    " busctl --user status $name | sed -n 's/^Comm=//p'; done"
)
# Files that `--back` adds, so that Latchkey leaves the name to the other provider.
ASIDE = {
    "/.config/systemd/user/latchkeyd.socket", "/.config/systemd/user/latchkeyd.service", "/.local/state/latchkey/switch.json",
    "/.local/share/dbus-1/services/org.freedesktop.secrets.service"}  # fmt: skip
# The data of the programs, which no switch touches.
DATA = ("/.local/share/latchkey", "/.local/share/keyrings", "/.local/share/kwalletd", "/.config/dconf")


def queue(session):
    """The programs that own the name or wait for it."""
    return session.run(QUEUE, check=False).stdout.split()


def await_owner(session, owner):
    """Waits until this program is the only one in the queue. `None` waits for an empty queue."""
    eventually(lambda: queue(session) == ([owner] if owner else []), 20, f"{owner} alone, not {queue(session)}")


def files(account):
    """The person's settings: the mode and content of each file, or the target of a link."""
    found = {}
    for top in (".config", ".local"):
        for path in sorted(account.machine.path(f"{account.home}/{top}").rglob("*")):
            name = str(path).partition(account.home)[2]
            if name.startswith(DATA):
                continue
            if path.is_symlink():
                found[name] = str(path.readlink())
            elif path.is_file():
                found[name] = (path.stat().st_mode, path.read_bytes())
    return found


def switch(session, account, *options, status=0):
    """Runs the command, and returns its report."""
    done = session.run(f"latchkey switch {' '.join(options)} --json >/tmp/switch.json", timeout=90, check=False)
    report = json.loads(account.machine.path("/tmp/switch.json").read_text())
    assert done.returncode == status, report
    return report


@contextlib.contextmanager
def away(machine, *patterns):
    """Removes some files of a system for a while, as if no package had installed these files."""
    top = machine.path("/")
    moved = [path for pattern in patterns for path in top.glob(pattern.lstrip("/"))]
    assert moved, patterns
    try:
        for path in moved:
            path.rename(f"{path}.away")
        yield
    finally:
        for path in moved:
            path.with_name(f"{path.name}.away").rename(path)
