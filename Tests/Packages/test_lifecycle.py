"""An administrator installs, upgrades, removes, reinstalls and purges the packages. No secret is lost."""

import json
import os

import pexpect
import pytest
from packages import APT
from support.session import wait_until

STACKS = ("common-auth", "common-account", "common-session", "common-session-noninteractive", "common-password")
SECRET = "correct horse"


def install(machine, packages, *options):
    packages.bring_to(machine.path("/"))
    return machine.root(*APT, *options, "install", *packages.inside, timeout=120)


def stacks(machine):
    """The PAM files that all logins share."""
    return {name: machine.path(f"/etc/pam.d/{name}").read_text() for name in STACKS}


def naming_the_module(machine):
    """The PAM files that name the module, without Latchkey's own."""
    files = [file for file in machine.path("/etc/pam.d").iterdir() if not file.name.startswith("latchkey-")]
    return {file.name for file in files if "pam_latchkey" in file.read_text()}


def test_install_and_log_in(bare_machine, alice, packages):
    install(bare_machine, packages)
    with alice.ssh() as session:
        session.store(SECRET, app="one")
        assert session.lookup(app="one") == SECRET
        assert session.status()["state"] == "unlocked"
        checks = json.loads(session.run("latchkey doctor --json", check=False).stdout)["checks"]
        # This system has only required packages, so the recommended polkit is missing.
        assert {check["id"] for check in checks if check["state"] != "ok"} <= {"sleep"}, checks
        # This item is bound to the machine, so its service must run.
        session.store("bound", "when-unlocked-this-device-only", app="bound")
        assert session.lookup(app="bound") == "bound"


def test_upgrade_keeps_the_daemon_and_its_keys(machine, alice, newer):
    with alice.ssh() as session:
        session.store(SECRET, app="one")
        before = alice.daemon()
        said = install(machine, newer)
        assert "systemctl --user restart latchkeyd" in said.stdout + said.stderr
        assert alice.daemon() == before
        assert session.status()["state"] == "unlocked"
        assert session.lookup(app="one") == SECRET
        session.store("later", app="two")
    alice.await_end()
    with alice.ssh() as session:
        assert not os.readlink(f"/proc/{alice.daemon()}/exe").endswith(" (deleted)")
        assert session.lookup(app="one") == SECRET
        assert session.lookup(app="two") == "later"


def test_upgrade_has_the_managers_read_the_new_units(machine, alice, newer):
    with alice.ssh() as session:
        described = lambda: session.run("systemctl --user show --property=Description --value latchkeyd.service").stdout
        assert described().strip() and "Newer" not in described()
        install(machine, newer)
        # The user manager answers only after it has done its earlier work.
        wait_until(lambda: "Newer" in described(), "the user manager's reading of the new unit")
    said = machine.root("systemctl", "show", "--property=Description", "--value", "latchkey-deviced.service").stdout
    assert "Newer" in said


def test_upgrade_leaves_the_files_of_pam(machine, newer):
    auth = machine.path("/etc/pam.d/common-auth")
    auth.write_text(auth.read_text().replace("pam_unix.so nullok", "pam_unix.so nullok nodelay"))
    before = stacks(machine)
    assert "nodelay" in before["common-auth"]
    install(machine, newer)
    assert stacks(machine) == before


def test_upgrade_respects_a_profile_that_was_disabled(machine, alice, newer):
    machine.root("pam-auth-update", "--package", "--disable", "latchkey")
    assert naming_the_module(machine) == set()
    install(machine, newer)
    assert naming_the_module(machine) == set()
    with alice.ssh() as session:
        assert session.status()["state"] != "unlocked"


def test_upgrade_respects_sockets_that_were_disabled(machine, newer):
    machine.root("systemctl", "--now", "disable", "latchkey-deviced.socket")
    machine.root("systemctl", "--global", "disable", "latchkeyd.socket")
    install(machine, newer)
    state = machine.root("systemctl", "is-enabled", "latchkey-deviced.socket", check=False).stdout.strip()
    assert state == "disabled"
    state = machine.root("systemctl", "--global", "is-enabled", "latchkeyd.socket", check=False).stdout.strip()
    assert state == "disabled"


def test_downgrade(machine, alice, newer, packages):
    with alice.ssh() as session:
        session.store(SECRET, app="one")
        install(machine, newer)
        install(machine, packages, "--allow-downgrades")
        assert session.lookup(app="one") == SECRET
    alice.await_end()
    with alice.ssh() as session:
        assert session.lookup(app="one") == SECRET


