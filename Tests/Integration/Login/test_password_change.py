"""The login password changes through Latchkey or elsewhere, or the former password is lost. The daemon, helper, module
and prompts are real. Tests/Desktop tests passwd(1) and login(1) themselves.
"""

import json
import os
import pathlib
import re

import pytest
from support import vaultreader
from support.notifications import Notifications, know_the_first
from support.peer import Peer
from support.person import Person, ask_on_terminals
from support.session import wait_until

FORMER = "Former login password, or recovery code: "
TOLD = "Your login password was changed without Latchkey"
ELSEWHERE = "the login password was changed without Latchkey"
NEW = "the new one"
VAULT, VAULT_PATH = "org.latchkey.Vault", "/org/latchkey/vault"


@pytest.fixture
def vault(session):
    """A session with an unlocked vault, whose password is proven."""
    ask_on_terminals(session)
    know_the_first(session)
    session.login()
    session.store("what was kept", "service", "mail")
    session.logout()
    session.login()
    assert session.status()["state"] == "unlocked"
    return session


def protectors(session):
    content = (session.vault / "keybag").read_bytes()
    return content[44]


def change_elsewhere(session, password=NEW):
    """Root changes the password between two sessions. Returns the former password."""
    former = session.password
    session.logout()
    assert session.status()["state"] == "sealed"
    session.set_password(password)
    return former


def needs_former(session):
    status = session.status()
    said = [line for line in status["problems"] if ELSEWHERE in line]
    assert status["needs_former_password"] == bool(said)
    assert len(status["problems"]) == len(said)
    return bool(said)


def first_lines(session):
    """The first lines of status, which a person reads first."""
    return session.run("latchkey", "status", check=True).stdout.splitlines()[:3]


def opens(session, password):
    try:
        vaultreader.Keybag((session.vault / "keybag").read_bytes(), password)
    except vaultreader.Unreadable:
        return False
    return True


def assert_new_alone(session, former):
    assert opens(session, NEW) and not opens(session, former) and protectors(session) == 1
    assert session.status()["login_passwords"] == 1


# ---- changes through Latchkey ----


@pytest.mark.night("login")
@pytest.mark.parametrize("times", [1, 2, 5])
def test_before_any_daemon_opened_the_vault(session, times):
    """Latchkey was off at the first login, so the vault has no database yet. The change loses no database."""
    for number in range(times):
        former, new = session.password, f"{NEW} {number}"
        assert session.change_token(former, new).returncode == 0
        session.set_password(new)
    session.login()
    status = session.status()
    assert (status["state"], status["problems"]) == ("unlocked", [])
    session.store("kept", "service", "mail")
    session.stop_daemon()
    session.remove_generations()
    (session.vault / "vault.db").unlink()
    session.start_daemon()
    session.login()
    assert any("the file is missing" in line for line in session.status()["problems"])


def test_a_change_in_an_open_session(vault):
    former = vault.password
    assert vault.change_token(former, NEW).returncode == 0
    assert protectors(vault) == 2 and opens(vault, former) and opens(vault, NEW)
    assert vault.status()["state"] == "unlocked" and vault.lookup("service", "mail") == "what was kept"
    vault.set_password(NEW)
    # The next login finds the session open, and still proves the password.
    assert vault.login().returncode == 0
    assert protectors(vault) == 1 and opens(vault, NEW) and not opens(vault, former)
    vault.logout()
    vault.logout()
    assert vault.login().returncode == 0
    assert vault.status()["state"] == "unlocked" and vault.lookup("service", "mail") == "what was kept"
    assert not needs_former(vault)


def test_a_locker_proves_it(vault):
    former = vault.password
    vault.change_token(former, NEW)
    vault.set_password(NEW)
    vault.lock()
    assert vault.locker().returncode == 0
    assert vault.status()["state"] == "unlocked" and protectors(vault) == 1 and not opens(vault, former)


def test_a_change_that_the_system_refused(vault):
    former = vault.password
    vault.change_token(former, NEW)
    for _ in range(2):
        vault.lock()
        assert vault.locker().returncode == 0
        vault.logout()
        assert vault.login().returncode == 0 and vault.status()["state"] == "unlocked"
    assert protectors(vault) == 2 and opens(vault, former)


