"""Several clients send random calls and packets to the daemon at once: valid, nearly valid and invalid. Meanwhile the
vault is locked and unlocked.

Acknowledged items stay readable, errors have allowed names, no client can use another client's objects, and the same
daemon runs at the end.

FUZZ_SEED repeats a run. The message of a failed run has its seed.
"""

import contextlib
import os
import random
import time

from conftest import SECONDS
from gi.repository import GLib
from support.control import HELLO, LOCK, MESSAGES, OTHER_VERSION, STATUS, UNLOCK, VERSION, Control, hello, keys, packet, status_works
from support.keychain import DUPLICATE, KEYCHAIN, TOLD_PROMPT
from support.pace import seconds
from support.peer import (
    COLLECTION, ITEM, LOGIN, NOTHING, PROMPT, PROPERTIES, ROOT, SERVICE, SESSION, SESSION_COLLECTION, Failure, Peer,
    attributes_of, octets,
)
from support.session import is_alive, wait_until

FREEDESKTOP, SECRET = "org.freedesktop.DBus.Error.", "org.freedesktop.Secret.Error."
ALLOWED = {SECRET + name for name in ("IsLocked", "NoSession", "NoSuchObject", "AlreadyExists")} | {
    FREEDESKTOP + name
    for name in (
        "InvalidArgs", "UnknownMethod", "UnknownInterface", "UnknownProperty", "PropertyReadOnly",
        "AccessDenied", "NotSupported", "LimitsExceeded",
    )
} | {DUPLICATE}  # fmt: skip
# All existing operations, because a changed byte may turn one into another: docs/developer/protocols.md.
OPERATIONS = {*MESSAGES.values(), OTHER_VERSION, 255}
BASIC = "ybnqiuxtdsog"


def seed():
    return int(os.environ.get("FUZZ_SEED", random.SystemRandom().getrandbits(32)))


