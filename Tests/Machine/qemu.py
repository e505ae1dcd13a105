"""A whole Debian to look into: QEMU without KVM, on a disk of its own, with a console on its serial line.

Unlike a container it has a kernel of its own. So all of its physical memory can be seen from here, it really sleeps and wakes,
and its control groups have every controller.
"""

import contextlib
import os
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
# A machine that is emulated, beside others' work: everything takes as long as it takes, but not for ever.
TIMEOUT = float(os.environ.get("LATCHKEY_MACHINE_TIMEOUT", "600"))

__all__ = ["Machine", "Unavailable", "eventually"]


def eventually(true, timeout=TIMEOUT, what="the condition"):
    """Waits until `true()` is, and returns what it returned."""
    deadline = time.monotonic() + timeout
    while not (value := true()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come about within {timeout} s")
        time.sleep(0.5)
    return value


class Machine:
    """One machine, not running yet. Its disk starts as the image's and keeps what is written to it, over power cuts too."""

    def __init__(self, memory=MEMORY):
        """`memory`: in bytes, up to 2 GiB."""
        self.image = make_image()
        self.folder = Path(tempfile.mkdtemp(prefix="run-", dir=CACHE))
        self.disk = self.folder / "disk"
        subprocess.run(["cp", "--sparse=always", self.image.disk, self.disk], check=True)
        self._memory = memory
        # On a busy machine the emulated timer looks broken to the kernel. There is a getty on the second line, too.
        self._arguments = "root=/dev/vda rw console=ttyS0 quiet panic=-1 no_timer_check systemd.wants=serial-getty@ttyS1.service"
        self.console = self.root = self.monitor = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Power

    def boot(self):
        """Boots, and returns when it asks who logs in on `console`. On `root`, a second line, the administrator has."""
        self._has_slept = False
        monitor, second = self.folder / "monitor", self.folder / "second"
        monitor.unlink(missing_ok=True)
        second.unlink(missing_ok=True)
        command = [
            "-nodefaults", "-nographic", "-no-reboot", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2",
            "-m", f"{self._memory >> 20}", "-machine", "q35,memory-backend=memory",
            # All of its memory, as a file that can be read beside it.
            "-object", f"memory-backend-memfd,id=memory,size={self._memory},share=on",
            "-kernel", self.image.kernel, "-initrd", self.image.initrd, "-append", self._arguments,
            "-qmp", f"unix:{monitor},server=on,wait=off", "-serial", "stdio",
            "-chardev", f"socket,id=second,path={second},server=on,wait=off", "-serial", "chardev:second",
            "-object", "rng-random,id=random,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=random",
            "-blockdev", f"driver=file,node-name=file,filename={self.disk},cache.no-flush=on",
            "-blockdev", "driver=raw,node-name=disk,file=file", "-device", "virtio-blk-pci,drive=disk",
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
        """Takes the power away. What the disk was given stays, flushed or not; Tests/PowerCuts has less."""
        if self.monitor:
            self.monitor.close()
            self._second.close()
            self.monitor = None
        self._process.kill(signal.SIGKILL)
        self._process.wait()
        self._process.close()
        self._process.logfile_read.close()

    def power_off(self):
        """Shuts the machine down in order."""
        self.root.send("systemctl poweroff")
        self._process.expect(pexpect.EOF)
        self.power_cut()

    def close(self):
        """Ends the machine, and removes its files."""
        if self.monitor:
            self.power_cut()
        shutil.rmtree(self.folder)

    def suspend(self):
        """Sends the machine to sleep, and waits until all of it sleeps. Only once for each boot: QEMU's next sleep ends as it
        begins, and tells
        nobody."""
        assert not self._has_slept, "this machine has slept already: boot it anew first"
        self._has_slept = True
        # Nothing is on its way on a line then, which would be lost.
        self.root.run("systemd-run -q --on-active=2 systemctl suspend")
        self.monitor.await_event("SUSPEND", TIMEOUT)

    def wake(self):
        """Wakes the machine up."""
        self.monitor.command("system_wakeup")
        self.monitor.await_event("WAKEUP", TIMEOUT)
        for console in (self.root, self.console):
            console.await_answer()

    # Looking into it

    @contextlib.contextmanager
    def stopped(self):
        """Stops the processors for as long as the block lasts. The block gets the file of the physical memory."""
        self.monitor.command("stop")
        try:
            yield self._memory_file()
        finally:
            self.monitor.command("cont")

    def copy_files(self, inside, destination):
        """Copies a folder of its own disk out, as it is now, into a new folder. Where the copy is."""
        Path(destination).mkdir()
        # Everything is then in its place on the disk, and nothing in the journal only.
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
        """All that its console said since it was switched on."""
        return (self.folder / "console").read_text()
