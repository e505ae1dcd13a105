"""latchkey protector: its warnings before it adds anything, the cases in which it refuses, and the password, which only PAM
checks."""

import json
import re

import pytest
from support.derive import PASSWORD
from support.deviced import service  # noqa: F401
from support.documents import REPOSITORY
from support.standin import status
from test_command import DONE, FAILED, LOCKED, SEALED, UNLOCKED, USAGE, ending, person  # noqa: F401
from test_derive_rotate import Bag

PROMISE = "That is a weaker promise than before: whoever is root on this machine"
ONLY_PASSWORD, WITH_SESSION = [(1, 1, 1700000000)], [(1, 1, 1700000000), (3, 1, 1700000001)]


@pytest.fixture
def holder(person, programs, resident, service):  # noqa: F811
    """A person at a terminal who has a vault, on a machine with a device key service."""
    person.options = [
        "--pam-folder", person.pam, "--derive-program", programs / "latchkey-derive", "--device-socket", service.path]
    person.keybag = resident.keybag
    person.vault = str(resident.vault)
    daemon = person.daemon()
    person.is_now = lambda **facts: setattr(
        daemon, "status", status(**{"state": UNLOCKED, "device": "host", "vault": person.vault, **facts}))
    person.is_now()
    return person


def add(person, *words, typed=PASSWORD + "\n"):  # noqa: F811
    return person.run("protector", "add", "session", *words, "--stdin", *person.options, input=typed)


def kinds(person):  # noqa: F811
    return Bag(person.keybag.read_bytes()).kinds


def test_added_and_removed(holder):
    done = add(holder, "--yes")
    assert (done.returncode, done.stderr) == (DONE, "")
    assert PROMISE in done.stdout and "from now on" in done.stdout
    assert kinds(holder) == [1, 3]
    done = holder.run("protector", "remove", "session", "--stdin", *holder.options, input=PASSWORD + "\n")
    assert done.returncode == DONE and "An older copy of the keybag still opens at such a login" in done.stdout
    assert "latchkey device forget" in done.stdout and "/etc/latchkey/services" in done.stdout
    assert kinds(holder) == [1]
    done = holder.run("protector", "remove", "session", "--stdin", *holder.options, input=PASSWORD + "\n")
    assert done.returncode == DONE and "rotate" not in done.stdout


@pytest.mark.parametrize("answer, outcome", [("yes", DONE), (" YES ", DONE), ("", FAILED), ("y", FAILED), ("no", FAILED)])
def test_it_says_what_it_means_and_asks(holder, answer, outcome):
    child = holder.terminal(holder.program, "protector", "add", "session", *holder.options)
    child.expect(PROMISE)
    child.expect_exact("Type 'yes' to go on: ")
    child.sendline(answer)
    if outcome == DONE:
        child.expect("assword: ")
        child.sendline(PASSWORD)
    output, code = ending(child)
    assert code == outcome
    assert ("nothing was changed" in output) == (outcome == FAILED)
    assert kinds(holder) == ([1, 3] if outcome == DONE else [1])


def test_without_a_terminal_it_takes_a_word_for_it(holder):
    done = add(holder)
    assert done.returncode == FAILED and "run the command again with --yes" in done.stderr
    assert kinds(holder) == [1]


@pytest.mark.parametrize("facts, words", [
    ({"passwordless": 1}, "your login has no password"), ({"state": LOCKED}, "latchkey unlock"),
    ({"state": SEALED}, "latchkey unlock"), ({"device": "file"}, "device key service"),
    ({"device": "unavailable"}, "device key service"), ({"device": ""}, "device key service"),
    ({"generation": 0}, "there is no vault yet"),
])
def test_what_it_is_refused_for(holder, facts, words):
    holder.is_now(**facts)
    done = add(holder, "--yes")
    assert done.returncode == FAILED and words in done.stderr
    assert PROMISE not in done.stdout and kinds(holder) == [1]
    if "passwordless" in facts:
        done = holder.run("protector", "remove", "session", *holder.options)
        assert done.returncode == FAILED and words in done.stderr


