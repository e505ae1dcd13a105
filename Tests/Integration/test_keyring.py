"""Python's keyring with its SecretService backend."""

import pytest
from support.clients import BEHIND, EVERY_LOCK, answer_behind_a_locker, bring_back, bring_to, script
from support.peer import ITEM

pytestmark = pytest.mark.second_try

KEYRING = """
import keyring, keyring.backends.SecretService
keyring.set_keyring(keyring.backends.SecretService.Keyring())
def credential(user):
    found = keyring.get_credential("mail", user)
    return found and [found.username, found.password]
"""
# As the backend names them.
ATTRIBUTES = {"service": "mail", "username": "demo"}


def test_keyring(session, peer):
    told = script(
        session,
        KEYRING
        + """
tell("priority", lambda: keyring.get_keyring().priority)
tell("nothing", lambda: [keyring.get_password("mail", "demo"), credential("demo"), credential(None)])
tell("set", lambda: keyring.set_password("mail", "demo", "first \\u00e4\\u6f22"))
tell("get", lambda: keyring.get_password("mail", "demo"))
tell("again", lambda: keyring.set_password("mail", "demo", "second"))
tell("other", lambda: keyring.set_password("mail", "other", ""))
tell("empty", lambda: keyring.get_password("mail", "other"))
tell("credential", lambda: credential("demo"))
tell("delete other", lambda: keyring.delete_password("mail", "other"))
tell("any credential", lambda: credential(None))
""",
    )
    assert told["priority"] == 5
    assert told["nothing"] == [None, None, None]
    assert told["set"] is None and told["get"] == "first ä漢"
    assert told["again"] is None and told["other"] is None
    assert told["empty"] == ""
    assert told["credential"] == ["demo", "second"]
    assert told["delete other"] is None and told["any credential"] == ["demo", "second"]
    [item] = peer.search(ATTRIBUTES)[0]
    assert peer.all(item, ITEM)["Label"] == "Password for 'demo' on 'mail'"
    told = script(
        session,
        KEYRING
        + """
tell("delete", lambda: keyring.delete_password("mail", "demo"))
tell("get", lambda: keyring.get_password("mail", "demo"))
tell("again", lambda: keyring.delete_password("mail", "demo"))
""",
    )
    assert told["delete"] is None and told["get"] is None
    assert told["again"] == "! PasswordDeleteError: No such password!"
    assert peer.search(ATTRIBUTES) == ([], [])


@pytest.mark.parametrize("state", EVERY_LOCK)
def test_keyring_while_locked(session, peer, state):
    script(session, KEYRING + 'tell("set", lambda: keyring.set_password("mail", "demo", "old"))')
    bring_to(state, session, peer)
    told = script(
        session,
        KEYRING
        + """
tell("get", lambda: keyring.get_password("mail", "demo"))
tell("credential", lambda: credential("demo"))
tell("any credential", lambda: credential(None))
tell("set", lambda: keyring.set_password("mail", "demo", "new"))
tell("other", lambda: keyring.set_password("mail", "other", "stored while locked"))
tell("delete", lambda: keyring.delete_password("mail", "demo"))
""",
    )
    # An error is what a program can tell from "there is none".
    assert told["get"].startswith("! KeyringLocked")
    assert told["credential"].startswith("! KeyringLocked")
    assert told["any credential"].startswith("! KeyringLocked")
    assert told["set"].startswith("! ")
    assert told["other"].startswith("! KeyringLocked")
    assert told["delete"].startswith("! KeyringLocked")
    bring_back(state, session, peer)
    told = script(
        session,
        KEYRING
        + """
tell("get", lambda: keyring.get_password("mail", "demo"))
tell("other", lambda: keyring.get_password("mail", "other"))
""",
    )
    assert told == {"get": "old", "other": None}
    assert len(peer.search(ATTRIBUTES)[0]) == 1


def test_keyring_behind_a_locker(session, peer):
    script(session, KEYRING + 'tell("set", lambda: keyring.set_password("mail", "demo", "old"))')
    get = KEYRING + 'tell("get", lambda: keyring.get_password("mail", "demo"))'
    assert answer_behind_a_locker(session, peer, lambda: script(session, get)) == {"get": "old"}
    bring_to(BEHIND, session, peer)
    told = script(
        session,
        KEYRING
        + """
tell("other", lambda: keyring.set_password("mail", "other", "stored while locked"))
tell("delete", lambda: keyring.delete_password("mail", "demo"))
""",
    )
    assert told["other"] is None and told["delete"].startswith("! LockedException")
    bring_back(BEHIND, session, peer)
    assert script(session, get) == {"get": "old"}
    [item] = peer.search({"username": "other"})[0]
    assert peer.read(item) == b"stored while locked"
