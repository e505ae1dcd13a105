"""latchkey-derive at a login without a password: creation, the first password, its removal, and commands."""

import os
import signal

import pytest
from support.derive import (
    ANYWHERE, AUTHENTICATE, BAD_REQUEST, BEGUN, CHECK_CODE, CREATE_CODE, DAEMON_SILENT, DAMAGED, CREATED, NO_DAEMON,
    NO_CREATE, NO_DEVICE_KEY, NO_VAULT, NOTHING_NEEDED, OPEN, OVERTAKEN, PASSWORD, PASSWORDLESS, PERSON, RECOVER, REFUSED,
    REMOVE_CODE, REMOVE_PASSWORD, ROTATE, TOO_MANY_EPOCHS, UNLOCKED, WRONG_PASSWORD, as_root,
)
from support.standin import (
    CLOSED as HANG_UP, DESTROY, DEVICE_SECRET, HELLO, KEYS, LIVE, MAY_ROTATE, NEEDED_EPOCH, NEW, NOTHING, PRESENT, REFUSED
    as NEED_REFUSED, ROTATE as ROTATE_OPERATION, SILENT, STATUS, UNLOCK, UNLOCK_REFUSED, UNUSABLE, declined,
)
from test_derive import STATE, UNPROVEN, generation
from test_derive_password_change import await_argon2id, held
from test_derive_rotate import bag, create, needed

DEVICE_KIND, PASSWORD_KIND, CODE_KIND = 4, 1, 2
# The positions in the keybag of the first protector's name, and of the beginnings of its salt and sealed fields.
PROTECTOR, SALT, SEALED = slice(47, 63), slice(79, 95), slice(141, 213)
FIELDS = {"locked": "!", "no password fits": "*", "shadowed": "x", "a hash": "$6$salt$hash", "absent": None, "no file": ...}

pytestmark = as_root


def shadow(person, field):
    """Sets the system's entry for the person's password: `...` for no file, None for a file without the account."""
    person.shadow.unlink(missing_ok=True)
    if field is ...:
        return
    lines = ["root:*:20000::::::", *([] if field is None else [f"{PERSON.pw_name}:{field}:20000:0:99999:7:::"])]
    person.shadow.write_text("\n".join(lines) + "\n")
    person.shadow.chmod(0o600)


def operations(daemon):
    return [packet[1] for packet in daemon.packets]


@pytest.fixture
def nobody(login):
    """A login without a password and without a vault."""
    shadow(login, "")
    return login


@pytest.fixture
def passwordless(nobody):
    """A login without a password, with a vault, a daemon and its device key."""
    daemon = nobody.daemon()
    assert nobody.run(OPEN, token="") == CREATED
    for seen in (daemon.hellos, daemon.answered, daemon.wanted, daemon.deliveries, daemon.packets):
        seen.clear()
    return nobody, daemon


@pytest.fixture
def closing(resident):
    """A vault with a password. The login no longer has a password."""
    shadow(resident, "")
    return resident, resident.daemon()


# ---- creating ----


@pytest.mark.parametrize("token", ["", PASSWORD])
def test_founded_on_the_device_key_alone(nobody, token):
    daemon = nobody.daemon()
    assert nobody.run(OPEN, token=token) == CREATED
    keybag = nobody.keybag.read_bytes()
    assert bag(nobody).kinds == [DEVICE_KIND] and generation(keybag) == 2, "there is a database"
    assert operations(daemon) == [DEVICE_SECRET, HELLO, UNLOCK]
    assert daemon.wanted == [(NEW, keybag[12:28], keybag[PROTECTOR])]
    assert (keybag[SALT], keybag[SEALED]) == (daemon.IDENTITY, daemon.wrapping)
    assert daemon.hellos == [("openSession", "login", "tty1", "")] and daemon.destructions == []
    (delivery,) = daemon.deliveries
    assert delivery.flags == 1 and delivery.vault == keybag[12:28] and len({delivery.unlocked, delivery.session}) == 2
    assert {path.name for path in nobody.vault.iterdir()} == {"keybag", "keybag.copy", "keybag.lock"}
    secret = daemon.secrets[daemon.wrapping]
    for key in (secret, delivery.unlocked, delivery.session):
        assert key not in keybag
    # A typed password opens nothing.
    assert nobody.run(AUTHENTICATE) == WRONG_PASSWORD
    shadow(nobody, "$6$salt$hash")
    assert nobody.run(ROTATE, token="") == UNLOCKED
    assert daemon.wanted[1][0] == PRESENT and len(daemon.deliveries) == 2


