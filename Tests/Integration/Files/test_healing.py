"""A damaged keybag or database with a real daemon. Any unlock repairs the file, and the daemon notifies the person
once.
"""

import json
import os

import pytest
from support.notifications import Notifications, know_the_first
from support.peer import Peer
from support.portal import ONE, retrieve
from support.session import wait_until
from test_generations import kept  # noqa: F401
from test_prompts import SERVICE, bus
from test_session_key import Keys, admit, bring

REPAIRED = "The vault was repaired"
RECORD = ".local/state/latchkey/healing-notice"


def damage(session, name, content=b"damaged"):
    """Stops the daemon, and replaces or removes a file."""
    session.stop_daemon()
    if content is None:
        (session.vault / name).unlink()
    else:
        (session.vault / name).write_bytes(content)
    session.start_daemon()


def asides(session, name):
    return [path for path in session.vault.iterdir() if path.name.startswith(f"{name}.damaged-") and not path.name.endswith("-wal")]


def doctor(session):
    checks = json.loads(session.run("latchkey", "doctor", "--home", session.home, "--json").stdout)["checks"]
    return next(check for check in checks if check["id"] == "vault")


@pytest.mark.night("vault")
@pytest.mark.parametrize("name", ["keybag", "vault.db"])
@pytest.mark.parametrize("content", [None, b"damaged"], ids=["missing", "foreign"])
def test_doctor_calls_a_repair_no_breakage(kept, name, content):  # noqa: F811
    assert doctor(kept)["state"] == "ok"
    damage(kept, name, content)
    assert kept.login().returncode == 0
    check = doctor(kept)
    (problem,) = kept.status()["problems"]
    assert (check["state"], check["found"], check["command"]) == ("warning", problem, None)
    assert "stays until you log out" in check["advice"] and "unlock" not in check["advice"]
    for path in asides(kept, name):
        path.unlink()
    assert doctor(kept)["state"] == "warning"
    kept.logout()
    kept.restart()
    assert kept.login().returncode == 0
    assert doctor(kept)["state"] == "ok"


@pytest.mark.parametrize("content", [None, b"", b"damaged", bytes(4096)], ids=["missing", "empty", "foreign", "zeros"])
def test_a_damaged_keybag_heals_and_says_so_once(session, content):
    assert session.login().returncode == 0
    session.store("first", "n", "1")
    whole = (session.vault / "keybag").read_bytes()
    assert (session.vault / "keybag.copy").read_bytes() == whole
    damage(session, "keybag", content)
    assert session.login().returncode == 0
    assert session.lookup("n", "1") == "first"
    assert (session.vault / "keybag").read_bytes() == whole == (session.vault / "keybag.copy").read_bytes()
    assert [path.read_bytes() for path in asides(session, "keybag")] == ([] if content is None else [content])
    (problem,) = session.status()["problems"]
    assert problem.startswith("keybag: ") and "its copy took its place" in problem
    assert session.log().count("its copy took its place") == 1
    assert session.status()["damaged_files"] == [path.name for path in asides(session, "keybag")]
    text = session.run("latchkey", "status").stdout
    assert (REPAIRED in text) == (content is not None)
    session.logout()
    session.restart()
    assert session.login().returncode == 0
    assert session.status()["problems"] == [] and session.log().count("its copy took its place") == 1
    assert len(session.status()["damaged_files"]) == (content is not None)


def test_it_heals_in_a_session_and_locks_and_unlocks(session):
    assert session.login().returncode == 0
    session.store("first", "n", "1")
    (session.vault / "keybag").write_bytes(b"")
    session.lock()
    assert session.locker().returncode == 0
    assert session.status()["state"] == "unlocked" and session.lookup("n", "1") == "first"


