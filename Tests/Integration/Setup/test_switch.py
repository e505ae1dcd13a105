"""`latchkey switch` as a program, with the real gnome-keyring on a session bus. The tests also kill the command before
each of its changes. ProviderSwitchTests tests the search, the plan and the restore on files. Desktop tests user
managers on the booted system.
"""

import fcntl
import json
import os
import pathlib
import shutil
import socket
import subprocess
import threading

import pytest
from support.pace import seconds
from support.person import Person
from support.session import SECRETS, wait_until

HOME = "/home/x"
KEYRING = "/usr/bin/gnome-keyring-daemon"
DEBIAN = pathlib.Path(__file__).resolve().parents[3] / "debian"
# The system calls that change files.
CHANGES = ("mkdir", "symlink", "rename", "unlink", "rmdir", "fsync")
DONE, REFUSED, LEFT = 0, 1, 4


@pytest.fixture
def machine(new_session, stage):
    """The files of a machine with several providers."""
    root = new_session.root / "machine"
    put(root, "/usr/bin/keepassxc", "")
    put(root, "/usr/bin/kwalletd5", "")
    put(root, KEYRING, "")
    for unit in ("latchkeyd.socket", "latchkeyd.service"):
        put(root, f"/usr/lib/systemd/user/{unit}", (stage / "usr/lib/systemd/user" / unit).read_text())
    put(root, "/usr/lib/systemd/user/gnome-keyring-daemon.service", f"[Service]\nExecStart={KEYRING} --components=pkcs11,secrets\n")
    put(root, "/etc/xdg/autostart/gnome-keyring-secrets.desktop", f"[Desktop Entry]\nExec={KEYRING} --start --components=secrets\n")
    put(root, "/usr/share/dbus-1/services/org.gnome.keyring.service", "[D-BUS Service]\n")
    put(root, "/usr/share/dbus-1/services/org.freedesktop.secrets.service", "[D-BUS Service]\n")
    put(root, f"{HOME}/.config/kwalletrc", "[Wallet]\nFirst Use=false\n")
    put(root, f"{HOME}/.config/keepassxc/keepassxc.ini", "[FdoSecrets]\nEnabled=true\n")
    hand_over(new_session, root)
    return root


def put(root, path, text):
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def hand_over(session, root):
    if os.getuid() == 0:
        for path in [root, *root.rglob("*")]:
            os.chown(path, session.uid, session.gid, follow_symlinks=False)


def switch(session, root, *options, before=(), bus=True):
    environment = {name: value for name, value in session.environment.items() if name != "XDG_CONFIG_HOME"}
    if not bus:
        environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nonexistent"
    environment["PATH"] = f"{environment['PATH']}:/usr/bin"
    command = [*before, "latchkey", "switch", "--root", root, "--home", HOME, "--json", *options]
    done = session.run(*command, env=environment, timeout=90)
    return done.returncode, json.loads(done.stdout) if done.stdout else None


def state(root):
    """Each file of the machine except the record, with mode and content, or with the target of a link."""
    found = {}
    for path in root.rglob("*"):
        if path.name == "switch.json":
            continue
        if path.is_symlink():
            found[path.relative_to(root)] = str(path.readlink())
        else:
            found[path.relative_to(root)] = (path.stat().st_mode, path.read_bytes() if path.is_file() else None)
    return found


