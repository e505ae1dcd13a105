"""The outcome of each operation for each class in each state, which a client measures through the real bus.

    python3 -m support.table --stage DIR        prints the table in Markdown: `make table`
"""

import argparse
import itertools
import pathlib

from support.clients import CLASS, CLASSES
from support.peer import ITEM, Failure, Peer
from support.session import Session, wait_until

OPERATIONS = {
    "secret": "read secret",
    "metadata": "read label",
    "search": "search",
    "add": "add",
    "replace": "replace",
    "relabel": "change label",
    "change": "change class",
    "delete": "delete",
}

# The successful outcome of each operation, as the tests measure it. The table shows "yes".
DONE = {
    "secret": "read",
    "metadata": "read",
    "add": "added",
    "replace": "replaced",
    "relabel": "changed",
    "change": "changed",
    "delete": "deleted",
}

# Full error names that are not listed here appear in the table unchanged.
ERRORS = {
    "org.freedesktop.Secret.Error.IsLocked": "IsLocked",
    "org.freedesktop.Secret.Error.NoSuchObject": "NoSuchObject",
    "org.latchkey.Error.NoPasscode": "NoPasscode",
    "org.latchkey.Error.Unavailable": "Unavailable",
}


def short(failure):
    return ERRORS.get(failure.name, failure.name)


class Cell:
    """The outcomes of all operations for one class in one state."""

    def __init__(self, peer, name):
        self.peer, self.name = peer, name
        self.items = {}
        try:
            # Each operation has its own item, so that the operations do not affect each other.
            for operation in OPERATIONS:
                self.items[operation] = peer.create(operation, self.words(operation), "Label")
        except Failure as failure:
            # In this state, no item of the class can exist.
            assert short(failure) == "NoPasscode" and not self.items

    def words(self, operation):
        return {"of": self.name, "for": operation, CLASS: self.name}

    def words_found(self, operation):
        return {"of": self.name, "for": operation}

    def measure(self, peer):
        """The outcome of each operation."""
        self.peer = peer
        outcomes = {}
        for operation in OPERATIONS:
            if operation not in self.items and operation not in ("search", "add"):
                outcomes[operation] = "–"
                continue
            try:
                outcomes[operation] = getattr(self, operation)()
            except Failure as failure:
                outcomes[operation] = short(failure)
        return outcomes

    def secret(self):
        assert self.peer.read(self.items["secret"]) == b"secret"
        return "read"

    def metadata(self):
        told = self.peer.all(self.items["metadata"], ITEM)
        if (told["Label"], told["Attributes"]) == ("", {}):
            return "hidden"
        assert told["Label"] == "Label" and told["Attributes"] == {"of": self.name, "for": "metadata"}
        return "read"

    def search(self):
        found = self.peer.search(self.words_found("search"))
        return {(1, 0): "found", (0, 1): "found, locked", (0, 0): "absent"}[tuple(map(len, found))]

    def add(self):
        item = self.peer.create("added", {"of": self.name, "added": "yes", CLASS: self.name})
        try:
            assert self.peer.read(item) == b"added"
        except Failure as failure:
            return f"added, then {short(failure)}"
        return "added"

    def replace(self):
        item = self.items["replace"]
        was_there = self.peer.search(self.words_found("replace")) != ([], [])
        made = self.peer.create("replaced", self.words_found("replace"))
        assert (made == item) == was_there, "it stands beside what was to be replaced"
        assert self.peer.read(made) == b"replaced"
        return "replaced" if was_there else "added anew"

    def relabel(self):
        self.peer.set(self.items["relabel"], ITEM, "Label", "s", "Other")
        assert self.peer.get(self.items["relabel"], ITEM, "Label") == "Other"
        return "changed"

    def change(self):
        other = "when-unlocked" if self.name == "after-first-unlock" else "after-first-unlock"
        self.peer.set(self.items["change"], ITEM, "Attributes", "a{ss}", {"of": self.name, "for": "change", CLASS: other})
        assert self.items["change"] in sum(self.peer.search({CLASS: other}), [])
        return "changed"

    def delete(self):
        self.peer.call(self.items["delete"], ITEM, "Delete")
        assert self.peer.search(self.words_found("delete")) == ([], [])
        return "deleted"


