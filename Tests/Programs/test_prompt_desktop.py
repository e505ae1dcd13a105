"""latchkey-prompt with the desktop's prompter: the real gcr-prompter under Xvfb, and a stand-in for Plasma's prompter."""

import os
import re
import signal
import subprocess

import pytest
from support.derive import PASSWORD, as_root
from support.pace import seconds
from support.prompting import Plasma, Prompting, Screen, SessionBus, Terminal, wait_until
from support.standin import (
    ACCEPTED, COLLECTION, DISMISSED, ITEM, NEW_ITEM_PASSPHRASE, NEW_PASSPHRASE, UNAVAILABLE, WRONG_ANSWERS,
)
from test_prompt_security_key import OFFER, Touch, keyed  # noqa: F401
from test_security_key import PIN, library  # noqa: F401

pytestmark = [pytest.mark.night("prompters"), pytest.mark.second_try]

GNOME = "org.gnome.keyring.SystemPrompter"
GCR_PROMPTER = "/usr/libexec/gcr-prompter"
ASKED = "Enter your login password: "
WRONG = "That password is not right. Try again."


@pytest.fixture(scope="module")
def screen():
    screen = Screen()
    yield screen
    screen.close()


@pytest.fixture
def prompting(login, programs, screen):
    prompting = Prompting(login, programs / "latchkey-prompt")
    prompting.environment["DISPLAY"] = screen.display
    yield prompting
    prompting.close()


@pytest.fixture
def bus(prompting):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(prompting.login.home), "LANG": "C.UTF-8", "NO_AT_BRIDGE": "1",
                   "DISPLAY": prompting.environment["DISPLAY"], "XDG_RUNTIME_DIR": str(prompting.login.runtime),
                   "GSETTINGS_BACKEND": "memory"}
    bus = SessionBus(prompting.folder, environment)
    prompting.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.address
    yield bus
    bus.close()


@pytest.fixture
def gnome(bus):
    """gcr-prompter starts on the first request."""
    bus.offer(GNOME, GCR_PROMPTER)
    return bus


