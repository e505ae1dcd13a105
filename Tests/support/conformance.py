"""The building blocks of the table in test_keychain_conformance.py: rows, and the world that runs them.

A row is a list of calls, each with the expected status and result. All rows of a state share one session, one daemon
and one program.

Each row has its own access group, which the row's calls use by default. So a row does not see the items of other rows.
Before the rows of a state begin, the world adds the items that the rows need, while the vault is unlocked.
"""

import contextlib
import dataclasses
import itertools
import os
import pathlib
import shutil
import signal
import tempfile
import time
import typing

import pytest
from support.clients import bring_back, bring_to
from support.creation import create_vault
from support.pace import seconds
from support.peer import Peer
from support.portal import give_pinentry
from support.program import NOT_AVAILABLE, SUCCESS, Program, merged
from support.session import Session, wait_until

UNLOCKED = "unlocked"
# A locker is on the screen, so no prompt appears.
SCREEN = "behind a locker"
# No locker is on the screen, so prompts can appear.
LOCKED = "locked"
# The daemon has started, and no login has happened.
FIRST = "before the first login"
# A session whose login has no password.
NO_PASSWORD = "no password"

# MARK: the person's action at a prompt
GIVES = "gives the password"
CANCELS = "cancels"
MISTAKES = "gives a wrong one"


@dataclasses.dataclass(frozen=True)
class Kept:
    """Stands for a result that an earlier call of the row kept, or for an entry of that result."""

    name: str
    key: str | None = None

    def of(self, kept):
        return kept[self.name] if self.key is None else kept[self.name][self.key]


class Anything:
    def __eq__(self, _):
        return True

    def __hash__(self):
        return 0

    def __repr__(self):
        return "anything"


class Has:
    """Matches a dictionary with these entries, and without the keys that are None here. Also matches a list with only
    this dictionary."""

    def __init__(self, **entries):
        self.entries = entries

    def __eq__(self, other):
        return isinstance(other, dict) and all(
            other[key] == value if key in other else value is None for key, value in self.entries.items()
        )

    def __repr__(self):
        return f"has {self.entries}"


class Keys:
    """Matches a dictionary with exactly these keys."""

    def __init__(self, *keys):
        self.keys = set(keys)

    def __eq__(self, other):
        return isinstance(other, dict) and set(other) == self.keys

    def __repr__(self):
        return f"has just {sorted(self.keys)}"


ANYTHING = Anything()
NUMBERS = itertools.count(1)


@dataclasses.dataclass
class Step:
    """A call with its expected outcome, and the program that makes it."""

    call: str
    query: dict
    changes: dict | None = None
    status: int = SUCCESS
    result: object = ANYTHING
    name: str | None = None
    program: str = "main"

    def is_(self, status):
        """The expected outcome: this status without a result."""
        return dataclasses.replace(self, status=status, result=None)

    def gives(self, result):
        return dataclasses.replace(self, result=result)

    def kept(self, name):
        """Keeps the result for `Kept`."""
        return dataclasses.replace(self, name=name)

    def by(self, program):
        return dataclasses.replace(self, program=program)


def add(*parts):
    return Step("add", merged(*parts))


def copy(*parts):
    return Step("copy", merged(*parts))


def update(query, *changes):
    return Step("update", query, merged(*changes), result=None)


def delete(*parts):
    return Step("delete", merged(*parts), result=None)


@dataclasses.dataclass
class Row:
    """A row of the table: the name of the behavior, the items that it needs, the calls, and the expected number of prompts."""

    name: str
    steps: tuple
    given: tuple = ()
    person: str = CANCELS
    asked: int = 0
    state: str = UNLOCKED

    def __post_init__(self):
        self.group = f"row.{next(NUMBERS)}"


def row(name, *steps, **more):
    return Row(name, steps, **more)


def genp(svce="mail", acct="anna", **more):
    return {"class": "genp", "svce": svce, "acct": acct, **more}


def inet(srvr="example.com", acct="anna", **more):
    """A query for an internet password with every part of its primary key."""
    parts = {"ptcl": "htps", "port": 443, "path": "/inbox", "sdmn": "realm", "atyp": "form"}
    return {"class": "inet", "srvr": srvr, "acct": acct, **parts, **more}


def rows(state, *all_rows):
    return [dataclasses.replace(each, state=state) for each in all_rows]


