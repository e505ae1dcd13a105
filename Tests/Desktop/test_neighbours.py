"""gnome-keyring on the same machine keeps its files, and Latchkey provides the Secret Service."""

import json

import pytest
from support.account import Account
from support.machine import Machine, eventually, make, or_skip
from support.pace import seconds

pytestmark = [pytest.mark.night("clients"), pytest.mark.second_try]

GNOME_KEYRING = ("gnome-keyring", "libpam-gnome-keyring")
OWNER = "busctl --user status org.freedesktop.secrets | sed -n 's/^Comm=//p'"


@pytest.fixture(scope="module")
def keyring_machine(provisioned):
    """A running system on which gnome-keyring was installed after Latchkey."""

    def prepare():
        machine = Machine(below=provisioned)
        machine.add_packages(*GNOME_KEYRING)
        return machine

    files = or_skip(prepare)
    machine = or_skip(Machine(below=files).boot)
    yield machine
    machine.close()
    files.close()


@pytest.fixture
def alice(keyring_machine):
    return Account(keyring_machine, "alice", 2001, "sesame-1")


@pytest.fixture(params=["as Debian installs it", "in the login"])
def keyring_in_login(request, keyring_machine):
    """gnome-keyring with its socket enabled, and in some cases with its module behind ours, as display managers configure it."""
    files = [keyring_machine.path(f"/etc/pam.d/common-{kind}") for kind in ("auth", "session")]
    kept = [file.read_text() for file in files]
    if request.param == "in the login":
        files[0].write_text(kept[0] + "auth optional pam_gnome_keyring.so\n")
        files[1].write_text(kept[1] + "session optional pam_gnome_keyring.so auto_start\n")
    yield
    for file, text in zip(files, kept):
        file.write_text(text)


def test_the_name_is_ours_at_login(alice, keyring_in_login):
    for _ in range(2):  # the first login ever, and one with a vault
        with alice.login() as session:
            assert session.run(OWNER).stdout.strip() == "latchkeyd"
            session.store("of default", app="default")
            assert session.lookup(app="default") == "of default"
        alice.await_end()


def test_the_bus_starts_ours(alice):
    with alice.login() as session:
        session.run("systemctl --user stop latchkeyd.service gnome-keyring-daemon.socket 2>/dev/null", check=False)
        session.run("busctl --user call org.freedesktop.secrets / org.freedesktop.DBus.Peer Ping")
        assert session.run(OWNER).stdout.strip() == "latchkeyd"


def test_a_name_that_is_taken_is_one_message_and_no_loop(alice):
    with alice.login() as session:
        session.run("systemctl --user stop latchkeyd.service 2>/dev/null")
        cursor = alice.machine.cursor()
        session.run("gnome-keyring-daemon --foreground --components=secrets >/dev/null 2>&1 &")
        eventually(lambda: session.run(OWNER, check=False).stdout.strip().startswith("gnome-keyring"), what="the name")
        session.run(f"timeout {seconds(20)} latchkey status", check=False)  # starts the daemon by its socket
        daemon = alice.daemon()
        session.run(f"sleep 5; timeout {seconds(20)} latchkey status", check=False)
        lines = alice.machine.journal(cursor, "latchkeyd").splitlines()
        assert len([line for line in lines if "org.freedesktop.secrets" in line]) == 1, lines
        # If the daemon had ended, the waiting connection at its socket would start it again and again. An activation by the bus
        # waits for the name.
        assert alice.daemon() == daemon
        session.run("kill %1")
        eventually(lambda: session.run(OWNER, check=False).stdout.strip() == "latchkeyd", what="the name, now free")


def test_no_file_of_its_packages_changes(keyring_machine):
    assert keyring_machine.root("dpkg", "-V", *GNOME_KEYRING).stdout == ""
    # The reverse order: Latchkey is installed next to gnome-keyring, and changes none of its files.
    top = keyring_machine.path("/")
    make("uninstall", top)
    assert keyring_machine.root("dpkg", "-V", *GNOME_KEYRING).stdout == ""
    make("install", top)
    assert keyring_machine.root("dpkg", "-V", *GNOME_KEYRING).stdout == ""


def test_the_doctor_names_who_has_the_name_and_how_it_ends(alice):
    with alice.login() as session:
        session.run("systemctl --user stop latchkeyd.socket latchkeyd.service 2>/dev/null")
        session.run("gnome-keyring-daemon --start --components=secrets >/dev/null")
        eventually(lambda: session.run(OWNER, check=False).stdout.strip().startswith("gnome-keyring"), what="gnome-keyring")
        done = session.run("latchkey doctor --json >/tmp/doctor.json", check=False)
        checks = {one["id"]: one for one in json.loads(alice.machine.path("/tmp/doctor.json").read_text())["checks"]}
        assert done.returncode == 4 and checks["name"]["state"] == "broken" and "gnome-keyring" in checks["name"]["found"]
        session.run(f"{{ {checks['name']['command']}; }} >/tmp/fix.log 2>&1")
        eventually(lambda: session.run(OWNER, check=False).stdout.strip() == "latchkeyd", what="latchkeyd")
        session.run("latchkey doctor --json >/tmp/doctor.json", check=False)
        checks = {one["id"]: one for one in json.loads(alice.machine.path("/tmp/doctor.json").read_text())["checks"]}
        assert {checks[name]["state"] for name in ("name", "provider.gnome-keyring", "activation")} == {"ok"}
