"""A unit of a person's service manager gets a secret of the vault through systemd's own LoadCredential=."""

import pytest
from support.account import Account

pytestmark = pytest.mark.night("ssh")

ASK = (
    "systemd-run --user --quiet --pipe --wait --unit={unit} -p LoadCredential=token:/run/user/$(id -u)/latchkey/credentials"
    " sh -c 'echo \"got <$(cat \"$CREDENTIALS_DIRECTORY\"/token)>\"'")
STORE = "printf secret | latchkey add --label Backup --class {kind} systemd-unit={unit}.service systemd-credential=token {more}"


@pytest.mark.parametrize(("release", "system"), [("bookworm", "machine"), ("trixie", "debian13")])
def test_a_unit_gets_its_credential(request, release, system):
    machine = request.getfixturevalue(system)
    assert release in machine.root("cat", "/etc/os-release").stdout
    with Account(machine, "alice", 2001, "sesame-1").login() as session:
        for unit, kind, more in (("open", "after-first-unlock", ""), ("plain", "when-unlocked", ""), ("late", "when-unlocked", "systemd-unlocked=yes")):
            session.run(STORE.format(unit=unit, kind=kind, more=more))

        def got(unit):
            return session.run(ASK.format(unit=unit)).stdout

        assert "got <secret>" in got("open") and "got <secret>" in got("late")
        assert "got <>" in got("plain") and "got <>" in got("other")
        session.run("latchkey lock")
        assert "got <secret>" in got("open") and "got <>" in got("late")