def test_a_vault_that_lost_its_password_meanwhile(holder, programs, folder):
    """The daemon has not noticed the change yet, and the helper answers that there is nothing to do."""
    helper = folder / "says-nothing-needed"
    helper.write_text("#!/bin/sh\ncat >/dev/null <&0\nprintf '\\001' >&0\n")
    helper.chmod(0o755)
    holder.options[holder.options.index("--derive-program") + 1] = helper
    done = add(holder, "--yes")
    assert done.returncode == FAILED and "your login has no password" in done.stderr and "failed" not in done.stderr


def test_pam_decides_about_the_password(holder):
    done = add(holder, "--yes", typed="not it\n")
    assert done.returncode == FAILED and "was not accepted" in done.stderr
    # A password that PAM accepts but the vault does not.
    holder.service("auth required pam_permit.so")
    done = add(holder, "--yes")
    assert done.returncode == FAILED and "PAM asked for no password" in done.stderr
    assert kinds(holder) == [1]


def test_a_service_that_is_away(holder, service):  # noqa: F811
    service.stop()
    done = add(holder, "--yes")
    assert done.returncode == FAILED and "the device key service refused" in done.stderr
    assert kinds(holder) == [1]


def test_rotate_says_that_it_ended(holder):
    """The protector is missing after the rotation, as if the service could not wrap another secret."""
    daemon = holder.login.daemons[-1]

    def answers(*protectors):
        return [status(state=UNLOCKED, device="host", vault=holder.vault, protectors=one) for one in protectors]

    for after, is_said in ((ONLY_PASSWORD, True), (WITH_SESSION, False)):
        daemon.status = answers(WITH_SESSION, after)
        done = holder.run("rotate", "--stdin", *holder.options, input=PASSWORD + "\n")
        assert done.returncode == DONE, done.stderr
        assert ("latchkey protector add session" in done.stderr) == is_said


def test_every_kind_has_a_line(holder):
    """The list, the JSON and `status` use the names of FORMAT.md."""
    table = re.findall(r"^\| (\d) \| `([\w-]+)` \| [^|]+ \| ([\w-]+) \|", (REPOSITORY / "FORMAT.md").read_text(), re.M)
    assert len(table) >= 4
    holder.is_now(protectors=[(int(number), 1, 1700000000 + int(number)) for number, _, _ in table])
    listed = json.loads(holder.run("protector", "list", "--json").stdout)
    assert [(one["kind"], one["unlocks"]) for one in listed] == [(name, reach) for _, name, reach in table]
    lines = holder.run("protector").stdout.splitlines()
    assert lines == holder.run("protector", "list").stdout.splitlines()
    assert lines[0] == "2023-11-14T22:13:21Z  login password"
    assert lines[2] == "2023-11-14T22:13:23Z  logins without a password (after-first-unlock only)"
    texts = [line.split("  ", 1)[1] for line in lines]
    shown = holder.run("status").stdout
    assert re.search("^Unlocked by +" + r"\n +".join(map(re.escape, texts)) + "$", shown, re.M), shown
    # Every kind has the commands add and remove. A command changes the keybag or names the command that does.
    for _, name, _ in table:
        if name in ("password", "device"):
            for word in ("add", "remove"):
                done = holder.run("protector", word, name)
                assert done.returncode == FAILED and f"no command {word}s" in done.stderr and "password" in done.stderr


def test_the_recovery_code_is_one_of_them(holder):
    done = holder.run("protector", "add", "recovery-code", "--stdout", "--stdin", *holder.options, input=PASSWORD + "\n")
    assert (done.returncode, done.stderr) == (DONE, "") and kinds(holder) == [1, 2]
    done = holder.run("recovery", "check", "--stdin", *holder.options, input=done.stdout)
    assert done.returncode == DONE
    holder.is_now(code=1700000000)
    done = holder.run("protector", "remove", "recovery-code", "--stdin", *holder.options, input=PASSWORD + "\n")
    assert done.returncode == DONE and "latchkey rotate" in done.stdout and kinds(holder) == [1]


@pytest.mark.parametrize("words", [
    ("add",), ("add", "thumb"), ("remove", "face"), ("forget", "session"), ("add", "session", "--stdout")])
def test_wrong_usage(holder, words):
    assert holder.run("protector", *words).returncode == USAGE
