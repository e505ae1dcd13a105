"""GNOME Shell: gdm logs in, and the shell locks the screen and shows the prompts. The machine has no screen. So mutter
draws in software and makes a monitor for a remote desktop, which also takes the person's keys.
"""

import subprocess
import time

from desktop import Desktop
from support.account import TOOLS
from support.machine import CLEAN, eventually
from support.pace import seconds

PACKAGES = (
    "python3 python3-gi libgl1-mesa-dri libegl-mesa0 fonts-dejavu-core adwaita-icon-theme "
    "gnome-shell gdm3 gnome-session gnome-settings-daemon gnome-keyring libpam-gnome-keyring xdg-desktop-portal-gnome "
    "pipewire wireplumber gstreamer1.0-pipewire gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-tools "
    "fprintd libpam-fprintd"
).split()
FACTORY = ("org.gnome.DisplayManager", "/org/gnome/DisplayManager/RemoteDisplayFactory", "org.gnome.DisplayManager.RemoteDisplayFactory")
# These lines come first, so that pam_systemd and the vault see the same host.
LOCAL = {"@include common-auth": "auth required pam_norhost.so", "@include common-session": "session required pam_norhost.so"}


def prepare(top, shared):
    """Changes the files of a system before it boots. `top` is the system's root folder."""
    (top / "etc/gdm3/daemon.conf").write_text("[daemon]\nWaylandEnable=true\n")
    # gdm shows a greeter on the seat, which has no screen. When the greeter fails and there is no X session, gdm
    # aborts.
    sessions = top / "usr/share/xsessions"
    sessions.mkdir(exist_ok=True)
    gnome = (top / "usr/share/wayland-sessions/gnome.desktop").read_text()
    (sessions / "gnome-xorg.desktop").write_text(gnome)
    # A shell whose session has a seat looks for a graphics card there.
    shell = top / "etc/systemd/user/org.gnome.Shell@wayland.service.d/test.conf"
    shell.parent.mkdir()
    shell.write_text("[Service]\nExecStart=\nExecStart=/usr/bin/gnome-shell --headless\n")
    # A finger is asked for at this machine's reader.
    finger = top / "etc/pam.d/gdm-fingerprint"
    finger.write_text("auth required pam_norhost.so\n" + finger.read_text())
    # Each greeter that fails starts a user manager, and systemd refuses too many. The session would then have no sound server,
    # without which mutter makes no pictures.
    manager = top / "etc/systemd/system/user@.service.d/test.conf"
    manager.parent.mkdir()
    manager.write_text("[Unit]\nStartLimitIntervalSec=0\n")
    # An idle screen would lock by itself.
    settings = top / "usr/share/glib-2.0/schemas/99_test.gschema.override"
    settings.write_text("[org.gnome.desktop.session]\nidle-delay=0\n")
    subprocess.run(["glib-compile-schemas", settings.parent], check=True)
    modules = next((top / "usr/lib").glob("*-linux-*/security"))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", modules / "pam_norhost.so", shared], check=True)


def shells(machine, user):
    """The processes of the user's gnome-shell."""
    return machine.root("pgrep", "-u", user, "-x", "gnome-shell", check=False).stdout.split()


