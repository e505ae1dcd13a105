"""A security key as a protector: latchkey and latchkey-security-key with libfido2, and a software key at a socket."""

import hashlib
import json
import subprocess

import pytest
from support.authenticator import Authenticator, Socket, mac
from support.derive import AUTHENTICATE, PASSWORD, now
from support.derive import UNLOCKED as ANSWER_UNLOCKED
from support.documents import REPOSITORY
from support.standin import status
from test_command import DONE, FAILED, LOCKED, SEALED, UNLOCKED, USAGE, ending, person  # noqa: F401
from test_derive_rotate import Bag

SHIM = REPOSITORY / "Tests/support/Shims/authenticator.c"
PIN = "1234"
NIGHT = pytest.mark.night("login")
ALONE, BESIDE = [(1, 1, 1700000000)], [(1, 1, 1700000000), (6, 1, 1700000001)]


@pytest.fixture(scope="module")
def library(folder):
    made = folder / "authenticator.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", made, SHIM, "-ldl"], check=True)
    made.chmod(0o755)
    return made


@pytest.fixture
def holder(person, programs, resident, library):  # noqa: F811
    """A person who has a vault, and a socket for security keys."""
    person.keybag, person.vault = resident.keybag, str(resident.vault)
    person.sockets = person.folder / "keys"
    person.sockets.mkdir(mode=0o755)
    paths = [person.sockets / str(number) for number in range(2)]
    person.environment |= {"LD_PRELOAD": str(library), "AUTHENTICATORS": ":".join(map(str, paths))}
    person.options = [
        "--pam-folder", person.pam, "--derive-program", programs / "latchkey-derive",
        "--security-key-program", programs / "latchkey-security-key"]  # fmt: skip
    person.resident = resident
    daemon = person.daemon_running = person.daemon()
    person.is_now = lambda **facts: setattr(
        daemon, "status", status(**{"state": UNLOCKED, "vault": person.vault, "protectors": ALONE, **facts}))
    person.is_now()
    person.connect = lambda key, place=0: Socket(key, paths[place])
    return person


def add(holder, *words, typed=f"{PASSWORD}\n{PIN}\n"):
    return holder.run("protector", "add", "security-key", *words, "--stdin", *holder.options, input=typed)


def unlock(holder, typed=f"{PIN}\n"):
    """Unlocks a locked vault. The daemon says that it is unlocked once the keys have come."""
    locked = status(state=LOCKED, vault=holder.vault, protectors=BESIDE, names={1: "blue"})
    holder.daemon_running.status = [locked, status(state=UNLOCKED, vault=holder.vault, protectors=BESIDE)]
    done = holder.run("unlock", "--security-key", "--stdin", *holder.options, input=typed)
    holder.is_now(protectors=BESIDE, names={1: "blue"})
    return done


def kinds(holder):
    return Bag(holder.keybag.read_bytes()).kinds


@pytest.fixture
def enrolled(holder):
    """The person, with an added and connected security key."""
    holder.key = Authenticator(PIN)
    holder.socket = holder.connect(holder.key)
    done = add(holder, "--name", "blue")
    assert (done.returncode, done.stderr.count("Touch your security key")) == (DONE, 2), done
    holder.is_now(protectors=BESIDE, names={1: "blue"})
    return holder


def test_a_key_that_was_added_unlocks_by_pin_and_touch(enrolled):
    assert kinds(enrolled) == [1, 6]
    (credential,) = enrolled.key.credentials.values()
    assert credential["protection"] == 3 and credential["party"].startswith("latchkey:") and enrolled.key.touched == 2
    before = len(enrolled.daemon_running.deliveries)
    done = unlock(enrolled)
    assert done.returncode == DONE and "The vault is unlocked." in done.stdout, done
    assert done.stderr.count("Touch your security key") == 1 and enrolled.key.touched == 3
    # The security key leads to the same keys as the password.
    (by_key,) = enrolled.daemon_running.deliveries[before:]
    assert enrolled.resident.run(AUTHENTICATE) == ANSWER_UNLOCKED
    by_password = enrolled.daemon_running.deliveries[-1]
    assert (by_key.unlocked, by_key.session) == (by_password.unlocked, by_password.session)


