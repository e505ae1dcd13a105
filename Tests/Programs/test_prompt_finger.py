"""A prompt that unlocks offers a finger where the device key service holds its key. latchkeyd has the finger verified, by
Tests/Integration/Device: here it is a stand-in, which says how that ended."""

import pytest
from support.derive import PASSWORD
from support.prompting import NUMBER, prompting, terminal  # noqa: F401
from support.standin import ACCEPTED, DISMISSED, SILENT, declined, status
from test_prompt_security_key import ASKED, CTRL_C, PIN, PIN_ASKED, keyed, library  # noqa: F401
from test_security_key import BESIDE

NIGHT = pytest.mark.night("prompters")
OFFER = "Leave the field empty to use your finger."
TOUCH = "Touch the fingerprint reader. (Ctrl-C cancels)"
IN_TPM, LOCKED, SEALED = 2, 2, 0


@pytest.fixture
def held(prompting):  # noqa: F811
    prompting.daemon.status = status(state=LOCKED, finger=IN_TPM)
    # A stack counts what fails, as pam_faillock does.
    prompting.service(
        "latchkey-unlock", f"auth sufficient pam_pwdfile.so nodelay pwdfile={prompting.folder}/passwd",
        f"auth required pam_exec.so seteuid type=auth /usr/bin/touch {prompting.folder}/failed")
    prompting.folder.chmod(0o777)
    return prompting


def choose_finger(terminal):  # noqa: F811
    terminal.expect(ASKED)
    terminal.type("\n")
    terminal.expect(TOUCH)


def test_a_finger_unlocks_on_the_terminal_and_no_stack_fails(held, terminal):  # noqa: F811
    held.start(caller="mail", terminal=terminal.path)
    terminal.expect(OFFER)
    choose_finger(terminal)
    assert held.end() == ACCEPTED and held.daemon.touching == [NUMBER]
    assert terminal.is_as_before and not (held.folder / "failed").exists()


def test_a_finger_that_does_not_unlock_leads_back_to_the_password(held, terminal):  # noqa: F811
    held.daemon.touch = declined("that finger does not match")
    held.start(terminal=terminal.path)
    choose_finger(terminal)
    terminal.expect("The finger did not unlock the vault: that finger does not match.")
    terminal.expect(ASKED)
    terminal.type(PASSWORD + "\n")
    assert held.end() == ACCEPTED


@NIGHT
@pytest.mark.parametrize("way", ["ctrl-c", "withdrawn"])
def test_a_touch_that_nobody_waits_for_any_more(held, terminal, way):  # noqa: F811
    held.daemon.touch = SILENT
    held.start(terminal=terminal.path)
    choose_finger(terminal)
    if way == "ctrl-c":
        terminal.type(CTRL_C)
        assert held.end() == DISMISSED
    else:
        held.withdraw()
        assert held.end() is None
    assert terminal.is_as_before


def test_it_is_not_offered_on_a_terminal_at_another_machine(held, terminal):  # noqa: F811
    """An empty answer goes to the stack there, as any other."""
    held.service("latchkey-unlock", held.password_line)
    held.start(terminal=terminal.path, away=True)
    terminal.expect(ASKED)
    terminal.type("\n")
    terminal.expect(ASKED)
    terminal.type(PASSWORD + "\n")
    assert held.end() == ACCEPTED and OFFER not in terminal.everything() and held.daemon.touching == []


@NIGHT
@pytest.mark.parametrize("facts", [{"finger": 1, "state": LOCKED}, {"finger": IN_TPM, "state": SEALED}], ids=str)
def test_it_is_not_offered_where_it_would_not_help(held, terminal, facts):  # noqa: F811
    held.daemon.status = status(**facts)
    held.start(terminal=terminal.path)
    terminal.expect(ASKED)
    terminal.type(PASSWORD + "\n")
    assert held.end() == ACCEPTED and OFFER not in terminal.everything()


@NIGHT
def test_a_finger_comes_before_the_security_key(keyed, terminal, resident):  # noqa: F811
    keyed.daemon.status = status(
        state=LOCKED, vault=str(resident.vault), protectors=BESIDE, names={1: "blue"}, finger=IN_TPM)
    keyed.daemon.touch = declined("nobody touched it")
    keyed.start(terminal=terminal.path)
    terminal.expect(f"{OFFER} Leave it empty once more to use your security key.")
    choose_finger(terminal)
    terminal.expect("nobody touched it.")
    terminal.expect(ASKED)
    terminal.type("\n")
    terminal.expect(PIN_ASKED)
    terminal.type(PIN + "\n")
    assert keyed.end() == ACCEPTED and len(keyed.daemon.deliveries) == 1 and keyed.daemon.touching == [NUMBER]
