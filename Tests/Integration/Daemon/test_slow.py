"""The session's programs get a small share of one processor. A login still unlocks the vault at once or later, and the
prompt still recognizes a wrong passphrase.
"""

import subprocess

import pytest
from support.access import lookup, store
from support.person import ask_on_terminals
from support.quota import quota  # noqa: F401
from support.session import wait_until

pytestmark = pytest.mark.night("faults")


def move(process, group):
    """Limits a process, and its future children, to the share of the group."""
    (group.folder / "cgroup.procs").write_text(str(process))


@pytest.fixture
def opened(session):
    ask_on_terminals(session)
    assert session.login().returncode == 0
    return session


SHARES = pytest.mark.parametrize("percent", [50, 25, 10, 5])


def pam(session, group, service, *operations, **variables):
    """Starts pamtester with the session's password in the group. The group also limits the module and the helper."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = ["pamtester", service, session.user, *operations]
    process = session.start(*command, text=True, env=session.environment | variables, **pipes)
    move(process.pid, group)  # pamtester waits for the password
    _, errors = process.communicate(session.password)
    assert process.returncode == 0, errors


def await_unlocked(session):
    wait_until(lambda: session.status()["state"] == "unlocked", "the unlock", 60)


@SHARES
def test_the_locker_unlocks_at_once_or_later(opened, quota, percent):  # noqa: F811
    opened.lock()
    group = quota(percent)
    move(opened.daemon_pid(), group)
    pam(opened, group, "i3lock", "authenticate")
    await_unlocked(opened)


@SHARES
def test_each_login_unlocks_at_once_or_later(new_session, quota, percent):  # noqa: F811
    """The first login creates the vault, and a later login unlocks the vault."""
    for is_first in (True, False):
        assert (new_session.vault / "keybag").exists() != is_first
        process = new_session.start_daemon()
        group = quota(percent)
        move(process, group)
        pam(new_session, group, "login", "authenticate", "open_session")
        await_unlocked(new_session)
        new_session.await_helpers()
        new_session.stop_daemon()


@SHARES
def test_a_new_password_unlocks_at_once_or_later(opened, quota, percent):  # noqa: F811
    group, old, new = quota(percent), opened.password, "another password 12"
    move(opened.daemon_pid(), group)
    pam(opened, group, "passwd", "chauthtok", PAM_OLDAUTHTOK=old, PAM_AUTHTOK=new)
    opened.await_helpers()
    opened.set_password(new)
    opened.lock()
    pam(opened, group, "login", "authenticate", "open_session")
    await_unlocked(opened)


@SHARES
def test_a_wrong_item_passphrase_is_called_wrong_and_the_right_one_opens(opened, quota, percent):  # noqa: F811
    store(opened, "the secret", "open sesame", "k", "v")
    # The daemon starts latchkey-prompt, which starts the program that derives the key. The limit covers both programs.
    move(opened.daemon_pid(), quota(percent))
    person = lookup(opened, "k", "v").expect("assphrase").type("close sesame").expect("Checking").expect("not right")
    assert person.expect("assphrase").type("open sesame").last_line() == "the secret"


def test_a_prompt_that_is_withdrawn_while_the_passphrase_is_checked_says_so(opened, quota):  # noqa: F811
    store(opened, "the secret", "open sesame", "k", "v")
    move(opened.daemon_pid(), quota(5))
    person = lookup(opened, "k", "v").expect("assphrase").type("open sesame").expect("Checking...")
    opened.lock()
    # The vault is locked now, so the prompt asks for the login password.
    person.expect("The prompt was withdrawn").expect("login password").press("c")
    assert "the secret" not in person.output()