def test_the_person_is_told_once(session):
    know_the_first(session)
    assert session.login().returncode == 0
    session.store("first", "n", "1")
    damage(session, "keybag")
    notifications = Notifications(session)
    assert notifications.look() == []
    assert session.login().returncode == 0
    wait_until(notifications.look, "the notification")
    ((title, text),) = notifications.shown
    assert title == REPAIRED and "'latchkey status'" in text and "first" not in text
    wait_until((session.home / RECORD).exists, "the note that it was shown")
    session.lock()
    assert session.locker().returncode == 0
    session.logout()
    session.restart()
    assert session.login().returncode == 0 and session.status()["state"] == "unlocked"
    assert len(notifications.look()) == 1
    # A second damage causes a second notification.
    damage(session, "keybag")
    assert session.login().returncode == 0
    wait_until(lambda: len(notifications.look()) == 2, "the second notification")
    notifications.close()


def test_the_person_is_told_of_a_database(kept):  # noqa: F811
    know_the_first(kept)
    damage(kept, "vault.db", None)
    notifications = Notifications(kept)
    assert kept.login().returncode == 0
    wait_until(notifications.look, "the notification")
    ((title, text),) = notifications.shown
    # Without a readable database, the items that are newer than the generation are lost.
    assert title == REPAIRED and "may be missing" in text
    notifications.close()


def test_a_vault_that_is_too_large_says_so_and_heals_by_hand(unlocked):
    unlocked.store("first", "n", "1")
    unlocked.run("latchkey", "history", "make", check=True)
    generation = max((unlocked.vault / "generations").glob("*-*-*.db"), key=lambda file: int(file.name.split("-")[0]))
    unlocked.store("second", "n", "2")
    damage(unlocked, "vault.db", bytes((64 << 20) + 4096))
    unlocked.login()
    (problem,) = [line for line in unlocked.status()["problems"] if "MiB" in line]
    assert "more than 64 MiB" in problem and "man latchkey-history" in problem
    assert unlocked.status()["state"] != "unlocked" and asides(unlocked, "vault.db") == []
    # These commands are in the manual page.
    unlocked.stop_daemon()
    commands = "cd .local/share/latchkey; mkdir aside; mv vault.db vault.db-wal aside; cp generations/$0 vault.db"
    unlocked.run("sh", "-c", commands, generation.name)
    unlocked.start_daemon()
    assert unlocked.login().returncode == 0
    assert unlocked.lookup("n", "1") == "first" and unlocked.lookup("n", "2") is None
    assert [line for line in unlocked.status()["problems"] if "older" not in line] == []
    unlocked.store("third", "n", "3")
    assert unlocked.lookup("n", "3") == "third"


@pytest.mark.parametrize("names", [["keybag"], ["vault.db"], ["keybag", "vault.db"]], ids=" and ".join)
def test_a_vault_without_a_password_heals_by_itself(new_session, names):
    session = new_session
    session.shadow("")
    assert session.login_without_password().returncode == 0
    session.store("first", "n", "1")
    session.run("latchkey", "history", "make", check=True)
    assert (session.vault / "keybag.copy").read_bytes() == (session.vault / "keybag").read_bytes()
    session.stop_daemon()
    for name in names:
        (session.vault / name).write_bytes(b"damaged")
    session.start_daemon()
    assert session.login_without_password().returncode == 0
    assert session.lookup("n", "1") == "first"
    for name in names:
        assert [path.read_bytes() for path in asides(session, name)] == [b"damaged"]
    assert session.status()["damaged_files"] == sorted(path.name for name in names for path in asides(session, name))


def test_a_session_key_heals_no_database_and_status_says_what_does(kept):  # noqa: F811
    kept.run("latchkey", "history", "make", check=True)
    kept.logout()
    admit(kept, 1)
    damage(kept, "vault.db", None)
    keys = Keys(kept)
    bring(kept, keys.packet())
    problems = kept.status()["problems"]
    assert any("the file is missing" in line for line in problems)
    assert any("the next unlock with the password" in line for line in problems)
    assert not (kept.vault / "vault.db").exists()
    assert kept.login().returncode == 0
    assert kept.lookup("n", "1") == "first"
    assert not [line for line in kept.status()["problems"] if "next unlock" in line]


