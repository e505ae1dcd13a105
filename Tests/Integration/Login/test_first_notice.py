"""The notification of the first login. The daemon shows the notification once, if its text is true and a program can
show notifications.
"""

import sqlite3
import stat
import time

import pytest
from gi.repository import Gio, GLib
from support.notifications import MARKER, Notifications, notifications  # noqa: F401 (a fixture)
from support.peer import SECRETS, Peer
from support.session import wait_until
from support.vaultreader import blake2b, number

DRIVER = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
DAYS = 24 * 3600
STORES = {
    ".local/share/keyrings/login.keyring": "latchkey import gnome-keyring",
    ".local/share/kwalletd/kdewallet.kwl": "latchkey import kwallet",
    ".local/share/keyrings/v1/default.keyring": "latchkey import oo7",
}


def leave(session, path, content="what nobody reads"):
    """Makes a file in the home folder, and sets its last access to a time long ago."""
    script = 'mkdir -p "${1%/*}" && printf %s "$2" >"$1" && touch -a -d @1 "$1"'
    session.run("sh", "-c", script, "sh", session.home / path, content, check=True)


def the_one(notifications):
    """Checks that exactly one notification was shown, and returns its text."""
    wait_until(notifications.look, "the notification")
    ((title, text),) = notifications.shown
    assert title == "Latchkey keeps your secrets now" and "'latchkey switch --back'" in text
    # Some notification servers understand markup, so the text contains no characters of markup.
    assert not set("<>&") & set(title + text)
    return text