def test_remove_and_install_again(machine, alice, packages):
    with alice.ssh() as session:
        session.store(SECRET, "when-unlocked-this-device-only", app="one")
    alice.await_end()
    assert naming_the_module(machine) != set()
    machine.root(*APT, "remove", "latchkey", "libpam-latchkey")
    assert naming_the_module(machine) == set()
    with alice.ssh() as session:
        session.run("true")
    alice.await_end()
    install(machine, packages)
    with alice.ssh() as session:
        assert session.lookup(app="one") == SECRET


def test_remove_names_the_edited_files_that_keep_the_module(machine, alice):
    """pam-auth-update leaves edited files unchanged. Logins still work."""
    # The test adds a line among the lines of pam-auth-update. With only a changed option, pam-auth-update would still
    # write the file.
    machine.root("sed", "-i", "/^auth.*pam_unix.so/i auth optional pam_echo.so", "/etc/pam.d/common-auth")
    done = machine.root(*APT, "remove", "libpam-latchkey")
    kept = naming_the_module(machine)
    assert "common-auth" in kept and all(f"\n  /etc/pam.d/{name}\n" in done.stdout + done.stderr for name in kept)
    with alice.ssh() as session:
        session.run("true")


def test_the_installation_says_that_edited_files_keep_the_module_out(machine, alice, packages):
    # The test purges the packages. After a mere removal, the packages' scripts would take the installation for an
    # upgrade.
    machine.root(*APT, "purge", "latchkey", "libpam-latchkey")
    done = install(machine, packages)
    assert "Log out and in again" in done.stdout + done.stderr
    machine.root(*APT, "purge", "latchkey", "libpam-latchkey")
    machine.root("sed", "-i", "/^auth.*pam_unix.so/i auth optional pam_echo.so", "/etc/pam.d/common-auth")
    done = install(machine, packages)
    said = done.stdout + done.stderr
    assert "common-auth" not in naming_the_module(machine)
    assert "logins do not open vaults yet" in said and "pam-auth-update --enable latchkey" in said
    # In this state the first advice has no effect.
    machine.root("pam-auth-update", "--enable", "latchkey")
    assert "common-auth" not in naming_the_module(machine) and "It leaves edited files alone: add the lines" in said


def test_remove_while_logged_in(machine, alice):
    with alice.ssh() as session:
        session.store(SECRET, app="one")
        machine.root(*APT, "remove", "latchkey", "libpam-latchkey")
        with alice.ssh() as other:
            other.run("true")
        assert session.lookup(app="one") == SECRET


def test_removing_the_module_alone_leaves_the_vault_usable(machine, alice):
    machine.root(*APT, "remove", "libpam-latchkey")
    assert naming_the_module(machine) == set()
    with alice.ssh() as session:
        session.run("latchkey status")


@pytest.mark.parametrize("answer", [None, "true"], ids=["not-asked", "delete"])
def test_purge_keeps_what_is_not_ours_to_delete(machine, alice, packages, answer):
    with alice.ssh() as session:
        session.store(SECRET, app="one")
        session.store("bound", "when-unlocked-this-device-only", app="bound")
    alice.await_end()
    files = {file.name for file in alice.vault.iterdir()}
    if answer:
        machine.root("debconf-set-selections", input=f"latchkey latchkey/remove-device-keys boolean {answer}\n")
    said = machine.root(*APT, "purge", "latchkey", "libpam-latchkey")
    assert ".local/share/latchkey" in said.stdout + said.stderr
    assert {file.name for file in alice.vault.iterdir()} == files
    assert machine.path("/var/lib/latchkey").exists() == (answer is None)
    assert naming_the_module(machine) == set()
    left = [path for path in machine.path("/etc").rglob("*latchkey*")]
    assert not left
    install(machine, packages)
    with alice.ssh() as session:
        assert session.lookup(app="one") == SECRET
        assert session.lookup(app="bound") == ("bound" if answer is None else None)


@pytest.mark.parametrize("answer", ["no", "yes"])
def test_purge_asks_a_person_at_a_terminal(machine, alice, answer):
    with alice.ssh() as session:
        session.store("bound", "when-unlocked-this-device-only", app="bound")
    alice.await_end()
    purge = machine.terminal("env", "DEBIAN_FRONTEND=readline", *APT[2:], "purge", "latchkey", "libpam-latchkey")
    purge.expect("Delete the keys that bind secrets to this machine")
    purge.expect(r"\[yes/no\]")
    purge.sendline(answer)
    purge.expect(pexpect.EOF)
    assert machine.path("/var/lib/latchkey").exists() == (answer == "no")
    assert naming_the_module(machine) == set() and alice.vault.exists()
