"""The documents name only files, commands, options and make targets that exist. A person can read README.md in one sitting."""

import os
import pathlib
import re
import subprocess

import pytest
from support.documents import DOCUMENTS, HANDBOOK, README, REPOSITORY, command_paths, examples, name_of
from support.manual import PAGES, Page, calls

PATHS = command_paths()
# These pages outside of docs belong to the handbook too.
BESIDE = [
    REPOSITORY / name
    for name in ("ARCHITECTURE.md", "SECURITY.md", "FORMAT.md", "CONTRIBUTING.md", "pam/README.md", "Tests/README.md")
]
# These things are locked or unlocked, while a session, a file or a window is open.
KEPT = r"(vaults?|items?|collections?|keyrings?|classes|keys?|secrets?)"
START = r"(?:^|(?<=[.!?:;] )|(?<=[.!?]\*\* ))(?:- )?\*{0,2}"
# Files of other projects, and a file that the tutorial's reader writes.
OTHERS = {"run_tests.py", "Sources/mail/main.swift"}
NAMES = {
    path.name for top in REPOSITORY.iterdir() if not top.name.startswith(".") for path in ([top] if top.is_file() else top.rglob("*"))}
# Words that readers stumble over, each with the plain word for it.
WORDS = {
    r"\b(founds|founded|founding)\b|\b(to|may|must|can|will|do not|does not) found\b": "create",
    r"\b(lays?|laid|laying) (an?|the|its|new) ((tier|class|root) )?(vault|key)\b": "create",
    r"\b(hangs?|hung|hanging) on\b|\bon which hangs?\b": "depends on",
    r"\bevict\w*": "locked",
    rf"\b({KEPT}|it|they|such) (is|are|stays?|remains?|was|were)( still| now| already)? (closed|open)\b": "locked, unlocked",
    rf"\b(an?|the|any|each|every|all|in|of|from|with) (closed|open) {KEPT}\b": "locked, unlocked",
    r"\b(stays?|remains?) (closed|open)\b|\b(leaves?|leaving)( [\w']+){1,4} open\b": "locked, unlocked",
    r"\bitems?( that| which|, which| it|)( \w+ly)? asks? for\b|\bwhat it asks? for\b": "requires",
    r"\b(gives?|given|gave|giving)( it| them| \w+ \w+)? out\b|\b(tells?|told|telling) of\b": "reveals, returns",
    r"\b(mends?|mended|mending)\b|\bamiss\b": "fix",
    r"\bill\b|broken in itself": "damaged",
    r"\bgenerations? of (tier |class |root )?keys\b|\bkey generations?\b": "key epoch",
    r"\bpatience\b": "timeout",
    r"(?<!\b[Tt]here )\b(is|are|was|were) none\b|\b(is|are) not there\b": "is missing, does not exist, is invalid",
    r"(?<!\b[Tt]here )\b(is|are) no ([A-Z]{2,}|\w+=\w+)\b": "is not of the form, is invalid",
    r"\bmark(s|ed)? (as )?locked\b|\block marks?\b|\bmarks? of (a|the) lock\b": "explicit lock",
    r"\btill\b": "until",
    r"\bservice (that|which) keeps\b": "device key service",
    # A heading may be a question.
    rf"{START}(Who|What|[Ww]hoever|[Ww]hatever)(?! else\b)\b(?![^.?]*\?)[^.]*": "a noun as the subject",
    r"(?<=; )(who|what|that which) (?![^.?]*\?)[^.]*": "a noun as the subject",
    rf"{START}That (no|an?|the|it|they|he|there|nothing|nobody|somebody)\b[^.]*": "a noun as the subject",
}
# The columns of tables that describe bytes field by field, or that quote the output of programs.
LAYOUTS = {"size", "request", "head", "further inputs", "class-wrap", "line"}


def cells(rows):
    """The cells of a table that have prose."""
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]
    return [] if LAYOUTS & set(rows[0]) else [cell for row in rows[2:] for cell in row]


