"""A system bus, where programs stand in for the system's services."""

import subprocess


def _start(*command, **options):
    return subprocess.Popen(command, **options)


class SystemBus:
    """A system bus that runs until it is closed. Any program may own any name."""

    def __init__(self, root, address, start=_start):
        configuration = root / "system-bus.conf"
        configuration.write_text(
            f"<busconfig><listen>{address}</listen><auth>EXTERNAL</auth>"
            '<policy context="default"><allow user="*"/><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>'
            "</policy>"
            "</busconfig>"
        )
        configuration.chmod(0o644)
        self._process = started(start, "dbus-daemon", f"--config-file={configuration}", "--nofork", "--print-address")

    @classmethod
    def of(cls, session):
        """The system bus of a session, which runs as its user."""
        return cls(session.root, session.environment["DBUS_SYSTEM_BUS_ADDRESS"], session.start)

    def close(self):
        if self._process:
            ended(self._process)
            self._process = None


def started(start, *command):
    """Starts a process, and waits for its first line, which reports that it is ready."""
    process = start(*command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline(), f"{command} did not start"
    return process


def ended(process):
    process.kill()
    process.wait()
    process.stdout.close()
