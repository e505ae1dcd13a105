"""Xfce and MATE: lightdm's PAM service opens the session, and Xsession starts it, as with lightdm itself."""

from support import sleeping
from xdesktop import PACKAGES as SERVER
from xdesktop import XDesktop

# The package lightdm brings its PAM service. The desktops also need some recommended packages, which are not installed
# by default. Without polkitd, logind lets no program of the person delay sleep.
SESSION = [
    *SERVER,
    *"lightdm lightdm-gtk-greeter polkitd dbus-x11 x11-xserver-utils adwaita-icon-theme libpam-gnome-keyring gnome-keyring".split(),
]
XFCE_PACKAGES = [*SESSION, *"xfce4-session xfwm4 xfce4-panel xfdesktop4 xfce4-settings xfce4-screensaver gcr".split()]
MATE_PACKAGES = [*SESSION, *"mate-session-manager marco mate-panel mate-settings-daemon caja mate-screensaver gcr".split()]


def prepare(top):
    """Changes the files of a system before it boots. `top` is the system's root folder."""
    # lightdm's PAM service opens the session, as with lightdm itself.
    (top / "etc/pam.d/greeter").write_text((top / "etc/pam.d/lightdm").read_text())
    sleeping.prepare(top)


class XSession(XDesktop):
    """An X session, by the name of its desktop file."""

    program = ""
    # The desktop names from its desktop file, for programs that check them.
    desktops = ""
    # The locker's own command. Some of these lockers do not report the locked screen to logind.
    locker = ""

    @property
    def command(self):
        named = f"XDG_CURRENT_DESKTOP={self.desktops} XDG_SESSION_DESKTOP={self.name} DESKTOP_SESSION={self.name}"
        return f"DISPLAY=:7 {named} /etc/X11/Xsession {self.program}"

    @property
    def own_lock(self):
        return (self.locker, "--lock")

    def is_locked(self):
        return "is active" in self.run(self.locker, "--query", check=False).stdout


class Xfce(XSession):
    """Xfce with xfce4-screensaver."""

    name, desktops, packages = "xfce", "XFCE", XFCE_PACKAGES
    program, sign = "startxfce4", "xfce4-panel"
    locker = "xfce4-screensaver-command"


class MATE(XSession):
    """MATE with mate-screensaver."""

    name, desktops, packages = "mate", "MATE", MATE_PACKAGES
    program, sign = "mate-session", "mate-panel"
    locker = "mate-screensaver-command"
    # A power manager would lock the screen for sleep, but is not installed here.
    locks_for_sleep = False
