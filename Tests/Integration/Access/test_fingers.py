"""Items that require a finger that was enrolled when the item was stored (biometry-current-set)."""

import pytest
from gi.repository import GLib
from support.clients import CLASS
from support.fprintd import NO_PRINTS, SILENT, Fprintd
from support.peer import IS_LOCKED, ITEM, NO_SUCH_OBJECT, NOT_SUPPORTED, NOTHING, ROOT, Peer
from support.person import Person, ask_on_terminals
from support.session import wait_until
from support.vaultreader import APPLICATION, Vault, fingers_digest, machine_identity

pytestmark = pytest.mark.night("device")

REQUIRE = "latchkey:require"
CURRENT = "biometry-current-set"
NO_FINGERS = "org.latchkey.Error.NoFingers"
PERMIT = "auth required pam_permit.so\naccount required pam_permit.so\n"
ENROLLED = {"Reader": ["left-thumb", "right-index-finger"]}
OTHERS = [
    {"Reader": ["left-thumb", "right-index-finger", "right-thumb"]}, {"Reader": ["left-thumb"]},
    {"Reader": ["left-thumb", "left-index-finger"]}, {"Reader": []}, {"Reader": NO_PRINTS}]  # fmt: skip
# Answers of fprintd that do not tell which fingers are enrolled.
UNKNOWN = [
    {}, {"Reader": "PermissionDenied"}, {"Reader": "NoSuchDevice"}, {"Reader": "Internal"}, {"Other": ["left-thumb"]},
    ENROLLED | {"Other": []}, {"Other": NO_PRINTS}]  # fmt: skip


@pytest.fixture
def opened(session):
    """A session in which the person shows the right finger whenever a prompt asks for one."""
    ask_on_terminals(session, agreeing=True)
    (session.root / "pam.d/latchkey-biometry").write_text(PERMIT)
    assert session.login().returncode == 0
    return session


@pytest.fixture
def fprintd(opened):
    stand_in = Fprintd(opened)
    stand_in.set(ENROLLED)
    yield stand_in
    stand_in.close()


@pytest.fixture
def peer(opened):
    connected = Peer(opened)
    yield connected
    connected.close()


@pytest.fixture
def item(fprintd, peer):
    return peer.create("the secret", {"k": "v", REQUIRE: CURRENT}, label="Bank")


def read(peer, item):
    """Asks for access and reads the secret. The result is None if the vault refuses."""
    _, prompt = peer.unlock(item)
    dismissed, _, paths = peer.prompt(prompt)
    assert paths == ([] if dismissed else [item])
    return None if dismissed else peer.read(item)


def asks_for_a_password(session):
    """From now on the prompt for the finger also asks for a password, so that a question appears on the screen."""
    stack = (session.root / "pam.d/latchkey-presence").read_text()
    (session.root / "pam.d/latchkey-biometry").write_text(stack)


def is_kept(peer, item):
    """Whether the item still exists, and is locked."""
    return peer.search({"k": "v"}) == ([], [item]) and peer.read_error(item) == IS_LOCKED


def is_gone(session, peer, item):
    assert peer.search({"k": "v"}) == ([], [])
    assert peer.read_error(item) == NO_SUCH_OBJECT
    assert peer.unlock(item) == ([], NOTHING)
    return session.status()["items"] == 0


def test_it_opens_as_long_as_the_fingers_are_the_same(opened, fprintd, peer, item):
    assert peer.read_error(item) == IS_LOCKED
    for order in (ENROLLED, {"Reader": ENROLLED["Reader"][::-1]}):
        fprintd.set(order)
        before = fprintd.asked
        assert read(peer, item) == b"the secret"
        assert fprintd.asked == before + 2, "before the prompt, and when PAM accepted"
    opened.restart()
    assert opened.login().returncode == 0
    opened.run("latchkey", "rotate", "--stdin", input=opened.password + "\n", check=True)
    again = Peer(opened)
    assert read(again, item) == b"the secret"
    again.close()


