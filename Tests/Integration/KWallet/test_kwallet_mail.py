"""KMail's accounts with latchkey-kwallet. Akonadi's IMAP resource fetches the mail, and signs in with the password from
the wallet.
"""

import contextlib
import os
import re
import socketserver
import subprocess
import threading

import pytest
from gi.repository import GLib
from support.clients import bring_back, bring_to
from support.foreign import seen
from support.kderoot import command_in, root_of
from support.kwallet import Client, process_of, serve
from support.pace import seconds
from support.peer import Peer
from support.session import wait_until

pytestmark = [
    pytest.mark.night("kwallet"), pytest.mark.second_try,
    pytest.mark.skipif(os.getuid() != 0, reason="programs of a root of their own need root")]

CONTROL = "org.freedesktop.Akonadi.Control"
KIND, ACCOUNT = "akonadi_imap_resource", "akonadi_imap_resource_0"
RESOURCE, AGENT = f"org.freedesktop.Akonadi.Resource.{ACCOUNT}", f"org.freedesktop.Akonadi.Agent.{ACCOUNT}"
# KMail's mail transport uses this number for a password in clear text.
CLEAR = 7
LOGIN = ("anna", "geheim ist es")


@pytest.fixture(scope="module")
def root():
    """A root folder with Akonadi, which keeps its database in a file."""
    with root_of("bookworm", "kdepim-runtime", "akonadi-backend-sqlite") as folder:
        yield folder


class Mailbox(socketserver.StreamRequestHandler):
    """An IMAP server for one account without mail."""

    def say(self, text):
        self.wfile.write(f"{text}\r\n".encode())

    def handle(self):
        self.say("* OK here")
        for line in self.rfile:
            tag, _, command = line.decode().strip().partition(" ")
            if found := re.fullmatch(r'LOGIN "([^"]*)" "([^"]*)"', command):
                self.server.logins.append(found.groups())
                self.say(f"{tag} {'OK' if found.groups() == LOGIN else 'NO'} that was it")
                continue
            if command == "CAPABILITY":
                self.say("* CAPABILITY IMAP4rev1")
            if command == "LOGOUT":
                self.say("* BYE")
            self.say(f"{tag} OK done")


@pytest.fixture
def mail():
    """The mail server. `logins` contains the names and passwords that programs sent."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mailbox) as server:
        server.daemon_threads, server.logins = True, []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


class Akonadi:
    """Akonadi in a session."""

    def __init__(self, session, bus):
        self.session, self.bus = session, bus

    def call(self, name, path, member, signature="", *arguments):
        """Calls a method, and returns its value. `member` begins with the interface."""
        interface, _, method = member.rpartition(".")
        limit = round(seconds(30) * 1000)
        values = self.bus.call_sync(name, path, interface, method, GLib.Variant(f"({signature})", arguments), None, 0, limit, None).unpack()
        return values[0] if values else None

    def answers(self, name, path, member):
        try:
            self.call(name, path, member)
        except GLib.Error:
            return False
        return True

    def set(self, name, signature, value, settings="Settings"):
        self.call(RESOURCE, "/Settings", f"org.kde.Akonadi.Imap.{settings}.set{name}", signature, value)

    def await_account(self):
        wait_until(lambda: self.answers(RESOURCE, "/Settings", "org.kde.Akonadi.Imap.Settings.userName"), "the account's process", 60)


@contextlib.contextmanager
def akonadi(session, root, bus):
    """Akonadi in a process namespace. The end of the first process ends all other processes."""
    words = ["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", '"$@" & wait', "sh", *command_in(root, session, "akonadi_control")]
    with open(session.root / "akonadi.log", "ab") as log:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    program = Akonadi(session, bus)
    try:
        wait_until(lambda: program.answers(CONTROL, "/AgentManager", "org.freedesktop.Akonadi.AgentManager.agentTypes"), "Akonadi", 60)
        yield program
    finally:
        process.kill()
        process.wait(seconds(20))
        # A new Akonadi starts only after all these processes have ended.
        wait_until(lambda: all(process_of(session, name) is None for name in (f"{CONTROL}.lock", CONTROL, RESOURCE)), "the end of Akonadi")


def test_an_account_signs_in_by_the_wallet(session, root, mail):
    serve(session)
    assert session.login().returncode == 0
    session.run("sh", "-ec", "mkdir -p .config/akonadi; printf '[%%General]\\nDriver=QSQLITE3\\n' >.config/akonadi/akonadiserverrc", check=True)
    client = Client(session, "reader")
    with akonadi(session, root, client.bus) as program:
        assert program.call(CONTROL, "/AgentManager", "org.freedesktop.Akonadi.AgentManager.createAgentInstance", "s", KIND) == ACCOUNT
        program.await_account()
        for name, signature, value in (
            ("ImapServer", "s", "127.0.0.1"), ("ImapPort", "i", mail.server_address[1]), ("UserName", "s", LOGIN[0]),
            ("Safety", "s", "NONE"), ("Authentication", "i", CLEAR),
        ):  # fmt: skip
            program.set(name, signature, value)
        program.set("Password", "s", LOGIN[1], "Wallet")
        program.call(RESOURCE, "/Settings", "org.kde.Akonadi.Imap.Settings.save")
        program.call(AGENT, "/", "org.freedesktop.Akonadi.Agent.Control.reconfigure")
        wait_until(lambda: LOGIN in mail.logins, "the first login", 60)
        wait_until(lambda: seen(session), "the password in the vault", 30)
    client.open()
    (entry,) = client.entries("imap")
    assert client.read(entry, "imap") == LOGIN[1] and len(seen(session)) == 1
    # The rules let programs fetch mail behind the locked screen. A new process reads the password again.
    peer = Peer(session)
    bring_to("behind a locker", session, peer)
    mail.logins.clear()
    with akonadi(session, root, client.bus):
        wait_until(lambda: mail.logins, "the login behind the lock", 60)
    bring_back("behind a locker", session, peer)
    assert set(mail.logins) == {LOGIN} and len(seen(session)) == 1
    peer.close()
