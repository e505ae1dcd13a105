"""The comments of the sources are plain English, like the documents."""

import re

import pytest
from support.documents import REPOSITORY
from test_documents import WORDS

SOURCES = REPOSITORY / "Sources"
FLOORS = sorted(path.name for path in SOURCES.iterdir() if path.is_dir())
LINE = re.compile(r"\s*///?(?!/)\s?(.*)")
# A comment after code, but not in a string literal.
BEHIND = re.compile(r'(?:[^"/]|"(?:[^"\\]|\\.)*"|/(?!/))*[\s{}]// ?(.*)')
ITEM = re.compile(r" *- (?:(?:Parameters?\b[^:]*|Returns|Throws|Note|Important|Warning|\w+):(?!:))? *(.*)")
# The comment of a declaration, a parameter or a result begins with a noun or a verb.
ASKING = re.compile(r"(?:(?:By|For|From|In|Of|On|To|With) )?(?:[Ww]hat|[Ww]hatever|[Ww]ho|[Ww]hom|[Ww]hoever|[Ww]hose)\b(?!.*\?)")
# These things are open or closed, while a vault is locked or unlocked.
OPENED = re.compile(r"\b(connection|database|descriptor|end|file|folder|socket|stream|terminal|window)s?\b")


def blocks(text):
    """The lines of each comment. Adjacent comment lines form one comment, and a comment after code is one comment."""
    found, inside = [], False
    # C's other form of comment, at the end of a line, even in a macro.
    for line in re.sub(r"/\* ?([^*\n]*?) ?\*/[ \\]*$", r"// \1", text, flags=re.M).split("\n"):
        own, behind = LINE.fullmatch(line), BEHIND.fullmatch(line)
        if own and inside:
            found[-1].append(own[1])
        elif own or behind:
            found.append([(own or behind)[1]])
        inside = bool(own)
    return found


def paragraphs(lines):
    """Paragraphs and list items, each as one line, without code, tables and names of parameters."""
    found, fenced = [[]], False
    for line in lines:
        text = line.strip()
        fence = text.startswith("```")
        fenced ^= fence
        if fenced or fence or not text or text.startswith(("|", "MARK:", "swift-format")) or line.startswith("    "):
            found.append([])
        elif item := ITEM.fullmatch(line):
            found.append([item[1]])
        else:
            found[-1].append(text)
    return [" ".join(one) for one in found if any(one)]


def prose(text):
    """All paragraphs, without names in the code and without quoted words of others."""
    for lines in blocks(text):
        for one in paragraphs(lines):
            yield re.sub(r'"[^"]*"', "x", re.sub(r"``[^`]*``|`[^`]*`", "x", one)).strip()


def sentences(paragraph):
    return re.split(r"(?<=[.!?])\)? ", paragraph)


def faults(paragraph):
    """The words that readers stumble over, and their plain words."""
    found = ["a noun as the subject"] if ASKING.match(paragraph) else []
    for pattern, plain in WORDS.items():
        for sentence in sentences(paragraph):
            if re.search(pattern, sentence) and not (plain == "locked, unlocked" and OPENED.search(sentence)):
                found.append(plain)
    return found


def comments(floor):
    for path in sorted(path for path in (SOURCES / floor).rglob("*") if path.suffix in (".swift", ".c", ".h")):
        for paragraph in prose(path.read_text()):
            yield path.relative_to(SOURCES), paragraph


@pytest.mark.parametrize("floor", FLOORS)
def test_words(floor):
    assert [(str(path), found, one) for path, one in comments(floor) if (found := faults(one))] == []


@pytest.mark.parametrize("floor", FLOORS)
def test_sentences_are_short(floor):
    found = [(str(path), sentence) for path, one in comments(floor) for sentence in sentences(one)]
    lengths = [length for _, sentence in found if (length := len(sentence.split())) > 4]
    assert len(lengths) > 50
    assert sum(lengths) / len(lengths) <= 15
    assert [one for one in found if len(one[1].split()) > 40] == []


@pytest.mark.parametrize("text, words", [
    ("/// What came of it.\nlet outcome: Int\n", "a noun as the subject"),
    ("/// Makes one.\n///\n/// - Parameters:\n///   - key: what the\n///     passphrase gave.\n", "a noun as the subject"),
    ("/// By what it is found.\n", "a noun as the subject"),
    ("  // It is late. Whoever waits\n  // hears so.\n", "a noun as the subject"),
    ("  entry(Open, 1) /* it stays open */  \\\n", "locked, unlocked"),
    ('let a = "//"  // The item is\n', ""),
    ('let a = "//"  // The item is open.\n', "locked, unlocked"),
    ("/// Locks it, though its vault is\n/// open now.\n", "locked, unlocked"),
    ("/// The requirements; nil where\n/// an item asks for none.\n", "requires"),
    ("/// Nil for a number that is none.\n", "is missing, does not exist, is invalid"),
])
def test_the_words_are_found_where_people_read(text, words):
    assert {plain for one in prose(text) for plain in faults(one)} == ({words} if words else set())


@pytest.mark.parametrize("text", [
    '/// Says "till then", and `it is open`.\n',
    "/// ```\n/// What is open\n/// ```\n",
    "/// | What is open |\n",
    'let a = "a // What is open"\nlet url = "https://who"\n',
    "/// The item; nil where there is none. Asks what comes next.\n",
    "/// The file is read while it is open, and a descriptor must stay open.\n",
    "/// Who is asked? The person.\n",
    "// MARK: What is open\n",
])
def test_the_words_are_not_found_elsewhere(text):
    assert [one for one in prose(text) if faults(one)] == []
