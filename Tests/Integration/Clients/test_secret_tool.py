"""secret-tool of libsecret."""

import pytest
from gi.repository import GLib
from support.clients import (
    BEHIND, CLASS, EVERY_LOCK, MAIL, MAIL_WORDS, SYNC_WORDS, answer_behind_a_locker, bring_back, bring_to, tool,
)
from support.peer import COLLECTION, LOGIN, NOTHING, ROOT, SERVICE, SESSION_COLLECTION


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


@pytest.mark.parametrize("state", EVERY_LOCK)
def test_secret_tool_while_locked(session, peer, state):
    tool(session, "store", "--label=Mail", *MAIL_WORDS, input="open sesame")
    tool(session, "store", "--label=Sync", *SYNC_WORDS, CLASS, "after-first-unlock", input="token")
    tool(session, "store", "--label=Short", "--collection=session", "account", "demo", input="short")
    bring_to(state, session, peer)
    some = state == "locked"
    assert tool(session, "lookup", *MAIL_WORDS).returncode == 1
    assert tool(session, "lookup", *SYNC_WORDS).stdout == ("token" if some else "")
    for options in ([], ["--unlock"], ["--all"], ["--all", "--unlock"]):
        found = tool(session, "search", *options, *MAIL_WORDS)
        assert found.returncode == 0 and "No such secret item" not in found.stderr, found
        assert "open sesame" not in found.stdout
        assert found.stdout.startswith("[/") and found.stdout.count("[") == 1
    # secret-tool shows readable items in full, and also lists the locked items.
    found = tool(session, "search", "--all", "--unlock", "account", "demo")
    lines = {"secret = " + secret for secret in ("open sesame", "token", "short")}
    shown = lines.intersection(found.stdout.splitlines())
    if state == "sealed":
        # The items in memory ended with the session.
        assert (found.stdout.count("["), shown) == (2, set())
    else:
        assert found.stdout.count("[") == 3
        assert shown == ({"secret = token", "secret = short"} if some else {"secret = short"})
    for target in ([], ["--collection=login"], ["--collection=" + LOGIN]):
        assert tool(session, "store", "--label=Mail", *target, *MAIL_WORDS, input="replaced").returncode != 0
    stored = tool(session, "store", "--label=Chat", "service", "chat", input="said behind the lock")
    assert (stored.returncode == 0) is some
    # secret-tool clears unlocked items only.
    tool(session, "clear", *MAIL_WORDS)
    tool(session, "clear", "account", "demo")
    assert len(peer.search({"account": "demo"})[1]) == (1 if some else 2)
    bring_back(state, session, peer)
    assert tool(session, "lookup", *MAIL_WORDS).stdout == "open sesame"
    assert tool(session, "lookup", *SYNC_WORDS).stdout == ("" if some else "token")
    assert tool(session, "lookup", "service", "chat").stdout == ("said behind the lock" if some else "")


def test_secret_tool_behind_a_locker(session, peer):
    tool(session, "store", "--label=Mail", *MAIL_WORDS, input="open sesame")
    found = answer_behind_a_locker(session, peer, lambda: tool(session, "lookup", *MAIL_WORDS))
    assert (found.returncode, found.stdout) == (0, "open sesame")
    bring_to(BEHIND, session, peer)
    stored = tool(session, "store", "--label=Chat", "service", "chat", input="said behind the lock")
    assert stored.returncode == 0, stored
    bring_back(BEHIND, session, peer)
    assert tool(session, "lookup", "service", "chat").stdout == "said behind the lock"


