"""The SecItem functions in real programs with the real daemon, beside clients of the Secret Service."""

import os
import plistlib
import re
import shutil
import signal
import subprocess

import pytest
from support.clients import bring_back, bring_to
from support.pace import seconds
from support.peer import Peer
from support.program import (
    ALL,
    ATTRIBUTES,
    AUTH_FAILED,
    CANCELED,
    DATA,
    DUPLICATE,
    FAIL,
    IO,
    MISSING_ENTITLEMENT,
    NOT_ALLOWED,
    NOT_AVAILABLE,
    NOT_FOUND,
    REFERENCE,  # noqa: F401
    SKIP,
    SUCCESS,
    Program,
    data,
    generic,
    internet,
    keychain_caller,
    merged,
    octets,
    secret,
)
from support.session import wait_until

PRESENCE = 1
PASSPHRASE = 1 << 31
BEHIND = "behind a locker"


@pytest.fixture
def program(session, keychain_caller):  # noqa: F811
    """A SecItem program of a person who has logged in."""
    assert session.login().returncode == 0
    opened = Program(session, keychain_caller)
    yield opened
    opened.close()


@pytest.fixture
def another(session, keychain_caller):  # noqa: F811
    """Starts more programs, with additional environment variables."""
    opened = []

    def start(**environment):
        opened.append(Program(session, keychain_caller, **environment))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def answer_prompts(session, answer):
    """From now on, this answer goes to every prompt for a password on the display. The result tells how many prompts
    there were."""
    asked = session.root / "tmp/asked"
    give_pinentry(session, f"echo asked >>{asked}; {answer}", f"{session.root}/tmp/read")
    session.run("dbus-update-activation-environment", "DISPLAY=:4711", check=True)
    session.restart()
    assert session.login().returncode == 0
    return lambda: len(asked.read_text().splitlines()) if asked.exists() else 0


def give_pinentry(session, answer, log):
    """Installs a pinentry that gives this answer to every prompt for a password, and logs the texts."""
    pinentry = session.root / "bin/pinentry"
    pinentry.write_text(
        f"#!/bin/sh\necho OK\nwhile read -r what; do echo \"$what\" >>{log}\n"
        f"case $what in GETPIN*) {answer};; *) echo OK;; esac; done\n"
    )
    pinentry.chmod(0o755)


DISMISS = "echo ERR 83886179 cancelled"


def give_password(session):
    return f"echo D {session.password}; echo OK"


def guarded(flags, accessible="ak"):
    return {"accc": {"control": accessible, "flags": flags}}


# MARK: items


@pytest.mark.parametrize("query", [generic(), internet()], ids=["genp", "inet"])
def test_a_password_is_added_found_changed_and_deleted(program, query):
    assert program.copy(query) == (NOT_FOUND, None)
    assert program.update(query, {"labl": "x"}) == NOT_FOUND
    assert program.delete(query) == NOT_FOUND
    assert program.add(query, secret(b"the secret")) == (SUCCESS, None)
    assert program.read(query) == b"the secret"
    status, found = program.copy(query, ATTRIBUTES, DATA)
    assert status == SUCCESS
    assert found.items() >= {**query, "agrp": "keychain-caller", "sync": 0, "pdmn": "ak"}.items()
    assert octets(found["v_Data"]) == b"the secret" and "labl" not in found and found["cdat"] == found["mdat"]
    assert program.update(query, {"labl": "Mail", **secret(b"another\0")}) == SUCCESS
    assert program.read(query, {"labl": "Mail"}) == b"another\0"
    assert program.update(query, {"acct": "bea"}) == SUCCESS
    assert program.copy(query) == (NOT_FOUND, None)
    assert program.delete(query, {"acct": "bea"}) == SUCCESS
    assert program.copy(query, {"acct": "bea"}) == (NOT_FOUND, None)


