"""The programs of Examples/ as a person uses them, with the real daemon and PAM. The tests answer the questions."""

import subprocess

import pytest
from support import clientpackage
from support.clients import BEHIND, bring_back, bring_to
from support.items import class_of, the_item
from support.keychain import Windows
from support.peer import Peer
from support.person import ask_on_terminals
from support.session import REPOSITORY
from support.tmux import Tmux

pytestmark = pytest.mark.night("clients")

EXAMPLES = REPOSITORY / "Examples"
NAMES = sorted(path.name for path in EXAMPLES.glob("Sources/*"))
PASSWORD, PASSPHRASE = "the password", "open sesame, please"
LOCKED = (
    "User interaction is not allowed. The session is locked. Unlock the screen, or run 'latchkey unlock'."
)
SEALED = (
    "User interaction is not allowed. Nobody has unlocked the vault in this session yet. Log in with the password, or run "
    "'latchkey unlock'."
)
WRONG = (
    "The user name or passphrase you entered is not correct. The finger or passphrase of the item was not accepted. "
    "Call again to try once more."
)
TWICE = "The specified item already exists in the keychain."
ABSENT = "The specified item could not be found in the keychain."
CANCELED = "User canceled the operation."
CHOOSE, ENTER = 'Choose a passphrase for the item "{}"', 'Enter the passphrase of the item "{}"'


@pytest.fixture(scope="session")
def programs():
    """All example programs. A warning of the compiler is an error, as in the package."""
    clientpackage.build(EXAMPLES)
    with clientpackage.readable(*NAMES) as folder:
        yield folder


@pytest.fixture
def example(session, programs):
    """Runs an example for a person who has logged in. Returns its output or its error message."""
    assert session.login().returncode == 0

    def run(name, *words, input=None):
        done = session.run(programs / name, *words, input=input and input + "\n")
        assert (done.returncode == 0) != bool(done.stderr) and done.returncode in (0, 1), done
        return (done.stdout or done.stderr).rstrip("\n")

    return run


@pytest.fixture
def windows(session, example):
    """A person at a screen, who gives the answers of the test."""
    shown = Windows(session)
    assert session.login().returncode == 0
    return shown


