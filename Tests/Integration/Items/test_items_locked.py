"""latchkey find, get, add, edit and rm while items are locked: the output, the refusals, and the prompts."""

import os
import select
import signal
import subprocess

import pytest
from gi.repository import Gio, GLib
from support.clients import BEHIND, CLASS, CLASSES, answer_behind_a_locker, bring_back, bring_to
from support.items import (
    DONE,
    FAILED,
    NO_ITEM,
    NO_VAULT,
    class_of,
    fresh,
    latchkey,
    new_collection,
    place,
    the_item,
    told,
)  # fmt: skip
from support.pace import Limit, seconds
from support.peer import ITEM, NOTHING, ROOT, SERVICE, acting_as
from support.person import Person, ask_on_terminals
from support.session import BUS, TIMEOUT, wait_until

EVERY_STATE = ["locked", BEHIND, "sealed", "collection locked"]
REASONS = {"locked": "latchkey lock", BEHIND: "screen saver", "sealed": "last session ended", "collection locked": "its collection"}
AFTER, PASSCODE = "after-first-unlock", "when-passcode-set-this-device-only"


@pytest.fixture
def terminal(session):
    """A session whose prompts appear on the terminal of the client, even if the machine has a graphical prompter."""
    ask_on_terminals(session)
    return session


def stored(peer):
    """An item of each class, by class, and an attribute that all items share."""
    attributes, words = fresh()
    items = {name: peer.create(f"secret {name}", {**attributes, "n": name, CLASS: name}, label=name) for name in CLASSES}
    return items, attributes, words


@pytest.mark.parametrize("state", EVERY_STATE)
def test_what_is_told_while_it_is_locked(session, peer, state):
    items, attributes, words = stored(peer)
    bring_to(state, session, peer)
    found = {one["path"]: one for one in told(session, "find", "--json", *words)}
    assert found.keys() == {place(path) for path in items.values()}
    text = latchkey(session, "find", *words).stdout.decode()
    for name, path in items.items():
        one = found[place(path)]
        # The command and the vault agree about each item. The command does not show an unknown label as an empty label.
        properties = peer.all(path, ITEM)
        assert one["class"] == name and one["collection"] == "Login"
        assert one["state"] == ("locked" if properties["Locked"] else "open")
        known = bool(properties["Label"])
        assert one["label"] == (name if known else None)
        assert one["attributes"] == ({**attributes, "n": name} if known else None)
        assert (REASONS[state] in one["reason"]) if properties["Locked"] else one["reason"] is None
        line = text[text.index(place(path) + "  ") :].split("\nlogin/")[0]
        assert (name if known else "cannot be read now") in line.splitlines()[0]
        assert (f"locked: {one['reason']}" in line) == properties["Locked"]
        # get finds the item by its place, and by its attributes.
        for selector in ([place(path)], [*words, f"n={name}"]):
            assert told(session, "get", "--json", *selector) == one
            if properties["Locked"]:
                done = latchkey(session, "get", "--no-prompt", *selector, code=FAILED)
                assert done.stdout == b"" and "latchkey unlock" in done.stderr
                assert state == "collection locked" or REASONS[state] in done.stderr
            else:
                assert latchkey(session, "get", "--no-prompt", *selector).stdout == f"secret {name}".encode()
    assert {"open", "locked"} == {one["state"] for one in found.values()} or state == "collection locked"
    assert latchkey(session, "find", *fresh()[1], code=NO_ITEM).stdout == b""
    bring_back(state, session, peer)
    assert latchkey(session, "get", "--no-prompt", *words, "n=when-unlocked").stdout == b"secret when-unlocked"


@pytest.mark.parametrize("state", ["locked", "sealed", "collection locked"])
def test_nobody_is_there_to_be_asked(session, peer, state):
    _, words = fresh()
    item = peer.create("old", dict(word.split("=") for word in words), label="L")
    bring_to(state, session, peer)
    for command in (["get"], ["edit", "--secret"], ["edit", "--class", AFTER], ["add", "--replace", "--label", "L"]):
        done = latchkey(session, *command, *words, input=b"new", code=FAILED)
        assert "no prompt could be shown" in done.stderr and "latchkey unlock" in done.stderr
        done = latchkey(session, *command, "--no-prompt", *words, input=b"new", code=FAILED)
        assert "no prompt could be shown" not in done.stderr and "latchkey unlock" in done.stderr
    assert peer.prompts() == []
    bring_back(state, session, peer)
    assert peer.read(item) == b"old" and class_of(peer, item) == ["when-unlocked"]