def test_many_items_are_one_call(session, program):
    """Each call crosses the bus, and each change waits for the disk. So one call must serve any number of items."""
    for number in range(20):
        assert program.add(generic(account=str(number)), secret(b"x"))[0] == SUCCESS
    every, heard = {"class": "genp", "svce": "mail"}, session.root / "heard"
    with open(heard, "wb") as out:
        monitor = session.start(
            "dbus-monitor", "--session", "type='method_call',interface='org.latchkey.Keychain'",
            stdin=subprocess.DEVNULL, stdout=out, stderr=out)  # fmt: skip
    wait_until(lambda: "NameLost" in heard.read_text() or "NameAcquired" in heard.read_text(), "dbus-monitor")
    assert program.update(every, {"labl": "L", **secret(b"y")}) == SUCCESS
    assert program.copy(every, ALL, DATA)[1] == [data(b"y")] * 20
    assert program.delete(every) == SUCCESS
    assert program.copy(every) == (NOT_FOUND, None)
    expected = ["Find", "Update", "Find", "Find", "Delete", "Find"]
    calls = lambda: re.findall("interface=org.latchkey.Keychain; member=([A-Z][a-z]+)", heard.read_text())
    wait_until(lambda: len(calls()) >= len(expected), "the last call")
    monitor.terminate()
    monitor.wait(seconds(10))
    assert calls() == expected


@pytest.mark.parametrize("query", [generic(), internet()], ids=["genp", "inet"])
def test_the_same_key_is_a_duplicate(program, query):
    assert program.add(query, secret(b"one"))[0] == SUCCESS
    assert program.add(query, secret(b"two"), {"labl": "x", "pdmn": "ck"})[0] == DUPLICATE
    assert program.add(query, {"acct": data(b"anna")})[0] == DUPLICATE
    assert program.add(query, {"acct": "bea"}, secret(b"two"))[0] == SUCCESS
    assert program.add(query, {"sync": True}, secret(b"three"))[0] == SUCCESS
    assert program.update(merged(query, {"acct": "bea"}), {"acct": "anna"}) == DUPLICATE
    # An update is also a duplicate if it would make two of its own items equal.
    assert program.add(query, {"acct": "cleo"})[0] == SUCCESS
    group = {"class": query["class"]}
    assert program.update(group, {"acct": "dora"}) == DUPLICATE
    status, found = program.copy(group, ALL, ATTRIBUTES)
    assert status == SUCCESS and [item["acct"] for item in found] == ["cleo", "bea", "anna"]
    assert program.read(query) == b"one" and program.read(query, {"sync": True}) == b"three"


def test_values_come_back_in_their_types(program):
    values = {"acct": data(b"\xff\0"), "gena": data(b"text"), "icmt": "Ä\0", "crtr": 7, "invi": True, "labl": data(b"L")}
    assert program.add({"class": "genp", "svce": "mail"}, values)[0] == SUCCESS
    status, found = program.copy({"class": "genp"}, values, ATTRIBUTES, DATA)
    assert status == SUCCESS and found.items() >= (values | {"invi": 1}).items()
    assert octets(found["v_Data"]) == b""


def test_an_item_tells_itself_when_it_is_added(program):
    status, added = program.add(generic(), secret(b"x"), ATTRIBUTES, DATA, REFERENCE)
    assert status == SUCCESS and octets(added["v_Data"]) == b"x" and "cdat" in added
    assert program.copy(generic(), ATTRIBUTES, DATA, REFERENCE) == (SUCCESS, added)


# MARK: items of other programs


def test_secret_tool_finds_what_was_added(session, program):
    assert program.add(internet(), {"path": "/inbox", "sdmn": "realm"}, secret(b"the secret"))[0] == SUCCESS
    words = ["server", "example.com", "user", "anna", "protocol", "https", "port", "443", "object", "/inbox"]
    words += ["domain", "realm", "xdg:schema", "org.gnome.keyring.NetworkPassword"]
    assert session.lookup(*words) == "the secret"
    assert program.add(generic(), secret(b"another"))[0] == SUCCESS
    assert session.lookup("service", "mail", "account", "anna") == "another"


