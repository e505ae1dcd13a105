"""The measured programs: latchkeyd and gnome-keyring, each in a throw-away session with the same kind of bus."""

import collections
import os
import pathlib
import subprocess
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

from support.gnomekeyring import keyring
from support.session import Session, wait_until


class Subject:
    """A daemon that owns org.freedesktop.secrets, and the client program that measures it."""

    name = ""

    def __init__(self, stage, below, client):
        self.session = Session(stage, below)
        self.client = client

    def close(self):
        """Ends the session."""
        self.session.close()

    def measure(self, *arguments, timeout=900):
        """Runs the client, and returns its samples by name."""
        done = self.session.run(self.client, *arguments, timeout=timeout)
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}: {' '.join(map(str, arguments))}: {done.stderr}{self.session.log()[-2000:]}")
        samples = collections.defaultdict(list)
        for line in done.stdout.splitlines():
            name, value = line.split()
            samples[name].append(int(value))
        return samples

    def memory(self):
        """The values of /proc/PID/smaps_rollup in kilobytes, by name."""
        os.sync()  # Otherwise unwritten pages of files would count as the program's own memory.
        lines = pathlib.Path(f"/proc/{self.session.daemon_pid()}/smaps_rollup").read_text().splitlines()[1:]
        return {line.split(":")[0]: int(line.split()[1]) for line in lines}

    def version(self):
        """The program's version, for the table."""
        raise NotImplementedError

    def fill(self, count, upto):
        """Adds items from number `count` up to `upto`. Afterwards the daemon runs and is unlocked."""
        raise NotImplementedError

    def start_command(self):
        """The command that starts the daemon locked. The daemon must not run now."""
        raise NotImplementedError

    def unlock_from_start(self):
        """Starts the daemon, and unlocks it with the password. Returns the seconds until the daemon answers."""
        raise NotImplementedError


class Latchkeyd(Subject):
    """latchkeyd, which PAM unlocks."""

    name = "latchkeyd"

    def __init__(self, stage, below, client):
        super().__init__(stage, below, client)
        self.stage = stage
        if self.session.login().returncode != 0:
            raise RuntimeError(f"the login failed: {self.session.log()}")

    def version(self):
        command = ["git", "-C", REPOSITORY, "describe", "--always", "--dirty"]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.strip()

    def fill(self, count, upto):
        self.measure("fill", count, upto, 900)

    @property
    def log(self):
        return [self.session.vault / "vault.db-wal"]

    def start_command(self):
        self.session.stop_daemon()
        session = self.session
        return [f"{self.stage}/usr/libexec/latchkeyd", "--home", session.home, "--runtime", session.runtime]

    def unlock_from_start(self):
        began = time.monotonic()
        self.session.start_daemon()
        self.session.login()
        ended = time.monotonic()
        assert self.session.status()["state"] == "unlocked"
        return ended - began


class GnomeKeyring(Subject):
    """gnome-keyring-daemon, which its own --unlock unlocks."""

    name = "gnome-keyring"
    password = b"correct horse"
    log = []

    def __init__(self, stage, below, client):
        super().__init__(stage, below, client)
        # The bus must not start latchkeyd again.
        (self.session.root / "services/org.freedesktop.secrets.service").unlink()
        method = "org.freedesktop.DBus.ReloadConfig"
        arguments = ["--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus", method]
        self.session.run("dbus-send", "--session", *arguments, check=True)
        self.session.stop_daemon()
        self.process = None
        self.crashes = 0

    def close(self):
        self.stop()
        super().close()

    def version(self):
        command = ["dpkg-query", "-W", "-f", "${Version}", "gnome-keyring"]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout

    def measure(self, *arguments, timeout=900):
        """Measures again after a crash, because gnome-keyring-daemon 42 crashes if sessions come and go fast."""
        while True:
            try:
                return super().measure(*arguments, timeout=timeout)
            except RuntimeError:
                if self.process is None or self.process.poll() is None or self.crashes == 10:
                    raise
                self.crashes += 1
                self.process = None
                self.unlock_from_start()

    def fill(self, count, upto):
        self.stop()
        folder = self.session.home / ".local/share/keyrings"
        folder.mkdir(mode=0o700, exist_ok=True)
        os.chown(folder, self.session.uid, self.session.gid)
        file = folder / "login.keyring"
        items = (
            (
                f"Benchmark benchmark {number}",
                [("xdg:schema", "org.latchkey.Benchmark"), ("service", "benchmark"), ("account", str(number))],
                f"benchmark {number} 0".encode().ljust(32, b"."),
            )
            for number in range(upto)
        )
        file.write_bytes(keyring(self.password, items))
        os.chown(file, self.session.uid, self.session.gid)
        file.chmod(0o600)
        self.unlock_from_start()

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        self.process.wait()
        self.process = None
        wait_until(lambda: self.session.daemon_pid() is None, "gnome-keyring's end")

    def start_command(self):
        self.stop()
        return ["/usr/bin/gnome-keyring-daemon", "--foreground", "--components=secrets"]

    def unlock_from_start(self):
        began = time.monotonic()
        command = ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = self.session.start(*command, stdin=subprocess.PIPE, **quiet)
        self.process.stdin.write(self.password)
        self.process.stdin.close()
        wait_until(lambda: self.session.daemon_pid() is not None, "gnome-keyring's start", 60)
        return time.monotonic() - began
