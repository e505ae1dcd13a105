"""Logins without a password on the booted system: an account that never had one, an account after `passwd -d`, and the first
password after that."""

from support.machine import eventually
from visitor import CLASSES, fill, measured, readable, store_each, told, visitor

PASSCODE = "when-passcode-set-this-device-only"
OTHERS = [name for name in CLASSES if name != PASSCODE]


def remove_password(account):
    account.machine.root("passwd", "-d", account.name)


def set_password(account, password):
    account.machine.root("chpasswd", input=f"{account.name}:{password}\n")


def store_others(account):
    with visitor(account) as peer:
        for name in OTHERS:
            peer.create(f"here, {name}", {"app": name, "origin": "here", "latchkey:accessible": name})


def read_others(account):
    with visitor(account) as peer:
        for name in OTHERS:
            (item,) = peer.search({"app": name})[0]
            assert peer.read(item).decode() == f"here, {name}"
        assert peer.search({"app": PASSCODE}) == ([], [])


def test_a_login_that_never_had_a_password(alice):
    machine = alice.machine
    remove_password(alice)
    with alice.login_without_password() as session:
        status = session.status()
        assert (status["state"], status["passwordless"], status["device_key"]) == ("unlocked", True, "host")
        assert measured(alice, fill(alice)) == told("no password")
        store_others(alice)
        session.set_locked_hint(True)
        eventually(lambda: session.status()["locker_up"], what="the locker")
        assert session.status()["state"] == "unlocked"
        read_others(alice)
    alice.await_end()
    alice.linger()
    machine.reboot()
    eventually(alice.manager_runs, what="the user manager")
    # Nobody has logged in since the boot.
    read_others(alice)
    # After the first password, the vault is like any other.
    set_password(alice, alice.password)
    with alice.login() as session:
        status = session.status()
        assert (status["state"], status["passwordless"]) == ("unlocked", False)
        assert status["rotation"]["epoch"] == 2
        eventually(lambda: not session.status()["rotation"]["former_keys_needed"], what="the new keys")
        read_others(alice)
        session.store("new", PASSCODE, app="new")
        session.set_locked_hint(True)
        eventually(lambda: session.status()["state"] == "locked", what="the lock")
        assert session.secret(app="new").endswith("IsLocked")
        session.set_locked_hint(False)
    machine.root("loginctl", "disable-linger", alice.name)
    alice.await_end()
    with alice.login() as session:
        assert session.lookup(app="new") == "new"


def test_the_first_login_starts_the_device_key_service(alice):
    """The service ends by itself after a minute, so it does not run at most first logins."""
    remove_password(alice)
    alice.machine.root("systemctl", "stop", "latchkey-deviced.service")
    with alice.login_without_password() as session:
        eventually(lambda: session.status()["state"] == "unlocked", 30, "the vault")
        status = session.status()
        assert (status["passwordless"], status["device_key"], status["problems"]) == (True, "host", [])
        store_others(alice)
        read_others(alice)


def test_a_password_that_is_not_in_the_shadow_file(alice):
    """If the password database itself has the hash, an empty field in the shadow file means nothing."""
    machine = alice.machine
    with alice.login():
        store_each(alice)
    alice.await_end()
    hashed = machine.root("getent", "shadow", alice.name).stdout.split(":")[1]
    machine.root("sed", "-i", f"s|^{alice.name}:x:|{alice.name}:{hashed}:|", "/etc/passwd")
    machine.root("sed", "-i", f"s|^{alice.name}:[^:]*:|{alice.name}::|", "/etc/shadow")
    with alice.login():
        assert readable(alice) == CLASSES


def test_a_password_that_root_removes(alice):
    cursor = alice.machine.cursor()
    with alice.login() as session:
        cells = fill(alice)
        store_each(alice)
        assert readable(alice) == CLASSES
        remove_password(alice)
        # No program has noticed the removal yet.
        assert session.lookup(app=PASSCODE) == f"here, {PASSCODE}"
        with alice.login_without_password():
            assert measured(alice, cells) == told("password removed")
        # A later session finds no items of that class either.
        read_others(alice)
        assert session.run(f"secret-tool store --label x a b latchkey:accessible {PASSCODE} </dev/null", check=False).returncode
        assert f"items of class {PASSCODE}" in alice.machine.journal(cursor, "latchkeyd")
    alice.await_end()
    # The rest of the vault waits for the former password. Another password does not replace it.
    with alice.login_without_password() as session:
        assert session.status()["state"] == "sealed"
        assert session.lookup(app="always") == "here, always"
    alice.await_end()
    set_password(alice, alice.password)
    with alice.login() as session:
        assert (session.status()["state"], session.status()["passwordless"]) == ("unlocked", False)
        read_others(alice)
        session.store("new", PASSCODE, app="new")
        assert session.lookup(app="new") == "new"