def test_a_lock_that_comes_while_the_key_waits_for_a_touch_counts_as_later(enrolled):
    moments = []
    enrolled.key.touches = lambda: moments.append(now())
    assert unlock(enrolled).returncode == DONE
    assert enrolled.daemon_running.given[-1] < moments[-1]


def test_it_is_listed_renamed_and_removed(enrolled):
    listed = enrolled.run("protector").stdout
    assert "security key blue" in listed
    assert "security key blue" in enrolled.run("status").stdout
    password, key = json.loads(enrolled.run("protector", "list", "--json").stdout)
    assert key | {"created": ""} == {
        "kind": "security-key", "state": "proven", "unlocks": "everything", "name": "blue", "created": ""}
    assert password["name"] == ""
    options = ["--stdin", *enrolled.options]
    done = enrolled.run("protector", "rename", "blue", "the blue one", *options, input=PASSWORD + "\n")
    assert done.returncode == DONE and b"the blue one" in enrolled.keybag.read_bytes()
    assert unlock(enrolled).returncode == DONE
    for name, words in (("blue", "It has: the blue one"), ("the blue one", "rotate")):
        done = enrolled.run("protector", "remove", "security-key", name, *options, input=PASSWORD + "\n")
        assert words in done.stdout + done.stderr
    assert done.returncode == DONE and kinds(enrolled) == [1]
    assert enrolled.keybag.with_name("keybag.copy").read_bytes() == enrolled.keybag.read_bytes()
    done = unlock(enrolled)
    assert done.returncode == FAILED and "recovery" in done.stderr


@NIGHT
def test_a_reader_made_from_the_text_alone_opens_it(enrolled):
    """FORMAT.md describes the key's challenge, and the way from the answer to the tier keys."""
    pytest.importorskip("nacl")
    from support.vaultreader import Keybag

    (credential,) = enrolled.key.credentials.values()
    vault = bytes.fromhex(credential["party"].removeprefix("latchkey:"))
    challenge = hashlib.blake2b(b"latchkey/1/security-key-salt" + vault, digest_size=32).digest()
    keybag = Keybag(enrolled.keybag.read_bytes(), answer=mac(credential["random"][True], challenge))
    assert unlock(enrolled).returncode == DONE
    delivery = enrolled.daemon_running.deliveries[-1]
    assert (keybag.id, keybag.tiers) == (vault, {(1, "A"): delivery.unlocked, (1, "C"): delivery.session})
    # Without user verification the key gives another answer.
    with pytest.raises(Exception, match="opens no protector"):
        Keybag(enrolled.keybag.read_bytes(), answer=mac(credential["random"][False], challenge))


@NIGHT
def test_the_model_is_the_name_of_a_key_without_one(holder):
    for number, name in enumerate((b"\x0cSoftware Key", b"\x0eSoftware Key 2")):
        socket = holder.connect(Authenticator(PIN))
        assert add(holder).returncode == DONE
        assert name in holder.keybag.read_bytes()
        socket.pull()
    assert kinds(holder) == [1, 6, 6]


def pulled(holder):
    holder.key.touches = holder.socket.pull


@pytest.mark.parametrize("change, typed, words", [
    (lambda holder: None, "4321", "7 tries are left"),
    (pulled, PIN, "was pulled out"),
    *(pytest.param(*case, marks=NIGHT) for case in (
        (lambda holder: holder.socket.pull(), PIN, "no security key was found"),
        (lambda holder: holder.connect(Authenticator(PIN), 1), PIN, "several security keys"),
        (lambda holder: setattr(holder.key, "row", 3), PIN, "Pull the security key out"),
        (lambda holder: setattr(holder.key, "tries", 0), PIN, "the security key is blocked"),
        (lambda holder: setattr(holder.key, "touches", False), PIN, "nobody touched"),
        (lambda holder: setattr(holder.key, "is_busy", True), PIN, "does not answer"),
        (lambda holder: holder.key.credentials.clear(), PIN, "does not unlock this vault"),
        (lambda holder: setattr(holder.key, "pin", None), PIN, "has no PIN"),
        (lambda holder: setattr(holder.key, "extensions", ["hmac-secret"]), PIN, "cannot protect the vault"),
    )),
])  # fmt: skip
def test_a_key_that_does_not_unlock_says_why_and_what_else_does(enrolled, change, typed, words):
    touched, deliveries = enrolled.key.touched, len(enrolled.daemon_running.deliveries)
    change(enrolled)
    done = unlock(enrolled, typed + "\n")
    assert done.returncode == FAILED
    assert words in done.stderr and "latchkey unlock --recovery" in done.stderr, done.stderr
    assert enrolled.key.touched <= touched + 1 and len(enrolled.daemon_running.deliveries) == deliveries