@pytest.mark.night("prompters")
@pytest.mark.parametrize("state", ["locked", "sealed", "collection locked"])
def test_the_password_on_the_terminal(terminal, peer, state):
    attributes, words = fresh()
    item = peer.create("what was kept", attributes, label="L")
    bring_to(state, terminal, peer)
    person = Person(terminal, "latchkey", "get", "--show", *words).expect("login password").type("something else")
    person.expect("not right").expect("login password").type(terminal.password)
    assert person.last_line() == "what was kept" and person.status == DONE
    bring_back(state, terminal, peer)
    bring_to(state, terminal, peer)
    person = Person(terminal, "latchkey", "edit", "--class", AFTER, place(item)).expect("login password")
    assert "Changed" in person.type(terminal.password).output() and class_of(peer, item) == [AFTER]
    # The output in JSON shows the present class.
    peer.set(item, ITEM, "Attributes", "a{ss}", {**attributes, CLASS: "when-unlocked"})
    bring_back(state, terminal, peer)
    bring_to(state, terminal, peer)
    person = Person(terminal, "latchkey", "get", "--json", "--show", *words).expect("login password")
    said = person.type(terminal.password).output()
    assert '"state" : "open"' in said and '"reason" : null' in said and '"secret" : "what was kept"' in said


def test_a_passphrase_of_its_own(terminal, peer):
    private = new_collection(peer, "Private")
    _, words = fresh()
    latchkey(terminal, "add", "--label", "L", "--collection", "Private", *words, input=b"hidden")
    terminal.run("latchkey", "passphrase", "set", "--stdin", "Private", input="sesame", check=True)
    assert peer.call(ROOT, SERVICE, "Lock", "(ao)", [private]) == ([private], NOTHING)
    done = latchkey(terminal, "get", "--no-prompt", *words, code=FAILED)
    assert "locked" in done.stderr
    [one] = told(terminal, "find", "--json", *words)
    assert one["reason"] == "its collection is locked" and one["label"] is None
    done = latchkey(terminal, "add", "--label", "L", "--collection", "Private", *fresh()[1], code=FAILED, input=b"x")
    assert "no prompt could be shown" in done.stderr
    person = Person(terminal, "latchkey", "get", "--show", *words).expect("Private").type("sesame")
    assert person.last_line() == "hidden"


def test_new_items_while_it_is_locked(session, peer):
    """Storing works behind the lock if the class allows it. A new item never replaces an unreadable item."""
    for state in ("locked", BEHIND):
        bring_to(state, session, peer)
        added = {}
        for name in CLASSES:
            attributes, words = fresh()
            command = ["add", "--no-prompt", "--label", "L", "--class", name, *words]
            if name == PASSCODE:
                done = latchkey(session, *command, input=b"new", code=FAILED)
                assert REASONS[state] in done.stderr and peer.search(attributes) == ([], [])
                continue
            latchkey(session, *command, input=b"new")
            added[name] = the_item(peer, attributes)
            if name == "when-unlocked":
                command[-1:] = [words[0], "--replace"]
                done = latchkey(session, *command, input=b"newer", code=FAILED)
                assert REASONS[state] in done.stderr
        bring_back(state, session, peer)
        for name, item in added.items():
            assert class_of(peer, item) == [name] and peer.read(item) == b"new"


def test_nothing_is_stored_while_it_is_sealed(session, peer):
    bring_to("sealed", session, peer)
    attributes, words = fresh()
    done = latchkey(session, "add", "--no-prompt", "--label", "L", *words, input=b"x", code=FAILED)
    assert REASONS["sealed"] in done.stderr
    assert peer.search(attributes) == ([], [])


def test_a_twin_that_may_be_there(session, peer):
    """An item with unreadable attributes may have exactly the new item's attributes. So the command creates no second
    item with these attributes."""
    attributes, words = fresh()
    item = peer.create("old", {**attributes, CLASS: PASSCODE}, label="Hidden")
    session.lock()
    assert peer.get(item, ITEM, "Label") == ""
    done = latchkey(session, "add", "--no-prompt", "--label", "L", *words, input=b"x", code=FAILED)
    assert "locked" in done.stderr and the_item(peer, attributes) == item
    session.locker()
    done = latchkey(session, "add", "--no-prompt", "--label", "L", *words, input=b"x", code=FAILED)
    assert "--replace" in done.stderr and "Hidden" in done.stderr


