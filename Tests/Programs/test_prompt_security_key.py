"""A prompt for an unlock offers the security key, if a key is enrolled. The test uses latchkey-prompt, latchkey-security-key with
libfido2, and a software key at a socket."""

import hashlib
import threading

import pytest
from support.authenticator import PIN as PIN_COMMAND
from support.authenticator import Authenticator, Socket, decoded, mac
from support.derive import ADD_SECURITY_KEY, PASSWORD, UNLOCKED
from support.pace import seconds
from support.prompting import NUMBER, prompting, terminal  # noqa: F401
from support.standin import ACCEPTED, COLLECTION, DISMISSED, SILENT, status
from test_security_key import ALONE, BESIDE, PIN, library  # noqa: F401

NIGHT = pytest.mark.night("login")
OFFER = "Leave the field empty to use your security key."
ASKED = "Enter your login password: "
PIN_ASKED = "Enter the PIN of your security key, then touch the key: "
TOUCH = "Touch your security key."
CTRL_C = "\x03"


class Touch:
    """A person who watches the key, and touches it when the test says so."""

    def __init__(self, key):
        self._waits, self._goes_on = threading.Event(), threading.Event()
        key.touches = lambda: (self._waits.set(), self._goes_on.wait(seconds(30)))

    def is_waiting(self, limit):
        return self._waits.wait(seconds(limit))

    def wait(self):
        assert self.is_waiting(20)

    def give(self):
        self._goes_on.set()


def enroll(resident, key):
    """Adds the key without touches, because the test knows its credential and its answer."""
    content = resident.keybag.read_bytes()
    vault = content[12:28]
    challenge = hashlib.blake2b(b"latchkey/1/security-key-salt" + vault, digest_size=32).digest()
    ident, random = key.know(f"latchkey:{vault.hex()}")
    second = mac(random, challenge) + b"\x04blue" + ident
    assert resident.run(ADD_SECURITY_KEY, token=PASSWORD, password=second) == UNLOCKED


@pytest.fixture
def keyed(prompting, resident, library):  # noqa: F811
    """A person with a vault that a connected security key unlocks."""
    sockets = prompting.folder / "keys"
    sockets.mkdir(mode=0o755)
    prompting.environment |= {"LD_PRELOAD": str(library), "AUTHENTICATORS": f"{sockets}/0"}
    prompting.key = Authenticator(PIN)
    enroll(resident, prompting.key)
    prompting.socket = Socket(prompting.key, sockets / "0")
    prompting.daemon.status = status(state=2, vault=str(resident.vault), protectors=BESIDE, names={1: "blue"})
    return prompting


def choose_key(terminal, offered=True):  # noqa: F811
    if offered:
        terminal.expect(OFFER)
    terminal.expect(ASKED)
    terminal.type("\n")


def test_the_key_unlocks_on_the_terminal_and_no_stack_fails(keyed, terminal):  # noqa: F811
    touch = Touch(keyed.key)
    # The stack counts failures, as pam_faillock does.
    keyed.service("latchkey-unlock", f"auth sufficient pam_pwdfile.so nodelay pwdfile={keyed.folder}/passwd",
                  f"auth required pam_exec.so seteuid type=auth /usr/bin/touch {keyed.folder}/failed")
    keyed.folder.chmod(0o777)
    keyed.start(caller="mail", terminal=terminal.path)
    choose_key(terminal)
    terminal.expect(PIN_ASKED)
    assert terminal.is_silent
    terminal.type(PIN + "\n")
    terminal.expect(TOUCH + " (Ctrl-C cancels)")
    touch.wait()
    assert not keyed.daemon.deliveries
    touch.give()
    assert keyed.end() == ACCEPTED
    assert len(keyed.daemon.deliveries) == 1 and keyed.daemon.answered[-1] == NUMBER
    assert terminal.is_as_before and PIN not in terminal.everything()
    assert not (keyed.folder / "failed").exists()