@pytest.mark.night("ssh")
def test_the_ssh_agents_step_aside_and_come_back(machine, new_session, stage):
    autostart = "/etc/xdg/autostart/gnome-keyring-ssh.desktop"
    put(machine, autostart, f"[Desktop Entry]\nExec={KEYRING} --start --components=ssh\n")
    put(machine, "/usr/lib/systemd/user/gcr-ssh-agent.socket", "[Socket]\n")
    put(machine, "/usr/lib/systemd/user/gcr-ssh-agent.service", "[Service]\n")
    hand_over(new_session, machine)
    status, report = switch(new_session, machine, "--to", "latchkey", "--ssh-agent", "--dry-run", bus=False)
    assert status == REFUSED and any("latchkey-ssh-agent" in text for text in report["refused"])
    put(machine, "/usr/lib/systemd/user/latchkey-ssh-agent.socket", (stage / "usr/lib/systemd/user/latchkey-ssh-agent.socket").read_text())
    hand_over(new_session, machine)
    before = state(machine)
    switch(new_session, machine, "--to", "latchkey", bus=False)
    own = machine / HOME.lstrip("/") / ".config"
    assert not (own / "systemd/user/gcr-ssh-agent.socket").is_symlink()
    switch(new_session, machine, "--to", "latchkey", "--ssh-agent", bus=False)
    for unit in ("gcr-ssh-agent.socket", "gcr-ssh-agent.service"):
        assert str((own / "systemd/user" / unit).readlink()) == "/dev/null"
    assert "Hidden=true" in (own / "autostart/gnome-keyring-ssh.desktop").read_text()
    switch(new_session, machine, "--back", bus=False)
    after = state(machine)
    assert {path: after.get(path) for path in before} == before
    assert not (own / "autostart/gnome-keyring-ssh.desktop").exists()


def queue(session):
    """The processes that own the name or wait for it."""
    ask = ["busctl", "--user", "--json=short", "call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus"]
    answer = session.run(*ask, "ListQueuedOwners", "s", SECRETS)
    names = json.loads(answer.stdout)["data"][0] if answer.returncode == 0 else []
    found = []
    for name in names:
        number = session.run(*ask, "GetConnectionUnixProcessID", "s", name)
        if number.returncode == 0:
            pid = json.loads(number.stdout)["data"][0]
            with open(f"/proc/{pid}/comm", encoding="utf-8") as comm:
                found.append(comm.read().strip())
    return found


def test_usage(session):
    for options in ((), ("--to", "latchkey", "--back"), ("--to", "gnome-keyring")):
        assert session.run("latchkey", "switch", *options).returncode == 64


def test_for_whom_has_to_be_said(session, machine):
    done = session.run("latchkey", "switch", "--to", "latchkey", "--all-users")
    assert done.returncode == REFUSED and "sudo latchkey switch --to latchkey --all-users" in done.stdout
    if os.getuid() == 0:
        program = session.run("sh", "-c", "command -v latchkey").stdout.strip()
        for way in (["--back"], ["--to", "latchkey"]):
            done = subprocess.run([program, "switch", *way, "--root", machine, "--home", HOME], capture_output=True, text=True)
            assert done.returncode == REFUSED and f"sudo latchkey switch {' '.join(way)} --all-users" in done.stdout


def test_all_users(session, machine):
    """The users' own files stay, and the command touches no session."""
    home = machine / HOME.lstrip("/")
    session.login()
    before = state(machine)
    status, planned = switch(session, machine, "--to", "latchkey", "--all-users", "--dry-run")
    assert (status, planned["state"], planned["all_users"]) == (DONE, "planned", True) and state(machine) == before
    status, done = switch(session, machine, "--to", "latchkey", "--all-users")
    assert (status, done["state"], done["owners"]) == (DONE, "done", []) and done["changes"] == planned["changes"]
    changed = {path for path, now in state(machine).items() if now != before.get(path)}
    assert changed and not any(machine / path == home or home in (machine / path).parents for path in changed)
    assert queue(session) == ["latchkeyd"]
    status, done = switch(session, machine, "--back")
    assert (status, done["all_users"]) == (REFUSED, False) and "sudo latchkey switch --back --all-users" in done["refused"][0]
    assert switch(session, machine, "--back", "--all-users")[0] == DONE
    assert before.items() <= state(machine).items()
    # The command does not write into a folder in which another user could place a link.
    (machine / "etc/xdg/autostart").chmod(0o777)
    now = state(machine)
    status, done = switch(session, machine, "--to", "latchkey", "--all-users")
    assert status == REFUSED and "ls -ld /etc/xdg/autostart" in done["refused"][0] and state(machine) == now