def test_secret_tool_collections(session, peer):
    """Each search looks into all collections, whether the item was stored by alias or by path."""
    label = {COLLECTION + ".Label": GLib.Variant("s", "Work")}
    work, _ = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", label, "work")
    for name, target in (("alias", "work"), ("path", work), ("login", "login"), ("default", "default"), ("l", LOGIN)):
        options = ["--label=One", f"--collection={target}"]
        assert tool(session, "store", *options, "in", name, input="secret of " + name).returncode == 0
        [item] = peer.search({"in": name})[0]
        assert item.startswith((work if target in ("work", work) else LOGIN) + "/")
        assert tool(session, "lookup", "in", name).stdout == "secret of " + name
    # The same attributes in two collections belong to two items. secret-tool clears both items.
    for target in ("work", "login"):
        stored = tool(session, "store", "--label=Twice", f"--collection={target}", "in", "two", input=target)
        assert stored.returncode == 0
    assert tool(session, "search", "--all", "in", "two").stdout.count("[") == 2
    assert tool(session, "clear", "in", "two").returncode == 0
    assert tool(session, "search", "--all", "in", "two").stdout == ""
    peer.call(ROOT, SERVICE, "Lock", "(ao)", [work])
    assert tool(session, "lookup", "in", "alias").returncode == 1
    assert tool(session, "lookup", "in", "default").stdout == "secret of default"
    assert tool(session, "store", "--label=One", "--collection=work", "in", "new", input="x").returncode != 0
    # Without a default collection, libsecret creates one.
    assert peer.call(LOGIN, COLLECTION, "Delete") == NOTHING
    assert tool(session, "store", "--label=One", "in", "made", input="made").returncode == 0
    assert tool(session, "lookup", "in", "made").stdout == "made"
    [item] = peer.search({"in": "made"})[0]
    assert peer.get(item.rpartition("/")[0], COLLECTION, "Label") == "Default keyring"
    # The new collection does not reuse the path of a former collection.
    assert not item.startswith((LOGIN, work))


def test_secret_tool_secrets_of_every_kind(session, peer):
    kinds = {"empty": "", "lines": "a\nb\n\n", "unicode": "ä漢🗝", "spaces": "  \t ", "long": "x" * 8000}
    for kind, secret in kinds.items():
        assert tool(session, "store", "--label=" + kind, "kind", kind, input=secret).returncode == 0
    for kind, secret in kinds.items():
        found = tool(session, "lookup", "kind", kind)
        assert found.stdout == secret
    assert tool(session, "store", "--label=", "", "", input="nameless").returncode == 0
    assert tool(session, "lookup", "", "").stdout == "nameless"


def test_secret_tool_lock(session, peer):
    tool(session, "store", "--label=Mail", *MAIL_WORDS, input="open sesame")
    # libsecret 0.20.5 may crash when it ends, so the test checks only the result.
    tool(session, "lock")
    assert peer.get(LOGIN, COLLECTION, "Locked") is True
    assert tool(session, "lookup", *MAIL_WORDS).returncode == 1
    assert session.status()["locked_collections"] == 1


def test_secret_tool_lock_of_one_collection(session, peer):
    item = peer.create("secret", MAIL)
    tool(session, "lock", "--collection=default")
    assert session.status()["state"] == "unlocked"
    assert peer.search(MAIL) in (([item], []), ([], [item]))
    tool(session, "lock", "--collection=nowhere")
    # Behind a locker, libsecret sees the default collection as unlocked, so libsecret asks for an unlock of that
    # collection. For other locked collections, libsecret does not ask.
    bring_to("behind a locker", session, peer)
    tool(session, "lock", "--collection=login")
    assert peer.get(LOGIN, COLLECTION, "Locked") is True
    bring_back("behind a locker", session, peer)
    assert tool(session, "lookup", *MAIL_WORDS).returncode == 1
    assert session.login().returncode == 0
    assert tool(session, "lookup", *MAIL_WORDS).stdout == "secret"


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
    # secret-tool of libsecret 0.20 frees a list twice after it has locked, so its exit status is meaningless.
    session.run("secret-tool", "lock", "--collection=login")
    assert session.lookup("app", "a") is None
    session.locker()
    assert session.lookup("app", "a") is None
    session.login()
    assert session.lookup("app", "a") == "secret"