def test_what_secret_tool_stored_is_found(session, program):
    session.store("the secret", "server", "example.com", "user", "anna", "protocol", "https", "port", "443", label="Site")
    session.store("another", "service", "mail", "account", "anna", "folder", "inbox")
    assert program.read(internet()) == b"the secret"
    assert program.read(generic()) == b"another"
    status, found = program.copy(internet(), ATTRIBUTES, REFERENCE)
    assert status == SUCCESS
    assert found.items() >= {**internet(), "labl": "Site", "agrp": "keychain-caller", "sync": 0}.items()
    assert program.read({"v_PersistentRef": found["v_PersistentRef"]}) == b"the secret"
    # Items of other programs have no primary key, so they cannot be duplicates.
    assert program.add(generic(), secret(b"mine"))[0] == SUCCESS
    status, found = program.copy({"class": "genp", "svce": "mail"}, ALL, DATA)
    assert status == SUCCESS and sorted(map(octets, found)) == [b"another", b"mine"]
    # A query finds the other programs' items only if it names the service.
    assert program.copy({"class": "genp", "acct": "anna"}, ALL, DATA) == (SUCCESS, [data(b"mine")])
    assert program.delete({"class": "genp"}) == SUCCESS
    assert program.delete({"class": "inet"}) == NOT_FOUND
    assert session.lookup("service", "mail") == "another"
    # A change keeps the attributes that only other programs use.
    assert program.update(generic(), secret(b"changed") | {"acct": "bea"}) == SUCCESS
    assert session.lookup("service", "mail", "account", "bea", "folder", "inbox") == "changed"
    assert program.delete({"class": "genp", "svce": "mail"}) == SUCCESS
    assert session.lookup("service", "mail") is None


# MARK: time


def test_a_persistent_reference_outlasts_restarts(session, program, another):
    status, reference = program.add(generic(), secret(b"the secret"), REFERENCE)
    assert status == SUCCESS and octets(reference).startswith(b"genp")
    assert program.update(generic(), {"acct": "bea"}) == SUCCESS
    session.restart()
    assert session.login().returncode == 0
    for one in (program, another()):
        assert one.read({"v_PersistentRef": reference}) == b"the secret"
        assert one.copy({"v_PersistentRef": reference}, ATTRIBUTES)[1]["acct"] == "bea"
    assert program.delete({"v_PersistentRef": reference}) == SUCCESS
    assert program.copy({"v_PersistentRef": reference}) == (NOT_FOUND, None)
    assert program.copy({"v_PersistentRef": data(b"genp of another vault")}) == (NOT_FOUND, None)


def test_a_daemon_that_was_started_again(session, program):
    """The daemon restarts between calls. Calls of each kind find the new daemon."""
    calls = [
        lambda: program.add(generic(), secret(b"x"))[0],
        lambda: program.copy(generic(), DATA)[0],
        lambda: program.update(generic(), {"acct": "bea"}),
        lambda: program.delete(generic(account="bea")),
    ]
    assert program.copy(generic()) == (NOT_FOUND, None)
    for call in calls:
        session.restart()
        assert session.login().returncode == 0
        assert call() == SUCCESS
    session.stop_daemon()
    # The bus starts the daemon.
    assert program.copy(generic(), FAIL) == (NOT_FOUND, None)


def test_a_daemon_that_dies_before_it_answers(session, program):
    assert program.add(generic(), secret(b"x"))[0] == SUCCESS
    # An add of this class needs no look at existing items.
    always = generic(account="bea", pdmn="dk")
    for call, query, status in (("copy", generic(), NOT_ALLOWED), ("add", always, IO)):
        assert session.login().returncode == 0
        assert program.copy(generic())[0] == SUCCESS
        process = session.daemon_pid()
        os.kill(process, signal.SIGSTOP)
        program.begin(call, query=query | FAIL)
        assert program.is_waiting(0.2)
        os.kill(process, signal.SIGKILL)
        # A read goes to the next daemon, in which nobody has logged in. A write reports that its result is unknown.
        assert program.end()["status"] == status
        session.start_daemon()


