"""After a read or a refusal, no process has an item's passphrase in memory. See test_memory.py."""

import os
import pathlib
import secrets
import signal

import pytest
from support import vaultreader
from support.access import PASSPHRASE, REQUIRE, lookup
from support.memory import hchacha20, scan
from support.person import Person, ask_on_terminals
from support.session import wait_until
from support.vaultreader import Vault
from test_access_stacks import DENY, prompters, stack
from test_memory import set_tunables, tunables

pytestmark = [
    pytest.mark.night("vault"),
    pytest.mark.skipif(os.getuid() != 0, reason="reading another process's memory needs root")]

# A client that gets access to an item, and reads the item only on request.
HOLDER = """
import sys
from gi.repository import Gio, GLib
bus, loop = Gio.bus_get_sync(Gio.BusType.SESSION), GLib.MainLoop()
def call(path, interface, member, parameters):
    name = "org.freedesktop.secrets"
    return bus.call_sync(name, path, f"org.freedesktop.Secret.{interface}", member, parameters, None, 0, -1, None)
root = "/org/freedesktop/secrets"
prompt = call(root, "Service", "Unlock", GLib.Variant("(ao)", (sys.argv[1:],)))[1]
bus.signal_subscribe(None, None, "Completed", prompt, None, 0, lambda *_: loop.quit())
call(prompt, "Prompt", "Prompt", GLib.Variant("(s)", ("",)))
loop.run()
print("unlocked", flush=True)
input()
session = call(root, "Service", "OpenSession", GLib.Variant("(sv)", ("plain", GLib.Variant("s", ""))))[1]
print(bytes(call(sys.argv[1], "Item", "GetSecret", GLib.Variant("(o)", (session,)))[0][2]).decode())
input()
"""


def parent(process):
    """The number of a process's parent."""
    return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1]


