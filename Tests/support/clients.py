"""Helpers for tests of Secret Service clients: fixtures, states of the vault, and ways to run a client.

The clients are secret-tool, libsecret, SecretStorage, keyring, and the helpers of docker and git. Another client makes
the calls of go-keyring, and peer.py makes any call.
"""

import json
import select
import subprocess
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.pace import seconds
from support.peer import LIMIT, LOGIN, NOTHING, ROOT, SERVICE, Peer
from support.session import wait_until

CLASS = "latchkey:accessible"
CLASSES = [
    "when-unlocked",
    "when-unlocked-this-device-only",
    "when-passcode-set-this-device-only",
    "after-first-unlock",
    "after-first-unlock-this-device-only",
    "always",
    "always-this-device-only",
]
# Locked without a locker on the screen, and sealed (before the first login and after the last logout). A client's
# prompt ends at once, because no person can answer.
LOCKED = ["locked", "sealed"]
BEHIND = "behind a locker"
# All ways to lock. Lock(collection) locks only the collection, while the session stays unlocked.
EVERY_LOCK = [*LOCKED, "collection locked"]
MAIL = {"service": "mail", "account": "demo"}
SYNC = {"service": "sync", "account": "demo"}
MAIL_WORDS = ["service", "mail", "account", "demo"]
SYNC_WORDS = ["service", "sync", "account", "demo"]


@pytest.fixture
def peer(session):
    """A client in its own session with an unlocked vault."""
    assert session.login().returncode == 0
    opened = Peer(session)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def shared_peer(shared_session):
    assert shared_session.login().returncode == 0
    opened = Peer(shared_session)
    yield opened
    opened.close()


@pytest.fixture
def open_peer(shared_peer):
    """A client of the session that all tests of a file share. The vault stays unlocked."""
    shared_peer.listen()
    shared_peer.signals.clear()
    return shared_peer


def bring_to(state, session, peer):
    """Brings the unlocked vault to this state. `peer` acts as the locker if there is one."""
    if state == "locked":
        session.lock()
    elif state == BEHIND:
        peer.activate_screen_saver(True)
        wait_until(lambda: session.status()["locker_up"], "the locker")
    elif state == "sealed":
        assert session.logout().returncode == 0
    elif state == "collection locked":
        assert peer.call(ROOT, SERVICE, "Lock", "(ao)", [LOGIN]) == ([LOGIN], NOTHING)
    expected = {"sealed": "sealed", "collection locked": "unlocked"}.get(state, "locked")
    assert session.status()["state"] == expected


def bring_back(state, session, peer):
    """Brings the vault back to the unlocked state, as a person would."""
    if state in ("sealed", "collection locked"):
        assert session.login().returncode == 0
    else:
        assert session.locker().returncode == 0
        if state == BEHIND:
            peer.activate_screen_saver(False)
    wait_until(lambda: session.status()["state"] == "unlocked", "the vault to be unlocked")


def answer_behind_a_locker(session, peer, ask, limit=LIMIT):
    """The answer for a client that asks behind a locker. The client's prompt waits until the person is back."""
    bring_to(BEHIND, session, peer)
    with ThreadPoolExecutor(1) as client:
        answer = client.submit(ask)
        wait_until(lambda: peer.prompts() or answer.done(), "a prompt")
        assert not answer.done(), answer.result()
        bring_back(BEHIND, session, peer)
        return answer.result(limit)


def run(session, *command, input=""):
    """Runs a client, which must end in time."""
    return session.run(*command, input=input, timeout=LIMIT)


def tool(session, *arguments, input=""):
    return run(session, "secret-tool", *arguments, input=input)


def script(session, text, *arguments):
    """Runs a Python client as the session's user, and returns the values that it reports with `tell`."""
    done = run(session, "/usr/bin/python3", "-c", PREAMBLE + text, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


PREAMBLE = """
import json, sys
told = {}
def tell(name, action):
    try:
        value = action()
    except Exception as error:
        value = "! " + type(error).__name__ + ": " + str(error)
    told[name] = value.decode() if isinstance(value, bytes) else value
def pause():
    # Tells what there is, and waits for leave to go on; see Conversation.
    print(json.dumps(told), flush=True)
    told.clear()
    sys.stdin.readline()
import atexit
atexit.register(lambda: print(json.dumps(told)))
"""


class Conversation:
    """A script that pauses, so that the test can act while the client runs."""

    def __init__(self, session, text):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = session.start("/usr/bin/python3", "-c", PREAMBLE + text, text=True, **pipes)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()

    def told(self):
        """The values that the script has reported up to its next pause or its end."""
        assert select.select([self._process.stdout], [], [], seconds(LIMIT))[0], "the client does not go on"
        return json.loads(self._process.stdout.readline())

    def go_on(self):
        """Lets the client go on after a pause, and returns its next line."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self.told()


def python(session, code, *arguments):
    """Runs code in the session, as its user, and returns what it prints."""
    done = run(session, "/usr/bin/python3", "-c", textwrap.dedent(code), *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout
