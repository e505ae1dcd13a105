"""The password changes on the booted system: by passwd(1), by root, at a login after it has expired, and by sshd. Further tests
have a later module that refuses the change, and a vault that is set aside."""

import json
import re

import pytest
from support.machine import eventually
from support.terminal import Terminal

pytestmark = pytest.mark.night("login")

SECRET = "correct horse"
NEW, THIRD = "altogether-0ther", "an0ther-again"
ASKED = "Enter your login password: "
FORMER = "Former login password, or recovery code: "
PINENTRY = "/usr/local/bin/pinentry"


@pytest.fixture(autouse=True)
def lines_on_terminals(machine):
    """The machine has no working pinentry, so questions come line by line."""
    program = machine.path(PINENTRY)
    program.write_text("#!/bin/false\n")
    program.chmod(0o755)
    yield
    program.unlink()


@pytest.fixture
def owner(alice):
    """A person with a vault."""
    with alice.login() as session:
        session.store(SECRET, app="one")
    alice.await_end()
    assert passwords(alice) == 1
    return alice


def passwords(account):
    """The number of passwords that open the vault. The tests here create no recovery code. On a slow machine, the helper goes on
    after passwd ends."""
    account.machine.await_helpers()
    return (account.vault / "keybag").read_bytes()[44]


def keybag(account):
    return (account.vault / "keybag").read_bytes()


def talk(terminal, former, new):
    """Answers the questions of passwd(1)."""
    terminal.expect("urrent password: ")
    terminal.sendline(former)
    terminal.expect("ew password: ")
    terminal.sendline(new)
    terminal.expect("ew password: ")
    terminal.sendline(new)


def passwd(account):
    """passwd(1), run by a person without a session."""
    who = (f"--reuid={account.uid}", f"--regid={account.uid}", "--clear-groups")
    return account.machine.terminal_until_read("setpriv", *who, "passwd")


def chpasswd(account, password):
    account.machine.root("chpasswd", input=f"{account.name}:{password}\n")


def expire(account):
    account.machine.root("chage", "-d", "0", account.name)


def reads(account, password):
    """Whether a login with the password opens the vault, which still has the secret."""
    with account.login(password) as session:
        state = session.status()["state"]
        assert (session.lookup(app="one") == SECRET) == (state == "unlocked")
    account.await_end()
    return state == "unlocked"


# ---- passwd(1) ----


def test_passwd_in_a_session(owner):
    with owner.login() as session:
        session.start("passwd")
        talk(session.terminal, owner.password, NEW)
        assert session.finish().returncode == 0
        assert passwords(owner) == 2
        # The session and its locker go on. Later, an unlock of the locker proves the new password.
        assert session.lookup(app="one") == SECRET
        session.set_locked_hint(True)
        eventually(lambda: session.status()["state"] == "locked", what="the lock")
        assert session.authenticate(NEW)
        session.set_locked_hint(False)
        eventually(lambda: session.status()["state"] == "unlocked", what="the unlock")
        assert passwords(owner) == 1
    owner.await_end()
    assert reads(owner, NEW)


def test_passwd_without_a_daemon(owner):
    terminal = passwd(owner)
    talk(terminal, owner.password, NEW)
    terminal.expect("updated successfully")
    terminal.expect("status 0")
    terminal.close(force=True)
    assert passwords(owner) == 2
    assert reads(owner, NEW) and passwords(owner) == 1


def test_passwd_that_is_refused_changes_nothing(owner):
    before = keybag(owner)
    terminal = passwd(owner)
    terminal.expect("urrent password: ")
    terminal.sendline("wrong")
    terminal.expect("not changed|unchanged|failure|manipulation error")
    terminal.expect("status [1-9]")
    terminal.close(force=True)
    assert keybag(owner) == before


# ---- a later module refuses ----


def test_what_a_later_module_refuses_leaves_a_vault_that_opens(owner):
    """pam_unix has already written the new password. In the other case, somebody restores the former password."""
    file = owner.machine.path("/etc/pam.d/common-password")
    before = file.read_text()
    file.write_text(before + "password required pam_exec.so /bin/false\n")
    try:
        terminal = passwd(owner)
        talk(terminal, owner.password, NEW)
        terminal.expect("not changed|unchanged|failure|failed")
        terminal.expect("status [1-9]")
        terminal.close(force=True)
    finally:
        file.write_text(before)
    assert passwords(owner) == 2
    chpasswd(owner, owner.password)
    assert reads(owner, owner.password) and passwords(owner) == 2
    chpasswd(owner, NEW)
    assert reads(owner, NEW) and passwords(owner) == 1


# ---- a password that has expired ----


def log_in_expired(account, former, new):
    terminal = account.machine.terminal("/bin/login")
    terminal.expect("login: ")
    terminal.sendline(account.name)
    terminal.expect("assword: ")
    terminal.sendline(former)
    talk(terminal, former, new)
    return Terminal(account.machine, account.name, terminal, "Login incorrect")


def test_an_expired_password_at_login(owner):
    expire(owner)
    with log_in_expired(owner, owner.password, NEW) as session:
        assert session.status()["state"] == "unlocked" and session.lookup(app="one") == SECRET
        assert passwords(owner) == 1
    owner.await_end()
    assert reads(owner, NEW)