@pytest.mark.night("login")
@pytest.mark.parametrize("answer, expected", [
    (declined(), NO_DEVICE_KEY), (SILENT, DAEMON_SILENT), (HANG_UP, DAEMON_SILENT), (b"\2\30", DAEMON_SILENT),
    (b"\2\30" + bytes(168), DAEMON_SILENT), (b"\2\27" + bytes(4), DAEMON_SILENT)],
    ids=["declined", "silent", "gone", "short", "sealed to nobody", "another reply"])  # fmt: skip
def test_without_the_device_key_nothing_is_founded(nobody, answer, expected):
    daemon = nobody.daemon()
    daemon.device_secret = answer
    assert nobody.run(OPEN, token="") == expected
    assert not nobody.keybag.exists() and list(nobody.vault.iterdir()) == []
    assert len(daemon.wanted) == 1 and daemon.deliveries == []
    assert daemon.hellos == [("openSession", "login", "tty1", "")], "a session began all the same"
    daemon.device_secret = None
    assert nobody.run(OPEN, token="") == CREATED


def test_without_a_daemon_nothing_is_founded(nobody):
    assert nobody.run(OPEN, token="", runtime="/nowhere") == NO_DAEMON
    assert not nobody.keybag.exists()


@pytest.mark.night("login")
@pytest.mark.parametrize("need, outcome, expected", [
    (NOTHING, LIVE, CREATED), (NEED_REFUSED, LIVE, CREATED), (KEYS, SILENT, CREATED), (KEYS, UNLOCK_REFUSED, CREATED),
    (KEYS, UNUSABLE, DAMAGED)])  # fmt: skip
def test_what_the_daemon_says_once_it_is_founded(nobody, need, outcome, expected):
    daemon = nobody.daemon()
    daemon.need, daemon.outcome = need, outcome
    assert nobody.run(OPEN, token="") == expected
    assert bag(nobody).kinds == [DEVICE_KIND] and bag(nobody).generation == 1


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
@pytest.mark.parametrize("token", ["", PASSWORD])
def test_only_an_empty_field_is_no_password(login, field, token):
    shadow(login, field)
    daemon = login.daemon()
    assert login.run(OPEN, token=token) == (CREATED if token else NOTHING_NEEDED)
    assert login.keybag.exists() == bool(token)
    assert daemon.wanted == [] and daemon.destructions == [] and len(daemon.hellos) == 1
    if token:
        assert bag(login).kinds == [PASSWORD_KIND]


@pytest.mark.parametrize("fields", [dict(flags=NO_CREATE), dict(service="su"), dict(service="sudo"), dict(service="doas"),
                                    dict(service="cron"), dict(service="systemd-user"), dict(service="passwd")])
def test_where_none_is_founded(nobody, fields):
    daemon = nobody.daemon()
    assert nobody.run(OPEN, token="", **fields) == NO_VAULT
    assert list(nobody.home.iterdir()) == [] and operations(daemon) == [HELLO]


def test_several_first_logins_at_once(nobody):
    daemon = nobody.daemon()
    results = [run.result() for run in [nobody.start(OPEN, token="") for _ in range(4)]]
    assert sorted(results) == [CREATED, PASSWORDLESS, PASSWORDLESS, PASSWORDLESS]
    assert len(daemon.deliveries) == 1 and daemon.deliveries[0].vault == nobody.keybag.read_bytes()[12:28]
    assert len(daemon.hellos) == 4


# ---- a session of a login without a password ----


