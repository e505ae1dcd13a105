"""latchkey history and rm --everywhere with a real daemon: the listing, comparison and restore of generations, the
final removal of items, and the signals that programs get.
"""

import contextlib
import json
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from support.archive import counts, lines, report
from support.control import MESSAGES, Control, packet
from support.items import new_collection, place
from support.peer import COLLECTION, ITEM, LOGIN, NOTHING, ROOT, SERVICE, Peer
from support.session import wait_until

DONE, FAILED, NO_ITEM, PARTLY, USAGE = 0, 1, 2, 4, 64


def history(session, *words, **options):
    return session.run("latchkey", "history", *words, **options)


def restore(session, number, *words):
    return history(session, "restore", "--json", str(number), *words)


def make(session):
    """Makes a generation of the present vault, and returns its number."""
    done = history(session, "make", "--json")
    assert done.returncode == DONE, done.stderr
    return json.loads(done.stdout)["number"]


def listed(session):
    done = history(session, "--json")
    assert (done.returncode, done.stderr) == (DONE, "")
    return json.loads(done.stdout)


def differences(session, *number):
    done = history(session, "diff", "--json", *number)
    assert (done.returncode, done.stderr) == (DONE, "")
    found = json.loads(done.stdout)
    return {(one["change"], one["label"]) for one in found["items"]}, found


def generations(session):
    """The files of the generations, the oldest first."""
    files = (session.vault / "generations").glob("*-*-*.db")
    return sorted(files, key=lambda file: int(file.name.split("-")[0]))


def age(session):
    """Makes the newest generation older than an hour, so that the next generation does not replace it."""
    file = generations(session)[-1]
    number, moment, epoch = file.name.removesuffix(".db").split("-")
    file.rename(file.with_name(f"{number}-{int(moment) - 7200}-{epoch}.db"))


def delete(session, *attributes):
    session.run("secret-tool", "clear", *attributes, check=True)


@contextlib.contextmanager
def heard(session):
    peer = Peer(session)
    try:
        yield peer
    finally:
        peer.close()


