"""A login must not fail or wait long, whatever the state of the vault and its daemon."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from support.account import TOOLS
from support.machine import eventually

pytestmark = pytest.mark.second_try

VAULTS = ["new", "created"]
HELPER = "/usr/libexec/latchkey-derive"
SLOW = Path(__file__).resolve().parent / "Shims/slow.c"


@pytest.fixture(autouse=True)
def in_time(stopwatch):
    """Checks that no login and no logout of these tests takes longer than the module promises."""


@pytest.fixture(params=VAULTS)
def user(alice, request):
    """A user without a vault, and a user who has one."""
    if request.param == "created":
        with alice.login() as session:
            session.store("of default", app="default")
        alice.await_end()
    else:
        alice.machine.root("install", "-d", "-m", "700", "-o", alice.name, "-g", alice.name, alice.folder)
        alice.machine.root("chown", "-R", f"{alice.name}:", f"{alice.home}/.local")
    alice.created = request.param == "created"
    return alice


def assert_login_works(user):
    with user.login() as session:
        assert session.run("echo here").stdout == "here\n"
        session.status()  # the daemon answers
        assert session.lookup(app="absent") is None


def assert_recovered(user):
    user.await_end()
    with user.login() as session:
        if user.created:
            assert session.lookup(app="default") == "of default"
        session.store("stored after", app="after")
        assert session.lookup(app="after") == "stored after"


def test_read_only_folder(user):
    root, folder = user.machine.root, user.folder
    root("mount", "--bind", folder, folder)
    root("mount", "-o", "remount,bind,ro", folder)
    assert_login_works(user)
    root("umount", folder)
    assert_recovered(user)


def test_full_file_system(user):
    root, folder = user.machine.root, user.folder
    root("mount", "-t", "tmpfs", "-o", f"size=1M,mode=700,uid={user.uid}", "full", f"{user.home}/.local/share")
    if user.created:
        # The same vault, on a file system without free space.
        root("mkdir", folder)
        bare = f"/tmp/bare-{user.name}"
        root("mkdir", "-p", bare)
        root("mount", "--bind", "/home", bare)
        root("cp", "-a", f"{bare}/{user.name}/.local/share/latchkey/.", folder)
        root("chown", f"{user.name}:", folder)
        root("chmod", "700", folder)
        root("umount", bare)
    root("dd", "if=/dev/zero", f"of={user.home}/.local/share/filler", "bs=4k", check=False)
    assert_login_works(user)
    root("rm", f"{user.home}/.local/share/filler")
    assert_recovered(user)


def test_home_is_absent(user):
    root = user.machine.root
    root("mv", user.home, f"{user.home}.away")
    assert_login_works(user)
    root("mv", f"{user.home}.away", user.home)
    assert_recovered(user)


def test_home_is_unreadable(user):
    root = user.machine.root
    root("chown", "root:", user.home)
    root("chmod", "000", user.home)
    assert_login_works(user)
    root("chown", f"{user.name}:", user.home)
    root("chmod", "700", user.home)
    assert_recovered(user)


@pytest.mark.parametrize("place", ["pam_systemd", "pam_latchkey, lingering"])
def test_home_is_mounted_in_the_session(user, place):
    """The home is mounted just before the module runs, so the password waits for the home."""
    machine, root, away = user.machine, user.machine.root, f"/srv/{user.name}"
    root("mv", user.home, away)
    root("install", "-d", "-m", "755", user.home)
    if "lingering" in place:
        user.linger()
        assert user.status()["state"] == "sealed"
    stack = machine.path("/etc/pam.d/common-session")
    before = stack.read_text()
    mount = f"session required pam_exec.so type=open_session /bin/mount --bind {away} {user.home}\n"
    after = re.sub(rf"^(?=session\s+optional\s+{place.split(',')[0]}\.so)", mount, before, flags=re.M)
    assert after != before
    try:
        for time in ("first", "second"):
            stack.write_text(after)
            with user.login() as session:
                stack.write_text(before)  # the home is mounted once, for all sessions of the user
                if user.created:
                    assert session.lookup(app="default") == "of default"
                session.store(f"of the {time} time", app=time)
                assert session.lookup(app="first") == "of the first time"
            if "lingering" not in place:
                user.await_end()
            root("umount", "-l", user.home)
            assert list(machine.path(user.home).iterdir()) == []
    finally:
        stack.write_text(before)
    root("loginctl", "disable-linger", user.name)
    user.await_end()
    root("rmdir", user.home)
    root("mv", away, user.home)
    assert_recovered(user)


@pytest.mark.parametrize("kind", ["without permission", "of root"])
def test_keybag_is_unreadable(user, kind):
    root, keybag = user.machine.root, f"{user.folder}/keybag"
    if not user.created:
        root("install", "-m", "600", "-o", user.name, "/dev/null", keybag)
    root("chmod", "000" if kind == "without permission" else "600", keybag)
    if kind == "of root":
        root("chown", "root:", keybag)
    assert_login_works(user)
    root("chown", f"{user.name}:", keybag)
    root("chmod", "600", keybag)
    if not user.created:
        root("rm", keybag)
    assert_recovered(user)


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_keybag_is_no_file(user, kind):
    # The helper does not follow a keybag that is a link, and does not wait for a keybag that is a pipe.
    root, keybag = user.machine.root, f"{user.folder}/keybag"
    root("mv", keybag, f"{user.home}/kept", check=False)
    root(*{"link": ["ln", "-s", "/etc/shadow"], "fifo": ["mkfifo"], "folder": ["mkdir"]}[kind], keybag)
    root("chown", "-h", f"{user.name}:", keybag)
    assert_login_works(user)
    root("rm", "-r", keybag)
    root("mv", f"{user.home}/kept", keybag, check=False)
    assert_recovered(user)


def test_files_that_never_answer(user, monkeypatch):
    """A folder whose server is gone. A process that waits for it cannot even be killed."""
    root, folder = user.machine.root, user.folder
    root("mknod", "-m", "666", "/dev/fuse", "c", "10", "229", check=False)  # the device may exist already
    root("systemd-run", "-q", "--collect", "--unit=dead-files", f"{TOOLS}/dead-files", folder)
    eventually(lambda: f" {folder} fuse" in root("cat", "/proc/mounts").stdout, what="the mount")
    waiting = lambda: root("pgrep", "-x", "latchkey-derive", check=False).stdout.split()
    with monkeypatch.context() as patch:
        # The helper waits for the files until the test brings them back.
        patch.setattr(user.machine, "await_helpers", lambda: None)
        session = user.login()
    assert session.run("echo here").stdout == "here\n"
    assert waiting(), "nobody waits for the files, so nothing was shown"
    # The server is back, and answers all waiting calls with an error. That logs nobody out.
    root("systemctl", "stop", "dead-files.service")
    eventually(lambda: not waiting(), what="the end of what waited")
    root("umount", "-l", folder)
    assert session.run("echo here").stdout == "here\n"
    session.run(f"loginctl show-session {session.session}")
    session.close()
    assert_recovered(user)


@pytest.fixture
def helper(machine):
    """The helper's path, at which a test may put another file. The installed helper is next to it, with the ending `.kept`."""
    machine.root("mv", HELPER, f"{HELPER}.kept")
    yield machine.path(HELPER)
    machine.root("mv", f"{HELPER}.kept", HELPER)