@pytest.mark.parametrize("token", ["", PASSWORD])
@pytest.mark.parametrize("need", [KEYS, NOTHING])
def test_the_daemon_is_told_and_opens_it_by_itself(passwordless, token, need):
    person, daemon = passwordless
    before, daemon.need = person.keybag.read_bytes(), need
    assert person.run(OPEN, token=token) == PASSWORDLESS
    assert operations(daemon) == [HELLO, DESTROY] and daemon.destructions == [True]
    assert daemon.hellos == [("openSession", "login", "tty1", "")]
    assert person.keybag.read_bytes() == before


@pytest.mark.parametrize("token", ["", PASSWORD, "another"])
def test_a_vault_with_a_password_stays_as_it_is_but_for_what_hangs_on_the_password(closing, new_keybag, token):
    person, daemon = closing
    assert person.run(OPEN, token=token) == PASSWORDLESS
    assert operations(daemon) == [HELLO, DESTROY] and daemon.destructions == [True]
    assert person.keybag.read_bytes() == new_keybag and daemon.deliveries == []
    shadow(person, "!")
    assert person.run(OPEN) == UNLOCKED, "the password is what it was"


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_nothing_ends_where_the_field_is_not_empty(resident, new_keybag, field):
    shadow(resident, field)
    daemon = resident.daemon()
    assert resident.run(OPEN, token="") == NOTHING_NEEDED
    assert resident.run(OPEN, token="wrong") == WRONG_PASSWORD
    assert daemon.destructions == [] and resident.keybag.read_bytes() == new_keybag


@pytest.mark.night("login")
@pytest.mark.parametrize("name, answer, expected", [
    ("need", NEED_REFUSED, REFUSED), ("need", SILENT, DAEMON_SILENT), ("destroy", declined(), REFUSED),
    ("destroy", SILENT, DAEMON_SILENT), ("destroy", HANG_UP, DAEMON_SILENT)])  # fmt: skip
def test_a_daemon_that_does_not_go_along(closing, new_keybag, name, answer, expected):
    person, daemon = closing
    setattr(daemon, name, answer)
    assert person.run(OPEN, token="") == expected
    assert daemon.destructions == ([] if name == "need" else [True]) and person.keybag.read_bytes() == new_keybag


def test_a_damaged_keybag_ends_what_hangs_on_the_password_all_the_same(closing):
    person, daemon = closing
    person.write(person.keybag, b"no keybag")
    assert person.run(OPEN, token="") == PASSWORDLESS and daemon.destructions == [True]


def test_a_database_without_a_keybag_creates_none(closing):
    person, daemon = closing
    person.keybag.rename(person.vault / "vault.db")
    assert person.run(OPEN, token="") == DAMAGED
    assert not person.keybag.exists() and operations(daemon) == [HELLO]


# ---- the first password ----


def test_the_first_password_comes_with_new_keys(passwordless):
    person, daemon = passwordless
    old = person.keybag.read_bytes()
    shadow(person, "$6$salt$hash")
    daemon.needed = needed(1)
    assert person.run(OPEN) == UNLOCKED
    assert operations(daemon) == [HELLO, DEVICE_SECRET, ROTATE_OPERATION, NEEDED_EPOCH]
    assert daemon.wanted == [(PRESENT, bytes(16), bytes(16))] and daemon.destructions == []
    keybag, after = person.keybag.read_bytes(), bag(person)
    assert (after.kinds, after.epochs, after.generation) == ([PASSWORD_KIND], [1, 2], generation(old) + 1)
    assert keybag[STATE] == UNPROVEN and keybag[12:28] == old[12:28]
    (first,) = daemon.deliveries
    assert [number for number, *_ in first.former] == [1] and len({first.unlocked, *first.former[0]}) == 4
    # The second login proves the password, as after any creation. The device's secret no longer opens anything.
    daemon.needed = needed(2)
    assert person.run(OPEN) == UNLOCKED
    assert bag(person).epochs == [2] and person.keybag.read_bytes()[STATE] != UNPROVEN
    assert daemon.deliveries[-1].unlocked == first.unlocked
    assert person.run(ROTATE, token="") == WRONG_PASSWORD and daemon.wanted[1:] == []
    assert person.run(AUTHENTICATE, token="another") == WRONG_PASSWORD


