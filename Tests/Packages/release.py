"""Root file systems of the supported Debian releases, kept in .build."""

from support import debianroot
from support.machine import REPOSITORY

RELEASES = ("bookworm", "trixie")
CACHE = REPOSITORY / ".build/roots"
# Other programs that keep secrets, and packages that their tests need.
PROVIDERS = {
    "bookworm": ["gnome-keyring", "libpam-gnome-keyring", "libkf5wallet-bin", "keepassxc"],
    # gcr4 has the ssh agent that replaces gnome-keyring's.
    "trixie": ["gnome-keyring", "libpam-gnome-keyring", "gcr4", "kwallet6", "keepassxc"],
}
PORTAL = ["xdg-desktop-portal", "bubblewrap", "python3-jeepney"]


def root_of(release):
    """The folder of a release's root file system."""
    return debianroot.root_of(release, ["gcr"], CACHE)


def root_with_providers(release):
    """The folder of a root file system with all other providers of secrets."""
    return debianroot.root_of(release, ["gcr", *PROVIDERS[release], *PORTAL], CACHE, f"providers-{release}")