def test_an_application_has_the_same_secret_after_healing(session):
    assert session.login().returncode == 0
    peer = Peer(session)
    before = retrieve(peer, ONE)
    peer.close()
    session.run("latchkey", "history", "make", check=True)
    damage(session, "vault.db", None)
    assert session.login().returncode == 0
    peer = Peer(session)
    assert retrieve(peer, ONE) == before
    peer.close()


def test_a_keybag_and_its_copy_that_are_both_cut_have_a_way_out(session):
    """No text promises a new vault, and no text advises deleting a file that may be the last whole one."""
    assert session.login().returncode == 0
    session.store("first", "n", "1")
    session.stop_daemon()
    whole = (session.vault / "keybag").read_bytes()
    (session.vault / "keybag.damaged-20250101-000000").write_bytes(whole)
    for name in ("keybag", "keybag.copy"):
        (session.vault / name).write_bytes(whole[:100])
    session.start_daemon()
    session.login()
    assert session.status()["lock_reasons"] == ["the vault's files cannot be used"]
    text = session.run("latchkey", "status").stdout
    assert "creates the vault" not in text and "not created yet" not in text and "delete" not in text, text
    assert "keybag.damaged-20250101-000000" in text and "Keep them" in text
    ways = [text.index(f"'latchkey {command}'") for command in ("start-empty", "unlock", "restore")]
    assert ways == sorted(ways)
    done = session.run("latchkey", "unlock", "--stdin", input=f"{session.password}\n")
    assert done.returncode != 0 and "'latchkey start-empty'" in done.stderr, done.stderr


@pytest.mark.parametrize("content", [None, b"x" * 4096], ids=["lost", "damaged"])
def test_a_database_without_a_generation_has_a_way_out(unlocked, content):
    unlocked.stop_daemon()
    unlocked.remove_generations()
    for log in unlocked.vault.glob("vault.db-*"):
        log.unlink()
    (unlocked.vault / "vault.db").unlink()
    if content:
        (unlocked.vault / "vault.db").write_bytes(content)
        os.chown(unlocked.vault / "vault.db", unlocked.uid, unlocked.gid)
    unlocked.start_daemon()
    text = unlocked.run("latchkey", "status").stdout
    assert "bring a usable vault.db back, or start again (see below)" in text and "run 'latchkey unlock'\n" not in text
    done = unlocked.run("latchkey", "unlock", "--stdin", input=f"{unlocked.password}\n")
    assert done.returncode != 0
    for said in (text, done.stderr):
        ways = [said.index(f"'latchkey {command}'") for command in ("start-empty", "unlock", "restore")]
        assert ways == sorted(ways)


@pytest.mark.parametrize("is_damaged", [True, False], ids=["damaged", "whole"])
def test_a_copy_that_a_process_left_takes_the_place_of_a_damaged_database_only(kept, is_damaged):  # noqa: F811
    kept.run("latchkey", "history", "make", check=True)
    kept.store("third", "n", "3")
    kept.stop_daemon()
    generation = max((kept.vault / "generations").glob("*.db"), key=lambda path: int(path.name.split("-")[0]))
    healed = kept.vault / "vault.db.healed-20250101-000000"
    healed.write_bytes(generation.read_bytes())
    os.chown(healed, generation.stat().st_uid, generation.stat().st_gid)
    if is_damaged:
        (kept.vault / "vault.db").write_bytes(b"damaged")
    kept.start_daemon()
    assert kept.login().returncode == 0
    assert kept.lookup("n", "1") == "first"
    assert not list(kept.vault.glob("vault.db.healed-*"))
    assert [path.read_bytes() for path in asides(kept, "vault.db")] == ([b"damaged"] if is_damaged else [])
    told = [line for line in kept.status()["problems"] if "was made again from a generation" in line]
    assert len(told) == is_damaged and kept.log().count("was made again from a generation") == is_damaged
    assert kept.lookup("n", "3") == (None if is_damaged else "third")


