"""A login completes before its keys arrive. Calls of the session's programs wait for the keys."""

import contextlib
import os
import pathlib
import signal
import subprocess
import time

import pytest
from support.control import HELLO, KEYS, OPEN_SESSION, Control, hello, packet
from support.pace import Limit, seconds
from support.peer import LOGIN, NOTHING, ROOT, SERVICE, Peer
from support.session import wait_until

LOCKED = ("busctl", "--user", "get-property", "org.freedesktop.secrets", LOGIN, "org.freedesktop.Secret.Collection", "Locked")


@pytest.fixture
def sealed(session):
    """A session with an item, after its last logout."""
    assert session.login().returncode == 0
    session.store("the secret", "k", "v")
    assert session.logout().returncode == 0
    wait_until(lambda: session.status()["state"] == "sealed", "the seal")
    return session


def begin(session, **fields):
    """A login's helper that the daemon has asked for keys. The helper works until its connection ends."""
    helper = Control(session)
    assert helper.ask(hello(stage=OPEN_SESSION, **fields))[:3] == packet(HELLO, bytes([KEYS]))
    return helper


def started(session, *command):
    program = session.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # A call that does not wait for the keys gets its answer within this second, or shows a prompt.
    time.sleep(1)
    return program


@pytest.mark.parametrize("command, expected", [
    (("secret-tool", "lookup", "k", "v"), "the secret"),
    (("latchkey", "get", "k=v"), "the secret"),
    (("latchkey", "status", "--json"), '"state":"unlocked"'),
    (LOCKED, "b false"),
], ids=["secret-tool", "get", "status", "a property"])  # fmt: skip
def test_the_first_question_waits_for_the_keys(sealed, command, expected):
    helper = begin(sealed)
    program = started(sealed, *command)
    # The keys of any helper end the wait.
    assert sealed.login().returncode == 0
    told, complaints = program.communicate(timeout=seconds(30))
    assert expected in told.replace(" : ", ":").replace(": ", ":"), (told, complaints)
    helper.close()


def test_it_is_answered_where_no_keys_come(sealed):
    """The helper brings no keys, as after a wrong password."""
    helper = begin(sealed)
    program = started(sealed, "latchkey", "status", "--json")
    helper.close()
    told, _ = program.communicate(timeout=seconds(30))
    assert "sealed" in told
    peer = Peer(sealed)
    unlocked, locked = peer.search({"k": "v"})
    assert unlocked == [] and len(locked) == 1
    peer.close()


@pytest.mark.night("login")
def test_a_helper_that_brings_none_holds_nobody_for_ever(sealed):
    helper = begin(sealed)
    assert sealed.status()["state"] == "sealed"
    peer = Peer(sealed)
    assert peer.call(ROOT, SERVICE, "Unlock", "(ao)", [LOGIN])[1] != NOTHING
    peer.close()
    # Any program of the user can claim to be a helper. The claim does not stop the next login.
    other = begin(sealed)
    program = started(sealed, *LOCKED)
    assert sealed.login().returncode == 0
    assert program.communicate(timeout=seconds(30))[0] == "b false\n"
    for one in (helper, other):
        one.close()


def test_the_name_is_claimed_though_the_bus_waits(sealed):
    """Without the claim, another provider would get the name. A program's call then waits at the bus."""
    bus = sealed.owner("org.freedesktop.DBus")
    command = pathlib.Path(f"/proc/{sealed.daemon_pid()}/cmdline").read_text().split("\0")[:-1]
    sealed.stop_daemon()
    os.kill(bus, signal.SIGSTOP)
    daemon = sealed.start(*command)
    try:
        with contextlib.closing(first_helper(sealed)):
            os.kill(bus, signal.SIGCONT)
            wait_until(lambda: sealed.daemon_pid() == daemon.pid, "the name")
            program = started(sealed, *LOCKED)
            assert sealed.login().returncode == 0
            assert program.communicate(timeout=seconds(30))[0] == "b false\n"
    finally:
        os.kill(bus, signal.SIGCONT)
        daemon.terminate()
        daemon.wait(seconds(30))


def first_helper(session):
    """A login's helper that connects as soon as the daemon listens."""
    limit = Limit(30)
    while True:
        with contextlib.suppress(OSError, AssertionError):
            return begin(session)
        assert not limit.is_over, "no daemon takes a helper"
        time.sleep(0.05)


def test_a_lock_of_the_screen_is_heard_though_the_bus_waits(sealed, logind):
    """The daemon hears logind on another connection."""
    helper = begin(sealed)
    logind.show_locked(True)
    wait_until(lambda: sealed.status()["locker_up"], "logind's word")
    helper.close()


def test_other_sessions_are_not_held_where_the_vault_is_unlocked(session):
    assert session.login().returncode == 0
    session.store("the secret", "k", "v")
    helper = Control(session)
    helper.ask(hello(stage=OPEN_SESSION))
    assert session.lookup("k", "v") == "the secret"
    helper.close()
