"""Clients that work on one vault at the same time. The clients record the answers, so that after a kill the tests know
the possible contents of the vault.

Every client has its own names of items. So each client knows the possible states of its items. An item has the last
acknowledged state. If the daemon died before an answer, the item may also have the requested state.
"""

import hashlib
import random
import threading
import time

from support.archive import DONE, PARTLY, PASSPHRASE
from support.backupreader import Backup
from support.clients import CLASS, CLASSES
from support.pace import seconds
from support.peer import IS_LOCKED, ITEM, NO_SESSION, Failure, Peer
from support.restoring import Restoring

WORKERS, NAMES, RESTORED = 4, 20, 30
# The daemon died before its answer, so the request may be done or not.
IN_DOUBT = {"org.freedesktop.DBus.Error." + name for name in ("NoReply", "ServiceUnknown", "NameHasNoOwner")}
# These errors mean the same at the control socket. While a new daemon replaces the old socket, the file of the socket
# may be missing for a moment.
DIED = (ConnectionError, FileNotFoundError)
ABSENT = None


class Names:
    """The possible states of each item of one client: sets of (class, secret), or ABSENT."""

    def __init__(self, owner, names):
        self.owner = owner
        self.states = {name: {ABSENT} for name in names}

    def attributes(self, name):
        return {"load": "yes", "of": self.owner, "name": name}

    def change(self, name, states, call):
        """Makes the call, and returns its result. Afterwards the item is in one of the `states`. After a refusal the
        item is in its former state."""
        try:
            answer = call()
        except Failure as failure:
            if failure.name in IN_DOUBT:
                self.states[name] = self.states[name] | states
            raise
        self.states[name] = states
        return answer


class Worker(threading.Thread):
    """A client that stores, replaces, sets, deletes, reads, and changes the class of items, until it is stopped."""

    def __init__(self, names, peer, seed, stop):
        super().__init__()
        self.names, self.peer, self.random, self.stop = names, peer, random.Random(seed), stop
        self.failure = None
        self.done = 0

    def run(self):
        try:
            while not self.stop.is_set():
                try:
                    self.step()
                    self.done += 1
                except Failure as failure:
                    if failure.name in IN_DOUBT or failure.name == NO_SESSION:
                        return
                    # A locked or missing item is a valid answer.
                    time.sleep(0.002)
        except BaseException as error:
            self.failure = error

    def step(self):
        name = self.random.choice([*self.names.states])
        states = self.names.states[name]
        secret = self.random.randbytes(self.random.choice((8, 40, 300, 5000))).hex()
        kind = self.random.choice(CLASSES)
        found = sum(self.peer.search(self.names.attributes(name)), [])
        assert len(found) <= 1, f"{name} is there twice"
        if not found:
            assert ABSENT in states, f"{name} is gone: {states}"
        elif ABSENT in states and len(states) == 1:
            raise AssertionError(f"{name} came back")
        doing = self.random.choice(("store", "store", "set", "delete", "move", "read"))
        if doing == "store" or not found:
            attributes = self.names.attributes(name) | {CLASS: kind}
            self.names.change(name, {(kind, secret)}, lambda: self.peer.create(secret, attributes, label=name))
        elif doing == "set":
            after = {(state[0], secret) for state in states if state}
            self.names.change(name, after, lambda: self.peer.write(found[0], secret))
        elif doing == "delete":
            self.names.change(name, {ABSENT}, lambda: self.peer.call(found[0], ITEM, "Delete"))
        elif doing == "move":
            attributes = self.names.attributes(name) | {CLASS: kind}
            after = {(kind, state[1]) for state in states if state}
            self.names.change(
                name, after, lambda: self.peer.set(found[0], ITEM, "Attributes", "a{ss}", attributes))  # fmt: skip
        else:
            read = self.peer.read(found[0]).decode()
            assert read in {state[1] for state in states if state}, f"{name} has another secret"


