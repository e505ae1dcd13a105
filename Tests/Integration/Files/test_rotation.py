"""New keys for a vault in use, and the recovery code: with the command line, the real helper and the real daemon."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
from gi.repository import GLib
from support import vaultreader
from support.peer import COLLECTION, IS_LOCKED, ROOT, SERVICE, Peer
from support.session import Session, wait_until
from support.vaultreader import Unreadable, Vault
from test_prompts import Person

NOTHING_LEFT = {"left": 0, "closed": 0, "other_device": 0, "quarantined": 0, "former_keys_needed": False}
# Values whose keys a rotation keeps: an item's own key protects the item's secret, and the index key protects the other
# values.
KEPT = ("secret", "label of collection", "device share", "erasable share")


@pytest.fixture
def quick(stage):
    """A session whose files are in memory."""
    opened = Session(stage, below="/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp")
    assert opened.login().returncode == 0
    yield opened
    opened.close()


def machine():
    return vaultreader.machine_identity(vaultreader.APPLICATION)


def read(session, **options):
    return Vault(session.vault, session.password, machine(), **options)


def fill(peer, count, start=0):
    return {f"secret {n}": peer.create(f"secret {n}", {"n": str(n)}) for n in range(start, start + count)}


def begin(session, *options):
    """Starts `latchkey rotate` in the background."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = session.start("latchkey", "rotate", "--stdin", *options, text=True, **pipes)
    running.stdin.write(session.password + "\n")
    running.stdin.close()
    running.stdin = None
    return running


def rotate(session):
    done = session.run("latchkey", "rotate", "--stdin", "--json", input=session.password + "\n", check=True, timeout=60)
    return json.loads(done.stdout)


def rotation(session):
    return session.status()["rotation"]


@pytest.mark.night("vault")
def test_two_thousand_items_while_a_client_stores_and_reads(quick, tmp_path):
    peer = Peer(quick)
    stored = fill(peer, 2000)
    quick.lock()
    stored["late"] = peer.create("late", {"n": "late"})
    quick.locker()
    for name in ("vault.db-wal", "vault.db", "keybag", "device.key"):
        shutil.copy(quick.vault / name, tmp_path)
    before = Vault(tmp_path, quick.password, machine())
    assert len(before.items) == 2001

    running = begin(quick, "--json")
    names, count = list(stored), 0
    while running.poll() is None:
        new = f"meanwhile {count}"
        stored[new] = peer.create(new, {"n": new})
        name = random.choice(names)
        assert peer.read(stored[name]).decode() == name
        if count % 7 == 0:
            peer.write(stored[names[count]], names[count])
        count += 1
    report = json.loads(running.stdout.read())
    assert running.returncode == 0 and running.stderr.read() == "", report
    assert report.items() >= (NOTHING_LEFT | {"epoch": 2}).items() and count > 3
    running.stdout.close(), running.stderr.close()
    last = peer.create("after", {"n": "after"})
    stored["after"] = last
    assert quick.status()["problems"] == []

    after = read(quick)
    assert set(after.tiers) == {(2, "A"), (2, "C")}
    assert {item.secret.decode() for item in after.items.values()} == set(stored)
    # An attacker with an old copy and the password cannot open newly sealed data. Only secrets that were in the copy
    # keep their keys.
    old = {key.value for key in before.keys}
    assert len(old) > 2000
    for key, _, what in after.sealed:
        assert key not in old or what.endswith(": secret") and int(what.split()[1].rstrip(":")) in before.items, what
    with pytest.raises(Unreadable):
        read(quick, keybag=(tmp_path / "keybag").read_bytes())
    # After a restart, the vault still has all items.
    quick.restart()
    assert quick.login().returncode == 0
    peer = Peer(quick)
    for name in random.sample(sorted(stored), 50):
        assert peer.read(stored[name]).decode() == name