def test_slow_files(user, helper):
    """The helper and the daemon get a slow disk, as on a network. All calls together take longer than a login may."""
    machine = user.machine
    library, slow = machine.path("/usr/local/lib/slow.so"), "SLOW_MILLISECONDS=700"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SLOW, "-ldl"], check=True)
    preload = "LD_PRELOAD=/usr/local/lib/slow.so"
    helper.write_text(f"#!/bin/sh\n{preload} {slow} exec {HELPER}.kept\n")
    helper.chmod(0o755)
    settings = machine.path("/etc/systemd/user/latchkeyd.service.d/slow.conf")
    settings.parent.mkdir()
    settings.write_text(f"[Service]\nEnvironment={preload} {slow}\n")
    try:
        with user.login() as session:
            assert session.run("echo here").stdout == "here\n"
    finally:
        settings.unlink()
        settings.parent.rmdir()
        library.unlink()
        helper.write_text(f"#!/bin/sh\nexec {HELPER}.kept\n")
    assert_recovered(user)


def test_no_memory_for_the_password(user):
    """The helper cannot get the memory for the key derivation. The limit does not hold for the daemon."""
    cursor = user.machine.cursor()
    with user.login(within=("prlimit", f"--as={60 << 20}")) as session:
        assert session.run("echo here").stdout == "here\n"
        assert user.status()["state"] == "sealed"
    # If there was a vault, the login went on before the helper failed.
    said = lambda: "not enough memory to derive the vault's key" in user.machine.journal(cursor)
    eventually(said, what="the reason in the log")
    assert (user.vault / "keybag").exists() == user.created
    assert_recovered(user)


