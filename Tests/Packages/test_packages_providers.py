"""The packages beside each other provider of secrets, on both releases. The tests switch to Latchkey, switch back, and
install Latchkey again, with ten logins after each step. The tests do so for one user and for all users.
"""

import contextlib
import json
import shutil

import pytest
from packages import APT, Packages
from release import RELEASES, root_with_providers
from support import providers
from support.account import TOOLS, Account
from support.machine import INSIDE, Machine, or_skip
from support.sandbox import portal_secret
from support.switching import await_owner, away, files

LOGINS = 10
FEW = 2
OTHERS = {"gnome-keyring": providers.GNOME_KEYRING, "kwallet": providers.KWALLET, "keepassxc": providers.KEEPASSXC}
# The folders that `latchkey switch --all-users` may change.
SHARED = ("/etc/xdg", "/etc/systemd/user", "/etc/latchkey", "/usr/local/share")
SHARED_ASIDE = {
    "/etc/latchkey/switch.json", "/etc/systemd/user/latchkeyd.service", "/etc/systemd/user/latchkeyd.socket",
    "/usr/local/share/dbus-1/services/org.freedesktop.secrets.service"}  # fmt: skip


@pytest.fixture(scope="session", params=RELEASES)
def provided(request, packages):
    """A system of a release with all providers and the packages. The system does not run."""

    def prepare():
        machine = Machine(root=root_with_providers(request.param))
        shutil.copy(INSIDE / "autostart", machine.top / TOOLS.lstrip("/"))
        packages.bring_to(machine.top)
        machine.change("apt-get", "install", "-y", "--no-install-recommends", *packages.inside)
        machine.release = request.param
        return machine

    machine = or_skip(prepare)
    yield machine
    machine.close()


@pytest.fixture
def machine(provided):
    """The running system."""
    machine = or_skip(Machine(below=provided).boot)
    machine.release = provided.release
    yield machine
    machine.close()


@pytest.fixture(params=["gnome-keyring", "kwallet", "keepassxc", "none"])
def beside(request):
    """The provider under test."""
    return request.param


@pytest.fixture
def former(beside, machine):
    """The provider under test in this system. The other providers are not installed."""
    with contextlib.ExitStack() as stack:
        for name, patterns in OTHERS.items():
            if name != beside:
                stack.enter_context(away(machine, *patterns))
        kwallet = {"bookworm": 5, "trixie": 6}[machine.release]
        yield {
            "gnome-keyring": providers.gnome_keyring, "kwallet": lambda: providers.kwallet(kwallet),
            "keepassxc": providers.keepassxc, "none": providers.nobody,
        }[beside]()  # fmt: skip


@pytest.fixture
def alice(machine, former, beside):
    """A user who has used that provider."""
    account = Account(machine, "alice", 2001, "sesame-1")
    account.run("mkdir", "-m", "700", f"{account.home}/.ssh")
    account.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{account.home}/.ssh/id_ed25519")
    if beside == "kwallet":
        providers.kwallet_settings(account)
    elif beside == "keepassxc":
        providers.keepassxc_settings(account, former)
    return account


def desktop(beside):
    """A desktop whose portal uses the provider, or a desktop whose portal uses only Latchkey."""
    return "GNOME" if beside == "gnome-keyring" else "XFCE"


def test_there_and_back(beside, former, alice):
    if beside == "none":
        providers.with_nobody(alice, LOGINS)
    else:
        providers.there_and_back(alice, former, LOGINS)
    with former.running(alice) as session:
        await_owner(session, "latchkeyd")
        secret = portal_secret(session, alice, desktop(beside))
    with former.running(alice) as session:
        assert portal_secret(session, alice, desktop(beside)) == secret


@pytest.mark.parametrize("beside", ["gnome-keyring"], indirect=True)
def test_the_portal_answers_as_before(former, alice):
    """The application gets the same secret as from the former provider. gnome-keyring's PAM lines stay, and do not take
    the name."""
    # Display managers have these lines. Without these lines, login(1) does not open gnome-keyring's files, and
    # gnome-keyring would show a prompt.
    for kind, options in (("auth", ""), ("session", " auto_start")):
        file = alice.machine.path(f"/etc/pam.d/common-{kind}")
        file.write_text(f"{file.read_text()}{kind} optional pam_gnome_keyring.so{options}\n")
    with former.running(alice) as session:
        session.run("systemctl --user stop latchkeyd.socket latchkeyd.service")
        former.begin(session)
        await_owner(session, former.program)
        secret = portal_secret(session, alice, "GNOME")
    before, _ = providers.take_over(alice, former)
    providers.logins(alice, "latchkeyd", former, LOGINS)
    with former.running(alice) as session:
        assert portal_secret(session, alice, "GNOME") != secret
    providers.hand_back(alice, former, before)
    with former.running(alice) as session:
        await_owner(session, former.program)
        assert portal_secret(session, alice, "GNOME") == secret


