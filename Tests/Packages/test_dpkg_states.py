"""No state of dpkg makes a login fail. After any interruption or loss of files, alice can log in, and a repair restores
everything.
"""

import time

import pytest
from support.terminal import LoginRefused

SECRET = "correct horse"
SCRIPTS = [f"{package} {script}" for package in ("latchkey", "libpam-latchkey") for script in ("postinst", "prerm")]


def assert_login(alice):
    """Checks that alice can log in with the right password."""
    with alice.ssh() as session:
        session.run("true")
    alice.await_end()


def has_vault(alice):
    """Whether a login unlocks the vault with all its items."""
    with alice.ssh() as session:
        found = session.lookup(app="one")
    alice.await_end()
    return found == SECRET


def store(alice):
    with alice.ssh() as session:
        session.store(SECRET, app="one")
    alice.await_end()


def state_of(machine, package):
    return machine.root("dpkg-query", "-W", "-f", "${db:Status-Status}", package, check=False).stdout


def repair(machine, packages):
    """Follows the advice of docs/user/packages.md."""
    packages.bring_to(machine.path("/"))
    machine.root("dpkg", "--install", *packages.inside, timeout=120)
    assert machine.root("dpkg", "--audit").stdout == ""


def test_unpacked_and_not_configured(bare_machine, alice, packages):
    packages.bring_to(bare_machine.path("/"))
    for package in packages.inside:
        # dpkg unpacks a package even if its dependency is not configured.
        bare_machine.root("dpkg", "--unpack", package)
        assert_login(alice)
    assert state_of(bare_machine, "libpam-latchkey") == "unpacked"
    bare_machine.root("dpkg", "--configure", "-a")
    store(alice)
    assert has_vault(alice)


def test_upgrade_unpacked_and_not_configured(machine, alice, packages, newer):
    store(alice)
    newer.bring_to(machine.path("/"))
    # The module's package comes first, so that the module is newer than the programs that it starts.
    for package in reversed(newer.inside):
        machine.root("dpkg", "--unpack", "--force-depends", "--force-breaks", package)
        assert has_vault(alice)
    repair(machine, newer)
    assert has_vault(alice)


@pytest.mark.parametrize(
    "file", ["/usr/lib/x86_64-linux-gnu/security/pam_latchkey.so", "/usr/libexec/latchkey-derive", "/usr/libexec/latchkeyd"])
def test_file_is_missing_while_pam_names_the_module(machine, alice, packages, file):
    store(alice)
    machine.path(file).unlink()
    assert "pam_latchkey" in machine.path("/etc/pam.d/common-auth").read_text()
    assert_login(alice)
    with pytest.raises(LoginRefused):
        alice.ssh("wrong")
    changed = machine.root("pamtester", "login", "alice", "authenticate", input="sesame-1\n", check=False)
    assert changed.returncode == 0, changed.stderr
    repair(machine, packages)
    assert has_vault(alice)


def test_module_is_empty_or_cut(machine, alice, packages):
    store(alice)
    module = machine.path("/usr/lib/x86_64-linux-gnu/security/pam_latchkey.so")
    content = module.read_bytes()
    for length in (0, 100):
        # dpkg too replaces the module's file with a new one. Running processes keep the former file mapped.
        module.with_suffix(".new").write_bytes(content[:length])
        module.with_suffix(".new").rename(module)
        assert_login(alice)
    repair(machine, packages)
    assert has_vault(alice)


@pytest.mark.parametrize("place", ["begin", "end"])
@pytest.mark.parametrize("which", SCRIPTS)
def test_dpkg_is_killed_by_a_script(machine, alice, newer, tmp_path, which, place):
    """A script ends dpkg: the new postinst during an upgrade, or the prerm during a removal."""
    store(alice)
    package, script = which.split()

    def change(name, tree):
        if name == package:
            file = tree / "DEBIAN" / script
            lines = file.read_text().splitlines()
            lines.insert(1 if place == "begin" else len(lines), "kill -KILL $PPID")
            file.write_text("\n".join(lines) + "\n")

    deadly = newer.changed(tmp_path, change)
    deadly.bring_to(machine.path("/"))
    done = machine.root("dpkg", "-i", *deadly.inside, check=False, timeout=120)
    if script == "prerm":
        assert done.returncode == 0, done.stderr
        done = machine.root("dpkg", "--remove", "libpam-latchkey", "latchkey", check=False)
    assert done.returncode != 0
    assert_login(alice)
    # The script would also end the repair.
    for name in ("postinst", "prerm"):
        path = machine.path(f"/var/lib/dpkg/info/{package}.{name}")
        if path.exists():
            path.write_text(path.read_text().replace("kill -KILL $PPID", ""))
    repair(machine, newer)
    assert has_vault(alice)


@pytest.mark.parametrize("what", ["upgrade", "remove", "purge"])
def test_dpkg_is_killed_at_any_moment(machine, alice, packages, newer, what):
    store(alice)
    newer.bring_to(machine.path("/"))
    command = {
        "upgrade": ["dpkg", "-i", *newer.inside],
        "remove": ["dpkg", "--remove", "libpam-latchkey", "latchkey"],
        "purge": ["dpkg", "--purge", "libpam-latchkey", "latchkey"],
    }[what]
    begun = time.monotonic()
    kill_after(machine, command, 600)
    whole = time.monotonic() - begun
    for step in range(1, 6):
        repair(machine, packages)
        kill_after(machine, command, whole * step / 6)
        assert_login(alice)
    repair(machine, packages)
    assert has_vault(alice)


def kill_after(machine, command, limit):
    """Runs a command, and kills it with its children after so many seconds."""
    quiet = ("env", "DEBIAN_FRONTEND=noninteractive")
    machine.root(*quiet, "timeout", "-s", "KILL", f"{limit:.2f}", *command, check=False, timeout=700)
