"""The manual pages of `latchkey` have exactly the program's commands and options. The examples in all documents and messages use
only these."""

import json
import re
import subprocess

import pytest
from support.derive import BUILT
from support.documents import DOCUMENTS, command_paths, examples
from support.manual import FOLDER, PAGES, REPOSITORY, Page, calls, listed

# Options of every command, or of every command that talks to the daemon. The first page describes them.
COMMON = {"--help", "-h", "--runtime", "--version"}
# An option of ArgumentParser that its own list leaves out.
UNLISTED = {"--generate-completion-script"}
MAIN = Page(FOLDER / "latchkey.1")
FIRST = "latchkey.1"
# The manual page of a program without commands.
WINDOW = "latchkey-app.1"


def option_names(argument):
    return {("-" if name["kind"] == "short" else "--") + name["name"] for name in argument.get("names", [])}


@pytest.fixture(scope="session")
def tree():
    """Every command, by its words: the arguments, the subcommands, and the default subcommand."""
    told = subprocess.run([BUILT / "latchkey", "--experimental-dump-help"], stdout=subprocess.PIPE, check=True).stdout
    found = {}

    def walk(command, path):
        below = [one for one in command.get("subcommands", []) if one["commandName"] != "help"]
        found[path] = (command.get("arguments", []), {one["commandName"] for one in below}, command.get("defaultSubcommand"))
        for one in below:
            walk(one, (*path, one["commandName"]))

    walk(json.loads(told)["command"], ())
    return found


def leaves(tree):
    return [path for path, (_, below, _) in tree.items() if not below]


def shown(tree, path):
    return [argument for argument in tree[path][0] if argument["shouldDisplay"]]


def page_of(path):
    own = FOLDER / f"latchkey-{path[0]}.1"
    return Page(own) if own.exists() else MAIN


def described(page, path):
    """The parts of a page about one command: the options of all the page's commands, and the command's own options."""
    own = page.section("latchkey " + " ".join(path))
    return own if page.path.name == FIRST else page.section("OPTIONS") + "\n" + own


def test_options_and_their_values(tree):
    for path in leaves(tree):
        arguments = shown(tree, path)
        text = described(page_of(path), path)
        told = listed(text)
        assert set().union(*map(option_names, arguments)) - COMMON == set(told), path
        for argument in arguments:
            names = option_names(argument)
            if names & COMMON:
                continue
            value = argument["valueName"] if argument["kind"] == "option" else None
            assert all(told[name] == value for name in names), (path, names)
            for word in argument.get("allValues", []) if argument["kind"] == "option" else []:
                assert re.search(rf"^\.(It )?Cm {word}\b", text, re.M), (path, word)


def test_arguments_stand_in_the_synopsis(tree):
    for path in leaves(tree):
        page = page_of(path)
        text = page.section("SYNOPSIS") + described(page, path)
        for argument in shown(tree, path):
            if argument["kind"] == "positional":
                for word in argument.get("allValues") or argument["valueName"].split("|"):
                    assert re.search(rf"\b(Ar|Cm|\|) {re.escape(word)}\b", text), (path, word)


def test_every_command_has_a_place_and_every_place_a_command(tree):
    headings = {}
    for file in PAGES:
        for heading in Page(file).sections:
            if heading.startswith("latchkey "):
                headings[tuple(heading.split()[1:])] = file.name
    for path in leaves(tree):
        if len(path) > 1 or page_of(path) is MAIN:
            assert headings.pop(path, None) == page_of(path).path.name, path
    assert not headings
    top = {path[0] for path in tree if path}
    linked = set(re.findall(r"^\.It Xr latchkey-([a-z-]+) 1", MAIN.section("COMMANDS"), re.M))
    assert linked == {file.stem.removeprefix("latchkey-") for file in PAGES
                      if file.suffix == ".1" and file.name not in (FIRST, WINDOW)}
    assert linked <= top


def test_no_page_mentions_an_option_of_no_command(tree):
    for file in PAGES:
        if file.suffix != ".1" or file.name == WINDOW:
            continue
        page = Page(file)
        mine = [path for path in tree if path and page_of(path).path == file] + [()]
        known = set().union(*(option_names(argument) for path in mine for argument in shown(tree, path))) | COMMON
        assert page.mentioned - UNLISTED <= known, file.name
    assert set(listed(MAIN.section("OPTIONS"))) == COMMON | UNLISTED


def test_exit_statuses_are_those_of_the_program():
    numbers = set(re.findall(r"^\.It (\d+)", MAIN.section("EXIT STATUS"), re.M))
    told = subprocess.run([BUILT / "latchkey", "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert numbers == set(re.findall(r"(?:^|[:;] )(\d+) ", told.split("Exit status")[1].replace("\n", " ").split("Completions")[0]))
    table = (REPOSITORY / "docs/user/command-line.md").read_text()
    assert numbers == set(re.findall(r"^\| (\d+) \|", table, re.M))


def check(tree, words, place):
    """Checks that a call names an existing command, and only options of that command or of its subcommands."""
    path, rest = (), [word for word in words if word != "help"]
    while rest and rest[0] in tree[path][1]:
        path = (*path, rest.pop(0))
    # After a command with only subcommands, a subcommand or a placeholder must follow.
    assert not (tree[path][1] and rest and re.fullmatch(r"[a-z][a-z-]+", rest[0])), (place, words)
    below = [one for one in tree if one[: len(path)] == path] if path else [path]
    known = COMMON | UNLISTED | set().union(*(option_names(argument) for one in below for argument in tree[one][0]))
    # The words after `--` belong to another program.
    for word in rest[: rest.index("--")] if "--" in rest else rest:
        if re.fullmatch(r"--?[a-z][a-z-]*(=.*)?", word):
            assert word.split("=")[0] in known, (place, words)


def test_examples_of_documents_and_pages_are_calls_that_exist(tree):
    seen = 0
    for path in DOCUMENTS:
        for line in examples(path.read_text()):
            for words in calls(line):
                seen += 1
                check(tree, words, path.name)
    for file in PAGES:
        for line in Page(file).examples:
            for words in calls(line):
                seen += 1
                check(tree, words, file.name)
    assert seen > 150


def test_messages_name_calls_that_exist(tree):
    seen = 0
    for path in (REPOSITORY / "Sources").rglob("*.swift"):
        for quoted in re.findall(r"'((?:sudo )?latchkey [a-z][^'\n\\]*)'", path.read_text()):
            for words in calls(quoted):
                seen += 1
                check(tree, words, path.name)
    assert seen > 40


def test_commands_are_read_from_the_sources_as_the_program_has_them(tree):
    """Tests/Repository needs no build, so it reads the commands from the sources."""
    assert command_paths() == set(tree)