class Shell:
    """The keyboard and the screen of a user's gnome-shell."""

    def __init__(self, machine, user):
        self.machine, self.user = machine, user
        # A shell that is still starting does not have these interfaces yet.
        eventually(self._attach, 60, f"the control of {user}'s gnome-shell")

    def _attach(self):
        # The greeter has its own bus.
        pid = max(map(int, shells(self.machine, self.user)))
        environment = self.machine.path(f"/proc/{pid}/environ").read_text().split("\0")
        needed = [f"--setenv={e}" for e in environment if e.startswith(("DBUS_SESSION_BUS_ADDRESS=", "XDG_RUNTIME_DIR="))]
        unit = self.machine._unit("--pipe", f"--uid={self.user}", *needed, "--", f"{TOOLS}/mutter-control")
        self.process = subprocess.Popen(unit, env=CLEAN, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self.process.stdout.readline().strip() == "ready"

    def _expect(self, wanted):
        answer = self.process.stdout.readline().strip()
        assert answer == wanted, f"mutter-control answered {answer!r}"

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self._expect("done")

    def picture(self, path):
        inside = f"/tmp/picture-of-{self.user}.png"
        self.say(f"picture {inside}")
        path.write_bytes(self.machine.path(inside).read_bytes())

    def close(self):
        self.process.stdin.close()
        self.process.wait(seconds(20))


class GNOME(Desktop):
    """A session that gdm opened after a password was typed into its greeter."""

    name = "gnome"
    own_lock = (
        "busctl", "--user", "call", "org.gnome.ScreenSaver", "/org/gnome/ScreenSaver", "org.gnome.ScreenSaver", "Lock"
    )  # fmt: skip

    def __init__(self, account, remote=False):
        super().__init__(account)
        self._choose_place(remote)
        self._await_display_manager()
        self._log_in()
        self.shell = Shell(self.machine, account.name)

    def _choose_place(self, remote):
        """Makes the next session a remote one, as gdm does by default, or one at this machine."""
        file = self.machine.path("/etc/pam.d/gdm-password")
        lines = [line for line in file.read_text().splitlines() if "pam_norhost" not in line]
        if not remote:
            lines = [part for line in lines for part in ([LOCAL[line]] if line in LOCAL else []) + [line]]
            assert len([line for line in lines if "pam_norhost" in line]) == len(LOCAL), lines
        file.write_text("\n".join(lines) + "\n")

    def _await_display_manager(self):
        """Starts gdm, and waits until it has given up the seat's screen."""
        if self.machine.root("systemctl", "is-active", "gdm", check=False).returncode == 0:
            return
        cursor = self.machine.cursor()
        self.machine.root("systemctl", "start", "gdm")
        given_up = lambda: "maximum number of" in self.machine.journal(cursor)
        eventually(given_up, 60, "the end of gdm's tries to start a greeter on the seat")
        # A session fails if it begins while the user manager of the previous session is still stopping.
        nothing_runs = lambda: self.machine.root("pgrep", "-u", "Debian-gdm", check=False).returncode != 0
        eventually(nothing_runs, 30, "the end of those greeters")

    def _log_in(self):
        known = set(shells(self.machine, "Debian-gdm"))
        for tries_left in (2, 1, 0):
            self.machine.root("busctl", "call", *FACTORY, "CreateRemoteDisplay", "o", f"/test/{time.monotonic_ns()}")
            try:
                eventually(lambda: set(shells(self.machine, "Debian-gdm")) - known, 20, "gdm's greeter")
                break
            except AssertionError:
                # gdm has given up the display. Only gdm's log shows that.
                if tries_left == 0:
                    raise
        runs = lambda user: self.machine.root("pgrep", "-u", user, "-x", "gsd-housekeepin", check=False).returncode == 0
        eventually(lambda: runs("Debian-gdm"), 60, "the end of the greeter's start")
        time.sleep(seconds(1))
        greeter = Shell(self.machine, "Debian-gdm")
        has_come = lambda: shells(self.machine, self.account.name)
        for tries_left in (2, 1, 0):
            time.sleep(seconds(1))
            # These keys go back to the list of people, in which the first person is selected.
            greeter.say("press Escape")
            time.sleep(seconds(1))
            greeter.say("press Return")
            time.sleep(seconds(1))
            greeter.say(f"type {self.account.password}")
            greeter.say("press Return")
            try:
                eventually(has_come, 15, "the session")
                break
            except AssertionError:
                # A greeter that is still drawing drops keys.
                if tries_left == 0:
                    raise
        eventually(lambda: runs(self.account.name), 60, "the end of the session's start")
        time.sleep(seconds(1))
        greeter.close()

    def type(self, text):
        self.shell.say(f"type {text}")

    def press(self, *keys):
        self.shell.say(f"press {' '.join(keys)}")

    def camera(self, path):
        # mutter makes a picture five times a second.
        time.sleep(0.5)
        self.shell.picture(path)

    def find_in_menu(self, name):
        shell = ("org.gnome.Shell", "/org/gnome/Shell", "org.gnome.Shell")
        self.run("busctl", "--user", "set-property", *shell, "OverviewActive", "b", "true")
        time.sleep(seconds(2))
        self.type(name)
        time.sleep(seconds(2))
        self.press("Return")

    def wake(self):
        # The first key lights the screen, or removes the clock. Escape would bring the clock back, and a letter would
        # not.
        self.press("BackSpace")
        time.sleep(seconds(1))

    def close(self):
        self.shell.close()
        self.machine.root("loginctl", "terminate-user", self.account.name)
        self.account.await_end()
