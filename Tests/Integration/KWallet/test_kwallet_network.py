"""Plasma's network settings with latchkey-kwallet. NetworkManager asks plasma-nm's agent in kded5 for the passwords
that the person keeps.
"""

import contextlib
import os
import pathlib
import subprocess
import uuid

import pytest
from support.clients import bring_back, bring_to
from support.foreign import seen
from support.kdeprogram import SCREENLESS
from support.kwallet import Client, ask_in_windows, asked, end, serve
from support.pace import seconds
from support.peer import Peer
from support.session import wait_until
from support.systembus import SystemBus

MODULE = pathlib.Path("/usr/lib/x86_64-linux-gnu/qt5/plugins/kf5/kded/networkmanagement.so")
pytestmark = [
    pytest.mark.night("kwallet"), pytest.mark.second_try,
    pytest.mark.skipif(os.getuid() != 0 or not MODULE.exists(), reason="NetworkManager needs root, and plasma-nm is another package")]

NETWORK = "Network Management"
ASK = ("--show-secrets", "--get-values", "802-1x.password", "connection", "show", "office")
# Every user may change every setting, and NetworkManager sees no device of this machine.
SETTINGS = "[main]\nplugins=keyfile\nauth-polkit=false\nno-auto-default=*\n"
CONNECTION = """[connection]
id=office
uuid={uuid}
type=ethernet
autoconnect=false
[802-1x]
eap=peap;
identity=anna
phase2-auth=mschapv2
password-flags=1
"""
# Starts NetworkManager with its own network namespace and its own folders.
START = """
for place in /etc/NetworkManager /run/NetworkManager /var/lib/NetworkManager; do mkdir -p $place; mount -t tmpfs none $place; done
mkdir /etc/NetworkManager/system-connections
printf '%s' "$1" >/etc/NetworkManager/NetworkManager.conf
(umask 077; printf '%s' "$2" >/etc/NetworkManager/system-connections/office.nmconnection)
exec NetworkManager --no-daemon
"""


@pytest.fixture
def identifier(session):
    """The identifier of a connection. NetworkManager does not keep the connection's password."""
    bus = SystemBus.of(session)
    chosen = str(uuid.uuid4())
    with open(session.root / "network.log", "wb") as log:
        manager = subprocess.Popen(
            ["unshare", "--net", "--mount", "sh", "-ec", START, "sh", SETTINGS, CONNECTION.format(uuid=chosen)],
            env=os.environ | {"DBUS_SYSTEM_BUS_ADDRESS": session.environment["DBUS_SYSTEM_BUS_ADDRESS"]},
            stdout=log, stderr=log)  # fmt: skip
    wait_until(lambda: nmcli(session, "general").returncode == 0, "NetworkManager", 30)
    yield chosen
    manager.terminate()
    manager.wait(seconds(20))
    bus.close()


def nmcli(session, *words, timeout=30):
    return session.run("nmcli", "--terse", *words, timeout=timeout)


@contextlib.contextmanager
def agent(session):
    """plasma-nm's agent, which runs in kded5."""
    process = session.start("kded5", env=session.environment | SCREENLESS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    load = ["dbus-send", "--session", "--print-reply", "--dest=org.kde.kded5", "/kded", "org.kde.kded5.loadModule", "string:networkmanagement"]
    try:
        wait_until(lambda: "boolean true" in session.run(*load).stdout, "plasma-nm's module", 30)
        yield
    finally:
        process.terminate()
        process.wait(seconds(20))


def password(session):
    """The password that NetworkManager gets from the agent. Empty if the agent gives no password."""
    return nmcli(session, *ASK).stdout.rstrip("\n")


def keep(session, value):
    """Makes NetworkManager hand a password to the agent. NetworkManager does not report whether the agent took the
    password."""
    assert nmcli(session, "connection", "modify", "office", "802-1x.password", value).returncode == 0


def test_a_network_needs_no_person(session, identifier):
    serve(session)
    assert session.login().returncode == 0
    peer = Peer(session)
    name = f"{{{identifier}}};802-1x"
    client = Client(session)
    with agent(session):
        wait_until(lambda: keep(session, "of the network") or seen(session), "the agent")
        client.open()
        assert client.read(name, NETWORK) == {"password": "of the network"} and password(session) == "of the network"
        # Behind the lock, the network reconnects, and the vault takes a new password.
        bring_to("behind a locker", session, peer)
        assert password(session) == "of the network"
        keep(session, "another")
        wait_until(lambda: client.read(name, NETWORK) == {"password": "another"}, "the new password")
        assert password(session) == "another"
        bring_back("behind a locker", session, peer)
    assert len(seen(session)) == 1
    client.close_connection()
    # Before the login, the agent and NetworkManager wait. No prompt asks for the network's password.
    bring_to("sealed", session, peer)
    end(session)
    ask_in_windows(session)
    with agent(session):
        with session.start("nmcli", "--terse", *ASK, stdout=subprocess.PIPE, text=True) as asking:
            wait_until(lambda: "GETPIN" in asked(session), "the prompt for the login password")
            assert asking.poll() is None and session.login().returncode == 0
            assert asking.communicate(timeout=seconds(30))[0] == "another\n"
    assert len(seen(session)) == 1
    peer.close()