def test_no_memory_may_be_locked(user):
    """The helper and the daemon may not lock memory, as with `ulimit -l 0`."""
    root, settings = user.machine.root, user.machine.path("/run/systemd/system/user@.service.d/lock.conf")
    settings.parent.mkdir()
    settings.write_text("[Service]\nLimitMEMLOCK=0\n")
    root("systemctl", "daemon-reload")
    try:
        with user.login(within=("prlimit", "--memlock=0:0")) as session:
            assert session.run("ulimit -l").stdout == "0\n"
            if user.created:
                assert session.lookup(app="default") == "of default"
            session.store("stored", app="more")
            assert session.lookup(app="more") == "stored"
            assert not session.status()["memory_locked"]
    finally:
        settings.unlink()
        settings.parent.rmdir()
        root("systemctl", "daemon-reload")
    assert_recovered(user)


def test_module_twice_in_the_stacks(alice):
    stacks = [alice.machine.path(f"/etc/pam.d/common-{kind}") for kind in ("auth", "session")]
    before = [stack.read_text() for stack in stacks]
    for stack, text in zip(stacks, before):
        stack.write_text(re.sub(r"^.*pam_latchkey\.so.*\n", r"\g<0>\g<0>", text, flags=re.M))
    try:
        cursor = alice.machine.cursor()
        with alice.login() as session:
            session.store("of default", app="default")
        alice.await_end()
        with alice.login() as session:
            assert session.lookup(app="default") == "of default"
            os.kill(alice.daemon(), signal.SIGSTOP)
            with alice.login() as other:
                assert other.run("echo here").stdout == "here\n"
            os.kill(alice.daemon(), signal.SIGCONT)
        # The log names only the stopped daemon.
        said = re.findall(r"pam_latchkey\(\S+ (.*)", alice.machine.journal(cursor, "login"))
        assert said and all("takes longer than a login waits" in line or "did not answer in time" in line or "is used up" in line for line in said)
    finally:
        for stack, text in zip(stacks, before):
            stack.write_text(text)


def test_stopped_daemon(alice):
    with alice.login() as first:
        first.store("of default", app="default")
        cursor = alice.machine.cursor()
        daemon = alice.daemon()
        os.kill(daemon, signal.SIGSTOP)
        try:
            with alice.login() as second:
                assert second.run("echo here").stdout == "here\n"
        finally:
            os.kill(daemon, signal.SIGCONT)
        assert re.search(r"pam_latchkey\(login:.*(did not answer in time|takes longer than a login waits)", alice.machine.journal(cursor, "login"))
        assert first.lookup(app="default") == "of default"


def test_socket_that_never_answers(alice):
    with alice.login() as first:
        first.store("of default", app="default")
        first.run("systemctl --user stop latchkeyd.socket latchkeyd.service")
        first.run(f"{TOOLS}/deaf-socket $XDG_RUNTIME_DIR/latchkey/control & deaf=$!")
        eventually(lambda: first.run("ss -xl | grep -q latchkey/control", check=False).returncode == 0, what="the socket")
        cursor = alice.machine.cursor()
        with alice.login() as second:
            assert second.run("echo here").stdout == "here\n"
        assert re.search(r"pam_latchkey\(login:.*(did not answer in time|takes longer than a login waits)", alice.machine.journal(cursor, "login"))
        first.run("kill $deaf; wait $deaf; systemctl --user start latchkeyd.socket")
        with alice.login():
            assert first.lookup(app="default") == "of default"


def test_missing_helper_is_a_line_in_the_log(alice, helper):
    cursor = alice.machine.cursor()
    with alice.login() as session:
        session.run("true")
    assert "pam_latchkey(login:" in alice.machine.journal(cursor, "login")


@pytest.mark.parametrize("end", ["kill -SEGV $$", "kill -KILL $$", "exec sleep 60", "exit 1", "printf '\\377'; exit 0"])
def test_helper_that_misbehaves_is_a_line_in_the_log(alice, helper, end):
    helper.write_text(f"#!/bin/bash\n{end} >&0\n")
    helper.chmod(0o755)
    cursor = alice.machine.cursor()
    with alice.login() as session:
        session.run("true")
    assert "pam_latchkey(login:" in alice.machine.journal(cursor, "login")
