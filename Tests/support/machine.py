"""A booted Debian to log in to: systemd-nspawn on an overlay of this machine's own root file system, or of another one.

Nothing in it is mocked but the kernel, which is shared. It has its own network, users, PAM, logind, user managers and
session buses. All mounts belong to a mount namespace of the test process, and so vanish with it, however it ends.
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
# The tests' own root (Tests/Session/testroot) as it was made: there where they run in it. Not what they changed in it since.
TEST_ROOT = Path("/run/testroot")
CLEAN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM": "dumb", "LANG": "C.UTF-8"}
# What the machine needs. The tests' root has all of them; in another one, what is missing is installed into the machine.
PACKAGES = (
    "dbus dbus-user-session libpam-systemd openssh-server openssh-client pamtester libsecret-tools python3-gi "
    "i3lock xss-lock xvfb xdotool xauth fprintd libpam-fprintd sudo cron "
    "sway swaylock swayidle wtype xscreensaver mate-screensaver xsecurelock vlock lightdm lightdm-gtk-greeter greetd"
).split()


class Unavailable(Exception):
    """No system can be booted here, for the reason given."""


def or_skip(make):
    """What `make()` returns. Where no system can be booted the tests are skipped, but not in CI, where they must run."""
    try:
        return make()
    except Unavailable as why:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no system could be booted: {why}")
        pytest.skip(f"no system could be booted: {why}")


def eventually(true, timeout=10.0, what="the condition"):
    """Waits until `true()` is, and returns what it returned."""
    limit = Limit(timeout)
    while not (value := true()):
        if limit.is_over:
            raise AssertionError(f"{what} did not come about within {limit.seconds:.0f} s")
        time.sleep(0.05)
    return value


def enter_mount_namespace():
    """Gives this process mounts of its own, once: those of the outside still come in, its own never leave."""
    if not getattr(enter_mount_namespace, "done", False):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(0x00020000) != 0:  # CLONE_NEWNS
            raise Unavailable(f"no mount namespace: {os.strerror(ctypes.get_errno())}")
        subprocess.run(["mount", "--make-rslave", "/"], check=True)
        enter_mount_namespace.done = True


def control_group_root():
    """The folder where the unified hierarchy of control groups is mounted."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2" and os.access(where, os.W_OK):
            return Path(where)
    raise Unavailable("no writable cgroup2 mount")


