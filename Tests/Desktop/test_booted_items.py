"""Items with requirements, at a real login. The user manager's units run the installed PAM services with the real modules."""

import re

import pytest
from support.machine import REPOSITORY, eventually
from support.terminal import PROMPT
from test_booted_prompts import await_no_prompt, main_pid, pinentry, process_status, shown  # noqa: F401

REQUIRE = "latchkey:require"
LOGIN_PASSWORD = "Enter your login password to unlock"
ITEM_PASSPHRASE = 'Enter the passphrase of the item "Bank": '
LOOKUP = "secret-tool lookup k v"
TALLIES = "/var/lib/latchkey-faillock"


@pytest.fixture
def session(alice):
    with alice.login() as session:
        yield session
        await_no_prompt(alice)


@pytest.fixture
def service(machine):
    """Replaces or removes (None) files of PAM, and restores them."""
    before = {}

    def put(path, text):
        file = machine.path(path)
        before.setdefault(path, file.read_text() if file.exists() else None)
        if text is None:
            file.unlink()
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
            file.chmod(0o644)

    yield put
    for path, text in before.items():
        if text is not None or machine.path(path).exists():
            put(path, text)


def store(session, words, passphrase=None):
    session.start(f"printf 'the secret' | secret-tool store --label=Bank k v {REQUIRE} {words}")
    if passphrase:
        for question in ("Choose a passphrase for the item", "Enter the new passphrase of the item"):
            session.expect(question)
            session.send(passphrase)
    assert session.finish().returncode == 0


def read(session, question, *answers):
    """A lookup that gets these answers, one for each question. Returns whether it got the secret."""
    session.start(LOOKUP)
    for answer in answers:
        if session.terminal.expect([question, PROMPT]) == 1:
            session.send("")  # makes the shell show another prompt
            break
        session.send(answer)
    done = session.finish()
    assert (done.returncode == 0) == ("the secret" in done.stdout)
    return done.returncode == 0


def test_the_login_password_by_unix_chkpwd(alice, session):
    """For an ordinary user, pam_unix starts unix_chkpwd, because only that program may read the shadow file."""
    cursor = alice.machine.cursor()
    store(session, "user-presence")
    assert read(session, LOGIN_PASSWORD, "not the password", alice.password)
    assert "password check failed for user (alice)" in alice.machine.journal(cursor, "unix_chkpwd")
    assert "pam_unix(latchkey-presence:auth): authentication failure" in alice.machine.journal(cursor, "latchkey-prompt")
    # unix_chkpwd may read the file by its group. Without the group, it refuses even the right password.
    mode = alice.machine.root("stat", "-c", "%a", "/usr/sbin/unix_chkpwd").stdout.strip()
    alice.machine.root("chmod", "755", "/usr/sbin/unix_chkpwd")
    try:
        assert not read(session, LOGIN_PASSWORD, alice.password)
    finally:
        alice.machine.root("chmod", mode, "/usr/sbin/unix_chkpwd")
    assert read(session, LOGIN_PASSWORD, alice.password)
    session.start(LOOKUP)
    session.expect(LOGIN_PASSWORD)
    process = process_status(main_pid(alice, shown(alice)))
    assert set(process["Uid"].split()) == {str(alice.uid)} and process["NoNewPrivs"] == "0"
    session.terminal.sendcontrol("c")
    assert session.finish().returncode == 1


def documented():
    """The service file and the commands of pam/README.md."""
    text = (REPOSITORY / "pam/README.md").read_text().partition("## Counting wrong answers")[2]
    stack, commands = re.findall(r"(?:^    .+\n)+", text, re.M)[:2]
    return re.sub("^    ", "", stack, flags=re.M), [line.split() for line in commands.splitlines()]


