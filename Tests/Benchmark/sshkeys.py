"""The cost of a signature and of a list of keys for OpenSSH's programs: with latchkey-ssh-agent and with OpenSSH's
ssh-agent.
"""

import os
import signal
import statistics
import subprocess
import time

from support.session import wait_until

KINDS = {"Ed25519": ["-t", "ed25519"], "ECDSA P-256": ["-t", "ecdsa", "-b", "256"], "RSA 3072": ["-t", "rsa", "-b", "3072"]}
ROUNDS = 12
# ssh-add tests this many keys on one connection, so that its own start hardly counts.
SIGNATURES = 50
GOAL = 1.2


class Keys:
    """Measures both agents in one session, in turns."""

    def __init__(self, subject):
        self.session = subject.session
        self.folder = self.session.root / "ssh"
        self.folder.mkdir()
        self.folder.chmod(0o777)
        agents = {"latchkey-ssh-agent": self._own(), "ssh-agent": self._openssh()}
        try:
            self.samples = self._measure({name: path for name, (path, _) in agents.items()})
        finally:
            for _, process in agents.values():
                os.kill(process, signal.SIGTERM)

    def _own(self):
        path = self.folder / "own"
        process = self.session.start(self.session.stage / "usr/libexec/latchkey-ssh-agent", "--socket", path)
        wait_until(path.exists, "the agent's socket")
        return path, process.pid

    def _openssh(self):
        path = self.folder / "openssh"
        told = self.session.run("ssh-agent", "-a", path, check=True).stdout
        return path, int(told.split("SSH_AGENT_PID=")[1].split(";")[0])

    def _time(self, path, *words):
        began = time.monotonic()
        self.session.run(*words, check=True, env=self.session.environment | {"SSH_AUTH_SOCK": str(path)}, timeout=300)
        return time.monotonic() - began

    def _measure(self, agents):
        samples = {}
        for kind, options in KINDS.items():
            key = self.folder / kind.replace(" ", "-")
            self.session.run("ssh-keygen", "-q", "-N", "", "-f", key, *options, check=True)
            for path in agents.values():
                self._time(path, "ssh-add", "-q", key)
        for _ in range(ROUNDS):
            for name, path in agents.items():
                samples.setdefault(("ssh-add -l (3 keys)", name), []).append(self._time(path, "ssh-add", "-l"))
                for kind in KINDS:
                    public = f"{self.folder / kind.replace(' ', '-')}.pub"
                    taken = self._time(path, "ssh-add", "-T", *[public] * SIGNATURES)
                    samples.setdefault((f"sign and verify, {kind}", name), []).append(taken / SIGNATURES)
        return samples

    def report(self):
        version = subprocess.run(["ssh", "-V"], stderr=subprocess.PIPE, text=True, check=True).stderr.split(",")[0]
        yield (
            f"ssh keys: `ssh-add -l`, and `ssh-add -T` with a key {SIGNATURES} times, {ROUNDS} rounds, in turns; {version}. `ssh-add` itself"
            " is in all times, and verifies each signature.\n")
        yield "| operation | latchkey-ssh-agent | ssh-agent | ratio | goal |\n| --- | --: | --: | --: | --- |"
        for operation in dict.fromkeys(operation for operation, _ in self.samples):
            own, theirs = (1e3 * statistics.median(self.samples[operation, name]) for name in ("latchkey-ssh-agent", "ssh-agent"))
            goal = ""
            if "Ed25519" in operation:
                goal = f"≤ {GOAL}: met" if own / theirs <= GOAL else f"≤ {GOAL}: **missed**"
            yield f"| {operation} | {own:.2f} ms | {theirs:.2f} ms | {own / theirs:.2f} | {goal} |"
