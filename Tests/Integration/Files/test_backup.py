"""latchkey backup and restore with real daemons: between two homes, with conflicts, damage and locks, and without
leaks.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import struct
import subprocess

import pytest
from support.archive import (  # noqa: F401
    DONE,
    FAILED,
    NO_DAEMON,
    PARTLY,
    PASSPHRASE,
    backup,
    carry,
    counts,
    lines,
    other,
    report,  # fmt: skip
    restore,
    unlocked,
)
from support.backupreader import Backup, Unreadable
from support.client import SecretClient
from support.control import Control, packet
from support.helper import now
from support.peer import COLLECTION, LOGIN, Peer
from support.reasons import words
from support.session import REPOSITORY, wait_until
from support.vaultreader import APPLICATION, CLASSES, DeviceKey, machine_identity
from support.wire import MESSAGES, constant

BEGIN_BACKUP, BEGIN_RESTORE, TAKE, GIVE, REPORT, DERIVATION, KEY = (
    MESSAGES[name] for name in (
        "BeginBackup", "BeginRestore", "TakeChunk", "GiveChunk", "FinishArchive", "GetDerivation", "PassphraseKey"))
DECLINED = constant("declined")
VECTORS = json.loads((REPOSITORY / "Tests/BackupTests/Vectors/backups.json").read_text())
MIGRATING = ("when-unlocked", "after-first-unlock", "always")
BOUND = tuple(f"{name}-this-device-only" for name in MIGRATING)
NEVER = "when-passcode-set-this-device-only"


def fill(session):
    """Stores an item of each class."""
    for name in CLASSES.values():
        session.store(f"secret of {name}", "n", name, "latchkey:accessible", name, label=f"Label of {name}")


def everything(session):
    """The secrets of all readable items, by the attribute n."""
    return {name: found for name in CLASSES.values() if (found := session.lookup("n", name)) is not None}


# ---- items in a backup ----


def test_two_homes(unlocked, other):
    fill(unlocked)
    done = backup(unlocked, "--json")
    assert done.returncode == DONE and counts(done) == {"items": 6, "excluded": 1}
    assert (unlocked.home / "b").stat().st_mode & 0o7777 == 0o600
    carry(unlocked, other)
    # The dry run lists the new items, and the reasons for leaving out the other items. The restore then adds exactly
    # the listed items.
    dry = restore(other, "--dry-run", "--json")
    assert dry.returncode == PARTLY and counts(dry) == {"items": 6, "added": 3, "left": 3}
    assert lines(dry, "left")[:2] == [f"Label of {name}" for name in BOUND[:2]]
    assert {line["reason"] for line in report(dry)["lines"] if line["outcome"] == "left"} == {
        "it belongs to another device or account"}
    assert everything(other) == {} and report(dry)["dry_run"] is True
    done = restore(other, "--json")
    assert done.returncode == PARTLY and report(done) | {"dry_run": True} == report(dry)
    assert everything(other) == {name: f"secret of {name}" for name in MIGRATING}
    # The item kept its class, so it is not readable behind the lock.
    other.lock()
    assert set(everything(other)) == {"after-first-unlock", "always"}
    assert other.locker().returncode == 0
    again = restore(other, "--json")
    assert counts(again) == {"items": 6, "same": 3, "left": 3}


def test_home_again_everything_comes(unlocked):
    fill(unlocked)
    assert backup(unlocked).returncode == DONE
    for name in CLASSES.values():
        unlocked.run("secret-tool", "clear", "n", name, check=True)
    done = restore(unlocked, "--json")
    assert done.returncode == DONE and counts(done) == {"items": 6, "added": 6}
    assert everything(unlocked) == {name: f"secret of {name}" for name in CLASSES.values() if name != NEVER}


def test_a_reader_made_from_the_text_alone_opens_it(unlocked):
    fill(unlocked)
    with SecretClient(unlocked) as client:
        plain = client.open(algorithm="plain")["session"]
        work = client.collection(label="W\N{LATIN SMALL LETTER O WITH DIAERESIS}rk")["collection"].rsplit("/", 1)[1]
        client.store(session=plain, attributes={"n": "large"}, text="0123456789", size=100_000, collection=work)
    assert backup(unlocked).returncode == DONE
    content = (unlocked.home / "b").read_bytes()
    device = DeviceKey((unlocked.vault / "device.key").read_bytes(), machine_identity(APPLICATION))
    read = Backup(content, PASSPHRASE, device)
    assert [collection.label for collection in read.collections] == ["Login", "W\u00f6rk"]
    assert read.collections[0].aliases == {"default", "login"} and not read.collections[1].aliases
    assert {item.attributes["n"]: item.secret.decode() for item in read.items} == {
        name: f"secret of {name}" for name in CLASSES.values() if name != NEVER} | {"large": "0123456789" * 10_000}
    assert all(item.accessibility == item.attributes["n"] for item in read.items[:6])
    assert all(item.label == f"Label of {item.accessibility}" for item in read.items[:6])
    # A reader with only the passphrase opens the items that are not bound to the device.
    alone = Backup(content, PASSPHRASE)
    assert {item.accessibility for item in alone.items if item.secret is None} == set(BOUND)
    assert [item.accessibility for item in alone.items if item.label is None] == [BOUND[2]]
    with pytest.raises(Unreadable, match="passphrase"):
        Backup(content, PASSPHRASE + "x")
    # Two backups of the same vault share only the layout.
    assert backup(unlocked, file="c").returncode == DONE
    second = (unlocked.home / "c").read_bytes()
    assert second[12:28] != content[12:28] and second[36:52] != content[36:52] and second[160:200] != content[160:200]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_the_vectors_open(vector):
    read = Backup(bytes.fromhex(vector["file"]), vector["passphrase"])
    assert len(read.items) == len(vector["items"])
    assert [len(item.secret) for item in read.items if item.secret is not None] == [
        item["size"] for item in vector["items"] if item["class"] in (6, 7, 8)]


def test_what_the_reader_wrote_is_restored(unlocked):
    vector = VECTORS[0]
    (unlocked.home / "b").write_bytes(bytes.fromhex(vector["file"]))
    done = restore(unlocked, "--json", passphrase=vector["passphrase"])
    assert counts(done) == {"items": 7, "added": 4, "left": 3}
    assert unlocked.lookup("a", "6") == "secret 6"


def test_programs_hear_of_what_came(unlocked, other):
    unlocked.store("s", "n", "1")
    with SecretClient(unlocked) as client:
        client.collection(label="Work")
    assert backup(unlocked).returncode == DONE
    carry(unlocked, other)
    other.store("theirs", "n", "2")
    peer = Peer(other)
    try:
        assert restore(other).returncode == DONE
        (made,) = peer.wait_for_member("CollectionCreated")
        assert peer.get(made, COLLECTION, "Label") == "Work" and peer.get(made, COLLECTION, "Locked") is False
        (item,) = peer.wait_for_member("ItemCreated")
        assert item.startswith(LOGIN) and peer.read(item) == b"s"
    finally:
        peer.close()


# ---- conflicts ----


def test_conflicts(unlocked):
    unlocked.store("old", "n", "1", label="One")
    unlocked.store("same", "n", "2", label="Two")
    assert backup(unlocked).returncode == DONE
    unlocked.store("new", "n", "1", label="One")
    done = restore(unlocked, "--json")
    assert done.returncode == PARTLY and counts(done) == {"items": 2, "same": 1, "conflicts": 1}
    assert lines(done, "conflict") == ["One"] and unlocked.lookup("n", "1") == "new"
    told = restore(unlocked, "--dry-run", "--theirs")
    assert told.returncode == DONE and "Login / One (when-unlocked)" in told.stdout and "Nothing was" in told.stdout
    assert unlocked.lookup("n", "1") == "new"
    done = restore(unlocked, "--json", "--theirs")
    assert done.returncode == DONE and counts(done) == {"items": 2, "same": 1, "replaced": 1}
    assert unlocked.lookup("n", "1") == "old"


@pytest.mark.night("vault")
def test_a_collection_with_a_passphrase(unlocked, other):
    with SecretClient(unlocked) as client:
        plain = client.open(algorithm="plain")["session"]
        path = client.collection(label="Private")["collection"]
        client.store(session=plain, attributes={"n": "p"}, text="hidden", collection=path.rsplit("/", 1)[1], label="P")
    unlocked.run("latchkey", "passphrase", "set", "--stdin", "Private", input="of the collection\n", check=True)
    done = backup(unlocked)
    assert done.returncode == DONE, done.stderr
    unlocked.restart()
    assert unlocked.login().returncode == 0
    closed = backup(unlocked, file="closed")
    assert closed.returncode == PARTLY and "Private: its passphrase was not given; it has 1 item" in closed.stdout
    carry(unlocked, other)
    done = restore(other)
    assert done.returncode == DONE and other.lookup("n", "p") == "hidden"
    assert "Private: the collection had a passphrase of its own, and has none here until you set one" in done.stdout
    # The restore adds nothing to the locked collection, and names the reason.
    done = restore(unlocked)
    assert done.returncode == PARTLY and "its collection here waits for its passphrase" in done.stdout


# ---- files ----


def test_a_file_that_is_there_stays(unlocked):
    unlocked.store("s", "n", "1")
    (unlocked.home / "b").write_text("mine")
    done = backup(unlocked)
    assert done.returncode == FAILED and "--force" in done.stderr and done.stdout == ""
    assert (unlocked.home / "b").read_text() == "mine"
    assert backup(unlocked, "--force").returncode == DONE
    assert len(Backup((unlocked.home / "b").read_bytes(), PASSPHRASE).items) == 1
    for file in (".", "missing/b", "b/c"):
        done = backup(unlocked, "--force", file=file)
        assert done.returncode == FAILED and "cannot be written" in done.stderr
    assert sorted(path.name for path in unlocked.home.iterdir() if not path.name.startswith(".")) == ["b"]


def test_what_is_no_backup(unlocked):
    header = bytes.fromhex(VECTORS[0]["file"])[:152]
    (unlocked.home / "newer").write_bytes(header[:8] + struct.pack("<I", 2) + header[12:])
    (unlocked.home / "text").write_text("hello " * 100)
    (unlocked.home / "empty").write_text("")
    (unlocked.home / "cut").write_bytes(header[:151])
    (unlocked.home / "bent").write_bytes(header[:60] + b"\xff" + header[61:])
    words = {"newer": "newer than this program", "text": "not a backup", "empty": "damaged within its first",
             "cut": "damaged within its first", "bent": "damaged within its first", "absent": "cannot be read",
             ".": "is not a file"}  # fmt: skip
    for file, said in words.items():
        done = restore(unlocked, file=file)
        assert done.returncode == FAILED and said in done.stderr, f"{file}: {done.stderr}"


@pytest.mark.night("vault")
def test_a_cost_that_is_too_much_for_this_machine(unlocked):
    header = bytes.fromhex(VECTORS[0]["file"])[:52] + struct.pack("<IQ", 10, 1 << 30)
    header += bytes.fromhex(VECTORS[0]["file"])[64:120]
    (unlocked.home / "dear").write_bytes(header + hashlib.blake2b(header, digest_size=32).digest())
    done = restore(unlocked, file="dear")
    # On a machine with enough memory, the command reports a wrong passphrase instead.
    assert done.returncode == FAILED and ("1024 MiB of memory and 10 passes" in done.stderr
                                          or "not the backup's passphrase" in done.stderr), done.stderr


@pytest.mark.night("vault")
def test_damage_and_cuts_restore_nothing_and_say_where(unlocked, other):
    with SecretClient(unlocked) as client:
        plain = client.open(algorithm="plain")["session"]
        for name in range(4):
            client.store(session=plain, attributes={"n": str(name)}, text=f"secret {name}", size=30_000)
    assert backup(unlocked).returncode == DONE
    whole = (unlocked.home / "b").read_bytes()
    starts = [152]
    while starts[-1] < len(whole):
        starts.append(starts[-1] + 4 + int.from_bytes(whole[starts[-1] : starts[-1] + 4], "little"))
    assert starts.pop() == len(whole) and len(starts) >= 4
    with SecretClient(other) as client:
        def attempt(content):
            (other.home / "b").write_bytes(content)
            done = restore(other)
            assert done.returncode == FAILED and "Nothing was restored" in done.stderr, done.stderr
            assert client.search(attributes={}) == {"unlocked": [], "locked": []}
            return done.stderr

        for number, start in enumerate(starts):
            bent = bytearray(whole)
            bent[start + 4 + 10] ^= 1
            assert f"chunk {number + 1}, which is at offset {start} " in attempt(bytes(bent))
            assert f"ends at offset {start}" in attempt(whole[:start])
        assert f"ends at offset {len(whole) - 1}" in attempt(whole[:-1])
        assert f"at offset {len(whole)}" in attempt(whole + b"x")
        assert "chunk 1, which is at offset 152" in attempt(whole[:152] + b"\xff" * 4 + whole[156:])
    (other.home / "b").write_bytes(whole)
    done = restore(other, passphrase="another")
    assert done.returncode == FAILED and "not the backup's passphrase" in done.stderr
    assert restore(other).returncode == DONE


@pytest.mark.skipif(os.getuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk(unlocked):
    with SecretClient(unlocked) as client:
        client.store(session=client.open(algorithm="plain")["session"], attributes={"n": "1"}, text="x", size=1 << 20)
    disk = unlocked.home / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=256k,uid={unlocked.uid}", "tmpfs", disk], check=True)
    try:
        done = backup(unlocked, file="disk/b")
        assert done.returncode == FAILED and "No space left" in done.stderr
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", disk], check=True)
    assert backup(unlocked).returncode == DONE


# ---- locked vault ----


def test_needs_an_unlocked_vault(session):
    session.start_daemon()
    (session.home / "v").write_bytes(bytes.fromhex(VECTORS[0]["file"]))

    def refused(words):
        for done in (backup(session), restore(session, file="v")):
            assert done.returncode == FAILED and words in done.stderr and done.stdout == "", done.stderr
        assert not (session.home / "b").exists()

    refused("no vault is unlocked: run 'latchkey unlock' first")
    assert session.login().returncode == 0
    session.lock()
    refused("latchkey unlock")
    session.stop_daemon()
    (session.runtime / "latchkey/control").unlink(missing_ok=True)
    assert backup(session).returncode == NO_DAEMON


class Archiver(Control):
    """A connection that takes the steps of the command line. The connection's key does not come from Argon2id."""

    def __init__(self, session):
        super().__init__(session)
        self.session = session

    def begin(self, request=packet(BEGIN_BACKUP), key=b"k" * 32):
        answer = self.ask(request)
        assert answer[:2] == packet(BEGIN_BACKUP), answer
        self.prompt = answer[2:]
        return self.unlock(key)

    def unlock(self, key=b"k" * 32):
        """Sends a key, and returns the outcome."""
        helper = Control(self.session)
        self.derivation = helper.ask(packet(DERIVATION, self.prompt + struct.pack("<Q", now())))
        return helper.ask_sealed(packet(KEY, self.prompt + key))[2]

    def take(self):
        """The next bytes, and whether these are the last bytes. After a refusal, returns the reason."""
        answer = self.ask(packet(TAKE))
        return words(answer[2:]) if answer[1] == DECLINED else (answer[19:], bool(answer[2]))

    def declined(self, request):
        answer = self.ask(request)
        assert answer[1] == DECLINED, answer
        return words(answer[2:])


