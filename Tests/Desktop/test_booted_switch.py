"""`latchkey switch` with gnome-keyring in every login: taking over, handing back, and the parts that must not change."""

import contextlib
import json
from types import SimpleNamespace

import pytest
from support.account import TOOLS, Account
from support.control import GIVE_WAY, HELLO, VERSION, Control, packet
from support.machine import Machine, eventually, make, or_skip
from support.switching import ASIDE, await_owner, files, queue, switch
from test_crash import await_new_daemon

pytestmark = pytest.mark.second_try

LOGINS = 2
MONITOR = "exec dbus-monitor --session \"member='NameOwnerChanged',arg0='org.freedesktop.secrets'\""
AGENT = "SSH_AUTH_SOCK=$XDG_RUNTIME_DIR/keyring/ssh"


@pytest.fixture(scope="module")
def keyring_machine(provisioned):
    """A running system with gnome-keyring in its login, behind Latchkey, in the order of display managers."""

    def prepare():
        machine = Machine(below=provisioned)
        machine.add_packages("gnome-keyring", "libpam-gnome-keyring")
        return machine

    files = or_skip(prepare)
    machine = or_skip(Machine(below=files).boot)
    for kind, options in (("auth", ""), ("session", " auto_start")):
        file = machine.path(f"/etc/pam.d/common-{kind}")
        file.write_text(f"{file.read_text()}{kind} optional pam_gnome_keyring.so{options}\n")
    yield machine
    machine.close()
    files.close()


@pytest.fixture
def alice(keyring_machine):
    """A user with an ssh key."""
    account = Account(keyring_machine, "alice", 2001, "sesame-1")
    account.run("mkdir", "-m", "700", f"{account.home}/.ssh")
    account.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{account.home}/.ssh/id_ed25519")
    return account


def keys(session):
    """The keys in the ssh agent."""
    return session.run(f"{AGENT} ssh-add -l", check=False).stdout


def first_keys(session):
    """The agent's keys, once the agent has read the user's key after its start."""
    eventually(lambda: "(ED25519)" in keys(session), 20, "the user's key in the agent")
    return keys(session)


def await_keys(session, agent):
    """Waits until the agent has exactly these keys."""
    eventually(lambda: keys(session) == agent, 20, f"{agent}, not {keys(session)}")


def last(session):
    """The connection that is last in the queue for the name."""
    call = "busctl --user call org.freedesktop.DBus / org.freedesktop.DBus ListQueuedOwners s org.freedesktop.secrets"
    return session.run(call).stdout.split()[-1]


def logins(account, owner, agent):
    """In each of several logins, this program owns the name, and the agent has the same keys."""
    for _ in range(LOGINS):
        with account.login() as session:
            session.run(f"{TOOLS}/autostart")
            await_owner(session, owner)
            await_keys(session, agent)
        account.await_end()


def test_there_and_back(alice):
    with alice.login() as session:
        session.run(f"{TOOLS}/autostart")
        eventually(lambda: "gnome-keyring-d" in queue(session), what="gnome-keyring, which waits for the name")
        agent = first_keys(session)
        await_place(session)
        name = check_of_name(session)
        assert name["state"] == "ok" and "gnome-keyring" in name["found"] and "waits" in name["found"]
        before = files(alice)

        planned = switch(session, alice, "--to latchkey", "--dry-run")
        assert planned["state"] == "planned" and len(planned["changes"]) >= 3
        assert files(alice) == before and "gnome-keyring-d" in queue(session)
        done = switch(session, alice, "--to latchkey")
        assert (done["changes"], done["state"]) == (planned["changes"], "done")
        await_owner(session, "latchkeyd")
        await_keys(session, agent)
        taken = files(alice)
        assert switch(session, alice, "--to latchkey")["changes"] == [] and files(alice) == taken

        # Whatever ended latchkeyd, a new latchkeyd owns the name afterwards.
        session.run("pkill -KILL -x latchkeyd")
        await_owner(session, "latchkeyd")
    alice.await_end()
    logins(alice, "latchkeyd", agent)

    with alice.login() as session:
        session.run(f"{TOOLS}/autostart")
        done = switch(session, alice, "--back")
        assert queue(session) == ["gnome-keyring-d"], done
        await_keys(session, agent)
        aside = {name for name, state in files(alice).items() if state != before.get(name)}
        assert aside == ASIDE
        assert before.items() <= files(alice).items()
    alice.await_end()
    logins(alice, "gnome-keyring-d", agent)

    with alice.login() as session:
        session.run(f"{TOOLS}/autostart")
        switch(session, alice, "--to latchkey")
        await_owner(session, "latchkeyd")
        await_keys(session, agent)
        assert files(alice).keys() == taken.keys()


def await_place(session):
    """Waits until a place in the queue, before gnome-keyring's, is reserved for the next latchkeyd."""
    eventually(lambda: queue(session) == ["latchkeyd", "latchkeyd", "gnome-keyring-d"], 20, f"the place, not {queue(session)}")


def check_of_name(session):
    """Doctor's check of the name."""
    checks = json.loads(session.run("latchkey doctor --json", check=False).stdout)["checks"]
    return next(check for check in checks if check["id"] == "name")


