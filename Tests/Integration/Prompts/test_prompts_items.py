"""Protected items on a desktop: real clients, GNOME's real prompter, and a person at the screen. `.build/pictures`
keeps a picture of the prompt.
"""

import os
import signal

import pytest
from support.clients import CLASS
from support.dialog import Tool, display, locker, screen  # noqa: F401
from support.session import REPOSITORY

REQUIRE = "latchkey:require"
PASSPHRASE = "open sesame, please"
SECRET = "what the bank wants"
BANK = ["bank", "mine"]
CHOOSE, ENTER = 'Choose a passphrase for the item "Bank"', 'Enter the passphrase of the item "Bank"'


@pytest.fixture
def dialog(screen):  # noqa: F811
    """A desktop with an unlocked and empty vault. At the end, no window may be left on the screen."""
    assert screen.session.login().returncode == 0
    screen.session.run("latchkey", "rm", "--all", "bank=mine")
    assert screen.session.status()["items"] == 0
    screen._expected = len(screen.questions)
    yield screen
    screen.expect_nothing()


@pytest.fixture
def stored(dialog):
    """An item with a passphrase that secret-tool has stored. The item's keys stay in memory behind a locker."""
    tool = store(dialog, "application-password", CLASS, "after-first-unlock")
    dialog.expect()
    dialog.answer(PASSPHRASE, PASSPHRASE)
    assert tool.end() == ("", 0)
    return dialog


def store(dialog, conditions, *attributes):
    words = ["store", "--label=Bank", *BANK, *attributes, REQUIRE, conditions]
    return Tool(dialog.session, *words, input=SECRET)


def lookup(dialog):
    return Tool(dialog.session, "lookup", *BANK)


def read(dialog):
    """Checks that the next prompt works."""
    tool = lookup(dialog)
    assert dialog.expect()["warning"] == ""
    dialog.answer(PASSPHRASE)
    assert tool.end() == (SECRET, 0)


def keep_picture(dialog, name):
    pictures = REPOSITORY / ".build/pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    dialog.picture(pictures / name)


def test_a_passphrase_is_chosen_and_asked_for(dialog):
    tool = store(dialog, "application-password")
    question = dialog.expect()
    assert (question["title"], question["message"]) == ("New passphrase", CHOOSE)
    assert question["description"].replace("\\", "") == (
        'The application "secret-tool" (as far as can be told) wants the item "Bank" to have a passphrase.')
    # The prompter shows the second field, and a bar for the strength of the passphrase.
    assert dialog.properties()["password-new"] == "true"
    dialog.fill(PASSPHRASE)
    keep_picture(dialog, "new-passphrase.png")
    dialog.answer(PASSPHRASE, PASSPHRASE)
    assert tool.end() == ("", 0)
    assert dialog.strength() > 0
    tool = lookup(dialog)
    assert dialog.expect()["message"] == ENTER
    assert dialog.properties()["password-new"] == "false"
    keep_picture(dialog, "prompt.png")
    dialog.answer(PASSPHRASE)
    assert tool.end() == (SECRET, 0)
    for kept in (dialog.heard, dialog.session.log()):
        assert PASSPHRASE not in kept and SECRET not in kept


def test_wrong_then_right(stored):
    tool = lookup(stored)
    stored.expect()
    stored.answer("something else")
    question = stored.expect()
    assert question["message"] == ENTER and question["warning"] == "That passphrase is not right. Try again."
    stored.answer(PASSPHRASE)
    assert tool.end() == (SECRET, 0)


def test_two_that_differ(dialog):
    tool = store(dialog, "application-password")
    dialog.expect()
    dialog.answer_in_vain(PASSPHRASE, "something else")
    # The prompter itself shows the error, and asks again.
    assert tool.is_waiting and dialog.session.status()["items"] == 0
    dialog.answer(PASSPHRASE, PASSPHRASE)
    assert tool.end() == ("", 0)
    read(dialog)


def test_cancelled(stored):
    tool = lookup(stored)
    stored.expect()
    stored.cancel()
    assert tool.end() == ("", 1)
    read(stored)


def test_nothing_is_stored_without_a_passphrase(dialog):
    tool = store(dialog, "application-password")
    dialog.expect()
    dialog.cancel()
    tool.end()
    assert dialog.session.status()["items"] == 0


def test_the_password_and_then_the_passphrase(dialog):
    tool = store(dialog, "user-presence,application-password")
    dialog.expect()
    dialog.answer(PASSPHRASE, PASSPHRASE)
    assert tool.end() == ("", 0)
    for answers in ([dialog.session.password, None], [None]):
        tool = lookup(dialog)
        assert dialog.expect()["message"] == 'Enter your login password to unlock the item "Bank"'
        for answer in answers:
            if answer is None:
                dialog.cancel()
            else:
                dialog.answer(answer)
                assert dialog.expect()["message"] == ENTER
        assert tool.end() == ("", 1)
    tool = lookup(dialog)
    dialog.expect()
    dialog.answer(dialog.session.password)
    dialog.expect()
    dialog.answer(PASSPHRASE)
    assert tool.end() == (SECRET, 0)


def test_a_client_that_is_killed_takes_its_prompt_with_it(stored):
    tool = lookup(stored)
    stored.expect()
    tool.kill()
    stored.expect_nothing()
    read(stored)


@pytest.mark.parametrize("victim", ["gcr-prompter", "latchkey-prompt"])
def test_killed_while_it_asks(stored, victim):
    tool = lookup(stored)
    stored.expect()
    (program,) = stored.programs()
    os.kill(program if victim == "latchkey-prompt" else stored.prompter(), signal.SIGKILL)
    assert tool.end() == ("", 1)
    stored.expect_nothing()
    read(stored)


@pytest.mark.parametrize("way", ["not answered", "answered just then"])
def test_the_screen_is_locked_while_it_is_asked(stored, locker, way):  # noqa: F811
    """The keys of this item's class stay in memory behind the lock."""
    tool = lookup(stored)
    stored.expect()
    if way == "not answered":
        locker(True)
    else:
        # The daemon finds the answer and the lock at the same time.
        daemon = stored.session.daemon_pid()
        os.kill(daemon, signal.SIGSTOP)
        stored.answer(PASSPHRASE)
        locker(True, lambda: os.kill(daemon, signal.SIGCONT))
    stored.expect_nothing()
    # The next prompt is for the session.
    locker(False)
    assert stored.expect()["message"] == "Enter your login password"
    stored.cancel()
    assert tool.end() == ("", 1)
