"""Class rules in the real daemon. The rules choose the class of a new item by its attributes. The tests also damage the
rules file.
"""

import json
import os

import pytest
from support.rules import write_rules

GEARY = ("xdg:schema", "org.gnome.Geary", "proto", "IMAP", "host", "mail.example", "login", "me")
OTHER = ("service", "shop", "user", "me")
MINE = "- {name: mine, match: {service: shop}, class: after-first-unlock}\n"


@pytest.fixture
def opened(session):
    session.login()
    return session


def behind_lock(session, *attributes):
    """The secret that a client reads behind the locked screen. The function unlocks the session again."""
    session.lock()
    found = session.lookup(*attributes)
    session.login()
    assert session.status()["state"] == "unlocked"
    return found


def test_installed_rules_keep_what_works_behind_the_lock(opened):
    opened.store("mail", *GEARY)
    opened.store("shop", *OTHER)
    opened.lock()
    assert opened.lookup(*GEARY) == "mail"
    assert opened.lookup(*OTHER) is None
    # Behind the lock, a client can also store an item of this class.
    opened.store("new", *GEARY[:-1], "somebody")
    assert opened.lookup(*GEARY[:-1], "somebody") == "new"
    assert opened.status()["problems"] == []


def test_a_named_class_counts_more_than_any_rule(opened):
    write_rules(opened, MINE)
    opened.store("mail", *GEARY, "latchkey:accessible", "when-unlocked")
    opened.store("shop", *OTHER, "latchkey:accessible", "when-unlocked")
    opened.lock()
    assert opened.lookup(*GEARY) is None
    assert opened.lookup(*OTHER) is None


def test_the_users_file_comes_first_and_is_read_again_when_it_changes(opened):
    daemon = opened.daemon_pid()
    locked = "- {name: not behind the lock, match: {'xdg:schema': org.gnome.*}, class: when-unlocked}\n"
    write_rules(opened, locked + MINE)
    opened.store("mail", *GEARY)
    opened.store("shop", *OTHER)
    opened.lock()
    assert opened.lookup(*GEARY) is None
    assert opened.lookup(*OTHER) == "shop"
    opened.login()
    # Without rules in the user's file, the installed rules apply to new items again.
    write_rules(opened, "# nothing\n")
    second = (*GEARY[:-1], "second")
    opened.store("mail", *second)
    assert behind_lock(opened, *second) == "mail"
    assert behind_lock(opened, *GEARY) is None
    assert opened.daemon_pid() == daemon


def test_a_replaced_item_keeps_its_class_and_new_attributes_change_none(opened):
    opened.store("first", *OTHER)
    write_rules(opened, MINE)
    opened.store("second", *OTHER)
    assert opened.lookup(*OTHER) == "second"
    assert behind_lock(opened, *OTHER) is None
    script = """
import secretstorage
bus = secretstorage.dbus_init()
[item] = secretstorage.get_default_collection(bus).search_items({"user": "me"})
item.set_attributes({"service": "shop", "user": "other"})
"""
    opened.run("/usr/bin/python3", "-c", script, check=True)
    assert opened.lookup("service", "shop", "user", "other") == "second"
    assert behind_lock(opened, "service", "shop", "user", "other") is None


def test_the_session_collection_has_no_classes(opened):
    write_rules(opened, "- {name: all, match: {service: '*'}, class: when-passcode-set-this-device-only}\n")
    session_store = ("--collection=session", *OTHER)
    opened.lock()
    # The vault would refuse to store this item now, but the memory collection takes it.
    assert opened.store("shop", *OTHER, check=False).returncode != 0
    opened.store("shop", *session_store)
    assert opened.lookup(*OTHER) == "shop"


def test_a_damaged_file_takes_no_rule_away(opened):
    path = write_rules(opened, MINE)
    opened.store("shop", *OTHER)
    write_rules(opened, "- name: mine\n  match: {service: shop}\n  class: sometimes\n")
    second = ("service", "shop", "user", "second")
    opened.store("shop", *second)
    opened.store("mail", *GEARY)
    opened.lock()
    assert opened.lookup(*second) == "shop", "the rules that were read before"
    assert opened.lookup(*GEARY) == "mail", "the installed rules"
    [problem] = opened.status()["problems"]
    assert problem.startswith(f"{path}:3: unknown class 'sometimes'") and "stay in force" in problem
    assert opened.log().count(f"{path}:3:") == 1
    # The new daemon has never read valid rules.
    opened.restart()
    opened.login()
    third = ("service", "shop", "user", "third")
    opened.store("shop", *third)
    opened.store("mail", *GEARY[:-1], "third")
    [problem] = opened.status()["problems"]
    assert problem.startswith(f"{path}:3:") and "no rule of this file is in force" in problem
    opened.lock()
    assert opened.lookup(*third) is None
    assert opened.lookup(*GEARY[:-1], "third") == "mail"
    write_rules(opened, MINE)
    assert opened.status()["problems"] == []


@pytest.mark.parametrize("kind", ["writable", "link", "pipe"])
def test_what_another_could_have_written_is_not_believed(opened, kind):
    path = write_rules(opened, MINE)
    if kind == "writable":
        path.chmod(0o646)
    else:
        path.rename(path.with_name("elsewhere"))
        path.symlink_to("elsewhere") if kind == "link" else os.mkfifo(path)
        os.chown(path, opened.uid, opened.gid, follow_symlinks=False)
    opened.store("shop", *OTHER)
    [problem] = opened.status()["problems"]
    assert problem.startswith(f"{path}: ")
    assert behind_lock(opened, *OTHER) is None


def test_the_command_agrees_with_the_daemon(opened):
    path = write_rules(opened, "\n" + MINE)

    def ask(attribute):
        return json.loads(opened.run("latchkey", "rules", "test", "--json", attribute, check=True).stdout)

    mine = {"reason": "rule", "rule": "mine", "file": str(path), "line": 2}
    assert ask("service=shop") == {"class": "after-first-unlock", **mine}
    answer = ask("xdg:schema=org.gnome.Geary")
    # The command finds the installed rules relative to its own path.
    stage = opened.environment["LATCHKEY_STAGE"]
    assert answer["class"] == "after-first-unlock" and answer["file"] == f"{stage}/usr/share/latchkey/rules.yaml"
    checked = opened.run("latchkey", "rules", "check", check=True).stdout
    assert checked == f"{path}: 1 rule\n{stage}/usr/share/latchkey/rules.yaml: 14 rules\n"
