"""kill -9 and a full disk at every step of backup, restore and change of class: before each change of a file.

Afterwards a new daemon opens the vault, and an independent reader reads everything in it. The vault has either the
state before the step or the state after it, nothing in between.
"""

import contextlib
import os
import signal
import subprocess

import pytest
from gi.repository import GLib
from support.archive import DONE, PASSPHRASE, backup
from support.backupreader import Backup
from support.clients import CLASS, CLASSES
from support.disk import filled, small_disk
from support.faults import FULL, KILL, STOP, FaultySession, QuickSession, everywhere
from support.items import class_of
from support.pace import seconds
from support.peer import COLLECTION, ITEM, ROOT, SERVICE, Failure
from support.restoring import Restoring
from support.session import wait_until

pytestmark = pytest.mark.night("faults")

FAULTS = pytest.mark.parametrize("fault", [KILL, FULL], ids=["killed", "full"])
AFU, AKPU = "after-first-unlock", "when-passcode-set-this-device-only"


@pytest.fixture(scope="module")
def faulty(stage):
    """A session with an item of every class. The tests do not touch these items."""
    session = FaultySession(stage)
    try:
        for name in CLASSES:
            session.peer.create(f"of {name}", {"bystander": name, CLASS: name})
        yield session
    finally:
        session.close()


def snapshot(session):
    """Everything in the vault, as the independent reader finds it: collections, and complete items."""
    vault = session.read()
    items = sorted(
        (vault.collections[item.collection].label, sorted(item.attributes.items()), item.label, item.accessibility, item.secret)
        for item in vault.items.values()
    )
    return sorted(collection.label for collection in vault.collections.values()), items


def check_bystanders(session):
    for name in CLASSES:
        found, locked = session.peer.search({"bystander": name})
        assert len(found) == 1 and not locked
        assert session.peer.read(found[0]).decode() == f"of {name}"
        assert class_of(session.peer, found[0]) == [name]


@pytest.fixture
def bare(faulty):
    """The session with only the bystanders."""
    for path in faulty.peer.get(ROOT, SERVICE, "Collections"):
        if faulty.peer.get(path, COLLECTION, "Label") == "Second":
            faulty.peer.call(path, COLLECTION, "Delete")
    for path in sum(faulty.peer.search({}), []):
        if "bystander" not in faulty.peer.get(path, ITEM, "Attributes"):
            faulty.peer.call(path, ITEM, "Delete")
    for name in ("b", ".b.latchkey-new"):
        (faulty.home / name).unlink(missing_ok=True)
    return faulty


# ---- change of class ----


def by_attribute(session, item, new):
    session.peer.set(item, ITEM, "Attributes", "a{ss}", {"changes": "yes", CLASS: new})
    return True


def by_replacing(session, item, new):
    assert session.peer.create("the new secret", {"changes": "yes", CLASS: new}, label="Changes") == item
    return True


def by_command(session, item, new):
    return session.run("latchkey", "edit", "changes=yes", "--class", new, "--no-prompt").returncode == DONE


CHANGES = [
    (by_attribute, "when-unlocked", AFU),
    (by_replacing, AFU, AKPU),
    (by_command, "when-unlocked-this-device-only", "always"),
]


@FAULTS
@pytest.mark.parametrize("change, old, new", CHANGES, ids=["attribute", "replace", "edit"])
def test_a_change_of_class(faulty, fault, change, old, new):
    secrets = {old: b"the old secret", new: b"the new secret" if change is by_replacing else b"the old secret"}

    def prepare():
        for path in sum(faulty.peer.search({"changes": "yes"}), []):
            faulty.peer.call(path, ITEM, "Delete")
        return faulty.peer.create("the old secret", {"changes": "yes", CLASS: old}, label="Changes")

    def check(item, acknowledged):
        found, locked = faulty.peer.search({"changes": "yes"})
        assert (found, locked) == ([item], [])
        classes = class_of(faulty.peer, item)
        assert classes == [new] if acknowledged else classes in ([old], [new])
        assert faulty.peer.read(item) == secrets[classes[0]]
        assert faulty.peer.get(item, ITEM, "Label") == "Changes"
        # The file is consistent. If SQLite could write but not synchronize, the daemon refuses the file's content.
        mine = [item for item in faulty.read().items.values() if item.attributes == {"changes": "yes"}]
        assert len(mine) == 1 and mine[0].secret == secrets[mine[0].accessibility]
        assert not acknowledged or mine[0].accessibility == new
        check_bystanders(faulty)

    assert everywhere(faulty, fault, prepare, lambda item: change(faulty, item, new), check) > 4


# ---- restore ----