def test_a_lock_in_the_middle_ends_it_for_good(unlocked):
    unlocked.store("x" * 5000, "n", "1")
    one = Archiver(unlocked)
    assert one.begin() == 0
    assert len(one.take()[0]) == 152
    unlocked.lock()
    assert one.take() == "refusal.vaultLockedMeanwhile"
    assert unlocked.locker().returncode == 0
    assert one.take() == "refusal.vaultLockedMeanwhile"
    one.socket.close()
    # The lock also ends a backup whose passphrase has not come yet.
    two = Archiver(unlocked)
    answer = two.ask(packet(BEGIN_BACKUP))
    two.prompt = answer[2:]
    unlocked.lock()
    assert unlocked.locker().returncode == 0
    assert two.unlock() == 3
    two.socket.close()
    assert backup(unlocked).returncode == DONE


def test_one_at_a_time_and_each_in_its_order(unlocked):
    unlocked.store("s", "n", "1")
    first, second = Archiver(unlocked), Archiver(unlocked)
    for request in (packet(TAKE), packet(GIVE, b"x" * 30), packet(REPORT, bytes(8))):
        assert "refusal.noArchiveBegun" in second.declined(request)
    assert first.begin() == 0
    assert "refusal.otherArchive" in second.declined(packet(BEGIN_BACKUP))
    assert "another backup" in restore(unlocked, file=write(unlocked, VECTORS[1])).stderr
    assert "refusal.noArchiveBegun" in second.declined(packet(TAKE)), "it is another's"
    assert "refusal.passphraseNotGiven" in first.declined(packet(GIVE, b"x" * 30))
    # Between two chunks, the daemon serves other clients.
    assert first.take() and unlocked.lookup("n", "1") == "s"
    first.socket.close()
    wait_until(lambda: second.ask(packet(BEGIN_BACKUP))[1] == BEGIN_BACKUP, "the end of the first")
    second.socket.close()