@pytest.mark.parametrize("operation", [OPEN, RECOVER])
def test_the_folder_is_not_held_while_the_first_password_is_derived(passwordless, operation):
    person, daemon = passwordless
    fields = {}
    if operation == RECOVER:
        _, text = create(person, token="")
        fields = dict(token=text.strip(), password=PASSWORD, service="latchkey-unlock")
    shadow(person, "$6$salt$hash")
    daemon.needed = needed(2)
    run = person.start(operation, **fields)
    assert held(run, person) == [] and run.result() == UNLOCKED
    assert bag(person).epochs == [2]


def test_authenticate_sets_no_first_password(passwordless):
    person, daemon = passwordless
    before = person.keybag.read_bytes()
    shadow(person, "$6$salt$hash")
    assert person.run(AUTHENTICATE) == WRONG_PASSWORD
    assert person.keybag.read_bytes() == before and daemon.deliveries == [] and daemon.wanted == []


@pytest.mark.parametrize("fields", [dict(flags=NO_CREATE), dict(service="su"), dict(service="sudo"), dict(service="cron")])
def test_what_may_not_found_sets_no_first_password(passwordless, fields):
    person, daemon = passwordless
    before = person.keybag.read_bytes()
    shadow(person, "$6$salt$hash")
    assert person.run(OPEN, **fields) == NOTHING_NEEDED
    assert person.keybag.read_bytes() == before and operations(daemon) == [HELLO]


@pytest.mark.night("login")
@pytest.mark.parametrize("name, answer, expected", [
    ("need", NOTHING, NOTHING_NEEDED), ("need", NEED_REFUSED, REFUSED), ("device_secret", declined(), REFUSED),
    ("device_secret", SILENT, DAEMON_SILENT), ("device_secret", HANG_UP, DAEMON_SILENT)])
def test_no_first_password_where_the_daemon_declines(passwordless, name, answer, expected):
    person, daemon = passwordless
    before = person.keybag.read_bytes()
    shadow(person, "$6$salt$hash")
    setattr(daemon, name, answer)
    assert person.run(OPEN) == expected
    assert person.keybag.read_bytes() == before and daemon.deliveries == []


def test_no_first_password_with_a_secret_that_is_another_s(passwordless):
    person, daemon = passwordless
    before = person.keybag.read_bytes()
    shadow(person, "$6$salt$hash")
    daemon.secrets[daemon.wrapping] = os.urandom(32)
    assert person.run(OPEN) == WRONG_PASSWORD
    assert person.keybag.read_bytes() == before and daemon.deliveries == []


@pytest.mark.parametrize("outcome", [UNLOCK_REFUSED, HANG_UP])
def test_a_first_password_whose_keys_are_not_taken_waits_for_the_next_login(passwordless, outcome):
    person, daemon = passwordless
    shadow(person, "$6$salt$hash")
    daemon.outcome = outcome
    assert person.run(OPEN) == BEGUN
    assert (bag(person).kinds, bag(person).epochs) == ([PASSWORD_KIND], [1, 2])
    daemon.outcome, daemon.needed = LIVE, needed(2)
    assert person.run(OPEN) == UNLOCKED
    assert len(daemon.deliveries[-1].former) == 1 and bag(person).epochs == [2]


