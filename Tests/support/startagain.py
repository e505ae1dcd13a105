"""A stand-in for the service manager of latchkeyd's unit. It passes the socket, keeps descriptors for the daemon, and starts
the daemon again.

Tests/Desktop/test_booted_switch.py tests the real systemd.
"""

import array
import fcntl
import os
import signal
import socket
import stat
import threading

from support.peer import acting_as
from support.session import wait_until

# The exit status in the unit's `RestartForceExitStatus=`.
START_AGAIN = 75


class Manager:
    """Runs the daemon of a session."""

    def __init__(self, session, stage):
        self.session, self.stage = session, stage
        self.kept = {}
        self.process = None
        with acting_as(session):
            self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.notices.bind(str(session.root / "notices"))
            path = session.runtime / "latchkey/control"
            path.unlink(missing_ok=True)
            self.control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.control.bind(str(path))
            path.chmod(stat.S_IRUSR | stat.S_IWUSR)
            self.control.listen()
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _listen(self):
        while True:
            size = array.array("i").itemsize
            data, ancillary, _, _ = self.notices.recvmsg(4096, socket.CMSG_SPACE(8 * size))
            if not data:
                return
            passed = array.array("i")
            for level, kind, content in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    passed.frombytes(content[: len(content) - len(content) % size])
            said = dict(line.split("=", 1) for line in data.decode().splitlines())
            if "FDSTORE" in said:
                self.kept[said["FDNAME"]] = passed[0]
            elif "FDSTOREREMOVE" in said and said["FDNAME"] in self.kept:
                os.close(self.kept.pop(said["FDNAME"]))

    def start(self):
        """Starts the daemon with its socket and the kept descriptors."""
        passed = {"latchkeyd.socket": self.control.fileno()} | self.kept
        copies = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 100) for descriptor in passed.values()]
        # The daemon takes the descriptors from number 3 on.
        moves = " ".join(f"{index}<&{number}" for index, number in enumerate(copies, 3))
        closes = " ".join(f"{number}<&-" for number in copies)
        share = self.stage / "usr/share/latchkey"
        environment = {
            "NOTIFY_SOCKET": str(self.session.root / "notices"), "LISTEN_FDS": str(len(passed)),
            "LISTEN_FDNAMES": ":".join(passed)}  # fmt: skip
        script = f'exec {moves} {closes}; export LISTEN_PID=$$; exec "$@"'
        try:
            self.process = self.session.start(
                "bash", "-c", script, "bash", self.stage / "usr/libexec/latchkeyd", "--home", self.session.home,
                "--runtime", self.session.runtime, "--rules", share / "rules.yaml",
                "--device-socket", self.session.root / "device.sock",
                env=self.session.environment | environment, pass_fds=copies)  # fmt: skip
        finally:
            for number in copies:
                os.close(number)

    def await_end(self):
        """Waits until the daemon has ended, and returns its status."""
        wait_until(lambda: self.process.poll() is not None, "the daemon's end")
        return self.process.returncode

    def forget(self):
        """Closes the kept descriptors, as for a stopped unit."""
        while self.kept:
            os.close(self.kept.popitem()[1])

    def restart(self, number):
        """Ends the daemon by a signal, and starts the next one."""
        os.kill(self.process.pid, number)
        self.await_end()
        self.start()

    def close(self):
        """Ends the daemon, and forgets the kept descriptors."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.await_end()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"", str(self.session.root / "notices"))
        self._listener.join()
        self.forget()
        self.control.close()
        self.notices.close()
