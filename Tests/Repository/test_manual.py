"""The manual pages are well-formed, and name all arguments of the daemons, the PAM module and the rules.
Tests/Programs/test_command_manual.py checks `latchkey` itself by the program."""

import os
import re
import subprocess

import pytest
from support.manual import FOLDER, PAGES, REPOSITORY, Page, keywords, listed


def source(name):
    """The only file with this name in any folder."""
    (path,) = (REPOSITORY / "Sources").rglob(name)
    return path.read_text()


def name_of(path):
    return path.name


def test_pages_lie_where_make_finds_them():
    assert {"latchkey.1", "latchkeyd.8", "latchkey-deviced.8", "pam_latchkey.8", "latchkey-rules.5"} <= set(map(name_of, PAGES))
    assert sorted(FOLDER.iterdir()) == PAGES


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_man_shows_a_page_without_a_warning(path):
    place = {**os.environ, "MANROFFSEQ": "", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}
    shown = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path], env=place, capture_output=True)
    assert (shown.returncode, shown.stderr) == (0, b"") and shown.stdout


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_mandoc_finds_nothing(path):
    # The warnings about references are left out, because they depend on the machine's other packages.
    told = subprocess.run(["mandoc", "-Tlint", "-W", "warning", path], capture_output=True, text=True).stdout
    assert not told


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_a_page_has_the_parts_that_readers_look_for(path):
    page = Page(path)
    name, section = path.stem, path.suffix[1:]
    assert f"\n.Dt {name.upper()} {section}\n" in page.text
    assert f".Nm {name}\n" in page.section("NAME")
    assert {"SYNOPSIS", "DESCRIPTION", "EXAMPLES", "SEE ALSO"} <= set(page.sections)
    for other, number in re.findall(r"^\.(?:It )?Xr (\S*latchkey\S*) (\d)", page.text, re.M):
        assert (FOLDER / f"{other}.{number}").exists(), (other, number)


@pytest.mark.parametrize("program", ["latchkeyd", "latchkey-deviced", "latchkey-ssh-agent"])
def test_every_option_of_a_daemon_stands_in_its_page(program):
    code = source(f"{program}/Options.swift")
    # ProgramArguments itself accepts --help.
    parsed = set(re.findall(r'"(--?[a-z][a-z-]*)"', code)) | {"--help", "-h"}
    told = set(re.findall(r"^      (--[a-z-]+)", code, re.M)) | {"--help", "-h"}
    page = Page(FOLDER / f"{program}.8")
    assert parsed == told and len(parsed) > 4
    assert set(listed(page.section("OPTIONS"))) == parsed
    assert page.mentioned == parsed


def test_every_argument_of_the_module_stands_in_its_page():
    code = source("PAMModule/Options.swift")
    parsed = set(re.findall(r'strcmp\(argument, \("(\w+)" as Literal\)', code)) | set(re.findall(r'value\(of: "(\w+=)"', code))
    assert {"debug", "passphrase", "home="} < parsed
    page = Page(FOLDER / "pam_latchkey.8")
    # The module still accepts the former name, but the manual page shows only the present name.
    parsed.remove("no_found")
    assert set(keywords(page.section("OPTIONS"))) == parsed
    assert set(re.findall(r"^\.Op Cm (\S+)", page.section("SYNOPSIS"), re.M)) == parsed


def test_every_key_of_a_rule_stands_in_its_page():
    parsed = re.search(r"guard \[([^]]*)\]\.contains\(entry\.key\)", source("ClassRule.swift"))[1]
    page = Page(FOLDER / "latchkey-rules.5")
    assert keywords(page.section("FORMAT")) == re.findall(r'"(\w+)"', parsed)


def test_every_class_stands_in_the_page_of_rules_and_in_the_first_one():
    code = source("AccessibilityClass.swift")
    names = set(re.findall(r'"((?:when|after|always)[a-z-]*)"', code))
    assert len(names) == 7
    for page in ("latchkey-rules.5", "latchkey.1"):
        assert names <= set(re.findall(r"Cm ([a-z-]+)", (FOLDER / page).read_text())), page
