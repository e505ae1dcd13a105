"""A fingerprint reader for the real fprintd in a booted machine: libfprint's virtual device, which Debian's build has.

While a program has claimed the reader, a socket exists. A name that is written to this socket acts as a finger on the reader."""

import socket

from support.machine import eventually
from support.pace import seconds

STATE = "/var/lib/fprint"
SOCKET = f"{STATE}/reader"
DROP_IN = "/etc/systemd/system/fprintd.service.d/latchkey-test.conf"
RULES = "/etc/polkit-1/rules.d/60-latchkey-test.rules"
# By default, only a user at a seat of the machine may have a finger verified, and a container has no seat.
RULE = """polkit.addRule(function(action, subject) {
  if (action.id == "net.reactivated.fprint.device.verify" && subject.user == "alice") return polkit.Result.YES;
});
"""
RIGHT, LEFT = "right-index-finger", "left-thumb"


class Reader:
    """The reader, and the fingers of alice that are enrolled. At first no finger is enrolled."""

    def __init__(self, machine):
        self.machine = machine
        machine.path(RULES).write_text(RULE)
        machine.root("systemctl", "restart", "polkit.service")
        self.unplug(False)

    def close(self):
        """Removes the reader and all enrolled fingers."""
        self.machine.path(RULES).unlink()
        self.machine.path(DROP_IN).unlink()
        self.machine.root("systemctl", "daemon-reload")
        self.machine.root("systemctl", "stop", "fprintd.service")
        self.machine.root("rm", "-rf", STATE)

    def lay(self, print_of):
        """Lays a finger on the reader, as soon as a program waits for one."""
        eventually(lambda: self.is_read(print_of), 20, "somebody who waits for a finger")

    def is_read(self, print_of):
        """Lays a finger on the reader. Returns whether the reader has read it."""
        try:
            with socket.socket(socket.AF_UNIX) as finger:
                finger.settimeout(seconds(5))
                finger.connect(str(self.machine.path(SOCKET)))
                finger.sendall(f"SCAN {print_of}".encode())
                # The reader closes the socket when it has read the finger.
                finger.recv(1)
            return True
        except (FileNotFoundError, ConnectionError):
            return False

    def enroll(self, finger):
        enrolling = self.machine.terminal_until_read("fprintd-enroll", "-f", finger, "alice")
        for _ in range(20):
            self.lay(finger)
            if enrolling.expect(["enroll-completed", r"enroll-stage-passed\s"]) == 0:
                enrolling.expect("status 0")  # The program releases the reader at its end.
                enrolling.close()
                return self
        raise AssertionError("it wants more and more")

    def forget(self, finger):
        self.machine.root("fprintd-delete", "alice", "-f", finger)

    def fingers(self):
        return self.machine.root("fprintd-list", "alice").stdout

    def unplug(self, gone=True):
        """Removes the reader from the machine, or attaches it again."""
        variable = "" if gone else f"Environment=FP_VIRTUAL_DEVICE={SOCKET}\n"
        path = self.machine.path(DROP_IN)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"[Service]\nEnvironment=FP_DRIVERS_ALLOWLIST=virtual_device\n{variable}")
        self.machine.root("systemctl", "daemon-reload")
        self.machine.root("systemctl", "stop", "fprintd.service")
