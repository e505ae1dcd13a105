"""Items that require the person's presence or a passphrase of their own. Access holds for any client library, and only
for the client that asked.
"""

import pytest
from gi.repository import GLib
from support.access import PASSPHRASE, PRESENCE, REQUIRE, lookup, opened, peer, reader, store  # noqa: F401
from support.clients import CLASS
from support.peer import (
    COLLECTION, INVALID, IS_LOCKED, ITEM, LOGIN, NOT_SUPPORTED, NOTHING, ROOT, SERVICE, SESSION_COLLECTION, Failure, Peer,
    attributes_of,
)
from support.person import Person
from support.portal import portal_collection, retrieve
from support.session import wait_until

# MARK: a passphrase


def test_a_passphrase_is_chosen_once_and_asked_before_each_read(opened):
    store(opened, "the secret", "open sesame", "k", "v")
    for _ in range(2):
        assert lookup(opened, "k", "v").expect("assphrase").expect("Bank").type("open sesame").last_line() == "the secret"


def test_a_wrong_passphrase_then_the_right_one(opened):
    store(opened, "the secret", "open sesame", "k", "v")
    person = lookup(opened, "k", "v").expect("assphrase").type("something else").expect("not right").expect("assphrase")
    assert person.type("open sesame").last_line() == "the secret"


@pytest.mark.parametrize("end", ["cancel", "wrong"])
def test_without_the_passphrase_there_is_nothing(opened, end):
    store(opened, "the secret", "open sesame", "k", "v")
    person = lookup(opened, "k", "v").expect("assphrase")
    if end == "cancel":
        person.press("c")
    else:
        for _ in range(2):
            person.type("something else").expect("not right").expect("assphrase")
        person.type("something else")
    assert "the secret" not in person.output() and person.status == 1


def test_both_must_choose_the_same(opened):
    person = Person(opened, "secret-tool", "store", "--label=Bank", "k", "v", REQUIRE, PASSPHRASE)
    person.expect("Password: ").type("the secret").expect("Choose a passphrase").type("one").expect("again").type("two")
    person.expect("not the same").expect("Choose a passphrase").press("c")
    person.output()
    # secret-tool reports success here, because libsecret takes a dismissed prompt of CreateItem for no error.
    assert opened.status()["items"] == 0


def test_the_command_line_asks_on_its_terminal(opened):
    store(opened, "the secret", "open sesame", "k", "v")
    person = Person(opened, "latchkey", "get", "--show", "k=v").expect("assphrase").type("open sesame")
    assert person.last_line() == "the secret" and person.status == 0
    person = Person(opened, "latchkey", "get", "--show", "k=v").expect("assphrase").press("c")
    assert "the secret" not in person.output() and person.status != 0


def test_the_passphrase_is_a_key_on_the_disk(opened):
    store(opened, "the secret", "open sesame", "k", "v")
    store(opened, "another", "open sesame", "k", "w", label="Shop")
    opened.restart()
    without = reader(opened)
    assert [item.secret for item in without.items.values()] == [None, None]
    both = reader(opened, passphrases={"Bank": "open sesame", "Shop": "open sesame"})
    assert [item.secret for item in both.items.values()] == [b"the secret", b"another"]
    assert {item.flags for item in both.items.values()} == {1 << 31}
    keys = [key.value for key in both.keys if key.kind == "passphrase"]
    assert len(set(keys)) == 2, "a salt of its own for each"
    with pytest.raises(Exception, match="secret"):
        reader(opened, passphrases={"Bank": "something else"})


def test_new_keys_leave_the_passphrase(opened):
    store(opened, "the secret", "open sesame", "k", "v")
    opened.run("latchkey", "rotate", "--stdin", input=opened.password + "\n", check=True)
    assert lookup(opened, "k", "v").expect("assphrase").type("open sesame").last_line() == "the secret"


def test_a_backup_leaves_it_behind_and_says_so(opened):
    store(opened, "the secret", "open sesame", "k", "v")
    opened.store("present", "k", "w", REQUIRE, PRESENCE)
    opened.store("free", "a", "b")
    done = opened.run("latchkey", "backup", "--passphrase-stdin", str(opened.home / "b"), input="backup\n")
    assert done.returncode == 4, done.stderr
    assert (done.stdout + done.stderr).count("its requirements keep it out of backups") == 2


# MARK: conditions


def test_the_person_is_asked_for(opened):
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE)
    person = lookup(opened, "k", "v").expect("login password to unlock").type("something else").expect("not right")
    assert person.expect("login password").type(opened.password).last_line() == "the secret"
    person = lookup(opened, "k", "v").expect("login password").press("c")
    assert "the secret" not in person.output() and person.status == 1