def paragraphs(text):
    """Paragraphs, list items and table cells, each as one line, without headings, pictures and code."""
    left_out = r"\A---\n(.|\n)*?^---$|^ *```(.|\n)*?^ *```.*$|<!--(.|\n)*?-->|^!\[(.|\n)*?\]\([^)]*\)$"
    text = re.sub(left_out, "\n", text, flags=re.M)
    found, table, inside, blank = [[]], [], 0, True
    for line in [*text.split("\n"), ""]:
        indent = len(line) - len(line.lstrip())
        if line.startswith("|"):
            table.append(line)
            continue
        found += [[cell] for cell in cells(table)] if table else []
        table = []
        item = re.match(r" *([-*]|\d+\.) +", line)
        if not line.strip():
            found.append([])
        elif blank and indent >= inside + 4 and not (item and inside):
            continue  # a code block, together with the adjacent lines below it
        elif item:
            inside = item.end()
            found.append([line[inside:]])
        elif line.startswith("#"):
            inside = 0
            found.append([])
        else:
            inside = inside if indent else 0 if blank else inside
            found[-1].append(line.strip())
        blank = not line.strip()
    return [" ".join(one) for one in found if one]


def prose(path):
    """The sentences of a document, one paragraph a line, without headings, examples, code and rows of bytes."""
    text = path.read_text()
    if path in PAGES:
        text = re.sub(r"^\.Bd .*\n((?!\.Ed).*\n)*", "", text, flags=re.M)
        # A line of marked words continues the sentence around it.
        text = re.sub(r"^\.(It|Pp|Sh|Ss|Dd|Dt|Os|Nd|Nm|Bl|El|Ed)\b.*", "\n\n", text, flags=re.M)
        text = re.sub(r"^\.[A-Z][a-z] .*?( \.)?$", r"x\1", text, flags=re.M)
        return "\n".join(" ".join(one.split()) for one in re.split(r"\n\s*\n", text))
    text = re.sub(r"`[^`\n]*`", "x", "\n".join(paragraphs(text)))
    return re.sub(r"\]\([^)]*\)", "]", text)


def sentences(path):
    """The sentences of a document as lists of words. Lists of names in a cell and labels are not sentences."""
    return [words for one in re.split(r"[.!?]\**\)?\s|\n", prose(path)) if len(words := one.split()) > 4]


def places(path):
    """The names by which links reach a document's headings."""
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


