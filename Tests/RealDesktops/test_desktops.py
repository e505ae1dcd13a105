"""Latchkey in real desktops. Their display manager or PAM service logs in, their own locker locks, and their own
prompter shows the prompts. A program types as the person. `.build/pictures` keeps the pictures.
"""

import pytest
from desktop import ENDED
from support.machine import eventually
from support.pace import seconds
from support.sleeping import Sleep, await_inhibitor

LOCKED = "org.freedesktop.Secret.Error.IsLocked"
PRESENCE = ("latchkey:require", "user-presence")
PASSPHRASE = ("latchkey:require", "application-password")


def output(process):
    """The output of an ended lookup, or None if it printed no secret."""
    printed, _ = process.communicate(timeout=seconds(150))
    return printed if process.returncode == 0 and printed else None


def await_owners(desktop, wanted, former=None):
    """Waits for this queue of owners, and for another daemon than the former one. Returns all queues that it has seen.
    """
    seen = []

    def are_there():
        seen.append(desktop.owners())
        return seen[-1] == wanted and desktop.account.daemon() != former

    eventually(are_there, 30, f"{wanted} at the name")
    return seen


def test_the_login_unlocked_the_vault(desktop):
    assert desktop.status()["state"] == "unlocked"
    desktop.store("horse", app="mail")
    assert desktop.lookup(app="mail") == "horse"
    assert desktop.owners()[0] == "latchkeyd"


@pytest.mark.parametrize("end", ["kill -s KILL", "restart"])
def test_the_name_stays_where_nobody_switched(desktop, end):
    """A gnome-keyring waits for the name, as the desktop has started it."""
    others = [name for name in desktop.owners() if name != "latchkeyd"]
    await_owners(desktop, ["latchkeyd", "latchkeyd", *others] if others else ["latchkeyd"])
    former = desktop.account.daemon()
    desktop.account.run("systemctl", "--user", *end.split(), "latchkeyd.service")
    seen = await_owners(desktop, ["latchkeyd", "latchkeyd", *others] if others else ["latchkeyd"], former)
    assert {names[0] for names in seen if names} <= {"latchkeyd", ENDED}, seen
    desktop.lock()
    desktop.unlock()
    desktop.await_state("unlocked")


def test_doctor_is_content_after_the_switch(desktop):
    assert desktop.doctor() == (0, {})
    desktop.run("latchkey", "switch", "--to", "latchkey")
    await_owners(desktop, ["latchkeyd"])
    status, amiss = desktop.doctor()
    assert (status, amiss) == (0, {})


@pytest.mark.parametrize("means", ["own", "logind"])
def test_the_screen_locks_the_vault_and_the_password_unlocks_it(desktop, means):
    desktop.store("of unlocked", app="unlocked")
    desktop.store("of first", "latchkey:accessible", "after-first-unlock", app="first")

    desktop.lock(means)
    desktop.await_state("locked")
    assert desktop.secret(app="unlocked") == LOCKED
    assert desktop.secret(app="first") == "of first"
    desktop.refuse("wrong")
    assert desktop.status()["state"] == "locked"
    assert desktop.secret(app="unlocked") == LOCKED

    desktop.unlock()
    desktop.await_state("unlocked")
    assert desktop.secret(app="unlocked") == "of unlocked"


@pytest.mark.parametrize("any_desktop", ["xfce", "mate"], indirect=True)
def test_sleep_as_logind_announces_it_locks_the_vault(desktop):
    """logind really delays sleep, and tells the vault and the desktop. A script stands in for the kernel's sleep."""
    desktop.store("of unlocked", app="unlocked")
    desktop.store("of first", "latchkey:accessible", "after-first-unlock", app="first")
    await_inhibitor(desktop.machine)
    sleep = Sleep(desktop.account)
    sleep.begin()
    sleep.end()
    desktop.await_state("locked")
    assert desktop.secret(app="unlocked") == LOCKED
    assert desktop.secret(app="first") == "of first"

    if desktop.locks_for_sleep:
        eventually(desktop.is_locked, 20, "the locked screen")
        desktop.unlock()
        desktop.await_state("unlocked")
        assert desktop.secret(app="unlocked") == "of unlocked"
    else:
        assert not desktop.is_locked()
        reading = desktop.start_lookup(app="unlocked")
        desktop.await_prompt()
        desktop.answer(desktop.account.password)
        assert output(reading) == "of unlocked"


