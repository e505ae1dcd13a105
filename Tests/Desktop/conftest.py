"""The booted system that the tests here share, and the part of its journal that a failure shows."""

import pwd
from pathlib import Path

import pytest
from stopwatch import Stopwatch
from support.account import Account
from support.debianroot import root_of
from support.evidence import add_evidence
from support.machine import REPOSITORY, Machine, make, or_skip


def vaults_outside():
    """Every file of a real vault on this machine, with its size and time of last change."""
    homes = {Path(entry.pw_dir) / ".local/share/latchkey" for entry in pwd.getpwall()}
    files = [file for home in homes if home.is_dir() for file in [home, *home.rglob("*")]]
    return {file: (file.stat().st_size, file.stat().st_mtime_ns) for file in files}


@pytest.fixture(scope="session")
def provisioned():
    """A system with the project installed, but not running. The systems that boot are copies of it."""

    def prepare():
        machine = Machine()
        machine.provision()
        return machine

    machine = or_skip(prepare)
    before = vaults_outside()
    yield machine
    machine.close()
    assert vaults_outside() == before, "the tests reached a real vault"


@pytest.fixture(scope="session")
def machine(provisioned):
    """The running system."""
    machine = or_skip(Machine(below=provisioned).boot)
    yield machine
    machine.close()


@pytest.fixture(scope="session")
def other_machine(provisioned):
    """Another running system, with a machine identity and a device key of its own."""
    machine = or_skip(Machine(below=provisioned).boot)
    yield machine
    machine.close()


@pytest.fixture(scope="session")
def debian13():
    """A running Debian 13 with the project installed, on the root of the package tests."""

    def prepare():
        installed = Machine(root=root_of("trixie", ["gcr"], REPOSITORY / ".build/roots"))
        installed.change("useradd", "--create-home", "--shell", "/bin/bash", "--uid", "2001", "alice")
        make("install", installed.top)
        installed.change("pam-auth-update", "--package", "--enable", "latchkey")
        return installed, Machine(below=installed).boot()

    installed, machine = or_skip(prepare)
    yield machine
    machine.close()
    installed.close()


@pytest.fixture
def alice(machine):
    """A new user."""
    return Account(machine, "alice", 2001, "sesame-1")


@pytest.fixture
def bob(machine):
    """Another new user."""
    return Account(machine, "bob", 2002, "sesame-2")


@pytest.fixture
def stopwatch(machine):
    """Reads the clock before and after each call of the module. At the end, checks that all calls kept their limits."""
    stopwatch = Stopwatch(machine)
    try:
        yield stopwatch
        stopwatch.assert_in_time()
    finally:
        stopwatch.close()


@pytest.fixture(autouse=True)
def journal_mark(request):
    """The end of the journal at the beginning of the test."""
    names = [name for name in request.fixturenames if name in ("machine", "other_machine", "keyring_machine")]
    request.node.journals = [(machine, machine.cursor()) for machine in map(request.getfixturevalue, names)]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Adds the machine's journal to a failure."""
    report = (yield).get_result()
    if report.when == "call" and report.failed:
        for machine, cursor in getattr(item, "journals", []):
            add_evidence(report, f"journal of {machine.name}", lambda: machine.journal(cursor))
