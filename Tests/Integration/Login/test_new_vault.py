"""No vault exists, because no login had a password. Programs find nothing. The first program that stores an item causes
a prompt for the login password. After PAM has accepted the password, the vault is created.
"""

import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import time

import pytest
from support.creation import create_vault
from support.disk import filled, read_only, small_disk
from support.peer import COLLECTION, DEFAULT, IS_LOCKED, LOGIN, NOTHING, PROMPT, ROOT, SERVICE, SESSION_COLLECTION, GLib, Peer
from support.person import Person, ask_on_terminals
from support.program import DATA, FAIL, NOT_ALLOWED, NOT_FOUND, SUCCESS, Program, generic, keychain_caller, secret  # noqa: F401
from support.session import Session, wait_until

LIMITS = "org.freedesktop.DBus.Error.LimitsExceeded"
CREATES = "You have no vault yet. Your login password, if your account has one, creates it"
ASKED = "login password"
TABLE = "name,url,username,password\nMail,https://mail.example,me,mine\n"
FILES = ["keybag", "vault.db"]
STORE = ["secret-tool", "store", "--label=Mail", "service", "mail"]
KEYS = ["service", "mail"]


@pytest.fixture
def session(new_session):
    """A session whose login had no password."""
    ask_on_terminals(new_session)
    assert new_session.login_without_password().returncode == 0
    assert not new_session.vault.exists()
    return new_session


@pytest.fixture
def peer(session):
    opened = Peer(session)
    yield opened
    opened.close()


def store(session, secret="open sesame"):
    """Runs secret-tool on a terminal. The secret comes through a pipe."""
    return Person(session, "sh", "-c", f"printf '{secret}' | " + " ".join(STORE))


def is_created(session):
    return [(session.vault / name).exists() for name in FILES]


def assert_nothing(session):
    assert is_created(session) == [False, False]
    assert session.status()["state"] == "sealed"


def line(session, *lines):
    """Replaces the service of the prompts by these lines. MODULE stands for the module with its options."""
    service = session.root / "pam.d/latchkey-unlock"
    module = next(one for one in service.read_text().splitlines() if "pam_latchkey" in one and one.startswith("auth"))
    service.write_text("\n".join(one.replace("MODULE", module.split(None, 2)[2]) for one in lines) + "\n")


# ---- calls without a vault ----


def test_programs_find_nothing_and_that_is_the_truth(session, peer):
    assert peer.call(ROOT, SERVICE, "SearchItems", "(a{ss})", {"service": "mail"}) == ([], [])
    assert peer.call(ROOT, SERVICE, "SearchItems", "(a{ss})", {}) == ([], [])
    for path in (LOGIN, DEFAULT):
        assert peer.call(path, COLLECTION, "SearchItems", "(a{ss})", {"service": "mail"}) == []
    assert session.lookup(*KEYS) is None
    for command in (["find"], ["get", "a=b"], ["rm", "a=b"]):
        assert session.run("latchkey", *command).returncode == 2
    assert_nothing(session)


def test_a_data_folder_that_does_not_open_says_nothing_of_the_vault(session, peer):
    """The data folder may be a link to a disk that is not mounted. A dead link does not mean that there is no vault."""
    folder = session.vault.parent.parent
    if folder.exists():
        folder.rename(folder.with_name("away"))
    folder.symlink_to(folder.with_name("nowhere"))
    assert peer.error(ROOT, SERVICE, "SearchItems", "(a{ss})", {"service": "mail"}) == IS_LOCKED
    assert peer.error(LOGIN, COLLECTION, "SearchItems", "(a{ss})", {"service": "mail"}) == IS_LOCKED


@pytest.mark.night("login")
@pytest.mark.parametrize("link", ["vault", "data", "home"])
def test_a_vault_behind_a_link(session, link):
    """doctor advises a link for a home on a remote disk. People also use links to move folders off a full disk."""
    place = {"vault": session.vault, "data": session.vault.parent.parent, "home": session.home}[link]
    moved = session.root / "moved"
    session.run("sh", "-c", 'mkdir -p -m 700 "$1" && mv "$1" "$2" && ln -s "$2" "$1"', "sh", place, moved, check=True, cwd="/")
    assert place.is_symlink()
    assert session.login().returncode == 0
    assert session.status()["state"] == "unlocked"
    session.store("kept", *KEYS)
    session.run("latchkey", "history", "make", check=True)
    session.restart()
    assert session.login().returncode == 0
    assert session.lookup(*KEYS) == "kept"
    session.run("latchkey", "history", "diff", check=True)
    assert place.is_symlink() and list(moved.rglob("vault.db")) != []


