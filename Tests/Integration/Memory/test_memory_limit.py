"""Secrets that exceed the limit on locked memory. The daemon still stores and returns the secrets, and reports that
secrets may be swapped out.
"""

import pytest
from support.clients import MAIL
from support.peer import Peer

KIB = 1024
LARGE = b"x" * (2048 * KIB)

KEPT = "keys and secrets are kept out of swap"


def limit(session, process, kib):
    """Lowers the process's limit on locked memory. A process cannot raise the limit again."""
    session.run("prlimit", f"--pid={process}", f"--memlock={kib * KIB}:{kib * KIB}", check=True)


def told(session):
    """The lines of status about memory, for programs and for persons."""
    done = session.run("latchkey", "status", check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("Memory"))
    status = session.status()
    return status["memory_locked"], status["swappable_secrets"], line.removeprefix("Memory").strip()


@pytest.fixture
def peer(session):
    assert session.login().returncode == 0
    opened = Peer(session)
    yield opened
    opened.close()


def test_the_daemon_counts_what_was_not_locked(session, peer):
    small, large = peer.create("small", MAIL), peer.create(LARGE, {"size": "large"})
    assert told(session) == (True, 0, KEPT)
    # Small secrets fit into the limit, and only a large one does not.
    limit(session, session.daemon_pid(), 1536)
    assert peer.read(small) == b"small"
    assert told(session) == (True, 0, KEPT)
    assert peer.read(large) == LARGE
    locked, count, text = told(session)
    assert locked and count > 0
    assert text.startswith(f"{KEPT}, but {count} secret") and "latchkey doctor" in text
    assert peer.read(large) == LARGE
    assert told(session)[1] > count


@pytest.mark.parametrize("size, kib, isSaid", [("large", 8192, False), ("large", 1536, True), ("small", 1536, False)])
def test_the_command_line_says_it(session, peer, size, kib, isSaid):
    value = {"large": LARGE.decode(), "small": "small"}[size]
    peer.create(value, {"size": size})
    done = session.run("prlimit", f"--memlock={kib * KIB}:{kib * KIB}", "latchkey", "get", f"size={size}")
    assert (done.returncode, done.stdout) == (0, value), done.stderr
    assert ("could not be locked in memory" in done.stderr) == isSaid, done.stderr