@pytest.mark.parametrize("state", ["locked", "sealed", BEHIND])
def test_locked_is_told_from_absent(session, program, state):
    assert program.add(generic(), secret(b"x"))[0] == SUCCESS
    assert program.add(generic(account="early"), secret(b"y"), {"pdmn": "ck"})[0] == SUCCESS
    peer = Peer(session)
    bring_to(state, session, peer)
    # Behind a locker no prompt appears, even if the program allows one. Without a display no prompt can appear.
    silent = {} if state == BEHIND else FAIL
    assert program.copy(generic(), DATA) == (NOT_ALLOWED, None)
    for wanted in ({}, DATA, ATTRIBUTES, ALL, DATA | ALL):
        assert program.copy(generic(), wanted, silent) == (NOT_ALLOWED, None)
    assert program.copy({"class": "genp"}, ALL, silent) == (NOT_ALLOWED, None)
    assert program.copy(generic(), SKIP) == (NOT_ALLOWED, None)
    assert program.update(generic() | silent, {"labl": "x"}) == NOT_ALLOWED
    assert program.add(generic(account="new"), secret(b"z"), silent)[0] == NOT_ALLOWED
    for absent in (generic(account="nobody"), generic(service="none"), internet(), generic(sync=True)):
        assert program.copy(absent, DATA, silent) == (NOT_FOUND, None)
    if state != "sealed":
        assert program.read(generic(account="early"), silent) == b"y"
        assert program.add(generic(account="late"), {"pdmn": "ck"}, silent)[0] == SUCCESS
    # A locked item that requires no person can still be deleted.
    assert program.delete(generic(), silent) == SUCCESS
    bring_back(state, session, peer)
    assert program.copy(generic()) == (NOT_FOUND, None)
    assert program.read(generic(account="early")) == b"y"
    peer.close()


def test_locked_items_of_others_are_not_found_in_a_group_that_is_not_theirs(session, program, another):
    """Before the first login, the vault cannot read attributes. The vault can only tell by which attributes a search
    finds an item."""
    stranger = another(LATCHKEY_ACCESS_GROUPS="TEAM.other")
    assert stranger.add(generic(), secret(b"x"))[0] == SUCCESS
    session.store("y", "service", "sync", "account", "anna")
    assert session.logout().returncode == 0
    assert program.copy(generic(), FAIL) == (NOT_FOUND, None)
    assert stranger.copy(generic(), FAIL) == (NOT_ALLOWED, None)
    assert program.copy(generic("sync"), FAIL) == (NOT_ALLOWED, None)
    assert program.delete(merged({"class": "genp", "svce": "sync"}, FAIL)) == NOT_ALLOWED


# MARK: the person


def test_a_prompt_opens_the_vault(session, program):
    asked = answer_prompts(session, give_password(session))
    assert program.add(generic(), secret(b"x"))[0] == SUCCESS
    session.lock()
    assert program.copy(generic(), DATA, FAIL) == (NOT_ALLOWED, None) and asked() == 0
    assert program.read(generic()) == b"x" and asked() == 1
    session.lock()
    assert program.update(generic(), secret(b"y")) == SUCCESS and asked() == 2
    assert program.read(generic()) == b"y" and asked() == 2
    # A new item needs the unlock too, even if only its collection is locked.
    session.lock()
    assert program.add(generic(account="bea"), secret(b"x"), FAIL)[0] == NOT_ALLOWED
    assert program.add(generic(account="bea"), secret(b"x"))[0] == SUCCESS and asked() == 3
    peer = Peer(session)
    bring_to("collection locked", session, peer)
    peer.close()
    assert program.add(generic(account="cleo", pdmn="ck"), secret(b"x"), FAIL)[0] == NOT_ALLOWED
    assert program.add(generic(account="cleo", pdmn="ck"), secret(b"x"))[0] == SUCCESS and asked() == 4


