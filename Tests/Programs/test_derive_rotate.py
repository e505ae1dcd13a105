"""latchkey-derive for the command line: new keys, recovery codes, and the state after an interruption."""

import os
import pathlib
import signal
import struct
import subprocess

import pytest
from support.derive import (
    ADD_SESSION, ANYWHERE, AUTHENTICATE, BAD_REQUEST, BEGUN, CHECK_CODE, CREATE_CODE, DAEMON_SILENT, DAMAGED, NO_DAEMON, NO_VAULT, NOTHING_NEEDED, OPEN, OVERTAKEN,
    OTHER_VERSION as DAEMON_OF_OTHER_VERSION, PASSWORD, RECOVER, REFUSED, REMOVE_CODE, REMOVE_SESSION, ROTATE, TOO_MANY_EPOCHS, UNLOCKED, WRONG_PASSWORD, Run, as_root,
)
from support.standin import (
    CLOSED as HANG_UP, HELLO, LIVE, MAY_DERIVE, MAY_ROTATE, NEEDED_EPOCH, NOTHING, OTHER_VERSION, REFUSED as NEED_REFUSED,
    ROTATE as ROTATE_OPERATION, UNLOCK, UNLOCK_REFUSED, UNUSABLE, VERSION, WRONG_KEYS, declined,
)
from test_derive_late import wait_until

OTHER = "a recovery code's login password"


def needed(number):
    return bytes([VERSION, NEEDED_EPOCH]) + struct.pack("<I", number)


class Bag:
    """The fields of a keybag that can be read without opening it."""

    def __init__(self, content):
        self.generation = int.from_bytes(content[28:36], "little")
        at, self.kinds = 45, []
        for _ in range(content[44]):
            self.kinds.append(content[at])
            at += 96 + int.from_bytes(content[at + 94 : at + 96], "little")
        self.epochs = [int.from_bytes(content[at + 1 + 212 * n :][:4], "little") for n in range(content[at])]


def bag(person):
    return Bag(person.keybag.read_bytes())


def test_new_keys_are_delivered_beside_the_former_ones_which_then_go(resident, new_keybag):
    daemon = resident.daemon()
    daemon.needed = needed(2)
    before = resident.run(AUTHENTICATE) == UNLOCKED and daemon.deliveries.pop()
    assert before.former == []
    assert resident.run(ROTATE) == UNLOCKED
    (delivery,) = daemon.deliveries
    assert delivery.former == [(1, before.unlocked, before.session)]
    assert len({delivery.unlocked, delivery.session, before.unlocked, before.session}) == 4
    after = bag(resident)
    # The generation rises for the accepted keys, for the new keys, and for the removal of the former keys.
    assert (after.epochs, after.kinds, after.generation) == ([2], [1], Bag(new_keybag).generation + 3)
    # The password opens the new keys, which differ from the old keybag's.
    assert resident.run(AUTHENTICATE) == UNLOCKED
    assert (daemon.deliveries[-1].unlocked, daemon.deliveries[-1].former) == (delivery.unlocked, [])
    resident.write(resident.keybag, new_keybag)
    assert resident.run(AUTHENTICATE) == UNLOCKED
    assert daemon.deliveries[-1].unlocked == before.unlocked


@pytest.mark.night("vault")
def test_former_keys_stay_for_as_long_as_they_are_needed(resident):
    daemon = resident.daemon()
    assert resident.run(ROTATE) == UNLOCKED
    assert bag(resident).epochs == [1, 2]
    for operation in (AUTHENTICATE, OPEN, ROTATE):
        assert resident.run(operation) == UNLOCKED
    assert bag(resident).epochs == [1, 2, 3]
    daemon.needed = declined()
    assert resident.run(OPEN) == UNLOCKED
    assert bag(resident).epochs == [1, 2, 3]
    daemon.needed = needed(2)
    assert resident.run(AUTHENTICATE) == UNLOCKED
    assert bag(resident).epochs == [2, 3]
    # An impossible answer of the daemon drops no epoch.
    daemon.needed = needed(4)
    assert resident.run(OPEN) == UNLOCKED
    assert bag(resident).epochs == [2, 3]
    daemon.needed = needed(3)
    assert resident.run(OPEN) == UNLOCKED
    assert bag(resident).epochs == [3]