def test_all_users_after_a_pause(session, machine):
    """The PAM profile was disabled, so no login would unlock a vault."""
    put(machine, "/etc/pam.d/login", "@include common-auth\n@include common-session\n@include common-password\n")
    put(machine, "/usr/share/pam-configs/latchkey", "Name: Latchkey\n")
    put(machine, "/usr/sbin/pam-auth-update", "")
    put(machine, "/etc/os-release", "ID=debian\n")
    for kind in ("auth", "password"):
        lines = ("[success=1 default=ignore] pam_unix.so", "requisite pam_deny.so", "required pam_permit.so")
        put(machine, f"/etc/pam.d/common-{kind}", "".join(f"{kind} {line}\n" for line in lines))
    put(machine, "/etc/pam.d/common-session", "session required pam_unix.so\nsession optional pam_systemd.so\n")
    hand_over(session, machine)
    status, done = switch(session, machine, "--to", "latchkey", "--all-users")
    login, password = done["notes"][-2:]
    assert status == DONE and "pam.login" in login and login.endswith("Run 'sudo pam-auth-update --enable latchkey'.")
    assert "the former one" in password
    _, done = switch(session, machine, "--back", "--all-users")
    assert login not in done["notes"]
    for kind in ("auth", "session", "password"):
        with (machine / f"etc/pam.d/common-{kind}").open("a") as file:
            file.write(f"{kind} optional pam_latchkey.so\n")
    _, done = switch(session, machine, "--to", "latchkey", "--all-users")
    assert done["state"] == "done" and not any("does not unlock the vault" in note for note in done["notes"])


