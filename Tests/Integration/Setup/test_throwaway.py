"""The throw-away session itself: it works, it is isolated, and it leaves no files behind."""

import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

import pexpect
import pytest
from support.pace import seconds
from support.quota import quota  # noqa: F401
from support.session import REPOSITORY, Session, is_alive, wait_until

THROWAWAY = REPOSITORY / "Tests/Session/throwaway"


def test_pam_accepts_the_password_and_no_other(session):
    assert session.login().returncode == 0
    assert session.login("wrong").returncode != 0
    assert session.locker().returncode == 0
    assert session.locker("wrong").returncode != 0
    assert session.locker(service="latchkey-unlock").returncode == 0
    # The session denies a service that it does not have, even if the system has it.
    assert session.locker(service="sshd").returncode != 0
    assert session.logout().returncode == 0


def test_pam_follows_a_change_of_the_password(session):
    old = session.password
    session.set_password("another one")
    assert session.login().returncode == 0
    assert session.login(old).returncode != 0


def test_no_command_says_that_the_account_lacks_a_password(new_session):
    """passwd(1) reports that the machine's `nobody` has no password. The session's account has a password."""
    status, doctor = (new_session.run("latchkey", command).stdout for command in ("status", "doctor"))
    assert "'latchkey unlock', which creates the vault" in status
    assert "sudo passwd" not in status + doctor and "there is no vault yet" in doctor


def test_no_system_account(session):
    assert session.uid != 0
    assert session.run("id", "-u").stdout.strip() == str(session.uid)


def test_only_the_session_is_in_reach(session):
    environment = session.environment
    for name in ("HOME", "TMPDIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        assert pathlib.Path(environment[name]).is_relative_to(session.root)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_ID", "SSH_AUTH_SOCK"):
        assert name not in environment
    assert session.run("busctl", "--system", "list").returncode != 0
    names = session.run("busctl", "--user", "--activatable", "--no-legend", "list", check=True).stdout
    known = {"org.freedesktop.DBus", "org.freedesktop.secrets"}
    assert {line.split()[0] for line in names.splitlines()} <= known


def test_another_users_session_needs_root(session):
    """The test starts a session as a user who is not root."""
    command = ["--stage", session.environment["LATCHKEY_STAGE"], "--below", session.root / "tmp"]
    for user, text in ((session.user, ""), ("daemon", "only root gives a session to another user: run it as daemon")):
        done = session.run("/usr/bin/python3", "-B", THROWAWAY, *command, "--user", user, "--", "true")
        assert done.returncode == (125 if text else 0) and text in done.stderr, done.stderr
        assert list((session.root / "tmp").glob("latchkey-*")) == []


def test_the_real_vault_is_not_touched(session):
    account = pwd.getpwuid(session.uid)
    real = [
        pathlib.Path(account.pw_dir) / ".local/share/latchkey",
        pathlib.Path(f"/run/user/{session.uid}/latchkey"),
    ]
    before = [contents(folder) for folder in real]
    session.login()
    session.run("secret-tool", "store", "--label=Test", "a", "b", input="secret")
    session.run("latchkey", "lock")
    session.locker()
    session.logout()
    assert [contents(folder) for folder in real] == before


def contents(folder):
    """Every file below the folder, with its bytes and times. The result is None if the folder does not exist."""
    if not folder.exists():
        return None
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("-shm")]
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_the_daemon_is_there_and_can_be_restarted(session):
    before = session.daemon_pid()
    assert before is not None and is_alive(before)
    after = session.restart(signal.SIGKILL)
    assert after != before
    assert not is_alive(before)


