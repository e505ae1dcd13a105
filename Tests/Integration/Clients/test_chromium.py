"""Chromium encrypts its cookies with a key in the Secret Service, and creates a new key if it finds none.

Debian's Chromium 156 makes these calls at each start, as dbus-monitor shows. Chromium calls ReadAlias("default"), reads
the collection's Label, and calls Unlock([collection]). If Unlock returns a prompt, Chromium calls Prompt, and stops if
the person dismisses the prompt.

Otherwise Chromium calls OpenSession("plain"), the collection's SearchItems({application: chromium, xdg:schema:
..._v2}), Unlock([item]), GetSecrets([item]) and Close. If the search finds nothing, Chromium calls CreateItem with
replace.
"""

import functools
import http.server
import sqlite3
import subprocess
import threading

import pytest
from support.clients import LOCKED, answer_behind_a_locker, bring_back, bring_to
from support.display import display  # noqa: F401
from support.kwallet import Client, serve
from support.pace import seconds
from support.peer import ITEM, Peer
from support.session import wait_until

pytestmark = [pytest.mark.night("clients"), pytest.mark.second_try]

TIMEOUT = 60.0
KEY = {"application": "chromium"}


class Site(http.server.ThreadingHTTPServer):
    """A site on the loopback device. `/set` sets a permanent cookie, and redirects to `/kept`."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Page)
        self.address = f"http://127.0.0.1:{self.server_port}"
        # The path and cookies of each request.
        self.asked = []


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Cookie")))
        if self.path == "/set":
            self.send_response(302)
            self.send_header("Set-Cookie", "kept=crumbs; Max-Age=864000; Path=/")
            self.send_header("Location", "/kept")
        else:
            self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    with Site() as opened:
        thread = threading.Thread(target=opened.serve_forever)
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()


class Browser:
    """A profile of that name. `store` selects the place of the key."""

    def __init__(self, session, display, site, profile, store="gnome-libsecret"):
        self._session, self._display, self._site, self._store = session, display, site, store
        self._profile = session.home / profile

    def visit(self, page):
        """Starts the browser on a page of the site and closes its window. Returns the cookies of its last request."""
        self._site.asked.clear()
        options = [
            f"--password-store={self._store}",
            f"--user-data-dir={self._profile}",
            "--no-sandbox",
            "--no-first-run",
            "--no-default-browser-check",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ]
        with open(self._session.root / "chromium.log", "ab") as log:
            browser = self._session.start(
                "chromium",
                *options,
                self._site.address + page,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            wait_until(lambda: "/kept" in [path for path, _ in self._site.asked], "the page", TIMEOUT)
            # The test closes the windows as a person does. A browser that a signal ends may not write its cookies.
            self._session.run("xdotool", "search", "--sync", "--onlyvisible", "--class", "chromium", check=True)
            for _ in range(10):
                self._display.press("ctrl+shift+w")
                try:
                    browser.wait(TIMEOUT / 10)
                    break
                except subprocess.TimeoutExpired:
                    continue
            assert browser.poll() == 0, "Chromium does not close"
        finally:
            if browser.poll() is None:
                browser.kill()
            browser.wait(seconds(10))
        return dict(self._site.asked)["/kept"]

    def kept(self):
        """The versions of the cookies' encryption on the disk: v11 uses the key in the Secret Service, and v10 uses a
        fixed key."""
        file = self._profile / "Default/Cookies"
        with sqlite3.connect(f"file:{file}?immutable=1", uri=True) as database:
            return [bytes(value[:3]).decode() for (value,) in database.execute("SELECT encrypted_value FROM cookies")]


@pytest.fixture
def browser(session, display, site):  # noqa: F811
    """Makes a browser with the named profile."""
    return functools.partial(Browser, session, display, site)


@pytest.fixture
def peer(session):
    opened = Peer(session)
    yield opened
    opened.close()


def key(peer):
    """The path and secret of the only key that Chromium stored."""
    found, locked = peer.search(KEY)
    assert len(found) == 1 and locked == []
    return found[0], peer.read(found[0])


def test_its_key_is_found_again(session, browser, peer):
    assert session.login().returncode == 0
    assert browser("mine").visit("/set") == "kept=crumbs"
    stored = key(peer)
    assert peer.get(stored[0], ITEM, "Label") == "Chromium Safe Storage"
    assert browser("mine").kept() == ["v11"]
    session.restart()
    assert session.login().returncode == 0
    assert browser("mine").visit("/kept") == "kept=crumbs"
    assert browser("mine").kept() == ["v11"]
    # The transport sessions of the old daemon have ended, so the test needs a new one.
    again = Peer(session)
    assert key(again) == stored
    again.close()


def test_a_start_before_the_first_login_leaves_no_key(session, browser, peer):
    assert browser("mine").visit("/set") == "kept=crumbs"
    assert session.login().returncode == 0
    assert peer.search(KEY) == ([], [])
    assert browser("mine").visit("/set") == "kept=crumbs"
    stored = key(peer)
    assert browser("mine").kept() == ["v11"]
    assert browser("mine").visit("/kept") == "kept=crumbs"
    assert key(peer) == stored


@pytest.mark.parametrize("state", LOCKED)
def test_a_start_while_locked_leaves_the_key(session, browser, peer, state):
    """Chromium drops cookies that it cannot read. So the test starts another profile, because all profiles share the
    key."""
    assert session.login().returncode == 0
    assert browser("mine").visit("/set") == "kept=crumbs"
    stored = key(peer)
    bring_to(state, session, peer)
    assert browser("other").visit("/set") == "kept=crumbs"
    assert "v11" not in browser("other").kept()
    assert peer.search(KEY) == ([], [stored[0]])
    bring_back(state, session, peer)
    assert key(peer) == stored
    assert browser("mine").visit("/kept") == "kept=crumbs"
    assert browser("mine").kept() == ["v11"]
    assert browser("other").visit("/set") == "kept=crumbs"
    assert browser("other").kept() == ["v11"]
    assert key(peer) == stored


def test_a_start_behind_a_locker_waits_for_the_key(session, browser, peer):
    """Chromium loses no cookie, and reads on when the person is back."""
    assert session.login().returncode == 0
    assert browser("mine").visit("/set") == "kept=crumbs"
    stored = key(peer)
    assert answer_behind_a_locker(session, peer, lambda: browser("mine").visit("/kept"), TIMEOUT) == "kept=crumbs"
    assert browser("mine").kept() == ["v11"]
    assert key(peer) == stored


@pytest.mark.parametrize("store", ["kwallet5", "kwallet6"])
def test_its_key_is_kept_by_kwallets_interface(session, browser, store):
    """latchkey-kwallet serves the interface. A Chromium that starts behind a lock does not replace the key."""
    serve(session)
    assert session.login().returncode == 0
    assert browser("mine", store).visit("/set") == "kept=crumbs" and browser("mine").kept() == ["v11"]
    client = Client(session)
    assert client.open() > 0
    (folder,) = set(client.of("folderList", "")) - {"Passwords", "Form Data"}
    (entry,) = client.entries(folder)
    stored = client.read(entry, folder)
    assert "Safe Storage" in entry and stored
    session.lock()
    browser("other", store).visit("/set")
    assert session.locker().returncode == 0
    assert client.entries(folder) == [entry] and client.read(entry, folder) == stored
    assert browser("mine", store).visit("/kept") == "kept=crumbs"
