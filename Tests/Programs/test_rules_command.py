"""latchkey rules: an item's class by the rules, and errors in the files, without a daemon."""

import json
import subprocess

import pytest
from support.derive import ENVIRONMENT, IS_ROOT, PERSON
from support.pace import seconds

DONE, FAILED, USAGE = 0, 1, 64
SHIPPED = "# one\n- name: background\n  match: {service: 'sync*'}\n  class: after-first-unlock\n"
CLASSES = "when-unlocked, after-first-unlock, always"


@pytest.fixture
def rules(login, programs):
    """Runs the command with a home folder and installed rules of the test."""
    shipped = login.folder / "shipped.yaml"
    shipped.write_text(SHIPPED)
    user = login.home / ".config/latchkey/rules.yaml"
    user.parent.mkdir(parents=True)
    user.parent.chmod(0o755)
    user.parent.parent.chmod(0o755)

    def run(command, *arguments, mine=None, installed=shipped):
        if mine is not None:
            login.write(user, mine.encode())
        identity = dict(user=PERSON.pw_uid, group=PERSON.pw_gid, extra_groups=[]) if IS_ROOT else {}
        places = ["--home", login.home, "--shipped", installed]
        return subprocess.run([programs / "latchkey", "rules", command, *places, *arguments], env=ENVIRONMENT, cwd="/",
                              text=True, capture_output=True, timeout=seconds(20), **identity)

    run.user, run.shipped = user, shipped
    return run


def test_the_rule_that_fits_is_named(rules):
    done = rules("test", "service=sync-me", "user=me")
    assert (done.returncode, done.stderr) == (DONE, "")
    assert done.stdout == f"after-first-unlock\n{rules.shipped}:2: background\n"
    mine = "- name: mine, first\n  match: {service: '*', user: me}\n  class: always\n"
    done = rules("test", "service=sync-me", "user=me", mine=mine)
    assert done.stdout == f"always\n{rules.user}:1: mine, first\n"
    assert rules("test", "service=sync-me").stdout.startswith("after-first-unlock\n")


def test_no_rule_and_a_named_class(rules):
    done = rules("test", "service=mail")
    assert (done.returncode, done.stdout) == (DONE, "when-unlocked\nNo rule fits, so this is the default class.\n")
    done = rules("test", "service=sync", "latchkey:accessible=when-unlocked-this-device-only")
    assert done.stdout == "when-unlocked-this-device-only\nThe attribute latchkey:accessible names the class.\n"


def test_json(rules):
    def answer(*attributes):
        return json.loads(rules("test", "--json", *attributes).stdout)

    rule = {"reason": "rule", "rule": "background", "file": str(rules.shipped), "line": 2}
    assert answer("service=sync=2") == {"class": "after-first-unlock", **rule}
    assert answer("service=") == {"class": "when-unlocked", "reason": "default"}
    assert answer("latchkey:accessible=always") == {"class": "always", "reason": "attribute"}


@pytest.mark.parametrize("attributes", [
    (), ("service",), ("a=1", "a=2"), ("latchkey:accessible=sometimes",), ("latchkey:other=1",),
])  # fmt: skip
def test_wrong_usage(rules, attributes):
    done = rules("test", *attributes)
    assert (done.returncode, done.stdout) == (USAGE, "")


@pytest.mark.parametrize("command", [("test", "service=sync"), ("check",)])
def test_errors_name_file_and_line(rules, command):
    done = rules(*command, mine="- name: mine\n  match: {a: b}\n  class: sometimes\n")
    assert done.returncode == FAILED
    assert f"{rules.user}:3: unknown class 'sometimes'; the classes are {CLASSES}" in done.stderr
    assert "Correct the file" in done.stderr
    assert "after-first-unlock\n" not in done.stdout
    # The command reads both files.
    rules.shipped.write_text("- name: [\n")
    done = rules(*command)
    assert f"{rules.user}:3:" in done.stderr and f"{rules.shipped}:2:" in done.stderr


def test_check(rules):
    done = rules("check")
    assert (done.returncode, done.stderr) == (DONE, "")
    assert done.stdout == f"{rules.user}: does not exist, and is optional\n{rules.shipped}: 1 rule\n"
    done = rules("check", mine="- {name: a, match: {a: b}, class: always}\n")
    assert done.stdout.splitlines()[:2] == [
        f"{rules.user}: 1 rule", f"{rules.user}:1: the class always needs no password, and is deprecated"]

    done = rules("check", mine="- {name: a, match: {'*': '*'}, class: after-first-unlock}\n")
    assert done.stdout.splitlines()[1] == f"{rules.user}:1: the name '*' is literal: * and ? are patterns in values only"


def test_installed_rules_that_are_missing(rules):
    done = rules("check", installed=rules.shipped.with_name("none"))
    assert done.returncode == FAILED and "install Latchkey again" in done.stderr


def test_names_do_not_command_the_terminal(rules):
    done = rules("test", "a=b", mine='- {name: "x\\e]0;y\\a", match: {a: b}, class: always}\n')
    assert done.stdout == f"always\n{rules.user}:1: x?]0;y?\n"