def test_a_prompt_that_is_dismissed(session, program):
    asked = answer_prompts(session, DISMISS)
    assert program.add(generic(), secret(b"x"))[0] == SUCCESS
    session.lock()
    assert program.copy(generic(), DATA) == (CANCELED, None) and asked() == 1


def test_a_deletion_asks_if_the_vault_cannot_read_what_matches(session, program):
    """Before the first login, the vault knows only by which attributes it found an item. So the vault cannot check the
    rest of the query."""
    asked = answer_prompts(session, give_password(session))
    assert program.add(generic(), {"labl": "mine"}, secret(b"x"))[0] == SUCCESS
    assert session.logout().returncode == 0
    assert program.delete(merged(generic(), {"labl": "mine"}, FAIL)) == NOT_ALLOWED and asked() == 0
    assert program.delete(merged(generic(), {"labl": "mine"})) == SUCCESS and asked() == 1
    assert program.copy(generic()) == (NOT_FOUND, None)


def test_an_item_that_asks_for_the_person(session, program):
    asked = answer_prompts(session, give_password(session))
    assert program.add(generic(), secret(b"x"), guarded(PRESENCE))[0] == SUCCESS
    assert program.add(generic(account="bea"), secret(b"y"))[0] == SUCCESS
    assert program.copy(generic(), ATTRIBUTES)[0] == SUCCESS
    assert program.copy(generic(), DATA, FAIL) == (NOT_ALLOWED, None)
    assert program.copy(generic(), DATA, SKIP) == (NOT_FOUND, None)
    assert program.copy({"class": "genp"}, SKIP, ALL, DATA) == (SUCCESS, [data(b"y")])
    assert program.copy({"class": "genp"}, SKIP, DATA) == (SUCCESS, data(b"y"))
    assert program.update(generic() | FAIL, secret(b"z")) == NOT_ALLOWED
    assert asked() == 0
    # Each read asks again.
    assert program.read(generic()) == b"x" and program.read(generic()) == b"x" and asked() == 2
    assert program.update(generic(), secret(b"z")) == SUCCESS and asked() == 3
    assert program.read(generic()) == b"z"
    assert program.delete(generic() | FAIL) == SUCCESS


def test_a_new_secret_is_not_there_before_what_it_asks_for(session, program):
    asked = answer_prompts(session, DISMISS)
    assert program.add(generic(), secret(b"for all"))[0] == SUCCESS
    assert program.update(generic(), secret(b"for the person") | guarded(PRESENCE)) == CANCELED and asked() == 1
    assert program.copy(generic(), DATA, FAIL) == (NOT_ALLOWED, None)
    # The secret is still the old one, and now requires the person.
    answer_prompts(session, give_password(session))
    assert program.read(generic()) == b"for all"
    assert program.update(generic(), secret(b"for the person")) == SUCCESS
    assert program.read(generic()) == b"for the person"


def test_one_answer_for_a_context_that_reads_again(session, program, another):
    asked = answer_prompts(session, give_password(session))
    assert program.add(generic(), secret(b"x"), guarded(PRESENCE))[0] == SUCCESS
    context = program.context("c", reuse=60)
    before = program.descriptors()
    assert program.read(generic(), context) == b"x" and program.read(generic(), context) == b"x" and asked() == 1
    assert program.descriptors() > before
    # The answer does not serve other calls or other programs.
    assert program.copy(generic(), DATA, FAIL) == (NOT_ALLOWED, None)
    assert another().copy(generic(), DATA, FAIL) == (NOT_ALLOWED, None)
    program.invalidate("c")
    assert program.descriptors() == before
    assert program.copy(generic(), DATA, context) == (AUTH_FAILED, None)
    once = program.context("once")
    assert program.read(generic(), once) == b"x" and program.read(generic(), once) == b"x" and asked() == 3


