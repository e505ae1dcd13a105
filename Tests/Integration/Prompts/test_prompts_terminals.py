"""Protected items on the terminal of the reading program. A shell runs in tmux, and the prompt is line by line or by
pinentry-curses.
"""

import os
import pathlib
import signal

import pytest
from support.clients import CLASS
from support.dialog import locker  # noqa: F401
from support.session import is_alive, wait_until
from support.tmux import Tmux

pytestmark = [pytest.mark.night("prompters"), pytest.mark.second_try]

REQUIRE = "latchkey:require"
PASSPHRASE = "open sesame, please"
SECRET = "what-the-bank-wants"
STORE = f"printf {SECRET} | secret-tool store --label=Bank bank mine {REQUIRE}"
LOOKUP = "secret-tool lookup bank mine; echo status $?"
GET = "latchkey get --show bank=mine; echo status $?"
CHOOSE, AGAIN = 'Choose a passphrase for the item "Bank"', 'Enter the new passphrase of the item "Bank" again'
ENTER = 'Enter the passphrase of the item "Bank"'
WRONG, DIFFERENT = "That passphrase is not right.", "The two passphrases were not the same."


class Desk:
    """A person at a terminal. The prompt takes one of the two ways."""

    def __init__(self, session, way):
        self.session, self.way = session, way
        pinentry = session.root / "bin/pinentry"
        pinentry.unlink(missing_ok=True)
        if way == "curses":
            pinentry.symlink_to("/usr/bin/pinentry-curses")
        else:
            pinentry.write_text("#!/bin/false\n")
            pinentry.chmod(0o755)
        self.terminal = Tmux(session)
        self.before = self.terminal.settings

    def close(self):
        self.terminal.close()

    def remove(self):
        self.session.run("latchkey", "rm", "--all", "bank=mine")
        assert self.session.status()["items"] == 0

    def store(self, conditions="application-password", *attributes):
        self.terminal.run(" ".join([STORE, conditions, *attributes])).expect(CHOOSE).type(PASSPHRASE)
        self.terminal.expect(AGAIN).type(PASSPHRASE).wait_for_shell()
        assert self.session.status()["items"] == 1

    def dismiss(self):
        """Presses Ctrl-C. A full-screen program reads Ctrl-C as a character, and only after Enter."""
        self.terminal.press("C-c", *(["Enter"] if self.way == "curses" else []))

    def ended(self, status, secret=False):
        """Checks the program's exit status, whether it showed the secret, and that the terminal is in its former state.
        """
        self.terminal.expect(f"status {status}").wait_for_shell()
        shown = self.terminal.screen
        assert (SECRET in shown) is secret and PASSPHRASE not in shown
        self.is_as_before()

    def is_as_before(self):
        assert self.terminal.settings == self.before

    def read(self):
        """Checks that the next prompt works."""
        self.terminal.run(LOOKUP).expect(ENTER).type(PASSPHRASE)
        self.ended(0, secret=True)

    def processes(self, name):
        """The processes of this session with this name. Other sessions may run at the same time."""
        found = self.session.run("pgrep", "-U", str(self.session.uid), "-f", name).stdout.split()
        return [int(process) for process in found if is_alive(int(process)) and self.is_own(process)]

    def is_own(self, process):
        try:
            return str(self.session.root).encode() in pathlib.Path(f"/proc/{process}/environ").read_bytes()
        except OSError:
            return False

    def prompt(self):
        """The process of latchkey-prompt."""
        (process,) = self.processes(f"latchkey-prompt.*{self.session.root}/run")
        return process


@pytest.fixture(scope="module")
def opened(shared_session):
    assert shared_session.login().returncode == 0
    return shared_session


@pytest.fixture(scope="module", params=["lines", "curses"])
def seat(opened, request):
    seated = Desk(opened, request.param)
    yield seated
    seated.close()


@pytest.fixture
def desk(seat):
    """A desk with an unlocked vault."""
    assert seat.session.login().returncode == 0
    return seat


@pytest.fixture
def dialog(desk):
    """The desk that the fixture of the locker uses."""
    return desk


@pytest.fixture
def stored(desk):
    """An item with a passphrase. The item's keys stay in memory behind a locker."""
    if desk.session.status()["items"] == 0:
        desk.store("application-password", CLASS, "after-first-unlock")
    return desk


def test_a_passphrase_is_chosen_and_asked_for(desk):
    desk.remove()
    terminal = desk.terminal
    terminal.run(f"{STORE} application-password").expect('"secret-tool" (as far as can be told)', CHOOSE)
    # The test presses Enter twice. The second one must not answer the second question.
    terminal.type(PASSPHRASE, key="").press("Enter", "Enter").expect(AGAIN).type(PASSPHRASE).wait_for_shell()
    assert DIFFERENT not in terminal.screen
    desk.is_as_before()
    terminal.run(LOOKUP).expect('"secret-tool" (as far as can be told)', ENTER).type(PASSPHRASE)
    desk.ended(0, secret=True)


def test_two_that_differ(desk):
    desk.remove()
    terminal = desk.terminal
    terminal.run(f"{STORE} application-password").expect(CHOOSE).type(PASSPHRASE).expect(AGAIN).type("something else")
    terminal.expect(DIFFERENT, CHOOSE).type(PASSPHRASE)
    if desk.way == "lines":
        terminal.expect(AGAIN, times=2)
    else:
        terminal.expect(AGAIN, gone=DIFFERENT)
    terminal.type(PASSPHRASE).wait_for_shell()
    desk.read()


