"""The mdoc sources of the manual pages, and the examples of the command line in any text."""

import pathlib
import re

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / "docs/man"
PAGES = sorted(FOLDER.glob("*.[158]"))
# A call of `latchkey`, in a sentence or in a line of a script.
CALL = r"(?:^|[;|&(] *|sudo |\$ |! )latchkey((?: [^\s|;&#<>()]+)*)"


class Page:
    """One page, with the lines below each heading."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        self.sections = {}
        heading = ""
        for line in self.text.splitlines():
            if match := re.match(r"\.S[hs] (.*)", line):
                heading = match[1]
            self.sections.setdefault(heading, []).append(line)

    def section(self, heading):
        return "\n".join(self.sections.get(heading, []))

    @property
    def mentioned(self):
        """Every option in the text of the page."""
        return {option for line in self.text.splitlines() for option in options(line)}

    @property
    def examples(self):
        """The lines of the page's displays, and the code in its sentences."""
        displays = re.findall(r"^\.Bd .*\n((?:(?!\.Ed).*\n)*)", self.text, re.M)
        return [line for display in displays for line in display.splitlines()] + re.findall(r"^\.Ql (.+?)(?: [.,;])?$", self.text, re.M)


def options(line):
    """The options that a line of mdoc marks, in the form that a person types."""
    found, follows = [], False
    for token in line.replace("\\&", "").split() if line.startswith(".") else []:
        if token.lstrip(".") == "Fl":
            follows = True
        elif re.fullmatch(r"\.?[A-Z][a-z]", token):
            follows = False
        elif follows and re.fullmatch(r"-?[A-Za-z][\w-]*", token):
            found.append("-" + token)
    return found


def listed(text):
    """The options that lists in a text describe, each with the name of its value, or None without a value."""
    found = {}
    for line in re.findall(r"^(\.It .*Fl.*)$", text, re.M):
        value = re.search(r" Ar (\S+)", line)
        for option in options(line):
            found[option] = value and value[1]
    return found


def keywords(text):
    """The literal words that lists in a text describe."""
    return re.findall(r"^\.It Cm (\S+)", text, re.M)


def calls(line):
    """The words after `latchkey` in a shell line, up to the shell's own characters."""
    return [found.split() for found in re.findall(CALL, line)]
