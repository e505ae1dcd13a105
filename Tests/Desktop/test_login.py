"""A login opens the vault, and only a right password creates a vault."""

import pytest
from support.machine import eventually
from support.terminal import LoginRefused

pytestmark = pytest.mark.second_try

SECRET = "correct horse"


def test_first_login_ever_stores_and_reads_at_once(alice):
    with alice.login() as session:
        session.store(SECRET, app="one")
        assert session.lookup(app="one") == SECRET
        status = session.status()
        assert status["state"] == "unlocked"
        assert status["first_unlocked"]
        assert status["problems"] == []
        assert status["vault"] == alice.folder
    alice.await_end()
    with alice.login() as session:
        assert session.lookup(app="one") == SECRET


def test_vault_belongs_to_the_user_alone(alice):
    with alice.login() as session:
        session.store(SECRET, app="one")
    for file in [alice.vault, *alice.vault.rglob("*")]:
        found = file.stat()
        assert (found.st_uid, found.st_mode & 0o077) == (alice.uid, 0), file


def test_two_users_see_their_own(alice, bob):
    with alice.login() as first, bob.login() as second:
        first.store("of alice", app="shared")
        second.store("of bob", app="shared")
        assert first.lookup(app="shared") == "of alice"
        assert second.lookup(app="shared") == "of bob"


def test_ssh_with_a_password_opens(alice):
    with alice.login() as session:
        session.store(SECRET, app="one")
    alice.await_end()
    with alice.ssh() as session:
        assert session.lookup(app="one") == SECRET


def test_one_command_by_ssh_reads_before_the_login_has_its_keys(alice):
    """Only the program that needs the key waits for the password's derivation."""
    with alice.login() as session:
        session.store(SECRET, app="one")
    alice.await_end()
    for _ in range(3):
        assert alice.ssh_command("secret-tool lookup app one").strip() == SECRET
        alice.await_end()


def test_first_login_ever_by_ssh(alice):
    with alice.ssh() as session:
        session.store(SECRET, app="one")
        assert session.lookup(app="one") == SECRET


def test_ssh_keyboard_interactive_is_let_in_sealed(alice):
    # sshd authenticates in a forked process, which takes the module's kept password with it.
    with alice.login() as session:
        session.store(SECRET, app="one")
    alice.await_end()
    with alice.ssh(method="keyboard-interactive") as session:
        assert session.status()["state"] == "sealed"
        found = session.find(app="one")
        assert found["unlocked"] == []
        assert len(found["locked"]) == 1


def test_graphical_login_opens(alice):
    with alice.graphical_login() as session:
        session.store(SECRET, app="one")
    alice.await_end()
    with alice.graphical_login() as session:
        assert session.lookup(app="one") == SECRET


def test_first_unlock_target_is_reached(alice):
    with alice.login() as session:
        reached = lambda: session.run("systemctl --user is-active latchkey-first-unlock.target", check=False).stdout.strip()
        eventually(lambda: reached() == "active", what="latchkey-first-unlock.target")


def test_first_unlock_target_waits_for_the_unlock(alice):
    with alice.login():
        pass
    alice.await_end()
    alice.linger()
    target = ("systemctl", "--user", "is-active", "latchkey-first-unlock.target")
    alice.status()  # starts the daemon
    assert alice.run(*target, check=False).stdout.strip() == "inactive"
    with alice.login():
        eventually(lambda: alice.run(*target, check=False).stdout.strip() == "active", what="the target")
    eventually(lambda: alice.run(*target, check=False).stdout.strip() == "inactive", what="the target's end")


@pytest.mark.parametrize("way", ["login", "ssh", "graphical_login"])
def test_wrong_password_creates_nothing(alice, way):
    with pytest.raises(LoginRefused):
        getattr(alice, way)("not the password")
    assert not alice.vault.exists()


@pytest.mark.parametrize("way", ["login", "ssh", "graphical_login"])
def test_wrong_password_opens_nothing(alice, way):
    with alice.login() as session:
        session.store(SECRET, app="one")
        session.store(SECRET, accessible="after-first-unlock", app="two")
    alice.await_end()
    alice.linger()
    with pytest.raises(LoginRefused):
        getattr(alice, way)("not the password")
    assert alice.status()["state"] == "sealed"
    assert alice.find(app="one")["unlocked"] == []
    assert alice.find(app="two")["unlocked"] == []
    with alice.login() as session:
        assert session.lookup(app="one") == SECRET


@pytest.mark.parametrize("password", ["not the password", "sesame-1"])
def test_a_locker_never_creates(alice, password):
    # With `auth` alone, the whole stack has not accepted the token, or no session follows.
    assert alice.authenticate(password) == (password == alice.password)
    assert not alice.vault.exists()


def test_a_locker_never_creates_with_the_daemon_running(alice):
    alice.linger()
    assert not alice.authenticate("not the password")
    assert alice.authenticate()
    assert not alice.vault.exists()


def test_root_becoming_the_user_creates_and_opens_nothing(alice):
    alice.machine.root("su", "-l", alice.name, "-c", "true")
    assert not alice.vault.exists()
    with alice.login():
        pass
    alice.await_end()
    alice.linger()
    alice.machine.root("su", "-l", alice.name, "-c", "true")
    assert alice.status()["state"] == "sealed"


def test_logout_seals_also_where_the_daemon_stays(alice):
    alice.linger()
    with alice.login() as session:
        session.store(SECRET, app="one")
        session.store(SECRET, accessible="after-first-unlock", app="two")
        daemon = alice.daemon()
    eventually(lambda: alice.status()["state"] == "sealed", what="the seal")
    assert alice.daemon() == daemon
    assert not alice.status()["first_unlocked"]
    for name in ("one", "two"):
        found = alice.find(app=name)
        assert found["unlocked"] == []
        assert [item.get("error") for item in found["items"].values()] == ["org.freedesktop.Secret.Error.IsLocked"]
    with alice.login() as session:
        assert session.lookup(app="one") == SECRET
        assert session.lookup(app="two") == SECRET


def test_the_last_of_two_sessions_seals(alice):
    alice.linger()
    first = alice.login()
    first.store(SECRET, app="one")
    with alice.ssh() as second:
        first.close()
        assert second.lookup(app="one") == SECRET
        assert alice.status()["state"] == "unlocked"
    eventually(lambda: alice.status()["state"] == "sealed", what="the seal")


def classes(session):
    """The classes of the user's sessions."""
    numbers = session.run("loginctl show-user $USER -p Sessions --value").stdout.split()
    return [session.run(f"loginctl show-session {number} -p Class --value", check=False).stdout.strip() for number in numbers]


def test_a_unit_with_a_pam_session_does_not_keep_the_vault(alice):
    alice.linger()
    unit = ("systemd-run", "-q", "--unit=with-session", "--collect", "-p", "PAMName=login", f"--uid={alice.name}", "sleep", "600")
    try:
        with alice.login() as session:
            session.store(SECRET, accessible="after-first-unlock", app="one")
            alice.machine.root(*unit)
            # The unit counts as started before PAM has opened its session.
            eventually(lambda: "background" in classes(session), what="the unit's session")
            assert session.status()["state"] == "unlocked"
        eventually(lambda: alice.status()["state"] == "sealed", what="the seal")
        assert alice.machine.root("systemctl", "is-active", "with-session").stdout == "active\n"
    finally:
        alice.machine.root("systemctl", "stop", "with-session", check=False)