@pytest.mark.night("login")
@pytest.mark.parametrize("outcome, expected", [(LIVE, UNLOCKED), (UNLOCK_REFUSED, BEGUN), (HANG_UP, BEGUN)])
def test_a_first_password_before_there_is_a_database_is_no_loss_of_one(nobody, outcome, expected):
    """From the second generation on, a daemon reports a missing database as a loss."""
    daemon = nobody.daemon()
    daemon.outcome = UNLOCK_REFUSED
    assert nobody.run(OPEN, token="") == CREATED and bag(nobody).generation == 1
    shadow(nobody, "$6$salt$hash")
    daemon.outcome = outcome
    daemon.packets.clear()
    assert nobody.run(OPEN) == expected
    assert operations(daemon) == [HELLO, DEVICE_SECRET, UNLOCK], "there are no keys to change"
    assert daemon.deliveries[-1].flags == 1 and [number for number, *_ in daemon.deliveries[-1].former] == [1]
    after = bag(nobody)
    assert (after.kinds, after.epochs, after.generation) == ([PASSWORD_KIND], [1, 2], 2 if expected == UNLOCKED else 1)
    daemon.outcome, daemon.needed = LIVE, needed(2)
    assert nobody.run(OPEN) == UNLOCKED and daemon.deliveries[-1].flags == (0 if expected == UNLOCKED else 1)
    assert bag(nobody).epochs == [2] and bag(nobody).generation > 1


def test_the_first_password_of_a_vault_whose_database_came_meanwhile(nobody):
    daemon = nobody.daemon()
    daemon.outcome = UNLOCK_REFUSED
    assert nobody.run(OPEN, token="") == CREATED
    shadow(nobody, "$6$salt$hash")
    nobody.write(nobody.vault / "vault.db", b"rows")
    daemon.outcome, daemon.needed = LIVE, needed(2)
    daemon.packets.clear()
    assert nobody.run(OPEN) == UNLOCKED and operations(daemon) == [HELLO, DEVICE_SECRET, ROTATE_OPERATION, NEEDED_EPOCH]
    assert bag(nobody).epochs == [2]


def test_the_daemon_makes_the_database_while_the_first_password_is_derived(nobody):
    """At that moment, any program's question makes the daemon open the vault by the device key."""
    daemon, begun = nobody.daemon(), []
    daemon.on_request = lambda operation: begun.append(nobody.keybag.read_bytes()) if operation == UNLOCK else None
    assert nobody.run(OPEN, token="") == CREATED
    confirmed = nobody.keybag.read_bytes()
    assert [generation(keybag) for keybag in (*begun, confirmed)] == [1, 2]
    (nobody.vault / "keybag.copy").unlink()
    nobody.write(nobody.keybag, begun[0])
    shadow(nobody, "$6$salt$hash")
    daemon.needed = needed(2)
    daemon.packets.clear()
    run = nobody.start(OPEN)
    await_argon2id(run)
    nobody.write(nobody.vault / "vault.db", b"rows")
    nobody.write(nobody.keybag, confirmed)
    assert run.result() == UNLOCKED
    assert operations(daemon) == [HELLO, DEVICE_SECRET, DEVICE_SECRET, ROTATE_OPERATION, NEEDED_EPOCH]
    assert (bag(nobody).kinds, bag(nobody).epochs) == ([PASSWORD_KIND], [2])
    assert nobody.run(AUTHENTICATE) == UNLOCKED


def test_another_login_sets_the_first_password_in_the_same_moment(passwordless):
    person, daemon = passwordless
    before = person.keybag.read_bytes()
    shadow(person, "$6$salt$hash")
    daemon.needed = needed(2)
    assert person.run(OPEN) == UNLOCKED
    after = person.keybag.read_bytes()
    person.write(person.keybag, before)
    run = person.start(OPEN, token="another")
    await_argon2id(run)
    person.write(person.keybag, after)
    assert run.result() == OVERTAKEN
    assert person.keybag.read_bytes() == after and person.run(AUTHENTICATE) == UNLOCKED


@pytest.mark.night("login")
@pytest.mark.parametrize("when", [DEVICE_SECRET, ROTATE_OPERATION, NEEDED_EPOCH])
def test_killed_while_the_first_password_is_set(passwordless, when):
    person, daemon = passwordless
    before = person.keybag.read_bytes()
    shadow(person, "$6$salt$hash")
    daemon.needed = needed(2)
    running = []

    def kill(operation):
        if operation == when and running:
            os.kill(running.pop().worker, signal.SIGKILL)

    daemon.on_request = kill
    run = person.start(OPEN, known=running.append)
    assert run.end() == b"" and run.process.returncode == -signal.SIGKILL
    # The vault is as before, or has the password and all keys. It always has a way in.
    if when == DEVICE_SECRET:
        assert person.keybag.read_bytes() == before
    else:
        assert (bag(person).kinds, bag(person).epochs) == ([PASSWORD_KIND], [1, 2])
    assert person.run(OPEN) == UNLOCKED
    assert (bag(person).kinds, bag(person).epochs) == ([PASSWORD_KIND], [2])
    assert person.run(AUTHENTICATE) == UNLOCKED


