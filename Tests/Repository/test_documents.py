"""What the documents name exists: files, commands, options, make targets. And README.md can be read in one sitting."""

import pathlib
import re

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "*/README.md", "Sources/*/README.md")
    for path in REPOSITORY.glob(pattern)
)
HANDBOOK = [path for path in DOCUMENTS if "docs" in path.parts]
README = REPOSITORY / "README.md"
SOURCES = "".join(path.read_text() for path in sorted(REPOSITORY.glob("Sources/Programs/latchkey/**/*.swift")))
COMMANDS = set(re.findall(r'commandName: "([\w-]+)"', SOURCES))
# Words of earlier texts that readers stumbled over.
OLDER_WORDS = r"\b(till|mends?|mended|hangs? on|amiss|is none)\b"


def name_of(path):
    return str(path.relative_to(REPOSITORY))


def examples(text):
    """The lines of its examples, with what a sentence quotes as code."""
    return re.findall(r"^    (.+)$", text, re.M) + re.findall(r"`([^`\n]+)`", text)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_link_leads_somewhere(path):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text())
    dead = [link for link in links if not link.startswith("http") and not (path.parent / link).exists()]
    assert not dead


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_command_of_latchkey_exists(path):
    assert len(COMMANDS) > 20
    for example in examples(path.read_text()):
        for word in re.findall(r"(?:^|[;|&(] *|sudo )latchkey ([a-z][\w-]*)", example):
            assert word in COMMANDS | {"help"}, example


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
