"""latchkey backup and restore of a large vault: killed, locked or stopped at many points, beside other programs, and on
a terminal.
"""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
from support.archive import DONE, FAILED, PASSPHRASE, backup, carry, counts, opened, other, restore  # noqa: F401 (a fixture)
from support.backupreader import Backup
from support.client import SecretClient
from support.pace import Limit, seconds
from support.session import is_alive, wait_until
from support.unfinished import as_root, unfinished
from test_prompts import Person

pytestmark = pytest.mark.night("faults")

LARGE = 16 << 20


@pytest.fixture(scope="module")
def stocked(stage):
    """2,000 items, and one of 16 MiB."""
    with opened(stage) as session:
        with SecretClient(session) as client:
            plain = client.open(algorithm="plain")["session"]
            for number in range(2000):
                attributes = {"n": str(number), "app": "many"}
                client.store(session=plain, attributes=attributes, text=f"secret number {number}")
            client.store(session=plain, attributes={"n": "large"}, text="0123456789abcdef", size=LARGE)
        yield session


def at_once(condition, what):
    """Like wait_until, but polls faster, because the condition may hold only for a short time."""
    limit = Limit(10)
    while not condition():
        assert not limit.is_over, what


def test_many_items_and_a_large_one(stocked, other):
    assert counts(backup(stocked, "--json", "--force")) == {"items": 2001}
    carry(stocked, other)
    process = other.start("latchkey", "restore", "--passphrase-stdin", "--json", "b", stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True)
    output, _ = process.communicate(PASSPHRASE + "\n", 60)
    assert process.returncode == DONE and json.loads(output)["added"] == 2001
    assert len(json.loads(output)["lines"]) == 2001
    with SecretClient(other) as client:
        found = client.search(attributes={"app": "many"})["unlocked"]
        assert len(found) == 2000
        plain = client.open(algorithm="plain")["session"]
        large = client.search(attributes={"n": "large"})["unlocked"][0]
        assert client.get(session=plain, item=large)["size"] == LARGE
        assert client.get(session=plain, item=large)["hash"] == hash_of(stocked)
    assert other.lookup("n", "1234") == "secret number 1234"


def hash_of(session):
    with SecretClient(session) as client:
        plain = client.open(algorithm="plain")["session"]
        return client.get(session=plain, item=client.search(attributes={"n": "large"})["unlocked"][0])["hash"]


def begun(session, name):
    """A backup that is stopped after its first chunks. On a busy machine, the backup may end before the test looks.
    Then the test starts another backup."""
    for _ in range(10):
        process = session.start("latchkey", "backup", "--passphrase-stdin", name, stdin=subprocess.PIPE,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        process.stdin.write(PASSPHRASE + "\n")
        process.stdin.flush()
        at_once(lambda: unfinished(process) > 200 or process.poll() is not None, "the first chunks")
        process.send_signal(signal.SIGSTOP)
        at_once(lambda: process.poll() is not None or is_stopped(process), "its stop")
        if unfinished(process) > 200:
            return process
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=seconds(20))
        assert process.returncode == DONE
        (session.home / name).unlink()
    raise AssertionError("each was through before it was stopped")


def is_stopped(process):
    try:
        return "\nState:\tT" in pathlib.Path(f"/proc/{process.pid}/status").read_text()
    except FileNotFoundError:
        return False


@as_root
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_file(stocked, number):
    before = sorted(os.listdir(stocked.home))
    process = begun(stocked, "s")
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=seconds(10))
    assert process.returncode == -number
    assert sorted(os.listdir(stocked.home)) == before


@as_root
def test_a_lock_leaves_no_file(stocked):
    before = sorted(os.listdir(stocked.home))
    process = begun(stocked, "s")
    stocked.lock()
    process.send_signal(signal.SIGCONT)
    _, errors = process.communicate(timeout=seconds(20))
    assert process.returncode == FAILED and "locked meanwhile" in errors
    assert sorted(os.listdir(stocked.home)) == before
    assert stocked.locker().returncode == 0


