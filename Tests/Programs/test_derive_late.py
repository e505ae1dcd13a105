"""latchkey-derive, when its work takes longer than its caller waits. It goes on by itself, and ends by itself."""

import os
import pathlib
import signal
import subprocess
import time

import pytest
from support import standin
from support.derive import (
    AUTHENTICATE, CHANGE_PASSWORD, CREATE_VAULT, ENVIRONMENT, GOES_ON, LATE, OPEN, PASSWORD, REWRAP, UNLOCKED, Run,
    as_root)  # fmt: skip
from support.helper import now
from support.pace import Limit
from support.quota import quota  # noqa: F401
from test_derive_process import await_end, is_running

NEW = "ein anderes Passwort 12"


def wait_until(condition, what, usual=20):
    limit = Limit(usual)
    while not condition():
        assert not limit.is_over, f"waited for {what}"
        time.sleep(0.02)


def parent_of(process):
    return int(pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def begun(login, daemon, operation, **fields):
    """A run that has announced itself to the daemon. Its worker is stopped before it has derived anything."""
    runs, stopped = [], []

    def stop(_operation):
        if not stopped:
            stopped.append(runs[0].worker)
            os.kill(stopped[0], signal.SIGSTOP)

    daemon.on_request = stop
    run = login.start(operation, hang_up=False, known=runs.append, **fields)
    wait_until(lambda: daemon.hellos, "its hello")
    return run, run.supervisor, stopped[0]


def test_it_goes_on_when_its_caller_waits_no_longer(resident):
    daemon = resident.daemon()
    run, supervisor, worker = begun(resident, daemon, AUTHENTICATE)
    run.go_on()
    assert run.result() == GOES_ON
    assert is_running(worker) and parent_of(worker) == supervisor and parent_of(supervisor) not in (run.pid, os.getpid())
    os.kill(worker, signal.SIGCONT)
    wait_until(lambda: daemon.deliveries, "its keys")
    await_end(worker)
    await_end(supervisor)


def test_it_goes_on_when_its_caller_kills_it_after_the_word(resident):
    """A helper without processor time may not have answered yet."""
    daemon = resident.daemon()
    run, supervisor, worker = begun(resident, daemon, AUTHENTICATE)
    os.kill(supervisor, signal.SIGSTOP)
    run.go_on()
    os.kill(run.pid, signal.SIGKILL)
    run.process.wait()
    for process in (supervisor, worker):
        os.kill(process, signal.SIGCONT)
    wait_until(lambda: daemon.deliveries, "its keys")
    await_end(supervisor)


def test_the_answer_does_not_wait_for_the_workers_end(resident, monkeypatch, tmp_path):
    """A worker that waits for a dead disk does not end, but the login goes on."""
    library, order = tmp_path / "order.so", tmp_path / "order"
    source = pathlib.Path(__file__).parent / "order.c"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    order.touch()
    monkeypatch.setitem(ENVIRONMENT, "LD_PRELOAD", str(library))
    monkeypatch.setitem(ENVIRONMENT, "LATCHKEY_ORDER", str(order))
    resident.daemon()
    assert resident.run(AUTHENTICATE) == UNLOCKED
    lines = [line.split() for line in order.read_text().splitlines()]
    (supervisor,) = {process for process, call in lines if call == "waitpid"}
    assert next(call for process, call in lines if process == supervisor) == "send"


def test_without_the_word_it_ends_with_its_caller(resident):
    daemon = resident.daemon()
    run, supervisor, worker = begun(resident, daemon, AUTHENTICATE)
    os.kill(run.pid, signal.SIGKILL)
    os.kill(worker, signal.SIGCONT)
    await_end(worker)
    await_end(supervisor)
    assert daemon.deliveries == []


@pytest.mark.parametrize("word", [b"\0", b"\2", b"\1\1", b"x" * 500])
def test_other_words_do_no_harm(resident, word):
    resident.daemon()
    run = resident.start(AUTHENTICATE, hang_up=False)
    run.socket.sendall(word)
    assert run.end()[:1] in (bytes([UNLOCKED]), bytes([GOES_ON]))


def test_the_daemon_hears_of_it_before_it_derives(login):
    """The hello comes first even if the vault is created. So a lock that comes afterwards is later than the password."""
    daemon = login.daemon()
    said = []
    daemon.on_request = lambda operation: said.append((operation, login.keybag.exists()))
    run = login.start(OPEN, hang_up=False)
    run.result()
    assert said[0] == (1, False) and login.keybag.exists() and len(daemon.deliveries) == 1


@pytest.mark.night("login")
@pytest.mark.parametrize("operation", [AUTHENTICATE, OPEN])
@pytest.mark.parametrize("service", ["login", "latchkey-unlock"])
def test_a_helper_that_was_held_says_when_the_password_was_given(resident, operation, service):
    """The daemon decides by the time of the password. The keys come even if nobody waits for them any more."""
    daemon = resident.daemon()
    given = now()
    request = resident.request(operation, service=service, given=given)
    run = Run(resident.program, None, hang_up=False)
    worker = run.worker
    os.kill(worker, signal.SIGSTOP)
    run.give(request)
    time.sleep(3.5)
    os.kill(worker, signal.SIGCONT)
    assert run.result() == UNLOCKED
    assert daemon.given == [given] and len(daemon.deliveries) == 1


@pytest.mark.parametrize("operation, fields", [
    (AUTHENTICATE, {}), (OPEN, {}), (CREATE_VAULT, {}), (REWRAP, dict(token=NEW, password=PASSWORD))])
def test_a_daemon_that_knows_too_little_gets_no_keys(resident, operation, fields):
    daemon = resident.daemon()
    daemon.need = standin.LATE
    assert resident.run(operation, **fields) == LATE
    assert daemon.deliveries == []
    daemon.need = standin.KEYS
    assert resident.run(operation, **fields) == UNLOCKED
    assert len(daemon.deliveries) == 1


def test_it_ends_when_the_daemon_wants_nothing_any_more(resident):
    """The worker ends, as the oldest of many helpers does."""
    daemon = resident.daemon()
    run, supervisor, worker = begun(resident, daemon, AUTHENTICATE)
    run.go_on()
    assert run.result() == GOES_ON
    daemon.hang_up()
    os.kill(worker, signal.SIGCONT)
    await_end(worker)
    await_end(supervisor)
    assert daemon.deliveries == []


def test_a_home_that_was_unmounted_meanwhile_is_left_alone(login):
    """Nothing is created below the mount point."""
    daemon = login.daemon()
    away = login.home.with_name("away")

    def unmount(_operation):
        if not away.exists():
            login.home.rename(away)
            login.home.mkdir(mode=0o700)
            os.chown(login.home, away.stat().st_uid, away.stat().st_gid)

    daemon.on_request = unmount
    login.start(OPEN, hang_up=False).result()
    assert list(login.home.iterdir()) == [] and not (away / ".local/share/latchkey/keybag").exists()
    assert daemon.deliveries == []


def test_a_password_that_ended_meanwhile_opens_nothing(resident, login):
    """The keybag is read again once the keys are there."""
    daemon = resident.daemon()
    assert resident.run(CHANGE_PASSWORD, token=NEW, password=PASSWORD) == UNLOCKED
    ended = []

    def use_new(_operation):
        if not ended:
            ended.append(True)
            other = resident.start(OPEN, token=NEW)
            assert other.result() == UNLOCKED

    daemon.on_request = use_new
    run = resident.start(AUTHENTICATE, token=PASSWORD)
    run.result()
    assert len(daemon.deliveries) == 1


@pytest.mark.night("login")
@as_root
@pytest.mark.parametrize("percent", [50, 25, 10, 5])
@pytest.mark.parametrize("operation", [AUTHENTICATE, OPEN])
def test_under_a_quota_keys_come_at_once_or_later(resident, quota, percent, operation):
    daemon = resident.daemon()
    run = resident.start(operation, hang_up=False, options=dict(preexec_fn=quota(percent).join))
    time.sleep(2)
    run.go_on()
    assert run.result() in (UNLOCKED, GOES_ON)
    wait_until(lambda: daemon.deliveries, "the keys", 60)


@pytest.mark.night("login")
@as_root
@pytest.mark.parametrize("percent", [50, 25, 10, 5])
def test_under_a_quota_a_vault_is_founded_at_once_or_later(login, quota, percent):
    daemon = login.daemon()
    run = login.start(OPEN, hang_up=False, options=dict(preexec_fn=quota(percent).join))
    time.sleep(2)
    run.go_on()
    run.result()
    wait_until(lambda: daemon.deliveries, "the keys", 60)
    assert login.keybag.exists()


@pytest.mark.night("login")
@as_root
@pytest.mark.parametrize("percent", [50, 25, 10, 5])
def test_under_a_quota_a_password_is_changed_at_once_or_later(resident, quota, percent):
    daemon = resident.daemon()
    before = resident.keybag.read_bytes()
    run = resident.start(CHANGE_PASSWORD, token=NEW, password=PASSWORD, hang_up=False,
                         options=dict(preexec_fn=quota(percent).join))
    time.sleep(2)
    run.go_on()
    assert run.result() in (UNLOCKED, GOES_ON)
    wait_until(lambda: resident.keybag.read_bytes() != before, "the new password", 60)
    assert resident.run(AUTHENTICATE, token=NEW) == UNLOCKED and len(daemon.deliveries) == 1
