"""The repository's documents, their examples, and the commands of `latchkey` as its sources declare them."""

import pathlib
import re

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
README = REPOSITORY / "README.md"
# The list leaves out fetched and built files, which are in .build or in a build folder of another package. The search
# does not even enter .build, because a root file system in the making has /proc there.
DOCUMENTS = sorted(
    path for top in REPOSITORY.iterdir() if not top.name.startswith(".") for path in ([top] if top.is_file() else top.rglob("*"))
    if path.suffix == ".md" and not any(part.startswith(".") for part in path.relative_to(REPOSITORY).parts)
)
HANDBOOK = [path for path in DOCUMENTS if path.is_relative_to(REPOSITORY / "docs")]
COMMANDS = REPOSITORY / "Sources/Programs/latchkey"


def name_of(path):
    return str(path.relative_to(REPOSITORY))


def examples(text):
    """The lines of a document's examples, and the code in its sentences. The code of a sentence may continue in the
    next line."""
    fenced = re.findall(r"^ *```.*\n((?:(?! *```).*\n)*)", text, re.M)
    return (
        [line for block in fenced for line in block.splitlines()]
        + re.findall(r"^    (.+)$", text, re.M)
        + [" ".join(quoted.split()) for quoted in re.findall(r"`([^`]+)`", re.sub(r"^ *```.*|^    .*", "", text, flags=re.M))]
    )


def command_paths():
    """Every command by its words. The command `latchkey` itself is ()."""
    found = {}
    for path in sorted(COMMANDS.glob("**/*.swift")):
        parts = re.split(r"^ *struct (\w+): [^{]*\bParsableCommand\b[^{]*\{", path.read_text(), flags=re.M)
        for name, text in zip(parts[1::2], parts[2::2]):
            named = re.search(r'commandName: "([\w-]+)"', text)
            below = re.search(r"subcommands: \[([^]]*)\]", text)
            word = named[1] if named else re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
            found[path, name] = (word, re.findall(r"(\w+)\.self", below[1]) if below else [])

    def walk(key, path):
        yield path
        for name in found[key][1]:
            child = (key[0], name) if (key[0], name) in found else next(other for other in found if other[1] == name)
            yield from walk(child, (*path, found[child][0]))

    (root,) = [key for key, (word, _) in found.items() if word == "latchkey"]
    return set(walk(root, ()))