@pytest.mark.parametrize("name", ["item", "presence"])
def test_wrong_answers_are_counted_apart_from_the_login(alice, session, service, name):
    stack, commands = documented()
    assert stack.count("pam_faillock.so") == 2 and len(commands) == 2
    if name == "presence":
        stack = stack.replace("pam_latchkey.so passphrase", "pam_unix.so").replace("faillock/item", "faillock/presence")
        commands = [[word.replace("faillock/item", "faillock/presence") for word in command] for command in commands]
    root = alice.machine.root
    if name == "item":
        store(session, "application-password", "open sesame")
        question, right = ITEM_PASSPHRASE, "open sesame"
    else:
        store(session, "user-presence")
        question, right = LOGIN_PASSWORD, alice.password
    service(f"/etc/pam.d/latchkey-{name}", stack)
    tally = alice.machine.path(f"{TALLIES}/{name}/alice")
    try:
        root(*commands[0])
        if name == "item":
            # Without the person's file, pam_faillock counts nothing, as pam/README.md says.
            assert not read(session, question, *["wrong"] * 3) and not tally.exists()
            assert read(session, question, right)
        root(*commands[1])
        assert read(session, question, right) and tally.stat().st_size == 0
        # A person who cancels the question has not given a wrong answer.
        session.start(LOOKUP)
        session.expect(question)
        session.terminal.sendcontrol("c")
        assert session.finish().returncode == 1 and tally.stat().st_size == 0
        counted = lambda *where: re.findall(r" V$", root("faillock", *where, "--user", "alice").stdout, re.M)
        here = ("--dir", f"{TALLIES}/{name}")
        # On a busy machine, an answer may come too late and then does not count. So the test may need more rounds.
        for _ in range(4):
            if len(counted(*here)) < 3:
                assert not read(session, question, *["wrong"] * 3)
        # The service is closed, so it asks nobody, not even a person who knows the answer.
        session.start(LOOKUP)
        done = session.finish()
        assert done.returncode == 1 and question not in done.stdout
        assert len(counted(*here)) == 3
        # The failures do not count for the login.
        assert counted() == [] and not alice.machine.path("/run/faillock/alice").exists()
        with alice.login():
            pass
        root("faillock", *here, "--user", "alice", "--reset")
        assert read(session, question, right)
    finally:
        root("rm", "-rf", TALLIES)


def test_no_password_passes_for_a_finger(alice, session, service):
    """Debian's substitute for a service without a file asks for the login password."""
    assert "common-auth" in alice.machine.path("/etc/pam.d/other").read_text()
    store(session, "biometry-any")
    service("/etc/pam.d/latchkey-biometry", None)
    cursor = alice.machine.cursor()
    session.start(LOOKUP)
    done = session.finish()
    assert done.returncode == 1 and "assword" not in done.stdout
    told = alice.machine.journal(cursor, "latchkey-prompt")
    assert told.count("no file /etc/pam.d/latchkey-biometry or /usr/lib/pam.d/latchkey-biometry") == 1, told
    service("/etc/pam.d/latchkey-biometry", "account required pam_permit.so\n")
    session.start(LOOKUP)
    done = session.finish()
    assert done.returncode == 1 and "assword" not in done.stdout
    # libpam also looks here for service files.
    service("/etc/pam.d/latchkey-biometry", None)
    service("/usr/lib/pam.d/latchkey-biometry", "auth required pam_permit.so\n")
    # The stack asks nothing, so the prompt asks for consent.
    assert read(session, "Allow this", "")


@pytest.mark.parametrize("name", ["greeter", "i3lock"])
def test_lockers_and_greeters_do_not_ask_about_items(alice, session, service, name):
    """Lockers and greeters do not even ask if a prompt's line is in their stack and a prompt waits for an answer."""
    store(session, "application-password", "open sesame")
    text = alice.machine.path(f"/etc/pam.d/{name}").read_text()
    service(f"/etc/pam.d/{name}", "auth optional pam_latchkey.so passphrase\n" + text)
    with alice.login() as other:
        other.start(LOOKUP)
        other.expect(ITEM_PASSPHRASE)
        number = re.search(r"@(\d+)\.", shown(alice))[1]
        cursor = alice.machine.cursor()
        if name == "greeter":
            assert alice.greeter_unlock()
        else:
            session.start(f"LATCHKEY_PROMPT={number} pamtester -E LATCHKEY_PROMPT={number} i3lock alice authenticate")
            session.expect("Password: ")
            session.send(alice.password)
            done = session.finish()
            assert done.returncode == 0 and "assphrase" not in done.stdout
        eventually(
            lambda: f"not allowed in the service {name}" in alice.machine.journal(cursor), what="the line in the journal")
        other.terminal.sendcontrol("c")
        assert other.finish().returncode == 1
