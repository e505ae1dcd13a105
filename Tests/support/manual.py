"""The manual pages as their mdoc sources have them, and examples of the command line wherever they stand."""

import pathlib
import re

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / "docs/man"
PAGES = sorted(FOLDER.glob("*.[158]"))
# A call of the command line, in a sentence or in a line of a script.
CALL = r"(?:^|[;|&(] *|sudo |\$ |! )latchkey((?: [^\s|;&#<>()]+)*)"


class Page:
    """One page: the lines below each heading."""

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
        """Every option anywhere in the page."""
        return {option for line in self.text.splitlines() for option in options(line)}

    @property
    def examples(self):
        """Lines of its displays, and what a sentence quotes."""
        displays = re.findall(r"^\.Bd .*\n((?:(?!\.Ed).*\n)*)", self.text, re.M)
        return [line for display in displays for line in display.splitlines()] + re.findall(r"^\.Ql (.+?)(?: [.,;])?$", self.text, re.M)


def options(line):
    """The options that a line of mdoc marks, as they are typed."""
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
    """The options that a text describes in lists, each with the name of its value; None for one that has none."""
    found = {}
    for line in re.findall(r"^(\.It .*Fl.*)$", text, re.M):
        value = re.search(r" Ar (\S+)", line)
        for option in options(line):
            found[option] = value and value[1]
    return found


def keywords(text):
    """The words that a text has to be typed as they are, and that it describes in lists."""
    return re.findall(r"^\.It Cm (\S+)", text, re.M)


def calls(line):
    """The words behind `latchkey` in a line of a shell, up to what the shell does with them."""
    return [found.split() for found in re.findall(CALL, line)]
