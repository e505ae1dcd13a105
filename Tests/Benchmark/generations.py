"""What generations of the vault cost a program that stores: while one is made, and on average over an hour."""

import pathlib
import statistics
import threading
import time

SIZES = (1_000, 10_000)
ROUNDS, WRITES = 6, 100
# As parts of a write, on average over the hour that one generation is made for.
GOAL = 0.02
HOUR = 3600


class Generations:
    """Measured on one daemon: stores while no generation is made, and while one is made after the other, in turns."""

    def __init__(self, subject):
        self.subject, self.results = subject, []
        filled = 0
        for size in SIZES:
            subject.fill(filled, size)
            filled = size
            self.results.append((size, self._measure(size)))

    def _make(self):
        """Makes a generation; how long that took, in seconds."""
        # None is made where nothing changed.
        self.subject.session.store("changed", "generation", "benchmark", label=f"{time.monotonic()}")
        began = time.monotonic()
        self.subject.session.run("latchkey", "history", "make", check=True, timeout=300)
        return time.monotonic() - began

    def _computed(self):
        """What the daemon has computed so far, in seconds."""
        return int(pathlib.Path(f"/proc/{self.subject.session.daemon_pid()}/schedstat").read_text().split()[0]) / 1e9

    def _stores(self, size):
        floor = self.subject.session.home / f"floor-{size}.db"
        began = self._computed()
        samples = self.subject.measure("write", WRITES, floor, *self.subject.log)
        # Each turn has a replacement and a deletion as well, which cost about as much.
        return samples["store"], (self._computed() - began) / (3 * WRITES)

    def _measure(self, size):
        quiet, busy, makes, made, stored = [], [], [], [], []
        self._make()
        for _ in range(ROUNDS):
            samples, cost = self._stores(size)
            quiet += samples
            stored.append(cost)
            began = self._computed()
            makes.append(self._make())
            made.append(self._computed() - began)
            ended = threading.Event()

            def keep_making():
                while not ended.is_set():
                    self._make()

            thread = threading.Thread(target=keep_making)
            thread.start()
            busy += self._stores(size)[0]
            ended.set()
            thread.join()
        ratio = statistics.median(busy) / statistics.median(quiet)
        mean = statistics.mean(busy) / statistics.mean(quiet)
        making = statistics.median(makes)
        return {
            "ratio": ratio, "mean": mean, "making": making, "part": max(mean - 1, 0) * making / HOUR,
            "stores": statistics.median(made) / statistics.median(stored),
        }

    def report(self):
        """The lines to be printed, and whether the goal was met."""
        yield (
            "Stores of one client, while no generation is made and while one is made after the other, in turns;"
            f" {ROUNDS * WRITES} of each kind. A generation is made once an hour, so the part of a write is the surplus while one is"
            " made, times the part of the hour that making takes. `latchkey history make` counts with all of its time."
            f" ≤ {GOAL:.0%} of a write.\n")
        yield "| items | store while a generation is made: median, mean | making one | computed for one, in stores | part of a write | goal |"
        yield "| --: | --: | --: | --: | --: | --- |"
        for size, found in self.results:
            met = "met" if found["part"] <= GOAL else "**missed**"
            yield (
                f"| {size:,} | {found['ratio']:.2f}, {found['mean']:.2f} | {found['making'] * 1000:.0f} ms | {found['stores']:.0f}"
                f" | {found['part']:.4%} | {met} |")
