"""A session's system bus, where programs stand in for the system's services."""

import subprocess


class SystemBus:
    """Runs until it is closed. Whoever likes may own any name."""

    def __init__(self, session):
        configuration = session.root / "system-bus.conf"
        configuration.write_text(
            f"<busconfig><listen>{session.environment['DBUS_SYSTEM_BUS_ADDRESS']}</listen><auth>EXTERNAL</auth>"
            '<policy context="default"><allow user="*"/><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>'
            "</policy>"
            "</busconfig>"
        )
        configuration.chmod(0o644)
        self._process = started(session, "dbus-daemon", f"--config-file={configuration}", "--nofork", "--print-address")

    def close(self):
        if self._process:
            ended(self._process)
            self._process = None


def started(session, *command):
    """A process of the session's user that says a line when it is ready."""
    process = session.start(*command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline(), f"{command} did not start"
    return process


def ended(process):
    process.kill()
    process.wait()
    process.stdout.close()
