"""While a program checks an answer, the person sees a message. If the prompt's window is gone, the message is a
notification. Otherwise the prompt shows the message.
"""

import subprocess
import time

import pytest
from support.access import lookup, store
from support.keychain import Windows
from support.notifications import know_the_first, notifications  # noqa: F401 (a fixture)
from support.person import ask_on_terminals
from support.session import wait_until

TITLE = "Latchkey is checking your answer"


@pytest.fixture
def slow(session):
    """A session with an item. The check of its passphrase takes until the file that the fixture gives exists."""
    ask_on_terminals(session)
    know_the_first(session)
    assert session.login().returncode == 0
    store(session, "the secret", "open sesame", "k", "v")
    leave, wait = session.root / "tmp/leave", session.root / "bin/wait"
    wait.write_text(f"#!/bin/sh\nuntil [ -e {leave} ]; do sleep 0.05; done\n")
    wait.chmod(0o755)
    stack = session.root / "pam.d/latchkey-item"
    stack.write_text(f"{stack.read_text().rstrip()}\nauth required pam_exec.so quiet {wait}\n")
    return leave


def test_a_window_that_is_gone_is_followed_by_a_notification(session, slow, notifications):
    windows = Windows(session)
    assert session.login().returncode == 0
    windows.answer("open sesame")
    reading = session.start("secret-tool", "lookup", "k", "v", stdout=subprocess.PIPE, text=True)
    wait_until(lambda: notifications.look(), "the notification")
    ((title, text),) = notifications.shown
    assert title == TITLE and "slow or busy machine" in text
    assert reading.poll() is None and notifications.closed == []
    slow.touch()
    assert reading.communicate()[0] == "the secret"
    wait_until(lambda: notifications.look() and notifications.closed == [1], "its end")


def test_a_terminal_says_it_itself(session, slow, notifications):
    person = lookup(session, "k", "v").expect("assphrase").type("open sesame").expect("Checking...")
    time.sleep(4)
    slow.touch()
    assert person.last_line() == "the secret"
    assert notifications.look() == []