def test_another_class_needs_both_to_be_open(session, peer):
    attributes, words = fresh()
    item = peer.create("x", {**attributes, CLASS: "always"}, label="Old")
    for state in ("locked", BEHIND, "sealed"):
        bring_to(state, session, peer)
        done = latchkey(session, "edit", "--class", "when-unlocked", "--no-prompt", *words, code=FAILED)
        assert "class" in done.stderr and REASONS[state] in done.stderr
        assert class_of(peer, item) == ["always"]
        # edit keeps the other properties.
        latchkey(session, "edit", "--no-prompt", *words, "--label", state, "--set", f"{state[0]}=1", "--secret", input=b"y")
        assert peer.get(item, ITEM, "Label") == state and peer.read(item) == b"y"
        bring_back(state, session, peer)
    latchkey(session, "edit", "--class", "when-unlocked", *words)
    assert class_of(peer, item) == ["when-unlocked"]


def test_another_class_by_the_password(terminal, peer):
    attributes, words = fresh()
    item = peer.create("x", {**attributes, CLASS: "always"})
    terminal.lock()
    person = Person(terminal, "latchkey", "edit", "--class", "when-unlocked", *words).expect("login password")
    assert "Changed" in person.type(terminal.password).output() and class_of(peer, item) == ["when-unlocked"]


def test_everywhere_is_unlocked_first(terminal, peer):
    attributes, words = fresh()
    peer.create("x", attributes)
    terminal.lock()
    person = Person(terminal, "latchkey", "rm", "--everywhere", *words).expect("login password")
    assert "Deleted" in person.type(terminal.password).output()


@pytest.mark.parametrize("state", EVERY_STATE)
def test_a_locked_item_is_not_deleted(session, peer, state):
    items, attributes, words = stored(peer)
    bring_to(state, session, peer)
    latchkey(session, "rm", *words, code=FAILED)
    for name, path in items.items():
        if not peer.get(path, ITEM, "Locked"):
            assert latchkey(session, "rm", "--no-prompt", place(path)).stdout.decode().startswith(f"Deleted {place(path)}")
            continue
        done = latchkey(session, "rm", "--no-prompt", place(path), code=FAILED)
        assert done.stdout == b"" and "latchkey unlock" in done.stderr
        assert state == "collection locked" or REASONS[state] in done.stderr
        if state != BEHIND and name == "when-unlocked":
            assert "no prompt could be shown" in latchkey(session, "rm", place(path), code=FAILED).stderr
    left = sum(peer.search(attributes), [])
    assert items["when-unlocked"] in left
    bring_back(state, session, peer)
    assert len(told(session, "rm", "--json", "--all", *words)["removed"]) == len(left)
    assert peer.search(attributes) == ([], [])


def test_deleting_by_the_password(terminal, peer):
    attributes, words = fresh()
    peer.create("x", attributes, label="L")
    terminal.lock()
    person = Person(terminal, "latchkey", "rm", *words).expect("login password")
    assert "Deleted" in person.type(terminal.password).output() and peer.search(attributes) == ([], [])


@pytest.mark.parametrize("state", EVERY_STATE)
def test_labels_while_it_is_locked(session, peer, state):
    attributes, words = fresh()
    item = peer.create("x", attributes, label="Old")
    bring_to(state, session, peer)
    for change in (["--label", "New"], ["--set", "a=b"]):
        done = latchkey(session, "edit", "--no-prompt", *words, *change, code=FAILED)
        assert state == "collection locked" or REASONS[state] in done.stderr
        assert "latchkey unlock" in done.stderr
    bring_back(state, session, peer)
    assert peer.get(item, ITEM, "Label") == "Old" and peer.get(item, ITEM, "Attributes") == attributes
    latchkey(session, "edit", "--no-prompt", *words, "--label", "New", "--set", "a=b")
    assert peer.get(item, ITEM, "Label") == "New" and peer.get(item, ITEM, "Attributes") == attributes | {"a": "b"}


# ---- behind a locker ----


def test_behind_a_locker_it_waits(session, peer):
    attributes, words = fresh()
    peer.create("what was kept", attributes)
    assert answer_behind_a_locker(session, peer, lambda: latchkey(session, "get", *words).stdout) == b"what was kept"


