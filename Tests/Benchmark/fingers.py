"""The cost of an enrolled finger for a login with the password: a login with the finger's protector, and a login
without it.
"""

import statistics

from support.deviced import Service, SoftwareTPM
from support.fingerreader import Reader
from support.session import wait_until

ROUNDS = 30
# A login with an enrolled finger may take this multiple of a login without one.
GOAL = 1.05


class Passwords:
    """Measures in a session with a vault, the device key service, a software TPM, and a stand-in for the reader."""

    def __init__(self, session, folder):
        self.session, self.folder = session, folder
        chip, reader = SoftwareTPM(), Reader()
        reader.enroll(session.user)
        service = Service(
            tcti=chip.tcti, program=session.stage / "usr/libexec/latchkey-deviced", path=session.root / "device.sock")
        try:
            service.start(
                "--prints", reader.prints, "--finger-policy", reader.policy, DBUS_SYSTEM_BUS_ADDRESS=reader.address)
            self.pairs = [(self._login("remove", "not-added"), self._login("add", "in-tpm")) for _ in range(ROUNDS)]
        finally:
            service.close()
            reader.close()
            chip.close()

    def _login(self, change, finger):
        """The nanoseconds of a login after the protector was added or removed. The vault is sealed before the login."""
        if self.session.status()["state"] != "unlocked":
            self._log_in()
        options = ["--yes"] if change == "add" else []
        if change == "add" or self.session.status()["finger"] != "not-added":
            self.session.run(
                "latchkey", "protector", change, "finger", *options, "--stdin", input=self.session.password + "\n", check=True)
        # The first login after a change has additional work.
        self._log_in()
        took = self._log_in()
        wait_until(lambda: self.session.status()["finger"] == finger, f"the finger: {finger}")
        return took

    def _log_in(self):
        self.session.logout()
        wait_until(lambda: self.session.status()["state"] == "sealed", "the vault is sealed")
        command = self.folder / "login", self.session.root / "pam.d", "login", self.session.user
        took = int(self.session.run(*command, input=self.session.password + "\n", check=True).stdout)
        if (state := self.session.status()["state"]) != "unlocked":
            raise RuntimeError(f"after a login the vault is {state}")
        return took

    def report(self):
        """The line of the report, and whether the goal was met."""
        ratio = statistics.median(after / before for before, after in self.pairs)
        goal = "met" if ratio <= GOAL else "**missed**"
        yield (
            f"A login with a finger enrolled takes {ratio:.3f} times as long as one without (median of {ROUNDS} ratios, in turns);"
            f" ≤ {GOAL}: {goal}.\n")
