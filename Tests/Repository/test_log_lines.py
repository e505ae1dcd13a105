"""The manual page of the PAM module has all log lines of the module, by level."""

import re

from support.documents import REPOSITORY
from support.manual import FOLDER, Page

MODULE = REPOSITORY / "Sources/PAM/PAMModule"
PAGE = Page(FOLDER / "pam_latchkey.8")
LINES = {
    line: level for level in ("notice", "warning", "error") for line in re.findall(r"^\.It\n(.+)$", PAGE.section(level), re.M)
}  # fmt: skip
OUTCOMES = (MODULE / "Outcome.swift").read_text()


def levels():
    """The level of each outcome with a log line, read from `priority`."""
    body = OUTCOMES.partition("var priority")[2].partition("@unknown")[0]
    words = {"NOTICE": "notice", "WARNING": "warning", "ERR": "error"}
    pairs = re.findall(r"case (.+): LOG_(\w+)", body)
    return {name: words[level] for names, level in pairs if level in words for name in re.findall(r"\.(\w+)", names)}


def test_the_module_writes_each_line():
    written = " ".join(path.read_text() for path in sorted(MODULE.glob("*.swift")))
    assert len(LINES) > 25
    assert not [line for line in LINES if line not in written]


def test_each_outcome_that_is_worth_a_line_has_one():
    known = levels()
    texts = [(name, text) for name, text in re.findall(r"case \.(\w+):\s+\"([^\"]+)\"", OUTCOMES) if name in known]
    assert len(texts) > 20
    assert not [(name, text) for name, text in texts if LINES.get(text.rstrip()) != known[name]]