class Waiting:
    """A command that waits behind a locker, and the messages on the bus."""

    def __init__(self, session, peer):
        _, words = fresh()
        peer.create("x", dict(word.split("=") for word in words))
        bring_to(BEHIND, session, peer)
        self.monitor = session.start(
            "dbus-monitor", "--session", "interface='org.freedesktop.Secret.Prompt'",
            "type='signal',interface='org.freedesktop.Secret.Prompt'", "interface='org.latchkey.Prompt',member='Prompt'", stdout=subprocess.PIPE)
        self.messages = ""
        # The monitor hears its own name first. From then on the monitor hears everything.
        self.heard("NameAcquired")
        # The caller of the tests may ignore SIGHUP (nohup). An ignored signal would not withdraw the prompt.
        self.process = session.start(
            "latchkey", "get", *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        wait_until(peer.prompts, "a prompt")
        self.heard("member=Prompt")

    def heard(self, word):
        """Waits until the bus has carried a message with this word."""
        limit = Limit(TIMEOUT)
        while word not in self.messages:
            if select.select([self.monitor.stdout], [], [], 0.1)[0]:
                self.messages += os.read(self.monitor.stdout.fileno(), 65536).decode()
            assert not limit.is_over, f"no {word}, but {self.messages}"

    def end(self):
        out, err = self.process.communicate(timeout=seconds(20))
        self.monitor.terminate()
        self.monitor.communicate()
        assert out == ""
        return self.process.returncode, err


@pytest.fixture
def waiting(session, peer):
    opened = Waiting(session, peer)
    yield opened
    for process in (opened.process, opened.monitor):
        process.kill()
        process.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_dismisses_the_prompt(waiting, peer, number):
    waiting.process.send_signal(number)
    waiting.heard("member=Dismiss")
    waiting.heard("member=Completed")
    assert waiting.end() == (-number, "")
    assert peer.prompts() == []


def test_the_vault_ends_while_it_waits(session, waiting):
    os.kill(session.daemon_pid(), signal.SIGKILL)
    code, said = waiting.end()
    assert code == NO_VAULT and "does not answer" in said


def test_a_prompt_is_dismissed_on_the_terminal(terminal, peer):
    attributes, words = fresh()
    peer.create("what was kept", attributes)
    terminal.lock()
    person = Person(terminal, "latchkey", "get", "--show", *words).expect("login password").press("c")
    said = person.output()
    assert "what was kept" not in said and "you cancelled the prompt" in said and person.status == FAILED


# ---- no vault ----


COMMANDS = [["find"], ["find", "a=b"], ["get", "a=b"], ["get", "login/1"], ["add", "--label", "L", "a=b"],
            ["edit", "a=b", "--label", "L"], ["rm", "a=b"]]  # fmt: skip


def test_before_there_is_a_vault(session):
    for command in COMMANDS:
        done = latchkey(session, *command, input=b"x", code=FAILED)
        assert "there is no vault yet" in done.stderr and done.stdout == b""


def test_no_session_bus(session):
    for address in (f"unix:path={session.root}/run/nobody", "nonsense"):
        for command in COMMANDS:
            environment = session.environment | {"DBUS_SESSION_BUS_ADDRESS": address}
            done = latchkey(session, *command, input=b"x", code=NO_VAULT, env=environment)
            assert "session bus" in done.stderr and done.stdout == b""


def test_the_bus_starts_the_vault(session, peer):
    attributes, words = fresh()
    peer.create("x", {**attributes, CLASS: "always"})
    session.stop_daemon()
    assert latchkey(session, "get", *words).stdout == b"x"
    session.stop_daemon()
    (session.root / "services/org.freedesktop.secrets.service").unlink()
    # The bus reads its folders again only on request.
    method = "org.freedesktop.DBus.ReloadConfig"
    session.run("dbus-send", "--session", "--print-reply", *BUS, method, check=True)
    for command in COMMANDS:
        done = latchkey(session, *command, input=b"x", code=NO_VAULT)
        assert "systemctl --user start" in done.stderr


def test_another_keyring(session, peer):
    """If another program owns the Secret Service, the command sends that program no secret, and reports no empty vault.
    """
    session.stop_daemon()
    calls = []
    with acting_as(session):
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        bus = Gio.DBusConnection.new_for_address_sync(session.environment["DBUS_SESSION_BUS_ADDRESS"], flags, None, None)
    arguments = GLib.Variant("(su)", ("org.freedesktop.secrets", 4))
    driver = ["org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus"]
    assert bus.call_sync(*driver, "RequestName", arguments, None, 0, 10000, None).unpack() == (1,)
    xml = "<node><interface name='org.freedesktop.Secret.Service'><method name='SearchItems'/></interface></node>"
    interface = Gio.DBusNodeInfo.new_for_xml(xml).interfaces[0]
    bus.register_object(ROOT, interface, lambda *call: calls.append(call[4]), None, None)
    for command in COMMANDS:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = session.start("latchkey", *command, stdin=subprocess.DEVNULL, **pipes)
        context = GLib.MainContext.default()

        def served():
            context.iteration(False)
            return process.poll() is not None

        wait_until(served, "its end")
        out, err = process.communicate()
        assert process.returncode == NO_VAULT and out == "" and "another program" in err
        # `latchkey switch` does not know this program.
        assert "Turn the Secret Service off in " in err and "latchkey switch" not in err
    assert calls == []
    bus.close_sync(None)