@pytest.mark.night("vault")
def test_killed_again_and_again(quick):
    """Kills the daemon, latchkey-derive or the command at random moments. The next login continues the rotation."""
    peer = Peer(quick)
    stored = fill(peer, 300)
    peer.close()
    for turn in range(12):
        running = begin(quick)
        time.sleep(random.uniform(0, 0.9))
        if turn % 3 == 0:
            helpers = children(running.pid)
            for process in helpers or [running.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        quick.stop_daemon(signal.SIGKILL)
        running.communicate()
        quick.start_daemon()
        assert quick.login().returncode == 0
        status = quick.status()
        assert (status["state"], status["problems"]) == ("unlocked", [])
        wait_until(lambda: rotation(quick)["left"] == 0, "all items")
        peer = Peer(quick)
        stored |= fill(peer, 1, start=1000 + turn)
        for name in random.sample(sorted(stored), 20):
            assert peer.read(stored[name]).decode() == name
        peer.close()
    assert rotation(quick).items() >= NOTHING_LEFT.items()
    vault = read(quick)
    assert {item.secret.decode() for item in vault.items.values()} == set(stored)
    # After another login, no former key is left.
    quick.logout()
    assert quick.login().returncode == 0
    assert len({epoch for epoch, _ in read(quick).tiers}) == 1


def children(process):
    """The processes that a shell's command started."""
    try:
        with open(f"/proc/{process}/task/{process}/children") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []


def test_locked_in_the_middle(quick):
    peer = Peer(quick)
    stored = fill(peer, 1500)
    running = begin(quick)
    wait_until(lambda: rotation(quick)["epoch"] == 2, "the new keys")
    quick.lock()
    running.communicate()
    # The kill stopped the command, or the command was faster. Behind the lock, the daemon continues only with keys that
    # are in memory.
    late = peer.create("late", {"n": "late"})
    assert quick.locker().returncode == 0
    wait_until(lambda: rotation(quick)["left"] == 0, "all items")
    for name in random.sample(sorted(stored), 50):
        assert peer.read(stored[name]).decode() == name
    assert peer.read(late) == b"late"
    assert rotate(quick)["epoch"] == 3
    assert peer.read(late) == b"late"


def test_again_and_again(quick):
    peer = Peer(quick)
    stored = fill(peer, 20)
    assert rotation(quick)["epoch"] == 1
    for epoch in (2, 3):
        report = rotate(quick)
        assert report["epoch"] == epoch and report["rewrapped"] <= 20
        for name, path in stored.items():
            assert peer.read(path).decode() == name
    assert {epoch for epoch, _ in read(quick).tiers} == {3}


@pytest.mark.night("vault")
def test_a_collection_that_is_closed_follows_when_it_is_opened(quick):
    peer = Peer(quick)
    stored = fill(peer, 10)
    properties = {COLLECTION + ".Label": GLib.Variant("s", "Private")}
    private = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", properties, "")[0]
    inside = peer.create("inside", {"n": "inside"}, collection=private)
    quick.run("latchkey", "passphrase", "set", "--stdin", "Private", input="sesame\n", check=True)
    peer.call(ROOT, SERVICE, "Lock", "(ao)", [private])
    for epoch in (2, 3):
        report = rotate(quick)
        assert (report["epoch"], report["closed"], report["former_keys_needed"]) == (epoch, 1, True)
    assert "keeps the former keys" in quick.run("latchkey", "status").stdout
    quick.restart()
    assert quick.login().returncode == 0
    peer = Peer(quick)
    assert peer.read(stored["secret 3"]) == b"secret 3" and peer.read_error(inside) == IS_LOCKED
    wrong = quick.run("latchkey", "unlock", "--stdin", "--collection", "Private", input="no\n")
    assert wrong.returncode == 1 and rotation(quick)["closed"] == 1
    quick.run("latchkey", "unlock", "--stdin", "--collection", "Private", input="sesame\n", check=True)
    assert peer.read(inside) == b"inside"
    wait_until(lambda: rotation(quick).items() >= NOTHING_LEFT.items(), "its items")
    # The next login needs no former keys, so the login removes these keys.
    assert epochs(quick) == {1, 2, 3}
    assert quick.login().returncode == 0
    assert epochs(quick) == {3}
    quick.restart()
    assert quick.login().returncode == 0
    quick.run("latchkey", "unlock", "--stdin", "--collection", "Private", input="sesame\n", check=True)
    assert Peer(quick).read(inside) == b"inside"


def epochs(session):
    return {epoch for epoch, _ in vaultreader.Keybag((session.vault / "keybag").read_bytes(), session.password).tiers}


def test_what_is_told_where_it_cannot_be(quick):
    peer = Peer(quick)
    fill(peer, 1)
    wrong = quick.run("latchkey", "rotate", "--stdin", input="wrong\n")
    assert wrong.returncode == 1 and "was not accepted" in wrong.stderr
    password = quick.password
    quick.set_password("changed by root")
    wrong = quick.run("latchkey", "rotate", "--stdin", input=quick.password + "\n")
    assert wrong.returncode == 1 and "does not unlock the vault" in wrong.stderr
    quick.set_password(password)
    quick.lock()
    for command in (["rotate"], ["recovery", "create", "--stdout"]):
        locked = quick.run("latchkey", *command, "--stdin", input=password + "\n")
        assert locked.returncode == 1 and "latchkey unlock" in locked.stderr and locked.stdout == ""
    assert rotation(quick)["epoch"] == 1


# First the disk has no room for a keybag. Then the disk has room for the keybag, but not for the database's log.
@pytest.mark.parametrize("room", [0, pytest.param(8192, marks=pytest.mark.night("faults")), pytest.param(65536, marks=pytest.mark.night("faults"))])
def test_full_disk(stage, room):
    if os.getuid() != 0:
        pytest.skip("needs to mount a small disk")
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        os.chmod(place, 0o755)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=0755", "latchkey-test", place], check=True)
        try:
            session = Session(stage, below=place)
            try:
                assert session.login().returncode == 0
                peer = Peer(session)
                stored = fill(peer, 200)
                filler = session.root / "filler"
                # The daemon deletes the copy before it writes a keybag. The deletion would free room on the disk, so
                # the test deletes the copy first.
                (session.vault / "keybag.copy").unlink(missing_ok=True)
                file = os.open(filler, os.O_WRONLY | os.O_CREAT)
                with contextlib.suppress(OSError):
                    while os.write(file, bytes(4096)) == 4096:
                        pass
                os.close(file)
                os.truncate(filler, max(0, filler.stat().st_size - room))
                epoch = rotation(session)["epoch"]
                done = session.run("latchkey", "rotate", "--stdin", input=session.password + "\n", timeout=60)
                assert room > 0 or done.returncode == 1 and rotation(session)["epoch"] == epoch
                for name in random.sample(sorted(stored), 20):
                    assert peer.read(stored[name]).decode() == name
                assert session.status()["problems"] == []
                filler.unlink()
                assert session.logout().returncode == 0
                assert session.login().returncode == 0
                wait_until(lambda: rotation(session)["left"] == 0, "all items")
                for name in random.sample(sorted(stored), 20):
                    assert peer.read(stored[name]).decode() == name
                assert rotate(session).items() >= NOTHING_LEFT.items()
                assert {item.secret.decode() for item in read(session).items.values()} == set(stored)
            finally:
                session.close()
        finally:
            subprocess.run(["umount", "-l", place], check=True)


def test_progress_is_shown_on_a_terminal(quick):
    fill(Peer(quick), 100)
    person = Person(quick, "latchkey", "rotate").expect("Password:").type(quick.password)
    output = person.output()
    assert person.status == 0 and "The vault has new keys." in output


# ---- the recovery code ----


def create(session):
    """Creates a code on a terminal, and returns it."""
    person = Person(session, "latchkey", "recovery", "create").expect("Password:").type(session.password)
    lines = person.output().split("\r\n")
    assert person.status == 0
    # The code follows the message about the password check, which the command has erased.
    (code,) = [line.rpartition("\x1b[K")[2].strip() for line in lines if line.count("-") == 6]
    return code


def check(session, *typed):
    person = Person(session, "latchkey", "recovery", "check")
    for line in typed:
        person.expect("Recovery code: ").type(line)
    output = person.output()
    return person.status, output


def test_a_code_on_a_terminal(quick):
    peer = Peer(quick)
    item = peer.create("secret", {"n": "1"})
    assert quick.run("latchkey", "recovery", "status").stdout == "The vault has no recovery code.\n"
    code = create(quick)
    assert quick.status()["recovery_code"] is True
    assert vaultreader.Keybag((quick.vault / "keybag").read_bytes(), code=code).tiers == read(quick).tiers
    assert check(quick, code)[0] == check(quick, code.lower().replace("-", " "))[0] == 0
    # The command names the place of a typing mistake, and asks again.
    swapped = code[:12] + code[13] + code[12] + code[14:] if code[12] != code[13] else code[:12] + "U" + code[13:]
    status, output = check(quick, swapped, code[:-1], code)
    assert status == 0 and "it unlocks this vault" in output
    person = Person(quick, "latchkey", "recovery", "check").expect("Recovery code: ").type(swapped)
    person.expect("group 3")
    person.expect("Recovery code: ").press("c")
    person.output()
    # The code still works after a rotation.
    assert rotate(quick)["epoch"] == 2
    assert check(quick, code)[0] == 0
    assert vaultreader.Keybag((quick.vault / "keybag").read_bytes(), code=code).tiers == read(quick).tiers
    # A new code replaces the old one.
    second = create(quick)
    assert check(quick, code)[0] == 1 and check(quick, second)[0] == 0
    quick.run("latchkey", "recovery", "remove", "--stdin", input=quick.password + "\n", check=True)
    assert check(quick, second)[0] == 1
    assert quick.status()["recovery_code"] is False and peer.read(item) == b"secret"
    assert code not in quick.log() and second not in quick.log()


def test_a_forgotten_password(quick, stage):
    peer = Peer(quick)
    item = peer.create("secret", {"n": "1"})
    code = create(quick)
    old = quick.password
    quick.logout()
    quick.set_password("given by root")
    quick.login()
    assert quick.status()["state"] == "sealed"
    # The code of another vault and a wrong login password change nothing.
    other = Session(stage)
    try:
        assert other.login().returncode == 0
        foreign = create(other)
    finally:
        other.close()
    before = (quick.vault / "keybag").read_bytes()
    person = Person(quick, "latchkey", "unlock", "--recovery").expect("Recovery code: ").type(foreign)
    assert "does not unlock this vault" in person.last_line() and person.status == 1
    person = Person(quick, "latchkey", "unlock", "--recovery").expect("Recovery code: ").type(code)
    person.expect("Password:").type("wrong")
    person.output()
    assert person.status == 1 and (quick.vault / "keybag").read_bytes() == before
    assert quick.status()["state"] == "sealed"

    person = Person(quick, "latchkey", "unlock", "--recovery").expect("Recovery code: ").type(code)
    person.expect("Password:").type(quick.password)
    assert "unlocked" in person.last_line() and person.status == 0
    assert quick.status()["state"] == "unlocked" and peer.read(item) == b"secret"
    quick.restart()
    assert quick.login().returncode == 0 and quick.status()["state"] == "unlocked"
    with pytest.raises(Unreadable, match="opens no protector"):
        Vault(quick.vault, old, machine())
    assert check(quick, code)[0] == 0


def test_behind_a_locker_the_code_opens_nothing(quick):
    peer = Peer(quick)
    code = create(quick)
    peer.activate_screen_saver(True)
    wait_until(lambda: quick.status()["state"] == "locked", "the lock")
    before = (quick.vault / "keybag").read_bytes()
    done = quick.run("latchkey", "unlock", "--recovery", "--stdin", input=f"{code}\n{quick.password}\n")
    assert done.returncode == 1 and quick.status()["state"] == "locked"
    assert (quick.vault / "keybag").read_bytes() == before


def test_no_terminal(quick):
    done = quick.run("setsid", "--wait", "latchkey", "recovery", "create", "--stdin", input=quick.password + "\n")
    assert done.returncode == 1 and "--stdout" in done.stderr and done.stdout == ""
    assert quick.status()["recovery_code"] is False
