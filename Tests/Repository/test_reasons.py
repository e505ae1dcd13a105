"""Reasons are codes. Every code that is written can be read, and no program compares the English text of another program."""

import re

from support.languages import REPOSITORY

SOURCES = REPOSITORY / "Sources"
CODING = (SOURCES / "Vault/Reasons/Reason+Coding.swift").read_text()
# A comparison with words: the text of an error or a problem that is cut or searched for a sentence.
WORDS = r'"[^"]* [^"]*"'
COMPARISON = re.compile(
    rf"(?:message|problem|reason|explanation|\.text|told)\w*\??\.(?:hasPrefix|hasSuffix|contains)\((?:text: )?{WORDS}"
    rf"|(?:message|problem|reason|explanation|\.text) [=!]= {WORDS}|(?:problems|[rR]easons)\.contains\({WORDS}")


def test_every_code_that_is_written_is_read():
    written = re.findall(r'CodedReason\("([\w.]+)"', CODING)
    read = re.findall(r'^ +case "([\w.]+)":', CODING, re.M)
    assert len(written) > 60 and sorted(written) == sorted(read) and len(set(read)) == len(read)
    assert sorted(re.findall(r"case (\w+)\.name:", CODING)) == sorted(
        re.search(r"enum (\w+)", path.read_text())[1] for path in (SOURCES / "Vault/Reasons").glob("*Reason.swift")
        if "ReasonGroup {" in path.read_text())


def test_no_program_compares_the_words_of_another():
    found = [(path.name, line.strip()) for path in SOURCES.rglob("*.swift") for line in path.read_text().splitlines() if COMPARISON.search(line)]
    assert found == []


def test_such_a_comparison_is_seen():
    for line in ('if error.message.hasPrefix("there is no vault yet") {', 'problem.contains(text: ", and its copy took its place")',
                 'guard reason == "no collection has that name", let', 'status.problems.contains("keybag: it is damaged")'):
        assert COMPARISON.search(line), line
