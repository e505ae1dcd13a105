"""What the documents name exists: files, commands, options, make targets. And README.md can be read in one sitting."""

import re

import pytest
from support.documents import DOCUMENTS, HANDBOOK, README, REPOSITORY, command_paths, examples, name_of
from support.manual import PAGES, Page, calls

PATHS = command_paths()
# Words of earlier texts that readers stumbled over.
OLDER_WORDS = r"\b(till|mends?|mended|hangs? on|amiss|is none)\b"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_link_leads_somewhere(path):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text())
    dead = [link for link in links if not link.startswith("http") and not (path.parent / link).exists()]
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
    linked = {(REPOSITORY / link).resolve() for link in re.findall(r"\]\(([^)#\s]+)", README.read_text())}
    assert set(HANDBOOK) <= linked


@pytest.mark.parametrize("path", HANDBOOK, ids=name_of)
def test_every_page_names_its_reader_first(path):
    title, _, first = path.read_text().splitlines()[:3]
    assert title.startswith("# ")
    assert re.match(r"For (people|programmers|readers|administrators|developers) (who|whose) ", first)


@pytest.mark.parametrize("path", [README, *HANDBOOK], ids=name_of)
def test_words(path):
    assert not re.findall(OLDER_WORDS, path.read_text(), re.I)


@pytest.mark.parametrize("path", [README, *HANDBOOK], ids=name_of)
def test_sentences_are_short(path):
    text = re.sub(r"^(    .*|\|.*|#.*|!.*)$", "", path.read_text(), flags=re.M)
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"^- ", ". ", text, flags=re.M))
    sentences = [words for one in re.split(r"[.!?:;]\s|\n\s*\n", text) if len(words := one.split()) > 1]
    assert sum(map(len, sentences)) / len(sentences) <= 20