def test_what_it_remembers_is_in_its_metadata(opened, fprintd, peer):
    fprintd.set({"Zwei": ["right-thumb", "left-thumb"], "Eins": ["left-thumb"], "Drei": NO_PRINTS})
    peer.create("the secret", {"k": "v", REQUIRE: CURRENT})
    peer.create("other", {"k": "w", REQUIRE: "biometry-any"})
    opened.restart()
    items = Vault(opened.vault, opened.password, machine_identity(APPLICATION)).items.values()
    expected = fingers_digest({"Drei": [], "Eins": ["left-thumb"], "Zwei": ["left-thumb", "right-thumb"]})
    assert {item.attributes["k"]: item.fingers for item in items} == {"v": expected, "w": None}
    assert {item.secret for item in items} == {b"the secret", b"other"}


# MARK: storing


@pytest.mark.parametrize(
    ("readers", "words"), [
        ({}, CURRENT), ({"Reader": []}, CURRENT), ({"Reader": NO_PRINTS}, CURRENT), ({"Reader": "Internal"}, CURRENT),
        ({"Reader": NO_PRINTS}, f"{CURRENT},application-password"), ({}, f"{CURRENT},or,device-passcode")])  # fmt: skip
def test_it_is_not_stored_where_no_finger_is_known(opened, fprintd, peer, readers, words):
    fprintd.set(readers)
    failure = peer.create_error("secret", {"k": "v", REQUIRE: words})
    assert failure.name == NO_FINGERS and "finger" in failure.message
    assert opened.status()["items"] == 0 and peer.prompts() == []


def test_it_is_not_stored_without_fprintd(opened, fprintd, peer):
    fprintd.stop()
    failure = peer.create_error("secret", {"k": "v", REQUIRE: CURRENT})
    assert failure.name == NO_FINGERS and "there is no fprintd" in failure.message
    fprintd.close()
    assert peer.create_error("secret", {"k": "v", REQUIRE: CURRENT}).name == NO_FINGERS
    done = opened.run("latchkey", "add", "--label", "Bank", "--require", CURRENT, "k=v", input="secret")
    assert done.returncode == 1 and "there is no fprintd" in done.stderr
    assert opened.status()["items"] == 0


def test_it_is_not_stored_where_fprintd_does_not_answer(opened, fprintd, peer):
    fprintd.set({"Reader": SILENT})
    failure = peer.create_error("secret", {"k": "v", REQUIRE: CURRENT})
    assert failure.name == NO_FINGERS and "fprintd does not answer" in failure.message
    assert opened.status()["items"] == 0


NOT_INSTALLED = "fprintd is not installed, so nobody can be asked for a finger"


def test_an_item_that_nobody_can_read_has_a_warning(opened, fprintd):
    def stored(require, *words):
        done = opened.run("latchkey", *words, "--require", require, input="secret", check=True)
        return " ".join(done.stderr.split())

    added = ("add", "--label", "Bank", "--replace", "k=v")
    assert stored("biometry-any", *added) == ""
    for readers, words in (({}, "There is no fingerprint reader"), ({"Reader": NO_PRINTS}, "run 'fprintd-enroll'")):
        fprintd.set(readers)
        assert words in stored("biometry-any", "add", "--label", "Other", f"w={words}")
    fprintd.stop()
    said = stored("biometry-any", "add", "--label", "Other", "o=v")
    assert "nobody can read the item" in said and NOT_INSTALLED in said
    # The item may have another condition beside the finger, or only the other condition.
    for number, require in enumerate(("biometry-any,or,device-passcode", "user-presence", "none")):
        assert stored(require, "add", "--label", "Other", f"n={number}") == ""
    assert NOT_INSTALLED in stored("biometry-any", "edit", "n=2")


def test_a_reading_without_fprintd_names_it(opened, fprintd):
    opened.run("latchkey", "add", "--label", "Bank", "--require", "biometry-any", "k=v", input="secret", check=True)
    (opened.root / "pam.d/latchkey-biometry").unlink()
    fprintd.stop()
    for words in ([], ["--no-prompt"]):
        done = opened.run("latchkey", "get", *words, "k=v")
        assert done.returncode == 1 and NOT_INSTALLED in done.stderr and "answer the prompt" not in done.stderr