def test_wrong_then_right(stored):
    terminal = stored.terminal
    terminal.run(LOOKUP).expect(ENTER).type("something else").expect(WRONG).type(PASSPHRASE)
    stored.ended(0, secret=True)


def test_what_is_typed_while_nothing_is_asked_is_not_shown(stored):
    terminal = stored.terminal
    daemon = stored.session.daemon_pid()
    terminal.run(LOOKUP).expect(ENTER)
    os.kill(daemon, signal.SIGSTOP)
    terminal.type("something else")
    if stored.way == "curses":
        wait_until(lambda: not stored.processes("^pinentry") or ENTER not in terminal.screen, "the end of the question")
    terminal.type("too early", key="")
    os.kill(daemon, signal.SIGCONT)
    terminal.expect(WRONG)
    assert "too early" not in terminal.screen
    terminal.type(PASSPHRASE)
    stored.ended(0, secret=True)


@pytest.mark.parametrize("command", [LOOKUP, GET], ids=["secret-tool", "latchkey"])
def test_cancelled(stored, command):
    half = "half of i" if command == GET else ""
    stored.terminal.run(command).expect(ENTER).type(half, key="")
    stored.dismiss()
    stored.ended(1)


def test_the_command_line_shows_it(stored):
    stored.terminal.run(GET).expect('"latchkey" (as far as can be told)', ENTER).type(PASSPHRASE)
    stored.ended(0, secret=True)


def test_who_asks_is_not_stopped_while_another_reads_the_terminal(stored):
    """Nothing may stop the client during the prompt. Else the shell would take the terminal back, and would read a part
    of the answer."""
    stored.terminal.run(GET).expect(ENTER).press("C-z", "C-\\", "Enter").expect(WRONG).type(PASSPHRASE)
    stored.ended(0, secret=True)


def test_a_signal_withdraws_the_prompt(stored):
    stored.terminal.run(GET).expect(ENTER)
    (process,) = stored.processes("bin/latchkey get")
    os.kill(process, signal.SIGINT)
    wait_until(lambda: not is_alive(process), "the command's end")
    stored.terminal.wait_for_shell()
    assert SECRET not in stored.terminal.screen
    stored.is_as_before()
    stored.read()


@pytest.mark.parametrize("command", [LOOKUP, GET], ids=["secret-tool", "latchkey"])
def test_a_client_that_is_killed_takes_its_prompt_with_it(stored, command):
    stored.terminal.run(command).expect(ENTER)
    (process,) = stored.processes("bin/latchkey get" if command == GET else "^secret-tool lookup")
    prompt = stored.prompt()
    os.kill(process, signal.SIGKILL)
    wait_until(lambda: not is_alive(prompt), "the prompt's end")
    stored.terminal.press("Enter").wait_for_shell()
    stored.is_as_before()


def test_a_vault_that_is_stopped_is_not_waited_for(stored):
    """A person may take any time, so the prompt keeps the terminal until the daemon goes on."""
    daemon = stored.session.daemon_pid()
    stored.terminal.run(GET).expect(ENTER)
    (process,) = stored.processes("bin/latchkey get")
    prompt = stored.prompt()
    os.kill(daemon, signal.SIGSTOP)
    try:
        wait_until(lambda: not is_alive(process), "the command's end", 60)
    finally:
        os.kill(daemon, signal.SIGCONT)
    wait_until(lambda: not is_alive(prompt), "the prompt's end")
    stored.terminal.press("Enter").wait_for_shell()
    stored.is_as_before()
    stored.read()


def test_the_prompt_is_killed(stored):
    """The daemon's unit would end a pinentry that outlives the prompt. A throw-away session has no such unit."""
    stored.terminal.run(GET).expect(ENTER)
    if stored.way == "curses":
        (process,) = stored.processes("^pinentry")
    else:
        process = stored.prompt()
    os.kill(process, signal.SIGKILL)
    stored.ended(1)
    stored.read()


@pytest.mark.parametrize("way", ["not answered", "answered just then"])
def test_the_screen_is_locked_while_it_is_asked(stored, locker, way):  # noqa: F811
    stored.terminal.run(LOOKUP).expect(ENTER)
    prompt = stored.prompt()
    if way == "not answered":
        locker(True)
    else:
        # The daemon finds the answer and the lock at the same time.
        daemon = stored.session.daemon_pid()
        os.kill(daemon, signal.SIGSTOP)
        stored.terminal.type(PASSPHRASE)
        locker(True, lambda: os.kill(daemon, signal.SIGCONT))
    wait_until(lambda: not is_alive(prompt), "the prompt's end")
    # The next prompt is for the session.
    locker(False)
    stored.terminal.expect("wants access to your secrets.", "Enter your login password")
    stored.dismiss()
    stored.ended(1)


def test_the_password_and_then_the_passphrase(desk):
    desk.remove()
    desk.store("user-presence,application-password")
    login = 'Enter your login password to unlock the item "Bank"'
    desk.terminal.run(LOOKUP).expect(login).type(desk.session.password).expect(ENTER).type(PASSPHRASE)
    desk.ended(0, secret=True)
    desk.terminal.run(LOOKUP).expect(login).type(desk.session.password).expect(ENTER)
    desk.dismiss()
    desk.ended(1)
    desk.remove()
