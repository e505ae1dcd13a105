"""A session in another language. The command line and notifications are translated, and the output for programs stays
the same.
"""

import json
import re
import shutil

import pytest
from support.languages import MARKED, english, install, speaking, translation
from support.notifications import Notifications, know_the_first
from support.session import BUS, wait_until
from test_doctor import machine as healthy  # noqa: F401 (a fixture)
from test_switch import machine as providers  # noqa: F401 (a fixture)

pytestmark = pytest.mark.night("languages")

# Names that stay the same in every language, such as names of programs, classes, units, and doctor's states.
SAME = [
    "latchkey", "latchkeyd", "login", "service", "mail", "TPM", "vault.db", "keybag", "Secret Service", "when-unlocked",
    "when-passcode-set", "after-first-unlock", "always", "this-device-only", "ssh", "json", "KiB", "Login", "logind",
]
# Errors of the system, and names in the installed files.
SYSTEM = [
    "No such file or directory", "write: Permission denied", "Permission denied", "Authentication failure", "xdg", "schema", "org",
    "freedesktop", "Secret", "Generic",
]


@pytest.fixture(scope="module")
def languages(stage):
    install(stage / "usr", MARKED)
    yield
    shutil.rmtree(stage / "usr/share/locale" / MARKED[0])


@pytest.fixture
def speaks(unlocked, languages):
    """A session whose commands speak another language."""
    unlocked.environment |= speaking(MARKED)
    return unlocked


def lines(session, *command, status=0):
    done = session.run("latchkey", *command)
    assert done.returncode == status, done
    return done.stdout + done.stderr


def left(shown, *values):
    """The English words in the output, without paths, options and values."""
    shown = re.sub(r"(?<![\w<])[/~][\w./@:+-]*|(?<!\w)--?[a-z][\w-]*", " ", shown)
    kept = [line for line in shown.splitlines() if not line.startswith(("Usage:", "  See 'latchkey", "Help:"))]
    return english("\n".join(kept).replace("Error: ", "").replace("latchkey: ", ""), *SAME, *SYSTEM, *values)


