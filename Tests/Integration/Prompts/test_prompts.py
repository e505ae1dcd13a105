"""Prompts from end to end: a waiting client, the daemon's queue, latchkey-prompt, PAM, the module, and keys. The person
is a program that types on the client's terminal. Tests/Programs tests the other prompters.
"""

import signal

import pytest
from support.person import Person
from support.session import wait_until

SERVICE = "/org/freedesktop/secrets"


def bus(session, path, interface, method, *arguments):
    command = ["gdbus", "call", "--session", "--dest", "org.freedesktop.secrets", "--object-path", path]
    return session.run(*command, "--method", f"{interface}.{method}", *arguments, check=True).stdout


def lock(session, path):
    bus(session, SERVICE, "org.freedesktop.Secret.Service", "Lock", f"['{path}']")


def is_locked(session, path):
    properties = "org.freedesktop.DBus.Properties"
    return "true" in bus(session, path, properties, "Get", "org.freedesktop.Secret.Collection", "Locked")


@pytest.fixture
def opened(session):
    # This pinentry always fails, so the prompt uses the plain terminal on every machine.
    pinentry = session.root / "bin/pinentry"
    pinentry.write_text("#!/bin/false\n")
    pinentry.chmod(0o755)
    session.login()
    session.store("what was kept", "service", "mail")
    return session


@pytest.fixture
def private(opened):
    """A locked collection with a passphrase. Returns the collection's path."""
    label = "{'org.freedesktop.Secret.Collection.Label': <'Private'>}"
    answer = bus(opened, SERVICE, "org.freedesktop.Secret.Service", "CreateCollection", label, "")
    path = answer.split("'")[1]
    opened.run("secret-tool", "store", "--label=P", f"--collection={path}", "in", "private", input="hidden", check=True)
    opened.run("latchkey", "passphrase", "set", "--stdin", "Private", input="sesame", check=True)
    lock(opened, path)
    return path


def lookup(session, *attributes):
    return Person(session, "secret-tool", "lookup", *attributes)


def test_the_login_password_gives_the_keys_back(opened):
    opened.lock()
    person = lookup(opened, "service", "mail").expect("secret-tool").expect("login password").type(opened.password)
    assert person.last_line() == "what was kept" and person.status == 0
    assert opened.status()["state"] == "unlocked"


def test_a_prompt_names_what_an_interpreter_runs(opened):
    program = opened.root / "wallet.py"
    program.write_text("from gi import require_version as version\nversion('Secret', '1')\nfrom gi.repository import Secret\n"
                       "print(Secret.password_lookup_sync(None, {'service': 'mail'}, None))\n")
    program.chmod(0o644)
    opened.lock()
    person = Person(opened, "/usr/bin/python3", "-W", "ignore", program).expect("python3").expect(", running 'wallet.py'")
    person.expect("login password").type(opened.password)
    assert person.last_line() == "what was kept" and person.status == 0


def test_before_the_first_login_too(opened):
    opened.logout()
    opened.restart()
    assert opened.status()["state"] == "sealed"
    person = lookup(opened, "service", "mail").expect("login password").type(opened.password)
    assert person.last_line() == "what was kept"


def test_wrong_then_right(opened):
    opened.lock()
    person = lookup(opened, "service", "mail").expect("login password").type("something else")
    person.expect("not right").expect("login password")
    assert opened.status()["state"] == "locked"
    assert person.type(opened.password).last_line() == "what was kept"


def test_three_wrong_ones_end_it(opened):
    opened.lock()
    person = lookup(opened, "service", "mail")
    for _ in range(3):
        person.expect("login password").type("something else")
    assert "what was kept" not in person.output() and person.status == 1
    assert opened.status()["state"] == "locked"


def test_dismissed(opened):
    opened.lock()
    person = lookup(opened, "service", "mail").expect("login password").press("c")
    assert "what was kept" not in person.output() and person.status == 1


def test_the_screen_unlocks_meanwhile(opened):
    """The locker's password also answers the prompt, which disappears from the terminal."""
    opened.lock()
    person = lookup(opened, "service", "mail").expect("login password")
    opened.locker()
    # The client may print before the prompt's last line end.
    assert person.last_line().endswith("what was kept") and person.status == 0


def test_two_clients_share_one_answer(opened):
    opened.lock()
    first = lookup(opened, "service", "mail").expect("login password")
    second = lookup(opened, "service", "mail")
    wait_until(lambda: second._terminal.isalive(), "the second client")
    first.type(opened.password)
    assert first.last_line() == "what was kept"
    assert second.last_line() == "what was kept"


