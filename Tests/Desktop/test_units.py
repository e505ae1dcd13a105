"""The installed units, with all the options that they name in force."""

import re

import pytest
from support.machine import eventually

pytestmark = pytest.mark.second_try

OURS = (
    "latchkeyd.service latchkeyd.socket latchkey-first-unlock.target latchkey-ssh-agent.service latchkey-ssh-agent.socket"
    " latchkey-credentials.socket latchkey-credentials@1.service")


def test_units_are_sound(alice):
    with alice.login() as session:
        assert session.run(f"systemd-analyze --user verify {OURS}").stdout == ""
        assert session.run("systemctl --user --failed --plain --no-legend").stdout == ""


def test_socket_is_the_users_alone(alice):
    with alice.login() as session:
        assert session.run("stat -c '%a %F %U' $XDG_RUNTIME_DIR/latchkey/control").stdout == "600 socket alice\n"
        assert session.run("stat -c '%a %U' $XDG_RUNTIME_DIR/latchkey").stdout == "700 alice\n"


def test_login_starts_the_daemon(alice):
    with alice.login() as session:
        assert session.run("systemctl --user is-active latchkeyd.service").stdout == "active\n"
        assert session.run("busctl --user status org.freedesktop.secrets | grep ^Comm=").stdout == "Comm=latchkeyd\n"


def test_the_ssh_agent_is_there_from_the_login_on(alice):
    sign = "ssh-keygen -q -Y sign -n file -f me.pub <me.pub"
    with alice.login() as session:
        socket = session.run("systemctl --user show-environment | sed -n 's/^SSH_AUTH_SOCK=//p'").stdout.strip()
        assert socket == session.run("echo $XDG_RUNTIME_DIR/latchkey/ssh").stdout.strip()
        assert session.run(f"stat -c '%a %F %U' {socket}").stdout == "600 socket alice\n"
        session.run(f"latchkey ssh generate --ask never me >me.pub; SSH_AUTH_SOCK={socket} ssh-add -L | cmp - me.pub")
        session.run(f"SSH_AUTH_SOCK={socket} {sign}")
        session.run("latchkey lock")
        assert session.run(f"SSH_AUTH_SOCK={socket} {sign}", check=False).returncode != 0


def test_the_portals_frontend_starts_the_daemon(alice):
    name, path = "org.freedesktop.impl.portal.desktop.latchkey", "/org/freedesktop/portal/desktop"
    with alice.login() as session:
        session.run("systemctl --user stop latchkeyd.service 2>/dev/null")
        version = f"busctl --user get-property {name} {path} org.freedesktop.impl.portal.Secret version"
        assert session.run(version).stdout == "u 1\n"
        assert session.run("systemctl --user is-active latchkeyd.service").stdout == "active\n"
        owners = [session.run(f"busctl --user status {n} | grep ^PID=").stdout for n in (name, "org.freedesktop.secrets")]
        assert owners[0] == owners[1] != ""


START = "busctl --user call org.freedesktop.DBus / org.freedesktop.DBus StartServiceByName su org.freedesktop.secrets 0"
LINK = "$XDG_RUNTIME_DIR/dbus-1/services/org.freedesktop.secrets.service"


def take_the_link_away(session, account, away):
    """Removes the link to Latchkey's file, and waits until the bus uses another provider's file, which it reads after the
    link."""
    folder = f"{account.home}/.local/share/dbus-1/services"
    session.run(f"mkdir -p {folder}; printf '[D-BUS Service]\\nName=org.freedesktop.secrets\\nExec=/bin/false\\n' >{folder}/org.freedesktop.secrets.service")
    session.run(away)
    starts_other = lambda: "exited with status 1" in session.run(START, check=False).stdout
    eventually(starts_other, what="the bus, which starts the other provider")


def test_the_bus_starts_the_daemon_after_the_socket_was_stopped(alice):
    with alice.login() as session:
        take_the_link_away(session, alice, "systemctl --user stop latchkeyd.socket latchkeyd.service 2>/dev/null")
        session.run("systemctl --user restart latchkeyd.socket")
        session.run(START)
        assert session.run("systemctl --user is-active latchkeyd.service").stdout == "active\n"