def test_a_login_takes_its_services_from_its_session_alone(session):
    """pam_wrapper copies the services to /tmp/pam.X. Two logins that begin at once may choose the same X."""
    process = session.start("pamtester", "login", session.user, "authenticate", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr.read(9) == b"Password:"
    copies = session.run("sh", "-c", f"grep -s -l {session.root} /tmp/pam.?/login").stdout
    process.communicate(session.password.encode())
    assert copies == "" and process.returncode == 0


def test_nothing_is_left(stage):
    session = Session(stage)
    daemon = session.daemon_pid()
    session.run("sh", "-c", "touch $TMPDIR/file $HOME/file", check=True)
    session.close()
    assert not is_alive(daemon)
    assert not session.root.exists()


LOGIN_AND_READ = (
    "set -e; pamtester login $USER authenticate open_session <$LATCHKEY_SESSION/password >$TMPDIR/told 2>&1\n"
    "echo secret | latchkey add --label L a=b >$TMPDIR/told; latchkey get a=b")


def test_a_stage_of_packages(stage):
    """A stage from `dpkg -x`. Here the module is in /lib."""
    with tempfile.TemporaryDirectory(prefix="latchkey-stage-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        copy = pathlib.Path(folder) / "unpacked"
        shutil.copytree(stage, copy, symlinks=True)
        [module] = copy.rglob("pam_latchkey.so")
        place = copy / "lib" / module.relative_to(copy / "usr/lib")
        place.parent.mkdir(parents=True)
        module.rename(place)
        done = subprocess.run(
            [THROWAWAY, "--stage", copy, "--", "sh", "-c", LOGIN_AND_READ], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=seconds(60))  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "secret"), done


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives a small share of the processor")
def test_a_script_on_a_slow_machine(stage, quota):  # noqa: F811
    """The first login does not wait for its vault."""
    done = subprocess.run(
        [THROWAWAY, "--stage", stage, "--", "sh", "-c", LOGIN_AND_READ], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=seconds(120), preexec_fn=quota(10).join)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "secret"), done


def test_what_is_installed_on_the_machine(stage):
    """Only this session sees the stage's files, which are mounted over the files of /usr."""
    mounting = 'mount -t overlay overlay -o "lowerdir=$1/usr:/usr" /usr'
    if subprocess.run(["unshare", "-m", "sh", "-c", mounting, "sh", stage], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("no overlay can be mounted here")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f'{mounting} && shift && exec "$@"', "sh", stage, THROWAWAY, "--stage", "/", "--", "sh", "-c",
         LOGIN_AND_READ], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds(60))  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "secret"), done


def test_a_process_that_does_not_want_to_end_does(stage):
    # The process has its own session, has no parent, and ignores SIGTERM.
    stubborn = "trap '' TERM HUP; echo $$; while :; do sleep 1; done"
    command = 'cd; setsid sh -c "$1" >told & until test -s told; do sleep 0.1; done; cat told; exit 7'
    done = subprocess.run(
        [THROWAWAY, "--stage", stage, "--", "sh", "-c", command, "sh", stubborn],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        timeout=seconds(30),
    )
    assert done.returncode == 7
    assert not is_alive(int(done.stdout))


def test_signals_clean_up(stage):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process = subprocess.Popen(
            [THROWAWAY, "--stage", stage, "--", "sh", "-c", "echo $LATCHKEY_SESSION; exec sleep 60"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        root = pathlib.Path(process.stdout.readline().decode().strip())
        assert root.is_dir()
        # The terminal sends the signal to every foreground process.
        os.killpg(process.pid, number)
        assert process.wait(seconds(30)) == 128 + number
        assert not root.exists()


def test_the_daemon_goes_with_a_session_that_was_killed(stage):
    session = Session(stage)
    daemon = session.daemon_pid()
    session._throwaway.kill()
    session.close()
    # The bus has ended with the session, and a daemon without its bus ends.
    wait_until(lambda: not is_alive(daemon), "the daemon's end")
    shutil.rmtree(session.root)


def test_a_prompt_can_open_the_terminal(stage):
    control, terminal = os.openpty()
    owner = os.fstat(terminal).st_uid
    command = 'test "$(stat -c %u "$(tty)")" = "$(id -u)" && : >>"$(tty)"'
    done = subprocess.run(
        [THROWAWAY, "--stage", stage, "--", "sh", "-c", command],
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.PIPE,
        text=True,
        timeout=seconds(30),
    )
    assert (done.returncode, done.stderr) == (0, "")
    # The terminal has its former owner again.
    assert os.fstat(terminal).st_uid == owner
    os.close(control)
    os.close(terminal)


def test_the_shell_after_the_tour_is_logged_in(stage):
    terminal = pexpect.spawn(str(THROWAWAY), ["--stage", str(stage), "--", "tour"], encoding="utf-8", timeout=seconds(10))
    terminal.expect("Every step did what it says.", timeout=seconds(60))
    terminal.expect("The login password is: correct horse")
    terminal.expect(r"throw-away session ~\$ ")
    terminal.sendline("latchkey status")
    terminal.expect(r"State +unlocked")
    terminal.sendline("exit")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
