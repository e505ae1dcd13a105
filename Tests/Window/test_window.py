"""The window with a real vault, a real keyboard and the accessibility bus. The window shows the same as the command
line.
"""

import datetime
import json
import os
import shutil
import signal
import subprocess

import pytest
from support.appwindow import AppWindow
from support.languages import RIGHT_TO_LEFT, install, speaking, translation
from support.memory import scan
from support.session import is_alive, wait_until

PAGES = ("yesterday", "moving-in", "unlocking", "health", "who-asked")
SECRET = "open sesame 7341"
PINENTRY = """#!/bin/sh
echo OK
while read -r what; do
  case $what in
    SETPROMPT*ormer* | SETDESC*ormer*) former=yes; echo OK;;
    GETPIN*) if [ "$former" ]; then echo "D {former}"; else echo "D {present}"; fi; echo OK;;
    *) echo OK;;
  esac
done
"""


@pytest.fixture
def opened(session, display):
    """A function that opens the window of an unlocked session."""
    assert session.login().returncode == 0
    windows = []

    def start(*words, **variables):
        windows.append(AppWindow(session, display, *words, **variables))
        return windows[-1]

    start.session = session
    yield start
    for window in windows:
        window.close()


def told(session, *words):
    """The JSON output of a command, whatever its exit status."""
    return json.loads(session.run("latchkey", *words, "--json").stdout)


def store(session, count=3):
    for number in range(count):
        session.store(f"secret {number}", "service", f"mail{number}", label=f"Mail box {number}")
    session.store(SECRET, "service", "bank", label="Bank account")


def open_item(window, label):
    window.wait_for(label)
    window.click(label)
    window.wait_for("Attributes")


def test_the_list_has_what_find_says(opened):
    store(opened.session)
    window = opened()
    for item in told(opened.session, "find"):
        window.wait_for(item["label"])
    window.wait_for("Unlocked")
    assert window.shows("readable now") and window.ask("nameless") == []
    opened.session.store("later", "service", "later", label="Later")
    window.wait_for("Later")
    opened.session.run("secret-tool", "clear", "service", "later", check=True)
    window.wait_without("Later")


def test_the_search_finds_while_one_types(opened):
    store(opened.session)
    window = opened()
    window.wait_for("Mail box 1")
    window.type("BANK")
    window.wait_without("Mail box 1")
    assert window.shows("Bank account")
    window.type(" nowhere")
    window.wait_for("Nothing Found")


def test_enter_opens_the_first_item_found(opened):
    store(opened.session)
    window = opened()
    window.wait_for("Mail box 1")
    window.type("bank")
    window.wait_without("Mail box 1")
    window.keys("Return")
    window.wait_for("Attributes")


def test_words_typed_on_another_page_do_not_come_into_the_search(opened):
    store(opened.session)
    window = opened()
    window.wait_for("Mail box 1")
    window.click("Unlocking")
    window.wait_for("These Unlock the Vault")
    window.type("a password for a dialog that is not there")
    window.click("All Items")
    window.wait_for("Mail box 1")
    assert not window.shows("password for a dialog")


def test_an_item_shows_its_secret_only_when_asked_and_hides_it_at_a_lock(opened):
    store(opened.session)
    window = opened()
    open_item(window, "Bank account")
    (item,) = [one for one in told(opened.session, "find") if one["label"] == "Bank account"]
    for value in (*item["attributes"].keys(), *item["attributes"].values(), item["path"], "hidden", "Readable now."):
        window.wait_for(value)
    assert not window.shows(SECRET)
    window.press("Show Secret")
    window.wait_for(SECRET)
    opened.session.lock()
    window.wait_without(SECRET)
    window.wait_for("locked with the session")
    window.wait_for("latchkey lock")
    assert opened.session.locker().returncode == 0
    window.wait_for("Readable now.")
    assert not window.shows(SECRET)