def test_a_switch_has_the_bus_start_the_daemon(alice):
    with alice.login() as session:
        target = session.run(f"readlink {LINK}").stdout.strip()
        take_the_link_away(session, alice, f"rm {LINK}; systemctl --user stop latchkeyd.service 2>/dev/null")
        session.run(f"ln -s {target} {LINK}; latchkey switch --to latchkey")
        session.run("systemctl --user stop latchkeyd.service 2>/dev/null")
        session.run(START)
        assert session.run("systemctl --user is-active latchkeyd.service").stdout == "active\n"


def test_hardening_is_in_force(alice):
    with alice.login() as session:
        session.store("of default", app="default")
        daemon = alice.daemon()
        process = open(f"/proc/{daemon}/status").read()
        assert re.search(r"^NoNewPrivs:\s+1$", process, re.M)
        assert re.search(r"^Seccomp:\s+2$", process, re.M)
        assert re.search(r"^CapEff:\s+0+$", process, re.M)
        limits = open(f"/proc/{daemon}/limits").read()
        assert re.search(r"^Max core file size\s+0\s+0\s", limits, re.M)
        # The dynamic linker writes a zero between the parts of the variable when it reads the variable.
        environment = open(f"/proc/{daemon}/environ").read().replace("\0", ":")
        assert "GLIBC_TUNABLES=glibc.malloc.perturb=170:glibc.malloc.tcache_count=0:" in environment
        maps = open(f"/proc/{daemon}/maps").read()
        assert not re.search(r"^\S+ \Swx", maps, re.M)
        assert re.search(r"^VmLck:\s+[1-9]\d* kB$", process, re.M), "keys lie in locked memory"


def test_daemon_is_not_to_be_traced_by_its_user(alice):
    with alice.login() as session:
        inner = session.run("systemctl --user show -P MainPID latchkeyd.service").stdout.strip()
        assert session.run(f"cat /proc/{inner}/environ", check=False).returncode != 0


def test_daemon_that_cannot_start_is_given_up(alice):
    with alice.login() as session:
        session.run("mkdir -p ~/.config/systemd/user/latchkeyd.service.d")
        session.run("printf '[Service]\\nExecStart=\\nExecStart=/bin/false\\n' >~/.config/systemd/user/latchkeyd.service.d/x.conf")
        session.run("systemctl --user daemon-reload; systemctl --user restart latchkeyd.service", check=False)
        is_failed = lambda: session.run("systemctl --user is-failed latchkeyd.service", check=False).stdout == "failed\n"
        eventually(is_failed, what="the end of the attempts")
        assert int(session.run("systemctl --user show -P NRestarts latchkeyd.service").stdout) <= 10


def test_a_masked_socket_is_said_to_be(alice):
    with alice.login() as session:
        session.run("systemctl --user mask --now latchkeyd.socket latchkeyd.service 2>/dev/null")
        done = session.run("latchkey status", check=False)
        assert done.returncode == 3 and "is masked" in done.stdout and "switch" not in done.stdout
        assert "systemctl --user unmask latchkeyd.socket latchkeyd.service" in done.stdout
        # Each of these commands is enough by itself.
        session.run("systemctl --user unmask latchkeyd.socket latchkeyd.service && systemctl --user start latchkeyd.socket")
        assert session.run("latchkey status", check=False).returncode == 0
        session.run("latchkey switch --back")
        done = session.run("latchkey status", check=False)
        assert done.returncode == 3 and "'latchkey switch --to latchkey'" in done.stdout
        session.run("latchkey switch --to latchkey")


def test_a_socket_that_an_administrator_masked_is_said_to_be(alice):
    units = ("latchkeyd.socket", "latchkeyd.service")
    alice.machine.root("systemctl", "--global", "mask", *units)
    try:
        with alice.login() as session:
            for command in ("status", "find"):
                done = session.run(f"latchkey {command}", check=False)
                assert done.returncode == 3 and "administrator turned Latchkey off for all users" in done.stdout
                assert f"'sudo systemctl --global unmask {' '.join(units)}'" in done.stdout
                assert "switch --to latchkey" not in done.stdout
            done = session.run("latchkey doctor", check=False)
            assert re.search("^ok +programs ", done.stdout, re.M) and re.search("^ok +vault.files .*no vault.db yet", done.stdout, re.M)
        alice.await_end()
    finally:
        alice.machine.root("systemctl", "--global", "unmask", *units)
    with alice.login() as session:
        done = session.run("latchkey doctor", check=False)
        assert session.status()["problems"] == [] and "vault.db can be used" in done.stdout
