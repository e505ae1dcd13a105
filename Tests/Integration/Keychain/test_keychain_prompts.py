"""org.latchkey.Prompt: a program gives the reason for a prompt and the item's passphrase, and learns how the prompt
ended.
"""

import os
import secrets

import pytest
from gi.repository import GLib
from support.access import PASSPHRASE, PRESENCE, REQUIRE
from support.keychain import ASKS, DUPLICATE, TOLD_PROMPT, ToldPrompt, Windows, add, delete, find, prompt, read, refused
from support.memory import scan
from support.peer import ACCESS_DENIED, INVALID, LOGIN, NO_SESSION, NOTHING, PROMPT, ROOT, Peer
from support.session import wait_until
from test_access_change import access, change
from test_access_stacks import DENY, PERMIT, prompters, stack
from test_memory_access import helpers

pytestmark = pytest.mark.night("prompters")

KIND = {"k": "v"}
BANK = "open sesame"
ALREADY = "org.freedesktop.Secret.Error.AlreadyExists"


@pytest.fixture
def windows(session):
    windows = Windows(session)
    assert session.login().returncode == 0
    return windows


@pytest.fixture
def peer(windows, session):
    connected = Peer(session)
    yield connected
    connected.close()


def new(peer, require=PASSPHRASE, passphrase=BANK, kind=KIND):
    """An item whose passphrase the program gave. Returns the path."""
    path, identifier, asked = add(peer, "the secret", {**kind, REQUIRE: require}, kind, label="Bank")
    assert (path, identifier) == (NOTHING, b"") and asked != NOTHING
    done = prompt(peer, asked, passphrase)
    assert (done.outcome, done.dismissed) == ("accepted", False)
    return done.result


def unlock(peer, item, passphrase=None, **texts):
    """The outcome of an unlock."""
    return prompt(peer, peer.unlock(item)[1], passphrase, **texts).outcome


# MARK: a passphrase


def test_nobody_is_asked(peer, windows, session):
    item = new(peer)
    assert find(peer, KIND).paths == [item] and find(peer, KIND).items[0].state == ASKS
    assert unlock(peer, item, BANK) == "accepted"
    assert find(peer, KIND, session=peer.plain).secrets == {item: b"the secret"}
    assert find(peer, KIND, session=peer.plain).secrets == {}
    assert windows.take() == ""
    # The passphrase belongs to the item, so a person can type it as well.
    windows.answer(BANK)
    assert unlock(peer, item) == "accepted" and peer.read(item) == b"the secret"
    assert 'Enter the passphrase of the item "Bank"' in windows.take()


def test_a_wrong_one_is_tried_once(peer, windows, session):
    item = new(peer)
    windows.answer(BANK)
    assert unlock(peer, item, "something else") == "refused"
    assert find(peer, KIND, session=peer.plain).items[0].state == ASKS
    assert windows.take() == "", "a person was asked in its place"
    # Each wrong passphrase counts once. After one wrong passphrase more, programs would have to wait.
    assert [unlock(peer, item, "something else") for _ in range(3)] == ["refused"] * 3
    assert unlock(peer, item, BANK) == "accepted" and peer.read(item) == b"the secret"


def test_the_person_is_asked_for_the_rest(peer, windows, session):
    item = new(peer, require=f"{PRESENCE},{PASSPHRASE}")
    assert windows.take() == ""
    # The person may still try again.
    windows.answer("wrong", session.password)
    assert unlock(peer, item, BANK) == "accepted" and peer.read(item) == b"the secret"
    shown = windows.take()
    assert shown.count("GETPIN") == 2 and "login password" in shown and "assphrase of" not in shown
    # The program's passphrase does not answer the question of another module. An answer to that question is not the
    # passphrase.
    stack(session, "latchkey-item", "auth required pam_unix.so\naccount required pam_permit.so\n")
    windows.answer(session.password)
    assert unlock(peer, item, BANK) == "dismissed"
    assert windows.take().count("GETPIN") == 2, "what another module asked was not asked of the person"