def test_a_wrong_pin_is_said_beside_the_question_for_the_password(keyed, terminal):  # noqa: F811
    keyed.start(terminal=terminal.path)
    choose_key(terminal)
    terminal.expect(PIN_ASKED)
    terminal.type("4321\n")
    terminal.expect("That is not the PIN of the security key. 7 tries are left")
    terminal.expect(ASKED)
    terminal.type(PASSWORD + "\n")
    assert keyed.end() == ACCEPTED
    assert keyed.key.touched == 0 and not keyed.daemon.deliveries


def pulled(keyed):
    keyed.key.touches = keyed.socket.pull


@NIGHT
@pytest.mark.parametrize("change, asks, words", [
    (lambda keyed: keyed.socket.pull(), False, "No security key was found"),
    (pulled, True, "was pulled out"),
    (lambda keyed: setattr(keyed.key, "row", 3), True, "Pull the security key out"),
    (lambda keyed: setattr(keyed.key, "tries", 0), True, "is blocked"),
    (lambda keyed: setattr(keyed.key, "touches", False), True, "Nobody touched"),
    (lambda keyed: setattr(keyed.key, "is_busy", True), False, "does not answer"),
    (lambda keyed: keyed.key.credentials.clear(), True, "does not unlock this vault"),
    (lambda keyed: setattr(keyed.key, "pin", None), False, "has no PIN"),
    (lambda keyed: setattr(keyed.key, "extensions", ["hmac-secret"]), False, "lacks a part of FIDO2"),
])  # fmt: skip
def test_a_key_that_does_not_unlock_leads_back_to_the_password(keyed, terminal, change, asks, words):  # noqa: F811
    change(keyed)
    keyed.start(terminal=terminal.path)
    choose_key(terminal)
    if asks:
        terminal.expect(PIN_ASKED)
        terminal.type(PIN + "\n")
    terminal.expect(words)
    terminal.expect(ASKED)
    terminal.type(PASSWORD + "\n")
    assert keyed.end() == ACCEPTED
    assert not keyed.daemon.deliveries


def test_after_a_login_without_a_password_the_prompt_begins_with_the_key(keyed, terminal, resident):  # noqa: F811
    keyed.daemon.status = status(state=0, vault=str(resident.vault), protectors=BESIDE)
    keyed.start(caller="mail", terminal=terminal.path)
    terminal.expect('The application "mail"')
    terminal.expect("Leave the field empty to use your login password.")
    terminal.expect(PIN_ASKED)
    terminal.type("4321\n")
    terminal.expect("That is not the PIN of the security key. 7 tries are left")
    choose_key(terminal, offered=False)
    terminal.expect(PIN_ASKED)
    terminal.type(PIN + "\n")
    assert keyed.end() == ACCEPTED and len(keyed.daemon.deliveries) == 1


@NIGHT
@pytest.mark.parametrize("is_connected", [True, False])
def test_such_a_prompt_leads_to_the_password(keyed, terminal, resident, is_connected):  # noqa: F811
    """An empty PIN leads to the password. A key that is not connected leads there too."""
    keyed.daemon.status = status(state=2, without_password=1, vault=str(resident.vault), protectors=BESIDE)
    if not is_connected:
        keyed.socket.pull()
    keyed.start(terminal=terminal.path)
    if is_connected:
        terminal.expect(PIN_ASKED)
        terminal.type("\n")
    terminal.expect(ASKED)
    terminal.type(PASSWORD + "\n")
    assert keyed.end() == ACCEPTED and not keyed.daemon.deliveries
    assert is_connected or "security key was found" not in terminal.everything()


@NIGHT
@pytest.mark.parametrize("way", ["ctrl-c", "withdrawn"])
def test_a_touch_that_nobody_waits_for_any_more_unlocks_nothing(keyed, terminal, way):  # noqa: F811
    touch = Touch(keyed.key)
    keyed.start(terminal=terminal.path)
    choose_key(terminal)
    terminal.expect(PIN_ASKED)
    terminal.type(PIN + "\n")
    touch.wait()
    terminal.expect(TOUCH)
    if way == "ctrl-c":
        terminal.type(CTRL_C)
        assert keyed.end() == DISMISSED
    else:
        keyed.withdraw()
        assert keyed.end() is None
    touch.give()
    assert terminal.is_as_before and not keyed.daemon.deliveries


