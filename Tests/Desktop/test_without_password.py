"""Logins without a password to an account that has one, such as agetty's automatic login by login -f. Nobody is asked before a
program needs a secret. `latchkey protector add session` opens a part of the vault at services that the administrator named."""

import json
import os
import re
import secrets

import pytest
from support.machine import eventually
from support.memory import scan
from support.terminal import Terminal
from support.vaultreader import ServiceKey, Vault
from test_booted_prompts import ASKED, await_no_prompt, finish, pinentry, shown, units, waiting  # noqa: F401
from visitor import CLASSES

pytestmark = pytest.mark.second_try

SERVICES = "/etc/latchkey/services"
OPENED = [name for name in CLASSES if not name.startswith("when-")]
CLOSED = [name for name in CLASSES if name.startswith("when-")]
LOCKED = "org.freedesktop.Secret.Error.IsLocked"
TARGET = ("systemctl", "--user", "is-active", "latchkey-first-unlock.target")
WARNED = "not believed, as others than root could have written it"


@pytest.fixture
def services(machine):
    """The administrator names these services."""

    def write(*names, mode=0o644):
        file = machine.path(SERVICES)
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(f"{name}\n" for name in names))
        file.chmod(mode)

    yield write
    machine.root("rm", "-rf", os.path.dirname(SERVICES))


def automatic(account):
    """An automatic login of a getty, which knows the user."""
    terminal = account.machine.terminal("/bin/login", "-f", account.name)
    return Terminal(account.machine, account.name, terminal, "assword: ")


def command(session, account, *words):
    """A command that asks for the login password."""
    return session.run(f"printf '%s\\n' '{account.password}' | latchkey {' '.join(words)} --stdin")


def test_where_there_is_no_vault_the_first_prompt_creates_it(alice, pinentry):
    """An automatic login to an account with a password. pam_unix must accept the password first."""
    with automatic(alice) as session:
        cursor = alice.machine.cursor()
        assert session.run("secret-tool lookup app default", check=False).returncode == 1
        assert session.run("secret-tool lookup app default", check=False).returncode == 1
        assert not alice.vault.exists() and session.status()["state"] == "sealed"
        session.start("printf kept | secret-tool store --label=Default app default")
        session.expect("You have no vault yet. Your login password, if your account has one, creates it")
        session.expect(ASKED)
        session.send("not the password")
        session.expect("not right")
        session.expect(ASKED)
        assert not alice.vault.exists()
        session.send(alice.password)
        assert session.finish().returncode == 0
        status = session.status()
        assert status["state"] == "unlocked" and status["generation"] == 2 and status["problems"] == []
        assert [one["state"] for one in status["protectors"]] == ["unproven"]
        assert session.secret(app="default") == "kept"
        await_no_prompt(alice)
        assert alice.password not in alice.machine.journal(cursor)
    alice.await_end()
    with alice.login() as session:
        assert session.status()["state"] == "unlocked" and session.secret(app="default") == "kept"
        assert [one["state"] for one in session.status()["protectors"]] == ["proven"]


@pytest.fixture
def resident(alice):
    """A person with an item of each class, who has logged out."""
    # The password is long enough to search for it in memory.
    alice.set_password("Password-" + secrets.token_hex(12))
    with alice.login() as session:
        for name in CLASSES:
            session.store(f"of {name}", name, app=name)
    alice.await_end()
    return alice


@pytest.fixture
def guest(resident):
    """The person, with the protector."""
    with resident.login() as session:
        done = command(session, resident, "protector", "add", "session", "--yes")
        assert "That is a weaker promise" in done.stdout
        assert "No service is listed yet" in done.stdout
    resident.await_end()
    return resident


def readable(session):
    """The classes whose items can be read. The other items must say that they are locked."""
    found = {name: session.secret(app=name) for name in CLASSES}
    assert all(secret in (f"of {name}", LOCKED) for name, secret in found.items()), found
    return [name for name in CLASSES if found[name] != LOCKED]


def states(session):
    status = session.status()
    return status["state"], status["first_unlocked"], status["opened_without_password"]


# ---- without the protector ----


def test_nobody_is_asked_before_something_is_needed_and_then_once(resident):
    with automatic(resident) as session, automatic(resident) as other:
        assert states(session) == ("sealed", False, False)
        assert units(resident) == []
        assert readable(session) == ["always", "always-this-device-only"]
        assert units(resident) == [], "a search asks nobody"
        # The first access that needs keys, and later accesses while the first one waits.
        session.start("secret-tool lookup app after-first-unlock")
        session.expect(ASKED)
        unit = shown(resident)
        other.start("secret-tool lookup app when-unlocked")
        eventually(lambda: waiting(resident) == 2, what="the second client")
        assert shown(resident) == unit
        session.send(resident.password)
        finish(session, "of after-first-unlock")
        assert ASKED not in finish(other, "of when-unlocked").stdout
        assert states(session) == ("unlocked", True, False)
        assert readable(session) == CLASSES
        await_no_prompt(resident)


