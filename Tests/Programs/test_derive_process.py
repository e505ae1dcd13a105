"""latchkey-derive as a process: the data that other processes can see, the ways in which the process ends, and its behaviour
without memory or time."""

import contextlib
import os
import pathlib
import resource
import signal
import socket
import subprocess
import sys
import time

import pytest
from support.derive import (
    AUTHENTICATE, CLOSE, DAEMON_SILENT, MEMORY_SIZE, NO_MEMORY, OPEN, PASSWORD, PERSON, REQUEST, UNLOCKED, Run, as_root, child_of,
    memory_of,
)
from support.pace import Limit, seconds
from support.standin import SILENT


def pages_with(pid, needle):
    """The flags of every mapping that contains `needle`."""
    found, span = [], None
    with open(f"/proc/{pid}/smaps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            words = line.split()
            if "-" in words[0] and len(words) >= 5:
                span = [int(part, 16) for part in words[0].split("-")]
            elif words[0] == "VmFlags:":
                try:
                    memory.seek(span[0])
                    content = memory.read(span[1] - span[0])
                except (OSError, ValueError, OverflowError):
                    continue
                if needle in content:
                    found.append(set(words[1:]))
    return found


@as_root
def test_what_others_see_of_the_process(resident):
    daemon = resident.daemon()
    daemon.outcome = SILENT
    with open(resident.folder / "inherited", "w") as file:
        run = resident.start(OPEN, options=dict(pass_fds=[file.fileno()], umask=0, cwd=resident.folder))
    limit = Limit(5)
    while not daemon.deliveries and not limit.is_over:
        time.sleep(0.01)
    (delivery,) = daemon.deliveries
    token = PASSWORD.encode()
    for name in ("cmdline", "environ", "status", "comm"):
        assert token not in run.proc(name)
    status = dict(line.split(":\t", 1) for line in run.proc("status").decode().splitlines() if ":\t" in line)
    uid, gid = str(PERSON.pw_uid), str(PERSON.pw_gid)
    assert status["Uid"].split() == [uid] * 4 and status["Gid"].split() == [gid] * 4
    assert set(status["Groups"].split()) <= {str(group) for group in os.getgrouplist(PERSON.pw_name, PERSON.pw_gid)}
    assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
    assert status["Umask"] == "0077"
    assert os.readlink(f"/proc/{run.worker}/cwd") == "/"
    assert b"Max core file size 0 0 " in b" ".join(run.proc("limits").split())
    assert os.stat(f"/proc/{run.worker}/environ").st_uid == 0, "not dumpable: its files in /proc are root's"
    # Positive control: the password and the keys are in memory, and only in pages that are locked and kept out of core dumps.
    for secret in (token, delivery.unlocked, delivery.session):
        pages = pages_with(run.worker, secret)
        assert pages and all({"lo", "dd"} <= flags for flags in pages)
        assert pages_with(run.pid, secret) == [], "who waits for it has none"
    assert run.result() == DAEMON_SILENT


@as_root
def test_another_process_of_the_user_cannot_read_its_memory(resident):
    daemon = resident.daemon()
    daemon.outcome = SILENT
    run = resident.start(AUTHENTICATE)
    while not daemon.deliveries:
        time.sleep(0.01)
    for process in (run.pid, run.worker):
        code = f"open('/proc/{process}/mem', 'rb')"
        done = subprocess.run([sys.executable, "-c", code], user=PERSON.pw_uid, cwd="/", capture_output=True, text=True)
        assert "PermissionError" in done.stderr
    run.end()


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def await_end(pid):
    limit = Limit(3)
    while is_running(pid):
        assert not limit.is_over, "it goes on"
        time.sleep(0.01)


def test_it_ends_with_its_parent(resident):
    daemon = resident.daemon()
    daemon.outcome = SILENT
    child = os.fork()
    if child == 0:
        resident.start(AUTHENTICATE)
        time.sleep(60)
        os._exit(0)
    while not daemon.deliveries:
        time.sleep(0.01)
    (waiting,) = pathlib.Path(f"/proc/{child}/task/{child}/children").read_text().split()
    worker = child_of(child_of(waiting))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    await_end(waiting)
    await_end(worker)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGALRM, signal.SIGTERM])