def maintain(machine, script, action):
    """Runs a script of the Debian package with the machine's /etc and /usr/local. Returns the output."""
    sandbox = ["bwrap", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--bind", machine / "usr/local", "/usr/local"]
    sandbox += ["--bind", machine / "etc", "/etc", "--ro-bind", DEBIAN, "/run/debian", "--dev", "/dev"]
    for folder in ("bin", "lib", "lib64"):
        sandbox += ["--symlink", f"usr/{folder}", f"/{folder}"]
    done = subprocess.run([*sandbox, "--", "sh", f"/run/debian/latchkey.{script}", action], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_purging_the_package_after_a_switch(session, machine):
    before = state(machine)
    masks = [machine / f"etc/systemd/user/latchkeyd.{kind}" for kind in ("socket", "service")]
    record = machine / "etc/latchkey/switch.json"
    assert switch(session, machine, "--to", "latchkey", "--all-users")[0] == DONE
    # An administrator masks Latchkey by hand. The record still allows turning the other providers on again.
    for mask in masks:
        mask.symlink_to("/dev/null")
    now, noted = state(machine), record.read_bytes()
    for script, action in (("prerm", "remove"), ("postrm", "purge")):
        assert "sudo latchkey switch --back --all-users" in maintain(machine, script, action)
        assert state(machine) == now and record.read_bytes() == noted
    for mask in masks:
        mask.unlink()
    # After `--back`, the masks belong to the command.
    assert switch(session, machine, "--back", "--all-users")[0] == DONE
    assert all(mask.is_symlink() for mask in masks) and record.exists()
    assert "switch" not in maintain(machine, "prerm", "remove")
    assert "switch" not in maintain(machine, "postrm", "purge")
    assert not record.parent.exists()
    left = {path: facts for path, facts in state(machine).items() if not (machine / path).is_dir() or (machine / path).is_symlink()}
    assert left == {path: before[path] for path in left} and left.keys() >= {path for path in before if (machine / path).is_file()}


def test_a_private_file_is_not_copied_for_all_users(session, machine):
    """Other users than root may write to /usr/local/share. A link there could lead root to any file."""
    portals = "/usr/share/xdg-desktop-portal/portals"
    put(machine, f"{portals}/latchkey.portal", "[portal]\n")
    put(machine, f"{portals}/kwallet.portal", "[portal]\n")
    private = machine / "etc/private"
    put(machine, "/etc/private", "[preferred]\norg.freedesktop.impl.portal.Secret=kwallet\nhash=$y$j9T\n")
    private.chmod(0o600)
    place = machine / "usr/local/share/xdg-desktop-portal/kde-portals.conf"
    place.parent.mkdir(parents=True)
    place.symlink_to("/etc/private")
    hand_over(session, machine)
    before = state(machine)
    status, done = switch(session, machine, "--to", "latchkey", "--all-users")
    assert status == REFUSED and "kde-portals.conf'" in done["refused"][0] and state(machine) == before
    assert switch(session, machine, "--to", "latchkey", "--all-users", "--keep-portal")[0] == DONE
    assert [path for path in machine.rglob("*") if path.is_file() and b"$y$j9T" in path.read_bytes()] == [private]


def test_gnome_keyring_leaves_the_queue_and_its_agent_stays(session, machine):
    session.login()
    session.run("mkdir", "-m", "700", session.home / ".ssh", check=True)
    folder = session.runtime / "keyring"
    keyring = session.start(KEYRING, "--foreground", "--components=secrets,ssh", "--control-directory", folder)
    try:
        wait_until(lambda: queue(session) == ["latchkeyd", "gnome-keyring-d"], "gnome-keyring, which waits for the name")
        wait_until((folder / "ssh").exists, "the agent")
        _, planned = switch(session, machine, "--to", "latchkey", "--dry-run")
        assert "gnome-keyring-d" in queue(session)
        status, done = switch(session, machine, "--to", "latchkey")
        assert (status, done["state"], done["owners"]) == (DONE, "done", ["latchkeyd"]), done
        assert done["changes"] == planned["changes"] and any("gnome-keyring (process" in one for one in done["changes"])
        for told in (planned, done):
            assert any("ssh agent keeps running. It signs while the vault is locked" in one for one in told["notes"])
        assert keyring.wait(seconds(10)) is not None and queue(session) == ["latchkeyd"]
        agent = session.run("ssh-add", "-l", env=session.environment | {"SSH_AUTH_SOCK": str(folder / "ssh")})
        assert "no identities" in agent.stdout
    finally:
        keyring.kill()
        keyring.wait()
        session.run("pkill", "-u", str(session.uid), "-f", f"gnome-keyring-daemon.*{folder}")


def test_one_that_takes_the_name_when_the_first_has_ended_leaves_it_too(session, machine):
    session.login()
    session.stop_daemon()
    keyring = f"{KEYRING} --foreground --components=secrets --control-directory {session.runtime}/keyring"
    start = f"busctl --user call org.freedesktop.DBus / org.freedesktop.DBus StartServiceByName su {SECRETS} 0"
    others = session.start("sh", "-c", f"{keyring}; {keyring}; {start}")
    try:
        wait_until(lambda: queue(session) == ["gnome-keyring-d"], "the first")
        status, done = switch(session, machine, "--to", "latchkey")
        assert (status, done["state"], done["owners"]) == (DONE, "done", ["latchkeyd"]), done
        assert others.wait(seconds(10)) == 0
    finally:
        session.run("pkill", "-u", str(session.uid), "-f", f"gnome-keyring-daemon.*{session.runtime}")
        others.wait()


def test_going_back_tells_of_secrets_in_the_vault_alone(session, machine):
    command = ["env", "-u", "XDG_CONFIG_HOME", "latchkey", "switch", "--root", machine, "--home", HOME]
    told = "Secrets that you did not export are in Latchkey's vault alone. See 'Going back' in latchkey-switch(1)."
    environment = session.environment | {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}
    for words, how_often in ((["--to", "latchkey"], 0), (["--back", "--dry-run"], 1), (["--back"], 1), (["--back"], 0)):
        done = session.run(*command, *words, env=environment)
        assert done.returncode == DONE and done.stdout.count(told) == how_often, done


def test_going_back_without_a_vault_names_none(new_session, machine):
    command = ["env", "-u", "XDG_CONFIG_HOME", "latchkey", "switch", "--root", machine, "--home", HOME]
    environment = new_session.environment | {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}
    for words in (["--to", "latchkey"], ["--back"]):
        done = new_session.run(*command, *words, env=environment)
        assert done.returncode == DONE, done
    assert "vault alone" not in done.stdout and "Your vault stays" not in done.stdout
    assert "To use Latchkey again: latchkey switch --to latchkey" in done.stdout


def test_a_person_sees_what_is_waited_for(session, machine):
    session.login()
    keyring = session.start(KEYRING, "--foreground", "--components=secrets", "--control-directory", session.runtime / "keyring")
    try:
        wait_until(lambda: queue(session) == ["latchkeyd", "gnome-keyring-d"], "gnome-keyring, which waits for the name")
        command = ["latchkey", "switch", "--root", machine, "--home", HOME, "--to", "latchkey"]
        shown = Person(session, "env", "-u", "XDG_CONFIG_HOME", *command).expect("\r\x1b[KEnding gnome-keyring (process").output()
        # The progress message does not stay on the terminal.
        assert "\r\x1b[KDone:" in shown and "Ending" not in shown.split("Done:")[1]
    finally:
        keyring.kill()
        keyring.wait()


def test_an_agent_that_does_not_answer_is_not_taken_for_an_empty_one(session, machine):
    session.login()
    folder = session.runtime / "keyring"
    keyring = session.start(KEYRING, "--foreground", "--components=secrets", "--control-directory", folder)
    agent = socket.socket(socket.AF_UNIX)

    def hang_up():
        # Accepts connections until the test shuts the socket down.
        while True:
            try:
                agent.accept()[0].close()
            except OSError:
                return

    server = threading.Thread(target=hang_up)
    try:
        wait_until(lambda: queue(session) == ["latchkeyd", "gnome-keyring-d"], "gnome-keyring, which waits for the name")
        agent.bind(str(folder / "ssh"))
        os.chmod(folder / "ssh", 0o666)
        agent.listen()
        server.start()
        status, done = switch(session, machine, "--to", "latchkey")
        assert (status, done["state"]) == (LEFT, "left") and "does not answer" in done["left"][0]
        assert keyring.poll() is None and queue(session) == ["latchkeyd", "gnome-keyring-d"]
    finally:
        agent.shutdown(socket.SHUT_RDWR)
        if server.ident:
            server.join()
        agent.close()
        keyring.kill()
        keyring.wait()


@pytest.mark.parametrize("way", [("--to", "latchkey"), ("--back",)], ids=["taking over", "handing back"])
def test_two_runs_at_once_are_kept_apart(new_session, machine, way):
    before = state(machine)
    # The lock of another run. The other run could be at any step.
    folder = os.open(machine / HOME.lstrip("/"), os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    status, done = switch(new_session, machine, *way, bus=False)
    assert (status, done["state"]) == (REFUSED, "refused") and "another 'latchkey switch'" in done["refused"][0]
    assert state(machine) == before
    # A dry run changes nothing, so it does not wait for the lock.
    assert switch(new_session, machine, *way, "--dry-run", bus=False)[0] == DONE
    os.close(folder)
    assert switch(new_session, machine, *way, bus=False)[0] == DONE
    assert state(machine) != before


@pytest.mark.night("faults")
@pytest.mark.parametrize("way", [("--to", "latchkey"), ("--back",)], ids=["taking over", "handing back"])
@pytest.mark.parametrize("scope", [(), ("--all-users",)], ids=["one", "all"])
def test_killed_in_front_of_each_change(new_session, machine, way, scope):
    """After a kill, `--back` restores the same files as without the kill."""
    session = new_session
    kept = machine.with_name("kept")

    def again():
        shutil.rmtree(machine)
        shutil.copytree(kept, machine, symlinks=True)
        hand_over(session, machine)

    shutil.copytree(machine, kept, symlinks=True)
    assert switch(session, machine, "--to", "latchkey", *scope, bus=False)[0] == DONE
    taken = state(machine)
    if way == ("--back",):
        shutil.rmtree(kept)
        shutil.copytree(machine, kept, symlinks=True)
    assert switch(session, machine, "--back", *scope, bus=False)[0] == DONE
    back = state(machine)
    again()
    before = state(machine)
    kills = 0
    for call in CHANGES:
        number = 0
        while True:
            number += 1
            inject = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={number}")
            status, _ = switch(session, machine, *way, *scope, before=inject, bus=False)
            if status == DONE:
                again()
                break
            for name, now in state(machine).items():
                if not name.name.endswith(".latchkey-new"):
                    assert now in (before.get(name), taken.get(name), back.get(name)), (call, number, name)
            assert switch(session, machine, "--back", *scope, bus=False)[0] == DONE
            assert state(machine) == back, (call, number)
            again()
            kills += 1
    assert kills > 20