def test_an_answer_for_reading_again_is_for_one_item_and_ends_at_a_lock(session, program):
    asked = answer_prompts(session, give_password(session))
    for account in ("anna", "bea"):
        assert program.add(generic(account=account), secret(account.encode()), guarded(PRESENCE))[0] == SUCCESS
    context = program.context("c", reuse=300)
    assert program.read(generic(), context) == b"anna" and asked() == 1
    assert program.read(generic(account="bea"), context) == b"bea" and asked() == 2
    assert program.read(generic(), context) == b"anna" and program.read(generic(account="bea"), context) == b"bea"
    assert asked() == 2
    assert program.update(merged(generic(), context), secret(b"another")) == SUCCESS and asked() == 3
    session.lock()
    assert session.locker().returncode == 0
    assert program.read(generic(account="bea"), context) == b"bea" and asked() == 4


def test_a_context_that_forbids_to_ask(session, program):
    asked = answer_prompts(session, give_password(session))
    passphrase = program.context("right", passphrase=data(b"sesame")["data"])
    assert program.add(generic(account="sealed"), secret(b"x"), guarded(PASSPHRASE), passphrase)[0] == SUCCESS
    assert program.add(generic(), secret(b"x"), guarded(PRESENCE))[0] == SUCCESS
    silent = program.context("silent", silent=True)
    knowing = program.context("knowing", silent=True, passphrase=data(b"sesame")["data"])
    assert program.copy(generic(), DATA, silent) == (NOT_ALLOWED, None)
    assert program.copy(generic(account="sealed"), DATA, silent) == (NOT_ALLOWED, None)
    assert program.read(generic(account="sealed"), knowing) == b"x"
    assert program.copy(generic(), ATTRIBUTES, silent)[0] == SUCCESS
    session.lock()
    assert program.copy(generic(), ATTRIBUTES, silent) == (NOT_ALLOWED, None)
    assert program.delete(merged(generic(), silent)) == SUCCESS and asked() == 0


@pytest.mark.night("prompters")
def test_the_person_reads_what_the_program_wants_it_for(session, program):
    answer_prompts(session, give_password(session))
    assert program.add(generic(), secret(b"x"), guarded(PRESENCE))[0] == SUCCESS
    context = program.context("c", reason="to send your mail\0")
    assert program.read(generic(), context, {"u_OpPrompt": "not this"}) == b"x"
    shown = (session.root / "tmp/read").read_text()
    assert "to send your mail" in shown and "not this" not in shown
    assert program.read(generic(), {"u_OpPrompt": "but that"}) == b"x"
    assert "but that" in (session.root / "tmp/read").read_text()


def test_nobody_waits_for_the_prompt_of_another_thread(session, program, another):
    leave = session.root / "tmp/leave"
    answer_prompts(session, f"until [ -e {leave} ]; do sleep 0.02; done; {give_password(session)}")
    assert program.add(generic(), secret(b"x"), guarded(PRESENCE))[0] == SUCCESS
    assert program.add(generic(account="bea"), secret(b"y"))[0] == SUCCESS
    asking = {"call": "copy", "query": generic() | DATA}
    changes = [
        {"call": "update", "query": generic(account="bea"), "changes": secret(word)} for word in (b"1", b"2", b"3")
    ]
    program.begin("together", calls=[[asking], changes])
    other = another()
    wait_until(lambda: other.read(generic(account="bea")) == b"3", "the other thread's calls")
    assert program.is_waiting()
    leave.touch()
    assert program.end()["results"][0] == [{"status": SUCCESS, "result": data(b"x")}]