def test_a_client_that_is_gone_takes_its_prompt_with_it(opened):
    opened.lock()
    person = lookup(opened, "service", "mail").expect("login password")
    person._terminal.kill(signal.SIGKILL)
    person.output()
    command = ["pgrep", "-U", str(opened.uid), "-f", f"latchkey-prompt.*{opened.root}"]
    wait_until(lambda: not opened.run(*command).stdout, "the end of latchkey-prompt")
    # The next prompt works.
    assert lookup(opened, "service", "mail").expect("login password").type(opened.password).last_line() == "what was kept"


def test_a_client_that_is_gone_takes_a_shared_prompt_from_its_terminal(opened):
    """The first client has left, so its shell may read the terminal. The prompt moves to the terminal of the client
    that still waits."""
    opened.lock()
    first = lookup(opened, "service", "mail").expect("login password")
    second = lookup(opened, "service", "mail")
    tree = ("/org/freedesktop/secrets/prompt", "org.freedesktop.DBus.Introspectable", "Introspect")
    wait_until(lambda: bus(opened, *tree).count("<node name=") == 2, "two prompts")
    first._terminal.kill(signal.SIGKILL)
    second.expect("login password").type(opened.password)
    assert second.last_line() == "what was kept"
    assert "what was kept" not in first.output()


def test_killed_while_it_asks(opened):
    """latchkey-prompt dies, and its client hears that at once."""
    opened.lock()
    person = lookup(opened, "service", "mail").expect("login password")
    opened.run("pkill", "-KILL", "-U", str(opened.uid), "-f", f"latchkey-prompt.*{opened.root}", check=True)
    person.output()
    assert person.status == 1


def test_nobody_to_ask(opened):
    opened.lock()
    assert opened.lookup("service", "mail") is None
    assert opened.status()["state"] == "locked"


def test_a_collection_locked_by_itself(opened):
    """The login password unlocks the requested collection, and no other locked collection."""
    label = "{'org.freedesktop.Secret.Collection.Label': <'Other'>}"
    other = bus(opened, SERVICE, "org.freedesktop.Secret.Service", "CreateCollection", label, "").split("'")[1]
    for path in (f"{SERVICE}/collection/login", other):
        lock(opened, path)
    person = lookup(opened, "service", "mail").expect("login password").type(opened.password)
    assert person.last_line() == "what was kept"
    assert is_locked(opened, other) and not is_locked(opened, f"{SERVICE}/collection/login")


def test_a_passphrase_of_its_own(opened, private):
    assert opened.lookup("in", "private") is None
    # The login password is not the collection's passphrase.
    person = lookup(opened, "in", "private").expect("Private").type(opened.password).expect("not right")
    assert person.type("sesame").last_line() == "hidden"
    assert opened.lookup("in", "private") == "hidden"
    assert opened.lookup("service", "mail") == "what was kept"


def test_login_password_then_passphrase(opened, private):
    opened.logout()
    opened.restart()
    person = lookup(opened, "in", "private").expect("login password").type(opened.password)
    assert person.expect("Private").type("sesame").last_line() == "hidden"


def test_no_login_opens_a_passphrase(opened, private):
    opened.logout()
    opened.login()
    assert opened.status()["state"] == "unlocked"
    assert opened.lookup("in", "private") is None
    assert is_locked(opened, private)


def test_passphrases_by_the_command_line(opened, private):
    wrong = opened.run("latchkey", "unlock", "--stdin", "--collection", "Private", input="no")
    assert wrong.returncode == 1 and "not the collection's passphrase" in wrong.stderr
    locked = opened.run("latchkey", "passphrase", "set", "--stdin", "Private", input="new")
    assert locked.returncode == 1 and "locked" in locked.stderr
    asked = Person(opened, "latchkey", "unlock", "--collection", "Private").expect("Passphrase for 'Private'")
    assert "is unlocked" in asked.type("sesame").output()
    asked = Person(opened, "latchkey", "passphrase", "set", "Private")
    asked.expect("New passphrase for 'Private'").type("one").expect("again").type("other").expect("differ")
    asked.expect("New passphrase").type("next").expect("again").type("next")
    assert "is set" in asked.output()
    lock(opened, private)
    assert opened.run("latchkey", "unlock", "--stdin", "--collection", "Private", input="sesame").returncode == 1
    opened.run("latchkey", "unlock", "--stdin", "--collection", private.rpartition("/")[2], input="next", check=True)
    opened.run("latchkey", "passphrase", "remove", "--yes", "Private", check=True)
    opened.logout()
    opened.login()
    assert opened.lookup("in", "private") == "hidden"


@pytest.mark.parametrize("name", ["Nobody's", "login"])
def test_collections_without(opened, name):
    done = opened.run("latchkey", "passphrase", "set", "--stdin", name, input="x")
    assert done.returncode == 1 and done.stderr.startswith("latchkey: ")