@pytest.mark.night("login")
def test_new_keys_leave_the_password_that_they_were_made_with(vault):
    former = vault.password
    vault.change_token(former, NEW)
    vault.set_password(NEW)
    # A rotation would remove the former password, but no login has proven the new one.
    refused = vault.run("latchkey", "rotate", "--stdin", input=NEW + "\n")
    assert refused.returncode == 1 and "Lock the screen and unlock it with that password" in refused.stderr
    assert opens(vault, NEW) and opens(vault, former)
    vault.lock()
    assert vault.locker().returncode == 0
    assert vault.run("latchkey", "rotate", "--stdin", input=NEW + "\n").returncode == 0
    assert opens(vault, NEW) and not opens(vault, former) and protectors(vault) == 1


# ---- changes elsewhere ----


def test_the_login_goes_on_and_it_is_said(vault):
    peer = Peer(vault)
    notifications = Notifications(vault)
    change_elsewhere(vault)
    assert notifications.look() == [] and not needs_former(vault)
    for _ in range(2):
        assert vault.login().returncode == 0
        assert vault.status()["state"] == "sealed" and needs_former(vault)
    wait_until(notifications.look, "the notification")
    ((title, text),) = notifications.shown
    assert "locked" in title and "changed without Latchkey" in text and "former password" in text
    assert vault.user not in title + text
    assert peer.get(VAULT_PATH, VAULT, "NeedsFormerPassword") is True
    state, password, way = first_lines(vault)
    assert state.startswith("State") and "sealed" in state
    assert password.startswith("Login password") and "changed without Latchkey, or mistyped" in password
    assert way.startswith("To unlock") and "the present login password, then the former one or the recovery code" in way
    # The notification appears once in a session, and once in the next session.
    vault.locker()
    assert len(notifications.look()) == 1
    vault.logout()
    vault.login()
    assert needs_former(vault) and len(notifications.look()) == 1
    vault.logout()
    vault.logout()
    vault.login()
    wait_until(lambda: len(notifications.look()) == 2, "the next one")
    notifications.close()


def test_a_desktop_that_comes_later_is_told(vault):
    change_elsewhere(vault)
    vault.login()
    assert needs_former(vault)
    notifications = Notifications(vault)
    wait_until(notifications.look, "the notification")
    notifications.close()
    # Later notification servers do not get the notification again.
    again = Notifications(vault)
    vault.locker()
    assert needs_former(vault) and again.look() == []
    again.close()


def test_a_slip_of_the_fingers_at_the_locker_is_no_news(vault):
    """The session's i3lock calls the module even after a wrong password."""
    peer, notifications = Peer(vault), Notifications(vault)
    peer.activate_screen_saver(True)
    wait_until(lambda: vault.status()["state"] == "locked", "the lock")
    vault.locker("wrong")
    assert notifications.look() == []
    assert vault.locker().returncode == 0
    assert vault.status()["staged"] and not needs_former(vault)
    peer.activate_screen_saver(False)
    wait_until(lambda: vault.status()["state"] == "unlocked", "the unlock")
    assert notifications.look() == []
    # After the change, the new password unlocks the screen, but not the vault.
    peer.activate_screen_saver(True)
    wait_until(lambda: vault.status()["state"] == "locked", "the lock")
    vault.set_password(NEW)
    assert vault.locker().returncode == 0
    assert needs_former(vault) and notifications.look() == []
    peer.activate_screen_saver(False)
    wait_until(notifications.look, "the notification")
    assert vault.status()["state"] == "locked"
    notifications.close()