def test_how_its_worker_ends_is_how_it_ends(resident, number):
    daemon = resident.daemon()
    daemon.outcome = SILENT
    run = resident.start(AUTHENTICATE)
    os.kill(run.worker, number)
    assert run.end() == b"" and run.process.returncode == -number


def test_its_worker_ends_with_it(resident):
    daemon = resident.daemon()
    daemon.outcome = SILENT
    run = resident.start(AUTHENTICATE)
    while not daemon.deliveries:
        time.sleep(0.01)
    worker = run.worker
    os.kill(run.pid, signal.SIGKILL)
    assert run.end() == b""
    await_end(worker)


@pytest.mark.night("login")
def test_a_request_that_never_comes_ends_in_time(login):
    run = Run(login.program, None, hang_up=False)
    assert run.end() == b""
    assert run.process.returncode == -signal.SIGALRM
    assert run.seconds > 2.6


@pytest.mark.parametrize("hang_up", [False, True])
def test_a_request_that_its_worker_never_reads_is_erased(resident, hang_up):
    """The caller still has the memory, like a module that went on."""
    run = Run(resident.program, None, hang_up=False)
    worker = run.worker
    os.kill(worker, signal.SIGSTOP)
    request = resident.request(AUTHENTICATE)
    with memory_of(request) as file:
        socket.send_fds(run.socket, [bytes([REQUEST])], [file])
        # The control: the request stays in memory as long as nobody reads it.
        assert os.pread(file, MEMORY_SIZE, 0).startswith(request)
        if hang_up:
            os.kill(run.pid, signal.SIGKILL)
            await_end(worker)
            await_zeros(file)
            run.end()
        else:
            os.kill(worker, signal.SIGKILL)
            assert run.end() == b"" and run.process.returncode == -signal.SIGKILL
            assert os.pread(file, MEMORY_SIZE, 0) == bytes(MEMORY_SIZE)


def await_zeros(file):
    limit = Limit(5)
    while os.pread(file, MEMORY_SIZE, 0) != bytes(MEMORY_SIZE):
        assert not limit.is_over, "the request is still there"
        time.sleep(0.01)


def test_no_memory_is_an_answer(login):
    login.create_vault()
    login.daemon()
    limit = 100 << 20

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    for operation in (AUTHENTICATE, OPEN):
        run = login.start(operation, options=dict(preexec_fn=limited))
        assert run.result() == NO_MEMORY
    login.keybag.unlink()
    assert login.start(OPEN, options=dict(preexec_fn=limited)).result() == NO_MEMORY
    assert not login.keybag.exists()


@as_root
def test_no_memory_that_may_be_locked_is_no_hindrance(resident):
    resident.daemon()

    def limited():
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))

    for operation in (AUTHENTICATE, OPEN):
        assert resident.start(operation, options=dict(preexec_fn=limited)).result() == UNLOCKED


def test_a_daemon_that_lets_too_many_wait(resident):
    """The daemon was stopped for so long that nobody else can connect."""
    path = resident.runtime / "latchkey/control"
    path.parent.mkdir()
    with contextlib.ExitStack() as sockets:
        new = lambda: sockets.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        listener = new()
        listener.bind(str(path))
        listener.listen(1)
        for place in (path.parent, path):
            os.chown(place, PERSON.pw_uid, -1)
        with pytest.raises(BlockingIOError):
            while True:
                waiting = new()
                waiting.setblocking(False)
                waiting.connect(str(path))
        for operation in (AUTHENTICATE, OPEN, CLOSE):
            assert resident.run(operation) == DAEMON_SILENT


def test_a_person_who_starts_it_is_asked_for_nothing(programs):
    done = subprocess.run([programs / "latchkey-derive"], stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds(5))
    assert done.returncode == 64 and done.stdout == done.stderr == b""
