"""PAM stacks of protected items: a stack denies, a module calls the daemon, or the item disappears during the prompt.
"""

import pathlib
import signal
import subprocess

import pytest
from gi.repository import GLib
from support.access import PASSPHRASE, PRESENCE, REQUIRE, lookup, opened, peer, store  # noqa: F401
from support.peer import ITEM, NOTHING, PROMPT, ROOT, SERVICE, Failure, Peer
from support.person import Person
from support.session import is_alive, wait_until
from test_floods import memory

pytestmark = pytest.mark.night("vault")

SOURCE = pathlib.Path(__file__).with_name("Shims") / "pam_callback.c"
DENY, PERMIT = "auth required pam_deny.so\n", "auth required pam_permit.so\n"
STILL_LOCKED = "it is still locked: no prompt could be shown, or PAM refused to ask, as after too many wrong answers."


def stack(session, service, text):
    (session.root / "pam.d" / service).write_text(text)


def prompters(session):
    """The processes that show a prompt in this session. A process that only starts a prompt does not count."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"/latchkey-prompt") and str(session.root / "run").encode() in words:
                found[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return [process for process, parent in found.items() if parent not in found]


# MARK: stacks that deny


@pytest.mark.parametrize("service, words", [("latchkey-presence", PRESENCE), ("latchkey-item", PASSPHRASE)])
def test_a_stack_that_denies(opened, service, words):
    if words == PASSPHRASE:
        store(opened, "the secret", "open sesame", "k", "v")
    else:
        opened.store("the secret", "k", "v", REQUIRE, words)
    stack(opened, service, DENY)
    person = Person(opened, "latchkey", "get", "--show", "k=v")
    told = person.output()
    asked, _, refusal = told.partition("latchkey: ")
    assert person.status == 1 and STILL_LOCKED in refusal and "assword" not in asked and "assphrase" not in asked
    # The refusal is about the item alone: the vault and the collection are unlocked.
    assert f"The item requires {words}" in refusal and "does not open it" in refusal and "--collection" not in refusal
    assert lookup(opened, "k", "v").output() == ""
    # Each of the two reads had a prompt, and neither prompt asked the person.
    assert opened.log().count("PAM asks nobody") == 2
    wait_until(lambda: prompters(opened) == [], "the end of the prompts")


def test_a_stack_that_denies_stores_nothing(opened):
    stack(opened, "latchkey-item", DENY)
    person = Person(opened, "latchkey", "add", "--label", "Bank", "--require", PASSPHRASE, "k=v")
    person.expect("secret: ").type("the secret").expect("again").type("the secret")
    assert "othing was stored" in person.output() and person.status == 1
    assert opened.status()["items"] == 0


def test_the_right_passphrase_is_not_enough_for_a_stack_that_denies(opened):
    """The daemon has checked the passphrase, but access requires that the whole stack accepts."""
    store(opened, "the secret", "open sesame", "k", "v")
    line = (opened.root / "pam.d/latchkey-item").read_text()
    stack(opened, "latchkey-item", line + DENY)
    person = lookup(opened, "k", "v")
    for _ in range(3):
        person.expect("Enter the passphrase").type("open sesame")
    assert "the secret" not in person.output() and person.status == 1
    person = Person(opened, "latchkey", "add", "--label", "Other", "--require", PASSPHRASE, "k=w")
    person.expect("secret: ").type("another").expect("again").type("another")
    for _ in range(3):
        person.expect("Choose a passphrase").type("chosen").expect("again").type("chosen")
    assert person.expect("othing was stored").output() is not None and person.status == 1
    assert opened.status()["items"] == 1
    stack(opened, "latchkey-item", line)
    assert lookup(opened, "k", "v").expect("assphrase").type("open sesame").last_line() == "the secret"


def test_a_missing_service_is_named(opened):
    (opened.root / "pam.d/other").write_text(PERMIT)
    opened.store("the secret", "k", "v", REQUIRE, "biometry-any")
    for service, words in (("latchkey-biometry", ["get", "k=v"]), ("latchkey-unlock", ["unlock", "--stdin"])):
        (opened.root / "pam.d" / service).unlink()
        if service == "latchkey-unlock":
            opened.lock()
        done = opened.run("latchkey", *words, input=opened.password)
        assert done.returncode == 1 and done.stdout == ""
        assert f"there is no file {opened.root}/pam.d/{service}" in done.stderr + opened.log()
    assert opened.status()["state"] == "locked"


# MARK: a stack that comes back


@pytest.fixture
def callback(opened):
    """Makes `latchkey-presence` run a script, which writes its steps into the file `did`."""
    module = opened.root / "pam_callback.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", module, SOURCE, "-lpam"], check=True)
    module.chmod(0o755)
    did = opened.root / "did"
    did.touch()
    did.chmod(0o666)

    def install(*lines):
        script = opened.root / "callback"
        script.write_text("\n".join([f"#!/bin/sh\nexec >{did} 2>&1", *lines]) + "\n")
        script.chmod(0o755)
        stack(opened, "latchkey-presence", f"auth required {module} {script}\n")
        return did

    return install


PING = "dbus-send --session --print-reply --dest=org.freedesktop.secrets /org/freedesktop/secrets org.freedesktop.DBus.Peer.Ping"


def test_a_module_may_ask_the_daemon(opened, peer, callback):
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE)
    opened.store("free", "k", "w")
    go = opened.root / "go"
    did = callback(
        "set -e", PING, "secret-tool lookup k w", "latchkey status >/dev/null", "echo waits",
        f"while ! test -e {go}; do sleep 0.05; done", "secret-tool search k v && echo found")
    person = lookup(opened, "k", "v")
    wait_until(lambda: "waits" in did.read_text(), "the module")
    assert "free" in did.read_text()
    # While the script waits, the daemon serves other clients.
    item = peer.create("another", {"k": "x"})
    assert peer.read(item) == b"another" and len(prompters(opened)) == 1
    go.touch()
    assert person.last_line() == "the secret" and person.status == 0
    assert "found" in did.read_text()


def test_a_module_that_asks_for_what_it_is_to_allow(opened, peer, callback):
    """The module's own read waits for the prompt that runs the module. No other call waits."""
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE)
    did = callback("echo asks; timeout 2 secret-tool lookup k v && exit 0", "echo gave up; exit 1")
    person = lookup(opened, "k", "v")
    wait_until(lambda: "asks" in did.read_text(), "the module")
    item = peer.create("another", {"k": "x"})
    assert peer.read(item) == b"another"
    assert "the secret" not in person.output() and person.status == 1
    assert "gave up" in did.read_text() and "the secret" not in did.read_text()
    wait_until(lambda: prompters(opened) == [] and peer.prompts() == [], "the end of all prompts")
    stack(opened, "latchkey-presence", PERMIT)
    assert lookup(opened, "k", "v").last_line() == "the secret"