@pytest.mark.parametrize("outcome", [UNLOCK_REFUSED, UNUSABLE, WRONG_KEYS, HANG_UP])
def test_keys_that_the_daemon_does_not_take_wait_for_the_next_unlock(resident, outcome):
    daemon = resident.daemon()
    daemon.outcome = outcome
    assert resident.run(ROTATE) == BEGUN
    assert bag(resident).epochs == [1, 2]
    daemon.outcome, daemon.needed = LIVE, needed(2)
    assert resident.run(AUTHENTICATE) == UNLOCKED
    assert len(daemon.deliveries[-1].former) == 1 and bag(resident).epochs == [2]


def test_nothing_is_changed_where_it_cannot_be(resident, new_keybag):
    daemon = resident.daemon()
    daemon.may_rotate = declined()
    assert resident.run(ROTATE) == REFUSED
    daemon.may_rotate = bytes([VERSION, MAY_ROTATE])
    for operation in (ROTATE, CREATE_CODE, REMOVE_CODE):
        assert resident.run(operation, token=PASSWORD + "x", flags=ANYWHERE) == WRONG_PASSWORD
        assert resident.run(operation, token="", flags=ANYWHERE) == WRONG_PASSWORD
    assert resident.run(ROTATE, runtime=resident.folder / "nowhere") == NO_DAEMON
    assert resident.run(REMOVE_CODE) == NOTHING_NEEDED
    assert daemon.deliveries == [] and resident.keybag.read_bytes() == new_keybag


def test_without_a_vault_or_with_a_damaged_one(login, new_keybag):
    login.daemon()
    assert login.run(ROTATE) == NO_VAULT
    login.created_before(new_keybag[:-1] + bytes([new_keybag[-1] ^ 1]))
    for operation in (ROTATE, CREATE_CODE, REMOVE_CODE):
        assert login.run(operation, flags=ANYWHERE) == DAMAGED


@pytest.mark.night("vault")
def test_more_generations_than_a_keybag_has(resident):
    resident.daemon()
    for number in range(2, 9):
        assert resident.run(ROTATE) == UNLOCKED
        assert bag(resident).epochs == list(range(1, number + 1))
    before = resident.keybag.read_bytes()
    assert resident.run(ROTATE) == TOO_MANY_EPOCHS
    assert resident.keybag.read_bytes() == before


@pytest.mark.parametrize("when", [MAY_ROTATE, ROTATE_OPERATION, NEEDED_EPOCH])
def test_killed_while_it_talks_to_the_daemon(resident, when):
    daemon = resident.daemon()
    daemon.needed = needed(2)
    running = []

    def kill(operation):
        if operation == when and running:
            os.kill(running.pop().worker, signal.SIGKILL)

    daemon.on_request = kill
    run = resident.start(ROTATE, known=running.append)
    assert run.end() == b"" and run.process.returncode == -signal.SIGKILL
    assert bag(resident).epochs == ([1] if when == MAY_ROTATE else [1, 2])
    assert resident.run(OPEN) == UNLOCKED
    assert bag(resident).epochs == ([1] if when == MAY_ROTATE else [2])


# ---- recovery codes ----


def create(person, **fields):
    """Creates a recovery code. Returns the result and the code."""
    pipe, theirs = os.pipe()
    with os.fdopen(theirs, "wb") as output:
        run = person.start(CREATE_CODE, options={"stdout": output}, **{"flags": ANYWHERE} | fields)
    result = run.result()
    with os.fdopen(pipe) as text:
        return result, text.read()


