"""A person can change the requirements of an item after meeting the present requirements. A client can read again for
some time without a question.
"""

import pytest
from gi.repository import GLib
from support.access import PASSPHRASE, PRESENCE, REQUIRE, lookup, opened, peer, reader, store  # noqa: F401
from support.peer import INVALID, IS_LOCKED, ITEM, NOT_SUPPORTED, NOTHING, ROOT, SERVICE, SESSION_COLLECTION, Failure, Peer
from support.person import Person
from support.session import wait_until

pytestmark = pytest.mark.night("vault")

ACCESS = "org.latchkey.Item"
CLIENT = "org.latchkey.Service"
ALLOW = "auth required pam_permit.so\naccount required pam_permit.so\n"


@pytest.fixture
def guarded(opened, peer):
    """An item that requires the person's presence. The PAM stack confirms the presence without a question."""
    (opened.root / "pam.d/latchkey-presence").write_text(ALLOW)
    return peer.create("the secret", {"k": "v", REQUIRE: PRESENCE})


def wanted(accessible=None, require=None, new=None):
    values = {}
    if accessible is not None:
        values["accessible"] = GLib.Variant("s", accessible)
    if require is not None:
        values["require"] = GLib.Variant("s", require)
    if new is not None:
        values["new-passphrase"] = GLib.Variant("b", new)
    return values


def change(peer, item, **values):
    return peer.call(item, ACCESS, "SetAccess", "(a{sv})", wanted(**values))


def access(peer, item):
    return peer.get(item, ACCESS, "Accessible"), peer.get(item, ACCESS, "Require")


def edit(session, *words):
    return Person(session, "latchkey", "edit", "k=v", *words)


# MARK: flags and class


def test_what_asks_for_nothing_is_made_to_ask_at_once(opened, peer):
    item = peer.create("the secret", {"k": "v"})
    assert access(peer, item) == ("when-unlocked", "")
    (opened.root / "pam.d/latchkey-presence").write_text(ALLOW)
    assert change(peer, item, require=PRESENCE, accessible="after-first-unlock") == NOTHING
    assert access(peer, item) == ("after-first-unlock", PRESENCE)
    assert peer.read_error(item) == IS_LOCKED
    peer.prompt(peer.unlock(item)[1])
    assert peer.read(item) == b"the secret"


def test_nothing_is_weakened_without_an_answer(opened, peer, guarded):
    (opened.root / "pam.d/latchkey-presence").write_text("auth required pam_deny.so\naccount required pam_permit.so\n")
    for values in ({"require": ""}, {"require": "device-passcode"}, {"accessible": "always"}):
        prompt = change(peer, guarded, **values)
        assert prompt != NOTHING and peer.prompt(prompt) == (True, "o", NOTHING)
    assert access(peer, guarded) == ("when-unlocked", PRESENCE) and peer.read_error(guarded) == IS_LOCKED
    # A grant to read does not allow a change of the requirements.
    (opened.root / "pam.d/latchkey-presence").write_text(ALLOW)
    peer.prompt(peer.unlock(guarded)[1])
    prompt = change(peer, guarded, require="")
    assert prompt != NOTHING and access(peer, guarded) == ("when-unlocked", PRESENCE)
    assert peer.prompt(prompt) == (False, "o", guarded)
    assert access(peer, guarded) == ("when-unlocked", "") and peer.read(guarded) == b"the secret"


def test_the_item_is_deleted_while_it_is_asked_for(opened, peer):
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE)
    person = edit(opened, "--require", "none").expect("login password")
    peer.call(peer.search({"k": "v"})[1][0], ITEM, "Delete")
    person.type(opened.password)
    assert "Changed" not in person.output() and person.status != 0


def test_the_item_is_locked_while_it_is_asked_for(opened, peer):
    """An answer to a prompt from before a lock does not count after the lock."""
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE)
    person = edit(opened, "--require", "none").expect("login password")
    (item,) = peer.search({"k": "v"})[1]
    assert peer.call(ROOT, SERVICE, "Lock", "(ao)", [item]) == ([item], NOTHING)
    assert "Changed" not in person.output() and person.status != 0
    assert access(peer, item) == ("when-unlocked", PRESENCE)


