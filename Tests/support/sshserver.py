"""Hosts for ssh: an sshd of the session's user, and a shell for that user."""

import pathlib
import subprocess

from support.pace import seconds

SSHD = "/usr/sbin/sshd"


class Server:
    """An sshd of the session's user, with its own host key. Each connection starts a new sshd."""

    def __init__(self, agent, name):  # noqa: F811
        self.agent, self.name = agent, name
        folder = agent.folder
        host = agent.key(f"host-{name}")
        self.log, self.allowed, self.known = folder / f"{name}.log", folder / f"{name}.keys", folder / "known_hosts"
        self.config = folder / f"{name}.conf"
        self.config.write_text(
            f"HostKey {host}\nAuthorizedKeysFile {self.allowed}\nStrictModes no\nUsePAM no\nSubsystem sftp internal-sftp\nPidFile none\nLogLevel VERBOSE\n"
            f"TrustedUserCAKeys {folder / 'authority.pub'}\n")
        with self.known.open("a") as known:
            known.write(f"{name} {host.with_name(host.name + '.pub').read_text()}")
        if not (folder / "authority").exists():
            agent.key("authority")

    def login(self, *options):
        """Whether a login by key succeeds. The account's shell may still refuse after that."""
        before = self.log.read_text().count("Accepted publickey") if self.log.exists() else 0
        self.agent.run(
            "ssh", "-F", "none", "-o", f"ProxyCommand={SSHD} -i -f {self.config} -E {self.log}", "-o", "BatchMode=yes",
            "-o", f"UserKnownHostsFile={self.known}", "-o", "GlobalKnownHostsFile=none", *options, f"{self.agent.session.user}@{self.name}",
            "true")
        return self.log.read_text().count("Accepted publickey") == before + 1


def accounts(session):
    """The accounts of this machine, with a shell for the session's user. The file is for a mount over /etc/passwd."""
    path = session.root / "passwd-with-shell"
    lines = pathlib.Path("/etc/passwd").read_text().splitlines()
    changed = [
        ":".join([*line.split(":")[:5], str(session.home), "/bin/sh"]) if line.startswith(f"{session.user}:") else line for line in lines]
    path.write_text("".join(f"{line}\n" for line in changed))
    return path


class Hosts:
    """Several hosts. A configuration file gives their names to the session's ssh. Commands need root, because the user
    gets a shell."""

    def __init__(self, agent, *names):
        self._session = agent.session
        self.servers = [Server(agent, name) for name in names]
        self.config = agent.folder / "ssh_config"
        lines = ["BatchMode yes", f"User {agent.session.user}", "GlobalKnownHostsFile none", f"UserKnownHostsFile {self.servers[0].known}"]
        for server in self.servers:
            lines += [f"Host {server.name}", f"  ProxyCommand {SSHD} -i -f {server.config} -E {server.log}"]
        self.config.write_text("\n".join(lines) + "\n")

    def allow(self, public):
        """Allows logins with this key at all hosts."""
        for server in self.servers:
            server.allowed.write_text(pathlib.Path(public).read_text())

    def run(self, *command, limit=30):
        """Runs a command with a shell for the session's user. The result comes from subprocess.run."""
        session = self._session
        words = [
            "unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"', accounts(session), "setpriv", f"--reuid={session.uid}",
            f"--regid={session.gid}", "--clear-groups", *command]
        return subprocess.run(
            list(map(str, words)), env=session.environment, cwd=session.home, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=seconds(limit))

    def logins(self):
        """The number of logins at each host."""
        return [server.log.read_text().count("Accepted publickey") if server.log.exists() else 0 for server in self.servers]