def write(session, vector, name="v"):
    (session.home / name).write_bytes(bytes.fromhex(vector["file"]))
    return name


def test_wrong_keys_and_bad_headers(unlocked):
    unlocked.store("s", "n", "1")
    header = bytes.fromhex(VECTORS[0]["file"])[:152]
    for size in (0, 151, 153):
        with_size = Archiver(unlocked)
        assert with_size.ask(packet(BEGIN_RESTORE, b"\0" + (header * 2)[:size])) == b"", "malformed"
    assert Archiver(unlocked).ask(packet(BEGIN_RESTORE, b"\4" + header)) == b""
    one = Archiver(unlocked)
    assert "backup.damagedWithin" in one.declined(packet(BEGIN_RESTORE, b"\0" + header[:-1] + b"\0"))
    assert one.begin(packet(BEGIN_RESTORE, b"\0" + header), key=b"w" * 32) == 2, "wrong keys"
    assert one.derivation[2:] == header[36:64]
    assert one.unlock(bytes.fromhex(VECTORS[0]["argon2id"])) == 0
    assert "backup.damagedChunk" not in one.declined(packet(REPORT, bytes(8))), "not before its end"
    assert "backup.damagedChunk 1" in one.declined(packet(GIVE, b"x" * 30))
    assert "backup.damagedChunk 1" in one.declined(packet(REPORT, bytes(8))), "for good"