def store_slowly(session, fprintd):
    """Starts secret-tool, whose item waits for fprintd."""
    fprintd.set({"Reader": SILENT})
    person = Person(session, "secret-tool", "store", "--label=Bank", "k", "v", REQUIRE, CURRENT)
    person.expect("Password: ").type("the secret")
    wait_until(lambda: fprintd.asked, "the question")
    return person


def test_others_are_served_while_fprintd_thinks(opened, fprintd, peer):
    person = store_slowly(opened, fprintd)
    peer.create("free", {"a": "b"})
    assert peer.search({"k": "v"}) == ([], [])
    fprintd.set(ENROLLED)
    person.output()
    assert person.status == 0
    (item,) = peer.search({"k": "v"})[1]
    assert read(peer, item) == b"the secret"


def test_a_lock_ends_what_waits_for_fprintd(opened, fprintd, peer):
    person = store_slowly(opened, fprintd)
    opened.lock()
    # secret-tool hears that the session is locked, and asks for the login password.
    person.expect("Enter your login password").press("c").output()
    assert person.status == 1
    fprintd.set(ENROLLED)
    assert opened.locker().returncode == 0
    assert peer.search({}) == ([], [])


def test_a_client_that_is_gone_stores_nothing(opened, fprintd, peer):
    person = store_slowly(opened, fprintd)
    person.press("c").output()
    fprintd.set(ENROLLED)
    assert peer.create("the secret", {"a": "b", REQUIRE: CURRENT})
    assert opened.status()["items"] == 1


# MARK: other fingers


@pytest.mark.parametrize("others", OTHERS)
def test_with_other_fingers_it_is_locked_until_its_own_are_back(opened, fprintd, peer, item, others):
    fprintd.set(others)
    assert read(peer, item) is None and is_kept(peer, item)
    opened.restart()
    assert opened.login().returncode == 0
    again = Peer(opened)
    assert read(again, item) is None and is_kept(again, item)
    fprintd.set(ENROLLED)
    assert read(again, item) == b"the secret"
    again.close()
    assert "destroyed" not in opened.log() and "Bank" not in opened.log()


@pytest.mark.parametrize(
    ("readers", "why", "what"),
    [
        (OTHERS[0], "other fingers are enrolled", "fprintd-delete"),
        ({"Reader": NO_PRINTS}, "reports no enrolled finger", "fprintd-enroll"),
        ({"Other": ["left-thumb"]}, "other fingerprint readers", "connect just those again"),
        ({"Reader": "PermissionDenied"}, "PermissionDenied", "systemctl status fprintd.service"),
    ],
)
def test_it_says_why_and_what_to_do(opened, fprintd, peer, item, readers, why, what):
    fprintd.set(readers)
    done = opened.run("latchkey", "get", "k=v")
    assert done.returncode == 1 and why in done.stderr and what in done.stderr
    (problem,) = opened.status()["problems"]
    assert problem.startswith("no finger opens login/1: ") and why in problem and what in problem
    found = opened.run("latchkey", "find", "k=v").stdout
    assert why in found and what in found
    assert "other fingers are enrolled" in opened.run("latchkey", "log").stdout
    assert f"login/1: {why}" in opened.log() or why in opened.log()
    fprintd.set(ENROLLED)
    assert read(peer, item) == b"the secret"
    assert opened.status()["problems"] == []


def test_the_login_password_does_not_open_it_instead(opened, fprintd, peer, item):
    """A person who knows the password could enroll a finger. So the password must not replace the finger."""
    asks_for_a_password(opened)
    fprintd.set(OTHERS[0])
    person = Person(opened, "secret-tool", "lookup", "k", "v")
    assert person.output() == "" and person.status == 1
    change = {"require": GLib.Variant("s", "")}
    prompt = peer.call(item, "org.latchkey.Item", "SetAccess", "(a{sv})", change)
    dismissed, *_ = peer.prompt(prompt)
    assert dismissed and is_kept(peer, item)


def test_the_person_deletes_it_all_the_same(opened, fprintd, peer, item):
    fprintd.set(OTHERS[0])
    assert read(peer, item) is None
    done = opened.run("latchkey", "rm", "k=v")
    assert done.returncode == 0, done.stderr
    assert is_gone(opened, peer, item)
    assert opened.status()["problems"] == []