def test_conditions_and_a_passphrase(opened):
    words = ["secret-tool", "store", "--label=Bank", "k", "v", REQUIRE, f"{PRESENCE},{PASSPHRASE}"]
    person = Person(opened, *words).expect("Password: ").type("the secret")
    person.expect("Choose a passphrase").type("open sesame").expect("again").type("open sesame").output()
    person = lookup(opened, "k", "v").expect("login password").type(opened.password)
    assert person.expect("assphrase").type("open sesame").last_line() == "the secret"
    # The first condition that the person fails ends the prompt.
    person = lookup(opened, "k", "v").expect("login password").press("c")
    assert "assphrase" not in person.output() and person.status == 1
    person = lookup(opened, "k", "v").expect("login password").type(opened.password).expect("assphrase").press("c")
    assert "the secret" not in person.output() and person.status == 1


def test_without_a_reader_a_finger_is_not_enough(opened):
    """The stack of this test denies, like the PAM stack of a machine without a reader."""
    opened.store("either", "k", "or", REQUIRE, "biometry-any,or,device-passcode")
    opened.store("both", "k", "and", REQUIRE, "biometry-any,device-passcode")
    opened.store("finger", "k", "finger", REQUIRE, "biometry-any")
    assert lookup(opened, "k", "or").expect("login password").type(opened.password).last_line() == "either"
    for value in ("and", "finger"):
        person = lookup(opened, "k", value)
        assert "password" not in person.output() and person.status == 1


def test_the_administrators_stack_decides(opened):
    opened.store("the secret", "k", "v", REQUIRE, "biometry-any")
    (opened.root / "pam.d/latchkey-biometry").write_text("auth required pam_permit.so\naccount required pam_permit.so\n")
    assert lookup(opened, "k", "v").last_line() == "the secret"


@pytest.mark.parametrize("text", [
    "or,and,device-passcode", "biometry-any,biometry-current-set", "user-presence,device-passcode", "user-presence,or",
    "or", "and,application-password", "presence", "user-presence;device-passcode", "user-presence,", "0x1"])  # fmt: skip
def test_flags_that_do_not_go_together_are_refused(opened, peer, text):
    failure = peer.create_error("secret", {"a": "b", REQUIRE: text})
    assert failure.name == INVALID and failure.message
    assert opened.status()["items"] == 0


# MARK: the command line


def test_the_command_line_stores_such_items(opened):
    person = Person(opened, "latchkey", "add", "--label", "Bank", "--require", PASSPHRASE, "k=v")
    person.expect("secret: ").type("the secret").expect("again").type("the secret")
    person.expect("Choose a passphrase").type("open sesame").expect("again").type("open sesame")
    assert "Added login/1" in person.output() and person.status == 0
    assert lookup(opened, "k", "v").expect("assphrase").type("open sesame").last_line() == "the secret"
    opened.run("latchkey", "add", "--label", "Key", "--require", PRESENCE, "k=w", input="x", check=True)
    assert "it has requirements: 'latchkey get' asks you" in opened.run("latchkey", "find", "k=w").stdout


def test_the_command_line_says_what_is_wrong(opened):
    done = opened.run("latchkey", "add", "--label", "x", "--require", "or", "k=v", input="x")
    assert done.returncode == 64 and "need a condition to combine" in done.stderr
    done = opened.run("latchkey", "add", "--no-prompt", "--label", "x", "--require", PASSPHRASE, "k=v", input="x")
    assert done.returncode == 1 and "the item needs a passphrase" in done.stderr
    person = Person(opened, "latchkey", "add", "--label", "Bank", "--require", PASSPHRASE, "k=v")
    person.expect("secret: ").type("the secret").expect("again").type("the secret").expect("Choose a passphrase").press("c")
    assert "Nothing was stored" in person.output() and person.status == 1
    assert opened.status()["items"] == 0


# MARK: clients


@pytest.fixture
def guarded(opened, peer):
    """An item that requires the person's presence. The PAM stack confirms the presence without a question."""
    (opened.root / "pam.d/latchkey-presence").write_text("auth required pam_permit.so\naccount required pam_permit.so\n")
    return peer.create("the secret", {"k": "v", REQUIRE: PRESENCE})