# ---- secrets in other places ----


def test_no_secret_is_said(unlocked):
    unlocked.store("the secret itself", "n", "1")
    for command in ("backup", "restore"):
        process = unlocked.start("latchkey", command, "--passphrase-stdin", "b", stdin=subprocess.PIPE, text=True)
        process.stdin.write(PASSPHRASE + "\n")
        process.stdin.flush()
        said = set()
        while process.poll() is None:
            said |= told_to_programs()
        process.stdin.close()
        assert process.returncode == DONE
        assert any(b"latchkey-derive" in words for words in said), "the control"
        assert not any(PASSPHRASE.encode() in words for words in said)
    assert PASSPHRASE not in unlocked.log() and "the secret itself" not in unlocked.log()
    content = (unlocked.home / "b").read_bytes()
    assert b"the secret itself" not in content and PASSPHRASE.encode() not in content and b"Login" not in content


def told_to_programs():
    """The arguments and environment of every visible process."""
    found = set()
    for name in ("cmdline", "environ"):
        for path in pathlib.Path("/proc").glob(f"[0-9]*/{name}"):
            with contextlib.suppress(OSError):
                found.add(path.read_bytes())
    return found


@pytest.mark.skipif(os.getuid() != 0, reason="reading another process's memory needs root")
def test_no_key_of_a_backup_stays_in_memory(unlocked):
    from support import memory

    unlocked.store("a secret that nobody else has in memory", "n", "1")
    key = os.urandom(32)
    archive = Archiver(unlocked)
    assert archive.begin(key=key) == 0
    content = archive.take()[0]
    stream = kdf_stream(key, content)
    needles = {"key": key, "stream": memory.hchacha20(stream, content[96:120])}
    pid = unlocked.daemon_pid()
    assert "stream" in memory.scan(pid, needles), "the control"
    while not archive.take()[1]:
        pass
    assert archive.ask(packet(REPORT, bytes(8)))[1] == REPORT
    archive.socket.close()
    unlocked.status()
    found = memory.scan(pid, needles)
    assert found == {}, {name: [str(place) for place in places] for name, places in found.items()}


def kdf_stream(key, header):
    from support.vaultreader import kdf

    return kdf(key, "backup-stream", header[12:28])
