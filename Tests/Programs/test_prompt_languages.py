"""latchkey-prompt in other languages: no text stays English, and no text is lost on the way to the screen."""

import re
import subprocess

import pytest
from support.derive import PASSWORD
from support.languages import IDEOGRAPHIC, MARKED, REPOSITORY, RIGHT_TO_LEFT, SHIFTED, compile_catalogue, english, install, speaking, translation
from support.prompting import Prompting, Screen, SessionBus, prompting, terminal, wait_until  # noqa: F401
from support.standin import (
    ACCEPTED, COLLECTION, DISMISSED, ITEM, ITEM_ACCESS, LOGIN, NEW_ITEM_PASSPHRASE, NEW_PASSPHRASE,
)

pytestmark = [pytest.mark.night("languages"), pytest.mark.second_try]

NEW_VAULT, LOGIN_ADVICE = 7, 8
PASSPHRASE = 1 << 31
CTRL_C = "\x03"
# Values from the daemon are names, and stay the same in every language.
CHANGE = "to require user-presence, with the fingers that are enrolled now, to get another passphrase, to have the class always"
VALUES = ["mailer", "Bank", "why-it-asks", "user-presence", "always"]
KINDS = {
    "login": dict(purpose=LOGIN),
    "nobody": dict(purpose=LOGIN, caller=""),
    "vault": dict(purpose=NEW_VAULT),
    "collection": dict(purpose=COLLECTION, label="Bank"),
    "collection without a name": dict(purpose=COLLECTION),
    "new passphrase": dict(purpose=NEW_PASSPHRASE, label="Bank"),
    "item": dict(purpose=ITEM, label="Bank", access=PASSPHRASE),
    "for a minute": dict(purpose=ITEM, label="Bank", access=PASSPHRASE, reuse=60),
    "for minutes": dict(purpose=ITEM, label="Bank", access=PASSPHRASE, reuse=300),
    "for a second": dict(purpose=ITEM, label="Bank", access=PASSPHRASE, reuse=1),
    "for seconds": dict(purpose=ITEM, label="Bank", access=PASSPHRASE, reuse=17),
    "change": dict(purpose=ITEM_ACCESS, label="Bank", access=PASSPHRASE, change=CHANGE),
    "nothing": dict(purpose=ITEM_ACCESS, label="", access=PASSPHRASE, change="to require nothing"),
    "new item": dict(purpose=NEW_ITEM_PASSPHRASE, label="Bank"),
    "advice": dict(purpose=LOGIN_ADVICE, label="Bank"),
}


@pytest.fixture(scope="module")
def prefix(folder, programs):
    """The folder in which the programs look for catalogues, next to the rules above the programs."""
    rules = folder / "share/latchkey/rules.yaml"
    rules.parent.mkdir(parents=True)
    rules.touch()
    install(folder, MARKED, RIGHT_TO_LEFT, IDEOGRAPHIC, *SHIFTED.values())
    return folder


@pytest.fixture
def speaks(prompting, prefix):
    def speak(language):
        prompting.environment |= speaking(language)

    return speak


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_left_in_english(prompting, terminal, speaks, kind):
    speaks(MARKED)
    prompting.start(terminal=terminal.path, **{"caller": "mailer", "reason": "why-it-asks"} | KINDS[kind])
    # Each question ends with a colon and a space.
    wait_until(lambda: terminal.everything().endswith(": "), "the question")
    shown = terminal.everything()
    assert len(shown) > 60 and english(shown, *VALUES) == []
    terminal.type(CTRL_C)
    assert prompting.end() == DISMISSED


def test_answers_that_are_wrong(prompting, terminal, speaks):
    speaks(MARKED)
    prompting.start(terminal=terminal.path, caller="mailer")
    asked = translation("Enter your login password", MARKED)
    terminal.expect(asked)
    terminal.type("wrong\n")
    for text in ("Checking...", "That password is not right. Try again.", "Enter your login password"):
        terminal.expect(translation(text, MARKED))
    terminal.type(PASSWORD + "\n")
    assert prompting.end() == ACCEPTED
    assert english(terminal.everything(), "mailer") == []


def test_a_new_passphrase_that_is_wrong(prompting, terminal, speaks):
    speaks(MARKED)
    prompting.start(terminal=terminal.path, caller="mailer", purpose=NEW_PASSPHRASE, label="Bank")
    choose = translation("Choose a passphrase for %1$s", MARKED).partition("%1$s")[0]
    terminal.expect(choose)
    terminal.type("\n")
    terminal.expect(translation("The passphrase must not be empty.", MARKED))
    terminal.expect(choose)
    terminal.type("one\n")
    terminal.expect(translation("Enter the new passphrase of %1$s again", MARKED).partition("%1$s")[0])
    terminal.type("two\n")
    terminal.expect(translation("The two passphrases were not the same. Try again.", MARKED))
    terminal.type(CTRL_C)
    assert prompting.end() == DISMISSED
    assert english(terminal.everything(), "mailer", "Bank") == []


