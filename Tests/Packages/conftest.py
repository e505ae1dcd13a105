"""Debian systems of each release, with and without the packages, and their journals for the report of a failed test."""

import pytest
from packages import Packages
from release import RELEASES, root_of
from support.account import Account
from support.evidence import add_evidence
from support.machine import Machine, or_skip


@pytest.fixture(scope="session")
def packages():
    """The packages from `make deb`."""
    return Packages.built()


@pytest.fixture(scope="session")
def newer(packages, tmp_path_factory):
    """The same packages with a higher version, and with a changed byte sequence in each program."""
    return packages.renamed("0.1.0+newer", tmp_path_factory.mktemp("newer"))


@pytest.fixture(scope="session", params=RELEASES)
def bare(request):
    """A system of a release without the packages. The system does not run."""

    def prepare():
        machine = Machine(root=root_of(request.param))
        machine.change("useradd", "--create-home", "--shell", "/bin/bash", "--uid", "2001", "alice")
        return machine

    machine = or_skip(prepare)
    yield machine
    machine.close()


@pytest.fixture(scope="session")
def installed(bare, packages):
    """A system with the packages, which were installed while the system did not run."""
    machine = Machine(below=bare)
    packages.bring_to(machine.top)
    machine.change("apt-get", "install", "-y", "--no-install-recommends", *packages.inside)
    yield machine
    machine.close()


@pytest.fixture
def bare_machine(bare):
    """A running system without the packages."""
    yield from running(bare)


@pytest.fixture
def machine(installed):
    """A running system with the packages."""
    yield from running(installed)


def running(below):
    machine = or_skip(Machine(below=below).boot)
    yield machine
    machine.close()


@pytest.fixture
def alice(request):
    """A user of the running system, with an empty home."""
    name = "bare_machine" if "bare_machine" in request.fixturenames else "machine"
    return Account(request.getfixturevalue(name), "alice", 2001, "sesame-1")


def lines(machine):
    """The last lines of the machine's journal."""
    return machine.root("journalctl", "-q", "--no-pager", "--lines=100").stdout


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Adds the machine's journal to the report of a failure."""
    report = (yield).get_result()
    if report.when == "call" and report.failed:
        for name in ("machine", "bare_machine"):
            if name in item.funcargs:
                add_evidence(report, f"journal of {name}", lambda name=name: lines(item.funcargs[name]))
