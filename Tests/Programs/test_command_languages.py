"""latchkey in another language: what the vault answers, beside a stand-in that speaks English as the vault does."""

import re
import shutil
import subprocess

import pytest
from support.languages import MARKED, PLACEHOLDER, REPOSITORY, compile_catalogue, english, extract, install, speaking, translation
from support.standin import declined, status
from test_command import FAILED, person  # noqa: F401 (a fixture)

pytestmark = pytest.mark.night("languages")

SEALED = 0
PER_STATUS = 12  # of Status.listLimit


def filled(text, values="stuv"):
    """A text with values in its places, which no language changes."""
    for number, value in enumerate(values, 1):
        text = text.replace(f"%{number}$s", value)
    return text.replace("%%", "%") if PLACEHOLDER.search(text) else text


def answers():
    """What the vault and the device key service may answer, as latchkey knows it."""
    return [msgid for msgid, entry in extract.catalogue().items() if any("/Answers+" in name for name in entry["files"])]


@pytest.fixture(scope="module")
def prefix(folder, programs):
    """A place of its own for latchkey, which looks for catalogues above itself, beside the rules."""
    prefix = folder / "languages"
    (prefix / "bin").mkdir(parents=True)
    shutil.copy(programs / "latchkey", prefix / "bin")
    rules = prefix / "share/latchkey/rules.yaml"
    rules.parent.mkdir(parents=True)
    rules.touch()
    install(prefix, MARKED)
    for name in ("de", "fr"):
        compile_catalogue(prefix, name, (REPOSITORY / f"po/{name}.po").read_text())
    return prefix


@pytest.fixture
def speaker(person, prefix):  # noqa: F811
    person.program = prefix / "bin/latchkey"
    person.environment |= speaking(MARKED)
    return person


@pytest.fixture
def daemon(person):  # noqa: F811
    return person.daemon()


def problems(person, daemon, lines):  # noqa: F811
    """What `latchkey status` makes of them."""
    daemon.status = [status(problems=lines)]
    done = person.run("status")
    assert done.returncode == 0, done
    return [line.removeprefix("  ") for line in done.stdout.splitlines()[-len(lines):]]


def test_every_answer_is_told_in_the_language(speaker, daemon):
    known = answers()
    assert len(known) > 300
    for start in range(0, len(known), PER_STATUS):
        part = known[start : start + PER_STATUS]
        texts = [filled(msgid) for msgid in part]
        # A longer one arrives cut, and stays English.
        assert all(len(text.encode()) < 400 for text in texts)
        assert problems(speaker, daemon, texts) == [filled(translation(msgid, MARKED)) for msgid in part]


def test_answers_within_answers(speaker, daemon):
    told = lambda text: translation(text, MARKED)  # noqa: E731
    missing, locked, copy = told("the file is missing"), told("it is locked"), told("%1$s, and its copy took its place")
    assert problems(speaker, daemon, [
        "keybag: the file is missing, and its copy took its place; it is keybag.damaged-7 now",
        "no finger opens login/5: it is locked",
        "/home/x/rules.yaml:3: unknown key 'x'; a rule can have name:, match: and class:. Until the file is corrected, no rule of "
        "this file is in force.",
        "vault.db was damaged, and was made again from generation 7 and what could be read of the file; newer items that could be read: 5; "
        "items that are gone: 2 (numbers 3, 4); the damaged file is vault.db.damaged-7",
        "the vault's folder: Permission denied",
        "vault.db: what nobody has ever said: nor this",
    ]) == [
        f"keybag: {copy.replace('%1$s', missing)}; {told('it is %1$s now').replace('%1$s', 'keybag.damaged-7')}",
        told("no finger opens %1$s: %2$s").replace("%1$s", "login/5").replace("%2$s", locked),
        told("%1$s. Until the file is corrected, %2$s.").replace("%2$s", told("no rule of this file is in force")).replace(
            "%1$s", "/home/x/rules.yaml:3: " + told("unknown key %1$s; a rule can have name:, match: and class:").replace("%1$s", "'x'")),
        "; ".join([
            told("vault.db was damaged, and was made again from generation %1$s and what could be read of the file").replace("%1$s", "7"),
            told("newer items that could be read: %1$s").replace("%1$s", "5"),
            told("items that are gone: %1$s").replace("%1$s", told("%1$s (numbers %2$s)").replace("%1$s", "2").replace("%2$s", "3, 4")),
            told("the damaged file is %1$s").replace("%1$s", "vault.db.damaged-7")]),
        told("the vault's folder") + ": Permission denied",
        # Not known: as it came.
        "vault.db: what nobody has ever said: nor this",
    ]  # fmt: skip


