"""The test stops the helper between the password and the helper's hello to the daemon, as on a very slow machine. A
lock that comes meanwhile is later than the password.
"""

import os
import pathlib
import signal
import time
import types

import pytest
from gi.repository import GLib
from support.derive import AUTHENTICATE, REFUSED, UNLOCKED, Login, Run, as_root
from support.person import Person, ask_on_terminals
from support.peer import COLLECTION, NOTHING, ROOT, SERVICE, Peer
from support.session import is_alive, wait_until

PASSPHRASE = "a passphrase of its own 7"


@pytest.fixture
def locked(session, logind):
    ask_on_terminals(session)
    assert session.login().returncode == 0
    session.store("the secret", "k", "v")
    wait_until(logind.holds, "the delay lock")
    session.lock()
    return session


def helper_of(session, service):
    """The helper program that the module starts for a service."""
    words = (session.root / "pam.d" / service).read_text().split()
    (program,) = {word[7:] for word in words if word.startswith("helper=")}
    return program


class Held:
    """A program that stops before its first step: the helper, or a program that runs before the module."""

    def __init__(self, session, service, before_module=False):
        file, program = session.root / "pam.d" / service, helper_of(session, service)
        self._number, wrapper = session.root / "held", session.root / "hold"
        goes_on = "true" if before_module else f"exec {program}"
        wrapper.write_text(
            f"#!/bin/sh\necho $$ >{self._number}.new && mv {self._number}.new {self._number}\nkill -STOP $$\n{goes_on}\n")
        wrapper.chmod(0o755)
        text = file.read_text()
        if before_module:
            first, rest = text.split("\n", 1)
            file.write_text(f"{first}\nauth optional pam_exec.so quiet {wrapper}\n{rest}")
        else:
            file.write_text(text.replace(program, str(wrapper)))

    def await_stop(self):
        wait_until(self._number.exists, "the helper")
        self._process = int(self._number.read_text())
        wait_until(lambda: state_of(self._process) == "T", "its stop")

    def go_on(self):
        os.kill(self._process, signal.SIGCONT)
        wait_until(lambda: not is_alive(self._process), "its end")


def state_of(process):
    return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def nothing(_session, _logind):
    pass


def lock(session, _logind):
    session.lock()


def lock_screen(session, logind):
    """Locks and unlocks the screen. While the screen is locked, no password lifts a lock."""
    for is_locked in (True, False):
        logind.show_locked(is_locked)
        wait_until(lambda: session.status()["locker_up"] == is_locked, "the locker's word")


def sleep(_session, logind):
    logind.sleep()
    logind.wake()
    wait_until(logind.holds, "the delay lock of the next sleep")


EVENTS = pytest.mark.parametrize("event", [nothing, lock, lock_screen, sleep], ids=lambda event: event.__name__)


@pytest.mark.night("login")
@EVENTS
@pytest.mark.parametrize("before_module", [False, True], ids=["the helper", "a module before"])
def test_latchkey_unlock(locked, logind, event, before_module):
    held = Held(locked, "latchkey-unlock", before_module)
    person = Person(locked, "latchkey", "unlock").expect("assword").type(locked.password)
    held.await_stop()
    event(locked, logind)
    held.go_on()
    assert ("is unlocked" in person.last_line()) == (event is nothing)
    assert locked.status()["state"] == ("unlocked" if event is nothing else "locked")


@EVENTS
def test_a_prompt(locked, logind, event):
    held = Held(locked, "latchkey-unlock")
    person = Person(locked, "secret-tool", "lookup", "k", "v").expect("login password").type(locked.password)
    held.await_stop()
    event(locked, logind)
    held.go_on()
    if event is nothing:
        assert person.last_line() == "the secret"
    assert locked.status()["state"] == ("unlocked" if event is nothing else "locked")


@pytest.mark.parametrize("is_locked", [False, True])
def test_the_passphrase_of_a_collection(session, is_locked):
    ask_on_terminals(session)
    assert session.login().returncode == 0
    peer = Peer(session)
    properties = {"org.freedesktop.Secret.Collection.Label": GLib.Variant("s", "Work")}
    work, _ = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", properties, "")
    session.run("latchkey", "passphrase", "set", "--stdin", "Work", input=PASSPHRASE, check=True)
    assert peer.call(ROOT, SERVICE, "Lock", "(ao)", [work]) == ([work], NOTHING)
    held = Held(session, "latchkey-collection")
    person = Person(session, "latchkey", "unlock", "--collection", "Work").expect("assphrase").type(PASSPHRASE)
    held.await_stop()
    if is_locked:
        assert peer.call(ROOT, SERVICE, "Lock", "(ao)", [work]) == ([work], NOTHING)
    held.go_on()
    assert ("is unlocked" in person.last_line()) != is_locked
    assert peer.get(work, COLLECTION, "Locked") == is_locked
    peer.close()


@pytest.mark.night("login")
@as_root
@EVENTS
def test_a_login_that_waits_no_longer(locked, logind, event):
    """The keys come after the timeout of the login. The late keys still open the vault."""
    request = Login.request(
        types.SimpleNamespace(home=locked.home, runtime=locked.runtime, shadow="", services="", device=""), AUTHENTICATE,
        token=locked.password, user=locked.user, service="i3lock")
    run = Run(helper_of(locked, "i3lock"), None, hang_up=False)
    worker = run.worker
    os.kill(worker, signal.SIGSTOP)
    run.give(request)
    event(locked, logind)
    time.sleep(3.5)
    os.kill(worker, signal.SIGCONT)
    assert run.result() == (UNLOCKED if event is nothing else REFUSED)
    assert locked.status()["state"] == ("unlocked" if event is nothing else "locked")