class World:
    """A session with a daemon, a person and programs, which can be brought to the states of rows."""

    GROUPS: typing.ClassVar = {"one": "TEAM.one TEAM.shared", "two": "TEAM.two, TEAM.shared"}

    def __init__(self, stage, caller, table, state=UNLOCKED):
        self.caller = caller
        self.table = table
        self.session = Session(stage)
        if state != NO_PASSWORD:
            create_vault(self.session)
        self._answer = self.session.root / "tmp/answer"
        self._asked = self.session.root / "tmp/asked"
        self.person(CANCELS)
        give_pinentry(self.session, f"echo asked >>{self._asked}; . {self._answer}")
        self.session.run("dbus-update-activation-environment", "DISPLAY=:4711", check=True)
        # The daemon learns the display at its start.
        self.session.start_daemon()
        self.session.restart()
        self.state = state
        if state == NO_PASSWORD:
            self.session.shadow("")
            assert self.session.login_without_password().returncode == 0
        else:
            assert self.session.login().returncode == 0
        self.peer = Peer(self.session)
        self.programs = {}
        self.row = None
        self._prepared = set()
        self.kept = {}
        self._kept_by_rows = {}

    def close(self):
        for program in self.programs.values():
            program.close()
        self.peer.close()
        self.session.close()

    # MARK: the person

    def person(self, what):
        answers = {
            GIVES: f"echo D {self.session.password}; echo OK",
            CANCELS: "echo ERR 83886179 cancelled",
            MISTAKES: "echo D something else; echo OK",
        }
        self._answer.write_text(answers.get(what, f"echo D {what}; echo OK") + "\n")

    def hold(self, answer=None):
        """From now on, the person answers a prompt only after `release`, with the password or with this answer."""
        held = self._answer.with_name("held")
        held.touch()
        self._answer.write_text(
            f"while [ -e {held} ]; do sleep 0.02; done; echo D {answer or self.session.password}; echo OK\n"
        )

    def release(self):
        self._answer.with_name("held").unlink(missing_ok=True)

    def until_asked(self):
        wait_until(lambda: self.asked > self._before, "the question")

    @property
    def asked(self):
        """The number of prompts."""
        return len(self._asked.read_text().splitlines()) if self._asked.exists() else 0

    # MARK: states

    def bring_to(self, state):
        if state == self.state:
            return
        if self.state != UNLOCKED:
            self.unlock()
        if state not in (*self._prepared, UNLOCKED):
            self._prepared.add(state)
            for each in self.table:
                if each.state == state:
                    self.do(each, each.given)
        if state == FIRST:
            self.session.restart()
        elif state != UNLOCKED:
            bring_to(state, self.session, self.peer)
        self.state = state

    def unlock(self):
        if self.state == FIRST:
            assert self.session.login().returncode == 0
        else:
            bring_back(self.state, self.session, self.peer)
        self.state = UNLOCKED

    def log_in_again(self, restart):
        """Restarts the daemon in this way, and logs in."""
        restart()
        assert self.session.login().returncode == 0
        wait_until(lambda: self.session.status()["state"] == "unlocked", "the vault")

    def kill(self):
        """Kills the daemon. No new daemon starts, and no login follows."""
        self.session.stop_daemon(signal.SIGKILL)
        self.state = FIRST

    # MARK: rows

    def program(self, name):
        if name not in self.programs:
            self.programs[name] = self.start(name)
        return self.programs[name]

    def start(self, name):
        """Starts another copy of the program, with the access groups of this name."""
        groups = self.GROUPS.get(name, " ".join(dict.fromkeys(each.group for each in self.table)))
        return Program(self.session, self.caller, **({} if name == "plain" else {"LATCHKEY_ACCESS_GROUPS": groups}))

    def restart_program(self):
        self.programs.pop("main").close()

    @contextlib.contextmanager
    def copied(self, entitlements):
        """A copy of the program in another place, with a file of entitlements beside it."""
        folder = tempfile.mkdtemp(dir=self.session.root / "tmp")
        os.chmod(folder, 0o755)
        path = pathlib.Path(shutil.copy(self.caller, folder))
        path.with_name(path.name + ".entitlements").write_text(entitlements)
        program = Program(self.session, path)
        try:
            yield program
        finally:
            program.close()

    def try_out(self, row):
        self.bring_to(row.state)
        if row.state in (UNLOCKED, NO_PASSWORD):
            self.do(row, row.given)
        self._before = self.asked
        self.person(row.person)
        try:
            self.do(row, row.steps)
            asked = self.asked - self._before
        except BaseException:
            self.recover()
            raise
        finally:
            self.person(CANCELS)
            # The person may have unlocked the vault at a prompt.
            if row.state == LOCKED and self.session.status()["state"] == "unlocked":
                self.state = UNLOCKED
        assert asked == row.asked, f"the person was asked {asked} times"

    def recover(self):
        """Cleans up after a failed row, so that it does not disturb other rows."""
        for program in self.programs.values():
            program.close()
        self.programs.clear()
        self.log_in_again(self.session.start_daemon)
        self.state = UNLOCKED

    def do(self, row, steps):
        self.row = row
        self.kept = self._kept_by_rows.setdefault(row.group, {})
        for number, step in enumerate(steps, 1):
            if not isinstance(step, Step):
                step(self)
                continue
            answer = self.answer(step)
            told = f"call {number}, {step.call} {step.query} {step.changes or ''}"
            assert answer["status"] == step.status, f"{told}: {answer['status']}, not {step.status}"
            expected = self._expected(step.result)
            assert expected == answer.get("result"), f"{told}: {answer.get('result')}, not {expected}"
            if step.name:
                self.kept[step.name] = answer["result"]

    def answer(self, step):
        more = {} if step.changes is None else {"changes": self._filled(step.changes)}
        return self.program(step.program).answer(step.call, query=self.query(step), **more)

    def query(self, step):
        query = self._filled(step.query)
        if step.program == "main" and "v_PersistentRef" not in query:
            query = {"agrp": self.row.group} | query
        return query

    def _filled(self, query):
        return {key: value.of(self.kept) if isinstance(value, Kept) else value for key, value in query.items()}

    def _expected(self, result):
        if isinstance(result, Kept):
            return result.of(self.kept)
        if isinstance(result, dict):
            return self._filled(result)
        return [self._expected(each) for each in result] if isinstance(result, list) else result

    def until_later(self, name):
        """Waits until the vault's clock, which counts seconds, is later than the kept item's time."""
        wait_until(lambda: time.time() >= self.kept[name]["mdat"]["date"] + 1.1, "a second")

    def of_many(self, program, calls):
        """The statuses of these calls. Each call runs on its own thread."""
        answers = program.together(*([{"call": step.call, "query": self.query(step)}] for step in calls))
        return [answer["status"] for (answer,) in answers]


