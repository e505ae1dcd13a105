"""Prompts from end to end on a desktop: a client, the daemon, latchkey-prompt, and GNOME's real prompter on a screen. A
program types as the person.
"""

import os
import signal
import time

import pytest
from gi.repository import Gio, GLib
from support.clients import MAIL, MAIL_WORDS
from support.dialog import TIMEOUT, Tool, display, locker, screen  # noqa: F401
from support.pace import Limit
from support.peer import ABSENT, ACCESS_DENIED, COLLECTION, ITEM, LOGIN, NOTHING, PROMPT, ROOT, SECRETS, SERVICE, Peer
from support.session import wait_until

pytestmark = [pytest.mark.night("prompters"), pytest.mark.second_try]

ALREADY_EXISTS = "org.freedesktop.Secret.Error.AlreadyExists"
SECRET = "what was kept"


@pytest.fixture
def dialog(screen, display):
    """A desktop with an unlocked vault and one secret. At the end, no window may be left on the screen."""
    session = screen.session
    assert session.login().returncode == 0
    session.store(SECRET, *MAIL_WORDS)
    screen._expected = len(screen.questions)
    yield screen
    screen.expect_nothing()


@pytest.fixture
def client(dialog):
    """A client that makes exactly the calls of the test."""
    opened = Peer(dialog.session)
    yield opened
    if not opened.bus.is_closed():
        opened.close()


def lookup(dialog):
    return Tool(dialog.session, "lookup", *MAIL_WORDS)


class Asked:
    """A prompt that its client has called."""

    def __init__(self, client, path):
        self.path, self._client, self._results = path, client, []
        self._subscribe()
        client.call(path, PROMPT, "Prompt", "(s)", "")
        # The daemon asks the bus about the client before it shows the prompt. After two further calls, the prompt is on
        # the screen.
        for _ in range(2):
            client.get(LOGIN, COLLECTION, "Locked")

    def _subscribe(self):
        def completed(_bus, _sender, _path, _interface, _member, told):
            result = told.get_child_value(1).get_variant()
            self._results.append((told.get_child_value(0).unpack(), result.get_type_string(), result.unpack()))

        none = Gio.DBusSignalFlags.NONE
        self._client.bus.signal_subscribe(SECRETS, PROMPT, "Completed", self.path, None, none, completed)

    @property
    def is_waiting(self):
        self._client.listen()
        return not self._results

    def end(self):
        """Waits for the end of the prompt. Returns whether the person dismissed the prompt, and the typed result."""
        wait_until(lambda: not self.is_waiting, "Completed", TIMEOUT)
        # The daemon reports the end once, and then removes the prompt.
        assert self._client.error(self.path, PROMPT, "Prompt", "(s)", "") in ABSENT
        assert self._client.error(self.path, PROMPT, "Dismiss") in ABSENT
        (result,) = self._results
        return result


def prompt_for(client, *paths):
    """The prompt that a client needs to unlock these paths."""
    opened, prompt = client.unlock(*paths)
    assert opened == [] and prompt != NOTHING
    return prompt


def ask(client, *paths):
    return Asked(client, prompt_for(client, *paths))


def state(dialog):
    return dialog.session.status()["state"]


def seal(session):
    """Brings the vault to the state before the first login. A logout would not do, because the session may have several
    logins."""
    session.restart()
    assert session.status()["state"] == "sealed"


# MARK: a client that waits


def test_the_right_password(dialog):
    dialog.session.lock()
    tool = lookup(dialog)
    question = dialog.expect()
    assert question["message"] == "Enter your login password" and question["warning"] == ""
    assert '\\"secret-tool\\"' in question["description"] or '"secret-tool"' in question["description"]
    dialog.answer(dialog.session.password)
    assert tool.end() == (SECRET, 0)
    assert state(dialog) == "unlocked"
    # The password crosses the bus only encrypted, and no log contains it.
    assert dialog.session.password not in dialog.heard + dialog.session.log()


def test_wrong_then_right(dialog):
    dialog.session.lock()
    tool = lookup(dialog)
    dialog.expect()
    dialog.answer("something else")
    assert "not right" in dialog.expect()["warning"]
    assert state(dialog) == "locked"
    dialog.answer(dialog.session.password)
    assert tool.end() == (SECRET, 0)


def test_cancelled(dialog):
    dialog.session.lock()
    tool = lookup(dialog)
    dialog.expect()
    dialog.cancel()
    assert tool.end() == ("", 1)
    assert state(dialog) == "locked"


@pytest.mark.parametrize("victim", ["gcr-prompter", "latchkey-prompt"])
def test_killed_while_it_asks(dialog, client, victim):
    dialog.session.lock()
    tool = lookup(dialog)
    dialog.expect()
    asked = ask(client, LOGIN)
    (program,) = dialog.programs()
    os.kill(program if victim == "latchkey-prompt" else dialog.prompter(), signal.SIGKILL)
    assert tool.end() == ("", 1)
    assert asked.end() == (True, "ao", [])
    dialog.expect_nothing()
    # The next client gets a prompt.
    tool = lookup(dialog)
    dialog.expect()
    dialog.answer(dialog.session.password)
    assert tool.end() == (SECRET, 0)