def test_a_daemon_that_still_looks_at_its_database_holds_up_no_first_password(passwordless):
    """The login has just started the daemon, and the daemon still checks the database. It may be the only login before the daemon
    ends."""
    person, daemon = passwordless
    shadow(person, "$6$salt$hash")
    daemon.may_rotate = declined("the vault is still being checked; try again in a moment")
    daemon.outcome = UNLOCK_REFUSED
    assert person.run(OPEN) == BEGUN
    assert (bag(person).kinds, bag(person).epochs) == ([PASSWORD_KIND], [1, 2])


def test_the_first_password_leaves_no_recovery_code_that_anybody_could_have_made(passwordless):
    person, daemon = passwordless
    result, text = create(person, token="")
    assert result == UNLOCKED and person.run(CHECK_CODE, token=text.strip()) == UNLOCKED
    shadow(person, "$6$salt$hash")
    daemon.needed = needed(2)
    assert person.run(OPEN) == UNLOCKED
    assert bag(person).kinds == [PASSWORD_KIND]
    assert person.run(CHECK_CODE, token=text.strip()) == WRONG_PASSWORD


@pytest.mark.parametrize("operation", [OPEN, RECOVER])
def test_the_first_password_does_not_wait_for_former_keys(passwordless, operation):
    """Otherwise somebody who once had the unlocked vault could keep it without a password."""
    person, daemon = passwordless
    for _ in range(7):
        assert person.run(ROTATE, token="") == UNLOCKED
    _, text = create(person, token="")
    tiers = daemon.deliveries[-1]
    shadow(person, "$6$salt$hash")
    if operation == OPEN:
        assert person.run(OPEN) == TOO_MANY_EPOCHS
        assert bag(person).kinds == [PASSWORD_KIND] and operations(daemon)[-1] == STATUS
    else:
        assert person.run(RECOVER, token=text.strip(), password=PASSWORD, service="latchkey-unlock") == UNLOCKED
        assert bag(person).kinds == [PASSWORD_KIND, CODE_KIND]
    assert bag(person).epochs == list(range(1, 9))
    assert person.run(AUTHENTICATE) == UNLOCKED and daemon.deliveries[-1].unlocked == tiers.unlocked
    assert person.run(AUTHENTICATE, token="another") == WRONG_PASSWORD


def test_the_code_of_a_vault_without_a_password_brings_the_first_one(passwordless):
    person, daemon = passwordless
    result, text = create(person, token="")
    assert result == UNLOCKED and bag(person).kinds == [DEVICE_KIND, CODE_KIND]
    daemon.device_secret, daemon.needed = declined(), needed(2)
    assert person.run(RECOVER, token=text.strip(), password=PASSWORD, service="latchkey-unlock") == UNLOCKED
    after = bag(person)
    assert (after.kinds, after.epochs) == ([PASSWORD_KIND, CODE_KIND], [2])
    assert person.run(CHECK_CODE, token=text.strip()) == UNLOCKED
    shadow(person, "$6$salt$hash")
    assert person.run(AUTHENTICATE) == UNLOCKED


# ---- the password is removed ----