# Each command, with its exit status and the words of its output that belong to no language.
COMMANDS = {
    "status": (0, []), "find": (0, ["Post"]), "log": (0, []), "history": (0, []), "history diff": (0, ["Post"]), "history make": (0, []),
    "history restore 77 --everything": (1, []), "rules check": (0, []), "rules test service=mail": (0, ["GNOME Online Accounts"]),
    "aside": (0, []), "protector": (0, []), "recovery status": (0, []), "get service=none": (2, ["none"]),
    "get no-attribute": (64, ["no-attribute"]), "find --class none": (64, ["none", "class"]), "rm service=none": (2, ["none"]),
    "rm --dry-run service=mail": (0, ["Post"]), "edit service=mail --label Letters": (0, ["Post", "Letters"]), "edit service=mail": (64, []),
    "edit service=mail --require none --unset user": (1, ["user"]), "passphrase set none": (1, ["none"]), "passphrase set login": (1, []),
    "export csv --dry-run passwords.csv": (0, ["Post", "passwords.csv"]), "export json /none": (1, []), "export keepass /none/x": (1, []),
    "backup /none/x": (1, []), "restore /none": (1, []), "restore keybag": (1, []), "import csv /none": (1, []), "import csv keybag": (1, []),
    "import kwallet /none": (1, []), "import gnome-keyring keybag": (1, []), "import json keybag": (1, []),
    "switch": (64, []), "unlock": (0, []), "lock": (0, []),
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_left_in_english(speaks, command):
    status, values = COMMANDS[command]
    speaks.store("a-secret", "service", "mail", label="Post")
    words = [str(speaks.vault / word) if word == "keybag" else word for word in command.split()]
    done = speaks.run("latchkey", *words, input="")
    assert done.returncode == status, done
    shown = done.stdout + done.stderr
    assert left(shown, speaks.user, *values) == [], shown


def test_what_is_locked_is_told(speaks):
    """The commands report the reason of the lock and the missing data of each item. A command that needs the missing
    data reports its failure."""
    speaks.store("a-secret", "service", "mail", label="Post")
    speaks.run("latchkey", "history", "make", check=True)
    speaks.lock()
    for command in ("status", "find", "get --no-prompt service=mail", "history diff", "history make", "history restore 1 --everything",
                    "rotate --stdin", "backup --passphrase-stdin /tmp/none", "export json --plain --no-prompt --stdin /tmp/none", "log"):
        done = speaks.run("latchkey", *command.split(), input=speaks.password + "\n")
        assert left(done.stdout + done.stderr, speaks.user, "Post") == [], (command, done)
    assert translation("by 'latchkey lock'", MARKED) in lines(speaks, "status")


def test_problems_are_told(speaks):
    """status, doctor and the commands that need the vault report damage."""
    speaks.store("a-secret", "service", "mail", label="Post")
    (speaks.home / ".config/latchkey").mkdir(parents=True, exist_ok=True)
    rules = speaks.home / ".config/latchkey/rules.yaml"
    rules.write_text("- name: x\n  wrong: y\n")
    shutil.chown(rules.parent, speaks.uid, speaks.gid)
    shutil.chown(rules, speaks.uid, speaks.gid)
    speaks.stop_daemon()
    for name in ("keybag", "keybag.copy"):
        (speaks.vault / name).write_bytes(b"damaged")
    speaks.start_daemon()
    found = speaks.status()
    assert any(problem.startswith("keybag: ") for problem in found["problems"]) and len(found["problems"]) > 1
    shown = lines(speaks, "status")
    assert left(shown, "wrong", speaks.user) == [] and translation("no rule of this file is in force", MARKED) in shown
    for command in ("find", "unlock --stdin", "rules check", "history"):
        done = speaks.run("latchkey", *command.split(), input="wrong\n")
        assert left(done.stdout + done.stderr, "wrong", speaks.user) == [], (command, done)


def test_doctor_is_told(session, languages, healthy):  # noqa: F811
    """doctor translates each finding and each advice. States, names of checks and commands stay the same."""
    session.login()
    session.environment |= speaking(MARKED)
    (healthy / "etc/pam.d/login").write_text("auth requisite pam_unix.so\n")
    (healthy / "etc/pam.d/sshd").write_text("auth include nowhere\n")
    (healthy / "usr/bin").mkdir(parents=True)
    (healthy / "usr/bin/keepassxc").touch()
    (healthy / "usr/libexec/latchkey-derive").unlink()
    command = ["latchkey", "doctor", "--root", healthy, "--home", "/home/x"]
    plain = json.loads(session.run(*command, "--json").stdout)["checks"]
    same = [word for check in plain for word in (check["id"], check["command"]) if word]
    done = session.run(*command)
    assert done.returncode == 4
    names = ["ok", "warning", "broken", "unknown", "KeePassXC", "fprintd", "latchkey-first-unlock.target",
             # The bus itself writes this text.
             'Name "org.freedesktop.systemd1" does not exist', "pam_unix.so", "pam_fprintd.so", "pam_latchkey.so", "pam_systemd.so",
             "latchkey-derive", "latchkeyd.service", "latchkeyd.socket", "latchkeyd", "org.freedesktop.secrets", "ext4", "auth", "session",
             "password", "optional", "active", "inactive", "init_on_free"]  # fmt: skip
    assert left(done.stdout, *same, *names, session.user) == [], done.stdout
    assert len(done.stdout.splitlines()) > len(plain)
    assert all(english(check["found"]) for check in plain)


def test_the_plan_of_switch_is_told(speaks, providers):  # noqa: F811
    home = providers / "home/x"
    command = ["latchkey", "switch", "--root", providers, "--home", "/home/x"]
    environment = {name: value for name, value in speaks.environment.items() if name != "XDG_CONFIG_HOME"}
    environment |= {"PATH": f"{environment['PATH']}:/usr/bin", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}
    names = ["gnome-keyring", "KWallet", "KeePassXC", "org.gnome.keyring", "apiEnabled=false", "Enabled=false", "org.freedesktop.secrets",
             "FdoSecrets", "GNOME"]  # fmt: skip

    def told(*words, status=0):
        done = speaks.run(*command, *words, env=environment, timeout=90)
        assert done.returncode == status and left(done.stdout + done.stderr, *names, speaks.user) == [], done
        return done.stdout

    planned = told("--to", "latchkey", "--dry-run")
    title = translation("the desktop no longer starts %1$s for secrets", MARKED).replace("%1$s", "gnome-keyring")
    assert title in planned
    told("--to", "latchkey")
    # The record is always in English. A later run prints the record.
    record = (home / ".local/state/latchkey/switch.json").read_text()
    assert "the desktop no longer starts gnome-keyring for secrets" in record and "ȧ" not in record
    (home / ".config/autostart/gnome-keyring-secrets.desktop").write_text("changed")
    told("--back", "--dry-run", status=4)
    assert title in told("--back", status=4)
    (home / ".config/keepassxc").chmod(0o500)
    told("--to", "latchkey", status=1)


def test_help_is_translated(speaks):
    shown = lines(speaks, "--help") + lines(speaks, "status", "--help")
    for text in ("The credential vault of your desktop session.", "Erase the keys of WhenUnlocked secrets from memory, now.",
                 "As JSON, with the same keys in every version."):
        assert "".join(translation(text, MARKED).split()) in "".join(shown.split())


def test_json_is_the_same_in_every_language(speaks):
    speaks.store("a-secret", "service", "mail", label="Post")
    for command in (["status", "--json"], ["find", "--json"], ["history", "--json"], ["log", "--json"], ["protector", "--json"],
                    ["doctor", "--json"], ["import", "csv", "--dry-run", "--json", "/none"], ["switch", "--back", "--dry-run", "--json"]):
        marked = speaks.run("latchkey", *command)
        plain = speaks.run("latchkey", *command, env=speaks.environment | speaking("") | {"LC_ALL": "C"})
        assert (marked.returncode, marked.stderr) == (plain.returncode, plain.stderr)
        assert not any(ord(letter) > 0x17F for letter in marked.stdout + marked.stderr), command


def test_completions_are_the_same_in_every_language(speaks):
    for shell in ("bash", "zsh", "fish"):
        marked = lines(speaks, "--generate-completion-script", shell)
        assert marked == speaks.run("latchkey", "--generate-completion-script", shell, env=speaks.environment | {"LC_ALL": "C"}).stdout


@pytest.fixture
def desktop(new_session, languages):
    """A session whose desktop speaks another language. The bus starts the daemon with the desktop's environment."""
    session = new_session
    told = ",".join(f"{name},{value}" for name, value in speaking(MARKED).items())
    command = ["dbus-send", "--session", "--print-reply", *BUS, "org.freedesktop.DBus.UpdateActivationEnvironment"]
    session.run(*command, f"dict:string:string:{told}", check=True)
    session.start_daemon()
    session.restart()
    yield session
    # Logs stay in English.
    assert "ȧ" not in session.log()


@pytest.fixture
def shown(desktop):
    notifications = Notifications(desktop)
    yield notifications
    notifications.close()


def the_one(shown, title, begin):
    """Checks that the notification has this title, and that its text has no English words."""
    wait_until(shown.look, "the notification")
    ((found, text),) = shown.shown
    assert found == translation(title, MARKED)
    assert english(found + text) == [] and translation(begin, MARKED).split()[0] in text


def test_the_first_notification(desktop, shown):
    assert desktop.login().returncode == 0
    the_one(shown, "Latchkey keeps your secrets now", "Programs store")


def test_the_notification_of_a_former_password(desktop, shown):
    know_the_first(desktop)
    for _ in range(2):
        assert desktop.login().returncode == 0
        desktop.logout()
    desktop.set_password("set by root")
    assert desktop.login().returncode == 0
    the_one(shown, "The vault stays locked", "The password that was just given")


def test_the_notification_of_a_healed_file(desktop, shown):
    know_the_first(desktop)
    assert desktop.login().returncode == 0
    (desktop.vault / "keybag").write_bytes(b"damaged")
    desktop.lock()
    assert desktop.locker().returncode == 0
    the_one(shown, "The vault was repaired", "A file of the vault")