def test_a_passphrase_that_the_program_brings(session, program):
    asked = answer_prompts(session, DISMISS)
    right = program.context("right", passphrase=data(b"open sesame")["data"], silent=True)
    wrong = program.context("wrong", passphrase=data(b"something else")["data"])
    assert program.add(generic(), secret(b"x"), guarded(PASSPHRASE), FAIL)[0] == NOT_ALLOWED
    status, reference = program.add(generic(), secret(b"x"), guarded(PASSPHRASE), right, REFERENCE)
    assert status == SUCCESS and octets(reference).startswith(b"genp")
    assert program.add(generic(), secret(b"y"), guarded(PASSPHRASE), right)[0] == DUPLICATE
    # Each call that may ask opens a connection, and closes the connection at its end.
    before = program.descriptors()
    for _ in range(3):
        assert program.read(generic(), right) == b"x"
    assert program.descriptors() == before
    assert program.copy(generic(), DATA, wrong) == (AUTH_FAILED, None)
    assert program.copy(generic(), DATA, FAIL) == (NOT_ALLOWED, None)
    assert program.copy({"class": "genp"}, SKIP, DATA) == (NOT_FOUND, None)
    assert asked() == 0
    assert program.copy(generic(), DATA) == (CANCELED, None) and asked() == 1
    assert program.read({"v_PersistentRef": reference}, right) == b"x"


@pytest.mark.parametrize("is_locked", [True, False])
def test_a_passphrase_that_could_not_be_locked_is_told(session, keychain_caller, is_locked):  # noqa: F811
    """The limit on locked memory then still suffices for other secrets. The limit refuses only the context's own
    memory."""
    assert session.login().returncode == 0
    errors = session.root / "errors"
    with errors.open("w") as file:
        program = Program(session, keychain_caller, file)
    try:
        first = program.context("first", passphrase=data(b"open sesame")["data"], silent=True)
        assert program.add(generic(), secret(b"x"), guarded(PASSPHRASE), first)[0] == SUCCESS
        assert program.read(generic(), first) == b"x"
        if not is_locked:
            session.run("prlimit", f"--pid={program.pid}", "--memlock=0:0", check=True)
        context = program.context("second", passphrase=data(b"open sesame")["data"], silent=True)
        for _ in range(2):
            assert program.read(generic(), context) == b"x"
        assert errors.read_text().count("could not be locked in memory") == (0 if is_locked else 1)
    finally:
        program.close()


# MARK: many at once


def test_of_two_processes_one_adds(program, another):
    other = another()
    count = 40
    query = [generic(account=str(number)) for number in range(count)]
    for one, word in ((program, b"one"), (other, b"two")):
        one.begin("together", calls=[[{"call": "add", "query": item | secret(word)} for item in query]])
    first, second = ([answer["status"] for answer in one.end()["results"][0]] for one in (program, other))
    for number in range(count):
        assert sorted([first[number], second[number]]) == [DUPLICATE, SUCCESS], number
        owner = b"one" if first[number] == SUCCESS else b"two"
        assert program.read(query[number]) == owner


def test_eight_threads(program):
    def calls(name):
        query = generic(account=name)
        yield {"call": "add", "query": query | secret(name.encode())}
        for _ in range(10):
            yield {"call": "copy", "query": query | DATA}
        yield {"call": "update", "query": query, "changes": secret(b"new")}
        yield {"call": "copy", "query": query | DATA}
        yield {"call": "delete", "query": query}

    names = [f"thread {number}" for number in range(8)]
    for name, answers in zip(names, program.together(*(list(calls(name)) for name in names)), strict=True):
        assert [answer["status"] for answer in answers] == [SUCCESS] * 14
        assert {answer["result"]["data"] for answer in answers[1:11]} == {data(name.encode())["data"]}
        assert answers[12]["result"] == data(b"new")


def test_a_child_has_a_connection_of_its_own(program):
    query = generic()
    assert program.add(query, secret(b"x"))[0] == SUCCESS
    copy = {"call": "copy", "query": query | DATA}
    add = {"call": "add", "query": generic(account="child") | secret(b"y")}
    many = {"call": "together", "calls": [[copy] * 20] * 4}
    copied, added, crowd = program.in_child(copy, add, many)
    assert copied == {"status": SUCCESS, "result": data(b"x")} and added["status"] == SUCCESS
    assert all(answer == copied for answers in crowd["results"] for answer in answers)
    # The parent's connection still works.
    assert program.read(generic(account="child")) == b"y"


# MARK: access groups