@NIGHT
def test_a_wrong_pin_can_be_corrected_at_a_terminal(enrolled):
    enrolled.daemon_running.status = [
        status(state=LOCKED, vault=enrolled.vault, protectors=BESIDE), status(state=UNLOCKED, vault=enrolled.vault)]
    child = enrolled.terminal(enrolled.program, "unlock", "--security-key", *enrolled.options)
    child.expect_exact("PIN of the security key: ")
    child.sendline("4321")
    child.expect_exact("7 tries are left")
    child.expect_exact("PIN of the security key: ")
    child.sendline(PIN)
    child.expect_exact("Touch your security key.")
    output, code = ending(child)
    assert code == DONE and "The vault is unlocked." in output


@NIGHT
@pytest.mark.parametrize("facts, words", [
    ({"passwordless": 1}, "your login has no password"), ({"state": LOCKED}, "latchkey unlock"),
    ({"state": SEALED}, "latchkey unlock"), ({"generation": 0}, "there is no vault yet"),
])
def test_it_is_not_added_where_it_would_not_help(holder, facts, words):
    holder.connect(Authenticator(PIN))
    holder.is_now(**facts)
    done = add(holder)
    assert done.returncode == FAILED and words in done.stderr and kinds(holder) == [1]


def test_nothing_is_added_without_the_password_or_twice(enrolled):
    done = add(enrolled, "--name", "again", typed=f"wrong\n{PIN}\n")
    assert done.returncode == FAILED and enrolled.key.touched == 2
    done = add(enrolled, "--name", "again")
    assert done.returncode == FAILED and "unlocks the vault already" in done.stderr and enrolled.key.touched == 2
    done = add(enrolled, "--name", "blue")
    assert done.returncode == FAILED and "has that name already" in done.stderr
    assert kinds(enrolled) == [1, 6]


def test_new_keys_keep_it_and_need_no_touch(enrolled):
    touched = enrolled.key.touched
    done = enrolled.run("rotate", "--stdin", *enrolled.options, input=PASSWORD + "\n")
    assert done.returncode == DONE and kinds(enrolled) == [1, 6] and enrolled.key.touched == touched
    assert unlock(enrolled).returncode == DONE


@NIGHT
@pytest.mark.parametrize("words", [
    ("add", "session", "--name", "blue"), ("remove", "security-key"), ("remove", "session", "blue"), ("rename", "blue"),
])
def test_wrong_usage(holder, words):
    assert holder.run("protector", *words).returncode == USAGE


@pytest.mark.parametrize("facts, change, asks", [
    ({}, lambda holder: None, True),
    ({"state": UNLOCKED}, lambda holder: None, False),
    *(pytest.param(*case, marks=NIGHT) for case in (
        ({"state": LOCKED, "without_password": 1}, lambda holder: None, True),
        ({"state": LOCKED}, lambda holder: None, False),
        ({"protectors": ALONE}, lambda holder: None, False),
        ({}, lambda holder: holder.socket.pull(), False),
        ({}, lambda holder: setattr(holder.key, "pin", None), False),
    )),
])  # fmt: skip
def test_after_a_login_without_a_password_a_prompt_is_wanted_where_a_key_is_connected(enrolled, facts, change, asks):
    """The program asks for the prompt on the session bus, which does not exist here."""
    change(enrolled)
    enrolled.is_now(**({"state": SEALED, "protectors": BESIDE} | facts))
    done = enrolled.run("unlock", "--after-login", *enrolled.options)
    assert (done.returncode != DONE, "bus" in done.stderr, done.stdout) == (asks, asks, ""), done
    assert enrolled.key.touched == 2


def test_the_program_started_by_a_person_says_who_starts_it(holder, programs):
    done = subprocess.run([programs / "latchkey-security-key"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 64 and "latchkey unlock" in done.stderr
