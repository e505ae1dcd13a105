"""The files of packages that change a desktop or a login."""

import hashlib
import os
from pathlib import Path

# Settings, services of the buses, PAM's profiles, and dpkg's list of installed packages.
PLACES = (
    "etc", "usr/share/dbus-1", "usr/share/pam-configs", "usr/lib/systemd", "usr/share/xdg-desktop-portal", "var/lib/dpkg/status",
)  # fmt: skip


def footprint(root="/"):
    """Each file in PLACES, with a hash of its content or the target of a link."""
    found = {}
    for place in PLACES:
        top = Path(root, place)
        files = [Path(folder, name) for folder, _, names in os.walk(top) for name in names] if top.is_dir() else [top]
        for file in files:
            if file.is_symlink():
                found[str(file)] = os.readlink(file)
            elif file.is_file():
                found[str(file)] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found