@pytest.mark.skipif(os.getuid() != 0, reason="only root reads the memory of such a process")
def test_a_secret_is_gone_from_memory_when_the_item_is_left(opened):
    store(opened.session)
    window = opened()
    open_item(window, "Bank account")
    window.press("Show Secret")
    window.wait_for(SECRET)
    has_secret = lambda: bool(scan(window.program.pid, {"secret": SECRET.encode()}))
    assert has_secret()
    window.press("Back")
    window.wait_for("Mail box 1")
    # GTK frees the old text only after it has drawn the next frames.
    wait_until(lambda: not has_secret(), "the end of the secret in memory", 20)


def test_a_secret_is_hidden_when_it_changes(opened):
    store(opened.session)
    window = opened()
    open_item(window, "Bank account")
    window.press("Show Secret")
    window.wait_for(SECRET)
    opened.session.store("another", "service", "bank", label="Bank account")
    window.wait_without(SECRET)
    window.wait_for("hidden")


def test_a_shown_secret_is_copied_by_the_button_alone(opened):
    store(opened.session)
    window = opened()
    open_item(window, "Bank account")
    window.press("Show Secret")
    window.wait_for(SECRET)
    window.click(SECRET)
    window.keys("ctrl+a", "ctrl+c")
    window.press("Hide Secret")
    window.wait_for("hidden")
    for selection in ("primary", "clipboard"):
        assert SECRET not in pasted(opened.session, selection=selection)


def test_texts_of_other_programs_are_one_safe_line(opened):
    label = "Bank\n\n\u202eaccount" + "x" * 5000
    opened.session.store("secret", "service", "a\nvalue", label=label)
    window = opened()
    window.wait_for("Bank account")
    (shown,) = [text for text in window.texts() if text.startswith("Bank account")]
    assert (len(shown), shown[-1]) == (201, "…")
    open_item(window, shown)
    window.wait_for("a value")
    assert not window.shows("\u202e")


def pasted(session, kind="UTF8_STRING", selection="clipboard"):
    return session.run("xclip", "-o", "-selection", selection, "-t", kind).stdout


def copy(window):
    open_item(window, "Bank account")
    window.press("Copy Secret")
    window.wait_for("Copied.")
    assert pasted(window.session) == SECRET


def test_a_lock_takes_the_copied_secret_away(opened):
    store(opened.session)
    copy(opened())
    opened.session.lock()
    wait_until(lambda: pasted(opened.session) == "", "an empty clipboard")


def test_copy_marks_the_secret_and_clears_it(opened):
    store(opened.session)
    window = opened()
    copy(window)
    # GTK 4 lists this target. A request for a target without a slash gets no answer.
    assert "x-kde-passwordManagerHint" in pasted(opened.session, "TARGETS").split()
    window.keys("ctrl+q")
    wait_until(lambda: window.program.poll() is not None, "the end of the program")
    assert pasted(opened.session) == ""


def test_a_signal_closes_the_window(opened):
    window = opened()
    window.wait_for("Unlocked")
    window.program.terminate()
    wait_until(lambda: window.program.poll() == 0, "the end of the program")


def test_a_terminal_can_run_the_window_as_its_only_program(opened):
    # The program then leads a session. It gives its terminal up, and the kernel sends it SIGHUP for that.
    program = opened.session.stage / "usr/bin/latchkey-app"
    opened("-qec", f"exec {program}", "/dev/null", program="/usr/bin/script").wait_for("Unlocked")


def test_lock_now_and_the_state_follow_the_session(opened):
    window = opened()
    window.wait_for("Unlocked")
    window.press("Lock Now")
    window.wait_for("Locked")
    assert opened.session.status()["state"] == "locked"
    assert opened.session.locker().returncode == 0
    window.wait_for("Unlocked")
    assert opened.session.logout().returncode == 0
    window.wait_for("Sealed")


def test_a_sealed_vault_leads_to_the_page_that_says_why(opened):
    window = opened()
    window.wait_for("Unlocked")
    assert opened.session.logout().returncode == 0
    window.wait_for("Sealed")
    window.press("Health")
    window.wait_for(told(opened.session, "doctor")["checks"][0]["id"], 40)


