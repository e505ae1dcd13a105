"""Every way into the machine works in time while latchkeyd is stopped and answers nobody."""

import os
import re
import signal

import pytest
from stopwatch import LOGIN, MARGIN
from support.machine import eventually
from support.terminal import Terminal

pytestmark = pytest.mark.second_try

LATE = r"pam_latchkey\(({0}):.*(did not answer in time|takes longer than a login waits)"


class Stopped:
    """A stopped daemon, which neither answers nor ends."""

    def __init__(self, machine, daemon):
        self.machine, self.daemon = machine, daemon
        self.cursor = machine.cursor()

    def __enter__(self):
        os.kill(self.daemon, signal.SIGSTOP)
        return self

    def __exit__(self, *_):
        os.kill(self.daemon, signal.SIGCONT)

    def was_waited_for(self, service):
        """Whether, by the log, the module waited for the daemon in this service."""
        return re.search(LATE.format(service), self.machine.journal(self.cursor)) is not None


@pytest.fixture
def session(alice):
    """A terminal session with an item and an unlocked vault."""
    with alice.login() as session:
        session.store("of default", app="default")
        yield session
        # Nothing was lost, and the state of the vault is unchanged.
        assert session.lookup(app="default") == "of default"


@pytest.fixture
def stopped(session, alice):
    """The session's daemon, stopped by a signal."""
    with Stopped(alice.machine, alice.daemon()) as stopped:
        yield stopped


@pytest.mark.parametrize("service, way", [
    ("login", lambda account: account.login()),
    ("sshd", lambda account: account.ssh()),
    ("sshd", lambda account: account.ssh(method="keyboard-interactive")),
    ("sshd", lambda account: account.ssh_with_key()),
    ("greeter", lambda account: account.graphical_login()),
], ids=["login", "ssh", "ssh-keyboard-interactive", "ssh-key", "graphical"])  # fmt: skip
def test_logging_in(alice, stopped, stopwatch, service, way):
    with way(alice) as other:
        assert other.run("echo here").stdout == "here\n"
    assert stopped.was_waited_for(service)
    assert stopwatch.services() == {service}


def test_a_unit_with_a_session(alice, stopped, stopwatch):
    unit = ("systemd-run", "-q", "--wait", "--pipe", "-p", "PAMName=login", f"--uid={alice.name}", "echo", "here")
    assert alice.machine.root(*unit).stdout == "here\n"
    assert stopped.was_waited_for("login")
    assert stopwatch.services() == {"login"}


def test_su(alice, bob, stopped, stopwatch):
    with bob.login() as other:
        for command in (f"su {alice.name} -c 'echo here'", f"su -l {alice.name} -c 'echo here'"):
            other.start(command)
            other.expect("assword: ")
            other.send(alice.password)
            assert other.finish().stdout.split() == ["here"]
    # A password for su is not a login, so the module does not ask the daemon.
    assert not stopped.was_waited_for("su|su-l")
    assert {"su", "su-l"} <= stopwatch.services()


def test_sudo(alice, session, stopped, stopwatch):
    rule = alice.machine.path("/etc/sudoers.d/latchkey-test")
    rule.write_text(f"{alice.name} ALL=(ALL) ALL\n")
    rule.chmod(0o440)
    try:
        session.start("sudo -k echo here")
        session.expect("assword for alice: ")
        session.send(alice.password)
        assert session.finish().stdout.split() == ["here"]
    finally:
        rule.unlink()
    assert not stopped.was_waited_for("sudo")
    assert "sudo" in stopwatch.services()


def test_root_becoming_the_user(alice, stopped, stopwatch):
    assert alice.machine.root("su", "-l", alice.name, "-c", "echo here").stdout == "here\n"
    assert not stopped.was_waited_for("su-l")
    assert stopwatch.services() == {"su-l"}


def test_cron(alice, session, stopped):
    machine = alice.machine
    table = machine.path("/etc/cron.d/latchkey-test")
    table.write_text(f"@reboot {alice.name} date +\\%s >{alice.home}/ran\n")
    table.chmod(0o644)
    machine.root("rm", "-f", "/run/crond.reboot")  # makes cron think that the machine has just booted
    try:
        machine.root("systemctl", "restart", "cron.service")
        ran = machine.path(f"{alice.home}/ran")
        eventually(lambda: ran.exists() and ran.read_text(), LOGIN + MARGIN, "the job")
    finally:
        machine.root("systemctl", "stop", "cron.service")
        table.unlink()
    journal = machine.journal(stopped.cursor)
    assert "pam_unix(cron:session): session opened for user alice" in journal
    assert "pam_latchkey" not in journal


def test_root(machine, stopwatch):
    """Root gets no vault. Root's daemon may be stopped as well."""
    machine.root("chpasswd", input="root:sesame-0\n")
    folder = machine.path("/root/.local/share/latchkey")

    def log_in():
        terminal = machine.terminal("/bin/login")
        terminal.expect("login: ")
        terminal.sendline("root")
        terminal.expect("assword: ")
        terminal.sendline("sesame-0")
        return Terminal(machine, "root", terminal, "Login incorrect")

    with log_in() as first:
        assert first.run("echo here").stdout == "here\n"
        assert not folder.exists()
        first.run("latchkey status")  # starts the daemon if it does not run yet
        daemon = machine.host_pid(first.run("systemctl --user show -P MainPID latchkeyd.service").stdout)
        with Stopped(machine, daemon) as stopped, log_in() as second:
            assert second.run("echo here").stdout == "here\n"
            assert stopped.was_waited_for("login")
    assert not folder.exists()
    machine.root("passwd", "-l", "root")