@NIGHT
def test_a_key_that_takes_its_time_is_told_and_can_be_cancelled(keyed, terminal):  # noqa: F811
    """After the PIN, and before the touch."""
    goes_on, answer = threading.Event(), keyed.key.answer
    # 5 is the request for a token by the PIN.
    keyed.key.answer = lambda request: (
        goes_on.wait(seconds(30)) if request[0] == PIN_COMMAND and decoded(request[1:])[2] == 5 else None, answer(request))[1]
    keyed.start(terminal=terminal.path)
    choose_key(terminal)
    terminal.expect(PIN_ASKED)
    terminal.type(PIN + "\n")
    terminal.expect("Waiting for your security key. (Ctrl-C cancels)")
    terminal.type(CTRL_C)
    assert keyed.end() == DISMISSED
    goes_on.set()
    assert terminal.is_as_before and not keyed.daemon.deliveries and keyed.key.touched == 0


@NIGHT
@pytest.mark.parametrize("answer, end", [("echo OK", DISMISSED), (":", ACCEPTED)], ids=["cancelled", "not touched"])
def test_a_window_says_that_the_key_waits(keyed, answer, end):
    """The window has one button: Cancel. If the touch does not come, another pinentry asks for the password."""
    # The key that is cancelled waits for its touch, so its end does not come before the answer of the window.
    goes_on = threading.Event()
    keyed.key.touches = False if end == ACCEPTED else lambda: goes_on.wait(seconds(30))
    said = keyed.agree(answer)
    pinentry, asked = keyed.programs / "pinentry", keyed.folder / "asked"
    answers = ["", f"D {PIN}", f"D {PASSWORD}"]
    cases = "".join(f"{number}) echo '{text}';; " for number, text in enumerate(answers) if text)
    asked.touch()
    asked.chmod(0o666)
    pinentry.write_text(pinentry.read_text().replace(
        "echo ERR 1", f"case $(wc -l <{asked}) in {cases} esac; echo >>{asked}; echo OK"))
    keyed.environment["PATH"] += ":/usr/bin"
    keyed.start()
    assert keyed.end() == end
    goes_on.set()
    texts = said.read_text()
    assert OFFER in texts and TOUCH in texts and not keyed.daemon.deliveries
    assert len(asked.read_text()) == (2 if end == DISMISSED else 3)


@NIGHT
@pytest.mark.parametrize("facts", [{"protectors": ALONE}, "no program", "silent"], ids=str)
def test_it_is_not_offered_where_it_would_not_help(keyed, terminal, resident, facts):  # noqa: F811
    if facts == "silent":
        keyed.daemon.status = SILENT
    elif facts != "no program":
        keyed.daemon.status = status(state=2, vault=str(resident.vault), **facts)
    else:
        # latchkey-prompt looks for its programs in its own folder.
        alone = keyed.folder / "alone"
        alone.mkdir(mode=0o755)
        (alone / "latchkey-prompt").write_bytes(keyed.program.read_bytes())
        (alone / "latchkey-prompt").chmod(0o755)
        keyed.program = alone / "latchkey-prompt"
    keyed.start(terminal=terminal.path)
    terminal.expect(ASKED)
    terminal.type("\n")
    terminal.expect("That password is not right.")
    terminal.expect(ASKED)
    terminal.type(PASSWORD + "\n")
    assert keyed.end() == ACCEPTED
    assert OFFER not in terminal.everything()


@NIGHT
def test_a_passphrase_of_a_collection_has_no_other_way(keyed, terminal):  # noqa: F811
    keyed.start(purpose=COLLECTION, label="Work", terminal=terminal.path)
    terminal.expect("Enter the passphrase")
    terminal.type(CTRL_C)
    assert keyed.end() == DISMISSED
    assert OFFER not in terminal.everything()
