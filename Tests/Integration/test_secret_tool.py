"""secret-tool of libsecret."""

import pytest
from clients import CLASS, LOCKED, MAIL, MAIL_WORDS, SYNC_WORDS, bring_back, bring_to, tool
from peer import COLLECTION, LOGIN, SESSION_COLLECTION


def test_secret_tool(session, peer):
    assert tool(session, "store", "--label=Mail", *MAIL_WORDS, input="open sesame").returncode == 0
    assert tool(session, "store", "--label=Sync", *SYNC_WORDS, input="token").returncode == 0
    assert tool(session, "lookup", *MAIL_WORDS).stdout == "open sesame"
    found = tool(session, "search", "--all", "account", "demo")
    assert found.returncode == 0
    assert "label = Mail" in found.stdout and "secret = open sesame" in found.stdout
    assert "label = Sync" in found.stdout and "secret = token" in found.stdout
    assert "attribute.service = mail" in found.stderr
    assert found.stdout.count("[") == 2
    assert tool(session, "search", "account", "demo").stdout.count("[") == 1
    assert tool(session, "store", "--label=Mail", *MAIL_WORDS, input="newer").returncode == 0
    assert tool(session, "lookup", *MAIL_WORDS).stdout == "newer"
    assert tool(session, "clear", *MAIL_WORDS).returncode == 0
    assert tool(session, "lookup", *MAIL_WORDS).returncode == 1
    assert tool(session, "lookup", *SYNC_WORDS).stdout == "token"
    assert tool(session, "store", "--label=S", "--collection=session", "a", "s", input="short").returncode == 0
    assert peer.search({"a": "s"})[0][0].startswith(SESSION_COLLECTION + "/")
    assert tool(session, "store", "--label=S", "--collection=nowhere", "a", "n", input="x").returncode != 0


@pytest.mark.parametrize("state", LOCKED)
def test_secret_tool_while_locked(session, peer, state):
    tool(session, "store", "--label=Mail", *MAIL_WORDS, input="open sesame")
    tool(session, "store", "--label=Sync", *SYNC_WORDS, CLASS, "after-first-unlock", input="token")
    bring_to(state, session, peer)
    assert tool(session, "lookup", *MAIL_WORDS).returncode == 1
    assert tool(session, "lookup", *SYNC_WORDS).stdout == ("" if state == "sealed" else "token")
    for options in ([], ["--all"], ["--all", "--unlock"]):
        found = tool(session, "search", *options, *MAIL_WORDS)
        assert found.returncode == 0 and "No such secret item" not in found.stderr, found
        assert "open sesame" not in found.stdout
        assert found.stdout.startswith("[/")
    assert tool(session, "store", "--label=Mail", *MAIL_WORDS, input="replaced").returncode != 0
    stored = tool(session, "store", "--label=Chat", "service", "chat", input="said behind the lock")
    assert (stored.returncode == 0) is (state != "sealed")
    # It clears what is unlocked only.
    tool(session, "clear", *MAIL_WORDS)
    bring_back(state, session, peer)
    assert tool(session, "lookup", *MAIL_WORDS).stdout == "open sesame"
    assert tool(session, "lookup", "service", "chat").stdout == ("" if state == "sealed" else "said behind the lock")


def test_secret_tool_lock(session, peer):
    tool(session, "store", "--label=Mail", *MAIL_WORDS, input="open sesame")
    # libsecret 0.20.5 may crash at its own end; what counts is what it did.
    tool(session, "lock")
    assert peer.get(LOGIN, COLLECTION, "Locked") is True
    assert tool(session, "lookup", *MAIL_WORDS).returncode == 1
    assert session.status()["locked_collections"] == 1


def test_secret_tool_lock_of_one_collection(session, peer):
    item = peer.create("secret", MAIL)
    tool(session, "lock", "--collection=default")
    assert session.status()["state"] == "unlocked"
    assert peer.search(MAIL) in (([item], []), ([], [item]))


def test_clearing_a_class_does_not_empty_the_vault(session, peer):
    peer.create("mail", MAIL)
    peer.create("short", {"a": "s"}, collection=SESSION_COLLECTION)
    tool(session, "clear", CLASS, "when-unlocked")
    assert tool(session, "lookup", *MAIL_WORDS).stdout == "mail"
    assert len(peer.search({"a": "s"})[0]) == 1
    found = tool(session, "search", "--all", CLASS, "when-unlocked")
    assert found.returncode == 0 and found.stdout.count("[") == 2


def test_a_class_alone_is_a_search_that_empties_nothing(session):
    session.login()
    session.store("one", "app", "one")
    session.store("two", "app", "two", "latchkey:accessible", "after-first-unlock")
    found = session.run("secret-tool", "search", "--all", "latchkey:accessible", "when-unlocked")
    assert "attribute.app = one" in found.stdout + found.stderr and "two" not in found.stdout + found.stderr
    session.run("secret-tool", "clear", "latchkey:accessible", "when-unlocked")
    assert session.lookup("app", "one") == "one" and session.lookup("app", "two") == "two"
    wrong = session.run("secret-tool", "store", "--label=x", "app", "x", "latchkey:accessible", "sometimes", input="x")
    assert wrong.returncode != 0 and "after-first-unlock-this-device-only" in wrong.stderr


def test_a_locked_collection_stays_so_until_a_login(session):
    session.login()
    session.store("secret", "app", "a")
    # secret-tool of libsecret 0.20 frees a list twice after it has locked, so its status says nothing.
    session.run("secret-tool", "lock", "--collection=login")
    assert session.lookup("app", "a") is None
    session.locker()
    assert session.lookup("app", "a") is None
    session.login()
    assert session.lookup("app", "a") == "secret"