def test_a_code_is_shown_and_opens_the_vault_with_another_password(resident, new_keybag):
    daemon = resident.daemon()
    result, text = create(resident)
    code = text.removesuffix("\n")
    assert result == UNLOCKED and len(code) == 41 and bag(resident).kinds == [1, 2]
    stored = resident.keybag.read_bytes()
    assert not any(group.encode() in stored for group in code.split("-"))
    for typed in (code, code.lower(), code.replace("-", "")):
        assert resident.run(CHECK_CODE, token=typed) == UNLOCKED
    assert resident.run(CHECK_CODE, token=PASSWORD) != UNLOCKED
    assert resident.keybag.read_bytes() == stored and daemon.hellos == []

    assert resident.run(RECOVER, token=code, password=OTHER, service="latchkey-unlock") == UNLOCKED
    assert daemon.hellos == [("authenticate", "latchkey-unlock", "tty1", "")] and len(daemon.deliveries) == 1
    assert resident.run(AUTHENTICATE) == WRONG_PASSWORD
    assert resident.run(AUTHENTICATE, token=OTHER) == UNLOCKED
    first, second = daemon.deliveries
    assert (first.unlocked, first.session) == (second.unlocked, second.session)
    assert resident.run(CHECK_CODE, token=code) == UNLOCKED
    assert not any(code.encode() in packet or OTHER.encode() in packet for packet in daemon.packets)


def stop(process):
    """Returns once the process has stopped, because the signal may arrive later than the next step."""
    os.kill(process, signal.SIGSTOP)
    wait_until(lambda: "\nState:\tT" in pathlib.Path(f"/proc/{process}/status").read_text(), "the process to stop")


@pytest.mark.parametrize("operation", [CREATE_CODE, REMOVE_CODE, ADD_SESSION, REMOVE_SESSION])
def test_the_daemon_ends_what_works_on_a_password_for_a_command(resident, operation):
    """latchkeyd ends the helper, as latchkeyd does before the machine sleeps."""
    daemon = resident.daemon()
    request = resident.request(operation, flags=ANYWHERE)
    run = Run(resident.program, None, hang_up=False)
    worker = run.worker
    daemon.on_request = lambda _: stop(worker)
    before = resident.keybag.read_bytes()
    run.give(request)
    wait_until(lambda: daemon.replies == 1, "the answer to its question")
    daemon.hang_up()
    os.kill(worker, signal.SIGCONT)
    assert run.result() == OVERTAKEN
    assert resident.keybag.read_bytes() == before


@pytest.mark.parametrize("operation", [CREATE_CODE, REMOVE_CODE, ADD_SESSION, REMOVE_SESSION])
def test_a_daemon_that_allows_no_password_to_be_worked_on_is_obeyed(resident, operation):
    daemon = resident.daemon()
    daemon.may_derive = declined("the machine is going to sleep")
    before = resident.keybag.read_bytes()
    assert resident.run(operation, flags=ANYWHERE) == REFUSED
    assert [packet[1] for packet in daemon.packets] == [MAY_DERIVE] and resident.keybag.read_bytes() == before


@pytest.mark.parametrize("operation", [CREATE_CODE, REMOVE_CODE, ADD_SESSION, REMOVE_SESSION])
@pytest.mark.parametrize("answer, expected", [
    (HANG_UP, DAEMON_SILENT), (b"\xff", DAEMON_SILENT), (bytes([VERSION + 1, OTHER_VERSION]), DAEMON_OF_OTHER_VERSION)])  # fmt: skip
def test_no_password_is_worked_on_where_a_daemon_that_runs_does_not_know_of_it(resident, operation, answer, expected):
    """Such a daemon would not end the helper before the machine sleeps."""
    daemon = resident.daemon()
    daemon.may_derive = answer
    before = resident.keybag.read_bytes()
    # If the helper tried the wrong password, its answer would say so.
    assert resident.run(operation, token="wrong", flags=ANYWHERE) == expected
    assert [packet[1] for packet in daemon.packets] == [MAY_DERIVE] and resident.keybag.read_bytes() == before


def test_where_no_daemon_runs_a_code_is_made_all_the_same(resident):
    result, text = create(resident)
    assert result == UNLOCKED and resident.run(CHECK_CODE, token=text.strip()) == UNLOCKED


def test_the_new_password_is_worked_on_before_the_keys_of_a_code_come(resident):
    """The daemon can end the helper before a sleep only while it waits for the helper's keys."""
    daemon = resident.daemon()
    _, text = create(resident)
    daemon.packets.clear()
    daemon.outcome = UNLOCK_REFUSED
    before = resident.keybag.read_bytes()
    assert resident.run(RECOVER, token=text.strip(), password=OTHER, service="latchkey-unlock") == REFUSED
    assert resident.keybag.read_bytes() == before
    daemon.need = NOTHING
    assert resident.run(RECOVER, token=text.strip(), password=OTHER, service="latchkey-unlock") == UNLOCKED
    assert [packet[1] for packet in daemon.packets] == [HELLO, UNLOCK, HELLO, MAY_DERIVE]
    assert resident.run(CHECK_CODE, token=text.strip()) == UNLOCKED


