"""The packages that the Makefile installs on the machine, with all their dependencies, change no desktop and no login."""

import pathlib
import re
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# By a file in these folders, a package starts by itself, answers for another program, or takes part in a login.
PLACES = ("/etc/xdg/autostart/", "/usr/share/dbus-1/services/", "/usr/share/pam-configs/", "/etc/pam.d/", "/usr/share/xsessions/",
          "/usr/share/wayland-sessions/", "/usr/share/xdg-desktop-portal/portals/", "/usr/lib/systemd/user/")  # fmt: skip
FOLDER = pathlib.Path("/var/lib/dpkg/info")


def listed(name):
    command = ["make", "-s", "--no-print-directory", "-C", REPOSITORY, "--eval", f"listed: ; @echo $({name})", "listed"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def installed():
    """Each installed package: its names, whether every Debian has the package, and the alternatives for each dependency."""
    form = "${Package}\t${Priority}\t${Essential}\t${Pre-Depends}, ${Depends}\t${Provides}\n"
    found = {}
    for line in subprocess.run(["dpkg-query", "-W", "-f", form], capture_output=True, text=True, check=True).stdout.splitlines():
        name, priority, essential, depends, provides = line.split("\t")
        names = lambda text: [re.split(r"[ :(]", part.strip())[0] for part in text.split("|")]
        facts = priority == "required" or essential == "yes", [names(part) for part in depends.split(",") if part.strip()]
        found[name] = facts
        for provided in filter(None, names(provides.replace(",", "|"))):
            found.setdefault(provided, (False, [[name]]))
    return found


def needed(packages, known):
    """The given packages and all their dependencies."""
    found, left = set(), list(packages)
    while left:
        name = left.pop()
        if name in found or name not in known:
            continue
        is_everywhere, depends = known[name]
        if not is_everywhere:
            found.add(name)
            left += [next((choice for choice in choices if choice in known), choices[0]) for choices in depends]
    return found


@pytest.mark.parametrize("name", ["RUN_PACKAGES", "CHECK_PACKAGES", "HOST_PACKAGES"])
def test_no_package_changes_a_desktop(name):
    packages, known = listed(name), installed()
    missing = [package for package in packages if package not in known]
    if missing:
        pytest.skip(f"not installed here, so their files are not known: {' '.join(missing)}")
    everything = needed(packages, known)
    assert len(everything) > len(packages)
    files = [
        f"{list.name}: {line}" for list in sorted(FOLDER.glob("*.list")) if list.stem.partition(":")[0] in everything
        for line in list.read_text().splitlines() if line.startswith(PLACES)
    ]  # fmt: skip
    assert not files