def test_login_password_then_passphrase(dialog, client):
    made, _ = client.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", {COLLECTION + ".Label": GLib.Variant("s", "Private")}, "")
    client.create("hidden", {"in": "private"}, collection=made)
    session = dialog.session
    session.run("latchkey", "passphrase", "set", "--stdin", "Private", input="sesame", check=True)
    seal(session)
    tool = Tool(session, "lookup", "in", "private")
    assert dialog.expect()["message"] == "Enter your login password"
    dialog.answer(session.password)
    assert "Private" in dialog.expect()["message"]
    # The login password is not the collection's passphrase.
    dialog.answer(session.password)
    assert "not right" in dialog.expect()["warning"]
    dialog.answer("sesame")
    assert tool.end() == ("hidden", 0)
    client.call(made, COLLECTION, "Delete")


# MARK: the client's view of its prompt


def test_a_prompt_and_its_client(dialog, client):
    item = client.search(MAIL)[0][0]
    dialog.session.lock()
    # The call returns without waiting for a person, and no window appears.
    path = prompt_for(client, LOGIN, item, LOGIN)
    assert dialog.programs() == [] and dialog.windows() == []
    other = Peer(dialog.session)
    for name, *arguments in (["Prompt", "(s)", ""], ["Dismiss"]):
        assert other.error(path, PROMPT, name, *arguments) == ACCESS_DENIED
    asked = Asked(client, path)
    assert client.error(path, PROMPT, "Prompt", "(s)", "") == ALREADY_EXISTS
    dialog.expect()
    assert client.error(path, PROMPT, "Prompt", "(s)", "") == ALREADY_EXISTS
    for name, *arguments in (["Prompt", "(s)", ""], ["Dismiss"]):
        assert other.error(path, PROMPT, name, *arguments) == ACCESS_DENIED
    assert asked.is_waiting
    dialog.answer(dialog.session.password)
    assert asked.end() == (False, "ao", [LOGIN, item])
    assert client.read(item) == SECRET.encode()
    # Other clients get no signal about the prompt.
    assert not [signal for signal in other.listen() if signal[2] == "Completed"]
    other.close()


def test_cancelled_prompts_have_a_result_of_their_type(dialog, client):
    dialog.session.lock()
    asked = ask(client, LOGIN)
    dialog.expect()
    dialog.cancel()
    assert asked.end() == (True, "ao", [])


def test_a_client_dismisses_its_prompt(dialog, client):
    dialog.session.lock()
    asked = ask(client, LOGIN)
    dialog.expect()
    client.call(asked.path, PROMPT, "Dismiss")
    assert asked.end() == (True, "ao", [])
    dialog.expect_nothing()
    assert state(dialog) == "locked"


def test_a_prompt_stays_for_the_person_when_its_client_is_gone(dialog, client):
    """The client waits for 3 s, as gh does. A later client joins the prompt. The prompt still unlocks the vault when no
    client waits any more."""
    dialog.session.lock()
    ask(client, LOGIN)
    dialog.expect()
    client.close()
    tool = lookup(dialog)
    watcher = Peer(dialog.session)
    tree = (f"{ROOT}/prompt", "org.freedesktop.DBus.Introspectable", "Introspect")
    wait_until(lambda: "<node name=" in watcher.call(*tree), "the other one's prompt")
    tool.kill()
    wait_until(lambda: "<node name=" not in watcher.call(*tree), "the end of the other one's prompt")
    watcher.close()
    assert len(dialog.windows()) == 1 and len(dialog.programs()) == 1
    dialog.answer(dialog.session.password)
    dialog.expect_nothing()
    assert state(dialog) == "unlocked"


def test_a_boolean_in_the_place_of_the_window(dialog, client):
    """Emacs 28 sends a boolean from a batch run."""
    dialog.session.lock()
    path = prompt_for(client, LOGIN)
    client.call(path, PROMPT, "Prompt", "(b)", False)
    dialog.expect()
    assert client.error(path, PROMPT, "Prompt", "(b)", False) == ALREADY_EXISTS
    dialog.answer(dialog.session.password)
    dialog.expect_nothing()
    assert client.error(path, PROMPT, "Prompt", "(b)", False) in ABSENT
    assert state(dialog) == "unlocked"


def test_clients_share_one_window(dialog, client):
    dialog.session.lock()
    ask(client, LOGIN)
    dialog.expect()
    tool = lookup(dialog)
    other = Peer(dialog.session)
    asked = [ask(other, LOGIN), ask(other, other.search(MAIL)[1][0])]
    # One of the clients leaves, but the window stays for the other clients.
    client.close()
    assert asked[0].is_waiting and len(dialog.windows()) == 1
    dialog.answer(dialog.session.password)
    assert tool.end() == (SECRET, 0)
    assert [each.end()[:2] for each in asked] == [(False, "ao")] * 2
    other.close()
    # The person was asked only once.
    dialog.expect_nothing()