def test_it_is_locked_until_it_is_unlocked_itself(peer, guarded):
    assert peer.search({"k": "v"}) == ([], [guarded])
    assert peer.get(guarded, ITEM, "Locked") is True
    assert peer.get(guarded, ITEM, "Label") == "Test" and peer.get(guarded, ITEM, "Attributes") == {"k": "v"}
    assert peer.read_error(guarded) == IS_LOCKED
    # A client that unlocks only the collection still cannot read the item. The client's call returns at once.
    assert peer.unlock(LOGIN) == ([LOGIN], NOTHING)
    assert peer.get(LOGIN, COLLECTION, "Locked") is False
    assert peer.read_error(guarded) == IS_LOCKED
    opened, prompt = peer.unlock(guarded)
    assert opened == [] and peer.prompt(prompt) == (False, "ao", [guarded])
    assert peer.search({"k": "v"}) == ([guarded], [])
    assert peer.unlock(guarded) == ([guarded], NOTHING)
    assert peer.read(guarded) == b"the secret"


def test_a_grant_is_for_one_read(peer, guarded):
    peer.prompt(peer.unlock(guarded)[1])
    assert peer.read(guarded) == b"the secret"
    assert peer.read_error(guarded) == IS_LOCKED
    peer.prompt(peer.unlock(guarded)[1])
    session = peer.plain
    assert list(peer.call(ROOT, SERVICE, "GetSecrets", "(aoo)", [guarded], session)) == [guarded]
    assert peer.call(ROOT, SERVICE, "GetSecrets", "(aoo)", [guarded], session) == {}


def test_a_grant_is_for_one_client(opened, peer, guarded):
    other = Peer(opened)
    peer.prompt(peer.unlock(guarded)[1])
    assert other.search({"k": "v"}) == ([], [guarded])
    assert other.read_error(guarded) == IS_LOCKED
    assert peer.read(guarded) == b"the secret"
    other.close()


def test_a_grant_does_not_outlive_a_lock(opened, peer, guarded):
    peer.prompt(peer.unlock(guarded)[1])
    opened.lock()
    assert opened.locker().returncode == 0
    assert peer.read_error(guarded) == IS_LOCKED


def test_a_grant_does_not_outlive_its_collections_lock(opened, peer, guarded):
    peer.prompt(peer.unlock(guarded)[1])
    peer.call(ROOT, SERVICE, "Lock", "(ao)", [LOGIN])
    assert opened.login().returncode == 0
    assert peer.get(LOGIN, COLLECTION, "Locked") is False
    assert peer.read_error(guarded) == IS_LOCKED


def test_a_grant_is_for_the_item_as_it_was(opened, peer, guarded):
    other = Peer(opened)
    for client in (peer, other):
        client.prompt(client.unlock(guarded)[1])
    peer.write(guarded, "new")
    assert other.read_error(guarded) == IS_LOCKED
    assert other.write_error(guarded, "newer") == IS_LOCKED
    other.prompt(other.unlock(guarded)[1])
    assert other.read(guarded) == b"new"
    other.close()


def test_a_lock_ends_its_prompt_and_what_waits_for_one(opened, peer):
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE, CLASS, "after-first-unlock")
    person = lookup(opened, "k", "v").expect("login password")
    waiting = Person(opened, "secret-tool", "store", "--label=Bank", "k", "w", REQUIRE, PASSPHRASE)
    waiting.expect("Password: ").type("waiting")
    wait_until(lambda: len(peer.prompts()) == 2, "the second prompt")
    opened.lock()
    # This prompt unlocks the session. The question about the item has ended.
    person.expect("wants access to your secrets").expect("login password").press("c")
    assert "the secret" not in person.output() and person.status == 1
    waiting.output()
    assert peer.prompts() == [] and opened.status()["items"] == 1


def test_a_grant_does_not_outlive_its_client(opened, peer, guarded):
    other = Peer(opened)
    other.prompt(other.unlock(guarded)[1])
    other.close()
    again = Peer(opened)
    assert again.read_error(guarded) == IS_LOCKED
    again.close()


def test_nothing_is_written_over_without_it(peer, guarded):
    assert peer.create_error("new", {"k": "v"}).name == IS_LOCKED
    assert peer.write_error(guarded, "new") == IS_LOCKED
    with pytest.raises(Failure, match="IsLocked"):
        peer.set(guarded, ITEM, "Attributes", "a{ss}", {"k": "v", CLASS: "always"})
    with pytest.raises(Failure, match="NotSupported"):
        peer.set(guarded, ITEM, "Attributes", "a{ss}", {"k": "v", REQUIRE: ""})
    peer.prompt(peer.unlock(guarded)[1])
    assert peer.create("new", {"k": "v"}) == guarded
    assert peer.read_error(guarded) == IS_LOCKED, "it still asks"
    peer.prompt(peer.unlock(guarded)[1])
    peer.write(guarded, "newer")
    peer.prompt(peer.unlock(guarded)[1])
    assert peer.read(guarded) == b"newer"
    # A prompt shows the label, so a change of the label needs access too.
    with pytest.raises(Failure, match="IsLocked"):
        peer.set(guarded, ITEM, "Label", "s", "Other")
    with pytest.raises(Failure, match="IsLocked"):
        peer.set(guarded, ITEM, "Attributes", "a{ss}", {"k": "other"})
    assert peer.get(guarded, ITEM, "Label") == "Test"
    peer.prompt(peer.unlock(guarded)[1])
    peer.set(guarded, ITEM, "Label", "s", "Other")
    assert peer.get(guarded, ITEM, "Label") == "Other" and peer.read_error(guarded) == IS_LOCKED
    # A client can delete the item without meeting its requirements.
    peer.call(guarded, ITEM, "Delete")
    assert peer.search({"k": "v"}) == ([], [])


