"""A session whose programs get a small share of one processor: what is unlocked opens at once or later, never never, and a
wrong passphrase is called wrong."""

import subprocess

import pytest
from support.access import lookup, store
from support.person import ask_on_terminals
from support.quota import quota  # noqa: F401
from support.session import wait_until


def move(process, group):
    """Lets a process, and what it starts from now on, have the group's share alone."""
    (group.folder / "cgroup.procs").write_text(str(process))


@pytest.fixture
def opened(session):
    ask_on_terminals(session)
    assert session.login().returncode == 0
    return session


@pytest.mark.parametrize("percent", [50, 25, 10, 5])
def test_the_locker_unlocks_at_once_or_later(opened, quota, percent):  # noqa: F811
    opened.lock()
    group = quota(percent)
    move(opened.daemon_pid(), group)
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    locker = opened.start("pamtester", "i3lock", opened.user, "authenticate", text=True, **pipes)
    move(locker.pid, group)  # it waits for the password
    locker.communicate(opened.password)
    assert locker.returncode == 0
    wait_until(lambda: opened.status()["state"] == "unlocked", "the unlock", 60)


@pytest.mark.parametrize("percent", [25, 5])
def test_a_wrong_item_passphrase_is_called_wrong_and_the_right_one_opens(opened, quota, percent):  # noqa: F811
    store(opened, "the secret", "open sesame", "k", "v")
    # The daemon starts what asks, and that starts what makes a key of the passphrase.
    move(opened.daemon_pid(), quota(percent))
    person = lookup(opened, "k", "v").expect("assphrase").type("close sesame").expect("Checking").expect("not right")
    assert person.expect("assphrase").type("open sesame").last_line() == "the secret"


def test_a_prompt_that_is_withdrawn_while_the_passphrase_is_checked_says_so(opened, quota):  # noqa: F811
    store(opened, "the secret", "open sesame", "k", "v")
    move(opened.daemon_pid(), quota(5))
    person = lookup(opened, "k", "v").expect("assphrase").type("open sesame").expect("Checking...")
    opened.lock()
    # The vault is locked now: that is another question.
    person.expect("The prompt was withdrawn").expect("login password").press("c")
    assert "the secret" not in person.output()
