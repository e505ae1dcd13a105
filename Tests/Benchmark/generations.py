"""The cost of the vault's generations for a program that writes. The benchmark measures with generations off, with
generations on while none is made, and while one is made after the other. It also measures the longest wait of a
program.
"""

import pathlib
import statistics
import threading
import time

from support.session import wait_until

SIZES = (1_000, 10_000)
ROUNDS, WRITES = 6, 100
OPERATIONS = ("store", "replace", "delete")
# The cost as a part of a write, averaged over the hour of one generation.
GOAL = 0.02
HOUR = 3600


class Generations:
    """Measures on one daemon, in turns: writes with generations off, with generations on, and while one is made after
    the other."""

    def __init__(self, subject):
        self.subject, self.results, self.turns = subject, [], 0
        self.settings = subject.session.home / ".config" / "latchkey" / "history.yaml"
        filled = 0
        for size in SIZES:
            subject.fill(filled, size)
            filled = size
            self.results.append((size, self._measure(size)))

    def _history(self, *words):
        return self.subject.session.run("latchkey", "history", *words, check=True, timeout=300)

    def _switch(self, word):
        """Turns generations on or off. Waits until the daemon has read the setting and has removed unneeded
        generations."""
        self.settings.parent.mkdir(parents=True, exist_ok=True)
        self.settings.write_text(f"generations: {word}\n")
        self.settings.chmod(0o644)
        self._history("list")
        assert self.subject.session.status()["history"]["on"] == (word == "on")
        if word == "off":
            folder = self.subject.session.vault / "generations"
            wait_until(lambda: not folder.exists() or not any(folder.iterdir()), "the end of the generations", 60)

    def _make(self):
        """Makes a generation, and returns its time in seconds."""
        # Without a change, the daemon makes no generation.
        self.subject.session.store("changed", "generation", "benchmark", label=f"{time.monotonic()}")
        began = time.monotonic()
        self._history("make")
        return time.monotonic() - began

    def _computed(self):
        """The daemon's processor time so far, in seconds."""
        return int(pathlib.Path(f"/proc/{self.subject.session.daemon_pid()}/schedstat").read_text().split()[0]) / 1e9

    def _writes(self, size):
        """The times of stores, replacements and deletions, and the daemon's processor time for each."""
        # In each turn, the client makes a new database.
        self.turns += 1
        floor = self.subject.session.home / f"floor-{size}-{self.turns}.db"
        began = self._computed()
        samples = self.subject.measure("write", WRITES, floor, *self.subject.log)
        return {name: samples[name] for name in OPERATIONS}, (self._computed() - began) / (len(OPERATIONS) * WRITES)

    def _busy(self, size):
        """Measures writes while one generation is made after the other. Also returns the number of generations."""
        made, failures, ended = [], [], threading.Event()

        def keep_making():
            try:
                while not ended.is_set():
                    made.append(self._make())
            except Exception as error:
                failures.append(error)

        thread = threading.Thread(target=keep_making)
        thread.start()
        try:
            samples, _ = self._writes(size)
        finally:
            ended.set()
            thread.join()
        if failures:
            raise failures[0]
        return samples, made

    def _measure(self, size):
        times = {state: {name: [] for name in OPERATIONS} for state in ("off", "on", "making")}
        makes, made, stored, meanwhile = [], [], [], 0

        def take(state, samples):
            for name in OPERATIONS:
                times[state][name] += samples[name]

        for _ in range(ROUNDS):
            self._switch("off")
            take("off", self._writes(size)[0])
            self._switch("on")
            # The first generation is due at once. In the next hour, no generation is due.
            self._make()
            samples, cost = self._writes(size)
            take("on", samples)
            stored.append(cost)
            began = self._computed()
            makes.append(self._make())
            made.append(self._computed() - began)
            samples, others = self._busy(size)
            take("making", samples)
            meanwhile += len(others)
        self._switch("on")

        def ratio(state, mean):
            return mean(times[state]["store"]) / mean(times["off"]["store"])

        def longest(state):
            return max(max(times[state][name]) for name in OPERATIONS)

        making = statistics.median(makes)
        surplus = max(statistics.mean(times["making"]["store"]) / statistics.mean(times["on"]["store"]) - 1, 0)
        return {
            "on": (ratio("on", statistics.median), ratio("on", statistics.mean)),
            "while": (ratio("making", statistics.median), ratio("making", statistics.mean)),
            "longest": [longest(state) for state in ("off", "on", "making")],
            "making": making, "meanwhile": meanwhile,
            "part": surplus * making / HOUR,
            "stores": statistics.median(made) / statistics.median(stored),
        }

    def report(self):
        """The lines of the report, and whether the goal was met."""
        yield (
            "Writes of one client with generations off, with generations on while none is made, and while one is made after the other, in"
            f" turns on one daemon; {ROUNDS * WRITES} stores, replacements and deletions of each kind. Stores are compared with those of"
            " the turns with generations off. The longest wait is that of any of these writes: what a client waits for at most. A generation is"
            " made once an hour, so the part of a write is the surplus while one is made, times the part of the hour that making takes."
            " `latchkey history make` counts with all of its time. What generations cost while none is made is in the first ratio, and not in"
            f" that part. ≤ {GOAL:.0%} of a write.\n")
        yield (
            "| items | store, on: median, mean of off | store while one is made: median, mean of off | longest wait: off, on, while one is made"
            " | made meanwhile | making one | computed for one, in writes | part of a write | goal |")
        yield "| --: | --: | --: | --: | --: | --: | --: | --: | --- |"
        for size, found in self.results:
            met = "met" if found["part"] <= GOAL else "**missed**"
            longest = ", ".join(f"{value / 1e6:.1f}" for value in found["longest"])
            yield (
                f"| {size:,} | {found['on'][0]:.2f}, {found['on'][1]:.2f} | {found['while'][0]:.2f}, {found['while'][1]:.2f}"
                f" | {longest} ms | {found['meanwhile']} | {found['making'] * 1000:.0f} ms | {found['stores']:.0f} | {found['part']:.4%} | {met} |")