def test_with_other_fingers_the_other_condition_is_left(opened, fprintd, peer):
    words = f"{CURRENT},or,device-passcode"
    item = peer.create("the secret", {"k": "v", REQUIRE: words}, label="Bank")
    assert read(peer, item) == b"the secret", "a finger does"
    for fingers in (OTHERS[0], {"Reader": NO_PRINTS}, {}):
        fprintd.set(fingers)
        person = Person(opened, "secret-tool", "lookup", "k", "v").expect("login password").type(opened.password)
        assert person.last_line() == "the secret"
    person = Person(opened, "secret-tool", "lookup", "k", "v").expect("login password").press("c")
    assert "the secret" not in person.output() and person.status == 1
    fprintd.set(ENROLLED)
    assert read(peer, item) == b"the secret", "a finger does again"
    assert peer.get(item, "org.latchkey.Item", "Require") == "biometry-current-set,device-passcode,or"


def test_what_is_stored_remembers_the_fingers_that_are_there_then(opened, fprintd):
    """The person enrolls the fingers while choosing a passphrase. Without enrolled fingers, nobody could read the item.
    """
    words = ["k", "v", REQUIRE, f"{CURRENT},application-password"]
    person = Person(opened, "secret-tool", "store", "--label=Bank", *words).expect("Password: ").type("the secret")
    person.expect("Choose a passphrase").type("open sesame").expect("again")
    fprintd.set(OTHERS[0])
    person.type("open sesame").output()
    assert opened.status()["items"] == 0


def test_nobody_is_asked_for_what_no_finger_opens(opened, fprintd, peer):
    words = ["k", "v", REQUIRE, f"{CURRENT},application-password"]
    person = Person(opened, "secret-tool", "store", "--label=Bank", *words)
    person.expect("Password: ").type("the secret")
    person.expect("Choose a passphrase").type("open sesame").expect("again").type("open sesame").output()
    assert person.status == 0
    asks_for_a_password(opened)
    fprintd.set(OTHERS[0])
    person = Person(opened, "secret-tool", "lookup", "k", "v")
    assert person.output() == "" and person.status == 1
    assert opened.status()["items"] == 1


def test_they_are_looked_at_again_when_the_person_has_answered(opened, fprintd, peer, item):
    asks_for_a_password(opened)
    person = Person(opened, "secret-tool", "lookup", "k", "v").expect("Bank")
    fprintd.set(OTHERS[0])
    person.type(opened.password)
    assert "the secret" not in person.output() and person.status == 1
    fprintd.set(ENROLLED)
    person = Person(opened, "secret-tool", "lookup", "k", "v").expect("Bank").type(opened.password)
    assert person.last_line() == "the secret"


@pytest.mark.parametrize("words", [CURRENT, f"{CURRENT},or,device-passcode"])
def test_no_client_reads_again_without_a_look_at_them(opened, fprintd, peer, words):
    (opened.root / "pam.d/latchkey-presence").write_text(PERMIT)
    item = peer.create("the secret", {"k": "v", REQUIRE: words}, label="Bank")
    other = peer.create("another", {"o": "v", REQUIRE: "biometry-any"})
    peer.call(ROOT, "org.latchkey.Service", "SetReuse", "(u)", 300)
    assert read(peer, other) == peer.read(other) == b"another"
    assert read(peer, item) == b"the secret" and peer.read_error(item) == IS_LOCKED
    fprintd.set(OTHERS[0])
    assert read(peer, item) == (None if words == CURRENT else b"the secret")


def test_a_lock_while_they_are_looked_at_leaves_nothing_open(opened, fprintd, peer):
    # The key of this class stays in memory behind the lock too.
    item = peer.create("the secret", {"k": "v", REQUIRE: CURRENT, CLASS: "after-first-unlock"}, label="Bank")
    asks_for_a_password(opened)
    person = Person(opened, "secret-tool", "lookup", "k", "v").expect("Bank")
    before = fprintd.asked
    fprintd.set({"Reader": SILENT})
    person.type(opened.password)
    wait_until(lambda: fprintd.asked > before, "the second question")
    opened.lock()
    before = fprintd.answered
    fprintd.set(ENROLLED)
    wait_until(lambda: fprintd.answered > before, "the answer")
    assert opened.status()["state"] == "locked"
    # The next prompt unlocks the session. The question about the item has ended.
    assert "the secret" not in person.expect("Enter your login password").press("c").output()
    assert opened.locker().returncode == 0
    assert peer.read_error(item) == IS_LOCKED