def test_it_is_for_no_other_question(peer, windows, session):
    """A program gives the login password as the passphrase, to find out whether it is right."""
    item = peer.create("the secret", {"k": "w", REQUIRE: PRESENCE})
    windows.answer("wrong", "wrong", "wrong")
    assert unlock(peer, item, session.password) == "refused"
    assert windows.take().count("GETPIN") == 3
    session.lock()
    windows.answer()
    assert unlock(peer, LOGIN, session.password) == "dismissed" and windows.take().count("GETPIN") == 1
    # The passphrase also stays unused if another module is in the stack of passphrases and asks in the same words.
    assert session.locker().returncode == 0
    mine = new(peer, passphrase=session.password)
    stack(session, "latchkey-item", "auth required pam_unix.so\naccount required pam_permit.so\n")
    assert unlock(peer, mine, session.password) == "dismissed" and windows.take().count("GETPIN") == 1


def test_only_where_something_else_is_shown_it_is_agreed_to(peer, windows, session):
    """The stack of this condition accepts without a question. So the prompt shows a dialog that the person must
    confirm, with or without a passphrase."""
    stack(session, "latchkey-presence", PERMIT)
    item = new(peer, require=f"{PRESENCE},{PASSPHRASE}")
    assert unlock(peer, item, BANK) == "dismissed" and "CONFIRM" in windows.take()
    windows.agree()
    assert unlock(peer, item, BANK) == "accepted" and "CONFIRM" in windows.take()


def test_several_items_of_one_prompt(peer, windows):
    items = [new(peer, kind={"k": str(number)}) for number in range(3)]
    done = prompt(peer, peer.unlock(*items)[1], BANK)
    assert (done.outcome, done.result) == ("accepted", items)
    assert [peer.read(item) for item in items] == [b"the secret"] * 3 and windows.take() == ""


def test_the_session_is_locked_first(peer, windows, session):
    """The person unlocks the session. The passphrase waits for the question about the item."""
    item = new(peer)
    session.lock()
    windows.answer(session.password)
    told = ToldPrompt(peer, peer.unlock(item)[1], BANK)
    assert told.end() == "accepted" and peer.read(item) == b"the secret"
    assert windows.take().count("GETPIN") == 1


def test_it_opens_nothing_for_another_question(peer, windows, session):
    """The passphrase answers only its own prompt. The passphrase does not answer another client's prompt about the
    item, nor an earlier prompt of the same client."""
    item = new(peer)
    other = Peer(session)
    asked = [ToldPrompt(one, one.unlock(item)[1], passphrase) for one, passphrase in ((peer, None), (other, None), (peer, BANK))]
    assert [told.end() for told in asked] == ["dismissed", "dismissed", "accepted"]
    assert windows.take().count("GETPIN") == 2
    assert find(other, KIND, session=other.plain).items[0].state == ASKS
    assert find(peer, KIND, session=peer.plain).secrets == {item: b"the secret"}
    other.close()


def test_a_change_of_what_it_asks_for(peer, windows):
    item = new(peer)
    assert prompt(peer, change(peer, item, require=""), "something else").outcome == "refused"
    assert access(peer, item)[1] == PASSPHRASE
    assert prompt(peer, change(peer, item, require=""), BANK).outcome == "accepted"
    assert access(peer, item)[1] == "" and peer.read(item) == b"the secret"
    # If the item had no passphrase, the program's passphrase becomes the item's passphrase.
    assert prompt(peer, change(peer, item, require=PASSPHRASE), "a new one").outcome == "accepted"
    assert unlock(peer, item, "a new one") == "accepted" and peer.read(item) == b"the secret"
    assert windows.take() == ""
    # The change needs the old and a new passphrase. The program gives the old passphrase, and the person chooses the
    # new one.
    windows.answer("chosen", "chosen")
    assert prompt(peer, change(peer, item, new=True), "a new one").outcome == "accepted"
    assert "Choose a passphrase" in windows.take()
    assert unlock(peer, item, "chosen") == "accepted"