def test_list_and_make(unlocked):
    unlocked.store("s", "n", "1", label="One")
    first = make(unlocked)
    again = history(unlocked, "make")
    assert again.returncode == DONE and f"Nothing changed since generation {first}," in again.stdout
    unlocked.store("s", "n", "2", label="Two")
    done = history(unlocked, "make", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (DONE, {"number": first + 1, "new": True})
    found = listed(unlocked)
    newest = found["generations"][0]
    assert found.keys() == {"on", "settings", "problem", "problem_code", "generations"} and found["on"] is True
    assert newest.keys() == {"number", "time", "size", "items", "problem", "problem_code"}
    assert (newest["number"], newest["items"], newest["problem"]) == (first + 1, 2, None)
    assert newest["size"] == generations(unlocked)[-1].stat().st_size
    assert found["settings"] == str(unlocked.home / ".config/latchkey/history.yaml")
    told = history(unlocked).stdout
    assert "Number" in told and found["settings"] in told and f"\n     {first + 1}  20" in told


CSV = "url,username,password\nhttps://a.org,me,p1\nhttps://b.org,me,p2\n"


def test_what_was_imported_or_restored_comes_back_at_once(unlocked):
    """A new user deletes an item by mistake on the day of the import, within the first hour."""
    file, backup = unlocked.home / "passwords.csv", unlocked.home / "x.backup"
    file.write_text(CSV)
    assert unlocked.run("latchkey", "import", "csv", "--dry-run", file).returncode == DONE
    assert [one["items"] for one in listed(unlocked)["generations"]] in ([], [0])
    assert unlocked.run("latchkey", "import", "csv", file).returncode == DONE
    newest = listed(unlocked)["generations"][0]
    assert newest["items"] == 2
    unlocked.run("latchkey", "rm", "server=a.org", check=True)
    assert restore(unlocked, newest["number"], "server=a.org").returncode == DONE and unlocked.lookup("server", "a.org") == "p1"
    assert unlocked.run("latchkey", "backup", "--passphrase-stdin", backup, input="a long passphrase").returncode == DONE
    unlocked.stop_daemon()
    shutil.rmtree(unlocked.vault)
    unlocked.start_daemon()
    assert unlocked.login().returncode == 0
    assert unlocked.run("latchkey", "restore", "--passphrase-stdin", backup, input="a long passphrase").returncode == DONE
    assert listed(unlocked)["generations"][0]["items"] == 2


def test_an_import_takes_the_place_of_no_generation_that_has_items(unlocked):
    """The last generation of an hour stays. The generation before the import has the item that was deleted afterwards.
    """
    unlocked.store("kept", "service", "mail")
    before = make(unlocked)
    unlocked.run("latchkey", "rm", "service=mail", check=True)
    file = unlocked.home / "passwords.csv"
    file.write_text(CSV)
    assert unlocked.run("latchkey", "import", "csv", file).returncode == DONE
    assert restore(unlocked, before, "service=mail").returncode == DONE and unlocked.lookup("service", "mail") == "kept"


@pytest.mark.night("vault")
def test_none_and_off_are_said(unlocked):
    folder = unlocked.home / ".config/latchkey"
    unlocked.run("mkdir", "-p", folder, check=True)
    unlocked.run("sh", "-c", f"echo 'generations: off' >{folder}/history.yaml", check=True)
    wait_until(lambda: not listed(unlocked)["generations"], "the end of what there is", 60)
    assert "There is no generation yet" in history(unlocked).stdout
    none = history(unlocked, "diff")
    assert none.returncode == FAILED and "latchkey history make" in none.stderr
    refused = history(unlocked, "make")
    assert refused.returncode == FAILED and f"generations are off in {folder}/history.yaml" in refused.stderr
    assert listed(unlocked)["on"] is False and "Generations are off" in history(unlocked).stdout
    unlocked.run("sh", "-c", f"echo 'daily: many' >{folder}/history.yaml", check=True)
    assert "daily: must be a number" in listed(unlocked)["problem"]


# ---- one item, a collection, everything ----


@pytest.fixture
def changed(unlocked):
    """A vault with one generation. After the generation, one item was deleted, one changed and one stored."""
    with heard(unlocked) as peer:
        peer.create(b"work", {"n": "w"}, label="At work", collection=new_collection(peer, "Work"))
    for name in ("deleted", "changed", "kept"):
        unlocked.store(f"{name} then", "n", name, label=name)
    unlocked.number = make(unlocked)
    with heard(unlocked) as peer:
        (item,) = peer.search({"n": "w"})[0]
        peer.call(item, ITEM, "Delete")
    delete(unlocked, "n", "deleted")
    unlocked.store("changed now", "n", "changed", label="changed")
    unlocked.store("new now", "n", "new", label="new")
    return unlocked


def content(session):
    return {name: session.lookup("n", name) for name in ("deleted", "changed", "kept", "new", "w")}


NOW = {"deleted": None, "changed": "changed now", "kept": "kept then", "new": "new now", "w": None}


def test_differences(changed):
    found, whole = differences(changed)
    assert found == {("deleted", "deleted"), ("deleted", "At work"), ("changed", "changed"), ("new", "new")}
    assert (whole["generation"], whole["same"], whole["damaged"]) == (changed.number, 1, 0)
    assert differences(changed, str(changed.number))[0] == found
    told = history(changed, "diff").stdout
    assert f"Deleted since generation {changed.number}:" in told and "Work / At work (when-unlocked)" in told
    for secret in ("then", "now", "work\n"):
        assert f" {secret}" not in told.replace("At work", "")
    assert content(changed) == NOW


@pytest.mark.parametrize("by", ["attributes", "place"])
def test_one_item_comes_back(changed, by):
    (line,) = [one for one in differences(changed)[1]["items"] if one["label"] == "deleted"]
    word = "n=deleted" if by == "attributes" else line["path"]
    dry = restore(changed, changed.number, word, "--dry-run")
    assert dry.returncode == DONE and counts(dry) == {"items": 1, "added": 1, "generation": changed.number}
    assert content(changed) == NOW
    with heard(changed) as peer:
        done = restore(changed, changed.number, word)
        assert done.returncode == DONE and counts(done) == {"items": 1, "added": 1, "generation": changed.number}
        (item,) = peer.wait_for_member("ItemCreated")
        assert item.startswith(LOGIN) and peer.read(item) == b"deleted then"
        assert peer.get(item, ITEM, "Label") == "deleted"
    assert content(changed) == NOW | {"deleted": "deleted then"}
    # The item's former path and its new path both still lead to the item.
    for words in (word, line["path"], place(item)):
        again = restore(changed, changed.number, words)
        assert again.returncode == DONE and counts(again) == {"items": 1, "same": 1, "generation": changed.number}


def test_a_changed_item_comes_back_only_if_told_to(changed):
    kept = restore(changed, changed.number, "n=changed")
    assert kept.returncode == PARTLY and lines(kept, "conflict") == ["changed"] and content(changed) == NOW
    dry = history(changed, "restore", str(changed.number), "n=changed", "--theirs", "--dry-run")
    assert dry.returncode == DONE and "Nothing was changed." in dry.stdout and content(changed) == NOW
    with heard(changed) as peer:
        done = restore(changed, changed.number, "n=changed", "--theirs")
        assert done.returncode == DONE and lines(done, "replaced") == ["changed"]
        (item,) = peer.wait_for_member("ItemChanged")
        assert peer.read(item) == b"changed then"
    assert content(changed) == NOW | {"changed": "changed then"}


@pytest.mark.parametrize("name", ["Work", "c2"])
def test_a_collection_comes_back(changed, name):
    done = restore(changed, changed.number, "--collection", name)
    assert done.returncode == DONE and lines(done, "added") == ["At work"]
    assert content(changed) == NOW | {"w": "work"}


def test_everything_comes_back(changed):
    dry = restore(changed, changed.number, "--everything", "--theirs", "--dry-run")
    assert dry.returncode == DONE and content(changed) == NOW
    assert sorted(lines(dry, "added")) == ["At work", "deleted"] and lines(dry, "replaced") == ["changed"]
    done = restore(changed, changed.number, "--everything", "--theirs")
    assert done.returncode == DONE and report(done) | {"dry_run": True} == report(dry)
    assert content(changed) == {
        "deleted": "deleted then", "changed": "changed then", "kept": "kept then", "new": "new now", "w": "work"}


# ---- a collection that was deleted ----


def unlock(session):
    """Unlocks with the password, as a person does."""
    return session.run("latchkey", "unlock", "--stdin", input=session.password + "\n")


@pytest.fixture
def deleted(unlocked):
    """A vault with one generation. After the generation, a collection with two items and an alias was deleted."""
    with heard(unlocked) as peer:
        unlocked.collection = new_collection(peer, "Work")
        peer.create(b"work", {"n": "w"}, label="At work", collection=unlocked.collection)
        peer.create(b"more", {"n": "m"}, label="More", collection=unlocked.collection)
        peer.call(ROOT, SERVICE, "SetAlias", "(so)", "work", unlocked.collection)
        unlocked.store("kept", "n", "kept", label="kept")
        unlocked.number = make(unlocked)
        assert peer.call(unlocked.collection, COLLECTION, "Delete") == NOTHING
    return unlocked


def both(session):
    return {name: session.lookup("n", name) for name in ("w", "m", "kept")}


GONE, BACK = {"w": None, "m": None, "kept": "kept"}, {"w": "work", "m": "more", "kept": "kept"}


@pytest.mark.night("vault")
@pytest.mark.parametrize("words", [["--collection", "Work"], ["--collection", "c2"], ["--everything"]], ids=str)
def test_a_deleted_collection_comes_back_with_the_password(deleted, words):
    found = differences(deleted)[1]["items"]
    assert {one["path"].split("/")[0] for one in found} == {"c2"}
    for dry in ([], ["--dry-run"]):
        first = restore(deleted, deleted.number, *words, *dry)
        assert first.returncode == PARTLY and counts(first)["left"] == 2 and "added" not in counts(first), first.stdout
        assert "run 'latchkey unlock'" in first.stdout and both(deleted) == GONE
    asked = unlock(deleted)
    assert asked.returncode == DONE and "already" not in asked.stdout, asked
    dry = history(deleted, "restore", str(deleted.number), *words, "--dry-run")
    assert dry.returncode == DONE and "would come back" in dry.stdout and "At work" in dry.stdout and both(deleted) == GONE
    with heard(deleted) as peer:
        done = restore(deleted, deleted.number, *words)
        assert done.returncode == DONE and sorted(lines(done, "added")) == ["At work", "More"], done.stdout
        assert peer.wait_for_member("CollectionCreated") == (deleted.collection,)
        assert peer.get(deleted.collection, COLLECTION, "Label") == "Work"
        assert peer.call(ROOT, SERVICE, "ReadAlias", "(s)", "work") == deleted.collection
        assert {peer.read(item) for item in peer.get(deleted.collection, COLLECTION, "Items")} == {b"work", b"more"}
    assert both(deleted) == BACK and "already" in unlock(deleted).stdout
    # The restored collection is on the disk, and behaves as any other.
    deleted.lock()
    assert deleted.locker().returncode == 0 and both(deleted) == BACK
    deleted.restart(signal.SIGKILL)
    assert deleted.login().returncode == 0 and both(deleted) == BACK
    deleted.run("latchkey", "rotate", "--stdin", input=deleted.password + "\n", check=True)
    assert both(deleted) == BACK and deleted.status()["problems"] == []


def test_one_item_of_a_deleted_collection(deleted):
    first = restore(deleted, deleted.number, "n=w")
    assert first.returncode == PARTLY and "run 'latchkey unlock'" in first.stdout
    # The lock of the screen also erases the keys of the deleted collection.
    assert unlock(deleted).returncode == DONE
    deleted.lock()
    assert deleted.locker().returncode == 0
    assert "run 'latchkey unlock'" in restore(deleted, deleted.number, "n=w").stdout
    assert unlock(deleted).returncode == DONE
    done = restore(deleted, deleted.number, "n=w")
    assert done.returncode == DONE and lines(done, "added") == ["At work"], done.stdout
    assert both(deleted) == BACK | {"m": None}
    # The collection exists now, so the command asks no question.
    assert restore(deleted, deleted.number, "n=m").returncode == DONE and both(deleted) == BACK


def test_a_deleted_collection_with_a_passphrase_is_refused(deleted):
    unlock(deleted)
    with heard(deleted) as peer:
        new_collection(peer, "Private")
        private = new_collection(peer, "Own")
        peer.create(b"own", {"n": "o"}, label="Own item", collection=private)
        deleted.run("latchkey", "passphrase", "set", "--stdin", "Own", input="sesame", check=True)
        number = make(deleted)
        assert peer.call(private, COLLECTION, "Delete") == NOTHING
    for _ in range(2):
        refused = restore(deleted, number, "--collection", "Own")
        assert refused.returncode == PARTLY and "a collection with a passphrase of its own does not come back" in refused.stdout
        assert "latchkey unlock" not in refused.stdout and "already" in unlock(deleted).stdout
    assert deleted.lookup("n", "o") is None


def test_removed_everywhere_means_a_deleted_collection_too(deleted):
    restore(deleted, deleted.number, "--everything")
    assert unlock(deleted).returncode == DONE
    assert deleted.run("latchkey", "rm", "--everywhere", "n=w").returncode == DONE
    done = restore(deleted, deleted.number, "--everything")
    assert done.returncode == DONE and lines(done, "added") == ["More"] and both(deleted) == BACK | {"w": None}


def test_an_item_of_a_deleted_collection_is_removed_by_its_place(deleted):
    """A deleted collection's attributes are unreadable. Removing the item needs no key."""
    assert deleted.run("latchkey", "rm", "--everywhere", "n=w").returncode == NO_ITEM
    paths = sorted(one["path"] for one in differences(deleted)[1]["items"])
    assert deleted.run("latchkey", "rm", "--everywhere", paths[0]).returncode == DONE
    restore(deleted, deleted.number, "--everything")
    assert unlock(deleted).returncode == DONE
    assert lines(restore(deleted, deleted.number, "--everything"), "added") == ["More"]


def test_what_does_not_exist(changed):
    number = str(changed.number)
    for words in (["n=nothing"], ["login/4711"], ["--collection", "Nowhere"]):
        done = history(changed, "restore", number, *words)
        assert done.returncode == NO_ITEM and "latchkey history diff" in done.stderr, (words, done.stderr)
    for words in (["restore", "77", "n=kept"], ["diff", "77"]):
        done = history(changed, *words)
        assert done.returncode == FAILED and "there is no generation 77" in done.stderr
    for words in ([number], [number, "n=kept", "--everything"], ["0", "n=kept"], [number, "kept"]):
        assert history(changed, "restore", *words).returncode == USAGE, words
    assert content(changed) == NOW


def test_a_named_item_that_the_generation_lacks_is_told_beside_those_that_come_back(changed):
    (line,) = [one for one in differences(changed)[1]["items"] if one["label"] == "deleted"]
    done = restore(changed, changed.number, line["path"], "login/4711")
    assert done.returncode == PARTLY and counts(done) == {"items": 1, "added": 1, "generation": changed.number}
    assert f"of the items that you named (2), generation {changed.number} has only 1" in done.stderr
    assert content(changed) == NOW | {"deleted": "deleted then"}


# ---- locks, damage, ends ----


def test_a_locked_vault_brings_nothing_back(changed):
    changed.lock()
    for words in (["restore", str(changed.number), "n=deleted"], ["make"]):
        done = history(changed, *words)
        assert done.returncode == FAILED and "latchkey unlock" in done.stderr, done.stderr
    assert listed(changed)["generations"][0]["number"] == changed.number
    assert changed.locker().returncode == 0
    assert content(changed) == NOW


def begun(control, number, flags=0):
    """Begins a restore of everything, and goes through all items of the generation."""
    request = packet(MESSAGES["RestoreFromGeneration"], number.to_bytes(4, "little") + bytes([flags, 0]))
    assert control.ask(request)[1] == MESSAGES["RestoreFromGeneration"]
    while (answer := control.ask(packet(MESSAGES["GoThroughGeneration"])))[2]:
        assert answer[1] == MESSAGES["GoThroughGeneration"]


def finished(control):
    return control.ask(packet(MESSAGES["FinishRestore"], bytes(8)))


def test_a_lock_ends_a_restore(changed):
    control = Control(changed)
    begun(control, changed.number)
    changed.lock()
    assert changed.locker().returncode == 0
    # The vault is unlocked again, but the lock ended the earlier restore.
    answer = finished(control)
    assert answer[1] == 255 and b"refusal.vaultLockedMeanwhile" in answer
    control.close()
    assert content(changed) == NOW


def test_a_restore_ends_with_its_connection(changed):
    control, other = Control(changed), Control(changed)
    begun(control, changed.number)
    request = packet(MESSAGES["CompareGeneration"], bytes(4))
    assert b"refusal.otherHistory" in other.ask(request)
    control.close()
    wait_until(lambda: other.ask(request)[1] == MESSAGES["CompareGeneration"], "the end of the first one")
    # A connection cannot use the restore of another connection.
    assert finished(other)[1] == 255
    other.close()
    assert content(changed) == NOW


def test_a_daemon_that_is_killed_in_the_middle(changed):
    control = Control(changed)
    begun(control, changed.number)
    changed.restart(signal.SIGKILL)
    control.close()
    assert changed.login().returncode == 0
    assert content(changed) == NOW
    done = restore(changed, changed.number, "--everything")
    assert sorted(lines(done, "added")) == ["At work", "deleted"]
    # The restored items survive a kill of the daemon.
    changed.restart(signal.SIGKILL)
    assert changed.login().returncode == 0
    assert content(changed) == NOW | {"deleted": "deleted then", "w": "work"}


def test_a_damaged_generation_is_named_and_costs_nothing(changed):
    age(changed)
    newer = make(changed)
    (older,) = [one for one in generations(changed) if one.name.startswith(f"{changed.number}-")]
    older.write_bytes(b"no database" * 1000)
    found = {one["number"]: one for one in listed(changed)["generations"]}
    assert found[newer]["problem"] is None and found[changed.number]["items"] is None
    assert "cannot be read" in found[changed.number]["problem"]
    assert "cannot be read" in history(changed).stdout
    for words in (["diff", str(changed.number)], ["restore", str(changed.number), "--everything"]):
        done = history(changed, *words)
        assert done.returncode == FAILED and f"generation {changed.number} cannot be read" in done.stderr
    assert content(changed) == NOW and changed.status()["problems"] == []
    assert restore(changed, newer, "--everything").returncode == DONE


# ---- rm --everywhere ----


def remove(session, *words):
    return session.run("latchkey", "rm", *words)


def ciphertexts(session):
    """The encrypted secrets on the disk, by the numbers of their items."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("vault.db", "vault.db-wal"):
            if (session.vault / name).exists():
                shutil.copy(session.vault / name, folder)
        database = sqlite3.connect(Path(folder) / "vault.db")
        try:
            return dict(database.execute("SELECT id, secret FROM item"))
        finally:
            database.close()


def files_with(session, *needles):
    """The names of the vault's files that contain any of these bytes."""
    found = set()
    for file in session.vault.rglob("*"):
        # The daemon may erase a file meanwhile.
        with contextlib.suppress(FileNotFoundError):
            if file.is_file() and any(needle in file.read_bytes() for needle in needles):
                found.add(file.name)
    return found


@pytest.fixture
def kept(unlocked):
    """A vault with two generations, each with another version of an item. `traces` has the bytes of these versions on
    the disk."""
    unlocked.store("other", "n", "other", label="other")
    unlocked.store("first version", "n", "gone", label="gone")
    number = max(ciphertexts(unlocked))
    unlocked.traces = [ciphertexts(unlocked)[number]]
    unlocked.older = make(unlocked)
    age(unlocked)
    unlocked.store("second version", "n", "gone", label="gone")
    unlocked.traces.append(ciphertexts(unlocked)[number])
    unlocked.newer = make(unlocked)
    assert unlocked.traces[0] != unlocked.traces[1] and len({len(trace) > 20 for trace in unlocked.traces}) == 1
    assert {file.name for file in generations(unlocked)[-2:]} <= files_with(unlocked, *unlocked.traces)
    return unlocked


def is_whole(session):
    """Checks that the other item is in the vault and in both generations."""
    assert session.lookup("n", "other") == "other"
    for number in (session.older, session.newer):
        assert differences(session, str(number))[1]["same"] == 1


def test_everywhere_is_everywhere(kept):
    dry = remove(kept, "--everywhere", "--dry-run", "n=gone")
    assert dry.returncode == DONE and dry.stdout.count("Would delete") == 1
    assert kept.lookup("n", "gone") == "second version" and len(files_with(kept, *kept.traces)) >= 2
    done = remove(kept, "--everywhere", "n=gone")
    assert (done.returncode, done.stderr) == (DONE, "")
    assert "Deleted login/" in done.stdout and "Removed from 2 generations." in done.stdout
    assert files_with(kept, *kept.traces) == set() and kept.lookup("n", "gone") is None
    is_whole(kept)
    assert remove(kept, "--everywhere", "n=gone").returncode == NO_ITEM


def test_what_only_generations_have_goes_too(kept):
    done = remove(kept, "--json", "n=gone")
    assert done.returncode == DONE and json.loads(done.stdout)["generations"] == {"items": 0, "changed": 0, "unreadable": []}
    assert remove(kept, "n=gone").returncode == NO_ITEM
    assert len(files_with(kept, *kept.traces)) >= 2
    # The command does not mistake another item with the same attributes for the deleted item.
    kept.store("third", "n", "gone", label="gone")
    refused = remove(kept, "--everywhere", "n=gone")
    assert refused.returncode == FAILED and "2 items fit" in refused.stderr and "(in generations only)" in refused.stderr
    assert kept.lookup("n", "gone") == "third"
    (past,) = {one["path"] for one in differences(kept)[1]["items"] if one["change"] == "deleted"}
    done = remove(kept, "--everywhere", "--json", past)
    assert done.returncode == DONE, done.stderr
    told = json.loads(done.stdout)
    assert told["removed"] == [] and told["generations"] == {"items": 1, "changed": 2, "unreadable": []}
    assert files_with(kept, *kept.traces) == set() and kept.lookup("n", "gone") == "third"
    is_whole(kept)


def test_a_generation_that_cannot_be_read_is_named(kept):
    older = generations(kept)[-2]
    older.write_bytes(b"no database" * 1000)
    done = remove(kept, "--everywhere", "n=gone")
    assert done.returncode == PARTLY and f"may still have them: {kept.older}." in done.stderr and "Removed from 1 generation." in done.stdout
    assert files_with(kept, *kept.traces) == set()


def test_what_the_vault_has_is_not_forgotten(kept):
    """The command forgets only deleted items. The generations keep every item that the vault still has."""
    control = Control(kept)
    number = max(ciphertexts(kept))
    search = packet(MESSAGES["FindInGenerations"], b"\1\0" + number.to_bytes(8, "little") + b"\3\1\0" + number.to_bytes(8, "little"))
    assert control.ask(search)[1] == MESSAGES["FindInGenerations"]
    while control.ask(packet(MESSAGES["GoThroughGeneration"]))[2]:
        pass
    found = control.ask(packet(MESSAGES["GetFoundItems"], bytes(8)))
    assert found[2:4] == bytes([0, 1]) and found[20] == 1
    answer = control.ask(packet(MESSAGES["ForgetEverywhere"], found[4:20]))
    assert answer[1] == 255 and b"refusal.itemIsThere" in answer
    control.close()
    assert restore(kept, kept.older, "n=gone", "--theirs").returncode == DONE
    assert kept.lookup("n", "gone") == "first version"


def test_a_locked_vault_forgets_nothing(kept):
    kept.lock()
    done = remove(kept, "--everywhere", "--no-prompt", "n=gone")
    assert done.returncode == FAILED and "latchkey unlock" in done.stderr
    assert kept.locker().returncode == 0
    assert kept.lookup("n", "gone") == "second version" and len(files_with(kept, *kept.traces)) >= 2


@pytest.mark.night("vault")
@pytest.mark.parametrize("moment", range(6))
def test_a_daemon_that_is_killed_meanwhile_leaves_nothing_that_the_next_command_cannot_remove(kept, moment):
    command = kept.start("latchkey", "rm", "--everywhere", "n=gone", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(moment / 50)
    kept.stop_daemon(signal.SIGKILL)
    command.wait()
    kept.start_daemon()
    assert kept.login().returncode == 0
    assert remove(kept, "--everywhere", "n=gone").returncode in (DONE, NO_ITEM)
    wait_until(lambda: files_with(kept, *kept.traces) == set(), "the end of what is left")
    is_whole(kept)


# ---- status ----


def test_status_tells_of_generations(unlocked):
    unlocked.store("s", "n", "1")
    make(unlocked)

    def is_told():
        told = unlocked.status()["history"]
        newest = listed(unlocked)["generations"][0]["time"]
        return told == {"on": True, "generations": len(generations(unlocked)), "newest": newest, "problem": ""}

    # The daemon may make its own generation in between.
    wait_until(is_told, "status to tell of the generations")