@pytest.fixture
def plasma(prompting, bus):
    prompting.environment["XDG_CURRENT_DESKTOP"] = "KDE"
    made = []

    def make(*steps, **options):
        made.append(Plasma(bus, *steps, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def shown(bus):
    """The content of each PerformPrompt, which is the text that GNOME's prompter shows."""
    return [{name: value for name, (_, value) in body[2].items()} for body in bus.calls("PerformPrompt")]


def ask(prompting, bus, screen, times=1, **request):
    """Starts the prompt and waits until the screen shows it."""
    prompting.start(**request)
    wait_until(lambda: len(shown(bus)) >= times, "PerformPrompt")
    screen.focus()


def type_until_end(prompting, screen, text):
    """Types into a dialog. The dialog will ask once more. Input before the dialog asks again is lost."""
    for _ in range(5):
        screen.focus()
        screen.press("ctrl+a")
        screen.type(text)
        try:
            prompting.process.wait(seconds(2))
            return
        except subprocess.TimeoutExpired:
            pass


def test_the_right_password_in_gnomes_dialog(prompting, gnome, screen):
    ask(prompting, gnome, screen, caller="mail")
    (text,) = shown(gnome)
    assert (text["title"], text["message"]) == ("Unlock Latchkey", "Enter your login password")
    assert text["description"] == 'The application "mail" (as far as can be told) wants access to your secrets.'
    assert (text["warning"], text["password-new"]) == ("", False)
    screen.type(PASSWORD)
    assert prompting.end() == ACCEPTED
    wait_until(lambda: not screen.windows(), "the dialog's end")
    assert prompting.said == ""
    # The password did not go over the bus either.
    assert PASSWORD not in repr([message.body for message in gnome.messages])


def test_a_wrong_password_is_said_in_the_dialog(prompting, gnome, screen):
    ask(prompting, gnome, screen)
    screen.type("wrong")
    wait_until(lambda: len(shown(gnome)) == 2, "the second question")
    assert shown(gnome)[1]["warning"] == WRONG
    type_until_end(prompting, screen, PASSWORD)
    assert prompting.end() == ACCEPTED
    # One dialog asked both questions.
    assert len(gnome.calls("BeginPrompting")) == 1


@as_root
def test_a_password_from_gnomes_dialog_is_forgotten(prompting, gnome, screen):
    wrong = "falsches-Zebra-Batterie-815"
    ask(prompting, gnome, screen, caller="a-caller-to-be-found")
    screen.type(wrong)
    wait_until(lambda: len(shown(gnome)) == 2, "the second question")
    memory = prompting.memory()
    assert b"a-caller-to-be-found" in memory
    assert wrong.encode() not in memory and wrong.encode()[8:] not in memory


@as_root
def test_a_password_from_plasmas_window_is_forgotten(prompting, plasma):
    wrong = "falsches-Zebra-Batterie-815"
    window = plasma(wrong, Plasma.WAIT)
    prompting.start(caller="a-caller-to-be-found")
    wait_until(lambda: window.actions == [1], "the second question")
    memory = prompting.memory()
    assert b"a-caller-to-be-found" in memory
    assert wrong.encode() not in memory and wrong.encode()[8:] not in memory


def test_gnomes_dialog_dismissed(prompting, gnome, screen):
    ask(prompting, gnome, screen)
    screen.press("Escape")
    assert prompting.end() == DISMISSED
    assert len(shown(gnome)) == 1


def test_gnomes_prompter_killed_while_it_asks(prompting, gnome, screen):
    ask(prompting, gnome, screen)
    os.kill(gnome.owner(GNOME), signal.SIGKILL)
    assert prompting.end() == DISMISSED


@pytest.mark.parametrize("way", ["withdrawn", "stopped", "killed"])
def test_gnomes_dialog_goes_with_the_prompt(prompting, gnome, screen, way):
    ask(prompting, gnome, screen)
    if way == "withdrawn":
        prompting.withdraw()
        assert prompting.end() is None
    elif way == "stopped":
        prompting.process.terminate()
        assert prompting.end() == DISMISSED
    else:
        prompting.process.kill()
    wait_until(lambda: not screen.windows(), "the dialog's end")
    if way != "killed":
        wait_until(lambda: gnome.calls("StopPrompting"), "StopPrompting")


def test_gnomes_dialog_asks_twice_for_what_is_new(prompting, gnome, screen):
    ask(prompting, gnome, screen, purpose=NEW_PASSPHRASE, label="Work")
    assert shown(gnome)[0]["password-new"] is True
    assert shown(gnome)[0]["message"] == 'Choose a passphrase for the collection "Work"'
    screen.type(PASSWORD, key="Tab")
    screen.type(PASSWORD)
    assert prompting.end() == ACCEPTED
    assert len(shown(gnome)) == 1


def test_a_prompt_waits_for_the_one_before(prompting, gnome, screen, login, programs):
    ask(prompting, gnome, screen)
    (first,) = screen.windows()
    other = Prompting.__new__(Prompting)
    other.__dict__.update(prompting.__dict__)
    other.log = prompting.folder / "log2"
    other.number = 8
    other.start(purpose=COLLECTION)
    wait_until(lambda: len(gnome.calls("BeginPrompting")) == 2, "the second")
    screen.press("Escape")
    assert prompting.end() == DISMISSED
    wait_until(lambda: len(shown(gnome)) == 2, "the second dialog")
    assert shown(gnome)[1]["message"] == "Enter the passphrase of the collection"
    screen.focus()
    screen.type(PASSWORD)
    assert other.end() == ACCEPTED


@pytest.fixture
def pinentry(prompting, request):
    """A real pinentry with windows, and a record of its input and output."""
    kind = getattr(request, "param", "pinentry-gtk-2")
    program, told, said = prompting.programs / "pinentry", prompting.folder / "told", prompting.folder / "said"
    for file in (told, said):
        file.touch()
        file.chmod(0o666)
    # A line goes into the file before it is passed on. tee would write the file afterwards, perhaps after the test has read it.
    program.write_text(f"""#!/bin/bash
PATH=/usr/bin:/bin
keep() {{ while IFS= read -r line; do printf '%s\\n' "$line" >>$1; printf '%s\\n' "$line"; done }}
exec {kind} < <(keep {told}) > >(keep {said})
""")
    program.chmod(0o755)
    return lambda: (told.read_text(), said.read_text())


def test_pinentry_asks_twice_for_what_is_new_and_rates_it(prompting, pinentry, screen):
    prompting.start(purpose=NEW_ITEM_PASSPHRASE, label="Bank", caller="mail")
    type_into_pinentry(screen, "12345", PASSWORD)
    # pinentry itself says that the two passphrases differ, and asks again.
    type_into_pinentry(screen, PASSWORD, PASSWORD)
    assert prompting.end() == ACCEPTED
    told, said = pinentry()
    assert "SETREPEATERROR The two passphrases were not the same. Tab goes to the second field." in told.splitlines()
    # A number below 0 is a warning.
    assert "INQUIRE QUALITY 12345" in said.splitlines() and re.search("^D -[1-9]", told, re.M)
    assert re.search(r"^D [1-9]", told, re.M) and "S PIN_REPEATED" in said.splitlines()
    assert told.splitlines().count("GETPIN") == 1 and "allow-external-password-cache" not in told
    assert "New passphrase again:" in told


def test_pinentry_asks_once_for_what_is_there(prompting, pinentry, screen):
    prompting.start(purpose=ITEM, access=1 << 31, label="Bank", caller="mail")
    type_into_pinentry(screen, PASSWORD)
    assert prompting.end() == ACCEPTED
    told, said = pinentry()
    assert "SETREPEAT" not in told and "QUALITY" not in told + said and "allow-external-password-cache" not in told


@pytest.mark.parametrize("pinentry", ["pinentry-qt", "pinentry-gtk-2"], indirect=True)
def test_nothing_that_others_chose_is_markup(prompting, pinentry, screen):
    """Some versions of pinentry-qt take a text for markup if it looks like markup."""
    label, caller = "<h1>Bank</h1>&lt;<img src='x'>", "<b>mail</b> & <i>more</i>"
    reason = "<table><tr><td>now</td></tr></table>"
    prompting.start(purpose=ITEM, access=1 << 31, label=label, caller=caller, reason=reason)

    def is_dismissed():
        # A new window may not react to keys yet.
        for window in screen.windows()[:1]:
            screen.do("windowfocus", window)
            screen.press("Escape")
        return prompting.process.poll() is not None

    wait_until(screen.windows, "a window")
    wait_until(is_dismissed, "the prompt's end")
    assert prompting.end() == DISMISSED
    told, _ = pinentry()
    texts = [line for line in told.splitlines() if line.startswith("SET")]
    assert '"(h1)Bank(/h1)+lt;(img src=\'x\')"' in told and '"(b)mail(/b) + (i)more(/i)"' in told
    assert not re.search("[<>&]|%3[CE]|%26", "".join(texts), re.I), texts


def type_into_pinentry(screen, *texts):
    screen.focus()
    for text in texts[:-1]:
        # A button that shows the typed text is between the fields.
        screen.do("type", "--delay", "20", "--file", "-", text=text)
        screen.do("key", "Tab", "Tab")
    screen.type(texts[-1])


# Prompters that do not work


def test_prompters_that_do_not_work_are_left_for_the_terminal(prompting, bus):
    """One prompter cannot be started. The other one starts, takes the name, and then stays silent."""
    silent = prompting.folder / "silent"
    silent.write_text(f"""#!/usr/bin/python3
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection
connection = open_dbus_connection("{bus.address}")
connection.send_and_get_reply(message_bus.RequestName("{GNOME}"))
while True:
    connection.receive()
""")
    silent.chmod(0o755)
    prompting.environment["XDG_CURRENT_DESKTOP"] = "X-Test:KDE"
    bus.offer(Plasma.NAME, "/bin/false")
    bus.offer(GNOME, silent)
    terminal = Terminal()
    prompting.start(terminal=terminal.path)
    terminal.expect(ASKED)
    terminal.type(PASSWORD + "\n")
    assert prompting.end() == ACCEPTED
    assert bus.calls("BeginPrompting") and not bus.calls("PerformPrompt")
    terminal.close()


def test_nobody_on_the_bus(prompting, bus):
    prompting.start()
    assert prompting.end() == UNAVAILABLE


def test_gnomes_prompter_is_not_started_without_a_display(prompting, gnome):
    del prompting.environment["DISPLAY"]
    prompting.start()
    assert prompting.end() == UNAVAILABLE
    assert not gnome.calls("BeginPrompting")


def test_somebody_else_cannot_answer(prompting, gnome, screen):
    """Only the called prompter may call back."""
    from jeepney import DBusAddress, MessageType, new_method_call

    ask(prompting, gnome, screen)
    caller = next(message.header.fields[7] for message in gnome.messages if message.header.fields.get(3) == "PerformPrompt")
    address = DBusAddress("/org/latchkey/prompt", caller, "org.gnome.keyring.internal.Prompter.Callback")
    with gnome.connect() as connection:
        for call in (new_method_call(address, "PromptReady", "sa{sv}s", ("no", {}, "")), new_method_call(address, "PromptDone")):
            reply = connection.send_and_get_reply(call)
            assert reply.header.message_type == MessageType.error
            assert reply.header.fields[4] == "org.freedesktop.DBus.Error.AccessDenied"
    screen.type(PASSWORD)
    assert prompting.end() == ACCEPTED


# Plasma


def test_the_right_password_in_plasmas_window(prompting, plasma, gnome):
    window = plasma(PASSWORD)
    prompting.start(caller="mail")
    assert prompting.end() == ACCEPTED
    ((member, path, parent, token, name),) = window.prompts
    assert (member, parent, token) == ("UnlockCollectionPrompt", "", "")
    assert name == 'Latchkey: Enter your login password. The application "mail" (as far as can be told) wants access to your secrets'
    wait_until(lambda: window.actions == [0], "the window's end")
    assert window.retries == [] and not gnome.calls("BeginPrompting")


def test_an_answer_that_is_too_long_does_not_stay_in_plasmas_pipe(prompting, plasma):
    window = plasma("x" * 600)
    prompting.start()
    assert prompting.end() != ACCEPTED
    (left,) = window.left
    assert os.read(left, 1000) == b""


def test_a_wrong_password_is_said_in_plasmas_window(prompting, plasma):
    window = plasma("wrong", PASSWORD)
    prompting.start()
    assert prompting.end() == ACCEPTED
    wait_until(lambda: window.actions == [1, 0], "the window's end")
    assert window.retries == [WRONG] and len(window.prompts) == 1


def test_three_wrong_passwords_in_plasmas_window(prompting, plasma):
    window = plasma("wrong", "wrong", "wrong")
    prompting.start()
    assert prompting.end() == WRONG_ANSWERS
    wait_until(lambda: window.actions == [1, 1, 0], "the window's end")


@pytest.mark.parametrize("step", [Plasma.REJECT, Plasma.CLOSE, Plasma.VANISH], ids=["rejected", "closed", "vanished"])
def test_plasmas_window_dismissed(prompting, plasma, step):
    plasma(step)
    prompting.start()
    assert prompting.end() == DISMISSED


def test_plasmas_window_goes_with_the_prompt(prompting, plasma):
    window = plasma(Plasma.WAIT)
    prompting.start()
    wait_until(lambda: window.prompts, "the window")
    prompting.withdraw()
    assert prompting.end() is None
    wait_until(lambda: window.dismissed, "the window's end")


def test_plasmas_window_is_asked_twice_for_what_is_new(prompting, plasma):
    window = plasma("one", "other", PASSWORD, PASSWORD)
    prompting.start(purpose=NEW_PASSPHRASE, label="Work")
    assert prompting.end() == ACCEPTED
    assert [(each[0], "again" in each[4]) for each in window.prompts] == [("CreateCollectionPrompt", n % 2 == 1) for n in range(4)]
    assert len({each[1] for each in window.prompts}) == 4
    assert window.retries == ["The two passphrases were not the same. Try again."]


def test_a_plasma_that_does_not_answer_is_left_for_gnome(prompting, plasma, gnome, screen):
    window = plasma(answers=False)
    ask(prompting, gnome, screen)
    screen.press("Escape")
    assert prompting.end() == DISMISSED
    assert len(window.prompts) == 1
    wait_until(lambda: window.dismissed, "the late window's end")


@pytest.mark.parametrize("way", ["touched", "cancelled"])
def test_gnomes_dialog_waits_for_the_security_key(keyed, gnome, screen, way):  # noqa: F811
    """The dialog stays while the key waits, and its Cancel works. The question for the PIN already tells the person
    to touch the key."""
    touch = Touch(keyed.key)
    ask(keyed, gnome, screen)
    assert shown(gnome)[0]["description"].endswith(OFFER)
    screen.press("Return")
    wait_until(lambda: len(shown(gnome)) == 2, "the question for the PIN")
    assert shown(gnome)[1]["message"] == "Enter the PIN of your security key, then touch the key"
    for _ in range(5):
        screen.focus()
        screen.press("ctrl+a")
        screen.type(PIN)
        if touch.is_waiting(2):
            break
    touch.wait()
    if way == "touched":
        touch.give()
        assert keyed.end() == ACCEPTED and len(keyed.daemon.deliveries) == 1
    else:
        screen.press("Escape")
        assert keyed.end() == DISMISSED
        touch.give()
        assert not keyed.daemon.deliveries
    wait_until(lambda: not screen.windows(), "the dialog's end")
    assert len(gnome.calls("BeginPrompting")) == 1


def test_plasmas_window_stays_until_the_security_key_was_touched(keyed, plasma):  # noqa: F811
    window = plasma("", PIN)
    keyed.start()
    assert keyed.end() == ACCEPTED and len(keyed.daemon.deliveries) == 1
    first, second = (prompt[-1] for prompt in window.prompts)
    assert OFFER.rstrip(".") in first and "then touch the key" in second
    assert window.actions[0] == 0
