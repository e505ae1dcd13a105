"""QEMU's control socket of a machine (QMP). Each command, answer and event is a line of JSON."""

import json
import socket
import time


class Monitor:
    """A connection to a running QEMU."""

    def __init__(self, path, deadline):
        """Connects as soon as QEMU listens."""
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
        """Runs a command, and returns its answer."""
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
        """Waits for an event. An earlier event counts if no call has waited for it."""
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