def test_a_code_stays_valid_with_new_keys(resident):
    daemon = resident.daemon()
    daemon.needed = needed(2)
    _, text = create(resident)
    assert resident.run(ROTATE) == UNLOCKED
    assert (bag(resident).kinds, bag(resident).epochs) == ([1, 2], [2])
    assert resident.run(CHECK_CODE, token=text.strip()) == UNLOCKED
    daemon.outcome = UNLOCK_REFUSED
    assert resident.run(ROTATE) == BEGUN
    daemon.outcome = LIVE
    assert resident.run(RECOVER, token=text.strip(), password=OTHER) == UNLOCKED
    assert len(daemon.deliveries[-1].former) == 1


def test_a_new_code_replaces_the_one_before_and_it_can_be_removed(resident):
    _, first = create(resident)
    _, second = create(resident)
    assert first != second
    assert resident.run(CHECK_CODE, token=first.strip()) == WRONG_PASSWORD
    assert resident.run(RECOVER, token=first.strip(), password=OTHER, runtime=resident.runtime) == NO_DAEMON
    resident.daemon()
    assert resident.run(RECOVER, token=first.strip(), password=OTHER) == WRONG_PASSWORD
    assert resident.run(REMOVE_CODE) == UNLOCKED
    assert bag(resident).kinds == [1]
    assert resident.run(CHECK_CODE, token=second.strip()) == WRONG_PASSWORD
    assert resident.run(AUTHENTICATE) == UNLOCKED


def test_a_code_goes_to_a_terminal_only_unless_asked_for(resident, new_keybag):
    assert create(resident, flags=0) == (BAD_REQUEST, "")
    assert resident.keybag.read_bytes() == new_keybag


def test_a_code_that_cannot_be_shown_is_not_stored(resident, new_keybag):
    with open("/dev/full", "wb") as full:
        run = resident.start(CREATE_CODE, options={"stdout": full}, flags=ANYWHERE)
    assert run.result() != UNLOCKED
    assert resident.keybag.read_bytes() == new_keybag


@pytest.mark.parametrize("need, outcome, expected", [
    (NEED_REFUSED, LIVE, REFUSED), (1, UNLOCK_REFUSED, REFUSED), (1, UNUSABLE, DAMAGED), (1, WRONG_KEYS, DAMAGED),
    (NOTHING, LIVE, UNLOCKED)])  # fmt: skip
def test_the_password_is_set_only_where_the_code_opened_the_vault(resident, need, outcome, expected):
    daemon = resident.daemon()
    _, text = create(resident)
    before = resident.keybag.read_bytes()
    daemon.need, daemon.outcome = need, outcome
    assert resident.run(RECOVER, token=text.strip(), password=OTHER) == expected
    assert (resident.keybag.read_bytes() == before) == (expected != UNLOCKED)


@pytest.mark.parametrize("fields", [{}, {"password": ""}, {"password": "x" * 4097}])
def test_malformed_requests(resident, new_keybag, fields):
    resident.daemon()
    assert resident.run(RECOVER, **fields) == BAD_REQUEST
    assert resident.run(ROTATE, password="more") == BAD_REQUEST
    assert resident.keybag.read_bytes() == new_keybag


@as_root
def test_a_full_disk_changes_nothing(resident):
    place = resident.vault
    keybag = resident.keybag.read_bytes()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k,mode=0700", "latchkey-test", place], check=True)
    try:
        os.chown(place, *((resident.home.stat().st_uid, resident.home.stat().st_gid)))
        resident.write(resident.keybag, keybag)
        (place / "filler").write_bytes(b"x" * 12288)
        daemon = resident.daemon()
        assert resident.run(ROTATE) not in (UNLOCKED, BEGUN)
        assert resident.keybag.read_bytes() == keybag and daemon.deliveries == []
        (place / "filler").unlink()
        assert resident.run(ROTATE) == UNLOCKED
    finally:
        subprocess.run(["umount", "-l", place], check=True)
