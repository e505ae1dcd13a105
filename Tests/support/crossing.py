"""Everything that crosses a session's control socket, in both directions."""

import contextlib
import os
import socket
import threading

from support.control import SIZE_LIMIT


class Crossing:
    """Records the packets between the clients and the daemon until its end. `sent` has the clients' packets, and
    `answered` the daemon's."""

    def __init__(self, session):
        self.path = session.runtime / "latchkey/control"
        self.sent, self.answered = [], []

    def __enter__(self):
        self._real = self.path.with_name("control.real")
        self.path.rename(self._real)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(self.path))
        self.path.chmod(0o666)
        self._listener.listen(32)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        # This wakes the accepting thread, which close() alone would not do.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._real.rename(self.path)

    @property
    def packets(self):
        return self.sent + self.answered

    def operations(self):
        return {packet[1] for packet in self.sent}

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            daemon = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            daemon.connect(str(self._real))
            for ends, packets in (((client, daemon), self.sent), ((daemon, client), self.answered)):
                threading.Thread(target=self._pass_on, args=(*ends, packets), daemon=True).start()

    @staticmethod
    def _pass_on(source, target, packets):
        with contextlib.suppress(OSError):
            while packet := source.recv(SIZE_LIMIT):
                packets.append(packet)
                target.send(packet)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def pieces(secret, size=8):
    """Pieces of a secret. Any larger part of the secret contains at least one whole piece."""
    return [secret[at : at + size] for at in range(0, max(len(secret) - size, 0) + 1, size)]