def test_presence_is_proven_in_the_desktops_prompt(desktop):
    desktop.store("at home", *PRESENCE, app="presence")
    reading = desktop.start_lookup(app="presence")
    desktop.await_prompt()
    desktop.type(desktop.account.password)
    desktop.picture("presence")
    desktop.press("Return")
    assert output(reading) == "at home"


def test_a_wrong_answer_is_asked_again(desktop):
    desktop.store("at home", *PRESENCE, app="wrong")
    reading = desktop.start_lookup(app="wrong")
    desktop.await_prompt()
    desktop.answer("wrong")
    desktop.await_prompt()
    assert reading.poll() is None
    desktop.picture("wrong")
    desktop.answer(desktop.account.password)
    assert output(reading) == "at home"


def test_a_passphrase_is_given_in_the_desktops_prompt(desktop):
    storing = desktop.start("sh", "-c", 'printf bank | secret-tool store --label=Bank app bank "$@"', "store", *PASSPHRASE)
    desktop.await_prompt()
    desktop.picture("new-passphrase")
    desktop.enter_new_passphrase("two words")
    storing.communicate(timeout=seconds(150))
    assert storing.returncode == 0

    reading = desktop.start_lookup(app="bank")
    desktop.await_prompt()
    desktop.picture("passphrase")
    desktop.answer("two words")
    assert output(reading) == "bank"


def test_a_prompt_is_cancelled(desktop):
    desktop.store("at home", *PRESENCE, app="cancelled")
    reading = desktop.start_lookup(app="cancelled")
    desktop.await_prompt()
    desktop.press("Escape")
    assert output(reading) is None
    eventually(lambda: not desktop.prompts(), 20, "the end of the prompt")


def test_the_vault_is_unlocked_by_a_prompt(desktop):
    desktop.store("horse", app="mail")
    desktop.run("latchkey", "lock")
    desktop.await_state("locked")
    reading = desktop.start_lookup(app="mail")
    desktop.await_prompt()
    desktop.picture("vault")
    desktop.answer(desktop.account.password)
    assert output(reading) == "horse"
    assert desktop.status()["state"] == "unlocked"


def test_a_daemon_that_was_killed_owns_the_name_again(desktop):
    desktop.run("latchkey", "switch", "--to", "latchkey")
    former = desktop.account.daemon()
    desktop.machine.root("pkill", "-KILL", "-x", "latchkeyd")
    seen = []

    def is_back():
        seen.append(desktop.owners())
        return seen[-1][:1] == ["latchkeyd"] and desktop.account.daemon() != former

    eventually(is_back, 30, "latchkeyd as the owner of the name")
    assert {name for names in seen for name in names} <= {"latchkeyd", ENDED}
    # A restart of the daemon costs one unlock.
    desktop.lock()
    desktop.unlock()
    desktop.await_state("unlocked")


def test_the_bus_starts_the_daemon(desktop):
    # gnome-keyring also has a service file for the name. So the bus needs the link in the run-time folder. The bus
    # ignores a folder that others can write to, and the umask of Debian 13's user managers would make such a folder.
    folders = [f"/run/user/{desktop.account.uid}/dbus-1", f"/run/user/{desktop.account.uid}/dbus-1/services"]
    assert desktop.run("stat", "-c", "%A", *folders).stdout.split() == ["drwxr-xr-x"] * 2
    desktop.account.run("systemctl", "--user", "stop", "latchkeyd.service")
    assert desktop.bus("StartServiceByName", "su", "org.freedesktop.secrets", "0") is not None
    eventually(lambda: desktop.owners()[:1] == ["latchkeyd"], 20, "latchkeyd as the owner of the name")
    desktop.lock()
    desktop.unlock()
    desktop.await_state("unlocked")
