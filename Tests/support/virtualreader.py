"""A fingerprint reader for the real fprintd in a booted machine: libfprint's virtual device, which Debian's build has.

The reader is a socket that exists while somebody claims it: what is written there is the finger that lies on it."""

import socket

from support.machine import eventually
from support.pace import seconds

STATE = "/var/lib/fprint"
SOCKET = f"{STATE}/reader"
DROP_IN = "/etc/systemd/system/fprintd.service.d/latchkey-test.conf"
RULES = "/etc/polkit-1/rules.d/60-latchkey-test.rules"
# fprintd lets whoever sits at the machine verify; a container has no seat.
RULE = """polkit.addRule(function(action, subject) {
  if (action.id == "net.reactivated.fprint.device.verify" && subject.user == "alice") return polkit.Result.YES;
});
"""
RIGHT, LEFT = "right-index-finger", "left-thumb"


class Reader:
    """The reader, which knows no finger at first, and the fingers of alice that it knows."""

    def __init__(self, machine):
        self.machine = machine
        machine.path(RULES).write_text(RULE)
        machine.root("systemctl", "restart", "polkit.service")
        self.unplug(False)

    def close(self):
        """Takes the reader away, and what is known of fingers."""
        self.machine.path(RULES).unlink()
        self.machine.path(DROP_IN).unlink()
        self.machine.root("systemctl", "daemon-reload")
        self.machine.root("systemctl", "stop", "fprintd.service")
        self.machine.root("rm", "-rf", STATE)

    def lay(self, print_of):
        """Lays a finger on it, as soon as somebody waits for one."""
        eventually(lambda: self.is_read(print_of), 20, "somebody who waits for a finger")

    def is_read(self, print_of):
        """Lays a finger on it, and says whether the reader has surely read the finger."""
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
                enrolling.expect("status 0")  # until then the reader is still its own
                enrolling.close()
                return self
        raise AssertionError("it wants more and more")

    def forget(self, finger):
        self.machine.root("fprintd-delete", "alice", "-f", finger)

    def fingers(self):
        return self.machine.root("fprintd-list", "alice").stdout

    def unplug(self, gone=True):
        """There is no reader any more, or there is one again."""
        variable = "" if gone else f"Environment=FP_VIRTUAL_DEVICE={SOCKET}\n"
        path = self.machine.path(DROP_IN)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"[Service]\nEnvironment=FP_DRIVERS_ALLOWLIST=virtual_device\n{variable}")
        self.machine.root("systemctl", "daemon-reload")
        self.machine.root("systemctl", "stop", "fprintd.service")