def end(name):
    """Ends whatever runs in the control group of a machine, and removes what it leaves outside its own mounts."""
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
    """Clears what test processes that were killed left behind. Their mounts went with them."""
    for folder in Path("/tmp").glob(f"{NAME}-*"):
        pid = folder.name.removeprefix(f"{NAME}-").split("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            # Whoever else begins at the same moment may be faster.
            with contextlib.suppress(FileNotFoundError):
                end(folder.name)
                folder.rmdir()


class Machine:
    """One system. It starts on the files of `below`, a machine that does not run, or on those of the folder `root`, which is the
    tests' own root or this machine's. Its own changes stay its own."""

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

    # While it is not running

    def _nspawn(self, *arguments, **options):
        """Starts systemd-nspawn in a control group of its own, so that machines can exist side by side."""

        def before_exec():
            ctypes.CDLL(None).prctl(1, 15)  # PR_SET_PDEATHSIG, SIGTERM
            (self.group / "cgroup.procs").write_text(str(os.getpid()))

        self.group.mkdir(exist_ok=True)
        # Its filter of system calls refuses mlock and the like, which a vault needs; inside, units set their own.
        environment = CLEAN | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1", "SYSTEMD_SECCOMP": "0"}
        command = ["systemd-nspawn", "-q", "-D", self.top, "-M", self.name, "--register=no", "--keep-unit", *arguments]
        return subprocess.Popen(command, env=environment, preexec_fn=before_exec, **options)

    def change(self, *command):
        """Runs a command on its files, with the network of the outside."""
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
        """Those that are not installed in it."""
        asked = ["dpkg-query", f"--admindir={self.top}/var/lib/dpkg", "-W", "-f", "${Package} ${db:Status-Status}\n"]
        installed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split("\n")
        return [package for package in packages if f"{package} installed" not in installed]

    def provision(self):
        """Makes a system for the tests of the bare overlay: packages, users, sshd, and the project's own files."""
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

    # Booting

    def boot(self):
        """Boots, and returns when everything that starts at boot has."""
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
            # The first child is another one for a moment.
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
        """A power cut, and another boot: of all that there was, only files are left."""
        self._cut_power()
        return self.boot()

    def close(self):
        """Ends the machine, as a power cut would, and removes its files."""
        self._cut_power()
        subprocess.run(["umount", "-l", self.top], check=False)
        subprocess.run(["umount", "-l", self.work], check=False)
        self.work.rmdir()

    # Commands

    def _entering(self, *command):
        return ["nsenter", "-t", str(self.leader), "-a", "--", *map(str, command)]

    def _unit(self, *options):
        # What a PAM program left to itself outlives it, as it does in the service of a display manager.
        return self._entering("systemd-run", "-q", "--wait", "--collect", "--property=KillMode=process", *options)

    def root(self, *command, input=None, timeout=60, check=True):
        """Runs a command as root, in a unit of its own. Its output is text."""
        return self._run(self._unit("--pipe", "--"), command, input, timeout, check)

    def user(self, name, *command, input=None, timeout=60, check=True):
        """Runs a command as a user outside any session, but with the user manager's folder and bus, if there are any."""
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
        """Runs a command as root on a terminal of its own."""
        run, *arguments = self._unit("--pty", "--setenv=TERM=dumb", "--", *command)
        # The program hangs up when its terminal goes, whoever ignores that for the tests (nohup).
        hang_up = lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)
        return pexpect.spawn(
            run, arguments, env=CLEAN, encoding="utf-8", timeout=seconds(60), dimensions=(50, 400), preexec_fn=hang_up)

    def terminal_until_read(self, *command):
        """The same for a command that ends by itself: says `status` and its number at the end, and stays until a line is typed.
        systemd-run can lose the last line of a program that ends."""
        return self.terminal("sh", "-c", '"$@"; echo "status $?"; read -r line', "sh", *command)

    def path(self, inside):
        """A file of the running machine, as seen from here."""
        return Path(f"/proc/{self.leader}/root{inside}")

    def uid(self, name):
        """The number of a user."""
        for line in self.path("/etc/passwd").read_text().splitlines():
            fields = line.split(":")
            if fields[0] == name:
                return int(fields[2])
        raise KeyError(name)

    def host_pid(self, inner):
        """The number by which the outside knows a process of the machine."""
        namespace = os.readlink(f"/proc/{self.leader}/ns/pid")
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(folder / "ns/pid") == namespace:
                    numbers = re.search(r"^NSpid:\s+(.*)$", (folder / "status").read_text(), re.M)[1].split()
                    if int(numbers[-1]) == int(inner):
                        return int(folder.name)
            except OSError:
                pass  # ended meanwhile, or not ours to look at
        raise ProcessLookupError(inner)

    def await_helpers(self):
        """Waits for what a login that waited no longer left to itself; a helper that hangs is a test's own business."""
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
        """A place in the journal: its present end."""
        shown = self.root("journalctl", "-q", "-n1", "--show-cursor", "-o", "cat").stdout
        return re.search(r"-- cursor: (.*)", shown)[1]

    def journal(self, cursor, program=None):
        """The journal's lines after a place in it, perhaps only those of one program."""
        self.root("journalctl", "--sync")
        # No filter of journalctl's: beside a cursor, it swallows the first line that fits.
        lines = self.root("journalctl", "-q", "--no-pager", f"--after-cursor={cursor}").stdout.splitlines()
        return "\n".join(line for line in lines if program is None or f" {program}[" in line)


def make(target, destination, check=True):
    """Runs the project's Makefile for a tree of files."""
    done = subprocess.run(
        ["make", "-C", REPOSITORY, target, f"DESTDIR={destination}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert not check or done.returncode == 0, done.stdout
    return done
