"""A sandboxed application in a booted system, which asks the real Secret portal for its secret."""

import shutil
from pathlib import Path

from support.account import TOOLS

FOLDER = f"{TOOLS}/portal"
FRONTEND = "systemd-run --user -q --collect --unit=frontend -E XDG_CURRENT_DESKTOP={} /usr/libexec/xdg-desktop-portal --replace"
HAS_FRONTEND = "busctl --user status org.freedesktop.portal.Desktop >/dev/null 2>&1"
APPLICATION = "[Application]\nname=org.example.One\n\n[Instance]\ninstance-id=1\n"


def sandboxed(account, information, *command, before=(), options=()):
    """Runs a command as a Flatpak application of the user. The file `information`, a path in the machine, describes the
    application."""
    runtime = f"/run/user/{account.uid}"
    box = ["bwrap", *options, "--unshare-pid", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"]
    for folder in ("bin", "lib", "lib64"):
        box += ["--symlink", f"usr/{folder}", f"/{folder}"]
    box += ["--bind", "/run", "/run", "--ro-bind", information, "/.flatpak-info", "--"]
    # Root needs no user namespace for the sandbox.
    user = ["setpriv", f"--reuid={account.uid}", f"--regid={account.uid}", "--clear-groups", "--"]
    surroundings = [f"XDG_RUNTIME_DIR={runtime}", f"DBUS_SESSION_BUS_ADDRESS=unix:path={runtime}/bus"]
    return account.machine.root("env", *surroundings, *before, *box, *user, *command, timeout=120)


def portal_secret(session, account, desktop):
    """The secret that the portal of a desktop gives the application, in hexadecimal."""
    machine = account.machine
    inside = machine.path(FOLDER)
    for name in ("portalclient.py", "support/pace.py"):
        (inside / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(__file__).parent / Path(name).name, inside / name)
    (inside / "application").write_text(APPLICATION)
    session.run(FRONTEND.format(desktop))
    session.run(f"until {HAS_FRONTEND}; do sleep 0.1; done")
    # The folder in which Flatpak lists the processes of this sandbox.
    instance = f"/run/user/{account.uid}/.flatpak/1"
    account.run("mkdir", "-p", instance)
    noted = ["sh", "-c", f'exec "$@" 3>{instance}/bwrapinfo.json', "sh"]
    client = ["env", f"PYTHONPATH={FOLDER}", "/usr/bin/python3", f"{FOLDER}/portalclient.py"]
    done = sandboxed(account, f"{FOLDER}/application", *client, before=noted, options=("--info-fd", "3"))
    session.run("systemctl --user stop frontend")
    response, _, secret = done.stdout.splitlines()[-1].partition(" ")
    assert response == "0" and secret, done.stdout
    return secret