def test_a_service_that_is_named_opens_nothing_without_a_protector(resident, services):
    services("login")
    cursor = resident.machine.cursor()
    with automatic(resident) as session:
        assert states(session) == ("sealed", False, False)
    assert "pam_latchkey" not in resident.machine.journal(cursor, "login")


def test_a_protector_opens_nothing_by_a_service_that_is_not_named(guest, services):
    for names in ((), ("lightdm-autologin", "log", "login-shell"), ("#login",)):
        if names:
            services(*names)
        with automatic(guest) as session:
            assert states(session) == ("sealed", False, False)
            assert [one["kind"] for one in session.status()["protectors"]] == ["password", "session"]
        guest.await_end()


# ---- the items that such a login opens ----


def test_a_named_service_opens_what_is_readable_behind_the_locked_screen(guest, services):
    machine = guest.machine
    services("login")
    machine.root("systemctl", "stop", "latchkey-deviced.service")
    cursor = machine.cursor()
    with automatic(guest) as session:
        assert states(session) == ("locked", True, True)
        assert session.status()["lock_reasons"] == ["login without a password"]
        assert readable(session) == OPENED
        eventually(lambda: guest.run(*TARGET, check=False).stdout.strip() == "active", what="the target")
        told = machine.journal(cursor)
        assert "a login by login unlocked the after-first-unlock items without a password" in told
        assert f"a login of user {guest.uid} in which nobody gave a password got its key" in told
        assert "by a login without a password" in session.run("latchkey status").stdout
        session.store("new", "after-first-unlock", app="new")
        assert session.lookup(app="new") == "new"
        # A lookup that needs the password opens the prompt, and then everything is unlocked.
        session.start("secret-tool lookup app when-unlocked")
        session.expect(ASKED)
        session.send(guest.password)
        finish(session, "of when-unlocked")
        assert states(session) == ("unlocked", True, False)
        assert readable(session) == CLASSES
        session.run("latchkey lock")
        assert states(session) == ("locked", True, False)
        assert readable(session) == OPENED
        await_no_prompt(guest)
    guest.await_end()
    with guest.login() as session:
        assert session.lookup(app="new") == "new" and session.status()["problems"] == []


def test_a_login_with_the_password_opens_the_rest(guest, services):
    services("login")
    with automatic(guest) as session:
        assert states(session) == ("locked", True, True)
        with guest.login() as other:
            assert states(other) == ("unlocked", True, False)
            assert readable(session) == CLASSES
            # Another login without a password locks nothing.
            with automatic(guest) as third:
                assert states(third) == ("unlocked", True, False)
    guest.await_end()
    # Even a login that cannot lift a lock reads the items, because there is no lock here.
    with automatic(guest) as session:
        assert states(session) == ("locked", True, True)
        with guest.ssh():
            assert states(session) == ("unlocked", True, False)
    guest.await_end()
    with automatic(guest) as session:
        session.run("latchkey lock")
        with guest.ssh():
            assert states(session) == ("locked", True, True)


def test_no_key_of_the_rest_is_in_memory(guest, services):
    machine = guest.machine
    services("login")
    with guest.login() as session:
        needle = secrets.token_hex(24)
        session.store(needle, app="needle")
    guest.await_end()
    service = ServiceKey(machine.path("/var/lib/latchkey"), guest.uid)
    keys = {key.name: key for key in Vault(guest.vault, guest.password, device=service).keys}
    needles = {name: key.value for name, key in keys.items() if key.tier in ("A", "C", "password")}
    needles |= {"secret": needle.encode(), "password": guest.password.encode()}
    gone = {name for name in needles if name not in keys or keys[name].tier != "C"}
    with automatic(guest) as session:
        assert states(session) == ("locked", True, True)
        assert session.secret(app="after-first-unlock") == "of after-first-unlock"
        found = set(scan(guest.daemon(), needles))
        assert any(keys[name].kind == "class" for name in found if name in keys), "keys can be found"
        assert found & gone == set() and len(gone) > 8
        with guest.login():
            assert session.lookup(app="needle") == needle
            now = set(scan(guest.daemon(), needles))
            assert any(keys[name].kind == "class" for name in now & gone if name in keys), "these as well"


GREETD = """
[terminal]
vt = "none"
[default_session]
command = "sleep infinity"
user = "_greetd"
[initial_session]
command = "sleep infinity"
user = "{name}"
"""


