"""latchkey in another language: the vault's answers, from a stand-in that sends reasons as the vault does."""

import re
import shutil
import subprocess

import pytest
from support.languages import MARKED, REPOSITORY, compile_catalogue, english, install, speaking, translation
from support.reasons import sentences
from support.standin import declined, status
from test_command import FAILED, person  # noqa: F401 (a fixture)

pytestmark = pytest.mark.night("languages")

SEALED = 0
PER_STATUS = 12  # as in Status.listLimit


@pytest.fixture(scope="module")
def prefix(folder, programs):
    """A separate folder for latchkey, which looks for catalogues next to the rules above its own folder."""
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
    """The lines that `latchkey status` shows for these problems."""
    daemon.status = [status(problems=lines)]
    done = person.run("status")
    assert done.returncode == 0, done
    return [line.removeprefix("  ") for line in done.stdout.splitlines()[-len(lines):]]


def test_every_reason_is_told_in_the_language(speaker, daemon):
    known = sorted(sentences().items())
    assert len(known) > 280
    for start in range(0, len(known), PER_STATUS):
        part = known[start : start + PER_STATUS]
        assert problems(speaker, daemon, [(code,) for code, _ in part]) == [translation(text, MARKED) for _, text in part]


def test_reasons_within_reasons(speaker, daemon):
    told = lambda text: translation(text, MARKED)  # noqa: E731
    missing, locked, copy = told("the file is missing"), told("it is locked"), told("%1$s, and its copy took its place")
    unknown = ("rules.unknownKey", "'x'")
    assert problems(speaker, daemon, [
        ("both", ("because", ("subject.keybag",), ("keybag.copyTookPlace", ("keybag.missing",))), ("keybag.itIs", "keybag.damaged-7")),
        ("finger.noFingerOpens", "login/5", ("vault.locked",)),
        ("rules.rulesStay", ("because", ("verbatim", "/home/x/rules.yaml:3"), unknown),
         ("rules.noneInForce",)),
        ("both", ("both", ("vault.healed", "damaged", 7), ("vault.newerItems", 5)), ("vault.lostItems", ("vault.numbers", 2, "3, 4"))),
        ("because", ("subject.folder",), ("verbatim", "Permission denied")),
        ("vault.later", 7),
    ]) == [
        f"keybag: {copy.replace('%1$s', missing)}; {told('it is %1$s now').replace('%1$s', 'keybag.damaged-7')}",
        told("no finger opens %1$s: %2$s").replace("%1$s", "login/5").replace("%2$s", locked),
        told("%1$s. Until the file is corrected, %2$s.").replace("%2$s", told("no rule of this file is in force")).replace(
            "%1$s", "/home/x/rules.yaml:3: " + told("unknown key %1$s; a rule can have name:, match: and class:").replace("%1$s", "'x'")),
        "; ".join([
            told("vault.db was damaged, and was made again from generation %1$s and what could be read of the file").replace("%1$s", "7"),
            told("newer items that could be read: %1$s").replace("%1$s", "5"),
            told("items that are gone: %1$s").replace("%1$s", told("%1$s (numbers %2$s)").replace("%1$s", "2").replace("%2$s", "3, 4"))]),
        told("the vault's folder") + ": Permission denied",
        # The code of a problem that only a later version knows.
        "vault.later",
    ]  # fmt: skip


def test_locks_and_refusals(speaker, daemon):
    daemon.status = [status(SEALED, reasons=[("session.screenSaver",), ("session.command",)])]
    shown = speaker.run("status").stdout
    for text in ("screen locked (screen saver)", "by 'latchkey lock'"):
        assert translation(text, MARKED) in shown
    daemon.lock = declined(("refusal.noLoginPassword",))
    done = speaker.run("lock")
    assert done.returncode == FAILED and english(done.stderr, "latchkey") == []


@pytest.mark.parametrize("language, word", [("de", "der Bildschirm ist gesperrt: Entsperren Sie ihn zuerst"),
                                            ("fr", "l'écran est verrouillé : déverrouillez-le d'abord")],
                         ids=["German", "French"])
def test_german_and_french(speaker, daemon, language, word):
    speaker.environment |= speaking(language)
    assert problems(speaker, daemon, [("refusal.screenLocked",)]) == [word]


def test_programs_read_english(speaker, daemon):
    """The output of --json is not for people, so it is the same in every language."""
    daemon.status = [status(SEALED, reasons=[("session.sleep",)], problems=[("vault.diskFull",)])]
    done = speaker.run("status", "--json")
    assert done.returncode == 0 and '"sleep"' in done.stdout and '"the disk is full"' in done.stdout
    assert not re.search(r"[^\x00-\x7f]", done.stdout)


# Names of classes, of a schema and of columns, which help lists.
NAMES = ["when-unlocked", "after-first-unlock", "when-passcode-set", "always", "this-device-only", "org.latchkey.Login", "label, url, user, password",
         "notes, totp, fields", "realm, group, created, modified"]  # fmt: skip


def test_help_has_no_english_sentence(speaker):
    """The parser's own words, options, values and examples stay in English, but no sentence does."""
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
    """A line of help without the parts that stay in English: options with their values, names of commands, and the parser's own
    words."""
    line = re.sub(r"^  (?:-\w, )?(?:--?[\w-]+(?:/--?[\w-]+)*)(?: <[\w=-]+>)?|^  <[\w=|@-]+>(?: \.\.\.)?|^  [a-z][\w-]*(?: \(default\))?(?=  )", "", line)
    line = re.sub(r"Show the version\.|Show help information\.|See 'latchkey help.*|\(values: [^)]*|\(default: [^)]*\)?|^ +[\w,;: ./-]+\)$", "", line)
    return line.replace("(default)", "")