@as_root
def test_kill_at_any_point_leaves_the_old_backup(stocked):
    assert backup(stocked, "--force", file="k").returncode == DONE
    before, names = (stocked.home / "k").read_bytes(), sorted(os.listdir(stocked.home))
    seen = set()
    for round in range(12):
        process = stocked.start("latchkey", "backup", "--passphrase-stdin", "--force", "k", stdin=subprocess.PIPE,
                                stdout=subprocess.DEVNULL, text=True)
        process.stdin.write(PASSPHRASE + "\n")
        process.stdin.flush()
        at_once(lambda: unfinished(process) > round * (1 << 20) or process.poll() is not None, "chunks")
        process.kill()
        process.stdin.close()
        process.wait(seconds(10))
        content = (stocked.home / "k").read_bytes()
        seen.add(content == before)
        assert content == before or Backup(content, PASSPHRASE).items
        assert sorted(os.listdir(stocked.home)) == names
    assert True in seen
    assert backup(stocked, "--force", file="k").returncode == DONE and sorted(os.listdir(stocked.home)) == names


def test_kill_of_the_daemon_in_a_restore(stocked, other):
    assert backup(stocked, "--force", file="d").returncode == DONE
    carry(stocked, other, "d")
    other.store("mine", "n", "mine")
    outcomes = []
    # The kills begin after the passphrase and end when one restore finishes before its kill.
    while 2000 not in outcomes and len(outcomes) < 10:
        process = other.start("latchkey", "restore", "--passphrase-stdin", "d", stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
        process.stdin.write(PASSPHRASE + "\n")
        process.stdin.flush()
        daemon = other.daemon_pid()
        time.sleep(0.08 * len(outcomes))
        os.kill(daemon, signal.SIGKILL)
        process.stdin.close()
        status = process.wait(seconds(20))
        wait_until(lambda: not is_alive(daemon), "the daemon's end")
        other.start_daemon()
        assert other.login().returncode == 0
        with SecretClient(other) as client:
            many = len(client.search(attributes={"app": "many"})["unlocked"])
            large = len(client.search(attributes={"n": "large"})["unlocked"])
        assert (many, large) in ((0, 0), (2000, 1)), "all of it or nothing"
        assert status != DONE or many == 2000, "what was acknowledged is there"
        outcomes.append(many)
        assert other.lookup("n", "mine") == "mine"
        assert other.status()["problems"] == []
    assert 0 in outcomes


@as_root
def test_others_are_served_meanwhile(stocked):
    served = 0
    with SecretClient(stocked) as client:
        for _ in range(10):
            process = begun(stocked, "o")
            process.send_signal(signal.SIGCONT)
            while client.search(attributes={"n": "77"}) and process.poll() is None:
                served += 1
            process.communicate(timeout=seconds(20))
            assert process.returncode == DONE
            (stocked.home / "o").unlink()
            if served > 0:
                return
    raise AssertionError("no answer came before the end of a backup")


@pytest.mark.skipif(os.getuid() != 0, reason="setting another process's peak back needs root")
def test_what_is_here_is_not_kept_in_memory_to_be_compared(stage):
    with opened(stage) as session:
        with SecretClient(session) as client:
            plain = client.open(algorithm="plain")["session"]
            for number in range(24):
                client.store(session=plain, attributes={"n": str(number)}, text="0123456789abcdef", size=4 << 20)
        assert backup(session).returncode == DONE
        process = pathlib.Path(f"/proc/{session.daemon_pid()}")
        (process / "clear_refs").write_text("5")
        before = memory_of(process, "VmRSS")
        assert counts(restore(session, "--json")) == {"items": 24, "same": 24}
        assert memory_of(process, "VmHWM") - before < 48 << 20


def memory_of(process, name):
    return next(int(line.split()[1]) << 10 for line in (process / "status").read_text().splitlines() if line.startswith(name))


# ---- terminals ----


def test_on_a_terminal(stocked):
    person = Person(stocked, "latchkey", "backup", "--force", "t")
    person.expect("New passphrase for 't': ").type("one thing")
    person.expect("The same again: ").type("another")
    person.expect("The two answers differ").expect("New passphrase for 't': ").type("this one")
    person.expect("The same again: ").type("this one")
    person.expect(" of 2001 items")
    output = person.output()
    assert person.status == DONE and "t has 2001 items now." in output
    assert "one thing" not in output and "this one" not in output
    assert len(Backup((stocked.home / "t").read_bytes(), "this one").items) == 2001
    person = Person(stocked, "latchkey", "restore", "--dry-run", "t")
    person.expect("Passphrase for 't': ").type("this one").expect(" % read")
    assert "2001 in the vault already" in person.output() and person.status == DONE


def test_control_c_at_the_question(stocked):
    person = Person(stocked, "latchkey", "backup", "never")
    person.expect("New passphrase for 'never': ").press("c")
    person.output()
    assert person.status != DONE and not (stocked.home / "never").exists()
    assert backup(stocked, "--force", file="t").returncode == DONE, "the next one may"