@pytest.mark.parametrize("name", NAMES)
def test_each_tells_its_usage(programs, name):
    done = subprocess.run([programs / name], text=True, stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 1 and done.stderr.startswith(f"usage: {name} "), done


def test_a_password_is_added_and_found_by_its_server(session, example):
    assert example("add-password", "find") == "There is no login for mail.example."
    assert example("add-password", "store", "anna", input=PASSWORD) == ""
    assert example("add-password", "find") == f"anna: {PASSWORD}"
    assert session.lookup("server", "mail.example", "user", "anna") == PASSWORD
    assert example("add-password", "store", "anna", input="another") == TWICE
    assert session.lookup("server", "mail.example") == PASSWORD
    session.restart()
    assert session.login().returncode == 0
    assert example("add-password", "find") == f"anna: {PASSWORD}"


def test_what_secret_tool_stored_is_found(session, example):
    session.store(PASSWORD, "server", "mail.example", "user", "bea")
    assert example("add-password", "find") == f"bea: {PASSWORD}"


@pytest.mark.parametrize("state", ["locked", "sealed", BEHIND])
def test_a_locked_password_is_not_told_and_comes_back(session, example, state):
    """No prompt can appear in this state. The examples report the lock, and find their items again after the unlock."""
    for user in ("anna", "bea"):
        assert example("restrict-accessibility", "store", user, input=PASSWORD) == ""
    assert example("add-password", "store", "anna", input=PASSWORD) == ""
    listed = "bea: when unlocked\nanna: when unlocked"
    assert example("restrict-accessibility", "list") == listed
    assert session.lookup("server", "bank.example", "user", "bea") == PASSWORD
    peer = Peer(session)
    bring_to(state, session, peer)
    why = SEALED if state == "sealed" else LOCKED
    assert example("restrict-accessibility", "list") == why
    assert example("restrict-accessibility", "store", "cleo", input="x") == why
    assert example("add-password", "find") == why
    bring_back(state, session, peer)
    assert example("restrict-accessibility", "list") == listed
    assert example("add-password", "find") == f"anna: {PASSWORD}"
    peer.close()


def test_a_person_is_asked_each_time(session, example, windows):
    assert example("demand-presence", "store", "anna", input=PASSWORD) == ""
    assert windows.take() == ""
    windows.answer(session.password, session.password)
    for _ in range(2):
        assert example("demand-presence", "read", "anna") == PASSWORD
        shown = windows.take()
        # The prompt names the program, the item, and the reason in the program's own words.
        assert "demand-presence" in shown and "anna@bank.example" in shown and "Transfer money" in shown, shown
    assert example("demand-presence", "read", "anna") == CANCELED
    windows.take()
    assert example("demand-presence", "read", "bea") == ABSENT and windows.take() == ""
    windows.answer(session.password)
    assert session.lookup("server", "bank.example", "user", "anna") == PASSWORD and "secret-tool" in windows.take()
    # The first password is wrong, and the second right.
    windows.answer("something else", session.password)
    assert example("demand-presence", "read", "anna") == PASSWORD
    session.lock()
    assert example("demand-presence", "read", "anna") == CANCELED


def test_a_passphrase_that_the_program_brings(session, example, windows):
    (session.root / "pam.d/latchkey-biometry").write_text("auth required pam_permit.so\naccount required pam_permit.so\n")
    assert example("require-passphrase", "store", "anna", input=f"{PASSWORD}\n{PASSPHRASE}") == ""
    assert windows.take() == ""
    # The prompt asks for the finger too.
    windows.agree()
    assert example("require-passphrase", "read", "anna", input=PASSPHRASE) == PASSWORD
    shown = windows.take()
    assert "anna@bank.example" in shown and "Transfer money" in shown and "GETPIN" not in shown, shown
    assert example("require-passphrase", "read", "anna", input="something else") == WRONG
    assert "GETPIN" not in windows.take()
    windows.agree(False)
    assert example("require-passphrase", "read", "anna", input=PASSPHRASE) == CANCELED
    windows.take()
    # A program without the passphrase makes the prompt ask for it. So does another program.
    windows.agree()
    windows.answer(PASSPHRASE, PASSPHRASE)
    assert example("require-passphrase", "read", "anna") == PASSWORD and windows.take().count("GETPIN") == 1
    assert session.lookup("server", "bank.example", "user", "anna") == PASSWORD
    # Without a reader, the PAM stack denies without a question, and no passphrase helps.
    (session.root / "pam.d/latchkey-biometry").write_text("auth required pam_deny.so\naccount required pam_permit.so\n")
    assert PASSWORD not in example("require-passphrase", "read", "anna", input=PASSPHRASE)


def test_a_passphrase_that_a_person_at_a_terminal_chooses(session, example, programs):
    """The person has only a terminal. To confirm the finger, the person goes on to the passphrase."""
    (session.root / "pam.d/latchkey-biometry").write_text("auth required pam_permit.so\naccount required pam_permit.so\n")
    ask_on_terminals(session)
    command, item = f"{programs}/require-passphrase", "anna@bank.example"
    terminal = Tmux(session)
    try:
        terminal.run(f"echo '{PASSWORD}' | {command} store anna; echo status $?")
        terminal.expect('"require-passphrase" (as far as can be told)', CHOOSE.format(item)).type(PASSPHRASE)
        terminal.expect("again").type(PASSPHRASE).expect("status 0").wait_for_shell()
        terminal.run(f"{command} read anna </dev/null; echo status $?").expect("Transfer money")
        terminal.expect(ENTER.format(item)).type(PASSPHRASE).expect(PASSWORD, "status 0").wait_for_shell()
        assert PASSPHRASE not in terminal.screen
        terminal.run(f"{command} read anna </dev/null; echo status $?").expect(ENTER.format(item)).press("C-c")
        terminal.expect("status 1").wait_for_shell()
    finally:
        terminal.close()


def test_tokens(session, example, windows):
    assert example("tokens", "list") == "" and example("tokens", "get", "anna") == "There is no such token."
    assert example("tokens", "set", "anna", input="one") == "" and example("tokens", "get", "anna") == "one"
    assert example("tokens", "set", "anna", input="two") == "" and example("tokens", "get", "anna") == "two"
    service = ["service", "org.latchkey.examples.tokens"]
    assert session.lookup(*service, "account", "anna") == "two"
    assert example("tokens", "guard", "bea", input="three") == ""
    assert example("tokens", "list") == "bea\nanna" and windows.take() == ""
    windows.answer(session.password)
    assert example("tokens", "get", "bea") == "three" and "Show the token of bea" in windows.take()
    assert example("tokens", "get", "bea") == "Then not."
    # One item is readable after the first unlock, the other while unlocked.
    peer = Peer(session)
    for account, accessible in (("anna", "after-first-unlock"), ("bea", "when-unlocked")):
        assert class_of(peer, the_item(peer, {"account": account})) == [accessible]
    bring_to(BEHIND, session, peer)
    assert example("tokens", "get", "anna") == "two"
    assert example("tokens", "get", "bea") == f"Not now. {LOCKED}"
    bring_back(BEHIND, session, peer)
    peer.close()
    windows.take()
    assert example("tokens", "delete", "bea") == "" and example("tokens", "delete", "bea") == "There is no such token."
    assert example("tokens", "list") == "anna" and windows.take() == ""


def test_passwords(session, example):
    assert example("passwords", "get", "mail", "anna") == ABSENT
    for account, password in (("anna", "one"), ("bea", "two"), ("anna", PASSWORD)):
        assert example("passwords", "set", "mail", account, input=password) == ""
    assert example("passwords", "get", "mail", "anna") == PASSWORD
    # If two items changed in the same second, their order is random.
    assert sorted(example("passwords", "list", "mail").split()) == ["anna", "bea"] and example("passwords", "list", "post") == ""
    assert session.lookup("service", "mail", "account", "anna") == PASSWORD
    session.store("three", "service", "mail", "account", "cleo")
    assert example("passwords", "get", "mail", "cleo") == "three"
    # The program's own items are readable behind the locked screen.
    session.lock()
    assert example("passwords", "get", "mail", "anna") == PASSWORD
    assert example("passwords", "set", "mail", "anna", input="four") == ""
    assert example("passwords", "get", "mail", "cleo") == LOCKED
    assert session.locker().returncode == 0
    assert example("passwords", "get", "mail", "anna") == "four"
    assert session.logout().returncode == 0
    assert example("passwords", "get", "mail", "anna") == SEALED
    assert session.login().returncode == 0
    assert example("passwords", "delete", "mail", "anna") == "" and example("passwords", "delete", "mail", "cleo") == ""
    assert example("passwords", "delete", "mail", "anna") == ABSENT and example("passwords", "list", "mail") == "bea"
    assert session.lookup("service", "mail", "account", "cleo") is None
