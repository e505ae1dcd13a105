"""Documents and programs tell a person to type commands. In these, root touches nothing below a home, and paths are quoted.

A program of a session can put a link below the home at any moment, and a command of root would follow the link.
"""

import re

import pytest
from support.documents import DOCUMENTS, REPOSITORY, examples, name_of
from support.manual import PAGES

SOURCES = REPOSITORY / "Sources"
# Paths below a person's home, including `~alice`.
HOME = re.compile(r"(^|[\s\"'=:])~|\$\{?HOME\b|(^|[^\w/])/(home|root|run/user)/|(^|[\s/])\.(local|config|cache|ssh|gnupg)/")
# Commands that run another command as the named user. That user's links reach only files that the user can reach anyway.
AS_SOMEBODY = re.compile(r"\b(sudo|doas)( -\w+)* (-u|-iu|--user)[ =]?(?!root\b)\S+ |\brunuser (-u|-l) (?!root\b)|\bsu (- )?(?!root\b)[a-z]")
AS_ROOT = re.compile(r"(^|[\s(;|&])(sudo|doas|pkexec|run0)\s")
# A line with root's own prompt.
ROOTS_PROMPT = re.compile(r"^# (?=(chown|chmod|mv|cp|rm|ln|install|cat|tee|mkdir|sed|touch|find|tar|rsync)\b)")
# Words before a block of commands that root types without a prompt.
ROOTS_BLOCK = re.compile(r"\bas root\b|\broot (types|runs)\b", re.I)
CHANGE_FOLDER = re.compile(r"^\s*(?:sudo )?cd\s+(\S+)")
VARIABLE = re.compile(r"\$(\{\w+\}|\w+)")


def parts(line):
    """The single commands of a line, without its comment."""
    return re.split(r"&&|\|\||;|(?<![<>&|])\|(?!\|)", re.sub(r"\s+# .*$", "", line))


def of_root_below_a_home(line):
    """The commands of root in a line that touch a home."""
    commands = [part for part in parts(line) if AS_ROOT.search(part) or ROOTS_PROMPT.search(part)]
    return [part.strip() for part in commands if not AS_SOMEBODY.search(part) and HOME.search(part)]


def blocks_of(path):
    """The blocks of commands in a document or a manual page, each with the paragraph before it."""
    text = path.read_text()
    if path in PAGES:
        shown = r"((?:^\.(?:Dl|D1) .*\n)+|^\.Bd .*\n(?:(?!\.Ed).*\n)*)"
        pieces = re.split(shown, text, flags=re.M)
        return [
            (re.split(r"^\.(?:Pp|Sh|Ss|It|El|Ed).*\n", before, flags=re.M)[-1], re.sub(r"^\.(Dl|D1|Bd) ?", "", block, flags=re.M).splitlines())
            for before, block in zip(pieces[::2], pieces[1::2])
        ]
    pieces = re.split(r"((?:^    .+\n)+|^```.*\n(?:(?!```).*\n)*)", text, flags=re.M)
    return [(before.rstrip().split("\n\n")[-1], block.splitlines()) for before, block in zip(pieces[::2], pieces[1::2])]


def of_root_in_a_block(before, lines):
    """The commands of root in a block that touch a home, even through the folder in which they run."""
    is_roots = bool(ROOTS_BLOCK.search(before))
    found, is_below = [], False
    for line in lines:
        line = line.strip()
        for part in parts(line):
            part = part.strip()
            of_root = is_roots or AS_ROOT.search(part) or ROOTS_PROMPT.search(part)
            if AS_SOMEBODY.search(part):
                # If the line only switches to a user, the following lines are that user's.
                is_roots = is_roots and not re.search(r"\b(sh|bash|-i)$|\bsu \S+ \w+$", part)
            elif of_root and (is_below or HOME.search(part)):
                found.append(part)
            if folder := CHANGE_FOLDER.match(part):
                is_below = bool(HOME.search(" " + folder[1])) or is_below and not folder[1].startswith("/")
    return found


def unquoted(line):
    """The variables of a line that a shell would split or expand: variables of paths outside of quotes."""
    # The line only names a variable, or the variable belongs to another program, such as sway's modifier key.
    if not VARIABLE.search(line) or VARIABLE.fullmatch(line) or line.startswith("bindsym "):
        return []
    without = re.sub(r"'[^']*'|\"(\\.|[^\"\\])*\"|\$\(id -u\)|\$\$|^\s*\w+=\S*", "", line)
    # pam_env and systemd expand their own variables, and $1 to $9 belong to awk or sed.
    return [match[0] for match in VARIABLE.finditer(without) if not match[1].isdigit()]


