"""latchkey-prompt for an item: the PAM services of the item's requirements, their order, and their combination."""

import pytest
from support.derive import PASSWORD
from support.prompting import prompting, terminal  # noqa: F401
from support.standin import ACCEPTED, DISMISSED, ITEM, ITEM_ACCESS, NEW_ITEM_PASSPHRASE, UNAVAILABLE

PRESENCE, ANY_FINGER, CURRENT_FINGERS, PASSCODE = 0x1, 0x2, 0x8, 0x10
OR, AND, PASSPHRASE = 1 << 14, 1 << 15, 1 << 31
ASKED = "Enter your login password to unlock"
GRANTED, DENIED = "auth required pam_permit.so", "auth required pam_deny.so"
SERVICES = {"presence": "latchkey-presence", "biometry": "latchkey-biometry", "item": "latchkey-item"}


def stacks(prompting, **lines):
    """The stacks of the services. Each service records that it was run."""
    for short, name in SERVICES.items():
        script = prompting.folder / f"note-{short}"
        script.write_text(f"#!/bin/sh\necho {short} >>{prompting.folder}/ran\n")
        script.chmod(0o755)
        prompting.service(name, f"auth optional pam_exec.so quiet {script}", lines.get(short, DENIED))
    (prompting.folder / "ran").touch()
    (prompting.folder / "ran").chmod(0o666)


def ran(prompting):
    return (prompting.folder / "ran").read_text().split()


@pytest.mark.parametrize("access, stack, outcome, expected", [
    (PRESENCE, {"presence": GRANTED}, ACCEPTED, ["presence"]),
    (PASSCODE, {"presence": GRANTED}, ACCEPTED, ["presence"]),
    (ANY_FINGER, {"biometry": GRANTED}, ACCEPTED, ["biometry"]),
    (CURRENT_FINGERS, {"biometry": GRANTED}, ACCEPTED, ["biometry"]),
    (PASSPHRASE, {"item": GRANTED}, ACCEPTED, ["item"]),
    (PRESENCE | PASSPHRASE, {"presence": GRANTED, "item": GRANTED}, ACCEPTED, ["presence", "item"]),
    (PRESENCE | PASSPHRASE, {"item": GRANTED}, UNAVAILABLE, ["presence"]),
    (PRESENCE | PASSPHRASE, {"presence": GRANTED}, UNAVAILABLE, ["presence", "item"]),
    (ANY_FINGER | PASSCODE, {"biometry": GRANTED, "presence": GRANTED}, ACCEPTED, ["biometry", "presence"]),
    (ANY_FINGER | PASSCODE | AND, {"presence": GRANTED}, UNAVAILABLE, ["biometry"]),
    (ANY_FINGER | PASSCODE, {"biometry": GRANTED}, UNAVAILABLE, ["biometry", "presence"]),
    (ANY_FINGER | PASSCODE | OR, {"presence": GRANTED}, ACCEPTED, ["biometry", "presence"]),
    (ANY_FINGER | PASSCODE | OR, {"biometry": GRANTED}, ACCEPTED, ["biometry"]),
    (ANY_FINGER | PASSCODE | OR, {}, UNAVAILABLE, ["biometry", "presence"]),
    (ANY_FINGER | OR | PASSPHRASE, {"biometry": GRANTED, "item": GRANTED}, ACCEPTED, ["biometry", "item"]),
    (CURRENT_FINGERS | PASSCODE | OR | PASSPHRASE, {"presence": GRANTED}, UNAVAILABLE, ["biometry", "presence", "item"]),
])  # fmt: skip
def test_what_must_be_accepted(prompting, access, stack, outcome, expected):
    stacks(prompting, **stack)
    prompting.agree()
    prompting.start(purpose=ITEM, label="Bank", access=access)
    assert prompting.end() == outcome
    assert ran(prompting) == expected


@pytest.mark.parametrize("purpose", [ITEM, ITEM_ACCESS])
@pytest.mark.parametrize("answer, outcome", [("echo OK", ACCEPTED), ("echo ERR 83886194 no", DISMISSED), ("exit 0", DISMISSED)])
def test_what_nobody_saw_is_agreed_to(prompting, purpose, answer, outcome):
    """The stack asks no question, as for a finger, so the touch may have been for something else."""
    stacks(prompting, biometry=GRANTED)
    said = prompting.agree(answer)
    prompting.start(purpose=purpose, label="Bank", caller="mail", access=ANY_FINGER, change="to require nothing")
    assert prompting.end() == outcome
    assert 'item "Bank"' in said.read_text() and '"mail"' in said.read_text()