@FAULTS
def test_a_restore(bare, fault):
    peer = bare.peer
    properties = {COLLECTION + ".Label": GLib.Variant("s", "Second")}
    second, _ = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", properties, "")
    for number, name in enumerate([*CLASSES] * 2):
        collection = {"collection": second} if number % 2 else {}
        peer.create(f"backed up {number}", {"restored": str(number), CLASS: name}, **collection)
    mine = peer.create("theirs", {"mine": "yes"})
    assert backup(bare, "--force", file="r").returncode == 0
    content = (bare.home / "r").read_bytes()
    restoring = Restoring(content, Backup(content, PASSPHRASE).key)

    def prepare():
        """Deletes items that the restore brings back, and changes items that it replaces."""
        for path in bare.peer.get(ROOT, SERVICE, "Collections"):
            if bare.peer.get(path, COLLECTION, "Label") == "Second":
                bare.peer.call(path, COLLECTION, "Delete")
        for number in range(2 * len(CLASSES)):
            for path in sum(bare.peer.search({"restored": str(number)}), []):
                bare.peer.call(path, ITEM, "Delete")
        bare.peer.write(mine, "mine")
        return snapshot(bare)

    before = prepare()
    assert restoring.run(bare)
    after = snapshot(bare)
    assert len(after[1]) > len(before[1]) + 10 and len(after[0]) == len(before[0]) + 1

    def check(prepared, acknowledged):
        assert prepared == before
        now = snapshot(bare)
        assert now == after if acknowledged else now in (before, after)
        check_bystanders(bare)

    assert everywhere(bare, fault, prepare, lambda _: restoring.run(bare), check) > 20


# ---- backup ----


def is_of(content):
    """Whether the content is a backup of the vault. A backup has no whenPasscodeSet items."""
    return len(Backup(content, PASSPHRASE).items) == len(CLASSES) - 1


def run_backup(session, *options, **more):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return session.start("latchkey", "backup", "--passphrase-stdin", *options, "b", env=session.command_environment, **pipes)


def told_passphrase(process):
    process.stdin.write(PASSPHRASE + "\n")
    process.stdin.close()
    process.stdin = None
    return process


@FAULTS
@pytest.mark.parametrize("former", [None, b"the former one"], ids=["first", "again"])
def test_a_backup(bare, fault, former):
    file, options = bare.home / "b", ["--force"] if former else []

    def prepare():
        if former:
            file.write_bytes(former)
        else:
            file.unlink(missing_ok=True)

    def act(_):
        with told_passphrase(run_backup(bare, *options)) as process:
            errors = process.stderr.read()
        assert fault == KILL or (process.returncode == DONE) != ("No space left" in errors or "full" in errors), errors
        return process.returncode in (DONE, 4)

    def check(_, acknowledged):
        content = file.read_bytes() if file.exists() else None
        assert content == former and not acknowledged or content and is_of(content)
        # A kill may leave the unfinished file under a temporary name until the next backup.
        left = {path.name for path in bare.home.iterdir()} & {".b.latchkey-new"}
        assert not left or (fault == KILL and not acknowledged)
        check_bystanders(bare)

    assert everywhere(bare, fault, prepare, act, check) >= 4


def test_a_backup_whose_daemon_dies(bare):
    file = bare.home / "b"
    file.write_bytes(b"the former one")
    for number in range(1, 20):
        bare.faults.arm(STOP, number)
        with told_passphrase(run_backup(bare, "--force")) as process:
            wait_until(lambda: bare.faults.told()["hits"] or process.poll() is not None, "the step")
            if process.poll() is not None:
                break
            bare.kill()
            bare.faults.disarm()
            process.send_signal(signal.SIGCONT)
            process.wait(seconds(20))
        content = file.read_bytes()
        assert content == b"the former one" and process.returncode != DONE or is_of(content)
        assert not (bare.home / ".b.latchkey-new").exists()
        file.write_bytes(b"the former one")
        bare.begin()
    bare.faults.disarm()
    assert number > 3 and process.returncode in (DONE, 4) and is_of(file.read_bytes())


# ---- a small disk ----


@pytest.mark.skipif(os.getuid() != 0, reason="mounting a small disk needs root")
def test_a_small_disk(stage):
    with small_disk() as place, contextlib.closing(QuickSession(stage, place)) as session:
        for number in range(40):
            session.peer.create(f"{number} " + "x" * 5000, {"restored": str(number)})
        assert backup(session, file="r").returncode == DONE
        content = (session.home / "r").read_bytes()
        restoring, after = Restoring(content, Backup(content, PASSPHRASE).key), snapshot(session)
        for path in session.peer.search({})[0]:
            session.peer.call(path, ITEM, "Delete")
        before = snapshot(session)
        outcomes = []
        for rest in (0, 8192, 65536, 150_000, 4_000_000):
            session.begin()
            with filled(place, rest):
                outcomes.append(restoring.run(session))
                assert snapshot(session) == (after if outcomes[-1] else before)
            if outcomes[-1]:
                break
        assert outcomes[:2] == [False, False] and outcomes[-1]
        item = session.peer.search({"restored": "7"})[0][0]
        for rest in (0, 8192):
            session.begin()
            with filled(place, rest):
                with pytest.raises(Failure):
                    session.peer.create("y" * 30000, {"restored": "7", CLASS: AFU})
                assert snapshot(session) == after and session.peer.read(item).startswith(b"7 x")
        session.begin()
        assert session.peer.create("y" * 30000, {"restored": "7", CLASS: AFU}) == item
        session.begin()
        assert session.peer.read(item) == b"y" * 30000 and session.status()["problems"] == []
