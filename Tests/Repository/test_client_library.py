"""The documentation of the client library is complete: it has all codes, results and topics."""

import re

import pytest
from support.documents import REPOSITORY

LIBRARY = REPOSITORY / "Sources/KeychainServices"
CATALOGUE = LIBRARY / "Security/Security.docc"
CODES = (CATALOGUE / "ErrorCodes.md").read_text()
CONSTANTS = dict(re.findall(r"public let (errSec\w+): OSStatus = (-?\d+)", (LIBRARY / "Security/Constants/StatusConstants.swift").read_text()))
# These files name every code, even codes that no call returns.
LISTS = {"StatusConstants.swift", "StatusMessage.swift"}
PUBLIC = [
    path for module in ("Security", "LocalAuthentication", "Keychain") for path in sorted((LIBRARY / module).rglob("*.swift"))]
FUNCTION = re.compile(
    r"((?:^ *//.*\n|^ *@.*\n)*)^ *(?:@discardableResult )?(?:public|open) (?:static )?func (\w+)((?:.|\n)*?)\{", re.M)


def code(text):
    return re.sub(r"//.*", "", text)


def returned():
    """Every code that the source names outside of the lists."""
    sources = [path for folder in ("Security", "KeychainClient") for path in (LIBRARY / folder).rglob("*.swift")]
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


def test_the_page_of_error_codes_quotes_the_messages_of_a_locked_item():
    part = CODES.partition("### -25308")[2].partition("###")[0]
    quoted = re.findall(r"^- `([^`]+)`", part, re.M)
    advice = "".join(re.findall(r'"([^"]*)"', (LIBRARY / "Security/Failures/FailureCause.swift").read_text()))
    assert len(quoted) == 9 and [text for text in quoted if text not in advice] == []


def test_the_functions_of_items_name_each_code():
    """The list has all codes that exist, and each function's list has the codes that its calls can return."""
    functions = FUNCTION.findall((LIBRARY / "Security/Items/SecItem.swift").read_text())
    named = {name: set(re.findall(r"^///   - .*", comment, re.M)) for comment, name, _ in functions}
    codes = {name: set(re.findall(r"errSec\w+", "".join(lines))) for name, lines in named.items()}
    assert codes.keys() == {"SecItemAdd", "SecItemCopyMatching", "SecItemUpdate", "SecItemDelete"}
    assert set.union(*codes.values()) == returned()
    for name, of_function in codes.items():
        wrong = {"errSecParam", "errSecNoSuchAttr", "errSecNoSuchClass", "errSecUnimplemented", "errSecMissingEntitlement"}
        state = {"errSecNotAvailable", "errSecInteractionNotAllowed", "errSecUserCanceled", "errSecAuthFailed"}
        assert wrong | state | {"errSecItemNotFound", "errSecInternalComponent"} <= of_function, name


def test_the_page_of_attribute_names_has_each_attribute_as_it_is_written():
    source = (LIBRARY / "Security/Constants/ItemAttributeConstants.swift").read_text()
    constants = {key: name for name, key in re.findall(r"let (kSecAttr\w+): CFString = \"(\w+)\"", source)}
    attributes = (LIBRARY / "Security/Items/AttributeName.swift").read_text().partition("enum Kind")[0]
    cases = dict(re.findall(r"case `?(\w+)`?(?: = \"(\w+)\")?$", attributes, re.M))
    names = (LIBRARY / "KeychainClient/ItemClass+Names.swift").read_text()
    page = (CATALOGUE / "AttributeNames.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in re.findall(r"^\| ``.*", page, re.M)]
    cells = {key: row[1:] for row in rows for key in re.findall(r"``(\w+)``", row[0])}
    assert cells.keys() == set(constants.values()) - {"kSecAttrSynchronizableAny"} | {"kSecClass"}
    for column, begin in enumerate((r"case .genericPassword: \[", r"case .internetPassword:\s*\[")):
        world = dict(re.findall(r"\.(\w+): \"(\w+)\"", re.search(begin + r"([^]]*)\]", names)[1]))
        assert world
        for case, key in cases.items():
            cell = cells[constants[key or case]]
            cell = cell[0] if cell[column] == "the same" else cell[column]
            if case in world:
                assert cell.split(",")[0] == f"`{world[case]}`", case
            elif "keychain:" in cell:
                assert cell == f"`keychain:{key or case}`"
            else:
                assert cell.startswith(("not an attribute", "the item's ")), case


def test_the_topics_have_each_function_and_constant():
    """DocC puts a symbol that no topic names at the end, among the symbols of its kind."""
    topics = set(re.findall(r"^- ``(\w+)", (CATALOGUE / "Security.md").read_text(), re.M))
    text = "\n".join(path.read_text() for path in (LIBRARY / "Security").rglob("*.swift"))
    names = re.findall(r"^public (?:nonisolated\(unsafe\) )?(?:let|func|typealias|final class|struct) (\w+)", text, re.M)
    names += re.findall(r"^public (?:nonisolated\(unsafe\) )?var (\w+)", text, re.M)
    # Names of Core Foundation, for types that Foundation documents.
    assert {name for name in names if not name.startswith(("CF", "kCF"))} - topics == set()


def test_the_page_of_porting_lists_as_absent_what_is_absent():
    text = (CATALOGUE / "Porting.md").read_text()
    tables = [text.partition(begin)[2].partition(end)[0] for begin, end in (
        ("These names do not exist either:", "These names exist"), ("| Core Foundation | instead |", "\n\n"))]
    lines = [line.split("|")[1] for table in tables for line in table.splitlines() if "|" in line]
    names = {name for line in lines for name in re.findall(r"\b(?:errSec|kSec|Sec|CF|kCF)\w+", line)}
    assert len(names) > 35
    text = "\n".join(path.read_text() for path in PUBLIC)
    assert {name for name in names if re.search(rf"(?:let|func|var) {name}\b", text)} == set()


@pytest.mark.parametrize("catalogue", sorted(LIBRARY.glob("*/*.docc")), ids=lambda path: path.stem)
def test_the_topics_have_each_article(catalogue):
    entry = catalogue / f"{catalogue.stem}.md"
    named = set(re.findall(r"^- <doc:(\w+)>", entry.read_text(), re.M))
    assert named == {path.stem for path in catalogue.glob("*.md")} - {entry.stem}