def test_reasons_and_refusals(speaker, daemon):
    daemon.status = [status(SEALED, reasons=("screen locked (screen saver)", "command", "LockedHint of session 7"))]
    shown = speaker.run("status").stdout
    for text in ("screen locked (screen saver)", "by 'latchkey lock'"):
        assert translation(text, MARKED) in shown
    assert translation("LockedHint of session %1$s", MARKED).replace("%1$s", "7") in shown
    daemon.lock = declined("your login has no password, so the vault cannot be locked. Set one with 'passwd'")
    done = speaker.run("lock")
    assert done.returncode == FAILED and english(done.stderr, "latchkey") == []


@pytest.mark.parametrize("language, word", [("de", "der Bildschirm ist gesperrt: Entsperren Sie ihn zuerst"),
                                            ("fr", "l'écran est verrouillé : déverrouillez-le d'abord")],
                         ids=["German", "French"])
def test_german_and_french(speaker, daemon, language, word):
    speaker.environment |= speaking(language)
    assert problems(speaker, daemon, ["the screen is locked: unlock it first"]) == [word]


def test_programs_read_english(speaker, daemon):
    """What --json has is no text for a person, whatever the language."""
    daemon.status = [status(SEALED, reasons=("sleep",), problems=["the disk is full"])]
    done = speaker.run("status", "--json")
    assert done.returncode == 0 and '"sleep"' in done.stdout and '"the disk is full"' in done.stdout
    assert not re.search(r"[^\x00-\x7f]", done.stdout)


# Classes, a schema and columns: names that help lists.
NAMES = ["when-unlocked", "after-first-unlock", "when-passcode-set", "always", "this-device-only", "org.latchkey.Login", "label, url, user, password",
         "notes, totp, fields, realm, group, created, modified"]  # fmt: skip


def test_help_has_no_english_sentence(speaker):
    """The words of the parser itself, options, values and examples stay; no sentence does."""
    pages, queue = [], [[]]
    while queue:
        words = queue.pop()
        done = subprocess.run([speaker.program, *words, "--help"], env=speaker.environment, capture_output=True, text=True, check=True)
        pages.append(done.stdout)
        _, _, below = done.stdout.partition("\nSUBCOMMANDS:\n")
        queue += [[*words, name] for name in re.findall(r"^  ([a-z][\w-]*)(?: \(default\))?(?=  |\n)", below.partition("\n\n")[0], re.M)]
    assert len(pages) > 40
    for page in pages:
        left = [line for line in page.splitlines() if not line.startswith("USAGE:") and len(english(parser_free(line), *NAMES)) > 1]
        assert left == [], page


def parser_free(line):
    """A line of help without what stays the same: options with their values, names of commands, and the parser's own words."""
    line = re.sub(r"^  (?:-\w, )?(?:--?[\w-]+(?:/--?[\w-]+)*)(?: <[\w=-]+>)?|^  <[\w=|-]+>(?: \.\.\.)?|^  [a-z][\w-]*(?: \(default\))?(?=  )", "", line)
    line = re.sub(r"Show the version\.|Show help information\.|See 'latchkey help.*|\(values: [^)]*|\(default: [^)]*\)?|^ +[\w,;: ./-]+\)$", "", line)
    return line.replace("(default)", "")
