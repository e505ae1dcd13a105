"""KIO's password server with latchkey-kwallet. Konqueror, Dolphin and other programs fetch a page that requires a
password.
"""

import base64
import http.server
import os
import pathlib
import signal
import struct
import subprocess
import threading

import pytest
from gi.repository import GLib
from support.clients import bring_back, bring_to
from support.foreign import seen
from support.kdeprogram import SCREENLESS
from support.kwallet import KDEWALLET, Client, process_of, qt_text, serve
from support.pace import seconds
from support.peer import Peer, octets
from support.session import BUS, is_alive, wait_until

SERVICE = pathlib.Path("/usr/share/dbus-1/services/org.kde.kpasswdserver.service")
pytestmark = [
    pytest.mark.night("kwallet"), pytest.mark.second_try,
    pytest.mark.skipif(not pathlib.Path("/usr/bin/kioclient5").exists() or not SERVICE.exists(), reason="kio or kde-cli-tools is missing")]

REALM, PAGE = "Cellar", b"the page"
LOGIN = {"login": "anna", "password": "geheim"}


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        wanted = base64.b64encode(f"{LOGIN['login']}:{LOGIN['password']}".encode()).decode()
        if self.headers.get("Authorization") == f"Basic {wanted}":
            self.send_response(200)
            self.send_header("Content-Length", str(len(PAGE)))
            self.end_headers()
            self.wfile.write(PAGE)
        else:
            self.send_response(401)
            self.send_header("WWW-Authenticate", f'Basic realm="{REALM}"')
            self.send_header("Content-Length", "0")
            self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def port():
    """The port of the page."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture
def fetch(session, port):
    """A function with which a program fetches the page and returns it. Without the login the result is empty."""
    session.offer(SERVICE.stem, SERVICE.read_text().replace("Exec=", "Exec=/usr/bin/env QT_QPA_PLATFORM=offscreen "))
    environment = session.environment | SCREENLESS | {"KDE_FORK_SLAVES": "1"}

    def fetched():
        # Sometimes KIO misses the answer of a starting password server, and waits forever. So the test starts the
        # server first.
        session.run("dbus-send", "--session", "--print-reply", *BUS, "org.freedesktop.DBus.StartServiceByName", f"string:{SERVICE.stem}", "uint32:0", check=True)
        try:
            return session.run("kioclient5", "cat", f"http://localhost:{port}/page", env=environment, timeout=60).stdout
        except subprocess.TimeoutExpired:
            # The message shows whether latchkey-kwallet still answers.
            client = Client(session, "witness")
            raise AssertionError(f"the page does not come; latchkey-kwallet opens {client.open()} beside {client.call('users', 's', KDEWALLET)}") from None

    yield fetched
    forget(session)


def forget(session):
    """Ends the password server, which caches logins."""
    process = process_of(session, SERVICE.stem)
    if process is not None:
        os.kill(process, signal.SIGKILL)
        wait_until(lambda: not is_alive(process) and process_of(session, SERVICE.stem) is None, "the end of the password server")


def qt_octets(value):
    return struct.pack(">I", len(value)) + value


def login_to_keep(port):
    """The login in the form in which KIO sends it to its password server. The person wants to keep the login."""
    texts = [LOGIN["login"], LOGIN["password"], "", "", "", "", REALM, ""]
    flags = [False, False, True, True]
    return (b"\x01" + qt_octets(f"http://localhost:{port}/page".encode()) + b"".join(map(qt_text, texts)) + bytes(flags) + struct.pack(">I", 0))


def test_a_page_opens_by_the_login_of_the_wallet(session, port, fetch):
    serve(session)
    assert session.login().returncode == 0
    assert fetch() == ""
    bus = Client(session).bus
    arguments = GLib.Variant.new_tuple(octets(login_to_keep(port)), GLib.Variant("x", 0))
    bus.call_sync(SERVICE.stem, "/modules/kpasswdserver", "org.kde.KPasswdServer", "addAuthInfo", arguments, None, 0, round(seconds(30) * 1000), None)
    wait_until(lambda: seen(session), "the login in the vault")
    client = Client(session)
    client.open()
    assert client.read(f"http-localhost:{port}-{REALM}") == LOGIN
    forget(session)
    assert fetch() == PAGE.decode()
    # Behind the lock, a program gets no login, and the stored login stays.
    peer = Peer(session)
    forget(session)
    bring_to("behind a locker", session, peer)
    assert fetch() == ""
    forget(session)
    bring_back("behind a locker", session, peer)
    assert fetch() == PAGE.decode() and len(seen(session)) == 1
    peer.close()