def test_the_first_access_asks_for_the_former_one_once(vault):
    former = change_elsewhere(vault)
    vault.login()
    before = (vault.vault / "keybag").read_bytes()
    # Three clients share one prompt, which is on the terminal of the first.
    persons = [Person(vault, "secret-tool", "lookup", "service", "mail").expect("login password")]
    persons += [Person(vault, "secret-tool", "lookup", "service", "mail") for _ in range(2)]
    persons[0].type("wrong").expect("not right")
    assert (vault.vault / "keybag").read_bytes() == before
    persons[0].expect("login password").type(NEW)
    persons[0].expect(TOLD).expect("Former login password").type("not that").expect("does not unlock")
    assert (vault.vault / "keybag").read_bytes() == before
    persons[0].expect("Former login password").type(former)
    assert [person.last_line() for person in persons] == ["what was kept"] * 3
    assert vault.status()["state"] == "unlocked" and not needs_former(vault)
    # The former password stays valid until a login proves the present one.
    assert opens(vault, NEW) and opens(vault, former) and vault.status()["login_passwords"] == 2
    assert "Login passwords" in vault.run("latchkey", "status", check=True).stdout
    vault.logout()
    assert vault.login().returncode == 0 and vault.status()["state"] == "unlocked"
    assert_new_alone(vault, former)
    assert "Login passwords" not in vault.run("latchkey", "status", check=True).stdout
    assert former not in vault.log() and NEW not in vault.log()


@pytest.mark.night("login")
def test_latchkey_unlock_asks_as_well(vault):
    former = change_elsewhere(vault)
    vault.login()
    wrong = Person(vault, "latchkey", "unlock").expect("Password:").type(NEW).expect(TOLD)
    for number in range(3):
        wrong.expect(FORMER).type(f"wrong {number}")
    said = " ".join(wrong.output().split())
    assert "none of the 3 answers was the former password or the recovery code" in said and "start-empty" in said
    assert "mistyped" not in said and wrong.status == 1
    cancelled = Person(vault, "latchkey", "unlock").expect("Password:").type(NEW).expect(FORMER)
    cancelled.press("c")
    cancelled.output()
    assert vault.status()["state"] == "sealed" and opens(vault, former)
    done = Person(vault, "latchkey", "unlock").expect("Password:").type(NEW).expect(FORMER).type(former)
    assert "unlocked" in done.last_line() and done.status == 0
    assert opens(vault, NEW) and opens(vault, former)
    # The next time, the new password suffices. The new password may still be the code of another factor, so it does not
    # replace the former password.
    vault.lock()
    done = Person(vault, "latchkey", "unlock").expect("Password:").type(NEW)
    assert "unlocked" in done.last_line() and done.status == 0
    assert opens(vault, NEW) and opens(vault, former)
    vault.logout()
    assert vault.login().returncode == 0
    assert_new_alone(vault, former)


def test_lines_of_standard_input(vault):
    former = change_elsewhere(vault)
    vault.login()
    for lines, words in ((NEW + "\n", ELSEWHERE), (f"{NEW}\nwrong\n", "that was neither the former password nor")):
        done = vault.run("latchkey", "unlock", "--stdin", input=lines)
        assert done.returncode == 1 and words in done.stderr and vault.status()["state"] == "sealed"
    done = vault.run("latchkey", "unlock", "--stdin", input=f"{NEW}\n{former}\n")
    assert done.returncode == 0 and vault.status()["state"] == "unlocked" and opens(vault, NEW)


def test_an_open_vault_can_be_told_as_well(vault):
    """passwd notices the change in the session. The former of the two passwords opens nothing."""
    notifications = Notifications(vault)
    former = vault.password
    vault.set_password("set by root")
    assert vault.change_token("set by root", NEW).returncode == 0
    vault.set_password(NEW)
    assert needs_former(vault) and vault.status()["state"] == "unlocked"
    assert "Run 'latchkey unlock' before the vault is locked" in first_lines(vault)[1]
    wait_until(notifications.look, "the notification")
    ((title, text),) = notifications.shown
    assert "locked" not in title and "is unlocked" in text and "latchkey unlock" in text
    notifications.close()
    done = vault.run("latchkey", "unlock", "--stdin", input=NEW + "\n")
    assert done.returncode == 1 and "is unlocked" in done.stderr and needs_former(vault)
    done = vault.run("latchkey", "unlock", "--stdin", input=f"{NEW}\n{former}\n")
    assert done.returncode == 0 and not needs_former(vault) and opens(vault, NEW)
    assert "already" in vault.run("latchkey", "unlock", check=True).stdout
    assert vault.lookup("service", "mail") == "what was kept"
    vault.lock()
    assert vault.locker().returncode == 0 and vault.status()["state"] == "unlocked"
    assert_new_alone(vault, former)


