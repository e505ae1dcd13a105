"""The catalogues are complete: they have exactly the present texts of the sources, with the same values."""

import pathlib
import re
import subprocess

import pytest
from support.languages import PLACEHOLDER, extract

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LANGUAGES = (REPOSITORY / "po/LINGUAS").read_text().split()
# Programs that run as root or in other users' processes read no catalogue.
PRIVILEGED = ["Sources/PAM", "Sources/Programs/latchkey-derive", "Sources/Programs/latchkey-deviced"]


def entries(path):
    """The msgid, the msgid_plural or None, and the translations of each entry, as msgcat writes them."""
    done = subprocess.run(["msgcat", "--no-wrap", "--force-po", path], capture_output=True, text=True, check=True)
    found = []
    for block in done.stdout.split("\n\n")[1:]:
        fields = {}
        for line in block.splitlines():
            if match := re.match(r'(msg\w+(?:\[\d\])?) "(.*)"$', line):
                name, fields[match[1]] = match[1], match[2]
            elif line.startswith('"'):
                fields[name] += line[1:-1]
        if "msgid" in fields:
            found.append((fields["msgid"], fields.get("msgid_plural"),
                          [value for key, value in fields.items() if key.startswith("msgstr")], "fuzzy" in block.split("msgid")[0]))
    return found


def placeholders(text):
    return sorted(PLACEHOLDER.findall(text))


def test_the_template_has_what_the_sources_say():
    assert (REPOSITORY / "po/latchkey.pot").read_text() == extract.template(), "run 'make translations'"


def test_every_catalogue_is_listed():
    assert sorted(LANGUAGES) == sorted(path.stem for path in (REPOSITORY / "po").glob("*.po")) != []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_is_translated(language):
    template = {(msgid, plural) for msgid, plural, _, _ in entries(REPOSITORY / "po/latchkey.pot")}
    translated = entries(REPOSITORY / f"po/{language}.po")
    assert {(msgid, plural) for msgid, plural, _, _ in translated} == template, "run 'make translations', then translate"
    for msgid, _, texts, is_fuzzy in translated:
        assert all(texts) and not is_fuzzy, msgid


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_have_the_same_values(language):
    """Phrase.filled(_:with:atLeast:) needs the same values. With other values it shows the English text."""
    for msgid, plural, texts, _ in entries(REPOSITORY / f"po/{language}.po"):
        if not placeholders(plural or msgid):
            continue
        for number, text in enumerate(texts):
            if plural and number == 0:
                assert set(placeholders(msgid)) <= set(placeholders(text)) <= set(placeholders(plural)), msgid
            else:
                assert placeholders(text) == placeholders(plural or msgid), msgid


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_have_the_same_shape(language):
    """Line ends, blanks at the ends, options and paths must be unchanged, because a person types or copies them."""
    for msgid, plural, texts, _ in entries(REPOSITORY / f"po/{language}.po"):
        for text, original in zip(texts, [msgid, plural or msgid]):
            assert text.count("\\n") == original.count("\\n"), original
            assert (text[0] == " ", text[-1] == " ", text.endswith("\\n")) == (
                original[0] == " ", original[-1] == " ", original.endswith("\\n")), original
            for word in re.findall(r"(?<![\w-])--?[a-z][\w-]*|/etc/[\w./-]*\w|(?<=')latchkey [a-z]+", original):
                assert word in text, (word, original)


def test_privileged_programs_read_no_catalogue():
    for folder in PRIVILEGED:
        for path in (REPOSITORY / folder).rglob("*.swift"):
            assert "LatchkeyGettext" not in path.read_text(), path
    # Nothing that these programs depend on reads a catalogue either.
    package = (REPOSITORY / "Package.swift").read_text()
    for name in ("latchkey-derive", "latchkey-deviced"):
        start = package.index(f'program(\n      "{name}"')
        needed, seen = set(re.findall(r'"(Latchkey\w+)"', package[start : package.index("]", start)])), set()
        while needed:
            module = needed.pop()
            seen.add(module)
            declared = re.search(rf'module\(\s*"{module.removeprefix("Latchkey")}", on: \.\w+(?:,\s*\[(.*?)\])?', package, re.S)
            needed |= set(re.findall(r'"(Latchkey\w+)"', declared[1] or "")) - seen
        assert len(seen) > 3 and "LatchkeyGettext" not in seen, name


@pytest.mark.parametrize(
    "source, message",
    [
        ('translated("One of \\(a + b(1)) \\"x\\", 5 %")', ('One of %1$s "x", 5 %%', None)),
        ('translated("5 %\\n")', ("5 %\n", None)),
        ('x = translated(\n  """\n  One \\\n  line\n    and \\(more).\n  """)', ("One line\n  and %1$s.", None)),
        ('translated(files.count, one: "a file", other: "\\(files.count) files")', ("a file", "%1$s files")),
        ('ArgumentHelp(translated("a"), valueName: "b")', ("a", None)),
    ],
)
def test_literals_are_read_as_swift_does(source, message):
    ((msgid, plural, _, _),) = extract.messages(source, "test")
    assert (msgid, plural) == message


@pytest.mark.parametrize(
    "source",
    ['translated("a" + b)', "translated(words)", 'translated("a \\(b ? "c" : "d")")',
     'translated(n, one: "\\(n) of \\(m)", other: "\\(m) of \\(n)")'],
)
def test_what_no_catalogue_can_have_is_refused(source):
    with pytest.raises(SystemExit, match="^test:1: "):
        list(extract.messages(source, "test"))


def test_the_texts_of_the_pam_module_are_translated_as_it_says_them():
    """The module speaks only English. latchkey finds the translation of its words by the exact text."""
    sources = REPOSITORY / "Sources"
    module = (sources / "PAM/PAMModule/Call.swift").read_text()
    told = re.findall(r'^    case "(.*)":', (sources / "Programs/latchkey/Keys/PassphraseCommand.swift").read_text(), re.M)
    assert len(told) == 2 and all(f'Literal = "{text}"' in module for text in told)