@pytest.mark.parametrize("passphrase", ["p" * 511, "Grüße 🔑 'x' %20 \\", " ", "a\nb"])
def test_it_has_any_letters(peer, windows, passphrase):
    item = new(peer, passphrase=passphrase)
    assert unlock(peer, item, passphrase) == "accepted" and peer.read(item) == b"the secret"


# MARK: a new item


def test_another_has_it_meanwhile(peer, windows, session):
    _, _, asked = add(peer, "the secret", {**KIND, REQUIRE: PASSPHRASE}, KIND, label="Bank")
    first = add(peer, "the first", KIND)[0]
    done = prompt(peer, asked, BANK)
    assert (done.outcome, done.dismissed, done.result) == ("duplicate", True, NOTHING)
    assert find(peer, KIND).paths == [first]
    assert refused(add, peer, "the secret", {**KIND, REQUIRE: PASSPHRASE}, KIND) == DUPLICATE
    # Two new items wait for their passphrases.
    kind = {"k": "w"}
    waiting = [add(peer, str(number), {**kind, REQUIRE: PASSPHRASE}, kind)[2] for number in range(2)]
    outcomes = [prompt(peer, path, BANK).outcome for path in reversed(waiting)]
    assert outcomes == ["accepted", "duplicate"] and len(find(peer, kind).items) == 1


def test_the_person_chooses(peer, windows):
    asked = add(peer, "the secret", {**KIND, REQUIRE: PASSPHRASE}, KIND, label="Bank")[2]
    windows.answer(BANK, BANK)
    done = prompt(peer, asked, reason="to pay the rent")
    assert done.outcome == "accepted" and read(peer, find(peer, KIND).items[0].identifier).paths == [done.result]
    shown = windows.take()
    assert 'Choose a passphrase for the item "Bank"' in shown and 'It says: "to pay the rent"' in shown


# MARK: how it ends


def test_it_is_told_how_it_ended(peer, windows, session):
    item = new(peer)
    windows.answer("1", "2", "3")
    assert unlock(peer, item) == "refused"
    assert unlock(peer, item) == "dismissed"
    stack(session, "latchkey-item", DENY)
    assert unlock(peer, item, BANK) == "unavailable"
    session.run("rm", session.root / "pam.d/latchkey-item")
    assert unlock(peer, item, BANK) == "unavailable" and unlock(peer, item) == "unavailable"


def waiting(peer, kind={"k": "w"}):  # noqa: B006
    """The prompt of a new item that waits for its passphrase."""
    return add(peer, "x", {**kind, REQUIRE: PASSPHRASE}, kind)[2]


def behind_a_locker(session, peer):
    peer.activate_screen_saver(True)
    wait_until(lambda: session.status()["locker_up"], "the locker")


def test_it_is_taken_away(peer, windows, session):
    item = new(peer)
    behind_a_locker(session, peer)
    # In this state the prompt does nothing, with or without a person.
    for question in (waiting(peer), peer.unlock(item)[1]):
        told = ToldPrompt(peer, question, BANK)
        peer.listen(0.3)
        assert told.outcome is None
        peer.call(question, PROMPT, "Dismiss")
        assert told.end() == "withdrawn"
    told = ToldPrompt(peer, waiting(peer), BANK)
    session.lock()
    assert told.end() == "withdrawn"
    told = ToldPrompt(peer, peer.unlock(item)[1], BANK)
    assert delete(peer, *find(peer, KIND).items) == 1
    assert session.locker().returncode == 0
    peer.activate_screen_saver(False)
    assert told.end() == "withdrawn"


def test_the_daemon_ends(peer, windows, session):
    behind_a_locker(session, peer)
    told = ToldPrompt(peer, waiting(peer), BANK)
    session.stop_daemon()
    assert told.end() == "withdrawn"


def test_who_asks_as_the_specification_says_is_told_nothing_else(peer, windows):
    item = new(peer)
    windows.answer(BANK)
    peer.listen()
    peer.signals.clear()
    assert peer.prompt(peer.unlock(item)[1]) == (False, "ao", [item])
    assert [signal for signal in peer.listen(0.1) if signal[1] == TOLD_PROMPT] == []


