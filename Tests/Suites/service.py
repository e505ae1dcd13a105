"""The Secret Services for other people's test suites. Each is unlocked in its own throw-away session."""

import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]

from support import subject
from support.creation import create_vault
from support.portal import give_pinentry
from support.session import Session, wait_until


class Service:
    """The common part of latchkeyd and gnome-keyring: a session whose user runs the suite's programs."""

    session: Session
    # A shell command that unlocks every collection without a prompt, if the service has one.
    unlock = None
    # The seconds that a program may run. The machine may be busy.
    limit = 600

    def run(self, *command, folder, **environment):
        """Runs a program of a suite to its end, and returns its whole output, whatever its exit status."""
        environment = self.session.environment | environment
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        if self.unlock:
            environment["SUITES_UNLOCK"] = self.unlock
        done = self.session.run(
            "timeout", "--kill-after=5", self.limit, *command, env=environment, cwd=folder, timeout=self.limit + 60)
        return done.stdout + done.stderr


class Latchkeyd(Service):
    """latchkeyd, and a person who answers each prompt with the login password."""

    name = "latchkeyd"

    def __init__(self, stage):
        self.session = Session(stage)
        create_vault(self.session)
        give_pinentry(self.session, f'echo "D {self.session.password}"; echo OK')
        # A desktop gives its display to the bus at its start.
        self.session.run("dbus-update-activation-environment", "DISPLAY=:4711", check=True)
        self.session.restart()
        self.unlock_all()
        login = f"pamtester login {self.session.user} authenticate open_session"
        self.unlock = f"{login} <{self.session.root}/password"

    def unlock_all(self):
        """Unlocks everything that earlier tests have locked."""
        # A login stops waiting for the vault after 3 seconds, which may be too short on a busy machine.
        for _ in range(10):
            assert self.session.login().returncode == 0, self.session.log()
            if self.session.status()["state"] == "unlocked":
                return
        raise AssertionError(f"the vault cannot be unlocked: {self.session.log()}")

    def close(self):
        self.session.close()


class GnomeKeyring(Service):
    """gnome-keyring as the control, and a person who answers each prompt with the keyring's password."""

    name = "gnome-keyring"
    # gnome-keyring sometimes hangs.
    limit = 120

    def __init__(self, stage):
        self._keyring = subject.GnomeKeyring(stage, "/tmp", None)
        self.session = self._keyring.session
        code, password = (HERE / "prompter.py").read_text(), self._keyring.password.decode()
        self._prompter = self.session.start("/usr/bin/python3", "-c", code, password, stdout=subprocess.PIPE)
        assert self._prompter.stdout.readline() == b"ready\n"
        self._keyring.unlock_from_start()

    def run(self, *command, **options):
        # gnome-keyring also crashes sometimes.
        if self._keyring.process.poll() is not None:
            self.unlock_all()
        return super().run(*command, **options)

    def unlock_all(self):
        """Unlocks everything that earlier tests have locked."""
        self._keyring.stop()
        self._keyring.unlock_from_start()

    def close(self):
        self._keyring.close()
        wait_until(lambda: self._prompter.poll() is not None, "the prompter's end")


def outcomes(pattern, output, passed):
    """The outcomes of tests by name. The pattern finds the lines, with the groups `name` and `how`. `passed` translates
    each `how` into an outcome."""
    found = {}
    for match in re.finditer(pattern, output, re.MULTILINE):
        # A test has a second line if its cleanup fails.
        if found.get(match["name"]) != "failed":
            found[match["name"]] = passed[match["how"]]
    return found