class Fuzzer:
    """Two clients, and the known state of the vault: the secret of every item, and the owner of every session and
    prompt."""

    def __init__(self, session, seed):
        self.session = session
        self.random = random.Random(seed)
        self.peers = [Peer(session), Peer(session)]
        self.items = {}
        self.sessions = {}
        self.prompts = {}
        self.collections = [LOGIN]
        self.locked = False
        self.calls = 0

    # MARK: arguments

    def text(self):
        pieces = ["", "a", "service", "latchkey:", "latchkey:accessible", "always", "\n", "ä", "e\u0301", "\U0010ffff",
                  "x" * self.random.choice([1, 255, 256, 5000]), "default", "session", "org.latchkey.Vault"]  # fmt: skip
        return "".join(self.random.choices(pieces, k=self.random.randrange(4)))

    def path(self):
        known = [*self.items, *self.sessions, *self.prompts, *self.collections, ROOT, NOTHING, SESSION_COLLECTION,
                 ROOT + "/aliases/default", "/org/latchkey/vault", ROOT + "/collection/c99"]  # fmt: skip
        path = self.random.choice(known)
        if self.random.random() < 0.2:
            path = path.rstrip("/") + "/" + self.random.choice(["0", "1", "99", "x", "9" * 30, "s1", "login"])
        return path

    def signature(self, depth=0):
        kind = self.random.random()
        if depth > 3 or kind < 0.6:
            return self.random.choice(BASIC)
        if kind < 0.7:
            return "v"
        if kind < 0.8:
            return "a" + self.signature(depth + 1)
        if kind < 0.9:
            return "(" + "".join(self.signature(depth + 1) for _ in range(self.random.randint(1, 3))) + ")"
        return "a{" + self.random.choice(BASIC) + self.signature(depth + 1) + "}"

    def value(self, signature):
        """Any value of a complete type."""
        kind = signature[0]
        if kind in "ynqiuxt":
            size = {"y": 8, "n": 16, "q": 16, "i": 32, "u": 32, "x": 64, "t": 64}[kind]
            low = -(1 << size - 1) if kind in "nix" else 0
            high = low + (1 << size) - 1
            return GLib.Variant(kind, self.random.choice([low, high, max(low, 0), self.random.randint(low, high)]))
        if kind == "b":
            return GLib.Variant("b", self.random.random() < 0.5)
        if kind == "d":
            return GLib.Variant("d", self.random.choice([0.0, -1.5, float("inf"), float("nan")]))
        if kind == "s":
            return GLib.Variant("s", self.text())
        if kind == "o":
            return GLib.Variant("o", self.path())
        if kind == "g":
            return GLib.Variant("g", self.signature())
        if kind == "v":
            return GLib.Variant.new_variant(self.value(self.signature(2)))
        if signature == "ay":
            return octets(self.random.randbytes(self.random.choice([0, 1, 15, 16, 17, 128, 129, 5000])))
        if kind == "a":
            element = GLib.VariantType(signature[1:])
            values = [self.element(signature[1:]) for _ in range(self.random.randrange(4))]
            return GLib.Variant.new_array(element, values)
        return GLib.Variant.new_tuple(*[self.value(one) for one in self.parts(signature[1:-1])])

    def element(self, signature):
        if signature[0] != "{":
            return self.value(signature)
        return GLib.Variant.new_dict_entry(self.value(signature[1]), self.value(signature[2:-1]))

    @staticmethod
    def parts(signature):
        """The complete types in a signature."""
        parts, at = [], 0
        while at < len(signature):
            end = at
            while signature[end] == "a":
                end += 1
            depth = 0
            while True:
                depth += (signature[end] in "({") - (signature[end] in ")}")
                end += 1
                if depth == 0:
                    break
            parts.append(signature[at:end])
            at = end
        return parts

    # MARK: actions

    def step(self):
        actions = [self.anything] * 8 + [self.create] * 4 + [self.read] * 4 + [
            self.write, self.delete, self.open_session, self.close_session, self.unlock, self.lock_or_unlock,
            self.foreign_session, self.reconnect]  # fmt: skip
        self.calls += 1
        with contextlib.suppress(Refused):
            self.random.choice(actions)(self.random.choice(self.peers))

    def ask(self, peer, path, interface, method, parameters=None, allowed=ALLOWED):
        try:
            return peer.raw(path, interface, method, parameters)
        except Failure as failure:
            assert failure.name in allowed, f"{method} at {path}: {failure}"
            raise Refused(failure.name) from None

    METHODS = {
        SERVICE: {"OpenSession": "sv", "CreateCollection": "a{sv}s", "SearchItems": "a{ss}", "Unlock": "ao",
                  "Lock": "ao", "GetSecrets": "aoo", "ReadAlias": "s"},
        COLLECTION: {"SearchItems": "a{ss}", "CreateItem": "a{sv}(oayays)b"},
        ITEM: {"GetSecret": "o"},
        SESSION: {"Close": ""},
        PROMPT: {"Prompt": "s", "Dismiss": ""},
        KEYCHAIN: {"Find": "aa{ss}uo", "Read": "ayo", "Add": "a{sv}(oayays)a{ss}", "Update": "a(oa{sv}a{ss})b(oayays)"},
        TOLD_PROMPT: {"Prompt": "a{sv}"},
        PROPERTIES: {"Get": "ss", "GetAll": "s"},
        "org.freedesktop.DBus.Introspectable": {"Introspect": ""},
    }  # fmt: skip

    def anything(self, peer):
        """Calls any method with the right or with wrong types. No call may change a known item."""
        interface = self.random.choice(list(self.METHODS))
        method, signature = self.random.choice(list(self.METHODS[interface].items()))
        if self.random.random() < 0.3:
            signature = "".join(self.signature() for _ in range(self.random.randrange(4)))
        places = {SERVICE: [ROOT], KEYCHAIN: [ROOT], TOLD_PROMPT: list(self.prompts), COLLECTION: self.collections, ITEM: list(self.items), SESSION: list(self.sessions),
                  PROMPT: list(self.prompts)}.get(interface)  # fmt: skip
        path = self.random.choice(places) if places and self.random.random() < 0.8 else self.path()
        if method == "Lock" and signature == "ao":
            parameters = GLib.Variant("(ao)", ([path for path in (self.path(), self.path()) if not path.startswith(LOGIN)
                                                and "aliases" not in path],))  # fmt: skip
        elif method == "CreateItem" and signature == "a{sv}(oayays)b":
            # A new item could replace a known item.
            return
        elif method == "Update" and signature == "a(oa{sv}a{ss})b(oayays)":
            # The known items must keep their secrets.
            changes, _, secret = self.parts(signature)
            parameters = GLib.Variant.new_tuple(self.value(changes), GLib.Variant("b", False), self.value(secret))
        else:
            parameters = GLib.Variant.new_tuple(*[self.value(part) for part in self.parts(signature)])
        if interface == SESSION and method == "Close" and signature == "":
            owner = self.sessions.get(path)
            with contextlib.suppress(Refused):
                self.ask(peer, path, interface, method)
                assert owner in (None, peer.name), f"{peer.name} closed {path} of {owner}"
                self.sessions.pop(path, None)
            return
        answer = self.ask(peer, path, interface, method, parameters)
        if method == "OpenSession":
            self.sessions[answer.unpack()[1]] = peer.name
        if method == "CreateCollection" and answer.unpack()[0] not in (LOGIN, SESSION_COLLECTION, *self.collections):
            self.collections.append(answer.unpack()[0])
        if interface in (PROMPT, TOLD_PROMPT):
            assert self.prompts.get(path) == peer.name, f"{peer.name} used {path} of {self.prompts.get(path)}"

    def create(self, peer):
        value = self.random.randbytes(self.random.choice([0, 1, 63, 64, 65, 1000, 100_000]))
        attributes = {"n": str(self.random.randrange(50)), "odd" + self.text(): self.text()}
        classes = ["when-unlocked", "after-first-unlock", "always", "always-this-device-only"]
        if self.random.random() < 0.3:
            attributes["latchkey:accessible"] = self.random.choice(classes)
        properties = {ITEM + ".Label": GLib.Variant("s", self.text()), ITEM + ".Attributes": attributes_of(attributes)}
        parameters = GLib.Variant.new_tuple(
            GLib.Variant("a{sv}", properties), peer.secret(value), GLib.Variant("b", self.random.random() < 0.5)
        )
        item = self.ask(peer, self.random.choice(self.collections), COLLECTION, "CreateItem", parameters)
        self.items[item.unpack()[0]] = value

    def read(self, peer):
        if not self.items:
            return
        item, value = self.random.choice(list(self.items.items()))
        try:
            assert peer.read(item) == value, f"{item} has another secret"
        except Failure as failure:
            # The test never locks the collection login and its items explicitly.
            assert failure.name == SECRET + "IsLocked", f"{item}: {failure}"
            assert self.locked or not item.startswith(LOGIN + "/"), f"{item}: {failure}"

    def write(self, peer):
        if self.items:
            item, value = self.random.choice(list(self.items)), self.random.randbytes(self.random.randrange(200))
            self.ask(peer, item, ITEM, "SetSecret", GLib.Variant.new_tuple(peer.secret(value)))
            self.items[item] = value

    def delete(self, peer):
        if len(self.items) > 30:
            item = self.random.choice(list(self.items))
            self.ask(peer, item, ITEM, "Delete")
            del self.items[item]
            assert peer.read_error(item) == SECRET + "NoSuchObject"

    def open_session(self, peer):
        self.sessions[peer.open_plain()[1]] = peer.name

    def close_session(self, peer):
        own = [path for path, owner in self.sessions.items() if owner == peer.name]
        if own:
            path = self.random.choice(own)
            del self.sessions[path]
            self.ask(peer, path, SESSION, "Close")

    def foreign_session(self, peer):
        foreign = [path for path, owner in self.sessions.items() if owner != peer.name]
        if foreign and self.items:
            item, path = self.random.choice(list(self.items)), self.random.choice(foreign)
            assert peer.read_error(item, path) == SECRET + "NoSession"

    def unlock(self, peer):
        prompt = self.ask(peer, ROOT, SERVICE, "Unlock", GLib.Variant("(ao)", ([self.path(), LOGIN],))).unpack()[1]
        if prompt != NOTHING:
            self.prompts[prompt] = peer.name

    def lock_or_unlock(self, _peer):
        if self.locked:
            assert self.session.login().returncode == 0
        elif self.random.random() < 0.3:
            self.session.lock()
        else:
            return
        self.locked = not self.locked

    def reconnect(self, peer):
        if self.random.random() < 0.2:
            peer.close()
            self.peers[self.peers.index(peer)] = Peer(self.session)

    def end(self):
        """Checks that all acknowledged items are there."""
        if self.locked:
            assert self.session.login().returncode == 0
        peer = Peer(self.session)
        # A login ends an explicit lock only if the daemon asks the helper for keys.
        assert self.session.run("latchkey", "lock").returncode == 0
        assert self.session.login().returncode == 0
        for item, value in self.items.items():
            assert peer.read(item) == value, f"{item} has another secret"
        peer.close()


