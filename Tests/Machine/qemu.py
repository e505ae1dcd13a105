"""A whole Debian that the tests can inspect: QEMU with its own disk and a serial console.

Unlike a container, the machine has its own kernel. So the tests can read all physical memory of the machine. The
machine really sleeps and wakes, and its control groups have every controller. Its clock and its TPM are its own, too.

QEMU uses the processor's virtualization if this machine may use it (KVM), and emulates the processor otherwise.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pexpect
import pexpect.fdpexpect
from console import Console
from image import CACHE, Unavailable, make_image
from monitor import Monitor
from support.pace import seconds

MEMORY = 768 << 20
# An emulated machine is slow, so the timeout is long.
TIMEOUT = float(os.environ.get("LATCHKEY_MACHINE_TIMEOUT", "600"))

__all__ = ["Machine", "Unavailable", "eventually"]


def eventually(true, timeout=TIMEOUT, what="the condition"):
    """Waits until `true()` is true, and returns its value."""
    deadline = time.monotonic() + timeout
    while not (value := true()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come about within {timeout} s")
        time.sleep(0.5)
    return value


def accelerators():
    """QEMU's arguments for the way to run the machine's processors. If KVM refuses, QEMU goes on to the second way."""
    flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    # Some hosts have /dev/kvm without the processor's virtualization (PVM). An ordinary kernel hardly moves there.
    has_virtualization = flags and {"vmx", "svm"} & set(flags[1].split())
    usable = has_virtualization and os.access("/dev/kvm", os.R_OK | os.W_OK)
    return [*(("-accel", "kvm") if usable else ()), "-accel", "tcg,thread=multi"]


class Chip:
    """A TPM of a machine. swtpm plays it, outside the machine's memory. Its state survives power cuts."""

    def __init__(self, folder):
        if not shutil.which("swtpm"):
            raise Unavailable("swtpm is missing (`make deps`)")
        folder.mkdir()
        self._folder, self._socket, self._process = folder, folder / "socket", None

    def plug(self):
        """Starts the chip, and returns QEMU's arguments for it."""
        self._process = subprocess.Popen(
            ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={self._folder}", "--ctrl", f"type=unixio,path={self._socket}"],
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        eventually(lambda: self._socket.exists() or self._process.poll() is not None, seconds(30), "swtpm")
        return (
            "-chardev", f"socket,id=chip,path={self._socket}", "-tpmdev", "emulator,id=tpm,chardev=chip",
            "-device", "tpm-tis,tpmdev=tpm",
        )  # fmt: skip

    def unplug(self):
        """Ends the chip, as a power cut does."""
        self._process.kill()
        self._process.wait()
        self._socket.unlink(missing_ok=True)


class Machine:
    """A machine that is not running yet. The machine's disk starts as a copy of the image, and keeps its content over
    power cuts."""

    def __init__(self, memory=MEMORY, date="utc", has_tpm=False):
        """`memory` is in bytes, at most 2 GiB. `date` is the time that the clock shows when the power comes on, such as
        `2039-01-01T12:00:00`, or `utc` for this machine's time. With `has_tpm`, swtpm is the machine's TPM."""
        self.image = make_image()
        self.folder = Path(tempfile.mkdtemp(prefix="run-", dir=CACHE))
        self.disk = self.folder / "disk"
        subprocess.run(["cp", "--sparse=always", self.image.disk, self.disk], check=True)
        self._memory, self._date = memory, date
        self._chip = Chip(self.folder / "chip") if has_tpm else None
        # On a busy host, the emulated timer looks broken to the kernel, so the kernel must not check it. The second
        # serial line has a login prompt too.
        self._arguments = "root=/dev/vda rw console=ttyS0 quiet panic=-1 no_timer_check systemd.wants=serial-getty@ttyS1.service"
        self.console = self.root = self.monitor = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # MARK: power

    def boot(self):
        """Boots the machine, and returns when `console` shows the login prompt. `root`, a second line, has a session of
        the administrator."""
        self._has_slept = False
        monitor, second = self.folder / "monitor", self.folder / "second"
        monitor.unlink(missing_ok=True)
        second.unlink(missing_ok=True)
        command = [
            "-nodefaults", "-nographic", "-no-reboot", *accelerators(), "-cpu", "max", "-smp", "2",
            "-m", f"{self._memory >> 20}", "-machine", "q35,memory-backend=memory", "-rtc", f"base={self._date}",
            # QEMU keeps the machine's memory in a file that the tests can read.
            "-object", f"memory-backend-memfd,id=memory,size={self._memory},share=on",
            "-kernel", self.image.kernel, "-initrd", self.image.initrd, "-append", self._arguments,
            "-qmp", f"unix:{monitor},server=on,wait=off", "-serial", "stdio",
            "-chardev", f"socket,id=second,path={second},server=on,wait=off", "-serial", "chardev:second",
            "-object", "rng-random,id=random,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=random",
            "-blockdev", f"driver=file,node-name=file,filename={self.disk},cache.no-flush=on",
            "-blockdev", "driver=raw,node-name=disk,file=file", "-device", "virtio-blk-pci,drive=disk",
            *(self._chip.plug() if self._chip else ()),
        ]  # fmt: skip
        self._process = pexpect.spawn(
            "qemu-system-x86_64", list(map(str, command)), encoding="utf-8", codec_errors="replace", timeout=TIMEOUT,
            dimensions=(50, 400),
        )  # fmt: skip
        self._process.logfile_read = (self.folder / "console").open("w")
        try:
            self.monitor = Monitor(monitor, time.monotonic() + seconds(60))
        except OSError:
            said = self._process.read()
            self.power_cut()
            self.close()
            raise Unavailable(f"QEMU does not start: {said}") from None
        self._second = socket.socket(socket.AF_UNIX)
        self._second.connect(str(second))
        line = pexpect.fdpexpect.fdspawn(self._second, encoding="utf-8", codec_errors="replace", timeout=TIMEOUT)
        self.console, self.root = Console(self._process, TIMEOUT), Console(line, TIMEOUT)
        self.console.await_login()
        self.root.await_login()
        self.root.login("root", "root")
        return self

    def power_cut(self):
        """Cuts the power. All written data stays on the disk, even without a flush. Tests/PowerCuts also loses
        unflushed data."""
        if self.monitor:
            self.monitor.close()
            self._second.close()
            self.monitor = None
        self._process.kill(signal.SIGKILL)
        self._process.wait()
        self._process.close()
        self._process.logfile_read.close()
        if self._chip:
            self._chip.unplug()

    def power_off(self):
        """Shuts the machine down cleanly."""
        self.root.send("systemctl poweroff")
        self._process.expect(pexpect.EOF)
        self.power_cut()

    def close(self):
        """Ends the machine, and removes its files."""
        if self.monitor:
            self.power_cut()
        shutil.rmtree(self.folder)

    def suspend(self):
        """Puts the machine to sleep, and waits until it sleeps. This works only once for each boot, because QEMU's next
        sleep would end at once without a report."""
        assert not self._has_slept, "this machine has slept already: boot it anew first"
        self._has_slept = True
        # The delay ensures that no data is on a serial line, because sleep would lose the data.
        self.root.run("systemd-run -q --on-active=2 systemctl suspend")
        self.monitor.await_event("SUSPEND", TIMEOUT)

    def wake(self):
        """Wakes the machine up."""
        self.monitor.command("system_wakeup")
        self.monitor.await_event("WAKEUP", TIMEOUT)
        for console in (self.root, self.console):
            console.await_answer()

    # MARK: inspection

    @contextlib.contextmanager
    def stopped(self):
        """Stops the processors during the block. The block gets the file of the physical memory."""
        self.monitor.command("stop")
        try:
            yield self._memory_file()
        finally:
            self.monitor.command("cont")

    def copy_files(self, inside, destination):
        """Copies a folder from the machine's disk into a new folder, and returns the path of the copy."""
        Path(destination).mkdir()
        # The freeze moves all data from the journal to its place on the disk.
        self.root.run("fsfreeze -f / && fsfreeze -u /")
        command = ["debugfs", "-R", f"rdump {inside} {destination}", self.disk]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        return Path(destination) / Path(inside).name

    def _memory_file(self):
        for descriptor in Path(f"/proc/{self._process.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                if os.readlink(descriptor).startswith("/memfd:memory-backend-memfd"):
                    return descriptor
        raise AssertionError("QEMU has no file of the machine's memory")

    def said(self):
        """All console output since the machine was switched on."""
        return (self.folder / "console").read_text()
