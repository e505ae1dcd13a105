"""The cost of a password: for the owner at each login, and for a thief of the vault at each guess."""

import collections
import pathlib
import re
import shutil
import statistics
import struct
import subprocess

from support.session import wait_until
from support.unerased import leave_memory

LOGINS, GUESSES = 30, 15
# The milliseconds that a login may take in addition to one Argon2id run.
LOGIN_GOAL = 10
# A login may take this multiple of a login that does not erase Argon2id's memory.
ERASING_GOAL = 1.05
PEERS = {
    "gnome-keyring": "gnome-keyring (SHA-256, 4,096 times)",
    "kwallet": "KWallet (PBKDF2 with SHA-512, 50,000 times)",
    "libsecret": "libsecret's file, oo7 (PBKDF2 with SHA-256, 100,000 times)",
}


def build(folder):
    """Compiles login.c and guess.c into a place where the session's user can run them."""
    for name, libraries in (("login", ["-lpam"]), ("guess", ["-lsodium", "-lgcrypt"])):
        source = pathlib.Path(__file__).with_name(f"{name}.c")
        subprocess.run(["cc", "-O2", "-Wall", "-o", folder / name, source, *libraries], check=True)
        (folder / name).chmod(0o755)


def argon2id(keybag):
    """The passes and the memory in bytes of a keybag's first protector (FORMAT.md)."""
    assert keybag[:8] == b"LATCHKEY" and keybag[45] == 1
    return struct.unpack_from("<LQ", keybag, 95)


class Costs:
    """Measures in a session with a vault."""

    def __init__(self, session, folder):
        self.session, self.folder = session, folder
        self.passes, self.memory = argon2id((session.vault / "keybag").read_bytes())
        with_module = (session.root / "pam.d/login").read_text()
        self._add_service("login-without", re.sub(r"^.*pam_latchkey.*\n", "", with_module, flags=re.M))
        helper = re.search(r"helper=(\S+)", with_module)[1]
        self._add_service("login-unerased", with_module.replace(helper, str(self._unerased(helper))))
        self.guesses = self._guess(GUESSES)
        self.logins = collections.defaultdict(list)
        for _ in range(LOGINS):
            self._login()

    def _add_service(self, name, text):
        service = self.session.root / "pam.d" / name
        service.write_text(text)
        service.chmod(0o644)

    def _unerased(self, helper):
        """A copy of latchkey-derive that leaves Argon2id's memory unerased."""
        changed = self.folder / "latchkey-derive"
        shutil.copy(helper, changed)
        leave_memory(changed)
        return changed

    def _guess(self, repetitions):
        done = self.session.run(self.folder / "guess", repetitions, self.passes, self.memory, check=True, timeout=300)
        samples = collections.defaultdict(list)
        for line in done.stdout.splitlines():
            name, value = line.split()
            samples[name].append(int(value))
        return samples

    def _login(self):
        """One login of each kind, and the derivation alone. Each login finds the vault sealed, and unlocks it."""
        for service in ("login-without", "login-unerased", "login"):
            self.session.logout()
            wait_until(lambda: self.session.status()["state"] == "sealed", "the vault is sealed")
            command = self.folder / "login", self.session.root / "pam.d", service, self.session.user
            took = int(self.session.run(*command, input=self.session.password + "\n", check=True).stdout)
            state = self.session.status()["state"]
            if (state == "unlocked") != (service != "login-without"):
                raise RuntimeError(f"after {service} the vault is {state}")
            self.logins[service].append(took)
        self.logins["derivation"] += self._guess(1)["latchkey"]

    def report(self):
        """The lines of the report, and whether the goal was met."""
        median = {name: statistics.median(values) / 1e6 for name, values in self.logins.items()}
        rests = [one - other - derivation for one, other, derivation in zip(
            self.logins["login"], self.logins["login-without"], self.logins["derivation"])]
        low, rest, high = (value / 1e6 for value in statistics.quantiles(rests, n=4))
        goal = "met" if rest <= LOGIN_GOAL else f"**missed by {100 * (rest / LOGIN_GOAL - 1):.0f} %**"
        erasing = statistics.median(
            one / other for one, other in zip(self.logins["login"], self.logins["login-unerased"]))
        goal_of_erasing = "met" if erasing <= ERASING_GOAL else "**missed**"
        guess = {name: statistics.median(values) for name, values in self.guesses.items()}
        own = f"Latchkey (Argon2id, {self.passes} passes, {self.memory >> 20} MiB)"
        yield (
            f"A login, {LOGINS} of each in turns, medians: {median['login-without']:.1f} ms without the module,"
            f" {median['login']:.1f} ms with it, of which Argon2id alone takes {median['derivation']:.1f} ms. What is left"
            f" of each three: {rest:.1f} ms ({low:.1f}–{high:.1f}); ≤ {LOGIN_GOAL} ms: {goal}.\n")
        yield (
            f"A login takes {erasing:.3f} times as long as one that does not erase Argon2id's memory (median of {LOGINS}"
            f" ratios, in turns); ≤ {ERASING_GOAL}: {goal_of_erasing}.\n")
        yield (
            "One guess of the password against a stolen vault, in time of this processor (libsodium, libgcrypt); medians of"
            f" {GUESSES}. The peers' need no memory to speak of, which makes graphics cards faster still.\n")
        yield "| whose | as part of Latchkey's | |\n| --- | --: | --: |"
        yield f"| {own} | 1 | {guess['latchkey'] / 1e6:.0f} ms |"
        for name, text in PEERS.items():
            yield f"| {text} | 1/{guess['latchkey'] / guess[name]:.0f} | {guess[name] / 1e6:.1f} ms |"
