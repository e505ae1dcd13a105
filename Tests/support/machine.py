"""A booted Debian for logins. systemd-nspawn boots it on an overlay of this machine's root file system, or of another
one.

Only the kernel is shared, and everything else is real: the network, users, PAM, logind, user managers and session
buses. All mounts belong to a mount namespace of the test process, so the mounts always end with that process.
"""

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pexpect
import pytest

from support.pace import Limit, seconds

REPOSITORY = Path(__file__).resolve().parents[2]
INSIDE = REPOSITORY / "Tests/Desktop/inside"
NAME = "latchkey-desktop"
# If the tests run in their own root (Tests/Session/testroot), this is that root's original state, without later
# changes.
TEST_ROOT = Path("/run/testroot")
CLEAN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM": "dumb", "LANG": "C.UTF-8"}
# The packages that the machine needs. The tests' root has all these packages. In another root, missing packages are
# installed into the machine.
PACKAGES = (
    "dbus dbus-user-session libpam-systemd openssh-server openssh-client pamtester libsecret-tools python3-gi "
    "i3lock xss-lock xvfb xdotool xauth fprintd libpam-fprintd sudo cron "
    "sway swaylock swayidle wtype xscreensaver mate-screensaver xsecurelock vlock lightdm lightdm-gtk-greeter greetd"
).split()


class Unavailable(Exception):
    """A system cannot boot here, for this reason."""


def or_skip(make):
    """The result of `make()`. If no system can boot, the test is skipped. In CI the test fails, because it must run in
    CI."""
    try:
        return make()
    except Unavailable as why:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no system could be booted: {why}")
        pytest.skip(f"no system could be booted: {why}")


def eventually(true, timeout=10.0, what="the condition"):
    """Waits until `true()` is true, and returns its value."""
    limit = Limit(timeout)
    while not (value := true()):
        if limit.is_over:
            raise AssertionError(f"{what} did not come about within {limit.seconds:.0f} s")
        time.sleep(0.05)
    return value


def enter_mount_namespace():
    """Gives this process its own mount namespace, once. The host's later mounts appear in the namespace, and the
    namespace's own mounts stay invisible to the host."""
    if not getattr(enter_mount_namespace, "done", False):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(0x00020000) != 0:  # CLONE_NEWNS
            raise Unavailable(f"no mount namespace: {os.strerror(ctypes.get_errno())}")
        subprocess.run(["mount", "--make-rslave", "/"], check=True)
        enter_mount_namespace.done = True