# MARK: states


def sealed(session, _peer):
    session.restart()


def unlocked(_session, _peer):
    pass


def locked(session, _peer):
    session.lock()


def behind_a_locker(session, peer):
    peer.activate_screen_saver(True)
    wait_until(lambda: session.status()["locker_up"], "the locker")


def logged_out(session, _peer):
    assert session.logout().returncode == 0


def no_password(_session, _peer):
    """This state needs no step, because the login never had a password (see `begin`)."""


def password_removed(session, _peer):
    """The next login without a password notices the removal, as after `passwd -d`."""
    session.shadow("")
    assert session.login_without_password().returncode == 0


def other_device(session, _peer):
    """The home folder is on another machine, and the person has logged in there."""
    session.stop_daemon()
    (session.vault / "device.key").unlink()
    session.start_daemon()
    assert session.login().returncode == 0


STATES = {
    "sealed": sealed,
    "logged out": logged_out,
    "unlocked": unlocked,
    "locked": locked,
    "behind a locker": behind_a_locker,
    "other device": other_device,
    "no password": no_password,
    "password removed": password_removed,
}


# Separates the states in a column's heading.
BETWEEN = ", "


def begin(session, state):
    """The first login."""
    if state == "no password":
        session.shadow("")
        assert session.login_without_password().returncode == 0
    else:
        assert session.login().returncode == 0


def measure(stage, state):
    """The outcomes in that state, by class and operation. The state has its own session."""
    session = Session(stage)
    try:
        begin(session, state)
        first = Peer(session)
        cells = [Cell(first, name) for name in CLASSES]
        STATES[state](session, first)
        peer = Peer(session)
        outcomes = {cell.name: cell.measure(peer) for cell in cells}
        peer.close()
        first.close()
        return outcomes
    finally:
        session.close()


def markdown(measured):
    """The table in the form of docs/user/classes.md. Adjacent states with the same outcomes share a column.

    Operations of a class with the same outcomes share a row."""
    columns = [list(states) for _, states in itertools.groupby(measured, key=measured.get)]
    heads = [BETWEEN.join(states) for states in columns]
    lines = ["| class | operation | " + " | ".join(heads) + " |", "| --- | --- |" + " --- |" * len(heads)]
    for name in CLASSES:
        rows = {}
        for operation, text in OPERATIONS.items():
            outcomes = [measured[states[0]][name][operation] for states in columns]
            cells = tuple("yes" if outcome == DONE.get(operation) else outcome for outcome in outcomes)
            rows.setdefault(cells, []).append(text)
        for number, (cells, texts) in enumerate(rows.items()):
            shown = "" if number else f"`{name}`"
            lines.append(f"| {shown} | {', '.join(texts)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def written():
    """The table in docs/user/classes.md, by state, class and operation."""
    text = (pathlib.Path(__file__).parents[2] / "docs/user/classes.md").read_text()
    lines = text[text.index("| class | operation |") :].split("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    states, name, table = rows[0][2:], None, {}
    operations = {text: operation for operation, text in OPERATIONS.items()}
    for shown, texts, *cells in rows[2:]:
        name = shown.strip("`") or name
        for operation in (operations[text] for text in texts.split(", ")):
            for joined, cell in zip(states, cells, strict=True):
                for state in joined.split(BETWEEN):
                    outcome = DONE.get(operation, cell) if cell == "yes" else cell
                    table.setdefault(state, {}).setdefault(name, {})[operation] = outcome
    # Restores the order of OPERATIONS.
    return {
        state: {name: {operation: outcomes[operation] for operation in OPERATIONS} for name, outcomes in classes.items()}
        for state, classes in table.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stage", type=pathlib.Path, required=True)
    stage = parser.parse_args().stage
    print(markdown({state: measure(stage, state) for state in STATES}))


if __name__ == "__main__":
    main()
