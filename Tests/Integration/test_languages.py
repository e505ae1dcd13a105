"""Other languages in a session: what the command line and notifications say, and what stays the same for programs."""

import shutil

import pytest
from support.languages import MARKED, english, install, speaking, translation
from support.notifications import Notifications
from support.session import BUS, wait_until

# Names that are the same in every language: of programs, classes, units, states of doctor and so on.
SAME = [
    "latchkey", "latchkeyd", "login", "service", "mail", "TPM", "vault.db", "keybag", "Secret Service", "when-unlocked",
    "when-passcode-set", "after-first-unlock", "always", "this-device-only", "ssh", "json", "KiB", "Login",
    # What the daemon says of itself.
    "screen savers on the bus",
]


@pytest.fixture(scope="module")
def languages(stage):
    install(stage / "usr", MARKED)
    yield
    shutil.rmtree(stage / "usr/share/locale" / MARKED[0])


@pytest.fixture
def speaks(unlocked, languages):
    """The session's commands, in a language."""
    unlocked.environment |= speaking(MARKED)
    return unlocked


def lines(session, *command, status=0):
    done = session.run("latchkey", *command)
    assert done.returncode == status, done
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "command, status",
    [("status", 0), ("find", 0), ("log", 0), ("history", 0), ("history diff", 0), ("history make", 0), ("rules check", 0),
     ("rules test service=mail", 0), ("aside", 0), ("protector", 0), ("recovery status", 0), ("get service=none", 2),
     ("get no-attribute", 64), ("find --class none", 64), ("rm service=none", 2),
     ("restore /none", 1), ("import csv /none", 1), ("import kwallet /none", 1), ("unlock", 0), ("lock", 0)],
)
def test_nothing_is_left_in_english(speaks, command, status):
    speaks.store("a-secret", "service", "mail", label="Post")
    done = speaks.run("latchkey", *command.split(), input="")
    assert status is None or done.returncode == status, done
    shown = done.stdout + done.stderr
    # The parser's own words, paths, options, and what is shown of the item.
    kept = [line for line in shown.splitlines() if not line.startswith(("Usage:", "  See 'latchkey", "Help:"))]
    text = "\n".join(kept).replace("Error: ", "").replace("Post", "").replace("Usage: ", "")
    words = [word for word in english(" ".join(word for word in text.split() if not word.startswith(("/", "-", "~"))), *SAME)
             if not text.startswith("latchkey: /")]
    allowed = {"none", "attribute", "name", "value", "class", "label", speaks.user, "xdg", "schema", "org", "freedesktop", "Secret",
               "Generic", "check", "false", "true", "yaml", "file", "No", "such", "or", "directory"}
    assert [word for word in words if word not in allowed and not word.startswith("latchkey")] == []


def test_help_is_translated(speaks):
    shown = lines(speaks, "--help") + lines(speaks, "status", "--help")
    for text in ("The credential vault of your desktop session.", "Erase the keys of WhenUnlocked secrets from memory, now.",
                 "As JSON, with the same keys in every version."):
        assert "".join(translation(text, MARKED).split()) in "".join(shown.split())


def test_json_is_the_same_in_every_language(speaks):
    speaks.store("a-secret", "service", "mail", label="Post")
    for command in (["status", "--json"], ["find", "--json"], ["history", "--json"], ["log", "--json"], ["protector", "--json"],
                    ["doctor", "--json"], ["import", "csv", "--dry-run", "--json", "/none"]):
        marked = speaks.run("latchkey", *command)
        plain = speaks.run("latchkey", *command, env=speaks.environment | speaking("") | {"LC_ALL": "C"})
        assert (marked.returncode, marked.stderr) == (plain.returncode, plain.stderr)
        assert not any(ord(letter) > 0x17F for letter in marked.stdout + marked.stderr), command


def test_completions_are_the_same_in_every_language(speaks):
    for shell in ("bash", "zsh", "fish"):
        marked = lines(speaks, "--generate-completion-script", shell)
        assert marked == speaks.run("latchkey", "--generate-completion-script", shell, env=speaks.environment | {"LC_ALL": "C"}).stdout


def test_the_first_notification(new_session, languages):
    session = new_session
    told = ",".join(f"{name},{value}" for name, value in speaking(MARKED).items())
    command = ["dbus-send", "--session", "--print-reply", *BUS, "org.freedesktop.DBus.UpdateActivationEnvironment"]
    session.run(*command, f"dict:string:string:{told}", check=True)
    shown = Notifications(session)
    try:
        # Started by the bus: its environment is that of the desktop.
        session.start_daemon()
        session.restart()
        assert session.login().returncode == 0
        wait_until(shown.look, "the notification")
        ((title, text),) = shown.shown
        assert title == translation("Latchkey keeps your secrets now", MARKED)
        assert english(title + text) == [] and translation("Programs store", MARKED).split()[0] in text
    finally:
        shown.close()
    # Logs are no text for a person.
    assert "ȧ" not in session.log()