class Refused(Exception):
    """An error that is allowed."""


def test_bus(session, findings):
    assert session.login().returncode == 0
    before, number = session.daemon_pid(), seed()
    fuzzer = Fuzzer(session, number)
    end = time.monotonic() + SECONDS * 0.35
    try:
        while time.monotonic() < end:
            fuzzer.step()
        fuzzer.end()
        assert is_alive(before) and session.daemon_pid() == before
        assert session.status()["problems"] == []
    except BaseException as error:
        (findings / "bus-seed").write_text(f"{number}\n")
        raise AssertionError(f"after {fuzzer.calls} calls; replay: FUZZ_SEED={number}") from error
    print(f"bus: {fuzzer.calls} calls, {len(fuzzer.items)} items, seed {number}")
    assert fuzzer.calls > 50 and fuzzer.items


def test_control_socket(session, findings):
    assert session.login().returncode == 0
    peer = Peer(session)
    item = peer.create("secret", {"fuzz": "x"})
    before, number = session.daemon_pid(), seed()
    choice = random.Random(number)
    valid = [packet(STATUS), packet(LOCK), hello(), hello(service="sshd", host="h"), hello(stage=2), keys(), keys(flags=1),
             packet(30, bytes(60)), packet(31, bytes(32)), packet(33)]
    end, packets = time.monotonic() + SECONDS * 0.08, 0
    try:
        while time.monotonic() < end:
            control = Control(session)
            control.socket.settimeout(seconds(5))
            for _ in range(choice.randrange(4)):
                data = bytearray(choice.choice(valid))
                for _ in range(choice.choice([0, 1, 1, 4])):
                    where = choice.randrange(len(data) + 1)
                    data[where : where + choice.randrange(3)] = choice.randbytes(choice.randrange(4))
                # The stage of a session's end would correctly seal the vault, so the test avoids it.
                if data[:2] == packet(HELLO) and data[2:3] == b"\3":
                    data[2] = 1
                packets += 1
                try:
                    control.send(bytes(data))
                except (BrokenPipeError, ConnectionResetError):
                    break
                if data[1:2] != bytes([UNLOCK]) and choice.random() < 0.7:
                    answer = control.receive()
                    # This may be the answer to an earlier packet.
                    assert answer == b"" or (answer[0] == VERSION and answer[1] in OPERATIONS), (bytes(data), answer)
            control.close()
        assert status_works(session)
        assert is_alive(before) and session.daemon_pid() == before
        wait_until(lambda: session.login().returncode == 0 and session.status()["state"] == "unlocked", "the login")
        assert peer.read(item) == b"secret"
    except BaseException as error:
        (findings / "control-seed").write_text(f"{number}\n")
        raise AssertionError(f"after {packets} packets; replay: FUZZ_SEED={number}") from error
    print(f"control: {packets} packets, seed {number}")
    peer.close()
