"""What the documentation of the client library says of the library is complete: codes, results, topics."""

import re

import pytest
from support.documents import REPOSITORY

LIBRARY = REPOSITORY / "Sources/KeychainServices"
CATALOGUE = LIBRARY / "Security/Security.docc"
CODES = (CATALOGUE / "ErrorCodes.md").read_text()
CONSTANTS = dict(re.findall(r"public let (errSec\w+): OSStatus = (-?\d+)", (LIBRARY / "Security/StatusConstants.swift").read_text()))
# They name each code, whether a call returns it or not.
LISTS = {"StatusConstants.swift", "StatusMessage.swift"}
PUBLIC = [
    path for module in ("Security", "LocalAuthentication", "Keychain") for path in sorted((LIBRARY / module).glob("*.swift"))]
FUNCTION = re.compile(
    r"((?:^ *//.*\n|^ *@.*\n)*)^ *(?:@discardableResult )?(?:public|open) (?:static )?func (\w+)((?:.|\n)*?)\{", re.M)


def code(text):
    return re.sub(r"//.*", "", text)


def returned():
    """Every code that the source names where it is not in a list."""
    sources = [path for folder in ("Security", "KeychainClient") for path in (LIBRARY / folder).glob("*.swift")]
    found = {name for path in sources if path.name not in LISTS for name in re.findall(r"errSec\w+", code(path.read_text()))}
    return found - {"errSecSuccess"}


def test_the_page_of_error_codes_has_each_that_a_call_returns():
    headings = re.findall(r"(-\d+), (errSec\w+)", "\n".join(re.findall(r"^### .*", CODES, re.M)))
    assert {name: number for number, name in headings} == {name: CONSTANTS[name] for name in returned()}
    assert len(headings) == len(returned())


def test_the_page_of_error_codes_names_those_that_no_call_returns():
    last = CODES.partition("### Codes that no call returns")[2]
    assert set(re.findall(r"`(errSec\w+)`", last)) == CONSTANTS.keys() - returned() - {"errSecSuccess"}


@pytest.mark.parametrize("path", PUBLIC, ids=lambda path: path.name)
def test_each_public_function_says_what_it_returns_and_throws(path):
    silent = []
    for comment, name, signature in FUNCTION.findall(path.read_text()):
        # Swift's own name for a bridge, which no program calls.
        if name.startswith("_"):
            continue
        for sign, said in (("->", "- Returns:"), ("throws", "- Throws:")):
            silent += [f"{name}: {said}"] if sign in signature and said not in comment else []
    assert silent == []


def test_the_topics_have_each_function_and_constant():
    """DocC puts a symbol that no topic names at the end, by its kind."""
    topics = set(re.findall(r"^- ``(\w+)", (CATALOGUE / "Security.md").read_text(), re.M))
    text = "\n".join(path.read_text() for path in (LIBRARY / "Security").glob("*.swift"))
    names = re.findall(r"^public (?:nonisolated\(unsafe\) )?(?:let|func|typealias|final class|struct) (\w+)", text, re.M)
    names += re.findall(r"^public (?:nonisolated\(unsafe\) )?var (\w+)", text, re.M)
    # Core Foundation's names, for types that Foundation documents.
    assert {name for name in names if not name.startswith(("CF", "kCF"))} - topics == set()


def test_the_page_of_porting_lists_as_absent_what_is_absent():
    absent = (CATALOGUE / "Porting.md").read_text().partition("These names do not exist either:")[2].partition("These names exist")[0]
    names = {name for line in absent.splitlines() for name in re.findall(r"\b(?:errSec|kSec|Sec|CF|kCF)\w+", line.split("|")[1] if "|" in line else "")}
    assert len(names) > 15
    text = "\n".join(path.read_text() for path in PUBLIC)
    assert {name for name in names if re.search(rf"(?:let|func|var) {name}\b", text)} == set()


@pytest.mark.parametrize("catalogue", sorted(LIBRARY.glob("*/*.docc")), ids=lambda path: path.stem)
def test_the_topics_have_each_article(catalogue):
    entry = catalogue / f"{catalogue.stem}.md"
    named = set(re.findall(r"^- <doc:(\w+)>", entry.read_text(), re.M))
    assert named == {path.stem for path in catalogue.glob("*.md")} - {entry.stem}