# MARK: what says nothing of the fingers


@pytest.mark.parametrize("readers", UNKNOWN)
def test_where_fingers_cannot_be_told_it_is_refused_and_kept(fprintd, peer, item, readers):
    fprintd.set(readers)
    assert read(peer, item) is None
    assert peer.search({"k": "v"}) == ([], [item]) and peer.read_error(item) == IS_LOCKED
    fprintd.set(ENROLLED)
    assert read(peer, item) == b"the secret"


@pytest.mark.parametrize("gone", ["silent", "service", "bus"])
def test_without_an_answer_it_is_refused_and_kept(opened, fprintd, peer, item, gone):
    if gone == "silent":
        fprintd.set({"Reader": SILENT})
    else:
        fprintd.stop() if gone == "service" else fprintd.close()
    assert read(peer, item) is None
    assert peer.search({"k": "v"}) == ([], [item])
    assert "no finger opens login/1" in opened.log()
    if gone != "bus":
        fprintd.set(ENROLLED)
        if gone == "service":
            fprintd.start()
        assert read(peer, item) == b"the secret"


def test_unknown_at_the_second_look_gives_nothing_and_keeps_it(opened, fprintd, peer, item):
    asks_for_a_password(opened)
    person = Person(opened, "secret-tool", "lookup", "k", "v").expect("Bank")
    fprintd.set({})
    person.type(opened.password)
    assert "the secret" not in person.output() and person.status == 1
    fprintd.set(ENROLLED)
    person = Person(opened, "secret-tool", "lookup", "k", "v").expect("Bank").type(opened.password)
    assert person.last_line() == "the secret"


# MARK: changes


def test_it_is_changed_only_as_it_is_read(opened, fprintd, peer, item):
    for attributes in ({"k": "v"}, {"k": "v", REQUIRE: CURRENT}):
        assert peer.create_error("new", attributes).name == IS_LOCKED
    assert peer.write_error(item, "new") == IS_LOCKED
    peer.prompt(peer.unlock(item)[1])
    peer.write(item, "new")
    assert read(peer, item) == b"new"
    peer.prompt(peer.unlock(item)[1])
    assert peer.create("newer", {"k": "v"}) == item
    fprintd.set(OTHERS[0])
    assert peer.create_error("newest", {"k": "v", REQUIRE: CURRENT}).name == IS_LOCKED
    assert read(peer, item) is None and is_kept(peer, item)


def test_another_item_may_begin_to_ask_for_them(opened, fprintd, peer):
    (opened.root / "pam.d/latchkey-presence").write_text(PERMIT)
    item = peer.create("old", {"k": "v", REQUIRE: "user-presence"})
    peer.prompt(peer.unlock(item)[1])
    assert peer.create_error("new", {"k": "v", REQUIRE: CURRENT}).name == NOT_SUPPORTED
    prompt = peer.call(item, "org.latchkey.Item", "SetAccess", "(a{sv})", {"require": GLib.Variant("s", CURRENT)})
    assert peer.prompt(prompt) == (False, "o", item)
    assert peer.get(item, "org.latchkey.Item", "Require") == CURRENT and read(peer, item) == b"old"
    fprintd.set(OTHERS[0])
    assert read(peer, item) is None and is_kept(peer, item)


def test_no_backup_has_it(opened, fprintd, peer, item):
    done = opened.run("latchkey", "backup", "--passphrase-stdin", str(opened.home / "b"), input="backup\n")
    assert done.returncode == 4 and "its requirements keep it out of backups" in done.stdout + done.stderr


def test_it_is_deleted_without_a_finger(opened, fprintd, peer, item):
    fprintd.set({})
    peer.call(item, ITEM, "Delete")
    assert is_gone(opened, peer, item)