@pytest.mark.parametrize("language", [RIGHT_TO_LEFT, IDEOGRAPHIC], ids=["right to left", "ideographic"])
@pytest.mark.parametrize("way", ["lines", "pinentry-curses"])
def test_other_scripts_on_the_terminal(prompting, terminal, speaks, language, way):
    if way != "lines":
        (prompting.programs / "pinentry").symlink_to("/usr/bin/pinentry-curses")
    speaks(language)
    prompting.start(terminal=terminal.path, caller="mailer", purpose=COLLECTION, label="Bank")
    sentences = ["%1$s wants access to your secrets.", "Enter the passphrase of %1$s", "the collection \"%1$s\""]
    words = [word for one in sentences for word in re.findall(r"[^\x00-\x7f]+", translation(one, language))]
    wait_until(lambda: all(word in terminal.everything() for word in words), words)
    # The control sequences of the screen have question marks of their own.
    shown = re.sub(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\(.|.)", "", terminal.everything())
    assert "Bank" in shown and "mailer" in shown and "?" not in shown and "\ufffd" not in shown
    # The curses window waits for the Return key itself.
    terminal.type(PASSWORD + "\r")
    assert prompting.end() == ACCEPTED


BROKEN = ("%1$s und %2$s", "%2$s", "%s", "%n%n%n", "%99$s", "%1$d", "%")


@pytest.mark.parametrize("text", BROKEN)
def test_a_translation_with_wrong_values_is_english(prompting, terminal, prefix, text):
    entry = f'msgid "%1$s wants access to your secrets."\nmsgstr "{text}"\n'
    compile_catalogue(prefix, "en_XD", 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n' + entry)
    prompting.environment |= speaking("en_XD")
    prompting.start(terminal=terminal.path, caller="mailer")
    terminal.expect('The application "mailer" (as far as can be told) wants access to your secrets.')
    terminal.type(PASSWORD + "\n")
    assert prompting.end() == ACCEPTED


@pytest.mark.parametrize("variable", ["LANGUAGE", "LC_ALL", "LANG"])
def test_no_catalogue_comes_from_elsewhere(prompting, terminal, prefix, variable):
    """Every program of a session can change the session's environment, but must not choose the words of a prompt."""
    elsewhere = prompting.login.folder / "elsewhere"
    install(elsewhere, MARKED)
    path = "../" * 12 + str(elsewhere / "share/locale/en_XA").lstrip("/")
    prompting.environment |= {"LC_ALL": "C.UTF-8", "LANGUAGE": "", "TEXTDOMAINDIR": str(elsewhere / "share/locale"),
                              "NLSPATH": str(elsewhere), "LOCPATH": str(elsewhere)}
    if variable == "LANG":
        prompting.environment["LC_ALL"] = ""
    prompting.environment[variable] = path
    prompting.start(terminal=terminal.path, caller="mailer")
    terminal.expect("wants access to your secrets.")
    terminal.expect("Enter your login password: ")
    terminal.type(PASSWORD + "\n")
    assert prompting.end() == ACCEPTED


@pytest.mark.parametrize("language, asked", [("de", "Geben Sie Ihr Anmeldepasswort ein: "), ("fr", "Saisissez votre mot de passe de session: "),
                                             ("nn:fr:de", "Saisissez votre mot de passe de session: ")])
def test_german_and_french(prompting, terminal, prefix, language, asked):
    for name in ("de", "fr"):
        compile_catalogue(prefix, name, (REPOSITORY / f"po/{name}.po").read_text())
    prompting.environment |= speaking(language)
    prompting.start(terminal=terminal.path, caller="mailer")
    terminal.expect(asked)
    terminal.type(PASSWORD + "\n")
    assert prompting.end() == ACCEPTED


@pytest.fixture
def screen():
    screen = Screen()
    yield screen
    screen.close()


PROMPTERS = ["gcr-prompter", "pinentry-gtk-2", "pinentry-qt"]


@pytest.fixture(params=PROMPTERS)
def prompter(request, prompting, screen):
    """The real prompter on a screen."""
    prompting.environment |= {"DISPLAY": screen.display, "NO_AT_BRIDGE": "1", "GSETTINGS_BACKEND": "memory"}
    if request.param != "gcr-prompter":
        (prompting.programs / "pinentry").symlink_to(f"/usr/bin/{request.param}")
        yield request.param
        return
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(prompting.login.home), "LANG": "C.UTF-8",
                   "XDG_RUNTIME_DIR": str(prompting.login.runtime), "DISPLAY": screen.display, "NO_AT_BRIDGE": "1",
                   "GSETTINGS_BACKEND": "memory"}
    bus = SessionBus(prompting.folder, environment)
    prompting.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.address
    bus.offer("org.gnome.keyring.SystemPrompter", "/usr/libexec/gcr-prompter")
    yield request.param
    bus.close()


@pytest.mark.parametrize("language", [RIGHT_TO_LEFT, IDEOGRAPHIC], ids=["right to left", "ideographic"])
def test_other_scripts_on_the_screen(prompting, prompter, screen, speaks, language):
    """If the screen cannot draw a script, question marks or boxes replace its letters. Other letters of the script then look the
    same."""
    for letter in (translation("e", language), translation("t", language)):
        assert subprocess.run(["fc-list", f":charset={ord(letter):x}", "family"], capture_output=True).stdout, "no font"
    pictures = []
    for each in (language, SHIFTED[language[0]]):
        speaks(each)
        prompting.start(caller="mailer", purpose=COLLECTION, label="Bank")
        wait_until(lambda: screen.do("search", "--onlyvisible", "--name", ".+"), "a window")
        pictures.append(screen.picture())
        keep = REPOSITORY / ".build/pictures"
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{prompter}-{each[0]}.png").write_bytes(pictures[-1])
        prompting.withdraw()
        assert prompting.end() is None
        wait_until(lambda: not screen.do("search", "--onlyvisible", "--name", ".+"), "the window's end")
        prompting.number += 1
    assert pictures[0] != pictures[1]