def lines_of(path):
    text = path.read_text()
    if path in PAGES:
        blocks = re.findall(r"^\.Bd .*\n((?:(?!\.Ed).*\n)*)", text, re.M)
        return [line for block in blocks for line in block.splitlines()] + re.findall(r"^\.(?:Dl|D1|Ic|Ql) (.*)$", text, re.M)
    return examples(text)


@pytest.mark.parametrize("path", [*DOCUMENTS, *PAGES], ids=name_of)
def test_no_documented_command_has_root_touch_a_home(path):
    assert [one for line in lines_of(path) for one in of_root_below_a_home(line)] == []


@pytest.mark.parametrize("path", [*DOCUMENTS, *PAGES], ids=name_of)
def test_no_block_for_root_touches_a_home(path):
    assert [one for before, lines in blocks_of(path) for one in of_root_in_a_block(before, lines)] == []


@pytest.mark.parametrize("path", [path for path in [*DOCUMENTS, *PAGES] if "docs" in path.parts or path.name == "README.md"], ids=name_of)
def test_documented_commands_quote_their_variables(path):
    assert [(line, one) for line in lines_of(path) for one in unquoted(line)] == []


def test_the_rule_finds_such_commands():
    for line in (
        "sudo chown 1000 ~/.local/share/latchkey/keybag && sudo chmod 600 x", "cd / && sudo chown -R alice /home/alice/x",
        'sudo mv "$HOME/x" /tmp', "echo x | sudo tee -a ~bob/.config/x", "# chown alice /home/alice/x",
        "sudo -n rm .local/share/x",
    ):  # fmt: skip
        assert of_root_below_a_home(line), line
    for before, lines in (
        ("Then, as root\non a console:", ["cd /home/alice/.local/share", "mv latchkey new"]), ("", ["cd ~/x && sudo mv a b"]),
        ("", ["cd ~/x", "cd y", "sudo mv a b"]), ("Run as root:", ["rm ~alice/x"]),
    ):  # fmt: skip
        assert of_root_in_a_block(before, lines), lines
    for before, lines in (
        ("As root:", ["sudo -u alice -H sh", "cd ~/.local/share", "mv -nT a b"]), ("", ["cd ~/x", "cd /tmp", "sudo mv a b"]),
        ("As root:", ["cd /var/lib", "ls"]), ("", ["cd ~/x", "mv a b"]),
    ):  # fmt: skip
        assert not of_root_in_a_block(before, lines), lines
    for line in ("sudo -u bob rm -r ~bob/.local/share/latchkey", "sudo rm -r /var/lib/latchkey", "mv ~/x ~/y && sudo true"):
        assert not of_root_below_a_home(line), line
    assert unquoted("rm $HOME/x") == ["$HOME"] and unquoted('rm "$HOME/x" \'$HOME\'') == []


def texts():
    """Every text of the programs that has a command of root, with its file."""
    for path in sorted(SOURCES.rglob("*.swift")):
        source = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.M)
        for text in re.findall(r'"""\n(.*?)"""|"((?:\\.|[^"\\\n])*)"', source, re.S):
            text = next(filter(None, text), "")
            if AS_ROOT.search(" " + text.replace("'", " ")):
                yield path, " ".join(text.split())


def test_commands_of_roots_in_programs_have_no_path_of_a_person():
    found = list(texts())
    assert len(found) > 20
    for path, text in found:
        assert not of_root_below_a_home(text.replace("'", " ")), (name_of(path), text)
        for value in re.findall(r"\\\((.*?)\)", text):
            assert not re.search(r"facts\.home|folder\)|\bhome/|vault\b", value), (name_of(path), text)


def test_doctor_quotes_each_value_in_a_command():
    """The type of doctor's commands quotes the values. A line that is built elsewhere must have no value that a person chose."""
    lines = [
        (name_of(path), line.strip())
        for path in (SOURCES / "Tools/Doctor").rglob("*.swift") for line in path.read_text().splitlines()
        if "ShellCommand(line:" in line
    ]
    assert {line for _, line in lines} == {
        "static func fix(_ root: SystemRoot) -> Finding.Fix { .command(ShellCommand(line: takeOver(root))) }",
        'id, .broken, translated("masked by \\(path) for all users"), fix: .command(ShellCommand(line: machine.unmask)))',
    }  # fmt: skip
