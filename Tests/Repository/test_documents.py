"""What the documents name exists: files, commands, options, make targets. And README.md can be read in one sitting."""

import re

import pytest
from support.documents import DOCUMENTS, HANDBOOK, README, REPOSITORY, command_paths, examples, name_of
from support.manual import PAGES, Page, calls

PATHS = command_paths()
# Words that readers stumble over; each message names the plain one.
WORDS = {
    r"\b(founds|founded|founding)\b|\b(to|may|must|can|never|not) found\b": "create",
    r"\b(hangs?|hung|hanging) on\b": "depends on",
    r"\bevict\w*": "locked",
    r"\b(vaults?|items?|collections?|keys?|secrets?|it|they|such) (is|are|stays?|remains?|was|were) (closed|open)\b": "locked, unlocked",
    r"\b(stays?|remains?) (closed|open)\b": "locked, unlocked",
    r"\bitems? (that|which) asks? for\b": "requires",
    r"\b(gives?|given|gave|giving) out\b|\b(tells?|told|telling) of\b": "reveals, returns",
    r"\b(mends?|mended|mending)\b|\bamiss\b": "fix",
    r"\bill\b|broken in itself": "damaged",
    r"\bpatience\b": "timeout",
    r"\b(is|are) (none|not there|no YAML|no name=value)\b": "is missing, does not exist, is invalid",
    r"\btill\b": "until",
    r"\bservice that keeps\b": "device key service",
    r"(?:^|(?<=[.:;!] ))(- |\*\*.*\*\* )?(Who|What)(?! else\b) (?![^.?]*\?)[^.]*": "a noun as the subject",
}


def prose(path):
    """What is read as sentences: without headings, tables, examples and code. Each item of a list begins a sentence."""
    text = path.read_text()
    if path in PAGES:
        text = re.sub(r"^\.Bd .*\n((?!\.Ed).*\n)*", "", text, flags=re.M)
        # A line of marked words goes on the sentence around it.
        text = re.sub(r"^\.(It|Pp|Sh|Ss|Dd|Dt|Os|Nd|Nm|Bl|El|Ed)\b.*", "\n\n", text, flags=re.M)
        return re.sub(r"^\.[A-Z][a-z] .*?( \.)?$", r"x\1", text, flags=re.M)
    text = re.sub(r"^ *```(.|\n)*?^ *```.*$|^(    .*|\|.*|#.*|!.*)$|^---\n(.|\n)*?^---$", "", text, flags=re.M)
    text = re.sub(r"`[^`]*`", "x", text)
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"^ *(- |\d+\. )", "\n\n", text, flags=re.M))


def places(path):
    """The names by which links reach the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_link_leads_somewhere(path):
    dead = []
    for link, place in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?[^)]*\)", re.sub(r"`[^`\n]*`", "", path.read_text())):
        if not link.startswith(("http", "doc:")):
            there = path.parent / link if link else path
            if not there.exists() or (place and place not in places(there)):
                dead.append(f"{link}#{place}")
    assert not dead


@pytest.mark.parametrize("path", [*DOCUMENTS, *PAGES], ids=name_of)
def test_every_command_of_latchkey_exists(path):
    """Options are Tests/Programs' matter, which has the program."""
    assert len(PATHS) > 30
    lines = Page(path).examples if path in PAGES else examples(path.read_text())
    for words in [words for line in lines for words in calls(line)]:
        known = ()
        for word in words:
            if not re.fullmatch(r"[a-z][a-z-]+", word) or word == "help":
                break
            # Behind a command that has none below it stand its arguments.
            if known and not any(len(path) > len(known) and path[: len(known)] == known for path in PATHS):
                break
            known = (*known, word)
            assert known in PATHS, words


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_make_target_exists(path):
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.M))
    assert {"check", "test", "run"} < targets
    for example in examples(path.read_text()):
        for word in re.findall(r"(?:^|[;|&(] *|sudo )make ([a-z][a-z-]*)", example):
            assert word in targets, example


def test_readme_is_of_one_sitting():
    lines = README.read_text().splitlines()
    assert len(lines) <= 150
    assert max(map(len, lines)) <= 130
    for command in ("make run", "make test"):
        assert any(command in line for line in lines[:40]), command


def test_readme_leads_to_every_page_of_the_handbook():
    """By itself, or by the map of the code."""
    maps = (README, REPOSITORY / "ARCHITECTURE.md")
    linked = {(REPOSITORY / link).resolve() for path in maps for link in re.findall(r"\]\(([^)#\s]+)", path.read_text())}
    assert set(HANDBOOK) <= linked


def test_the_architecture_is_a_map():
    assert len((REPOSITORY / "ARCHITECTURE.md").read_text().splitlines()) <= 200


@pytest.mark.parametrize("path", HANDBOOK, ids=name_of)
def test_every_page_names_its_reader_first(path):
    title, _, first = path.read_text().splitlines()[:3]
    assert title.startswith("# ")
    assert re.match(r"For (people|programmers|readers|administrators|developers) (who|whose) ", first)


@pytest.mark.parametrize("path", [*DOCUMENTS, *PAGES], ids=name_of)
def test_words(path):
    # Not between quotes, where another's words or a message stands.
    text = re.sub(r'"[^"\n]*"', "x", prose(path))
    found = {plain: one[0] for pattern, plain in WORDS.items() for one in re.finditer(pattern, text, re.M)}
    assert not found


@pytest.mark.parametrize("path", [*DOCUMENTS, *PAGES], ids=name_of)
def test_sentences_are_short(path):
    sentences = [words for one in re.split(r"[.!?]\s|\n\s*\n", prose(path)) if len(words := one.split()) > 2]
    assert sum(map(len, sentences)) / max(1, len(sentences)) <= 20