def test_greetds_automatic_login_opens_the_same(guest, services):
    machine = guest.machine
    services("greetd")
    machine.path("/run/greetd-test.toml").write_text(GREETD.format(name=guest.name))
    machine.root("rm", "-f", "/run/greetd.run")  # greetd logs the user in by itself once after each boot
    cursor = machine.cursor()
    machine.root("systemd-run", "--unit=greetd-test", "greetd", "--config", "/run/greetd-test.toml")
    try:
        told = "a login by greetd unlocked the after-first-unlock items without a password"
        eventually(lambda: told in machine.journal(cursor), 20, "the automatic login")
        # A login by a service that is not named reads the state.
        with automatic(guest) as session:
            assert states(session) == ("locked", True, True)
            assert readable(session) == OPENED
    finally:
        machine.root("systemctl", "stop", "greetd-test.service", check=False)
        machine.root("loginctl", "terminate-user", guest.name, check=False)
    guest.await_end()


# ---- the logins that get the keys ----


def test_a_list_that_others_can_write_is_not_believed(guest, services):
    services("login", mode=0o666)
    cursor = guest.machine.cursor()
    with automatic(guest) as session:
        assert states(session) == ("sealed", False, False)
    assert len(re.findall(WARNED, guest.machine.journal(cursor, "login"))) == 1


def test_a_session_that_the_user_opens_is_no_login(guest, services):
    services("login", "su", "su-l", "sudo", "i3lock", "systemd-user", "cron")
    guest.linger()
    # PAM runs in a program of the user, and in a program of root for the user. Neither use counts as a login by the named
    # services.
    for service in ("login", "i3lock", "su"):
        guest.run("pamtester", service, guest.name, "open_session", check=False)
        assert guest.status()["state"] == "sealed"
    guest.machine.root("su", "-l", guest.name, "-c", "true")
    assert guest.status()["state"] == "sealed"
    # The service gives the secret neither to the user, nor to root without a login.
    for who in (guest.name, "root"):
        assert "device.onlyAtLogin" in guest.machine.user(who, "python3", "-c", UNWRAP).stdout


def test_another_user_gets_nothing(guest, bob, services):
    services("login")
    with bob.login():
        pass
    bob.await_end()
    with automatic(bob) as session:
        assert states(session) == ("sealed", False, False)


def test_without_the_service_the_login_goes_on(guest, services):
    machine = guest.machine
    services("login")
    machine.root("systemctl", "stop", "latchkey-deviced.socket", "latchkey-deviced.service")
    cursor = machine.cursor()
    try:
        with automatic(guest) as session:
            assert states(session) == ("sealed", False, False)
    finally:
        machine.root("systemctl", "start", "latchkey-deviced.socket")
    assert machine.journal(cursor, "login").count("the device key service gives this login nothing") == 1


# ---- how long the protector lasts ----


def test_new_keys_keep_it_and_its_end_ends_it(guest, services):
    services("login")
    with guest.login() as session:
        assert "The vault has new keys." in command(session, guest, "rotate").stdout
        listed = json.loads(session.run("latchkey protector list --json").stdout)
        assert [one["kind"] for one in listed] == ["password", "session"]
        eventually(lambda: not session.status()["rotation"]["former_keys_needed"], what="the new keys")
    guest.await_end()
    with automatic(guest) as session:
        assert states(session) == ("locked", True, True) and session.status()["rotation"]["epoch"] == 2
        assert readable(session) == OPENED
        done = command(session, guest, "protector", "remove", "session")
        assert "latchkey rotate" in done.stdout
    guest.await_end()
    with automatic(guest) as session:
        assert states(session) == ("sealed", False, False)
        assert [one["kind"] for one in session.status()["protectors"]] == ["password"]


def test_another_password_keeps_it(guest, services):
    """The recovery code sets the password here, as after a change by root."""
    machine = guest.machine
    services("login")
    with guest.login() as session:
        code = command(session, guest, "recovery", "create", "--stdout").stdout.split()[0]
    guest.await_end()
    guest.set_password("sesame-3")
    with automatic(guest) as session:
        assert states(session) == ("locked", True, True)
        session.run(f"printf '%s\\n%s\\n' '{code}' '{guest.password}' | latchkey unlock --recovery --stdin")
        assert states(session) == ("unlocked", True, False)
    guest.await_end()
    with automatic(guest) as session:
        assert states(session) == ("locked", True, True)
        with guest.login():
            assert readable(session) == CLASSES


# One request with the packets of FORMAT.md, and another one that the service refuses because it is not a login.
UNWRAP = """
import socket
service = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
service.connect("/run/latchkey/device.sock")
service.send(bytes([1, 2, 3, 0]) + bytes(32))
wrapped = service.recv(4096)[2:]
service.send(bytes([1, 3, 3, 0]) + wrapped)
answer = service.recv(4096)
print(answer[1], answer[2:].decode(errors="replace"))
"""
