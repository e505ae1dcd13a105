"""A user of a booted machine, with the ways to log in and the vault's files."""

import json
import shutil
import subprocess

from support.machine import eventually
from support.pace import settled
from support.terminal import Terminal

TOOLS = "/usr/local/lib/latchkey-test"


class Account:
    """A user with an empty home. All former processes of the user have ended."""

    def __init__(self, machine, name, uid, password):
        self.machine, self.name, self.uid, self.password = machine, name, uid, password
        self.home = f"/home/{name}"
        self.folder = f"{self.home}/.local/share/latchkey"
        machine.root(f"{TOOLS}/reset-user", name, uid, password)

    @property
    def vault(self):
        """The vault's folder, as a path of the host."""
        return self.machine.path(self.folder)

    def set_password(self, password):
        """Changes the password as an administrator. The vault is not told."""
        self.password = password
        self.machine.root("chpasswd", input=f"{self.name}:{password}\n")

    def carry_home(self, other):
        """Replaces the home of another account with the same number by a copy of this home."""
        source, target = (account.machine.path(account.home) for account in (self, other))
        shutil.rmtree(target)
        subprocess.run(["cp", "-a", source, target], check=True)

    # Logging in

    def login(self, password=None, within=()):
        """Logs in on a terminal through login(1). The command `within` may start login(1)."""
        terminal = self.machine.terminal(*within, "/bin/login")
        terminal.expect("login: ")
        terminal.sendline(self.name)
        return self._enter(terminal, password, "Login incorrect")

    def login_without_password(self):
        """Logs in on a terminal without a password."""
        terminal = self.machine.terminal("/bin/login")
        terminal.expect("login: ")
        terminal.sendline(self.name)
        return Terminal(self.machine, self.name, terminal, "assword: ")

    def ssh(self, password=None, method="password"):
        """Logs in through sshd with only one method of authentication."""
        return self._enter(self._ssh(method), password, "Permission denied")

    def ssh_with_key(self):
        """Logs in through sshd with a new key instead of a password."""
        key, keys = f"/run/key-of-{self.name}", f"{self.home}/.ssh/authorized_keys"
        self.machine.root("rm", "-f", key, f"{key}.pub")
        self.machine.root("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        self.machine.root("install", "-d", "-m", "700", "-o", self.name, f"{self.home}/.ssh")
        self.machine.root("install", "-m", "600", "-o", self.name, f"{key}.pub", keys)
        return Terminal(self.machine, self.name, self._ssh("publickey", "-i", key), "Permission denied")

    def ssh_command(self, command):
        """Runs a command by sshd with the password, and returns its output. The command starts at once after the login.
        """
        terminal = self.machine.terminal_until_read(*self._ssh_words("password"), command)
        terminal.expect("assword: ")
        terminal.sendline(self.password)
        terminal.expect("status 0")
        told = terminal.before
        terminal.close(force=True)
        return told

    def _ssh(self, method, *options):
        return self.machine.terminal(*self._ssh_words(method, *options))

    def _ssh_words(self, method, *options):
        return (
            "ssh", "-tt", "-p", "2222", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
            "-o", "LogLevel=ERROR", "-o", f"PreferredAuthentications={method}", "-o", "NumberOfPasswordPrompts=1",
            *options, f"{self.name}@127.0.0.1",
        )  # fmt: skip

    def graphical_login(self, password=None, display=":5", seat=None):
        """Logs in as a display manager does, and runs a shell in the session on its own terminal. The session has type
        x11, or wayland if the display is not one of X. The session may have a seat."""
        terminal = self.machine.terminal(f"{TOOLS}/greeter", "login", self.name, display, *[seat] * bool(seat))
        return self._enter(terminal, password, "greeter: ")

    def _enter(self, terminal, password, refusal):
        terminal.expect("assword: ")
        terminal.sendline(password or self.password)
        return Terminal(self.machine, self.name, terminal, refusal)

    def greeter_unlock(self, password=None):
        """Authenticates as root without opening a session, as a display manager does over a locked session. Returns
        whether PAM accepted."""
        typed = (password or self.password) + "\n"
        done = self.machine.root(f"{TOOLS}/greeter", "unlock", self.name, "-", input=typed, check=False)
        self.machine.await_helpers()
        return done.returncode == 0

    def authenticate(self, password=None, service="i3lock"):
        """Authenticates as the user outside any session. Returns whether PAM accepted."""
        typed = (password or self.password) + "\n"
        done = self.run("pamtester", service, self.name, "authenticate", input=typed, check=False)
        self.machine.await_helpers()
        return done.returncode == 0

    # Without a session

    def run(self, *command, **options):
        """Runs a command as the user, outside any session."""
        return self.machine.user(self.name, *command, **options)

    def linger(self):
        """Makes the user manager run without a session."""
        self.machine.root("loginctl", "enable-linger", self.name)
        eventually(lambda: self.manager_runs(), what="the user manager")

    def manager_runs(self):
        """Whether the user manager and its session bus run."""
        unit = f"user@{self.uid}.service"
        return self.machine.root("systemctl", "is-active", unit, check=False).stdout.strip() == "active"

    def await_end(self):
        """Waits until all processes of the user have ended."""
        ended = lambda: self.machine.root("pgrep", "-u", self.uid, check=False).returncode != 0
        eventually(ended, 20, f"the end of all that {self.name} runs")

    def status(self):
        """The output of `latchkey status --json` outside any session."""
        return settled(lambda: json.loads(self.run("latchkey", "status", "--json").stdout))

    def find(self, **attributes):
        """Like `Terminal.find`, but outside any session."""
        pairs = [f"{name}={value}" for name, value in attributes.items()]
        return json.loads(self.run(f"{TOOLS}/items", "find", *pairs).stdout)

    def daemon(self):
        """The process id of the running latchkeyd on the host."""
        shown = self.run("systemctl", "--user", "show", "-P", "MainPID", "latchkeyd.service").stdout
        assert int(shown) > 0, "latchkeyd does not run"
        return self.machine.host_pid(shown)
