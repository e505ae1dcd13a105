"""The handbook shows the output of commands. In a test session, the commands print the same text."""

import re
import subprocess

import pytest
from support.pace import seconds
from support.session import REPOSITORY

PAGE = (REPOSITORY / "docs/user/command-line.md").read_text()
TEXT = PAGE.partition("## What the commands print")[2].partition("\n## ")[0]
# These lines differ on a machine with logind and the device key service.
ELSEWHERE = ("Device key", "Lock reports from")


def samples():
    """Each command of the examples, with its output."""
    found = []
    for line in re.findall(r"^    (.*)", TEXT, re.M):
        if line.startswith("$ latchkey"):
            # The test captures the output, so a pipe in the example makes no difference.
            found.append((line[2:].partition(" | ")[0].split(), []))
        else:
            found[-1][1].append(line)
    return found


def shape(line):
    """A line without the parts that differ between runs."""
    line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", line)
    line = re.sub(r" +\d+ [KM]iB$", " SIZE", line)
    line = re.sub(r"/\S+?/\.(local|config)/", r"HOME/.\1/", line)
    return next((name for name in ELSEWHERE if line.startswith(name)), line)


def test_the_commands_print_what_the_handbook_shows(unlocked):
    unlocked.store("x", "service", "mail", "user", "me", label="Mail")
    unlocked.store("y", "service", "sync", "latchkey:accessible", "after-first-unlock", label="Sync")
    shown = samples()
    assert {command[1] for command, _ in shown} == {"status", "lock", "find", "get", "history", "rm"}
    for command, lines in shown:
        if command[1:] == ["history", "make"]:
            assert unlocked.locker().returncode == 0
        done = unlocked.run(*command)
        printed = (done.stdout + done.stderr).splitlines()
        assert [shape(line) for line in printed] == [shape(line) for line in lines], command


def test_the_script_waits_until_the_vault_is_unlocked(session):
    (loop,) = re.findall(r"^    (until latchkey status .*)", PAGE, re.M)
    with session.start("sh", "-c", loop) as waiting:
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                waiting.wait(timeout=3)
            assert session.login().returncode == 0
            assert waiting.wait(timeout=seconds(20)) == 0
        finally:
            waiting.kill()
