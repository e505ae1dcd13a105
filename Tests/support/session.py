"""Throw-away sessions for tests: fixtures, and the actions of a person in a session.

`session` is a fresh session for each test, `new_session` has no vault, and all tests of a module share
`shared_session`. All use one `make install` for the whole run. LATCHKEY_STAGE may name an existing installation.
Tests/Session/throwaway describes a session. If root runs the tests, the sessions belong to `nobody`.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
from support.creation import create_vault
from support.pace import Limit, seconds, settled

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUS = ["--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"]
SECRETS = "org.freedesktop.secrets"
TIMEOUT = 10.0
PR_SET_CHILD_SUBREAPER = 36


class Session:
    """A throw-away session. The session's processes are children of a `throwaway` command, which ends with `close`."""

    def __init__(self, stage, below="/tmp", user="nobody"):
        self.stage = stage
        # The background work of a login becomes a child of this process.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # `throwaway` cleans up when its command ends. The command ends with its standard input, even if the tests are
        # killed.
        self._throwaway = subprocess.Popen(
            [REPOSITORY / "Tests/Session/throwaway", "--stage", stage, "--below", below, "--user", user]
            + ["--", "sh", "-c", "env -0; echo; exec cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        variables = self._throwaway.stdout.readline().decode().rstrip("\n").split("\0")
        self.environment = dict(variable.split("=", 1) for variable in variables if variable)
        if "LATCHKEY_SESSION" not in self.environment:
            self.close()
            raise RuntimeError("no session; see the messages of throwaway")
        self.root = pathlib.Path(self.environment["LATCHKEY_SESSION"])
        self.home = self.root / "home"
        self.runtime = self.root / "run"
        self.vault = self.home / ".local/share/latchkey"
        self.user = self.environment["USER"]
        self.uid, self.gid = self.root.stat().st_uid, self.root.stat().st_gid
        self.password = (self.root / "password").read_text()
        # The log of the PAM modules, for the report of a failure. A login may succeed without unlocking the vault.
        self.pam_log = ""

    def close(self):
        """Ends the session and everything in it."""
        self._throwaway.stdin.close()
        self._throwaway.stdout.close()
        self._throwaway.wait(seconds(30))

    # MARK: commands

    def start(self, *command, **options):
        """Starts a process of the session's user, as subprocess.Popen does. The caller ends the process."""
        if os.getuid() != self.uid:
            options |= {"user": self.uid, "group": self.gid, "extra_groups": []}
        options = {"env": self.environment, "cwd": self.home, "umask": 0o022} | options
        return subprocess.Popen([str(argument) for argument in command], **options)

    def command_line(self, *command):
        """The words with which another program, such as pexpect, starts a process of the session's user."""
        words = [str(word) for word in command]
        if os.getuid() == self.uid:
            return words
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups", "--", *words]

    def run(self, *command, input="", check=False, timeout=30, **options):
        """Runs the command to its end, and returns a subprocess.CompletedProcess with text. With `check`, the command
        must succeed."""
        options |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with self.start(*command, text=True, **options) as process:
            try:
                stdout, stderr = process.communicate(input, seconds(timeout))
            except BaseException:
                process.kill()
                raise
        done = subprocess.CompletedProcess(command, process.returncode, stdout, stderr)
        if check:
            assert done.returncode == 0, f"{command}: {done.returncode}\n{stdout}{stderr}"
        return done

    def lend(self, program, *imported):
        """Copies a program of this package, and the files that it imports, to a place that the session's user can read.
        Returns the path of the copy."""
        folder = self.root / "support"
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        copies = {program: self.root / program.name} | {program.with_name(name): folder / name for name in ("pace.py", *imported)}
        for source, copy in copies.items():
            if not copy.exists():
                copy.write_text(source.read_text())
                copy.chmod(0o755)
        return self.root / program.name

    # MARK: actions of a person; the result's returncode tells whether PAM accepted

    def login(self, password=None):
        """Authenticates and opens a session, as login(1) does."""
        return self._pam("login", password, "authenticate", "open_session")

    def login_without_password(self):
        """Opens a session without a password."""
        return self._pam("autologin", "", "authenticate", "open_session")

    def locker(self, password=None, service="i3lock"):
        """Only authenticates, as screen lockers do."""
        return self._pam(service, password, "authenticate")

    def logout(self):
        """Closes the session, as login(1) does at its end."""
        return self._pam("login", "", "close_session")

    def lock(self):
        """Locks the vault as a locked screen does."""
        return self.run("latchkey", "lock", check=True)

    def _pam(self, service, password, *operations):
        password = self.password if password is None else password
        return self._pamtester(service, self.user, *operations, input=password)

    def _pamtester(self, *words, input="", **variables):
        environment = self.environment | variables | {"LATCHKEY_PAM_LOG": "1"}
        done = self.run("pamtester", *words, input=input, env=environment)
        self.pam_log += done.stderr
        self.await_helpers()
        return done

    @staticmethod
    def await_helpers():
        """Waits for the helpers of a login that returned early. A test with a hanging helper must end it itself."""
        limit = Limit(20)
        while any(is_at_work(process) for process in own_children()) and not limit.is_over:
            time.sleep(0.02)

    def set_password(self, password):
        """Changes only the password that PAM accepts, without a notice to the vault."""
        hashed = subprocess.run(
            ["openssl", "passwd", "-6", "-stdin"], input=password, stdout=subprocess.PIPE, text=True, check=True
        )
        (self.root / "passwd").write_text(f"{self.user}:{hashed.stdout}")
        self.password = password

    def shadow(self, field):
        """Makes the module see this password field of the shadow file."""
        (self.root / "shadow").write_text(f"{self.user}:{field}:20000:0:99999:7:::\n")

    def change_token(self, old, new):
        """Changes the vault's password as passwd(1) does when it knows both passwords. PAM's own password stays."""
        return self._pamtester("passwd", self.user, "chauthtok", PAM_OLDAUTHTOK=old, PAM_AUTHTOK=new)

    # MARK: secrets

    def store(self, secret, *attributes, label="Test", check=True):
        """Stores an item with secret-tool. The attributes are names and values in turn."""
        return self.run("secret-tool", "store", f"--label={label}", *attributes, input=secret, check=check)

    def lookup(self, *attributes):
        """The secret that secret-tool finds, or None."""
        done = self.run("secret-tool", "lookup", *attributes)
        return done.stdout if done.returncode == 0 else None

    # MARK: the daemon

    def status(self):
        """The output of `latchkey status`, after the daemon has talked to the device key service."""
        return settled(self.status_now)

    def status_now(self):
        """Like `status`, but at once, for tests whose service does not answer."""
        return json.loads(self.run("latchkey", "status", "--json", check=True).stdout)

    def owner(self, name):
        """The process that owns a name on the bus, or None."""
        method = "org.freedesktop.DBus.GetConnectionUnixProcessID"
        reply = self.run("dbus-send", "--session", "--print-reply=literal", *BUS, method, f"string:{name}")
        return int(reply.stdout.split()[-1]) if reply.returncode == 0 else None

    def daemon_pid(self):
        """The process that owns org.freedesktop.secrets, or None."""
        return self.owner(SECRETS)

    def offer(self, name, text):
        """Makes the bus start a service with this service file."""
        file = self.root / f"services/{name}.service"
        file.write_text(text)
        file.chmod(0o644)
        self.run("dbus-send", "--session", "--print-reply", *BUS, "org.freedesktop.DBus.ReloadConfig", check=True)

    def start_daemon(self):
        """Makes the bus start the daemon unless it runs. Returns the daemon's process."""
        method = "org.freedesktop.DBus.StartServiceByName"
        arguments = [f"string:{SECRETS}", "uint32:0"]
        self.run("dbus-send", "--session", "--print-reply=literal", *BUS, method, *arguments, check=True)
        return self.daemon_pid()

    def stop_daemon(self, number=signal.SIGTERM):
        """Sends the daemon the signal, and waits for its end."""
        process = self.daemon_pid()
        assert process is not None, "no daemon"
        os.kill(process, number)
        wait_until(lambda: not is_alive(process) and self.daemon_pid() != process, "the daemon's end")

    def remove_generations(self):
        """Removes the generations while no daemon runs, so that a damaged database cannot heal."""
        shutil.rmtree(self.vault / "generations", ignore_errors=True)

    def restart(self, number=signal.SIGTERM):
        """Stops the daemon with the signal, starts it, and returns its new process."""
        self.stop_daemon(number)
        return self.start_daemon()

    def log(self):
        """The messages of the bus and the daemon on stderr."""
        return (self.root / "log").read_text()


def own_children():
    """The children of this process, and the orphans that it has adopted."""
    found = []
    for children in pathlib.Path("/proc/self/task").glob("*/children"):
        # The thread may have ended meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found += children.read_text().split()
    return found


def is_at_work(process):
    """Whether the process is an orphaned helper. If the helper has ended, the function collects it, and still returns
    True. After that, the helper's supervisor becomes a child of this process."""
    try:
        if pathlib.Path(f"/proc/{process}/comm").read_text() != "latchkey-derive\n":
            return False
        os.waitpid(int(process), os.WNOHANG)
        return True
    except (FileNotFoundError, ProcessLookupError, ChildProcessError):
        return False


def is_alive(process):
    """Whether a process with this number runs. A process that has ended but is not collected does not count."""
    try:
        state = pathlib.Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until(condition, what, timeout=TIMEOUT):
    """Waits until the condition holds. Fails after `timeout` seconds; a busy machine gets more time.
    """
    limit = Limit(timeout)
    while not condition():
        assert not limit.is_over, f"waited {limit.seconds:.0f} s for {what}"
        time.sleep(0.02)


@pytest.fixture(scope="session")
def stage():
    """The folder of the installation."""
    if "LATCHKEY_STAGE" in os.environ:
        yield pathlib.Path(os.environ["LATCHKEY_STAGE"]).resolve()
        return
    # A session's user must be able to read the folder, so it is in /tmp.
    with tempfile.TemporaryDirectory(prefix="latchkey-stage-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        command = ["make", "--silent", "install", f"DESTDIR={folder}", "PREFIX=/usr"]
        subprocess.run(command, cwd=REPOSITORY, check=True, umask=0o022)
        yield pathlib.Path(folder)


@pytest.fixture
def new_session(stage):
    """A session for the test, without a vault."""
    opened = Session(stage)
    yield opened
    opened.close()


@pytest.fixture
def session(new_session):
    """A session for the test, with a vault that was never unlocked."""
    create_vault(new_session)
    return new_session


@pytest.fixture
def unlocked(new_session):
    """A session for the test, after a login."""
    create_vault(new_session)
    assert new_session.login().returncode == 0
    return new_session


@pytest.fixture(scope="module")
def shared_session(stage):
    """One session for all tests of the module."""
    opened = Session(stage)
    create_vault(opened)
    yield opened
    opened.close()