# MARK: texts of a prompt


@pytest.mark.parametrize("reason, shown", [
    ("to send your mail", 'It says: "to send your mail"'), ('x" is harmless.\n\nAllow', "It says: \"x' is harmless. Allow\""),
    ("\u202eabc\x1b[2J\tz", 'It says: "abc [2J z"'), ("ä" * 5000, f'It says: "{"ä" * 58}…"'), ("", None), (" \n", None),
])  # fmt: skip
def test_the_reason_is_the_programs_own_words(peer, windows, session, reason, shown):
    session.lock()
    assert unlock(peer, LOGIN, reason=reason) == "dismissed"
    text = windows.take()
    assert "wants access to your secrets." in text
    assert (shown in text) if shown else "It says" not in text
    assert session.log().count(reason) == 0 or not reason.strip()


def test_wrong_options(peer, windows, session):
    item = new(peer)
    asked = peer.unlock(item)[1]

    def begin(**options):
        return peer.failure(asked, TOLD_PROMPT, "Prompt", "(a{sv})", options).name

    text = GLib.Variant("s", "x")
    assert begin(reasons=text) == INVALID
    assert begin(reason=GLib.Variant("u", 1)) == INVALID and begin(window=GLib.Variant("as", [])) == INVALID
    assert begin(passphrase=text) == INVALID
    for value in ("", "p" * 512, "a\0b"):
        assert begin(passphrase=peer.secret(value)) == INVALID
    other = Peer(session)
    assert begin(passphrase=peer.secret(BANK, other.plain)) == NO_SESSION
    assert other.error(asked, TOLD_PROMPT, "Prompt", "(a{sv})", {}) == ACCESS_DENIED
    other.close()
    # The failed calls did not use up the prompt, but each prompt begins only once.
    told = ToldPrompt(peer, asked, BANK)
    assert begin() == ALREADY and peer.error(asked, PROMPT, "Prompt", "(s)", "") == ALREADY
    assert told.end() == "accepted"


# MARK: memory


@pytest.mark.skipif(os.getuid() != 0, reason="reading another process's memory needs root")
@pytest.mark.parametrize("end", ["right", "wrong", "dismissed", "locked", "client gone"])
def test_nothing_of_it_is_left_in_memory(session, windows, end):
    peer = Peer(session)
    right, wrong = ("passphrase " + secrets.token_hex(16) for _ in range(2))
    item = new(peer, passphrase=right)
    needles = {"right": right.encode(), "wrong": wrong.encode()}

    def seen():
        assert prompters(session) == [] and helpers(session) == []
        return set(scan(session.daemon_pid(), needles))

    wait_until(lambda: prompters(session) == [] and helpers(session) == [], "the end of what asked")
    assert seen() == set(), "after the item was stored"
    if end in ("right", "wrong"):
        assert unlock(peer, item, right if end == "right" else wrong) == ("accepted" if end == "right" else "refused")
    else:
        # Behind a locker, the prompt keeps the passphrase in memory. So the scan must find the passphrase here, which
        # is the control.
        behind_a_locker(session, peer)
        told = ToldPrompt(peer, waiting(peer) if end == "locked" else peer.unlock(item)[1], right)
        assert seen() == {"right"}
        if end == "dismissed":
            peer.call(told.path, PROMPT, "Dismiss")
        elif end == "locked":
            session.lock()
        else:
            peer.close()
        assert end == "client gone" or told.end() == "withdrawn"
    wait_until(lambda: prompters(session) == [] and helpers(session) == [], "the end of what asked")
    # The client was the locker too. If the daemon notices the end of the locker first, the prompt appears for a moment.
    wait_until(
        lambda: not set(scan(session.daemon_pid(), needles)) and prompters(session) == [] and helpers(session) == [],
        "the end of what was given")
    assert right not in session.log() and wrong not in session.log()
    if end != "client gone":
        peer.close()