def test_access_groups(program, another):
    one = another(LATCHKEY_ACCESS_GROUPS="TEAM.one TEAM.shared")
    two = another(LATCHKEY_ACCESS_GROUPS="TEAM.two,TEAM.shared")
    assert one.add(generic(), secret(b"one"))[0] == SUCCESS
    assert one.copy(generic(), ATTRIBUTES)[1]["agrp"] == "TEAM.one"
    assert two.copy(generic()) == (NOT_FOUND, None) and program.copy(generic()) == (NOT_FOUND, None)
    assert two.copy(generic(agrp="TEAM.one")) == (MISSING_ENTITLEMENT, None)
    assert two.add(generic(agrp="TEAM.one"))[0] == MISSING_ENTITLEMENT
    assert two.add(generic(), secret(b"two"))[0] == SUCCESS
    assert one.update(generic(), {"agrp": "TEAM.shared"}) == SUCCESS
    assert two.read(generic(agrp="TEAM.shared")) == b"one"
    status, found = two.copy(generic(), ALL, DATA)
    assert status == SUCCESS and sorted(map(octets, found)) == [b"one", b"two"]
    assert program.delete(generic()) == NOT_FOUND


def test_groups_of_a_file_beside_the_program(session, program, another, keychain_caller):  # noqa: F811
    own = session.root / "tmp/mailer"
    shutil.copy(keychain_caller, own)
    groups = {"application-identifier": "TEAM.mailer", "keychain-access-groups": ["TEAM.shared"]}
    own.with_name("mailer.entitlements").write_bytes(plistlib.dumps(groups))
    mailer = Program(session, own, LATCHKEY_ACCESS_GROUPS="TEAM.other")
    assert mailer.add(generic(), secret(b"x"))[0] == SUCCESS
    assert mailer.copy(generic(), ATTRIBUTES)[1]["agrp"] == "TEAM.shared"
    assert mailer.add(generic(agrp="TEAM.mailer"))[0] == SUCCESS
    assert mailer.add(generic(agrp="TEAM.other"))[0] == MISSING_ENTITLEMENT
    mailer.close()
    own.with_name("mailer.entitlements").write_bytes(b"broken")
    mailer = Program(session, own)
    assert mailer.copy(generic()) == (MISSING_ENTITLEMENT, None)
    said = mailer.message(MISSING_ENTITLEMENT)
    assert f"Correct the file {own}.entitlements: it is not a property list" in said
    mailer.close()


@pytest.mark.parametrize("how", ["forbidden", "loop"])
def test_groups_of_a_file_that_cannot_be_read(session, program, keychain_caller, how):  # noqa: F811
    own = session.root / "tmp/mailer"
    shutil.copy(keychain_caller, own)
    file = own.with_name("mailer.entitlements")
    if how == "loop":
        file.symlink_to(file.name)
    else:
        # The session's user is not root, even if root runs the tests.
        file.write_bytes(plistlib.dumps({"application-identifier": "TEAM.mailer"}))
        file.chmod(0)
    mailer = Program(session, own, LATCHKEY_ACCESS_GROUPS="TEAM.other")
    assert mailer.add(generic(), secret(b"x"))[0] == MISSING_ENTITLEMENT
    assert f"{file} cannot be read: " in mailer.message(MISSING_ENTITLEMENT)
    mailer.close()


def test_before_there_is_a_vault(new_session, keychain_caller):  # noqa: F811
    program = Program(new_session, keychain_caller)
    assert program.add(generic(), secret(b"x"), FAIL)[0] == NOT_ALLOWED
    assert program.copy(generic(), FAIL) == (NOT_FOUND, None)
    program.close()


def test_without_a_vault_or_a_bus(session, program, another):
    assert another(DBUS_SESSION_BUS_ADDRESS="unix:path=/nonexistent").add(generic())[0] == NOT_AVAILABLE
    status, _ = another(DBUS_SESSION_BUS_ADDRESS="unix:path=/nonexistent").copy(generic())
    assert status == NOT_AVAILABLE