def helpers(session):
    """The processes of latchkey-derive of the session's user."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "comm").read_text() != "latchkey-derive\n":
                continue
            mark = f"LATCHKEY_SESSION={session.root}".encode()
            # A supervisor and a starter are between the helper and the daemon. The supervisor and the starter only
            # wait.
            starter = parent(parent(parent(folder.name)))
            if mark in pathlib.Path(f"/proc/{starter}/environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


class Guarded:
    """An item with a passphrase, and the values that must not stay in memory."""

    def __init__(self, session):
        self.session = session
        self.label, self.passphrase, self.secret = ("Bank " + secrets.token_hex(12) for _ in range(3))
        self.wrong = "wrong " + secrets.token_hex(12)
        words = ["secret-tool", "store", f"--label={self.label}", "k", "v", REQUIRE, PASSPHRASE]
        person = Person(session, *words).expect("Password: ").type(self.secret)
        person.expect("Choose a passphrase for").type(self.passphrase).expect("again")
        # While the daemon waits for the passphrase, the secret must be in memory.
        self.needles = {"secret": self.secret.encode()}
        assert set(self.found(session.daemon_pid())) == {"secret"}
        person.type(self.passphrase).output()
        assert person.status == 0
        vault = Vault(
            session.vault, session.password, vaultreader.machine_identity(vaultreader.APPLICATION),
            passphrases={self.label: self.passphrase})
        assert vault.items[1].secret == self.secret.encode()
        ((key, nonce),) = [(key, nonce) for key, nonce, what in vault.sealed if what == "item 1: secret"]
        self.needles |= {"key of the secret": key, "stream key": hchacha20(key, nonce)}
        kinds = {key.kind: key.value for key in vault.keys if key.name.endswith("item 1")}
        self.needles |= {"item key": kinds["item"], "passphrase's key": kinds["passphrase"]}
        self.needles |= {"passphrase": self.passphrase.encode(), "wrong passphrase": self.wrong.encode()}
        # The daemon keeps this key in every state. The control: the scan finds this key.
        self.kept = next(key.value for key in vault.keys if key.kind == "metadata" and key.tier == "C")

    def found(self, pid, **more):
        return scan(pid, self.needles | more)

    def check(self, moment):
        """Checks that the daemon and the prompting processes have none of the values in memory."""
        ended(self)
        found = self.found(self.session.daemon_pid(), kept=self.kept)
        assert set(found) == {"kept"}, (moment, found)

    def ask(self):
        return lookup(self.session, "k", "v").expect("assphrase")

    def hold(self, passphrase):
        """A client that has access to the item, but has not read it yet."""
        item = "/org/freedesktop/secrets/collection/login/1"
        person = Person(self.session, "/usr/bin/python3", "-c", HOLDER, item)
        return person.expect("assphrase").type(passphrase).expect("unlocked")


@pytest.fixture(scope="module")
def stocked(shared_session):
    ask_on_terminals(shared_session)
    set_tunables(shared_session, tunables())
    shared_session.restart()
    assert shared_session.login().returncode == 0
    return Guarded(shared_session)


@pytest.fixture
def guarded(stocked):
    # A right answer before each test resets the count of wrong answers, which all prompts share.
    assert stocked.ask().type(stocked.passphrase).last_line() == stocked.secret
    yield stocked
    assert stocked.session.locker().returncode == 0 and stocked.session.status()["items"] == 1


def ended(guarded):
    wait_until(lambda: prompters(guarded.session) == [] and helpers(guarded.session) == [], "the end of all that asks")


def test_stored_and_read(guarded):
    guarded.check("stored")
    assert guarded.ask().type(guarded.passphrase).last_line() == guarded.secret
    ended(guarded)
    guarded.check("read")


def seen_in_helper(guarded):
    """The values in the memory of latchkey-derive. The test stops the process to look, so the module may run into its
    timeout."""
    seen = set()
    for helper in helpers(guarded.session):
        try:
            os.kill(helper, signal.SIGSTOP)
            try:
                seen |= set(guarded.found(helper))
            finally:
                os.kill(helper, signal.SIGCONT)
        except (FileNotFoundError, ProcessLookupError):
            pass  # the process has ended
    return seen


def test_while_it_is_derived_it_is_there(guarded):
    """The control: while latchkey-derive runs, the scan finds the values in its memory."""
    seen = set()
    for _ in range(5):
        person = guarded.ask()
        (asking,) = prompters(guarded.session)
        assert set(guarded.found(asking, label=guarded.label.encode())) == {"label"}
        person.type(guarded.passphrase)
        while prompters(guarded.session) and "passphrase" not in seen:
            seen |= seen_in_helper(guarded)
        person.output()
        ended(guarded)
        guarded.check("read")
        if "passphrase" in seen:
            return
    raise AssertionError(f"only {seen} in latchkey-derive")


def test_a_grant_is_a_key_until_it_is_used(guarded):
    holder = guarded.hold(guarded.passphrase)
    ended(guarded)
    assert set(guarded.found(guarded.session.daemon_pid())) == {"passphrase's key"}
    holder.type("").expect(guarded.secret)
    guarded.check("a grant was used")
    holder.press("c").output()
    # The next two clients do not use their access.
    guarded.hold(guarded.passphrase).press("c").output()
    wait_until(lambda: not guarded.found(guarded.session.daemon_pid()), "the end of the client")
    guarded.check("the client of a grant is gone")
    holder = guarded.hold(guarded.passphrase)
    assert set(guarded.found(guarded.session.daemon_pid())) == {"passphrase's key"}
    ended(guarded)
    guarded.session.lock()
    guarded.check("locked with a grant")
    holder.press("c").output()


def test_wrong_ones(guarded):
    person = guarded.ask()
    for attempt in range(3):
        person.type(guarded.wrong)
        if attempt < 2:
            person.expect("not right").expect("assphrase")
            (asking,) = prompters(guarded.session)
            found = guarded.found(asking, label=guarded.label.encode())
            assert set(found) == {"label"}, found
            assert guarded.found(guarded.session.daemon_pid()) == {}
    assert guarded.secret not in person.output()
    ended(guarded)
    guarded.check("three wrong ones")


@pytest.mark.parametrize("how", ["dismissed", "locked", "client gone"])
def test_the_question_ends(guarded, how):
    person = guarded.ask().type(guarded.wrong).expect("not right").expect("assphrase")
    if how == "dismissed":
        person.press("c")
    elif how == "locked":
        guarded.session.lock()
        person.expect("login password").press("c")
    else:
        os.kill(person.pid, signal.SIGKILL)
    person.output()
    ended(guarded)
    guarded.check(how)


def test_the_stack_denies_after_the_right_one(guarded):
    """The daemon had the key for a moment, but the stack denied in the end."""
    line = (guarded.session.root / "pam.d/latchkey-item").read_text()
    stack(guarded.session, "latchkey-item", line + DENY)
    person = guarded.ask()
    # Each attempt of a prompt sends the passphrase again.
    for attempt in range(3):
        person.type(guarded.passphrase)
        if attempt < 2:
            person.expect("not right").expect("assphrase")
    assert guarded.secret not in person.output()
    ended(guarded)
    stack(guarded.session, "latchkey-item", line)
    guarded.check("denied")


@pytest.mark.parametrize("how", ["dismissed", "client gone", "locked"])
def test_an_item_that_is_not_stored(guarded, how):
    secret = "another " + secrets.token_hex(12)
    guarded.needles["another secret"] = secret.encode()
    person = Person(guarded.session, "secret-tool", "store", "--label=Other", "k", "w", REQUIRE, PASSPHRASE)
    person.expect("Password: ").type(secret).expect("Choose a passphrase").type(guarded.wrong).expect("again")
    assert set(guarded.found(guarded.session.daemon_pid())) == {"another secret"}
    if how == "dismissed":
        person.press("c")
    elif how == "client gone":
        os.kill(person.pid, signal.SIGKILL)
    else:
        guarded.session.lock()
    person.output()
    ended(guarded)
    wait_until(lambda: not guarded.found(guarded.session.daemon_pid()), "the end of what waited")
    guarded.check(how)