def control_group_root():
    """The folder of the unified hierarchy of control groups."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2" and os.access(where, os.W_OK):
            return Path(where)
    raise Unavailable("no writable cgroup2 mount")


def end(name):
    """Ends all processes in the control group of a machine, and removes its traces outside its own mounts."""
    root = control_group_root()
    if (root / name).is_dir():
        (root / name / "cgroup.kill").write_text("1")
        populated = lambda: "populated 1" in (root / name / "cgroup.events").read_text()
        eventually(lambda: not populated(), 30, f"the end of {name}")
    for top in (root, Path("/sys/fs/cgroup/systemd")):
        for folder, _, _ in os.walk(top / name, topdown=False):
            os.rmdir(folder)
    mark = Path("/run/systemd/nspawn/propagate", name)
    if mark.is_dir():
        mark.rmdir()


def remove_leftovers():
    """Removes the traces of killed test processes. The mounts have ended with the processes."""
    for folder in Path("/tmp").glob(f"{NAME}-*"):
        pid = folder.name.removeprefix(f"{NAME}-").split("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            # Another test process may remove the folder first.
            with contextlib.suppress(FileNotFoundError):
                end(folder.name)
                folder.rmdir()


class Machine:
    """One system. The system starts on the files of `below`, a machine that is not running. Without `below`, the system
    starts on the folder `root`, by default the tests' root or this machine's. All changes stay in an overlay."""

    count = 0

    def __init__(self, below=None, root=None):
        if os.geteuid() != 0:
            raise Unavailable("booting a system needs root")
        if not shutil.which("systemd-nspawn"):
            raise Unavailable("systemd-nspawn is missing (package systemd-container)")
        Machine.count += 1
        enter_mount_namespace()
        remove_leftovers()
        self.name = f"{NAME}-{os.getpid()}-{Machine.count}"
        self.group = control_group_root() / self.name
        self.work = Path("/tmp") / self.name
        self.top = self.work / "root"
        self.leader = None
        self.process = None
        self.work.mkdir()
        self._mount("-t", "tmpfs", "-o", "size=4G,mode=755", self.name, self.work)
        for folder in ("upper", "scratch", "root"):
            (self.work / folder).mkdir()
        self.lower = f"{below.work}/upper:{below.lower}" if below else str(root or (TEST_ROOT if TEST_ROOT.is_dir() else "/"))
        layers = f"lowerdir={self.lower},upperdir={self.work}/upper,workdir={self.work}/scratch"
        self._mount("-t", "overlay", "-o", layers, self.name, self.top)

    def _mount(self, *arguments):
        mounted = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)
        if mounted.returncode != 0:
            raise Unavailable(f"mount: {mounted.stderr.strip()}")

    # MARK: before the boot

    def _nspawn(self, *arguments, **options):
        """Starts systemd-nspawn in its own control group, so that several machines can run at once."""

        def before_exec():
            ctypes.CDLL(None).prctl(1, 15)  # PR_SET_PDEATHSIG, SIGTERM
            (self.group / "cgroup.procs").write_text(str(os.getpid()))

        self.group.mkdir(exist_ok=True)
        # nspawn's filter of system calls would refuse mlock and other calls that a vault needs. Units inside set their
        # own filters.
        environment = CLEAN | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1", "SYSTEMD_SECCOMP": "0"}
        command = ["systemd-nspawn", "-q", "-D", self.top, "-M", self.name, "--register=no", "--keep-unit", *arguments]
        return subprocess.Popen(command, env=environment, preexec_fn=before_exec, **options)

    def change(self, *command):
        """Runs a command on the machine's files, with the host's network."""
        process = self._nspawn(
            "--resolv-conf=bind-host", "--pipe", "env", "DEBIAN_FRONTEND=noninteractive", *command,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        output, _ = process.communicate(timeout=seconds(600))
        if process.returncode != 0:
            raise AssertionError(f"{' '.join(command)} ended with {process.returncode}:\n{output}")
        return output

    def add_packages(self, *packages):
        """Installs Debian packages."""
        self.change("apt-get", "-q", "install", "-y", "--no-install-recommends", *packages)

    def missing_packages(self, *packages):
        """The packages that the machine lacks."""
        asked = ["dpkg-query", f"--admindir={self.top}/var/lib/dpkg", "-W", "-f", "${Package} ${db:Status-Status}\n"]
        installed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split("\n")
        return [package for package in packages if f"{package} installed" not in installed]

    def provision(self):
        """Makes a bare overlay ready for the tests: packages, users, sshd, and the project's own files."""
        missing = self.missing_packages(*PACKAGES)
        if missing:
            try:
                self.add_packages(*missing)
            except AssertionError:  # stale lists of packages
                self.change("apt-get", "-q", "update")
                self.add_packages(*missing)
        tools = self.top / "usr/local/lib/latchkey-test"
        shutil.copytree(INSIDE, tools)
        self.change("bash", "/usr/local/lib/latchkey-test/provision")
        make("install", self.top)
        self.change("pam-auth-update", "--package", "--enable", "latchkey")

    # MARK: boot

    def boot(self):
        """Boots, and returns when all services of the boot run."""
        self.process = self._nspawn(
            "--console=read-only", "--private-network", "--capability=all", "-b",
            stdin=subprocess.DEVNULL, stdout=(self.work / "console").open("w"), stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            self.leader = eventually(self._find_leader, 30, "the start of the machine's systemd")
            state = eventually(self._boot_state, 90, "the end of the boot")
        except AssertionError as error:
            console = (self.work / "console").read_text()
            self.close()
            raise Unavailable(f"{error}; its console said:\n{console}") from None
        if state != "running":
            failed = self.root("systemctl", "--failed", "--no-pager").stdout
            self.close()
            raise AssertionError(f"the machine is {state}:\n{failed}")
        return self

    def _find_leader(self):
        if self.process.poll() is not None:
            raise AssertionError(f"systemd-nspawn ended with {self.process.returncode}")
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for pid in children:
            # At first, systemd-nspawn may have another child, which soon ends.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if Path(f"/proc/{pid}/comm").read_text() == "systemd\n":
                    return pid
        return None

    def _boot_state(self):
        state = subprocess.run(
            self._entering("systemctl", "is-system-running"), env=CLEAN, capture_output=True, text=True
        ).stdout.strip()
        return state if state in ("running", "degraded") else None

    def _cut_power(self):
        end(self.name)
        if self.process:
            self.process.wait()
            self.process = None

    def reboot(self):
        """Cuts the power and boots again. Only the files survive."""
        self._cut_power()
        return self.boot()

    def close(self):
        """Ends the machine as a power cut would, and removes its files."""
        self._cut_power()
        subprocess.run(["umount", "-l", self.top], check=False)
        subprocess.run(["umount", "-l", self.work], check=False)
        self.work.rmdir()

    # MARK: commands

    def _entering(self, *command):
        return ["nsenter", "-t", str(self.leader), "-a", "--", *map(str, command)]

    def _unit(self, *options):
        # A PAM program's remaining processes survive the program, as in the service of a display manager.
        return self._entering("systemd-run", "-q", "--wait", "--collect", "--property=KillMode=process", *options)

    def root(self, *command, input=None, timeout=60, check=True):
        """Runs a command as root in its own unit. The command's output is text."""
        return self._run(self._unit("--pipe", "--"), command, input, timeout, check)

    def user(self, name, *command, input=None, timeout=60, check=True):
        """Runs a command as a user outside any session. If the user manager runs, the command uses its folder and bus.
        """
        folder = f"/run/user/{self.uid(name)}"
        surroundings = [f"XDG_RUNTIME_DIR={folder}", f"DBUS_SESSION_BUS_ADDRESS=unix:path={folder}/bus"]
        unit = self._unit("--pipe", f"--uid={name}", *(f"--setenv={e}" for e in surroundings), "--")
        return self._run(unit, command, input, timeout, check)

    def _run(self, unit, command, input, timeout, check):
        stdin = {"input": input} if input is not None else {"stdin": subprocess.DEVNULL}
        done = subprocess.run(
            [*unit, *map(str, command)], env=CLEAN, capture_output=True, text=True, timeout=seconds(timeout), **stdin
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done

    def terminal(self, *command):
        """Runs a command as root on its own terminal."""
        run, *arguments = self._unit("--pty", "--setenv=TERM=dumb", "--", *command)
        # The program must end with its terminal, even if the tests ignore SIGHUP (nohup).
        hang_up = lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)
        return pexpect.spawn(
            run, arguments, env=CLEAN, encoding="utf-8", timeout=seconds(60), dimensions=(50, 400), preexec_fn=hang_up)

    def terminal_until_read(self, *command):
        """Like `terminal`, for a command that ends by itself. At the end the terminal shows `status` with the number,
        and waits for a line. The wait is needed because systemd-run can lose the last line of a program that ends."""
        return self.terminal("sh", "-c", '"$@"; echo "status $?"; read -r line', "sh", *command)

    def path(self, inside):
        """The host's path of a file in the running machine."""
        return Path(f"/proc/{self.leader}/root{inside}")

    def uid(self, name):
        """The user id of a user."""
        for line in self.path("/etc/passwd").read_text().splitlines():
            fields = line.split(":")
            if fields[0] == name:
                return int(fields[2])
        raise KeyError(name)

    def host_pid(self, inner):
        """The host's process id of a process in the machine."""
        namespace = os.readlink(f"/proc/{self.leader}/ns/pid")
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(folder / "ns/pid") == namespace:
                    numbers = re.search(r"^NSpid:\s+(.*)$", (folder / "status").read_text(), re.M)[1].split()
                    if int(numbers[-1]) == int(inner):
                        return int(folder.name)
            except OSError:
                pass  # The process has ended meanwhile, or cannot be read.
        raise ProcessLookupError(inner)

    def await_helpers(self):
        """Waits for the helpers of a login that returned early. A test with a hanging helper must end it itself."""
        limit = Limit(20)
        while self._has_helper() and not limit.is_over:
            time.sleep(0.05)

    def _has_helper(self):
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "comm").read_text() == "latchkey-derive\n":
                    if os.readlink(folder / "ns/pid") == os.readlink(f"/proc/{self.leader}/ns/pid"):
                        return True
            except OSError:
                pass  # ended meanwhile
        return False

    def cursor(self):
        """The present end of the journal, as a cursor."""
        shown = self.root("journalctl", "-q", "-n1", "--show-cursor", "-o", "cat").stdout
        return re.search(r"-- cursor: (.*)", shown)[1]

    def journal(self, cursor, program=None):
        """The journal's lines after a cursor, perhaps only the lines of one program."""
        self.root("journalctl", "--sync")
        # The filter is not journalctl's own, which drops the first matching line after a cursor.
        lines = self.root("journalctl", "-q", "--no-pager", f"--after-cursor={cursor}").stdout.splitlines()
        return "\n".join(line for line in lines if program is None or f" {program}[" in line)


def make(target, destination, check=True):
    """Runs the project's Makefile with this destination."""
    done = subprocess.run(
        ["make", "-C", REPOSITORY, target, f"DESTDIR={destination}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert not check or done.returncode == 0, done.stdout
    return done