def test_a_password_that_is_removed_gives_way_to_the_device_key(closing):
    person, daemon = closing
    assert person.run(AUTHENTICATE) == UNLOCKED
    former = bag(person).generation
    before = daemon.deliveries.pop()
    daemon.packets.clear()
    assert person.run(REMOVE_PASSWORD) == PASSWORDLESS
    assert operations(daemon) == [DEVICE_SECRET, DESTROY] and daemon.destructions == [True]
    keybag, after = person.keybag.read_bytes(), bag(person)
    assert (after.kinds, after.epochs, after.generation) == ([DEVICE_KIND], [1], former + 1)
    assert daemon.wanted == [(NEW, keybag[12:28], keybag[PROTECTOR])] and keybag[SEALED] == daemon.wrapping
    assert person.run(AUTHENTICATE) == WRONG_PASSWORD
    # The device key leads to the same root key and tier keys.
    assert person.run(ROTATE, token="") == UNLOCKED
    assert daemon.deliveries[-1].former == [(1, before.unlocked, before.session)]
    # The second removal has nothing to change, whatever password it gets.
    keybag = person.keybag.read_bytes()
    for token in ("", PASSWORD, "another"):
        assert person.run(REMOVE_PASSWORD, token=token) == PASSWORDLESS
    assert person.keybag.read_bytes() == keybag and daemon.destructions == [True] * 4


@pytest.mark.parametrize("field", [None, ...], ids=["absent", "no file"])
def test_a_removal_is_believed_of_an_account_that_only_others_know(closing, field):
    person, daemon = closing
    shadow(person, field)
    assert person.run(REMOVE_PASSWORD) == PASSWORDLESS
    assert bag(person).kinds == [DEVICE_KIND] and daemon.destructions == [True]


@pytest.mark.parametrize("token, expected", [("", PASSWORDLESS), ("another", WRONG_PASSWORD)])
def test_without_the_old_password_the_keybag_stays_but_what_hangs_on_it_ends(closing, new_keybag, token, expected):
    person, daemon = closing
    assert person.run(REMOVE_PASSWORD, token=token) == expected
    assert person.keybag.read_bytes() == new_keybag and daemon.destructions == [True] and daemon.wanted == []


@pytest.mark.parametrize("field", ["!", "*", "x", "$6$salt$hash", "!$6$salt$hash"])
def test_nothing_is_removed_where_the_system_says_that_there_is_a_password(closing, new_keybag, field):
    person, daemon = closing
    shadow(person, field)
    for token in (PASSWORD, ""):
        assert person.run(REMOVE_PASSWORD, token=token) == NOTHING_NEEDED
    assert person.keybag.read_bytes() == new_keybag and daemon.packets == []


@pytest.mark.parametrize("answer, expected", [(declined(), REFUSED), (HANG_UP, DAEMON_SILENT), (b"\2\30", DAEMON_SILENT)])
def test_a_removal_without_a_device_key_keeps_the_old_password(closing, new_keybag, answer, expected):
    person, daemon = closing
    daemon.device_secret = answer
    assert person.run(REMOVE_PASSWORD) == expected
    assert person.keybag.read_bytes() == new_keybag
    assert daemon.destructions == ([] if answer == HANG_UP else [True])


def test_a_removal_without_a_vault_or_a_daemon(nobody, new_keybag):
    assert nobody.run(REMOVE_PASSWORD, runtime="/nowhere") == NO_VAULT
    assert list(nobody.home.iterdir()) == []
    nobody.created_before(new_keybag)
    assert nobody.run(REMOVE_PASSWORD, runtime="/nowhere") == NO_DAEMON
    assert nobody.keybag.read_bytes() == new_keybag
    daemon = nobody.daemon()
    nobody.write(nobody.keybag, new_keybag[:-1] + bytes([new_keybag[-1] ^ 1]))
    assert nobody.run(REMOVE_PASSWORD) == DAMAGED and daemon.destructions == [True]


@pytest.mark.parametrize("when", [DEVICE_SECRET, DESTROY])
def test_killed_while_the_password_is_removed(closing, new_keybag, when):
    person, daemon = closing
    running = []

    def kill(operation):
        if operation == when and running:
            os.kill(running.pop().worker, signal.SIGKILL)

    daemon.on_request = kill
    run = person.start(REMOVE_PASSWORD, known=running.append)
    assert run.end() == b"" and run.process.returncode == -signal.SIGKILL
    assert bag(person).kinds == ([PASSWORD_KIND] if when == DEVICE_SECRET else [DEVICE_KIND])
    assert (person.keybag.read_bytes() == new_keybag) == (when == DEVICE_SECRET)
    assert person.run(OPEN, token="") == PASSWORDLESS and daemon.destructions[-1]


