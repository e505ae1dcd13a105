"""Desktops in booted systems, and the additions to the report of a failed test."""

import shutil
from pathlib import Path

import gnome
import plasma
import pytest
import xsessions
from support.account import Account
from support.debianroot import root_of
from support.evidence import add_evidence
from support.machine import INSIDE, Machine, make, or_skip

FOLDER = Path(__file__).parent
CACHE = "/var/tmp/latchkey-desktops"


def boot(name, release, packages, prepare, has_window=False):
    """A running system with a desktop's packages and the project's own files; perhaps also those of the window."""
    ground = Machine(root=root_of(release, packages, CACHE, name))
    shutil.copytree(INSIDE, ground.top / "usr/local/lib/latchkey-test", dirs_exist_ok=True)
    shutil.copytree(FOLDER / "inside", ground.top / "usr/local/lib/latchkey-test", dirs_exist_ok=True)
    prepare(ground.top)
    make("install", ground.top)
    if has_window:
        make("install-window", ground.top)
    ground.change("pam-auth-update", "--package", "--enable", "latchkey")
    if (ground.top / "usr/share/pam-configs/fprintd").exists():
        # Its package has every password wait for a finger.
        ground.change("pam-auth-update", "--disable", "fprintd")
    return ground.boot()


@pytest.fixture(scope="session")
def gnome_machine():
    """Debian 13 with GNOME 48."""
    machine = or_skip(lambda: boot("gnome", "trixie", gnome.PACKAGES, lambda top: gnome.prepare(top, FOLDER / "norhost.c"), has_window=True))
    yield machine
    machine.close()


@pytest.fixture(scope="module")
def gnome_desktop(gnome_machine):
    desktop = gnome.GNOME(Account(gnome_machine, "alice", 2001, "sesame-1"))
    yield desktop
    desktop.close()


@pytest.fixture(scope="session")
def plasma_machine():
    """Debian 13 with Plasma 6.3."""
    machine = or_skip(lambda: boot("plasma", "trixie", plasma.PACKAGES, plasma.prepare, has_window=True))
    yield machine
    machine.close()


@pytest.fixture(scope="module")
def plasma_desktop(plasma_machine):
    desktop = plasma.Plasma(Account(plasma_machine, "alice", 2001, "sesame-1"))
    yield desktop
    desktop.close()


def of_x(kind, release):
    """Makes the fixture of a desktop that draws on an X server. Only one desktop runs at a time."""

    @pytest.fixture(scope="module", name=f"{kind.name}_desktop")
    def fixture():
        machine = or_skip(lambda: boot(kind.name, release, kind.packages, xsessions.prepare))
        try:
            desktop = kind(Account(machine, "alice", 2001, "sesame-1"))
            yield desktop
            desktop.close()
        finally:
            machine.close()

    return fixture


xfce_desktop = of_x(xsessions.Xfce, "trixie")
mate_desktop = of_x(xsessions.MATE, "bookworm")


@pytest.fixture(scope="module", params=["gnome", "plasma", "xfce", "mate"])
def any_desktop(request):
    return request.getfixturevalue(f"{request.param}_desktop")


@pytest.fixture
def desktop(any_desktop):
    """A desktop with an unlocked screen and an unlocked vault."""
    if any_desktop.is_locked():
        any_desktop.unlock()
    any_desktop.await_state("unlocked")
    return any_desktop


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Adds a picture of the screen and the machine's journal to the report of a failure."""
    report = (yield).get_result()
    shown = item.funcargs.get("any_desktop")
    if report.when != "teardown" and report.failed and shown is not None:
        add_evidence(report, "the screen", lambda: shown.picture_of_failure(item.originalname))
        last_lines = ("journalctl", "-q", "--no-pager", "-n", "300")
        add_evidence(report, "journal", lambda: shown.machine.root(*last_lines).stdout)
