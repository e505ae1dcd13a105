"""The ssh agent with Debian 13's ssh-sk-helper. Tests/Integration/SSH makes the same test with this machine's helper."""

import shutil

import pytest
from support.account import Account
from support.securitykey import DUMMY

pytestmark = [
    pytest.mark.night("ssh"), pytest.mark.skipif(not DUMMY.exists(), reason="the package openssh-tests is missing")]

LIBRARY = "/usr/local/lib/sk-dummy.so"


@pytest.mark.parametrize("kind", ["ed25519-sk", "ecdsa-sk"])
def test_the_helper_of_debian_13_signs(debian13, kind):
    shutil.copy(DUMMY, debian13.path(LIBRARY))
    account = Account(debian13, "alice", 2001, "sesame-1")
    with account.login() as session:
        assert "OpenSSH_10" in session.run("ssh -V 2>&1").stdout
        session.run(f"ssh-keygen -q -N '' -t {kind} -w {LIBRARY} -f key")
        session.run(f"systemd-run --user --quiet /usr/libexec/latchkey-ssh-agent --socket ~/agent --prompt-program /bin/true -P {LIBRARY}")
        session.run("until [ -S agent ]; do sleep 0.1; done")
        for command in (f"ssh-add -q -S {LIBRARY} key", "ssh-add -T key.pub", "rm key"):
            session.run(f"SSH_AUTH_SOCK=~/agent {command}")
        assert "BEGIN SSH SIGNATURE" in session.run("SSH_AUTH_SOCK=~/agent ssh-keygen -q -Y sign -n file -f key.pub </etc/hostname").stdout