# MARK: flags


MISTAKES = {
    "or,and,device-passcode": "'or' and 'and' cannot be combined",
    "biometry-any,biometry-current-set": "biometry-any and biometry-current-set cannot be combined",
    "biometry-any,biometry-current-set,or": "biometry-any and biometry-current-set cannot be combined",
    "user-presence,device-passcode": "user-presence can only be combined with application-password",
    "user-presence,biometry-any,or": "user-presence can only be combined with application-password",
    "user-presence,or": "user-presence can only be combined with application-password",
    "user-presence,and,application-password": "user-presence can only be combined with application-password",
    "or": "need a condition to combine", "and,application-password": "need a condition to combine",
    "presence": "is none of user-presence, device-passcode", "user-presence,": "is none of user-presence",
    "User-Presence": "is none of user-presence", "1": "is none of user-presence", " ": "is none of user-presence"}  # fmt: skip


def test_contradictions_are_told_in_every_way(opened, peer):
    item = peer.create("free", {"k": "w"})
    for text, told in MISTAKES.items():
        done = opened.store("the secret", "k", "v", REQUIRE, text, check=False)
        assert done.returncode == 1 and told in done.stderr, (text, done.stderr)
        done = opened.run("latchkey", "add", "--label", "x", "--require", text, "k=v", input="x")
        assert done.returncode == 64 and told in done.stderr, (text, done.stderr)
        failure = peer.create_error("secret", {"k": "v", REQUIRE: text})
        assert told in failure.message and failure.name.endswith("InvalidArgs")
        with pytest.raises(Failure, match="NotSupported"):
            peer.set(item, ITEM, "Attributes", "a{ss}", {"k": "w", REQUIRE: text})
        done = opened.run("latchkey", "edit", "k=w", "--set", f"{REQUIRE}={text}")
        assert done.returncode != 0, text
    assert opened.status()["items"] == 1 and peer.get(item, ITEM, "Attributes") == {"k": "w"}
    assert peer.prompts() == [] and peer.read(item) == b"free"


# MARK: prompts about what is gone


def test_the_item_is_deleted_while_it_is_asked_for(opened, peer):
    store(opened, "the secret", "open sesame", "k", "v")
    person = lookup(opened, "k", "v").expect("assphrase")
    (item,) = peer.search({"k": "v"})[1]
    peer.call(item, ITEM, "Delete")
    assert "the secret" not in person.output() and person.status == 1
    wait_until(lambda: prompters(opened) == [], "the end of the prompt")
    assert peer.prompts() == [] and opened.status()["problems"] == []