def test_the_recovery_code_will_do(vault):
    code = vault.run("latchkey", "recovery", "create", "--stdout", "--stdin", input=vault.password + "\n", check=True).stdout
    former = change_elsewhere(vault)
    vault.login()
    done = Person(vault, "latchkey", "unlock").expect("Password:").type(NEW).expect(FORMER).type(code.strip().lower())
    assert done.output() and done.status == 0
    vault.logout()
    assert vault.login().returncode == 0 and vault.status()["state"] == "unlocked"
    assert opens(vault, NEW) and not opens(vault, former)
    assert vault.status()["recovery_code"] and vault.lookup("service", "mail") == "what was kept"


def test_the_command_with_the_code_asks_for_no_former_one(vault):
    code = vault.run("latchkey", "recovery", "create", "--stdout", "--stdin", input=vault.password + "\n", check=True).stdout
    change_elsewhere(vault)
    vault.login()
    done = Person(vault, "latchkey", "unlock", "--recovery").expect("Recovery code: ").type(code.strip())
    done.expect("Password:").type(NEW)
    assert "unlocked" in done.last_line() and opens(vault, NEW)


def test_behind_a_locker_nobody_is_asked(vault):
    peer = Peer(vault)
    former = vault.password
    peer.activate_screen_saver(True)
    wait_until(lambda: vault.status()["state"] == "locked", "the lock")
    vault.set_password(NEW)
    done = vault.run("latchkey", "unlock", "--stdin", input=f"{NEW}\n{former}\n")
    assert done.returncode == 1 and vault.status()["state"] == "locked" and opens(vault, former)


# ---- lost passwords ----


def aside(session):
    return json.loads(session.run("latchkey", "aside", "--json", check=True).stdout)["aside"]


def contents(folder):
    return {file.name: file.read_bytes() for file in pathlib.Path(folder).rglob("*") if file.is_file()}


def test_start_empty_puts_the_vault_aside_and_the_next_login_creates_one(vault):
    change_elsewhere(vault)
    vault.login()
    assert aside(vault) == []
    person = Person(vault, "latchkey", "start-empty").expect("type the name of the vault's folder, latchkey: ")
    person.type("yes")
    assert "nothing was done" in person.last_line() and person.status == 1
    assert vault.run("latchkey", "start-empty").returncode == 1
    before = contents(vault.vault)
    person = Person(vault, "latchkey", "start-empty").expect("folder, latchkey: ").type("latchkey")
    assert "creates an empty one" in person.last_line() and person.status == 0
    (folder,) = aside(vault)
    assert re.fullmatch(rf"{vault.vault}-aside-\d{{8}}-\d{{6}}", folder)
    # SQLite may move its log into the database. No other file is lost or changed.
    left = contents(folder)
    assert left["keybag"] == before["keybag"] and set(before) - set(left) <= {"vault.db-wal", "vault.db-shm"}
    assert not vault.vault.exists()
    status = vault.status()
    assert (status["state"], status["generation"], status["items"]) == ("sealed", 0, 0)
    assert status["problems"] == [] and "put aside" in status["lock_reasons"][0]
    assert not needs_former(vault)

    vault.logout()
    # On a busy machine, creating the vault may take longer than a login waits, so the test logs in again.
    wait_until(lambda: vault.login().returncode == 0 and vault.status()["state"] == "unlocked", "a new vault")
    assert vault.status()["items"] == 0
    assert vault.lookup("service", "mail") is None
    vault.store("another", "service", "mail")
    assert vault.lookup("service", "mail") == "another"
    assert vault.run("latchkey", "start-empty", "--yes").returncode == 0
    assert len(aside(vault)) == 2