def test_a_new_passphrase_names_a_damaged_database_that_opens_without_it(session):
    assert session.login().returncode == 0
    label = "{'org.freedesktop.Secret.Collection.Label': <'Private'>}"
    bus(session, SERVICE, "org.freedesktop.Secret.Service", "CreateCollection", label, "")
    command = ["latchkey", "passphrase", "set", "--stdin", "Private"]
    done = session.run(*command, input="sesame", check=True)
    assert done.stderr == ""
    aside = session.vault / "vault.db.damaged-20250101-000000"
    aside.write_bytes(b"damaged")
    (session.vault / f"{aside.name}-wal").write_bytes(b"damaged")
    done = session.run(*command, input="other", check=True)
    assert done.stderr == f"The former file {aside} still opens with your login alone. Check your items, then delete that file.\n"


def test_a_vault_that_is_away_acknowledges_nothing(session):
    assert session.login().returncode == 0
    session.store("first", "n", "1")
    away = session.vault.with_name("away")
    session.vault.rename(away)
    refused = session.run("latchkey", "add", "--label=Second", "n=2", input="second")
    assert refused.returncode == 1 and "it was moved or removed, so nothing is stored" in refused.stderr
    assert session.lookup("n", "1") == "first" and session.lookup("n", "2") is None
    shown = session.run("latchkey", "status").stdout
    assert f"{session.vault} (missing)" in shown and "run 'latchkey export json --plain FILE' now" in shown
    assert "moved or removed" in session.run("latchkey", "doctor").stdout
    away.rename(session.vault)
    session.store("third", "n", "3")
    session.restart()
    assert session.login().returncode == 0
    assert [session.lookup("n", number) for number in "123"] == ["first", None, "third"]


def test_a_vault_that_is_away_is_not_unlocked_until_it_is_back(session):
    assert session.login().returncode == 0
    session.store("first", "n", "1")
    away = session.vault.with_name("away")
    session.vault.rename(away)
    session.run("latchkey", "lock", check=True)
    shown = session.run("latchkey", "status").stdout
    assert f"If {session.vault} was moved, move it back" in shown and "latchkey restore" in shown and "export" not in shown
    # The command asks no question, and creates no new files.
    refused = session.run("latchkey", "unlock", "--stdin", input=session.password + "\n")
    assert refused.returncode == 1 and "move it back" in refused.stderr and not session.vault.exists()
    away.rename(session.vault)
    assert session.run("latchkey", "unlock", "--stdin", input=session.password + "\n").returncode == 0
    assert session.lookup("n", "1") == "first" and session.status()["problems"] == []


def test_a_lost_vault_is_read_once_more_and_replaced_at_the_next_login(session):
    assert session.login().returncode == 0
    session.store("first", "n", "1")
    file = session.home / "items.json"
    session.vault.rename(session.vault.with_name("away"))
    session.run("latchkey", "export", "json", "--plain", "--stdin", file, input=session.password + "\n", check=True)
    session.restart()
    assert session.login().returncode == 0
    assert session.lookup("n", "1") is None and session.status()["problems"] == []
    session.run("latchkey", "import", "json", file, check=True)
    assert session.lookup("n", "1") == "first"


@pytest.mark.parametrize("size", [0, 40000])
def test_a_database_that_is_cut_off_in_a_session_is_told_and_heals_at_the_next_unlock(kept, size):  # noqa: F811
    """Parts that the daemon has not read yet would be noise, and newly stored items would be lost."""
    kept.store("x" * 9000, "n", "long")
    kept.restart()
    assert kept.login().returncode == 0
    os.truncate(kept.vault / "vault.db", size)
    status = kept.status()
    assert status["problems"] == ["vault.db: it was cut off"]
    assert kept.run("latchkey", "add", "--label", "L", "n=late", input="late").returncode == 1
    assert (check := doctor(kept))["state"] == "broken" and "'latchkey lock && latchkey unlock'" in check["advice"]
    kept.lock()
    assert kept.run("latchkey", "unlock", "--stdin", input=kept.password + "\n").returncode == 0
    (problem,) = kept.status()["problems"]
    assert "was damaged, and was made again" in problem
    kept.store("late", "n", "late")
    kept.restart()
    assert kept.login().returncode == 0
    assert kept.lookup("n", "late") == "late" and kept.status()["problems"] == []
