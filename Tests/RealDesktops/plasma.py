"""Plasma: kscreenlocker asks PAM, and pinentry-qt shows the prompts. KWin draws into a window of an X server."""

import time

from support.pace import seconds
from xdesktop import PACKAGES as SERVER
from xdesktop import XDesktop

PACKAGES = [
    *SERVER,
    *"plasma-workspace kwin-wayland plasma-desktop kwalletmanager libpam-kwallet5 qt6-wayland qdbus-qt6".split(),
    *"xdg-desktop-portal-kde sddm polkit-kde-agent-1 pinentry-qt fprintd libpam-fprintd".split(),
]


def prepare(top):
    """Changes the files of a system before it boots. `top` is the system's root folder."""
    # sddm's PAM service opens the session, as with sddm itself.
    (top / "etc/pam.d/greeter").write_text((top / "etc/pam.d/sddm").read_text())
    # An idle screen would lock by itself.
    (top / "etc/xdg/kscreenlockerrc").write_text("[Daemon]\nAutolock=false\n")
    drop = top / "etc/systemd/user/plasma-kwin_wayland.service.d/test.conf"
    drop.parent.mkdir(parents=True)
    command = "/usr/bin/kwin_wayland_wrapper --xwayland --x11-display :7 --width 1280 --height 800"
    drop.write_text(f"[Service]\nExecStart=\nExecStart={command}\nEnvironment=LIBGL_ALWAYS_SOFTWARE=1\n")


class Plasma(XDesktop):
    """Plasma's session for Wayland."""

    name = "plasma"
    display, seat = "wayland-0", "seat0"
    command = "XDG_CURRENT_DESKTOP=KDE XDG_SESSION_DESKTOP=KDE startplasma-wayland"
    sign = "plasmashell"
    own_lock = (
        "busctl", "--user", "call", "org.freedesktop.ScreenSaver", "/ScreenSaver", "org.freedesktop.ScreenSaver", "Lock"
    )  # fmt: skip

    def find_in_menu(self, name):
        self.press("super")
        time.sleep(seconds(2))
        self.type(name)
        time.sleep(seconds(2))
        self.press("Return")