def test_it_can_be_put_back(vault):
    password = vault.password
    device = (vault.vault / "device.key").read_bytes()
    vault.run("latchkey", "start-empty", "--yes", check=True)
    (folder,) = aside(vault)
    assert (pathlib.Path(folder) / "device.key").read_bytes() == device
    vault.logout()
    vault.login()
    vault.store("another", "service", "other")
    vault.logout()
    vault.stop_daemon()
    vault.vault.rename(vault.vault.with_name("latchkey-other"))
    pathlib.Path(folder).rename(vault.vault)
    vault.start_daemon()
    assert vault.login(password).returncode == 0
    assert vault.lookup("service", "mail") == "what was kept" and vault.lookup("service", "other") is None


def test_clients_of_a_vault_that_was_put_aside(vault):
    """No client waits forever. No client hears that no item exists, because the client would then store new items."""
    peer = Peer(vault)
    item = peer.create("secret", {"n": "1"})
    vault.lock()
    waiting = Person(vault, "secret-tool", "lookup", "service", "mail").expect("login password")
    vault.run("latchkey", "start-empty", "--yes", check=True)
    waiting.output()
    assert waiting.status != 0
    assert peer.read_error(item) != ""
    assert vault.lookup("service", "mail") is None
    assert vault.store("new", "service", "mail", check=False).returncode != 0
    assert vault.lookup("service", "mail") is None
    peer.close()


def test_a_damaged_vault_can_be_put_aside(vault):
    vault.stop_daemon()
    file = vault.vault / "keybag"
    content = bytearray(file.read_bytes())
    content[100] ^= 1
    # The copy of the keybag is damaged too, because the vault would heal from a whole copy.
    for damaged in (file, vault.vault / "keybag.copy"):
        damaged.write_bytes(content)
    vault.start_daemon()
    assert vault.status()["problems"] != []
    vault.run("latchkey", "start-empty", "--yes", check=True)
    assert vault.status()["problems"] == []
    (folder,) = aside(vault)
    assert (pathlib.Path(folder) / "keybag").read_bytes() == bytes(content)
    vault.login()
    assert vault.status()["state"] == "unlocked"


def test_where_it_cannot_be(vault):
    peer = Peer(vault)
    peer.activate_screen_saver(True)
    wait_until(lambda: vault.status()["state"] == "locked", "the lock")
    done = vault.run("latchkey", "start-empty", "--yes")
    assert done.returncode == 1 and "screen is locked" in done.stderr
    peer.activate_screen_saver(False)
    wait_until(lambda: not vault.status()["locker_up"], "the end of the locker")
    share = vault.vault.parent
    if os.getuid() != 0:
        return
    os.chown(share, 0, 0)
    done = vault.run("latchkey", "start-empty", "--yes")
    assert done.returncode == 1 and vault.vault.exists() and aside_or_none(vault) is None
    os.chown(share, vault.uid, vault.gid)
    assert vault.locker().returncode == 0
    wait_until(lambda: vault.status()["state"] == "unlocked", "the unlock")
    assert vault.lookup("service", "mail") == "what was kept"


def aside_or_none(session):
    done = session.run("latchkey", "aside", "--json")
    return json.loads(done.stdout)["aside"] or None if done.returncode == 0 else None


def test_without_a_vault(new_session):
    session = new_session
    session.start_daemon()
    done = session.run("latchkey", "start-empty", "--yes")
    assert done.returncode == 1 and "there is no vault" in done.stderr
    assert session.run("latchkey", "aside", check=True).stdout == "No vault was put aside.\n"


def test_a_login_without_a_password_can_start_empty_as_well(new_session):
    session = new_session
    session.shadow("")
    session.login_without_password()
    assert session.status()["passwordless"]
    session.store("mine", "a", "b")
    session.run("latchkey", "start-empty", "--yes", check=True)
    assert not session.status()["passwordless"] and session.status()["state"] == "sealed"
    session.logout()
    session.login_without_password()
    assert session.status()["passwordless"] and session.status()["state"] == "unlocked"
    assert session.lookup("a", "b") is None
    session.store("new", "a", "b")
    assert session.lookup("a", "b") == "new"