@pytest.mark.parametrize("values", [
    {"require": "or"}, {"require": "user-presence,device-passcode"}, {"require": "x"}, {"accessible": "never"}, {"new": True}])
def test_what_makes_no_sense_is_refused(peer, guarded, values):
    with pytest.raises(Failure) as refused:
        change(peer, guarded, **values)
    assert refused.value.name == INVALID
    assert access(peer, guarded) == ("when-unlocked", PRESENCE)


def test_unknown_words_and_types_are_refused(peer, guarded):
    for values in ({"tiger": GLib.Variant("s", "x")}, {"require": GLib.Variant("u", 1)}, {"new-passphrase": GLib.Variant("s", "")}):
        assert peer.error(guarded, ACCESS, "SetAccess", "(a{sv})", values) == INVALID


def test_collections_whose_items_ask_for_nothing(opened, peer):
    item = peer.create("x", {"k": "v"}, collection=SESSION_COLLECTION)
    assert peer.error(item, ACCESS, "SetAccess", "(a{sv})", wanted(require=PRESENCE)) == NOT_SUPPORTED


def test_while_locked_nothing_changes(opened, peer, guarded):
    opened.lock()
    assert opened.locker().returncode == 0
    opened.lock()
    assert peer.error(guarded, ACCESS, "SetAccess", "(a{sv})", wanted(require="")) == IS_LOCKED
    assert peer.get(guarded, ACCESS, "Accessible") == "when-unlocked"


# MARK: passphrases


def test_a_passphrase_comes_and_goes(opened, peer):
    opened.store("the secret", "k", "v")
    person = edit(opened, "--require", PASSPHRASE).expect("Choose a passphrase").type("open sesame").expect("again")
    assert "requirements" in person.type("open sesame").output() and person.status == 0
    assert lookup(opened, "k", "v").expect("assphrase").type("open sesame").last_line() == "the secret"
    # The prompt requires the old passphrase before the new one.
    person = edit(opened, "--new-passphrase").expect("is to get another passphrase from now on").expect("assphrase").type("open sesame")
    person.expect("Choose a passphrase").type("tiger").expect("again").type("tiger")
    assert "Changed" in person.output() and person.status == 0
    person = lookup(opened, "k", "v").expect("assphrase").type("open sesame").expect("not right").expect("assphrase")
    assert person.type("tiger").last_line() == "the secret"
    # A change of other properties keeps the passphrase.
    person = edit(opened, "--require", f"{PRESENCE},{PASSPHRASE}", "--class", "after-first-unlock")
    person.expect("assphrase").type("tiger")
    assert "Changed" in person.output()
    person = lookup(opened, "k", "v").expect("login password").type(opened.password)
    assert person.expect("assphrase").type("tiger").last_line() == "the secret"
    opened.restart()
    items = reader(opened, passphrases={"Test": "tiger"}).items
    assert [item.secret for item in items.values()] == [b"the secret"]
    assert opened.login().returncode == 0
    person = edit(opened, "--require", "none").expect("login password").type(opened.password)
    assert "Changed" in person.expect("assphrase").type("tiger").output()
    assert lookup(opened, "k", "v").last_line() == "the secret"


@pytest.mark.parametrize("at", ["old", "new"])
def test_an_answer_that_does_not_come_changes_nothing(opened, peer, at):
    store(opened, "the secret", "open sesame", "k", "v")
    person = edit(opened, "--new-passphrase").expect("assphrase")
    if at == "new":
        person.type("open sesame").expect("Choose a passphrase")
    person.press("c")
    assert "Changed" not in person.output() and person.status != 0
    assert lookup(opened, "k", "v").expect("assphrase").type("open sesame").last_line() == "the secret"


def test_a_lock_ends_a_change(opened, peer):
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE)
    person = edit(opened, "--require", "none").expect("login password")
    opened.lock()
    assert "Changed" not in person.output() and person.status == 1
    assert peer.prompts() == []
    # A lock also ends a prompt that its client has not shown yet.
    assert opened.locker().returncode == 0
    change(peer, peer.search({"k": "v"})[1][0], require="")
    assert len(peer.prompts()) == 1
    opened.lock()
    assert peer.prompts() == []