def replace(session, account):
    """Acts as a helper of another version after an upgrade. The helper claims that it has opened the keybag, which the daemon
    does not check."""
    other = lambda operation: packet(operation, version=VERSION + 1)
    session.run("latchkey lock")
    ours = SimpleNamespace(runtime=account.machine.path(f"/run/user/{account.uid}"))
    with contextlib.closing(Control(ours, user=False)) as helper:
        assert helper.ask(other(HELLO)) == packet(GIVE_WAY)
        assert helper.ask(other(GIVE_WAY)) == packet(GIVE_WAY)
        assert helper.receive() == b""


ENDS = {
    "killed": lambda session, account: session.run("systemctl --user kill -s KILL latchkeyd.service"),
    "restarted": lambda session, account: session.run("systemctl --user restart latchkeyd.service"),
    "replaced": replace,
}


def test_the_name_stays_where_nobody_switched(alice):
    """After any end of latchkeyd, gnome-keyring goes on waiting. It gets the name only if latchkeyd is stopped."""
    with alice.login() as session:
        session.run(f"{TOOLS}/autostart")
        session.store("of default", app="default")
        await_place(session)
        session.run(f"{MONITOR} >/tmp/owners 2>/dev/null &")
        session.run("until grep -q NameAcquired /tmp/owners; do sleep 0.1; done")
        for end in ENDS.values():
            former = alice.daemon()
            end(session, alice)
            await_new_daemon(alice, former)
            await_place(session)
            assert check_of_name(session)["state"] == "ok"
            with alice.login():
                assert session.lookup(app="default") == "of default"
        changes = lambda: alice.machine.path("/tmp/owners").read_text().count("member=NameOwnerChanged")
        eventually(lambda: changes() >= len(ENDS), what="the last change of owners in the monitor's output")
        session.run("kill %1")
        owners = session.run("grep -A 3 'member=NameOwnerChanged' /tmp/owners | grep string").stdout
        keyring = last(session)
        assert keyring.startswith('":') and keyring not in owners and '""' not in owners, owners
        assert owners.count("org.freedesktop.secrets") >= len(ENDS)
        session.run("systemctl --user stop latchkeyd.socket latchkeyd.service")
        await_owner(session, "gnome-keyring-d")


def test_the_bus_starts_latchkey_again_after_it_started_gnome_keyring(alice):
    """Latchkey's socket is stopped, and a program's call starts gnome-keyring. Later the vault is back, its daemon ends, and the
    next call starts Latchkey again."""
    start = "busctl --user call org.freedesktop.DBus / org.freedesktop.DBus StartServiceByName su org.freedesktop.secrets 0"
    with alice.login() as session:
        switch(session, alice, "--to latchkey")
        session.run("systemctl --user stop latchkeyd.socket latchkeyd.service 2>/dev/null")
        eventually(lambda: session.run(f"{start} >/dev/null 2>&1", check=False).returncode == 0, what="another provider")
        await_owner(session, "gnome-keyring-d")
        session.run("systemctl --user restart latchkeyd.socket")
        switch(session, alice, "--to latchkey")
        await_owner(session, "latchkeyd")
        session.run("systemctl --user stop latchkeyd.service 2>/dev/null")
        eventually(lambda: queue(session) == [], what="the name without an owner")
        session.run(start)
        assert queue(session) == ["latchkeyd"]


def test_an_agent_with_keys_that_would_be_lost_stays(alice):
    with alice.login() as session:
        session.run(f"{TOOLS}/autostart")
        eventually(lambda: "gnome-keyring-d" in queue(session), what="gnome-keyring, which waits for the name")
        first_keys(session)
        session.run("ssh-keygen -q -t ed25519 -N '' -f /tmp/other")
        session.run(f"{AGENT} ssh-add /tmp/other")
        agent = keys(session)
        done = switch(session, alice, "--to latchkey", status=4)
        assert "ssh-add" in done["left"][0] and keys(session) == agent
    alice.await_end()
    with alice.login() as session:
        session.run(f"{TOOLS}/autostart")
        await_owner(session, "latchkeyd")


def test_installed_again(alice):
    """The person's choice outlives the programs. Latchkey owns the name as soon as it is installed again, and can be removed as
    before."""
    machine = alice.machine
    with alice.login() as session:
        session.run(f"{TOOLS}/autostart")
        eventually(lambda: "gnome-keyring-d" in queue(session), what="gnome-keyring, which waits for the name")
        agent, before = first_keys(session), files(alice)
        switch(session, alice, "--to latchkey")
    alice.await_end()
    make("uninstall", machine.path("/"))
    try:
        logins(alice, None, agent)
    finally:
        make("install", machine.path("/"))
    logins(alice, "latchkeyd", agent)
    with alice.login() as session:
        session.run(f"{TOOLS}/autostart")
        switch(session, alice, "--back")
        await_owner(session, "gnome-keyring-d")
        await_keys(session, agent)
        assert {name for name, state in files(alice).items() if state != before.get(name)} == ASIDE