def test_a_locked_class_comes_first(opened, peer, guarded):
    opened.lock()
    assert peer.read_error(guarded) == IS_LOCKED
    person = lookup(opened, "k", "v").expect("login password").type(opened.password)
    assert person.last_line() == "the secret"


def test_the_screen_is_locked_while_it_is_asked(opened, peer):
    store(opened, "the secret", "open sesame", "k", "v")
    person = lookup(opened, "k", "v").expect("assphrase")
    opened.lock()
    peer.activate_screen_saver(True)
    wait_until(lambda: opened.status()["locker_up"], "the locker")
    person.type("open sesame")
    peer.activate_screen_saver(False)
    person.press("c")
    assert "the secret" not in person.output()


@pytest.mark.night("prompters")
def test_two_clients_are_asked_one_after_the_other(opened, peer):
    """Each person answers on a terminal of their own. Each answer unlocks only the item of its own client."""
    store(opened, "first secret", "one", "k", "v", label="First")
    store(opened, "second secret", "two", "k", "w", label="Second")
    first = lookup(opened, "k", "v").expect("assphrase").expect("First")
    second = lookup(opened, "k", "w")
    wait_until(lambda: len(peer.prompts()) == 2, "the second")
    again = lookup(opened, "k", "v")
    wait_until(lambda: len(peer.prompts()) == 3, "all three")
    first.type("two").expect("not right").expect("assphrase").type("one")
    assert first.last_line() == "first secret"
    for person, passphrase, secret in ((second, "two", "second secret"), (again, "one", "first secret")):
        person.expect("assphrase").type(passphrase)
        assert person.last_line() == secret


def test_the_portals_collection_has_none(opened, peer):
    retrieve(peer, "org.example.App")
    portal = portal_collection(peer)
    for text in (PRESENCE, PASSPHRASE):
        assert peer.create_error("x", {"a": "b", REQUIRE: text}, collection=portal).name == NOT_SUPPORTED
    item = peer.create("x", {"a": "b"}, collection=portal)
    values = {"require": GLib.Variant("s", PRESENCE)}
    assert peer.error(item, "org.latchkey.Item", "SetAccess", "(a{sv})", values) == NOT_SUPPORTED


def test_what_is_required_finds_nothing_beside_attributes_and_clears_nothing_alone(opened, peer, guarded):
    free = peer.create("free", {"k": "w"})
    assert peer.search({"k": "v", REQUIRE: PASSPHRASE}) == ([], [guarded])
    assert peer.search({REQUIRE: PRESENCE}) == ([], [guarded])
    assert peer.search({REQUIRE: PASSPHRASE}) == ([], [])
    assert peer.search({REQUIRE: ""}) == ([], [free])
    assert peer.search({REQUIRE: PRESENCE, CLASS: "always"}) == ([], [])
    opened.run("secret-tool", "clear", REQUIRE, "")
    assert opened.status()["items"] == 2


def test_only_so_many_items_wait(opened, peer):
    def ask(number):
        properties = {ITEM + ".Attributes": attributes_of({"n": str(number), REQUIRE: PASSPHRASE})}
        parameters = GLib.Variant.new_tuple(
            GLib.Variant("a{sv}", properties), peer.secret("secret"), GLib.Variant("b", False))
        return peer.raw(LOGIN, COLLECTION, "CreateItem", parameters).unpack()

    assert all(ask(number)[0] == NOTHING for number in range(8))
    with pytest.raises(Failure, match="LimitsExceeded"):
        ask(8)
    peer.create("free", {"k": "v"})
    assert opened.status()["items"] == 1


def test_the_session_collection_has_none(peer):
    for text in (PRESENCE, PASSPHRASE):
        failure = peer.create_error("secret", {"a": "b", REQUIRE: text}, collection=SESSION_COLLECTION)
        assert failure.name == NOT_SUPPORTED