# ---- commands ----


def test_new_keys_without_a_password(passwordless):
    person, daemon = passwordless
    old, wrapping = person.keybag.read_bytes(), daemon.wrapping
    daemon.needed = needed(2)
    assert person.run(ROTATE, token="") == UNLOCKED
    keybag, after = person.keybag.read_bytes(), bag(person)
    assert operations(daemon) == [MAY_ROTATE, DEVICE_SECRET, DEVICE_SECRET, ROTATE_OPERATION, NEEDED_EPOCH]
    assert daemon.wanted == [(PRESENT, bytes(16), bytes(16)), (NEW, old[12:28], keybag[PROTECTOR])]
    assert (after.kinds, after.epochs, after.generation) == ([DEVICE_KIND], [2], generation(old) + 2)
    assert keybag[SEALED] == daemon.wrapping != wrapping and keybag[PROTECTOR] != old[PROTECTOR]
    assert len(daemon.deliveries[0].former) == 1
    # The secret of the old keybag no longer opens anything.
    daemon.wrapping = wrapping
    assert person.run(ROTATE, token="") == WRONG_PASSWORD


@pytest.mark.parametrize("name, answer, expected", [
    ("may_rotate", declined(), REFUSED), ("device_secret", declined(), REFUSED), ("device_secret", HANG_UP, DAEMON_SILENT)])
def test_no_new_keys_where_the_daemon_declines(passwordless, name, answer, expected):
    person, daemon = passwordless
    before = person.keybag.read_bytes()
    setattr(daemon, name, answer)
    assert person.run(ROTATE, token="") == expected
    assert person.keybag.read_bytes() == before and daemon.deliveries == []


def test_as_many_generations_as_a_keybag_has_without_a_password(passwordless):
    person, daemon = passwordless
    for number in range(2, 9):
        assert person.run(ROTATE, token="") == UNLOCKED
        assert bag(person).epochs == list(range(1, number + 1))
    before = person.keybag.read_bytes()
    assert person.run(ROTATE, token="") == TOO_MANY_EPOCHS
    assert person.keybag.read_bytes() == before


def test_recovery_codes_without_a_password(passwordless):
    person, daemon = passwordless
    result, text = create(person, token="")
    assert result == UNLOCKED and len(text.strip()) == 41 and bag(person).kinds == [DEVICE_KIND, CODE_KIND]
    assert daemon.wanted == [(PRESENT, bytes(16), bytes(16))]
    assert person.run(CHECK_CODE, token=text.strip()) == UNLOCKED
    assert person.run(ROTATE, token="") == UNLOCKED
    assert person.run(CHECK_CODE, token=text.strip()) == UNLOCKED
    assert person.run(REMOVE_CODE, token="") == UNLOCKED and bag(person).kinds == [DEVICE_KIND]
    assert person.run(REMOVE_CODE, token="") == NOTHING_NEEDED
    before = person.keybag.read_bytes()
    daemon.device_secret = declined()
    for operation in (CREATE_CODE, REMOVE_CODE):
        assert person.run(operation, token="", flags=ANYWHERE) == REFUSED
        assert person.run(operation, token="", flags=ANYWHERE, runtime="/nowhere") == NO_DAEMON
    assert person.keybag.read_bytes() == before


def test_an_empty_password_opens_no_vault_that_has_one(resident, new_keybag):
    daemon = resident.daemon()
    # The login has no password, but a missing password is no way in.
    shadow(resident, "")
    for operation in (ROTATE, CREATE_CODE, REMOVE_CODE):
        assert resident.run(operation, token="", flags=ANYWHERE) == WRONG_PASSWORD
    assert resident.run(AUTHENTICATE, token="") == BAD_REQUEST
    assert resident.keybag.read_bytes() == new_keybag and daemon.deliveries == [] and daemon.wanted == []