def test_names_that_no_vault_keeps_do_not_wait_for_one(session, peer):
    for label, alias in (("x" * 65537, ""), ("x", "x" * 65537)):
        properties = {COLLECTION + ".Label": GLib.Variant("s", label)}
        assert peer.error(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", properties, alias) == LIMITS


def test_the_first_collection_is_there_locked_and_empty(session, peer):
    assert peer.get(ROOT, SERVICE, "Collections") == [LOGIN, SESSION_COLLECTION]
    for alias in ("default", "login"):
        assert peer.call(ROOT, SERVICE, "ReadAlias", "(s)", alias) == LOGIN
    assert peer.call(ROOT, SERVICE, "ReadAlias", "(s)", "other") == NOTHING
    for path in (LOGIN, DEFAULT):
        expected = {"Items": [], "Label": "Login", "Locked": True, "Created": 0, "Modified": 0}
        assert peer.all(path, COLLECTION) == expected
    assert peer.error(LOGIN, COLLECTION, "Delete") == IS_LOCKED
    assert peer.error(LOGIN, "org.freedesktop.DBus.Properties", "Set", "(ssv)", COLLECTION, "Label",
                      GLib.Variant("s", "Mine")) == IS_LOCKED
    # Missing objects need no prompt, and neither does the collection in memory.
    assert peer.unlock(LOGIN + "/1", ROOT + "/collection/c2", ROOT + "/aliases/other") == ([], NOTHING)
    assert peer.unlock(SESSION_COLLECTION) == ([SESSION_COLLECTION], NOTHING)
    assert_nothing(session)


def test_the_label_can_be_read_in_every_state(session, peer):
    assert peer.get(LOGIN, COLLECTION, "Label") == "Login"
    create_vault(session)
    assert peer.get(LOGIN, COLLECTION, "Label") == "Login"
    assert session.login().returncode == 0
    assert peer.get(LOGIN, COLLECTION, "Label") == "Login"
    session.lock()
    assert peer.get(LOGIN, COLLECTION, "Label") == "Login"
    session.restart()
    assert session.status()["state"] == "sealed" and peer.get(LOGIN, COLLECTION, "Label") == "Login"


@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_a_home_folder_that_takes_nothing_says_nothing_of_its_vault(session, peer, mode):
    """The home may not be mounted yet. If programs heard that no item exists, the programs would store new secrets."""
    (session.home / ".local").rename(session.root / "elsewhere")
    session.home.chmod(mode)
    try:
        refusal = peer.error(ROOT, SERVICE, "SearchItems", "(a{ss})", {"service": "mail"})
        assert refusal in (IS_LOCKED, "org.latchkey.Error.Unavailable")
        assert ended(peer, peer.unlock(LOGIN)[1]) == (True, [])
    finally:
        session.home.chmod(0o700)


def test_a_database_without_its_keybag_is_not_a_missing_vault(session, peer):
    create_vault(session)
    assert session.login().returncode == 0
    session.stop_daemon()
    (session.vault / "keybag").unlink()
    (session.vault / "keybag.copy").unlink()
    session.start_daemon()
    assert peer.error(ROOT, SERVICE, "SearchItems", "(a{ss})", {"service": "mail"}).endswith("Damaged")
    assert ended(peer, peer.unlock(LOGIN)[1]) == (True, [])


# ---- the prompt ----


def ended(peer, prompt):
    """Calls the prompt, and returns its outcome."""
    peer.call(prompt, PROMPT, "Prompt", "(s)", "")
    return peer.wait_for(lambda signal: signal[0] == prompt and signal[2] == "Completed", "Completed")[3]


def test_storing_creates_the_vault(session):
    store(session).expect(CREATES).expect(ASKED).type(session.password).output()
    assert is_created(session) == [True, True]
    assert session.lookup(*KEYS) == "open sesame"
    status = session.status()
    assert status["state"] == "unlocked" and status["generation"] == 2 and status["problems"] == []
    # The vault's password is the login password, also at later logins.
    session.logout()
    session.restart()
    assert session.login().returncode == 0 and session.lookup(*KEYS) == "open sesame"
    # The second login has proven the password.
    assert [one["state"] for one in protectors(session)] == ["proven"]


def protectors(session):
    return json.loads(session.run("latchkey", "status", "--json", check=True).stdout)["protectors"]


def test_its_first_password_is_not_proven_yet(session):
    session.run("latchkey", "unlock", "--stdin", input=session.password + "\n", check=True)
    assert [one["state"] for one in protectors(session)] == ["unproven"]


def test_a_wrong_password_creates_nothing(session):
    person = store(session).expect(CREATES)
    for _ in range(3):
        person.expect(ASKED).type("something else")
    person.output()
    assert person.status != 0
    assert_nothing(session)


def test_wrong_then_right(session):
    person = store(session).expect(CREATES).expect(ASKED).type("something else").expect("not right").expect(ASKED)
    assert_nothing(session)
    person.type(session.password).output()
    assert session.lookup(*KEYS) == "open sesame"
    session.logout()
    session.restart()
    assert session.locker("something else").returncode != 0
    assert session.login().returncode == 0 and session.lookup(*KEYS) == "open sesame"


def test_dismissed(session):
    person = store(session).expect(CREATES).expect(ASKED).press("c")
    person.output()
    assert person.status != 0
    assert_nothing(session)


def test_nobody_to_ask(session):
    assert session.store("x", *KEYS, check=False).returncode != 0
    assert_nothing(session)


PASSWORD_LINE = "auth {} pam_pwdfile.so nodelay pwdfile={}/passwd"


def test_a_stack_that_goes_on_after_a_wrong_password_creates_nothing(session):
    """The module gets the password before libpam refuses it. Only a password that the whole stack accepted may create a
    vault."""
    line(session, PASSWORD_LINE.format("required", session.root), "auth optional MODULE")
    person = store(session).expect(CREATES)
    for _ in range(3):
        person.expect(ASKED).type("something else")
    person.output()
    assert_nothing(session)


def test_a_second_factor_that_refuses_creates_nothing(session):
    line(session, PASSWORD_LINE.format("requisite", session.root), "auth optional MODULE", "auth required pam_deny.so")
    person = store(session).expect(CREATES)
    for _ in range(3):
        person.expect(ASKED).type(session.password)
    person.output()
    assert_nothing(session)
    done = session.run("latchkey", "unlock", "--stdin", input=session.password + "\n")
    assert done.returncode == 1
    assert_nothing(session)


def test_no_create_creates_nothing(session):
    line(session, PASSWORD_LINE.format("requisite", session.root), "auth optional MODULE no_create")
    done = session.run("latchkey", "unlock", "--stdin", input=session.password + "\n")
    assert done.returncode == 1 and "no vault was created" in done.stderr
    person = store(session).expect(CREATES).expect(ASKED).type(session.password)
    person.output()
    assert person.status != 0
    assert_nothing(session)


def test_by_the_command_line(session):
    done = session.run("latchkey", "unlock", "--stdin", input="something else\n")
    assert done.returncode == 1
    assert_nothing(session)
    done = session.run("latchkey", "unlock", "--stdin", input=session.password + "\n", check=True)
    # The tests' account has no local password, so this output does not mention that an unlock creates the vault.
    assert "You have no vault yet" in done.stdout and "created, and unlocked" in done.stdout
    session.store("x", *KEYS)
    done = session.run("latchkey", "unlock", check=True)
    assert done.stdout == "The vault is unlocked already.\n"


def test_an_item_of_apples_that_needs_no_login_needs_a_vault(session, keychain_caller):  # noqa: F811
    """A sealed vault can take this item, so the text about a sealed vault would mislead."""
    program = Program(session, keychain_caller)
    item = generic(pdmn="dk")
    assert program.add(item, secret(b"x"), FAIL) == (NOT_ALLOWED, None)
    assert "There is no vault yet. Log in with the password, or run 'latchkey unlock'" in program.message(NOT_ALLOWED)
    assert program.copy(generic(), DATA)[0] == NOT_FOUND
    assert_nothing(session)
    session.run("latchkey", "unlock", "--stdin", input=session.password + "\n", check=True)
    assert program.add(item, secret(b"x"), FAIL)[0] == SUCCESS
    program.close()


def test_items_of_the_command_line(session):
    done = session.run("latchkey", "add", "--no-prompt", "--label", "L", "a=b", input="x")
    assert done.returncode == 1
    assert_nothing(session)
    person = Person(session, "sh", "-c", "printf x | latchkey add --label L a=b").expect(CREATES).expect(ASKED)
    person.type(session.password).output()
    assert person.status == 0 and session.lookup("a", "b") == "x"


# ---- clients ----


@pytest.mark.parametrize("command", ["add --label=Mail", "add --label=Mail --replace", "import csv"])
def test_the_command_line_finishes_a_vault_that_has_a_keybag_alone(session, command):
    """A vault without a database comes from a login while Latchkey was off."""
    create_vault(session)
    words, given = (("k=v",), "mine") if command.startswith("add") else (("-",), TABLE)
    done = session.run("latchkey", *command.split(), "--no-prompt", *words, input=given)
    assert done.returncode == 1 and "there is no vault yet: 'latchkey unlock'" in done.stderr
    assert is_created(session) == [True, False]
    (session.root / "given").write_text(given)
    person = Person(session, "sh", "-c", f"cat {session.root}/given | latchkey {command} " + " ".join(words))
    person.expect(ASKED).type(session.password)
    output = person.output()
    assert person.status == 0 and is_created(session) == [True, True], output
    assert session.status()["items"] == 1 and session.status()["problems"] == []


def test_a_dry_run_finishes_no_vault(session):
    """A dry run changes nothing, so it asks for no password."""
    create_vault(session)
    (session.root / "given").write_text(TABLE)
    person = Person(session, "sh", "-c", f"latchkey import csv --dry-run - <{session.root}/given")
    assert "there is no vault yet: 'latchkey unlock'" in person.output()
    assert person.status == 1 and is_created(session) == [True, False]


def make_collection(session, label, alias):
    code = f"import secretstorage as s; print('at', s.create_collection(s.dbus_init(), {label!r}, {alias!r}).collection_path)"
    return Person(session, "/usr/bin/python3", "-c", code).expect(CREATES).expect(ASKED)


def test_a_client_that_makes_the_default_collection(session, peer):
    """If no default collection exists, libsecret and SecretStorage create one."""
    person = make_collection(session, "Default keyring", "default").type(session.password)
    assert person.last_line() == f"at {LOGIN}"
    assert peer.get(LOGIN, COLLECTION, "Label") == "Login", "it is the login's, whatever a program would call it"


def test_a_client_that_makes_another_collection(session, peer):
    person = make_collection(session, "Work", "")
    assert session.login().returncode == 0
    path = person.last_line().removeprefix("at ")
    assert peer.get(path, COLLECTION, "Label") == "Work"
    assert peer.get(ROOT, SERVICE, "Collections") == [LOGIN, path, SESSION_COLLECTION]


def test_a_client_that_may_make_none(session):
    person = make_collection(session, "Work", "").press("c")
    assert "PromptDismissed" in person.output() and person.status == 1
    assert_nothing(session)


def test_a_collection_that_nobody_allows(session, peer):
    made, prompt = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", {}, "")
    assert ended(peer, prompt) == (True, NOTHING)
    assert_nothing(session)


def test_programs_hear_that_it_is_open(session, peer):
    assert peer.get(LOGIN, COLLECTION, "Locked") is True
    session.run("latchkey", "unlock", "--stdin", input=session.password + "\n", check=True)
    changed = peer.wait_for(lambda signal: signal[0] == LOGIN and signal[2] == "PropertiesChanged", "PropertiesChanged")
    assert changed[3][1]["Locked"] is False
    assert peer.get(LOGIN, COLLECTION, "Locked") is False


def test_two_clients_share_one_answer(session, peer):
    first = store(session).expect(CREATES).expect(ASKED)
    second = Person(session, "sh", "-c", "printf two | secret-tool store --label=Two service two")
    introspect = ("/org/freedesktop/secrets/prompt", "org.freedesktop.DBus.Introspectable", "Introspect")
    wait_until(lambda: peer.call(*introspect).count("<node name=") == 2, "two prompts")
    first.type(session.password).output()
    second.output()
    assert (first.status, second.status) == (0, 0)
    assert session.lookup(*KEYS) == "open sesame" and session.lookup("service", "two") == "two"


def test_a_prompt_and_a_command_at_once(session):
    """Both answers have the right password. One answer creates the vault, and the other answer unlocks the new vault.
    """
    people = [store(session).expect(CREATES).expect(ASKED)]
    people += [Person(session, "latchkey", "unlock").expect("assword") for _ in range(2)]
    for person in people:
        person.type(session.password)
    for person in people:
        person.output()
        assert person.status == 0
    assert session.lookup(*KEYS) == "open sesame" and session.status()["problems"] == []


def test_a_login_creates_it_meanwhile(session):
    person = store(session).expect(CREATES)
    assert session.login().returncode == 0
    person.output()
    assert person.status == 0 and session.lookup(*KEYS) == "open sesame"


def test_a_vault_that_is_there_meanwhile_is_opened_and_not_replaced(session):
    """In the meantime a vault has appeared, as after a login whose helper wrote the keybag and was then killed."""
    person = store(session).expect(CREATES)
    create_vault(session)
    vault = (session.vault / "keybag").read_bytes()[12:28]
    person.type(session.password).output()
    assert person.status == 0 and session.lookup(*KEYS) == "open sesame"
    assert (session.vault / "keybag").read_bytes()[12:28] == vault


# ---- interrupted ----


def test_a_keybag_that_never_got_its_database_is_asked_for_as_well(session, peer):
    create_vault(session)
    assert peer.error(ROOT, SERVICE, "SearchItems", "(a{ss})", {}) == IS_LOCKED
    person = store(session).expect(ASKED)
    assert CREATES not in person._terminal.before
    person.type(session.password).output()
    assert person.status == 0 and session.lookup(*KEYS) == "open sesame"


def test_the_daemon_dies_while_it_asks(session):
    person = store(session).expect(CREATES)
    session.stop_daemon(signal.SIGKILL)
    # libsecret waits forever if the service vanishes during a call.
    person._terminal.kill(signal.SIGKILL)
    person.output()
    session.start_daemon()
    assert_nothing(session)
    store(session).expect(CREATES).expect(ASKED).type(session.password).output()
    assert session.lookup(*KEYS) == "open sesame"


def descendants(process):
    """The children of a process and their descendants, the youngest first."""
    try:
        children = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except FileNotFoundError:
        return []
    return [one for child in map(int, children) for one in [*descendants(child), child]]


@pytest.mark.night("login")
@pytest.mark.parametrize("turn", range(8))
def test_the_helper_dies_anywhere(session, turn):
    """The helper is killed at a random moment. The next password opens the existing vault or creates a vault."""
    wanted = random.Random(turn).uniform(0, 0.6)
    with session.start("latchkey", "unlock", "--stdin", stdin=-1, stdout=-3, stderr=-3) as process:
        process.stdin.write(session.password.encode() + b"\n")
        process.stdin.close()
        time.sleep(wanted)
        for one in [*descendants(process.pid), process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
    # A login also takes over a lock that the killed helper left.
    assert session.login().returncode == 0
    wait_until(lambda: session.status()["state"] == "unlocked", "the vault")
    session.store("x", *KEYS)
    session.logout()
    session.restart()
    assert session.login().returncode == 0 and session.lookup(*KEYS) == "x"
    assert session.status()["problems"] == []


# ---- clients of other libraries ----


def test_secretstorage(session):
    """SecretStorage first asks for the default collection, and finds it locked."""
    code = (
        "import secretstorage as s\n"
        "c = s.get_default_collection(s.dbus_init())\n"
        "assert c.get_label() == 'Login' and c.is_locked() and list(c.get_all_items()) == []\n"
        "assert not c.unlock()\n"
        "c.create_item('Mail', {'service': 'mail'}, b'by python')\n"
    )
    person = Person(session, "/usr/bin/python3", "-c", code).expect(CREATES).expect(ASKED).type(session.password)
    assert person.output().replace("Checking...", "").strip(": \r\n") == "" and person.status == 0
    assert session.lookup(*KEYS) == "by python"


# ---- full and read-only disks ----


def test_a_first_login_on_a_full_disk(stage):
    """The disk has room for the keybag, but not for the database."""
    if os.getuid() != 0:
        pytest.skip("needs to mount a small disk")
    with small_disk() as place, contextlib.closing(Session(stage, below=place)) as session:
        with filled(place, 65536):
            assert session.login().returncode == 0
            assert session.status()["problems"] == ["the disk is full"]
            done = session.run("latchkey", "unlock", "--stdin", input=session.password + "\n", timeout=60)
            assert done.returncode == 1 and "the disk is full" in done.stderr and "older password" not in done.stderr
        done = session.run("latchkey", "unlock", "--stdin", input=session.password + "\n", timeout=60)
        assert done.returncode == 0, done.stderr
        assert is_created(session) == [True, True] and session.status()["problems"] == []


@pytest.mark.night("faults")
@pytest.mark.parametrize("rest", [0, 65536], ids=["keybag", "database"])
def test_a_right_password_on_a_full_disk(stage, rest):
    """PAM accepts the password, but the disk has no room for a vault. The commands and other programs report the
    reason."""
    if os.getuid() != 0:
        pytest.skip("needs to mount a small disk")
    with small_disk() as place, contextlib.closing(Session(stage, below=place)) as session:
        ask_on_terminals(session)
        assert session.login_without_password().returncode == 0
        add = ("sh", "-c", "printf x | latchkey add --label Mail service=mail")
        with filled(place, rest):
            person = Person(session, *add).expect(ASKED).type(session.password)
            said = person.output()
            assert "it is still locked: the disk is too full to create the vault." in said, said
            assert "Free some space, then run this again." in said and person.status != 0
            said = store(session).expect(ASKED).type(session.password).output()
            assert "less than 4 MiB are free on the disk: free some space, then run 'latchkey unlock'" in said, said
            done = session.run("latchkey", "unlock", "--stdin", input=session.password + "\n", timeout=60)
            assert done.returncode != 0 and "the disk is" in done.stderr, done.stderr
        store(session, "x").expect(ASKED).type(session.password).output()
        assert session.lookup(*KEYS) == "x"


def test_a_read_only_home(new_session):
    """SQLite needs a file beside the database, even to read the database."""
    if os.getuid() != 0:
        pytest.skip("needs to mount a folder read-only")
    session = new_session
    assert session.login().returncode == 0
    session.store("open sesame", *KEYS)
    assert session.logout().returncode == 0
    session.stop_daemon()
    with read_only(session.vault):
        session.start_daemon()
        assert session.login().returncode == 0
        assert session.status()["problems"] == ["vault.db: it is on a read-only file system"]
        assert session.lookup(*KEYS) is None
    assert session.logout().returncode == 0 and session.login().returncode == 0
    assert session.lookup(*KEYS) == "open sesame" and session.status()["problems"] == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root starts a session of another user")
def test_a_system_account_hears_that_it_gets_no_vault(stage):
    """Every command that needs a vault says that system accounts get no vault. No command advises a way to create one.
    """
    session = Session(stage, user="daemon")
    try:
        assert session.login().returncode == 0 and not session.vault.exists()
        (session.root / "t.csv").write_text(TABLE)
        (session.root / "t.csv").chmod(0o644)
        for command in ("add --label=x a=b", "add --no-prompt --label=x a=b", "unlock", f"import csv {session.root}/t.csv",
                        "history list", "protector list", "protector add session --yes", "start-empty --yes"):
            done = session.run("latchkey", *command.split(), input="x")
            said = done.stdout + done.stderr
            assert "oot and system accounts get no vault" in said, f"{command}: {said}"
            assert "create" not in said and "locked" not in said, f"{command}: {said}"
        assert "nothing: root and system accounts get no vault" in session.run("latchkey", "status").stdout
        checks = json.loads(session.run("latchkey", "doctor", "--home", session.home, "--json").stdout)["checks"]
        check = next(one for one in checks if one["id"] == "vault.files")
        assert (check["state"], check["found"]) == ("ok", "there is no vault yet")
        # On this machine, gnome-keyring must be turned off first.
        machine = session.root / "machine"
        keyring = machine / "etc/xdg/autostart/gnome-keyring-secrets.desktop"
        shutil.copytree(stage / "usr/lib/systemd/user", machine / "usr/lib/systemd/user")
        for folder in (keyring.parent, machine / "usr/bin", machine / "home/x"):
            folder.mkdir(parents=True)
        keyring.write_text("[Desktop Entry]\nExec=/usr/bin/gnome-keyring-daemon --start --components=secrets\n")
        (machine / "usr/bin/gnome-keyring-daemon").touch()
        os.chown(machine / "home/x", session.uid, session.gid)
        environment = {name: value for name, value in session.environment.items() if name != "XDG_CONFIG_HOME"}
        command = ["latchkey", "switch", "--to", "latchkey", "--root", machine, "--home", "/home/x"]
        done = session.run(*command, env=environment)
        assert "Root and system accounts get no vault. Go back with 'latchkey switch --back'." in done.stdout, done
        assert session.store("x", "a", "b", check=False).stderr == "secret-tool: root and system accounts get no vault\n"
    finally:
        session.close()
