"""QEMU's own control of a machine (QMP): a socket with one line of JSON for each command, answer and event."""

import json
import socket
import time


class Monitor:
    """A connection to a running QEMU."""

    def __init__(self, path, deadline):
        """Connects as soon as QEMU listens, which it does from its start."""
        self._events = []
        self._socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self._socket.connect(str(path))
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        self._lines = self._socket.makefile("r")
        json.loads(self._lines.readline())
        self.command("qmp_capabilities")

    def command(self, name, **arguments):
        """Runs a command, and returns what it answers."""
        self._socket.settimeout(600)
        self._socket.sendall(json.dumps({"execute": name, "arguments": arguments}).encode() + b"\n")
        while True:
            answer = self._read()
            if "error" in answer:
                raise AssertionError(f"{name}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]
            self._events.append(answer["event"])

    def await_event(self, name, timeout):
        """Waits for an event; one that came before, and was not waited for, counts."""
        deadline = time.monotonic() + timeout
        while name not in self._events:
            self._socket.settimeout(max(0.1, deadline - time.monotonic()))
            answer = self._read()
            if "event" in answer:
                self._events.append(answer["event"])
        self._events.remove(name)

    def _read(self):
        line = self._lines.readline()
        if not line:
            raise EOFError("QEMU has ended")
        return json.loads(line)

    def close(self):
        self._lines.close()
        self._socket.close()