class Person(threading.Thread):
    """A thread that locks and unlocks the vault, makes backups, restores lost items, and rotates the keys."""

    def __init__(self, load, peer, seed, stop):
        super().__init__()
        self.load, self.session, self.names = load, load.session, load.restored
        self.peer, self.random, self.stop = peer, random.Random(seed), stop
        self.failure = None

    def run(self):
        try:
            while not self.stop.is_set():
                doing = self.random.choices(("lock", "backup", "restore", "delete", "rotate"), (4, 1, 4, 3, 1))[0]
                try:
                    getattr(self, doing)()
                    self.load.count(doing)
                except (Failure, *DIED):
                    return
        except BaseException as error:
            self.failure = error

    def lock(self):
        if self.session.run("latchkey", "lock").returncode == 0:
            time.sleep(self.random.uniform(0, 0.05))
            self.session.bring_keys(opens=False)

    def backup(self):
        done = self.session.run("latchkey", "backup", "--passphrase-stdin", "--force", "b", input=PASSPHRASE + "\n")
        if done.returncode in (DONE, PARTLY):
            self.load.count("finished backup")

    def rotate(self):
        done = self.session.run("latchkey", "rotate", "--stdin", input=self.session.password + "\n")
        if done.returncode == 0:
            self.load.count("finished rotation")

    def delete(self):
        for name in self.random.sample([*self.names.states], RESTORED // 2):
            for path in sum(self.peer.search(self.names.attributes(name)), []):
                # If the daemon died during the restore, a new daemon may have restored all items or none.
                self.load.torn.discard(name)
                self.load.history.append(f"delete {name}")
                try:
                    self.names.change(name, {ABSENT}, lambda path=path: self.peer.call(path, ITEM, "Delete"))
                except Failure as failure:
                    # A lock came first.
                    if failure.name != IS_LOCKED:
                        raise

    def restore(self):
        before = {name: set(states) for name, states in self.names.states.items()}
        self.load.torn = set()
        self.load.restoring_now.set()
        try:
            done = self.load.restoring.run(self.session)
        except DIED:
            done = False
        if done:
            self.names.states = {name: {state} for name, state in self.load.backed_up.items()}
            self.load.count("finished restore")
            self.load.history.append("restored")
            return
        # The restore adds all lost items or none.
        self.load.torn = {name for name, states in before.items() if states == {ABSENT}}
        for name in self.load.torn:
            self.names.states[name] = {ABSENT, self.load.backed_up[name]}
        self.load.history.append(f"restore in doubt: {sorted(self.load.torn)}")


class Load:
    """A vault under load."""

    def __init__(self, session, seed):
        self.session, self.seed = session, seed
        self.random = random.Random(seed)
        self.names = [Names(f"client {number}", [f"{number}-{n}" for n in range(NAMES)]) for number in range(WORKERS)]
        self.restored = Names("person", [f"r-{n}" for n in range(RESTORED)])
        self.counts, self.torn, self._seen = {}, set(), None
        self.restoring_now = threading.Event()
        # The person's actions since the last kill.
        self.history = []
        kinds = [kind for kind in CLASSES if not kind.startswith("when-passcode")]
        self.backed_up = {name: (kinds[n % len(kinds)], f"of {name}") for n, name in enumerate(self.restored.states)}
        for name, (kind, secret) in self.backed_up.items():
            session.peer.create(secret, self.restored.attributes(name) | {CLASS: kind}, label=name)
            self.restored.states[name] = {self.backed_up[name]}
        done = session.run("latchkey", "backup", "--passphrase-stdin", "b", input=PASSPHRASE + "\n", check=True)
        assert done.returncode == DONE
        content = (session.home / "b").read_bytes()
        self.restoring = Restoring(content, Backup(content, PASSPHRASE).key)

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def round(self, number):
        """All threads work until the daemon is killed. Then the whole vault is compared."""
        stop = threading.Event()
        # This thread must make the peers. Each new peer takes the session's user for a moment, which affects all
        # threads.
        peers = [Peer(self.session) for _ in range(WORKERS + 1)]
        threads = [
            Worker(names, peer, f"{self.seed} {number} {names.owner}", stop) for names, peer in zip(self.names, peers)
        ]
        threads.append(Person(self, peers[-1], f"{self.seed} {number} person", stop))
        self.torn = set()
        self.history.clear()
        self.restoring_now.clear()
        for thread in threads:
            thread.start()
        # A restore is short, so some kills wait for one.
        if self.random.random() < 0.3 and self.restoring_now.wait(1):
            time.sleep(0.05 * self.random.random())
        else:
            # Most kills come soon. Some leave time to complete a backup or a rotation.
            time.sleep(self.random.choice((0.05, 0.05, 0.2, 0.2, 0.6, 2.0)) * self.random.random())
        self.session.kill()
        stop.set()
        for thread in threads:
            thread.join(seconds(60))
            assert not thread.is_alive(), "a client hangs"
        for peer in peers:
            peer.close()
        for thread in threads:
            if thread.failure:
                raise thread.failure
        self.counts["operations"] = self.counts.get("operations", 0) + sum(thread.done for thread in threads[:-1])
        # The bus may have started another daemon for a client, and the person may have unlocked that daemon.
        self.session.process = self.session.daemon_pid() or self.session.process
        self.session.begin(bringing_keys=False)
        # A real login also removes former key epochs from the keybag.
        if len(self.session.keybag().tiers) > 4 or self.random.random() < 0.1:
            assert self.session.login().returncode == 0
        else:
            assert self.session.bring_keys() == 0
        self.compare()

    def compare(self):
        """Checks that the daemon and the independent reader find acknowledged states. From now on these states are
        known."""
        status = self.session.status()
        assert (status["state"], status["problems"]) == ("unlocked", [])
        on_disk = {}
        for item in self.session.read().items.values():
            if item.attributes.get("load") == "yes":
                name = item.attributes["name"]
                assert name not in on_disk, f"{name} is there twice"
                assert item.label == name
                on_disk[name] = (item.accessibility, item.secret.decode())
        peer = self.session.peer
        paths, locked = peer.search({"load": "yes"})
        assert locked == []
        told = {peer.get(path, ITEM, "Label"): peer.read(path).decode() for path in paths}
        assert len(told) == len(paths) and told == {name: secret for name, (_, secret) in on_disk.items()}
        for names in (*self.names, self.restored):
            for name, states in names.states.items():
                now = on_disk.get(name, ABSENT)
                assert now in states, f"{name} is {now}, not of {states}"
                names.states[name] = {now}
        back = {name for name in self.torn if name in on_disk}
        assert back in (set(), self.torn), f"half a restore: {back} of {self.torn}"
        self.compare_backup()

    def compare_backup(self):
        content = (self.session.home / "b").read_bytes()
        assert not (self.session.home / ".b.latchkey-new").exists()
        digest = hashlib.sha256(content).digest()
        if digest != self._seen:
            Backup(content, PASSPHRASE)
            self._seen = digest