class Late(Asked):
    """A client that listens only after its call has returned, as old versions of go-keyring."""

    def __init__(self, client, path):
        self.path, self._client, self._results = path, client, []
        client.call(path, PROMPT, "Prompt", "(s)", "")
        self._subscribe()

    def is_told(self):
        limit = Limit(3)
        while self.is_waiting and not limit.is_over:
            time.sleep(0.01)
        return not self.is_waiting


@pytest.mark.parametrize("why", ["the vault was opened meanwhile", "nobody can be asked"])
def test_who_listens_late_hears_of_the_end(session, peer, why):
    for _ in range(5):
        session.lock()
        path = prompt_for(peer, LOGIN)
        opened = why == "the vault was opened meanwhile"
        if opened:
            assert session.locker().returncode == 0
        late = Late(peer, path)
        # On a busy machine, the test itself may have been too slow.
        if late.is_told():
            assert late.end() == (not opened, "ao", [LOGIN] if opened else [])
            return
    raise AssertionError("Completed was never heard")


# MARK: lockers


@pytest.fixture
def behind_locker(dialog, client, locker):
    """A prompt that its client called while a locker was active."""
    item = client.search(MAIL)[0][0]
    locker(True)
    # To clients, the collection looks unlocked, because no prompt could help now.
    assert client.get(LOGIN, COLLECTION, "Locked") is False
    assert client.unlock(LOGIN) == ([LOGIN], NOTHING)
    assert client.get(item, ITEM, "Locked") is True
    asked = ask(client, item)
    assert client.get(LOGIN, COLLECTION, "Locked") is False
    dialog.expect_nothing()
    assert asked.is_waiting
    return asked


def test_the_lockers_password_is_the_answer(dialog, client, locker, behind_locker):
    assert dialog.session.locker().returncode == 0
    locker(False)
    assert behind_locker.end()[:2] == (False, "ao")
    dialog.expect_nothing()


def test_a_locker_that_goes_without_a_password(dialog, locker, behind_locker):
    locker(False)
    dialog.expect()
    assert behind_locker.is_waiting
    dialog.answer(dialog.session.password)
    assert behind_locker.end()[:2] == (False, "ao")


def test_who_waits_behind_a_locker_may_stop(dialog, client, locker, behind_locker):
    client.call(behind_locker.path, PROMPT, "Dismiss")
    assert behind_locker.end() == (True, "ao", [])
    locker(False)
    assert client.get(LOGIN, COLLECTION, "Locked") is True
    dialog.expect_nothing()


@pytest.mark.parametrize("password", [True, False])
def test_a_locker_comes_while_a_prompt_is_shown(dialog, client, locker, password):
    session = dialog.session
    session.lock()
    asked = ask(client, LOGIN, client.search(MAIL)[1][0])
    dialog.expect()
    locker(True)
    dialog.expect_nothing()
    assert asked.is_waiting
    if password:
        assert session.locker().returncode == 0
    locker(False)
    if not password:
        dialog.expect()
        dialog.answer(session.password)
    assert asked.end()[:2] == (False, "ao")


def test_a_locker_does_not_lift_what_was_locked_by_itself(dialog, client, locker):
    client.call(ROOT, SERVICE, "Lock", "(ao)", [LOGIN])
    locker(True)
    assert client.get(LOGIN, COLLECTION, "Locked") is True
    asked = ask(client, LOGIN)
    assert dialog.session.locker().returncode == 0
    assert asked.is_waiting and dialog.programs() == []
    locker(False)
    dialog.expect()
    dialog.answer(dialog.session.password)
    assert asked.end() == (False, "ao", [LOGIN])


# MARK: storing in a locked collection


@pytest.mark.parametrize("how", ["collection locked", "locked", "sealed"])
def test_store(dialog, client, how):
    """libsecret calls the prompt, and then stores the item. Behind the lock, the vault would take a new item without a
    prompt. A replacement needs the unlock."""
    session = dialog.session
    if how == "sealed":
        seal(session)
    elif how == "locked":
        session.lock()
    else:
        client.call(ROOT, SERVICE, "Lock", "(ao)", [LOGIN])
    arguments = ["store", "--label=Mail", *MAIL_WORDS]
    tool = Tool(session, *arguments, input="lost")
    dialog.expect()
    dialog.cancel()
    output, status = tool.end()
    assert status != 0
    tool = Tool(session, *arguments, input="newer")
    dialog.expect()
    dialog.answer(session.password)
    assert tool.end() == ("", 0)
    # The item has replaced the old one. The failed attempts left nothing behind.
    assert len(client.search(MAIL)[0]) == 1 and client.search(MAIL)[1] == []
    assert session.lookup(*MAIL_WORDS) == "newer"


def test_store_in_a_locked_collection_that_stays_locked(dialog, client):
    session = dialog.session
    client.call(ROOT, SERVICE, "Lock", "(ao)", [LOGIN])
    tool = Tool(session, "store", "--label=Mail", *MAIL_WORDS, input="lost")
    dialog.expect()
    dialog.cancel()
    assert tool.end()[1] != 0
    assert session.login().returncode == 0
    assert session.lookup(*MAIL_WORDS) == SECRET
