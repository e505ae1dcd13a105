"""The cost of the SecItem functions, as multiples of a bare call to the daemon, and beside libsecret."""

import collections
import os
import pathlib
import shutil
import statistics
import subprocess

ROUNDS, REPETITIONS, ITEMS = 10, 100, 1_000
# The options of `make build`, so that the build reuses its objects. SwiftPM's cached plan of that build does not
# include this program.
OPTIONS = ["-c", "release", "--static-swift-stdlib", "--disable-local-rpath", "--disable-build-manifest-caching"]
# The goals: SecItemCopyMatching as a multiple of a bare call, and every call as a multiple of libsecret's.
COPY_GOAL, PEER_GOAL = 5.0, 1.5
ROWS = {
    "copy": "SecItemCopyMatching (primary key, data) / lookup",
    "add": "SecItemAdd / store",
    "update": "SecItemUpdate (data) / store again",
    "delete": "SecItemDelete / clear",
}


def build(repository, folder):
    """Compiles both programs into a place where the session's user can run them. The Swift program is a release build,
    as installed programs are."""
    command = ["swift", "build", "--package-path", repository, *OPTIONS]
    environment = os.environ | {"LATCHKEY_BENCHMARK": "1"}
    built = subprocess.run([*command, "--product", "keychain-benchmark"], env=environment, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        raise RuntimeError(built.stdout)
    shutil.copy(pathlib.Path(repository) / ".build/release/keychain-benchmark", folder / "keychain")
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "libsecret-1", "libsystemd"], check=True, stdout=subprocess.PIPE, text=True)
    source = pathlib.Path(__file__).with_name("libsecret.c")
    subprocess.run(["cc", "-O2", "-Wall", "-o", folder / "libsecret", source, *flags.stdout.split()], check=True)
    for name in ("keychain", "libsecret"):
        (folder / name).chmod(0o755)


class Calls:
    """Measures in a session with an unlocked vault. Both programs use the same vault in turns, each with its own items.
    """

    def __init__(self, session, folder):
        self.samples = {}
        for name in ("keychain", "libsecret"):
            self.samples[name] = collections.defaultdict(list)
            session.run(folder / name, "fill", ITEMS, check=True, timeout=300)
        for _ in range(ROUNDS):
            for name, samples in self.samples.items():
                done = session.run(folder / name, "measure", REPETITIONS, ITEMS, check=True, timeout=300)
                for line in done.stdout.splitlines():
                    operation, value = line.split()
                    samples[operation].append(int(value))

    def report(self):
        """The lines of the report, and the goals that were met."""
        own, peer = self.samples["keychain"], self.samples["libsecret"]
        ping = statistics.median(own["ping"])
        yield (
            f"The SecItem functions, beside libsecret's synchronous ones (secret_password_…_sync) doing the same to the same"
            f" latchkeyd, in turns; {ITEMS:,} items of each, secrets of 32 bytes, both sessions encrypted."
            f" {ROUNDS * REPETITIONS} calls of each kind, medians, quartiles in brackets. Multiples of"
            " org.freedesktop.DBus.Peer.Ping to the daemon, sent by libsystemd in the process that calls SecItem, before each"
            f" call; the median took {ping / 1000:.0f} µs. ≤ {COPY_GOAL:g} for SecItemCopyMatching, ≤ {PEER_GOAL:g} for the ratio.\n")
        yield "| call | multiple of Ping | per second | libsecret's | per second | ratio of times | goal |"
        yield "| --- | --: | --: | --: | --: | --: | --- |"
        for name, text in ROWS.items():
            ratio = statistics.median(own[name]) / statistics.median(peer[name])
            met = ratio <= PEER_GOAL and (name != "copy" or statistics.median(own[name]) / ping <= COPY_GOAL)
            cells = [text]
            for samples in (own, peer):
                low, middle, high = (value / ping for value in statistics.quantiles(samples[name], n=4))
                cells += [f"{middle:.1f} ({low:.1f}–{high:.1f})", f"{1e9 / statistics.mean(samples[name]):,.0f}"]
            yield "| " + " | ".join([*cells, f"{ratio:.2f}", "met" if met else "**missed**"]) + " |"
