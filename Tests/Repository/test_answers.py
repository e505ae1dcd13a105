"""What the vault and the services answer in English: `latchkey` knows each of these texts, and so can translate it."""

import re

import pytest
from support.languages import REPOSITORY, extract

# Where answers are written down: as the argument of a call, in a property, or beside a name.
FOLDERS = ["Desktop/Daemon", "Desktop/SecretService", "Desktop/Biometry", "Desktop/SessionState", "Vault", "Wire/DeviceService"]
CALL = re.compile(r"(?:\bRefusal|\.refused|\.unavailable|\.damaged|\.malformed|\.isLocked|\.notSupported|\bRulesError|\.noFingers)\(")
PROPERTY = re.compile(r"var (?:explanation|description|problems): \S+ \{")
# Written for programs, which have to be corrected, or for a log alone.
UNTOLD = {
    "chunks must come in their order", "this connection already shows a prompt", "the session collection has no other alias",
    "supported algorithms: %1$s and %2$s", "the session collection is not part of the vault", "too many readers",
}  # fmt: skip
# Parts that are only ever within a longer one, which is known.
PARTS = {"a generation", "was missing", "was damaged", "was another vault's", "latchkey:accessible must be one of "}


def literals(text, start, end):
    """The texts in a piece of source: literals that are joined count as one, and none of an interpolation."""
    at = start
    while (found := re.compile(r'//[^\n]*|"').search(text, at, end)) is not None:
        if found[0] != '"':
            at = found.end()
            continue
        pieces, values, at = extract.literal(text, found.start())
        while more := re.compile(r'\s*\+\s*(?=")').match(text, at):
            others, further, at = extract.literal(text, more.end())
            pieces = [*pieces[:-1], pieces[-1] + others[0], *others[1:]]
            values += further
        yield extract.key(pieces, values)


def end_of_block(text, at):
    """Where a block in braces ends, of which `at` is the first character."""
    depth = 1
    while depth:
        found = re.compile(r'//[^\n]*|[{}"]').search(text, at)
        at = found.end()
        if found[0] == '"':
            at = extract.literal(text, found.start())[2]
        depth += {"{": 1, "}": -1}.get(found[0], 0)
    return at


def answers(text):
    """What a source answers a person with: sentences and parts of them."""
    spans = [(call.end(), extract.expression(text, call.end())) for call in CALL.finditer(text)]
    spans += [(found.end(), end_of_block(text, found.end())) for found in PROPERTY.finditer(text)]
    for start, end in spans:
        for key in literals(text, start, end):
            if " " in re.sub(r"%\d+\$s", "", key).strip("; "):
                yield key


def pattern(text):
    """A text, with anything in the places of its values."""
    return re.compile(".+".join(re.escape(piece) for piece in re.split(r"%\d+\$s", text)), re.S)


TEMPLATES = [msgid for msgid, entry in extract.catalogue().items() if any("/Answers+" in name for name in entry["files"])]


def is_known(text):
    """As Templates.translation(of:) finds it: as a whole, or part by part."""
    text = text.strip("; ")
    if any(pattern(one).fullmatch(text) or pattern(text).fullmatch(one) for one in TEMPLATES):
        return True
    for separator in ("; ", ": "):
        first, found, rest = text.partition(separator)
        if found:
            return (is_known(first) or is_value(first)) and (is_known(rest) or is_value(rest))
    return False


def is_value(text):
    """Names of files, and values alone, are the same in every language."""
    return re.fullmatch(r"(?:%\d+\$s|keybag|vault\.db|[\s:])*", text) is not None


SOURCES = sorted(path for folder in FOLDERS for path in (REPOSITORY / "Sources" / folder).rglob("*.swift"))


def test_every_answer_is_known():
    found = {(path.name, key) for path in SOURCES for key in answers(path.read_text())}
    assert len(found) > 200
    assert sorted((name, key) for name, key in found if key not in UNTOLD | PARTS and not is_known(key)) == []
    assert UNTOLD | PARTS <= {key for _, key in found}


@pytest.mark.parametrize("source, text", [
    ('throw Refusal(reason: isOne ? "it is a" : "b is \\(c)")', ["it is a", "b is %1$s"]),
    ('throw .unavailable(\n  "a \\(f("x y")) b "\n    + "c")', ["a %1$s b c"]),
    ('var explanation: String {\n  // "not this"\n  "x y" + (n.map { "; z w \\($0)" } ?? "") }\nlet other = "o p"', ["x y", "; z w %1$s"]),
])  # fmt: skip
def test_answers_are_found(source, text):
    assert list(answers(source)) == text


def test_an_unknown_answer_is_seen():
    assert is_known("keybag: the file is missing") and is_known("it is locked: run 'latchkey unlock' first")
    assert not is_known("what nobody has ever said") and not is_known("keybag: what nobody has ever said")