def test_the_command_line_shows_it(opened, peer, guarded):
    assert "requires user-presence" in opened.run("latchkey", "find", "k=v", check=True).stdout
    assert '"require" : "user-presence"' in opened.run("latchkey", "find", "--json", "k=v", check=True).stdout
    done = opened.run("latchkey", "edit", "k=v", "--require", "none", "--no-prompt")
    assert done.returncode == 1 and access(peer, guarded)[1] == PRESENCE
    opened.run("latchkey", "edit", "k=v", "--class", "always", check=True)
    assert access(peer, guarded) == ("always", PRESENCE)
    done = opened.run("latchkey", "edit", "k=v", "--require", "or")
    assert done.returncode == 64 and "need a condition" in done.stderr


# MARK: reading again without asking


def reuse(peer, seconds):
    peer.call(ROOT, CLIENT, "SetReuse", "(u)", seconds)


def test_a_client_reads_again_for_as_long_as_was_shown(opened, peer, guarded):
    other = Peer(opened)
    reuse(peer, 300)
    peer.prompt(peer.unlock(guarded)[1])
    for _ in range(3):
        assert peer.read(guarded) == b"the secret"
    assert other.read_error(guarded) == IS_LOCKED
    # A grant to read again does not allow writing.
    assert peer.write_error(guarded, "new") == IS_LOCKED
    reuse(other, 300)
    other.prompt(other.unlock(guarded)[1])
    other.write(guarded, "new")
    assert peer.read_error(guarded) == IS_LOCKED, "it is another one now"
    peer.prompt(peer.unlock(guarded)[1])
    assert [peer.read(guarded), peer.read(guarded)] == [b"new", b"new"]
    opened.lock()
    assert opened.locker().returncode == 0
    assert peer.read_error(guarded) == IS_LOCKED, "not across a lock"
    other.close()


def test_the_time_ends(opened, peer, guarded):
    # Five seconds are longer than a busy machine takes from the grant to the next call.
    reuse(peer, 5)
    peer.prompt(peer.unlock(guarded)[1])
    assert peer.read(guarded) == b"the secret"
    wait_until(lambda: peer.get(guarded, ITEM, "Locked") and peer.search({"k": "v"}) == ([], [guarded]), "its end")
    assert peer.read_error(guarded) == IS_LOCKED
    reuse(peer, 0)
    peer.prompt(peer.unlock(guarded)[1])
    assert peer.read(guarded) == b"the secret" and peer.read_error(guarded) == IS_LOCKED


def test_longer_than_five_minutes_is_refused(peer):
    assert peer.error(ROOT, CLIENT, "SetReuse", "(u)", 301) == INVALID
    assert peer.error(ROOT, CLIENT, "SetReuse", "(u)", 0xFFFFFFFF) == INVALID


def test_the_prompt_says_for_how_long(opened, peer):
    """The prompt appears on the terminal of the client that asked."""
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE)
    script = opened.root / "again.py"
    script.write_text(CLIENT_ON_A_TERMINAL)
    person = Person(opened, "/usr/bin/python3", script).expect("and to read it again for 2 minutes without asking")
    person.expect("login password").type(opened.password)
    assert person.last_line() == "the secret the secret"


CLIENT_ON_A_TERMINAL = '''
import gi
gi.require_version("Secret", "1")
from gi.repository import GLib, Secret
service = Secret.Service.get_sync(Secret.ServiceFlags.OPEN_SESSION, None)
service.get_connection().call_sync(
    "org.freedesktop.secrets", "/org/freedesktop/secrets", "org.latchkey.Service", "SetReuse", GLib.Variant("(u)", (120,)),
    None, 0, -1, None)
found = []
for _ in range(2):
    item = service.search_sync(None, {"k": "v"}, Secret.SearchFlags.UNLOCK | Secret.SearchFlags.LOAD_SECRETS, None)[0]
    found.append(item.get_secret().get_text())
print(*found)
'''
