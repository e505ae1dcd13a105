"""OpenSSH's own tests of agents, with our agent, OpenSSH's and gcr's. docs/TESTING.md has a table of the results."""

import os
import pathlib
import shutil
import subprocess

import pytest
from support.pace import seconds
from support.session import REPOSITORY
from support.sshserver import accounts

REGRESS = pathlib.Path("/usr/lib/openssh/regress")
GCR = pathlib.Path("/usr/libexec/gcr-ssh-agent")
SHIMS = REPOSITORY / "Tests/support/Shims"

pytestmark = [
    pytest.mark.night("ssh"), pytest.mark.skipif(os.getuid() != 0, reason="the tests' logins need a shell for the session's user"),
    pytest.mark.skipif(not REGRESS.is_dir(), reason="the package openssh-tests is missing")]

AGENTS = ("latchkey-ssh-agent", "ssh-agent", "gcr-ssh-agent")
# For each test, the agents that fail the test, and a part of the error.
TESTS = {
    "agent": {"gcr-ssh-agent": "ssh-add failed exit code"},
    "agent-getpeereid": {},
    "agent-timeout": {"gcr-ssh-agent": "ssh-add -l did not return"},
    "agent-restrict": {"gcr-ssh-agent": "unrestricted keylist fail"},
    "agent-subprocess": {},
    "agent-pkcs11": {"latchkey-ssh-agent": "ssh-add -s failed", "gcr-ssh-agent": "ssh-add -e failed"},
    "sshsig": {"gcr-ssh-agent": "failed to check valid signature for sk-"},
    "cert-file": {"gcr-ssh-agent": "ssh connect with agent in failed with good cert"},
}


class Regress:
    """A copy of OpenSSH's tests, owned by the session's user."""

    def __init__(self, session):
        self.session, self.folder = session, session.root / "openssh"
        session.root.chmod(0o755)
        shutil.copytree(REGRESS, self.folder, symlinks=True)
        subprocess.run(["chown", "-R", f"{session.uid}:{session.gid}", self.folder], check=True)
        # Newer versions of OpenSSH have no DSA keys.
        script = self.folder / "test-exec.sh"
        assert "-Q key-plain" in script.read_text()
        script.write_text(script.read_text().replace("-Q key-plain", "-Q key-plain | grep -v dss"))
        # One test runs ssh-add as another user.
        self.sudoers = session.root / "sudoers"
        self.sudoers.write_text(f"Defaults !pam_acct_mgmt, !pam_session, !use_pty\n{session.user} ALL=(ALL) NOPASSWD: ALL\n")
        self.sudoers.chmod(0o440)

    def agent(self, name):
        """The path of a program with the command line of ssh-agent."""
        if name == "ssh-agent":
            return "/usr/bin/ssh-agent"
        wrapper = self.session.root / name
        places = {
            "@AGENT@": self.session.stage / "usr/libexec/latchkey-ssh-agent", "@THROWAWAY@": REPOSITORY / "Tests/Session/throwaway",
            "@STAGE@": self.session.stage}
        text = (SHIMS / {"latchkey-ssh-agent": "ssh-agent"}.get(name, name)).read_text()
        for word, place in places.items():
            text = text.replace(word, str(place))
        wrapper.write_text(text)
        wrapper.chmod(0o755)
        return wrapper

    def run(self, test, agent):
        """Runs a test. Returns `ok`, `skip` or `failed`, and the output."""
        variables = {
            ".OBJDIR": self.folder, ".CURDIR": self.folder, "BUILDDIR": self.folder, "OBJ": self.folder, "TEST_SHELL": "sh", "TEST_SSH_SSH": "ssh",
            "TEST_SSH_SFTPSERVER": "/usr/lib/openssh/sftp-server", "TEST_SSH_ECC": "yes", "TEST_SSH_UNSAFE_PERMISSIONS": "1",
            "TEST_SSH_SSHAGENT": self.agent(agent), "LTESTS": test, "SKIP_UNIT": "1",
        } | ({"SUDO": "sudo"} if test == "agent-getpeereid" else {})
        session = self.session
        run = [
            # The shell is the first process of the namespace, so it collects orphaned processes. One test waits for the
            # end of such a process.
            "unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c",
            'mount --bind "$0" /etc/passwd && mount --bind "$1" /etc/sudoers && shift && "$@"; exit $?',
            accounts(session), self.sudoers, "setpriv", f"--reuid={session.uid}", f"--regid={session.gid}", "--clear-groups", "env",
            f"USER={session.user}", "make", "-C", self.folder, *(f"{key}={value}" for key, value in variables.items()), "t-exec",
        ]
        done = subprocess.run(
            list(map(str, run)), env=session.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds(300))
        logs = [self.folder / log for log in ("failed-regress.log", "failed-ssh.log")]
        told = done.stdout[-3000:] + done.stderr[-2000:] + "".join(log.read_text()[-4000:] for log in logs if log.exists())
        words = {"ok": "ok ", "skip": "skip", "failed": "failed "}
        lines = done.stdout.splitlines()
        outcome = next((word for word, begin in words.items() if any(line.startswith(begin) for line in lines)), "nothing")
        return ("failed" if done.returncode else outcome), told


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("test", TESTS)
def test_openssh_regress(unlocked, test, agent):
    if agent == "gcr-ssh-agent" and not GCR.exists():
        pytest.skip("the package gcr is missing")
    outcome, told = Regress(unlocked).run(test, agent)
    why = TESTS[test].get(agent)
    assert (outcome == "ok") if why is None else (outcome == "failed" and why in told), f"{outcome}: {told}"
