"""The cost of KDE's wallet calls: latchkey-kwallet beside kwalletd5."""

import collections
import statistics
import time
import types

from gi.repository import Gio
from support.foreign import KWallet
from support.importing import encoded
from support.kwallet import FOLDER, Client, qt_text, serve

ROUNDS, REPETITIONS, ENTRIES = 10, 30, 1_000
SECRET = "s" * 32
ROWS = {
    "open": "open (a wallet that is open)",
    "read": "readPassword",
    "write": "writePassword (kwalletd5: in memory)",
    "kept": "writePassword, sync (both: on the disk)",
}


class Subject:
    """A program that serves KDE's wallet calls, with some entries."""

    def __init__(self, session):
        self.client = Client(session)
        assert self.client.open() > 0
        self.samples = collections.defaultdict(list)

    def _ping(self):
        self.client.bus.call_sync(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.Peer", "Ping", None, None,
            Gio.DBusCallFlags.NONE, 10_000, None)  # fmt: skip

    def _keep(self):
        assert self.client.write("changing", SECRET) == 0
        self.client.of("sync", "")

    def take(self):
        """One sample of each operation, each after a Ping."""
        for name, call in {
            "open": self.client.open, "read": lambda: self.client.of("readPassword", "ss", FOLDER, "entry 7"),
            "write": lambda: self.client.write("changing", SECRET), "kept": self._keep,
        }.items():  # fmt: skip
            for what, one in (("ping", self._ping), (name, call)):
                begin = time.monotonic()
                one()
                self.samples[what].append(time.monotonic() - begin)


class Wallets:
    """Measures in a session with an unlocked vault. kwalletd5 has its own bus. Both programs take turns."""

    def __init__(self, session, _folder):
        serve(session)
        own = Subject(session)
        for number in range(ENTRIES):
            assert own.client.write(f"entry {number}", SECRET) == 0
        control = KWallet(session)
        try:
            control.write_entries([[FOLDER, f"entry {number}", 1, encoded(qt_text(SECRET))] for number in range(ENTRIES)])
            peer = Subject(types.SimpleNamespace(uid=session.uid, gid=session.gid, environment=control.environment))
            for _ in range(ROUNDS):
                for subject in (own, peer):
                    for _ in range(REPETITIONS):
                        subject.take()
        finally:
            control.close()
        self.own, self.peer = own.samples, peer.samples

    def report(self):
        """The lines of the report."""
        yield (
            f"latchkey-kwallet beside kwalletd5, one client doing the same to both in turns; {ENTRIES:,} entries, secrets of"
            f" {len(SECRET)} letters. {ROUNDS * REPETITIONS} calls of each kind, medians, quartiles in brackets. Multiples of"
            " org.freedesktop.DBus.Peer.Ping to the bus daemon by the same client before each call; the median took"
            f" {1e6 * statistics.median(self.own['ping']):.0f} µs.\n")
        yield "| call | latchkey-kwallet | kwalletd5 | ratio |"
        yield "| --- | --: | --: | --: |"
        for name, text in ROWS.items():
            cells = [text]
            for samples in (self.own, self.peer):
                ping = statistics.median(samples["ping"])
                low, middle, high = (value / ping for value in statistics.quantiles(samples[name], n=4))
                cells.append(f"{middle:.1f} ({low:.1f}–{high:.1f})")
            ratio = statistics.median(self.own[name]) / statistics.median(self.peer[name])
            yield "| " + " | ".join([*cells, f"{ratio:.2g}"]) + " |"