def test_a_keyring_that_waits_is_told_of_with_what_ends_that(new_session, notifications):
    session = new_session
    session.start_daemon()
    keyring = session.start("gnome-keyring-daemon", "--foreground", "--components=secrets")
    queue = ["busctl", "--user", "call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "ListQueuedOwners", "s", SECRETS]
    wait_until(lambda: session.run(*queue).stdout.startswith("as 2 "), "gnome-keyring, which waits")
    # When any program appears on the bus, the daemon looks up who waits for the name.
    other = Peer(session)
    other.bus.call_sync(*DRIVER, "RequestName", GLib.Variant("(su)", ("org.example.Other", 0)), None, 0, 10000, None)
    try:
        assert session.login().returncode == 0
        text = the_one(notifications)
        assert "'latchkey switch --to latchkey'" in text and "Another program that keeps secrets still runs" in text
    finally:
        keyring.terminate()
        keyring.wait()
        other.close()


def test_once_and_never_again(new_session, notifications):
    session = new_session
    assert notifications.look() == [] and not (session.home / MARKER).exists()
    assert session.login().returncode == 0
    text = the_one(notifications)
    assert "import" not in text and "--to latchkey" not in text and session.user not in text
    wait_until((session.home / MARKER).exists, "the note that it was shown")
    assert stat.S_IMODE((session.home / MARKER).stat().st_mode) == 0o600
    session.lock()
    session.locker()
    session.logout()
    assert session.login().returncode == 0
    session.restart()
    assert session.login().returncode == 0 and session.status()["state"] == "unlocked"
    assert len(notifications.look()) == 1


@pytest.mark.night("login")
@pytest.mark.parametrize("paths", [[path] for path in STORES] + [list(STORES)[:2]], ids=len)
def test_former_secrets_are_named_and_not_read(new_session, notifications, paths):
    for path in paths:
        leave(new_session, path)
    # These files do not have the names of keyrings, or are empty.
    leave(new_session, ".local/share/keyrings/user.keystore")
    leave(new_session, ".local/share/keyrings/empty.keyring", "")
    leave(new_session, ".local/share/kwalletd/kdewallet.salt")
    new_session.login()
    text = the_one(notifications)
    assert [command for command in STORES.values() if f"'{command}'" in text] == [STORES[path] for path in paths]
    assert ("KWallet" in text) == any("kwalletd" in path for path in paths)
    for path in paths:
        assert (new_session.home / path).stat().st_atime == 1


def test_a_desktop_that_comes_later(new_session):
    session = new_session
    session.login()
    session.status()
    assert not (session.home / MARKER).parent.exists()
    session.logout()
    # The first login had no desktop, so it could not show the notification.
    session.login()
    notifications = Notifications(session)
    the_one(notifications)
    notifications.close()
    again = Notifications(session)
    session.logout()
    session.login()
    assert again.look() == []
    again.close()


@pytest.mark.night("login")
def test_a_month_later_it_is_no_news(new_session):
    session = new_session
    session.login()
    for age, is_news in ((31 * DAYS, False), (29 * DAYS, True)):
        session.stop_daemon()
        with sqlite3.connect(session.vault / "vault.db") as database:
            vault, index_key = database.execute("SELECT vault, index_key FROM vault").fetchone()
            created = int(time.time()) - age
            content = vault + number(created, 8) + number(len(index_key), 4) + index_key
            database.execute("UPDATE vault SET created = ?, checksum = ?", (created, blake2b(content, 16)))
        database.close()
        session.start_daemon()
        notifications = Notifications(session)
        assert session.login().returncode == 0 and session.status()["state"] == "unlocked"
        assert bool(notifications.look()) == is_news and session.status()["problems"] == []
        notifications.close()


def test_who_has_run_the_switch_knows(new_session, notifications):
    leave(new_session, ".local/state/latchkey/switch.json", "{}")
    new_session.login()
    assert new_session.status()["state"] == "unlocked" and notifications.look() == []


def test_not_behind_a_locker(new_session, notifications):
    peer = Peer(new_session)
    peer.activate_screen_saver(True)
    wait_until(lambda: new_session.status()["locker_up"], "the locker")
    new_session.login()
    assert notifications.look() == []
    peer.activate_screen_saver(False)
    new_session.login()
    the_one(notifications)
    peer.close()


def test_only_where_programs_reach_the_vault(new_session, notifications, stage):
    session = new_session
    other = Peer(session)
    other.bus.call_sync(*DRIVER, "RequestName", GLib.Variant("(su)", (SECRETS, 0)), None, 0, 10000, None)
    session.stop_daemon()
    daemon = session.start(
        stage / "usr/libexec/latchkeyd", "--home", session.home, "--runtime", session.runtime,
        "--rules", stage / "usr/share/latchkey/rules.yaml", "--device-socket", session.root / "device.sock")  # fmt: skip
    try:
        wait_until((session.runtime / "latchkey/control").exists, "the daemon")
        assert session.login().returncode == 0 and session.status()["state"] == "unlocked"
        other.listen()
        assert notifications.shown == [] and session.status()["name_owner"] != "latchkeyd"
        other.bus.call_sync(*DRIVER, "ReleaseName", GLib.Variant("(s)", (SECRETS,)), None, 0, 10000, None)
        the_one(notifications)
    finally:
        daemon.terminate()
        daemon.wait()
        other.close()


WINDOW = """
<node><interface name="org.freedesktop.Application"><method name="ActivateAction">
  <arg type="s" direction="in"/><arg type="av" direction="in"/><arg type="a{sv}" direction="in"/>
</method></interface></node>"""


def test_a_click_has_the_window_show_its_page(new_session, notifications):
    asked = []

    def called(_bus, _sender, _path, _interface, _method, arguments, invocation):
        asked.append(arguments.unpack())
        invocation.return_value(None)

    window = Peer(new_session)
    (interface,) = Gio.DBusNodeInfo.new_for_xml(WINDOW).interfaces
    window.bus.register_object("/org/latchkey/app", interface, called, None, None)
    window.bus.call_sync(*DRIVER, "RequestName", GLib.Variant("(su)", ("org.latchkey.app", 0)), None, 0, 10000, None)
    try:
        assert new_session.login().returncode == 0
        the_one(notifications)
        notifications.click(1)
        wait_until(lambda: notifications.look() and asked, "the call of the window")
        assert asked == [("moving-in", [], {"activation-token": "token"})]
        notifications.click(1)
        notifications.look()
        assert len(asked) == 1
    finally:
        window.close()