def test_where_nobody_can_see_it_nothing_counts(prompting):
    stacks(prompting, biometry=GRANTED)
    prompting.start(purpose=ITEM, label="Bank", access=ANY_FINGER)
    assert prompting.end() == UNAVAILABLE and ran(prompting) == ["biometry"]


@pytest.mark.parametrize("answer, outcome", [("echo OK", ACCEPTED), ("echo ERR 83886194 no", DISMISSED)])
def test_a_module_that_only_tells_is_agreed_to_before_it_goes_on(prompting, answer, outcome):
    text = prompting.folder / "text"
    text.write_text("Place your finger on the reader")
    text.chmod(0o644)
    prompting.service("latchkey-biometry", f"auth optional pam_echo.so file={text}", GRANTED)
    said = prompting.agree(answer)
    prompting.start(purpose=ITEM, label="Bank", access=ANY_FINGER)
    assert prompting.end() == outcome
    assert "Place your finger" in said.read_text() and 'item "Bank"' in said.read_text()


def test_where_there_are_windows_a_terminal_shows_nobody_anything(prompting, terminal):
    """The terminal may be covered, or may belong only to the program that asks."""
    text = prompting.folder / "text"
    text.write_text("Place your finger on the reader")
    text.chmod(0o644)
    prompting.service("latchkey-biometry", f"auth optional pam_echo.so file={text}", GRANTED)
    said = prompting.agree("echo ERR 83886194 no")
    prompting.start(purpose=ITEM, label="Bank", access=ANY_FINGER, terminal=terminal.path)
    assert prompting.end() == DISMISSED and "Place your finger" in said.read_text()
    assert "Place" not in terminal.everything()


def test_on_a_terminal_what_is_told_is_seen(prompting, terminal):
    text = prompting.folder / "text"
    text.write_text("Place your finger on the reader")
    text.chmod(0o644)
    prompting.service("latchkey-biometry", f"auth optional pam_echo.so file={text}", GRANTED)
    prompting.start(purpose=ITEM, label="Bank", access=ANY_FINGER, terminal=terminal.path)
    terminal.expect('wants to read or change the item "Bank".')
    terminal.expect("Place your finger")
    assert prompting.end() == ACCEPTED
    # If no module mentions a condition, the prompt asks about it.
    stacks(prompting, biometry=GRANTED)
    for typed, outcome in (("\n", ACCEPTED), ("\x03", DISMISSED)):
        prompting.number += 1
        prompting.start(purpose=ITEM, label="Bank", access=ANY_FINGER, terminal=terminal.path)
        terminal.expect("Allow this")
        terminal.type(typed)
        assert prompting.end() == outcome and terminal.is_as_before


def test_the_person_is_told_what_is_wanted_by_whom(prompting, terminal):
    prompting.start(purpose=ITEM, label="Bank", caller="mail", access=PRESENCE, terminal=terminal.path)
    terminal.expect('The application "mail" (as far as can be told) wants to read or change the item "Bank".')
    terminal.expect(ASKED)
    assert terminal.is_silent
    terminal.type("wrong\n")
    terminal.expect("That password is not right. Try again.")
    terminal.expect(ASKED)
    terminal.type(PASSWORD + "\n")
    assert prompting.end() == ACCEPTED and terminal.is_as_before


def test_who_does_not_want_to_is_not_asked_for_the_rest(prompting, terminal):
    prompting.start(purpose=ITEM, label="Bank", access=ANY_FINGER | PASSCODE | OR | PASSPHRASE, terminal=terminal.path)
    terminal.expect(ASKED)
    terminal.type("\x03")
    assert prompting.end() == DISMISSED and terminal.is_as_before


def test_a_new_passphrase_is_typed_twice(prompting, terminal):
    prompting.start(purpose=NEW_ITEM_PASSPHRASE, label="Bank", caller="mail", terminal=terminal.path)
    terminal.expect('wants the item "Bank" to have a passphrase.')
    first, second = 'Choose a passphrase for the item "Bank": ', 'Enter the new passphrase of the item "Bank" again: '
    terminal.expect(first)
    terminal.type("one\n")
    terminal.expect(second)
    terminal.type("other\n")
    terminal.expect("The two passphrases were not the same.")
    for question in (first, second):
        terminal.expect(question)
        terminal.type(PASSWORD + "\n")
    assert prompting.end() == ACCEPTED