def test_an_expired_password_at_the_first_login_ever(alice):
    """An administrator created the account with an expired password. The vault is created with the password that the person
    chose."""
    expire(alice)
    with log_in_expired(alice, alice.password, NEW) as session:
        session.store(SECRET, app="one")
    alice.await_end()
    assert reads(alice, NEW)


def test_an_expired_password_where_the_vault_cannot_be_written(owner):
    """The disk is full, but the session still opens, and the vault too. The next session asks for the former password."""
    machine, before = owner.machine, keybag(owner)
    machine.root("mount", "-t", "tmpfs", "-o", f"size=1m,mode=0700,uid={owner.uid},gid={owner.uid}", "full", "/mnt")
    machine.root("cp", "-a", owner.folder + "/.", "/mnt")
    machine.root("mount", "--bind", "/mnt", owner.folder)
    machine.root("dd", "if=/dev/zero", "of=/mnt/filler", check=False)
    try:
        expire(owner)
        with log_in_expired(owner, owner.password, NEW) as session:
            assert session.status()["state"] == "unlocked" and session.lookup(app="one") == SECRET
            assert passwords(owner) == 1
        owner.await_end()
    finally:
        machine.root("umount", owner.folder)
        machine.root("umount", "/mnt")
    assert keybag(owner) == before
    with owner.login(NEW) as session:
        rewrap(session, owner.password, NEW)
    owner.await_end()
    assert reads(owner, NEW)


def test_an_expired_password_at_sshd(owner):
    """sshd opens the session with the former password, runs passwd in it, and closes the connection."""
    expire(owner)
    terminal = owner.machine.terminal_until_read(*SSH, f"{owner.name}@127.0.0.1")
    terminal.expect("assword: ")
    terminal.sendline(owner.password)
    talk(terminal, owner.password, NEW)
    terminal.expect("updated successfully")
    terminal.close(force=True)
    owner.await_end()
    assert passwords(owner) == 2
    with owner.ssh(NEW) as session:
        assert session.lookup(app="one") == SECRET
    owner.await_end()
    assert passwords(owner) == 1 and reads(owner, NEW)


SSH = ("ssh", "-tt", "-p", "2222", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o",
       "LogLevel=ERROR", "-o", "PreferredAuthentications=password", "-o", "NumberOfPasswordPrompts=1")


# ---- changed elsewhere ----


def rewrap(session, former, present):
    """The first access to the vault opens one prompt, which asks for the former password."""
    assert session.status()["state"] == "sealed" and session.status()["needs_former_password"]
    session.start("secret-tool lookup app one")
    session.expect(re.escape(ASKED))
    session.send(present)
    session.expect("changed without Latchkey")
    session.expect(re.escape(FORMER))
    session.send(former)
    done = session.finish()
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == SECRET
    assert session.status()["state"] == "unlocked" and not session.status()["needs_former_password"]


def test_chpasswd_by_root(owner):
    chpasswd(owner, NEW)
    cursor = owner.machine.cursor()
    with owner.login(NEW) as session:
        # The login does not wait for the log line.
        eventually(lambda: "does not open the vault" in owner.machine.journal(cursor), what="the reason in the log")
        rewrap(session, owner.password, NEW)
        assert passwords(owner) == 2
    owner.await_end()
    assert reads(owner, NEW) and passwords(owner) == 1


def test_passwd_by_root(owner):
    before = keybag(owner)
    terminal = owner.machine.terminal_until_read("passwd", owner.name)
    for _ in range(2):
        terminal.expect("ew password: ")
        terminal.sendline(NEW)
    terminal.expect("updated successfully")
    terminal.close(force=True)
    assert keybag(owner) == before
    with owner.login(NEW) as session:
        session.start("latchkey unlock")
        session.expect("assword: ")
        session.send(NEW)
        session.expect(re.escape(FORMER))
        session.send("not that")
        session.expect("does not unlock")
        session.send(owner.password)
        assert session.finish().returncode == 0
        assert session.lookup(app="one") == SECRET
    owner.await_end()
    assert reads(owner, NEW)


def test_passwd_after_a_change_elsewhere(owner):
    """The vault knows neither of the two passwords. The prompt asks for the vault's own password, whatever came in between."""
    chpasswd(owner, NEW)
    before = keybag(owner)
    with owner.login(NEW) as session:
        session.start("passwd")
        talk(session.terminal, NEW, THIRD)
        assert session.finish().returncode == 0
        assert keybag(owner) == before
        rewrap(session, owner.password, THIRD)
    owner.await_end()
    assert reads(owner, THIRD)


def test_start_empty(owner):
    chpasswd(owner, NEW)
    before = keybag(owner)
    with owner.login(NEW) as session:
        session.start("latchkey start-empty")
        session.expect("folder, latchkey: ")
        session.send("latchkey")
        assert "log out and in again" in session.finish().stdout
        (folder,) = json.loads(session.run("latchkey aside --json").stdout)["aside"]
    owner.await_end()
    assert (owner.machine.path(folder) / "keybag").read_bytes() == before
    with owner.login(NEW) as session:
        assert session.status()["state"] == "unlocked" and session.lookup(app="one") is None
        session.store("new", app="one")
    owner.await_end()
    with owner.login(NEW) as session:
        assert session.lookup(app="one") == "new"