def test_its_collection_is_deleted_while_it_is_asked_for(opened, peer):
    properties = {"org.freedesktop.Secret.Collection.Label": GLib.Variant("s", "Other")}
    collection = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", properties, "")[0]
    item = peer.create("the secret", {"k": "v", REQUIRE: PRESENCE}, collection=collection)
    person = lookup(opened, "k", "v").expect("login password")
    peer.call(collection, "org.freedesktop.Secret.Collection", "Delete")
    assert "the secret" not in person.output() and person.status == 1
    wait_until(lambda: prompters(opened) == [], "the end of the prompt")
    assert item not in sum(peer.search({"k": "v"}), [])


def test_no_other_item_takes_the_place_of_the_one_that_is_asked_for(opened, peer):
    """During the prompt, the item is deleted and a new item with the same label and attributes is stored. The new item
    needs a prompt of its own."""
    opened.store("the secret", "k", "v", REQUIRE, PRESENCE)
    (item,) = peer.search({"k": "v"})[1]
    person = lookup(opened, "k", "v").expect("login password")
    peer.call(item, ITEM, "Delete")
    again = peer.create("another", {"k": "v", REQUIRE: PRESENCE})
    assert again != item
    assert "another" not in person.output() and person.status == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_daemon_ends_while_an_item_is_asked_for(opened, number):
    store(opened, "the secret", "open sesame", "k", "v")
    person = lookup(opened, "k", "v").expect("assphrase")
    tool = Person(opened, "latchkey", "get", "--show", "k=v")
    client = Peer(opened)
    wait_until(lambda: len(client.prompts()) == 2, "the second client")
    client.close()
    (asking,) = prompters(opened)
    opened.restart(number)
    wait_until(lambda: not is_alive(asking) and prompters(opened) == [], "the end of the prompt")
    told = tool.output()
    assert tool.status in (1, 3) and "the secret" not in told
    if number == signal.SIGKILL:
        person.press("c")  # then libsecret waits for ever
    assert "the secret" not in person.output()
    assert opened.login().returncode == 0
    assert lookup(opened, "k", "v").expect("assphrase").type("open sesame").last_line() == "the secret"


# MARK: many


def guarded_items(peer, count):
    return [peer.create("the secret", {"n": str(number), REQUIRE: PRESENCE}) for number in range(count)]


def ask_for(peer, items):
    """Calls Unlock and Prompt for each item, without waiting for an answer."""
    prompts = [peer.unlock(item)[1] for item in items]
    assert NOTHING not in prompts
    for prompt in prompts:
        # The daemon has already dropped the oldest prompts, because there are too many.
        peer.bus.call("org.freedesktop.secrets", prompt, PROMPT, "Prompt", GLib.Variant("(s)", ("",)), None, 0, -1, None, None)
    return prompts


@pytest.mark.parametrize("clients", [1, 20])
def test_a_thousand_prompts(opened, peer, clients):
    """The daemon answers other clients at once, and frees all memory afterwards. Only one prompt is on the screen at a
    time."""
    stack(opened, "latchkey-presence", PERMIT)
    items = guarded_items(peer, 1000 // clients)
    process, before = opened.daemon_pid(), memory(opened)
    many = [Peer(opened) for _ in range(clients)]
    try:
        for client in many:
            ask_for(client, items)
        assert len(peer.prompts()) <= 256 * clients
        assert len(prompters(opened)) <= 1
        free = peer.create("free", {"k": "w"})
        assert peer.read(free) == b"free"
        assert memory(opened) - before < 16 << 10
        # The prompts appear one after the other.
        for client in many:
            client.wait_for_member("Completed")
    finally:
        for client in many:
            client.close()
    wait_until(lambda: peer.prompts() == [] and prompters(opened) == [], "the end of all prompts")
    assert opened.daemon_pid() == process and memory(opened) - before < 4 << 10
    assert lookup(opened, "n", "1").last_line() == "the secret"


# MARK: the command line says how its prompt ended


def test_wrong_answers_and_the_pause_after_them(opened):
    store(opened, "the secret", "open sesame", "k", "v")
    get = ("latchkey", "get", "--show", "k=v")
    person = Person(opened, *get)
    for _ in range(3):
        person.expect("Enter the passphrase").type("wrong")
    said = person.output()
    assert person.status == 1 and "it is still locked: the answers were wrong." in said
    assert "nobody can recover its secret" in said and "answer the prompt" not in said
    person = Person(opened, *get)
    for _ in range(2):
        person.expect("Enter the passphrase").type("wrong")
    said = person.output()
    # The prompt's message appears before the command's message.
    assert said.index("too many answers were wrong") < said.index("prompts for this passphrase pause for 30 seconds")
    again = Person(opened, *get)
    said = again.output()
    assert again.status == 1 and "prompts for this passphrase pause for 30 seconds" in said and "Run this again after that." in said
    assert "answer the prompt" not in said