def installed_documents():
    """Every document that the packages install into /usr/share/doc, by its path below that folder."""
    command = ["make", "-s", "-C", REPOSITORY, "--eval", "documents: ; @echo $(DOCUMENTS)", "documents"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    found = {pathlib.PurePath("latchkey", name): REPOSITORY / name for name in told}
    for path in (REPOSITORY / "debian").glob("*.docs"):
        for name in path.read_text().split():
            found[pathlib.PurePath(path.stem, pathlib.PurePath(name).name)] = REPOSITORY / name
    return found


def test_every_link_of_an_installed_document_leads_to_an_installed_one():
    installed = installed_documents()
    assert {"latchkey/docs/user/README.md", "libpam-latchkey/README.md"} <= {str(path) for path in installed}
    dead = []
    for path, source in installed.items():
        text = re.sub(r"`[^`\n]*`", "", source.read_text()) if path.suffix == ".md" else ""
        for link in re.findall(r"\]\(([^)#\s]+)", text):
            there = pathlib.PurePath(os.path.normpath(path.parent / link))
            dead += [f"{path}: {link}"] if not link.startswith("http") and there not in installed else []
    assert dead == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_file_in_backticks_exists(path):
    """A name without a folder may be in any folder. A path begins in the repository, next to the document, or below Sources or
    Tests."""
    missing = []
    for quoted in re.findall(r"`([^`\n]+)`", re.sub(r"^ *```(.|\n)*?^ *```.*", "", path.read_text(), flags=re.M)):
        for word in quoted.split():
            file = word.strip(",;:()")
            if re.fullmatch(r"[\w.+/-]+\.(swift|py|c|h|md|map|xml|spec|te|fc|nix|pot?)", file) and file not in OTHERS:
                begins = [REPOSITORY, path.parent, REPOSITORY / "Sources", REPOSITORY / "Tests"]
                if not any((begin / file).is_file() for begin in begins) and file not in NAMES:
                    missing.append(file)
    assert not missing


@pytest.mark.parametrize("path", [*DOCUMENTS, *PAGES], ids=name_of)
def test_every_command_of_latchkey_exists(path):
    """Tests/Programs checks the options, because it has the program."""
    assert len(PATHS) > 30
    lines = Page(path).examples if path in PAGES else examples(path.read_text())
    for words in [words for line in lines for words in calls(line)]:
        known = ()
        for word in words:
            if not re.fullmatch(r"[a-z][a-z-]+", word) or word == "help":
                break
            # The words after a command without subcommands are its arguments.
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


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_root_changes_nothing_in_a_folder_of_a_user(path):
    """A link in that folder could lead root anywhere, such as to another user's vault or to the device key."""
    for example in examples(path.read_text()):
        for user in re.findall(r"(?<=[\s'])~([a-z]+)/", example):
            assert f"sudo -u {user} " in example, example


def test_readme_is_of_one_sitting():
    lines = README.read_text().splitlines()
    assert len(lines) <= 150
    assert max(map(len, lines)) <= 130
    for command in ("make run", "make test"):
        assert any(command in line for line in lines[:40]), command


def test_readme_leads_to_every_page_of_the_handbook():
    """A direct link counts. A link from the map of the code or of the promises counts too."""
    maps = (README, REPOSITORY / "ARCHITECTURE.md", REPOSITORY / "SECURITY.md")
    linked = {(REPOSITORY / link).resolve() for path in maps for link in re.findall(r"\]\(([^)#\s]+)", path.read_text())}
    assert set(HANDBOOK) <= linked


def test_the_promises_are_of_two_pages():
    assert len((REPOSITORY / "SECURITY.md").read_text().split()) <= 2000


def test_the_architecture_is_a_map():
    assert len((REPOSITORY / "ARCHITECTURE.md").read_text().splitlines()) <= 200


@pytest.mark.parametrize("path", [*HANDBOOK, *BESIDE], ids=name_of)
def test_every_page_names_its_reader_first(path):
    title, _, first = path.read_text().splitlines()[:3]
    assert title.startswith("# ")
    assert re.match(r"For (people|programmers|readers|administrators|developers) (who|whose) ", first)


@pytest.mark.parametrize("path", [*DOCUMENTS, *PAGES], ids=name_of)
def test_words(path):
    # Quoted words belong to others or to a message, so the test skips them.
    text = re.sub(r'"[^"\n]*"', "x", prose(path))
    found = {plain: one[0] for pattern, plain in WORDS.items() for one in re.finditer(pattern, text, re.M)}
    assert not found


@pytest.mark.parametrize("path", [*DOCUMENTS, *PAGES], ids=name_of)
def test_sentences_are_short(path):
    lengths = [len(words) for words in sentences(path)]
    assert sum(lengths) / max(1, len(lengths)) <= 18
    assert [" ".join(words) for words in sentences(path) if len(words) > 40] == []


@pytest.mark.parametrize("text, words", [
    ("- One.\n  - Whoever reads it.\n\n    Who knows.\n", "a noun as the subject"),
    ("| a | b |\n| --- | --- |\n| x | the vault is open |\n", "locked, unlocked"),
    ("**What an item asks for** is of two kinds.\n", "requires"),
    ("The service gives it out at a login.\n", "reveals, returns"),
    ("`Lock` leaves theirs open.\n", "locked, unlocked"),
    ("The key hangs\non the password.\n", "depends on"),
    ("A reply that is none.\n", "is missing, does not exist, is invalid"),
])
def test_the_words_are_found_where_people_read(tmp_path, text, words):
    path = tmp_path / "page.md"
    path.write_text("# A page\n\n" + text)
    assert any(re.search(pattern, prose(path), re.M) for pattern, plain in WORDS.items() if plain == words)


@pytest.mark.parametrize("text", [
    "Text:\n\n    the vault is open\n",
    "- One:\n\n      the vault is open\n",
    "```\nthe vault is open\n```\n",
    "| field | size |\n| --- | --- |\n| open | what it asks for |\n",
    "**Who can read it?** Nobody.\n",
    "While a session is open, a program can open items, and a login opens a session.\n",
    "The module asks for a passphrase. There is none, or the file is not found.\n",
])
def test_the_words_are_not_found_elsewhere(tmp_path, text):
    path = tmp_path / "page.md"
    path.write_text("# What is open\n\n" + text)
    assert not [pattern for pattern in WORDS if re.search(pattern, prose(path), re.M)]