def test_health_asks_for_the_former_password_after_a_change_without_latchkey(opened):
    session = opened.session
    assert session.logout().returncode == 0
    former = session.password
    session.set_password("sesame 9")
    # The desktop's dialog, in which a person types both passwords one after the other.
    pinentry = session.root / "bin/pinentry"
    pinentry.write_text(PINENTRY.format(present=session.password, former=former))
    pinentry.chmod(0o755)
    # A desktop gives its display to the bus at its start.
    session.run("dbus-update-activation-environment", "DISPLAY", check=True)
    session.restart()
    assert session.login().returncode == 0
    window = opened("--page", "health")
    window.wait_for("The password of the last login does not unlock the vault.", 40)
    window.press("Unlock…")
    window.wait_for("Unlocked", 60)


def test_a_language_from_right_to_left_mirrors_the_window(opened):
    install(opened.session.stage / "usr", RIGHT_TO_LEFT)
    window = opened(**speaking(RIGHT_TO_LEFT))
    place = lambda text: window.ask("centre", translation(text, RIGHT_TO_LEFT))
    wait_until(lambda: place("Health") and place("Lock Now"), "the window")
    # The list of pages is at the far right, and the button is at the left of the state.
    assert place("Health")[0] > place("Unlocked")[0] > place("Lock Now")[0]


def test_a_killed_daemon_comes_back_with_its_items(opened):
    store(opened.session)
    window = opened()
    window.wait_for("Bank account")
    former = opened.session.daemon_pid()
    os.kill(former, signal.SIGKILL)
    wait_until(lambda: not is_alive(former), "the daemon's end")
    window.wait_for("Sealed", 40)
    assert opened.session.login().returncode == 0
    window.wait_for("Bank account", 40)
    window.wait_for("Unlocked")


def test_a_stopped_daemon_does_not_stop_the_window(opened):
    store(opened.session)
    window = opened()
    window.wait_for("Bank account")
    process = opened.session.daemon_pid()
    os.kill(process, signal.SIGSTOP)
    try:
        window.click("Bank account")
        window.wait_for("Attributes")
        window.press("Back")
        window.wait_for("Mail box 1")
        window.click("Moving In")
        window.wait_for("Stores in Your Home")
    finally:
        os.kill(process, signal.SIGCONT)


def test_yesterday_brings_a_deleted_item_back(opened):
    session = opened.session
    store(session)
    session.run("latchkey", "history", "make", check=True)
    window = opened()
    open_item(window, "Bank account")
    window.press("Delete…")
    window.press("Delete")
    window.wait_without("Bank account")
    assert session.lookup("service", "bank") is None
    # The message about the deleted item has a button that leads to the page Yesterday.
    window.press("Yesterday")
    for item in told(session, "history", "diff")["items"]:
        window.wait_for(item["label"])
    window.press("Bring Back…")
    window.wait_for("1 item comes back.")
    assert session.lookup("service", "bank") is None
    window.press("Bring Back")
    wait_until(lambda: session.lookup("service", "bank") == SECRET, "the item")


def test_an_item_changes_its_class(opened):
    store(opened.session)
    kind = lambda: [one["class"] for one in told(opened.session, "find", "service=bank")]
    window = opened()
    open_item(window, "Bank account")
    window.wait_for("Programs can read it while the session is unlocked")
    opened.session.run("latchkey", "edit", "service=bank", "--class", "after-first-unlock", check=True)
    window.wait_for("Programs can read it from the first login to the last logout")
    window.click("from the first unlock on")
    window.keys("Up", "Return")
    wait_until(lambda: kind() == ["when-unlocked"], "the class")
    window.wait_for("Programs can read it while the session is unlocked")


def local(moment):
    """The text that the window shows for a moment of `--json`."""
    return datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).astimezone().strftime("%F %R")