class Worlds:
    """The worlds of a table. A world is made for the first row that needs it."""

    def __init__(self, stage, caller, table):
        self._arguments = stage, caller
        self._table = table
        self._made = {}

    def of(self, row):
        kind = NO_PASSWORD if row.state == NO_PASSWORD else UNLOCKED
        if kind not in self._made:
            table = [each for each in self._table if (each.state == NO_PASSWORD) == (kind == NO_PASSWORD)]
            self._made[kind] = World(*self._arguments, table, kind)
        return self._made[kind]

    def close(self):
        for world in self._made.values():
            world.close()


def context(name, **more):
    """A step that makes an LAContext. Queries use the context through `using`."""
    return lambda world: world.program("main").context(name, **more)


def using(name):
    return {"u_AuthCtx": {"context": name}}


def invalidated(name):
    return lambda world: world.program("main").invalidate(name)


def by(name):
    """A query for the item with a kept persistent reference."""
    return {"v_PersistentRef": Kept(name)}


def seen(condition, *names):
    """A step that checks kept results."""

    def look(world):
        assert condition(*(world.kept[name] for name in names)), [world.kept[name] for name in names]

    return look


def says(status, sentence, *advice):
    """A step that checks the text of a status: Apple's sentence, and the advice after it."""

    def ask(world):
        text = world.program("main").message(status)
        assert text.startswith(sentence), text
        assert all(words in text for words in advice) and (advice or text == sentence), text

    return ask


def silent(world):
    """Makes a call while the daemon is stopped."""
    pid, begun = world.session.daemon_pid(), time.monotonic()
    os.kill(pid, signal.SIGSTOP)
    try:
        assert world.program("main").copy({"agrp": world.row.group} | genp())[0] == NOT_AVAILABLE
    finally:
        os.kill(pid, signal.SIGCONT)
    # The call ended before the bus's time limit of 25 s.
    assert time.monotonic() - begun < seconds(7)


def tried(table):
    """The fixture `worlds` and the test `test_row` for a module. The module must have the fixture `stage`, and must
    import `keychain_caller`."""

    @pytest.fixture(scope="module")
    def worlds(stage, keychain_caller):
        opened = Worlds(stage, keychain_caller, table)
        yield opened
        opened.close()

    @pytest.mark.parametrize("row", table, ids=[each.name for each in table])
    def test_row(worlds, row):
        worlds.of(row).try_out(row)

    return worlds, test_row
