"""Runs secretclient.py as a session's user."""

import json
import pathlib
import subprocess

from support.pace import seconds

SOURCE = pathlib.Path(__file__).with_name("secretclient.py")


class Refused(Exception):
    """The service answered with this D-Bus error."""


class SecretClient:
    """One connection to the session's bus. The methods of secretclient.py's Client are methods here. Each method
    returns a dictionary, or raises Refused."""

    def __init__(self, session):
        self._process = session.start(
            "/usr/bin/python3", session.lend(SOURCE), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    @property
    def pid(self):
        """The process id of the client."""
        return self._process.pid

    def __getattr__(self, method):
        def call(**arguments):
            self._process.stdin.write(json.dumps({"do": method, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            assert line, "the client died"
            answer = json.loads(line)
            if "error" in answer:
                raise Refused(answer["error"])
            return answer

        return call

    def disconnect(self):
        """Leaves the bus, which ends the client."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(seconds(10))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.disconnect()