@pytest.mark.parametrize("page", PAGES)
def test_each_page_says_what_the_command_says(opened, page):
    session = opened.session
    store(session)
    session.run("latchkey", "history", "make", check=True)
    (session.home / ".password-store").mkdir()
    (session.home / ".password-store/mail.gpg").touch()
    os.chown(session.home / ".password-store", session.uid, session.gid)
    window = opened("--page", page)
    if page == "yesterday":
        expected = [f"All {told(session, 'history', 'diff')['same']} items are the same as then."]
    elif page == "moving-in":
        expected = ["pass", "~/.password-store", "Make Latchkey Your Keyring"]
    elif page == "unlocking":
        expected = ["Login Password"] + [local(one["created"]) for one in told(session, "status")["protectors"]]
    elif page == "health":
        expected = [check["id"] for check in told(session, "doctor")["checks"]]
    else:
        expected = ["Nobody asked yet"]
    for text in expected:
        window.wait_for(text, 40)
    assert window.ask("nameless") == []
    session.lock()
    window.wait_for("Locked")
    assert session.locker().returncode == 0
    window.wait_for("Unlocked")


def test_a_second_start_goes_to_the_page(opened):
    window = opened()
    window.wait_for("Unlocked")
    session = opened.session
    environment = session.environment | {"GDK_BACKEND": "x11"}
    assert session.run(session.stage / "usr/bin/latchkey-app", "--page", "who-asked", env=environment).returncode == 0
    window.wait_for("Nobody asked yet")


def test_a_click_on_a_notification_goes_to_its_page(opened):
    session = opened.session
    window = opened()
    window.wait_for("Unlocked")
    # The daemon makes the same call to open the page.
    action = ["--object-path", "/org/latchkey/app", "--method", "org.freedesktop.Application.ActivateAction", "who-asked", "[]", "{}"]
    session.run("gdbus", "call", "--session", "--dest", "org.latchkey.app", *action, check=True)
    window.wait_for("Nobody asked yet")


def test_the_bus_starts_the_window_with_a_page(session, display):
    assert session.login().returncode == 0
    service = (session.stage / "usr/share/dbus-1/services/org.latchkey.app.service").read_text()
    assert "Exec=/usr/bin/latchkey-app --gapplication-service" in service
    window = AppWindow(session, display, "--gapplication-service", first="who-asked")
    try:
        window.wait_for("Nobody asked yet")
    finally:
        window.close()


def test_a_recovery_code_is_created_shown_once_and_checked(opened):
    session = opened.session
    # The window runs the `latchkey` in its own folder. In this folder, `latchkey` uses the session's PAM services.
    program = shutil.copy(session.stage / "usr/bin/latchkey-app", session.root / "bin")
    window = opened("--page", "unlocking", program=program)
    window.press("Create…")
    window.answer("Login password", "wrong")
    window.wait_for("the password was not accepted", 60)
    assert not told(session, "recovery", "status")["recovery_code"]
    window.press("Create…")
    window.answer("Login password", session.password)
    window.wait_for("When you have it on paper", 60)
    assert told(session, "recovery", "status")["recovery_code"]
    (code,) = [text for text in window.texts() if text.count("-") > 5 and text.isupper()]
    check = ["latchkey", "recovery", "check", "--stdin"]
    assert session.run(*check, input=code + "\n").returncode == 0
    window.press("Print…")
    wait_until(lambda: any(name == "Print" for _, name, _ in window.ask("tree") or []), "the print dialog")
    window.keys("Escape")
    window.press("Done")
    window.wait_without(code)
    window.press("Check…")
    window.answer("Recovery code", code)
    window.wait_for("The code is right", 60)


def test_wrong_usage_is_said(opened):
    done = opened.session.run(opened.session.stage / "usr/bin/latchkey-app", "--page", "nowhere")
    assert (done.returncode, done.stdout.splitlines()[0]) == (64, "usage: latchkey-app [--page NAME]")


def test_the_desktop_finds_the_program():
    for command in (["appstreamcli", "validate", "--pedantic", "--no-net", "window/org.latchkey.app.metainfo.xml"],
                    ["desktop-file-validate", "window/org.latchkey.app.desktop"]):  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, "hint" in done.stdout) == (0, False), done.stdout
