"""latchkey-prompt and odd PAM stacks: services without a file of their own, and stacks that refuse every answer."""

import pathlib

import pytest
from support.derive import PASSWORD
from support.prompting import prompting, terminal  # noqa: F401
from support.standin import ACCEPTED, COLLECTION, ITEM, LOGIN, NEW_ITEM_PASSPHRASE, UNAVAILABLE, WRONG_ANSWERS

PRESENCE, ANY_FINGER, PASSCODE = 0x1, 0x2, 0x10
OR, PASSPHRASE = 1 << 14, 1 << 31
GRANTED = "auth required pam_permit.so"
REQUESTS = {
    "latchkey-unlock": dict(purpose=LOGIN), "latchkey-collection": dict(purpose=COLLECTION, label="Work"),
    "latchkey-presence": dict(purpose=ITEM, label="Bank", access=PRESENCE),
    "latchkey-biometry": dict(purpose=ITEM, label="Bank", access=ANY_FINGER),
    "latchkey-item": dict(purpose=ITEM, label="Bank", access=PASSPHRASE)}  # fmt: skip


@pytest.fixture(autouse=True)
def lenient(prompting):
    """libpam's own substitute for a missing service lets everybody in."""
    prompting.service("other", GRANTED, "account required pam_permit.so")


@pytest.mark.parametrize("service", REQUESTS)
def test_nothing_stands_in_for_a_missing_service(prompting, service):
    (prompting.pam / service).unlink()
    prompting.start(**REQUESTS[service])
    assert prompting.end() == UNAVAILABLE
    assert prompting.said.count(f"there is no file {prompting.pam}/{service}\n") == 1, prompting.said


def test_nothing_stands_in_for_a_folder(prompting):
    (prompting.pam / "latchkey-biometry").unlink()
    (prompting.pam / "latchkey-biometry").mkdir()
    prompting.start(**REQUESTS["latchkey-biometry"])
    assert prompting.end() == UNAVAILABLE and "there is no file" in prompting.said


@pytest.mark.parametrize("line", [
    "", "#auth required pam_permit.so", "account required pam_permit.so", "authx required", "session include other"])
def test_nothing_stands_in_for_what_a_service_lacks(prompting, line):
    prompting.service("latchkey-biometry", line)
    prompting.start(**REQUESTS["latchkey-biometry"])
    assert prompting.end() == UNAVAILABLE
    assert prompting.said.count(f"{prompting.pam}/latchkey-biometry has no line for auth\n") == 1, prompting.said


@pytest.mark.parametrize("line", [
    GRANTED, "  -AUTH\trequired\tpam_permit.so", "auth \\\n required pam_permit.so", "@include {}", "auth include {}",
    "auth substack {}", "# first\naccount required pam_deny.so\n" + GRANTED])
def test_lines_for_auth_are_recognised(prompting, line):
    # The whole path is needed, because this libpam looks for other names in /etc/pam.d only.
    prompting.service("shared", GRANTED)
    prompting.service("latchkey-biometry", line.format(prompting.pam / "shared"))
    prompting.agree()
    prompting.start(**REQUESTS["latchkey-biometry"])
    assert prompting.end() == ACCEPTED, prompting.said


def test_one_of_two_may_be_missing(prompting):
    (prompting.pam / "latchkey-biometry").unlink()
    prompting.service("latchkey-presence", GRANTED)
    prompting.agree()
    prompting.start(purpose=ITEM, label="Bank", access=ANY_FINGER | PASSCODE | OR)
    assert prompting.end() == ACCEPTED
    prompting.number += 1
    prompting.start(purpose=ITEM, label="Bank", access=ANY_FINGER | PASSCODE)
    assert prompting.end() == UNAVAILABLE


@pytest.mark.parametrize("service, purpose", [
    ("latchkey-presence", ITEM), ("latchkey-item", ITEM), ("latchkey-item", NEW_ITEM_PASSPHRASE)])
def test_a_stack_that_denies_asks_nobody_and_is_run_once(prompting, terminal, service, purpose):
    ran = prompting.folder / "ran"
    ran.touch()
    ran.chmod(0o666)
    script = prompting.folder / "note"
    script.write_text(f"#!/bin/sh\necho run >>{ran}\n")
    script.chmod(0o755)
    prompting.service(
        service, f"auth optional pam_exec.so quiet {script}", "auth requisite pam_deny.so", prompting.password_line)
    access = PRESENCE if service == "latchkey-presence" else PASSPHRASE
    prompting.start(purpose=purpose, label="Bank", access=access, terminal=terminal.path)
    assert prompting.end() == UNAVAILABLE and ran.read_text() == "run\n"
    assert "assword" not in terminal.everything() and prompting.said.count("PAM asks nobody") == 1


def test_a_stack_that_denies_after_the_question_asks_three_times(prompting, terminal):
    prompting.service("latchkey-presence", prompting.password_line, "auth required pam_deny.so")
    prompting.start(purpose=ITEM, label="Bank", access=PRESENCE, terminal=terminal.path)
    for _ in range(3):
        terminal.expect("Enter your login password to unlock")
        terminal.type(PASSWORD + "\n")
    assert prompting.end() == WRONG_ANSWERS and terminal.is_as_before


@pytest.mark.parametrize("password, outcome", [(PASSWORD, ACCEPTED), ("wrong", WRONG_ANSWERS)])
def test_the_file_for_accounts_of_a_directory(prompting, terminal, password, outcome):
    """The file of pam_latchkey(8) for latchkey-presence. A module that this machine has replaces the directory's."""
    text = (pathlib.Path(__file__).parents[2] / "docs/man/pam_latchkey.8").read_text()
    block = text.split(".Sh ACCOUNTS OF A DIRECTORY\n")[1].split(".Bd -literal -offset indent\n")[1].split("\n.Ed")[0]
    lines = [line.strip() for line in block.splitlines() if "pam_latchkey.so" not in line]
    assert len(lines) == 5 and "pam_sss.so" in block
    directory = prompting.password_line.removeprefix("auth required ")
    prompting.service("latchkey-presence", *(line.replace("pam_sss.so", directory) for line in lines))
    prompting.start(purpose=ITEM, label="Bank", access=PRESENCE, terminal=terminal.path)
    for _ in range(1 if outcome == ACCEPTED else 3):
        terminal.expect("Enter your login password to unlock")
        terminal.type(password + "\n")
    assert prompting.end() == outcome and terminal.is_as_before