def test_installed_again(beside, former, alice, packages):
    machine = alice.machine
    if beside == "none":
        before = None
        with former.running(alice) as session:
            await_owner(session, "latchkeyd")
    else:
        before, _ = providers.take_over(alice, former)
    with former.running(alice) as session:
        secret = portal_secret(session, alice, desktop(beside))
    machine.root(*APT, "remove", "latchkey", "libpam-latchkey", timeout=120)
    keys = providers.logins(alice, None, former, FEW)
    machine.root(*APT, "install", *packages.inside, timeout=120)
    assert providers.logins(alice, "latchkeyd", former, LOGINS) == keys
    with former.running(alice) as session:
        assert portal_secret(session, alice, desktop(beside)) == secret
    if before is not None:
        providers.hand_back(alice, former, before)
        assert providers.logins(alice, former.program, former, FEW) == keys


@pytest.mark.parametrize("beside", ["kwallet"], indirect=True)
def test_kwallets_interface(former, alice):
    """The package latchkey-kwallet: its installation, the switch to it, the switch back, and its removal while it
    serves KDE's programs."""
    machine, kwallet = alice.machine, {"bookworm": 5, "trixie": 6}[alice.machine.release]
    front = Packages.built(["latchkey-kwallet"])
    front.bring_to(machine.path("/"))
    machine.root(*APT, "install", *front.inside, timeout=120)

    def answering():
        with former.running(alice) as session:
            status = session.run(f"busctl --user status org.kde.kwalletd{kwallet}").stdout
            return next(line for line in status.splitlines() if line.startswith("Comm="))

    theirs, ours = f"Comm=kwalletd{kwallet}", "Comm=latchkey-kwalle"
    # The installation alone changes nothing for KDE's programs.
    assert answering() == theirs
    before, _ = providers.take_over(alice, former)
    assert answering() == ours
    providers.hand_back(alice, former, before)
    assert answering() == theirs
    providers.take_over(alice, former, first=False)
    assert answering() == ours
    machine.root(*APT, "remove", "latchkey-kwallet", timeout=120)
    assert answering() == theirs


def shared(machine):
    """The files that apply to all users: the mode and content of each file, or the target of a link."""
    found = {}
    for top in SHARED:
        for path in machine.path(top).rglob("*"):
            name = str(path).partition("/root")[2]
            if path.is_symlink():
                found[name] = str(path.readlink())
            elif path.is_file():
                found[name] = (path.stat().st_mode, path.read_bytes())
    return found


def switch_all(machine, *options, status=0):
    done = machine.root("latchkey", "switch", *options, "--json", check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("beside", ["gnome-keyring", "kwallet"], indirect=True)
def test_for_all_users(former, alice):
    machine = alice.machine
    before = shared(machine)
    with former.running(alice):
        pass
    own = files(alice)
    assert "--all-users" in switch_all(machine, "--to", "latchkey", status=1)["refused"][0]
    planned = switch_all(machine, "--to", "latchkey", "--all-users", "--dry-run")
    assert planned["changes"] and shared(machine) == before
    assert switch_all(machine, "--to", "latchkey", "--all-users")["changes"] == planned["changes"]
    keys = providers.logins(alice, "latchkeyd", former, FEW)
    with former.running(alice) as session:
        doctor = json.loads(session.run("latchkey doctor --json", check=False).stdout)["checks"]
        assert all(check["state"] == "ok" for check in doctor if check["id"].startswith(("name", "provider", "unit.socket")))
        for options, word in (("--back", "administrator"), ("--back --all-users", "sudo")):
            done = session.run(f"latchkey switch {options}", check=False)
            assert done.returncode == 1 and word in done.stdout and "sudo latchkey switch --back --all-users" in done.stdout
    assert files(alice) == own

    switch_all(machine, "--back", "--all-users")
    after = shared(machine)
    assert {name for name in after if after[name] != before.get(name)} == SHARED_ASIDE & after.keys() and before.items() <= after.items()
    assert providers.logins(alice, former.program, former, FEW) == keys
    with former.running(alice) as session:
        done = session.run("latchkey switch --to latchkey", check=False)
        assert done.returncode == 1 and "sudo latchkey switch --to latchkey --all-users" in done.stdout
    assert files(alice) == own
    switch_all(machine, "--to", "latchkey", "--all-users")
    providers.logins(alice, "latchkeyd", former, 1)
