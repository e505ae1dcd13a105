"""`latchkey switch` in a booted system: who has the name, and what became of the person's files."""

import contextlib
import json

from support.machine import eventually

QUEUE = (
    "busctl --user call org.freedesktop.DBus / org.freedesktop.DBus ListQueuedOwners s org.freedesktop.secrets 2>/dev/null"
    r""" | grep -o '":[^"]*"' | tr -d '"' | while read name; do"""
    " busctl --user status $name | sed -n 's/^Comm=//p'; done"
)
# The files that `--back` adds, so that Latchkey steps aside.
ASIDE = {
    "/.config/systemd/user/latchkeyd.socket", "/.config/systemd/user/latchkeyd.service", "/.local/state/latchkey/switch.json",
    "/.local/share/dbus-1/services/org.freedesktop.secrets.service"}  # fmt: skip
# The programs' own data, which no switch touches.
DATA = ("/.local/share/latchkey", "/.local/share/keyrings", "/.local/share/kwalletd", "/.config/dconf")


def queue(session):
    """The programs that own the name or wait for it."""
    return session.run(QUEUE, check=False).stdout.split()


def await_owner(session, owner):
    """Waits until a program is the only one; None: no program at all."""
    eventually(lambda: queue(session) == ([owner] if owner else []), 20, f"{owner} alone, not {queue(session)}")


def files(account):
    """The person's settings: for each file its mode and content, or where it leads."""
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
    """Runs the switch, and returns its report."""
    done = session.run(f"latchkey switch {' '.join(options)} --json >/tmp/switch.json", timeout=90, check=False)
    report = json.loads(account.machine.path("/tmp/switch.json").read_text())
    assert done.returncode == status, report
    return report


@contextlib.contextmanager
def away(machine, *patterns):
    """A system without some of its files, as if no package had brought them."""
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
