"""latchkey-derive at a change of the login password, with Latchkey and without it."""

import contextlib
import fcntl
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import time

import pytest
from support import creation
from support.derive import (
    ADD_SESSION, ANYWHERE, AUTHENTICATE, BAD_REQUEST, BEGUN, CHANGE_PASSWORD, CREATE_CODE, DAMAGED, ENVIRONMENT, HOME_UNAVAILABLE,
    NO_DAEMON, NO_CREATE, NO_DEVICE_KEY, NO_MEMORY, NO_VAULT, NOTHING_NEEDED, OPEN, OVERTAKEN, PASSWORD, PERSON, RECOVER, REFUSED,
    REMOVE_CODE, REMOVE_SESSION, REWRAP, ROTATE, UNLOCKED, WRONG_PASSWORD, as_root,
)
from support.pace import Limit
from support.standin import (
    LIVE, NOTHING, REFUSED as NEED_REFUSED, STAGED, UNLOCK as UNLOCK_WITH_TIERS, UNLOCK_REFUSED, UNUSABLE, WRONG_KEYS, declined, status,
)
from test_derive import generation
from test_derive_rotate import create

NEW, THIRD = "the new one ü", "a third"
UNPROVEN, PROVEN = 0, 1
SEALED, LOCKED = 0, 2
UNLOCK = "latchkey-unlock"
WEEK = 7 * 86400


def protectors(person):
    """The kind, the state and the last time of each protector."""
    content = person.keybag.read_bytes()
    at, found = 45, []
    for _ in range(content[44]):
        kind, state, _, _, until = struct.unpack_from("<BB16sQQ", content, at)
        found.append((kind, state, until))
        at += 96 + struct.unpack_from("<H", content, at + 94)[0]
    return found


def states(person):
    return [state for kind, state, _ in protectors(person) if kind == 1]


def change(person, new=NEW, former=PASSWORD, service="passwd", **fields):
    return person.run(CHANGE_PASSWORD, token=new, password=former, service=service, **fields)


def opens(person, *passwords):
    """Whether each password opens the vault. This changes nothing."""
    return [person.run(AUTHENTICATE, token=password, service="login") == UNLOCKED for password in passwords]


@pytest.fixture
def changed(resident):
    """A person whose password was changed. No login has followed yet."""
    resident.daemon()
    assert resident.run(OPEN) == UNLOCKED and states(resident) == [PROVEN]
    resident.daemons.pop().close()
    assert change(resident) == UNLOCKED
    return resident


# ---- a change of password that Latchkey sees ----


def test_without_a_daemon_both_open_from_then_on(changed):
    assert states(changed) == [UNPROVEN, PROVEN] and 0 < protectors(changed)[0][2] and protectors(changed)[1][2] == 0
    daemon = changed.daemon()
    before = changed.keybag.read_bytes()
    assert opens(changed, NEW, PASSWORD, THIRD) == [True, True, False]
    assert changed.keybag.read_bytes() == before, "an authentication that a session may follow changes nothing"
    first, second = daemon.deliveries
    assert (first.unlocked, first.session) == (second.unlocked, second.session)
    assert not any(word.encode() in before for word in (NEW, PASSWORD))


def test_the_login_that_uses_it_ends_the_former_one(changed):
    daemon = changed.daemon()
    assert changed.run(OPEN, token=NEW) == UNLOCKED
    assert protectors(changed) == [(1, PROVEN, 0)]
    assert opens(changed, NEW, PASSWORD) == [True, False]
    assert daemon.notes == 1, "the former one is another password now"


def test_a_login_with_the_former_one_leaves_both_for_a_week(changed):
    changed.daemon()
    assert changed.run(OPEN) == UNLOCKED
    assert states(changed) == [UNPROVEN, PROVEN]


def clock(folder, seconds):
    """A library that sets the clock forward by so many seconds."""
    library, source = folder / f"clock{seconds}.so", folder / "clock.c"
    source.write_text(
        "#include <time.h>\n#include <dlfcn.h>\n#include <stddef.h>\n"
        "int clock_gettime(clockid_t c, struct timespec *t) {\n"
        "  int r = ((int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, \"clock_gettime\"))(c, t);\n"
        f"  if (c == CLOCK_REALTIME) t->tv_sec += {seconds};\n  return r;\n}}\n"
        f"time_t time(time_t *p) {{ time_t t = ((time_t (*)(time_t *))dlsym(RTLD_NEXT, \"time\"))(NULL) + {seconds};"
        "if (p) *p = t; return t; }\n")
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, source], check=True)
    library.chmod(0o755)
    return library


@as_root
def test_after_a_week_of_the_former_one_the_new_one_ends(changed, folder):
    daemon = changed.daemon()
    assert preloaded(changed, clock(folder, WEEK), OPEN).result() == UNLOCKED
    assert states(changed) == [PROVEN] and opens(changed, PASSWORD, NEW) == [True, False]
    assert daemon.notes == 1


@pytest.mark.parametrize("outcome, left", [(UNLOCK_REFUSED, 2), (UNUSABLE, 2), (WRONG_KEYS, 2), (STAGED, 1), (LIVE, 1)])
def test_only_keys_that_were_taken_prove_a_password(changed, outcome, left):
    changed.daemon().outcome = outcome
    changed.run(OPEN, token=NEW)
    assert len(states(changed)) == left


@pytest.mark.parametrize("service, state, left", [
    ("i3lock", LOCKED, 1), ("i3lock", SEALED, 2), ("login", SEALED, 2), (UNLOCK, SEALED, 2), (UNLOCK, LOCKED, 2)])
def test_a_locker_proves_it_as_no_session_follows(changed, service, state, left):
    changed.daemon().status = status(state=state)
    assert changed.run(AUTHENTICATE, token=NEW, service=service) == UNLOCKED
    assert len(states(changed)) == left
    assert opens(changed, PASSWORD) == [left == 2]


@as_root
def test_a_prompt_proves_it_when_it_is_a_day_old(changed, folder):
    """A younger protector may belong to another factor's code."""
    changed.daemon()
    for seconds, left in ((86_300, 2), (86_500, 1)):
        fields = {"token": NEW, "service": UNLOCK}
        assert preloaded(changed, clock(folder, seconds), AUTHENTICATE, **fields).result() == UNLOCKED
        assert len(states(changed)) == left
    assert opens(changed, PASSWORD, NEW) == [False, True]


def test_new_keys_hang_on_no_password_that_may_be_a_code(changed):
    changed.daemon()
    before = changed.keybag.read_bytes()
    assert changed.run(ROTATE, token=NEW) == REFUSED and changed.keybag.read_bytes() == before
    assert changed.run(ROTATE) == UNLOCKED and states(changed) == [PROVEN]


def test_a_locker_proves_nothing_of_the_only_password(resident):
    resident.daemon().status = status(state=LOCKED)
    before = protectors(resident)
    assert resident.run(AUTHENTICATE, service="i3lock") == UNLOCKED
    assert protectors(resident) == before and states(resident) == [UNPROVEN]


# ---- before there is a database ----


def test_before_there_is_a_database_the_generation_stays(resident):
    """A missing database is no loss yet. With a later generation it would be a loss."""
    assert change(resident) == UNLOCKED and (generation(resident.keybag.read_bytes()), len(states(resident))) == (1, 2)
    assert change(resident, THIRD, NEW) == UNLOCKED and (generation(resident.keybag.read_bytes()), len(states(resident))) == (1, 3)
    (resident.vault / "vault.db").write_bytes(b"")
    assert change(resident, "a fourth", THIRD) == UNLOCKED and (generation(resident.keybag.read_bytes()), len(states(resident))) == (2, 4)


@pytest.mark.parametrize("operation, service", [(OPEN, "login"), (AUTHENTICATE, "i3lock"), (AUTHENTICATE, UNLOCK)])
def test_keys_that_were_taken_end_the_first_generation(resident, operation, service):
    """The daemon makes a database when it accepts the keys. After that, a missing database is a loss."""
    resident.daemon()
    assert resident.run(operation, service=service) == UNLOCKED and generation(resident.keybag.read_bytes()) == 2


@pytest.mark.night("login")
@pytest.mark.parametrize("operation", [OPEN, AUTHENTICATE, REWRAP])
def test_a_password_that_is_chosen_while_the_daemon_makes_the_database_stays(resident, operation):
    daemon, chosen = resident.daemon(), []

    def choose(request):
        if request == UNLOCK_WITH_TIERS and not chosen:
            chosen.append(change(resident))
            (resident.vault / "vault.db").write_bytes(b"")

    daemon.on_request = choose
    fields = {"token": THIRD, "password": PASSWORD, "service": UNLOCK} if operation == REWRAP else {}
    assert resident.run(operation, **fields) == UNLOCKED and chosen == [UNLOCKED]
    assert generation(resident.keybag.read_bytes()) == 2 and opens(resident, NEW, PASSWORD) == [True, True]
    assert operation != REWRAP or opens(resident, THIRD) == [True]


def held(run, person):
    """The files of the vault's folder that the helper has open while it computes. An open file would prevent unmounting the
    home."""
    await_argon2id(run)
    return [name for file in run.open_files() if (name := os.readlink(file)).startswith(str(person.vault))]


@pytest.mark.parametrize("operation, fields, result", [
    (AUTHENTICATE, {}, UNLOCKED), (CHANGE_PASSWORD, dict(token=NEW, password=PASSWORD, service="passwd"), UNLOCKED),
    (REWRAP, dict(token=NEW, password=PASSWORD, service=UNLOCK), UNLOCKED), (ROTATE, {}, BEGUN), (CREATE_CODE, {}, UNLOCKED),
    (REMOVE_CODE, {}, NOTHING_NEEDED), (ADD_SESSION, {}, NO_DEVICE_KEY), (REMOVE_SESSION, {}, NOTHING_NEEDED)],
    ids=["authenticate", "change", "rewrap", "rotate", "create a code", "remove the code", "add a session", "remove the session"])
def test_the_folder_is_not_held_while_a_password_is_checked(resident, operation, fields, result):
    daemon = resident.daemon()
    if operation == ROTATE:
        daemon.outcome = UNLOCK_REFUSED
    run = resident.start(operation, flags=ANYWHERE, options={"stdout": subprocess.DEVNULL}, **fields)
    assert held(run, resident) == [] and run.result() == result


def test_the_folder_is_not_held_while_a_password_is_derived_for_a_code(resident):
    _, text = create(resident)
    resident.daemon()
    run = resident.start(RECOVER, token=text.strip(), password=NEW, service=UNLOCK)
    assert held(run, resident) == [] and run.result() == UNLOCKED
    assert opens(resident, NEW) == [True]


@pytest.mark.parametrize("operation, service", [(OPEN, "login"), (AUTHENTICATE, "i3lock")])
def test_what_may_be_no_login_password_proves_none(changed, operation, service):
    changed.daemon().status = status(state=LOCKED)
    assert changed.run(operation, token=NEW, service=service, flags=NO_CREATE) == UNLOCKED
    assert states(changed) == [UNPROVEN, PROVEN] and opens(changed, PASSWORD) == [True]
    assert changed.run(operation, token=NEW, service=service) == UNLOCKED and states(changed) == [PROVEN]


def test_a_daemon_that_does_not_say_how_it_is_still_gets_keys(changed):
    daemon = changed.daemon()
    daemon.status = declined()
    assert opens(changed, NEW) == [True] and len(daemon.deliveries) == 1
    assert states(changed) == [UNPROVEN, PROVEN]


@pytest.mark.night("login")
def test_chosen_again_its_week_begins_again(changed):
    (_, _, before), _ = protectors(changed)
    # The clock counts only whole seconds.
    while int(time.time()) + WEEK <= before:
        time.sleep(0.05)
    assert change(changed) == UNLOCKED
    assert states(changed) == [UNPROVEN, PROVEN] and protectors(changed)[0][2] > before
    assert change(changed, THIRD) == UNLOCKED and change(changed) == UNLOCKED
    assert states(changed) == [UNPROVEN, UNPROVEN, PROVEN]
    changed.daemon()
    assert opens(changed, NEW, THIRD, PASSWORD) == [True] * 3
    assert changed.run(OPEN, token=NEW) == UNLOCKED and states(changed) == [PROVEN]


def test_nothing_to_do(changed):
    before = changed.keybag.read_bytes()
    assert change(changed, new=PASSWORD) == NOTHING_NEEDED, "the same"
    assert change(changed, new=PASSWORD, former=NEW) == NOTHING_NEEDED, "back again"
    assert changed.keybag.read_bytes() == before


@pytest.mark.night("login")
def test_the_former_one_is_not_the_vaults(changed):
    before = changed.keybag.read_bytes()
    assert change(changed, THIRD, "wrong") == WRONG_PASSWORD
    daemon = changed.daemon()
    assert change(changed, THIRD, "wrong") == WRONG_PASSWORD
    assert daemon.notes == 1 and daemon.hellos == [] and changed.keybag.read_bytes() == before
    assert change(changed, THIRD, "wrong", flags=NO_CREATE) == WRONG_PASSWORD and daemon.notes == 1


@pytest.mark.night("login")
def test_back_to_what_the_vault_knows_is_no_news(changed):
    """The password was changed elsewhere, and then the person changed it back to the one before."""
    daemon, before = changed.daemon(), changed.keybag.read_bytes()
    assert change(changed, PASSWORD, "set by root") == NOTHING_NEEDED
    assert daemon.notes == 0 and changed.keybag.read_bytes() == before
    # A password that no login has used yet becomes the newest again.
    assert change(changed, THIRD, PASSWORD) == UNLOCKED
    last = protectors(changed)[0]
    assert change(changed, NEW, "set by root") == UNLOCKED
    assert protectors(changed)[1] == last and states(changed) == [UNPROVEN, UNPROVEN, PROVEN]
    assert changed.run(OPEN, token=NEW) == UNLOCKED and opens(changed, THIRD, NEW, PASSWORD) == [False, True, False]
    assert daemon.notes == 2


@pytest.mark.night("login")
def test_at_most_four(changed):
    changed.daemon()
    for number in range(3):
        former = NEW if number == 0 else f"number {number - 1}"
        assert change(changed, f"number {number}", former) == UNLOCKED
    # The last three passwords, and the proven password.
    assert states(changed) == [UNPROVEN] * 3 + [PROVEN]
    assert opens(changed, PASSWORD, NEW, "number 2") == [True, False, True]


def test_without_a_vault_or_with_a_damaged_one(login, new_keybag):
    assert change(login) == NO_VAULT
    assert list(login.home.iterdir()) == []
    login.created_before(new_keybag[:-1] + bytes([new_keybag[-1] ^ 1]))
    assert change(login) == DAMAGED


@pytest.mark.parametrize("operation", [CHANGE_PASSWORD, REWRAP])
@pytest.mark.parametrize("fields", [
    {}, {"password": ""}, {"password": "x" * 4097}, {"token": "", "password": "x"}, {"token": "x" * 4097, "password": "x"}])
def test_malformed_requests(resident, new_keybag, operation, fields):
    resident.daemon()
    assert resident.run(operation, **fields) == BAD_REQUEST
    assert resident.keybag.read_bytes() == new_keybag


@pytest.mark.night("login")
def test_the_longest_passwords(changed):
    changed.daemon()
    assert change(changed, "n" * 4096, NEW) == UNLOCKED
    assert change(changed, "m" * 4096, "n" * 4096) == UNLOCKED
    assert opens(changed, "m" * 4096, "m" * 4095) == [True, False]


def test_no_memory_changes_nothing(resident, new_keybag):
    limited = lambda: resource.setrlimit(resource.RLIMIT_AS, (100 << 20, 100 << 20))
    run = resident.start(CHANGE_PASSWORD, token=NEW, password=PASSWORD, options=dict(preexec_fn=limited))
    assert run.result() == NO_MEMORY and resident.keybag.read_bytes() == new_keybag


# ---- interrupted ----


def preloaded(person, library, operation, number=0, **fields):
    """The helper with a library before libc's, as the user. A helper that becomes another user would lose the library."""
    ENVIRONMENT.update(LD_PRELOAD=str(library), LATCHKEY_KILL_AT=str(number))
    try:
        return person.start(operation, **fields)
    finally:
        del ENVIRONMENT["LD_PRELOAD"], ENVIRONMENT["LATCHKEY_KILL_AT"]


@pytest.fixture(scope="module")
def killer(folder):
    library = folder / "killat.so"
    source = pathlib.Path(__file__).parent / "killat.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    library.chmod(0o755)
    return library


def kill_everywhere(person, killer, prepare, operation, check, **fields):
    """Runs the helper again and again, and kills each run one call later, until a run finishes. Returns the number of killed
    runs."""
    for number in range(1, 50):
        prepare()
        run = preloaded(person, killer, operation, number, **fields)
        answer = run.end()
        check(answer != b"")
        if answer:
            assert run.process.returncode == 0
            return number - 1
        assert run.process.returncode == -signal.SIGKILL
    raise AssertionError("it never came through")


def test_a_change_that_is_killed_anywhere_leaves_the_former_one(resident, new_keybag, killer):
    resident.daemon()

    def check(is_done):
        if resident.keybag.read_bytes() == new_keybag:
            assert not is_done
            # The leftovers do no harm.
            assert change(resident) == UNLOCKED
        assert opens(resident, PASSWORD, NEW) == [True, True]
        assert {path.name for path in resident.vault.iterdir()} <= {"keybag", "keybag.copy", "keybag.lock"}

    killed = kill_everywhere(
        resident, killer, lambda: resident.write(resident.keybag, new_keybag), CHANGE_PASSWORD, check, token=NEW,
        password=PASSWORD, service="passwd")
    # The change takes these steps: remove leftovers, write, synchronise, rename, synchronise the folder.
    assert killed >= 4


def await_argon2id(run):
    """Waits until the helper computes. By then it has its request, and the memory of Argon2id."""
    limit = Limit(20)
    while int(re.search(rb"VmRSS:\s+(\d+)", run.proc("status"))[1]) < 32 << 10:
        assert not limit.is_over
        time.sleep(0.002)


def test_it_goes_on_where_the_program_is_killed_that_changes_the_password(resident):
    child = os.fork()
    if child == 0:
        try:
            await_argon2id(resident.start(CHANGE_PASSWORD, token=NEW, password=PASSWORD, service="passwd"))
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    limit = Limit(20)
    while len(states(resident)) == 1 and not limit.is_over:
        time.sleep(0.05)
    resident.daemon()
    assert opens(resident, NEW, PASSWORD) == [True, True]


@pytest.mark.night("login")
def test_a_login_that_is_killed_anywhere_leaves_the_password_that_it_used(changed, killer):
    both = changed.keybag.read_bytes()
    changed.daemon()

    def check(is_done):
        assert opens(changed, NEW) == [True]
        assert states(changed) in ([[PROVEN]] if is_done else [[UNPROVEN, PROVEN], [PROVEN]])
        assert changed.run(OPEN, token=NEW) == UNLOCKED and states(changed) == [PROVEN]

    killed = kill_everywhere(
        changed, killer, lambda: changed.write(changed.keybag, both), OPEN, check, token=NEW)
    assert killed >= 4


def test_the_daemon_ends_the_work_on_the_present_password_as_that_on_the_former_one(resident):
    """The daemon ends the helper before the machine sleeps. A recovery code needs no Argon2id, so the helper already works on the
    present password."""
    daemon = resident.daemon()
    _, code = create(resident)
    before = resident.keybag.read_bytes()
    run = resident.start(REWRAP, token=NEW, password=code.strip(), service=UNLOCK)
    await_argon2id(run)
    worker = run.worker
    os.kill(worker, signal.SIGSTOP)
    daemon.hang_up()
    os.kill(worker, signal.SIGCONT)
    run.end()
    assert run.process.returncode == -signal.SIGTERM
    assert daemon.deliveries == [] and resident.keybag.read_bytes() == before


def test_the_late_signal_of_an_answer_that_was_read_ends_nothing(resident):
    """The kernel wakes the reader before it sends the signal. Here the test sends the signal, and no answer has come."""
    # The wait is long enough for the signals, even on a busy machine.
    resident.write(resident.keybag, creation.keybag(PASSWORD, passes=10, memory=128 << 20))
    daemon = resident.daemon()
    run = resident.start(OPEN)
    await_argon2id(run)
    worker = run.worker
    for number in (signal.SIGSTOP, signal.SIGIO, signal.SIGCONT):
        os.kill(worker, number)
    assert run.result() == UNLOCKED and len(daemon.deliveries) == 1


@as_root
@pytest.mark.parametrize("operation, token, second", [(CHANGE_PASSWORD, NEW, PASSWORD), (REWRAP, NEW, PASSWORD)])
def test_a_full_disk_changes_nothing(resident, operation, token, second):
    place = resident.vault
    keybag = resident.keybag.read_bytes()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k,mode=0700", "latchkey-test", place], check=True)
    try:
        os.chown(place, PERSON.pw_uid, PERSON.pw_gid)
        resident.write(resident.keybag, keybag)
        (place / "filler").write_bytes(b"x" * 12288)
        resident.daemon()
        assert resident.run(operation, token=token, password=second, service=UNLOCK) == HOME_UNAVAILABLE
        assert resident.keybag.read_bytes() == keybag and opens(resident, PASSWORD, NEW) == [True, False]
        (place / "filler").unlink()
        assert resident.run(operation, token=token, password=second, service=UNLOCK) == UNLOCKED
        assert opens(resident, NEW) == [True]
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture(scope="module")
def counter(folder):
    """A library that writes a byte to a file for each tried password. The machine's speed is measured with zeros, which do not
    count as a password."""
    source = folder / "count.c"
    source.write_text("""
        #include <dlfcn.h>
        #include <fcntl.h>
        #include <stddef.h>
        #include <stdlib.h>
        #include <unistd.h>
        typedef unsigned long long ull;
        typedef int derive(unsigned char *, ull, const char *, ull, const unsigned char *, ull, size_t, int);
        int crypto_pwhash(unsigned char *o, ull on, const char *p, ull pn, const unsigned char *s, ull t, size_t m, int a) {
          if (p[0] != 0) {
            int file = open(getenv("LATCHKEY_COUNT"), O_WRONLY | O_APPEND | O_CLOEXEC);
            if (write(file, "x", 1) != 1) abort();
            close(file);
          }
          return ((derive *)dlsym(RTLD_NEXT, "crypto_pwhash"))(o, on, p, pn, s, t, m, a);
        }
    """)
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-O1", "-o", folder / "count.so", source], check=True)
    (folder / "count.so").chmod(0o755)
    return folder / "count.so"


class Counted:
    """A run of the helper that counts the tried passwords."""

    def __init__(self, person, counter, operation, **fields):
        self.file = person.folder / "count"
        self.file.write_bytes(b"")
        self.file.chmod(0o666)
        ENVIRONMENT["LATCHKEY_COUNT"] = str(self.file)
        self.run = preloaded(person, counter, operation, **fields)
        del ENVIRONMENT["LATCHKEY_COUNT"]

    @property
    def result(self):
        return self.run.result(), self.file.stat().st_size


def test_what_was_refused_costs_the_login_nothing(changed, counter):
    changed.daemon()
    assert change(changed, THIRD) == UNLOCKED and change(changed, "a fourth") == UNLOCKED
    assert states(changed) == [UNPROVEN] * 3 + [PROVEN]
    assert Counted(changed, counter, OPEN).result == (UNLOCKED, 1)
    assert Counted(changed, counter, AUTHENTICATE, token="a fourth").result == (UNLOCKED, 2)
    assert Counted(changed, counter, AUTHENTICATE, token="another").result == (WRONG_PASSWORD, 4)
    # Argon2id runs five times: to open the keybag, to compare with the other three protectors, and for the new password.
    assert Counted(changed, counter, CHANGE_PASSWORD, token="a fifth", password=PASSWORD).result == (UNLOCKED, 5)
    # Argon2id runs four times: for the password that opens the keybag, for the new password, and twice for the next login, which
    # tries the proven password before the new one.
    assert Counted(changed, counter, REWRAP, token="a sixth", password=PASSWORD, service=UNLOCK).result == (UNLOCKED, 4)


def overtake(resident, run):
    """Writes another keybag after the run has read the keybag, and before it writes its own."""
    present = resident.keybag.read_bytes()
    generation = struct.unpack_from("<Q", present, 28)[0]
    # A login would leave such a keybag: the same, one generation later. No other program can sign it. It is made beforehand,
    # because the run waits for the lock only for a limited time.
    other = next_generation(resident, present)
    assert struct.unpack_from("<Q", other, 28)[0] == generation + 1
    # The test holds the lock while the helper waits for it, and writes the other keybag meanwhile.
    with open(resident.vault / "keybag.lock", "r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run = run()
        # The helper opens the lock file after all computation.
        def waits():
            for file in run.open_files():
                # The helper may have closed the file meanwhile.
                with contextlib.suppress(FileNotFoundError):
                    if "keybag.lock" in os.readlink(file):
                        return True
            return False

        limit = Limit(10)
        while not waits() and not limit.is_over:
            time.sleep(0.005)
        resident.write(resident.keybag, other)
    return other


@pytest.mark.parametrize("operation, tries", [(CHANGE_PASSWORD, 2), (REWRAP, 4)])
def test_a_login_of_the_same_moment_is_no_reason_to_lose_the_change(resident, counter, operation, tries):
    """The keybag has changed between the helper's reading and writing. The helper tries no password again, because it has the
    time of one change only."""
    daemon = resident.daemon()
    assert resident.run(OPEN) == UNLOCKED
    counted = None

    def start():
        nonlocal counted
        counted = Counted(resident, counter, operation, token=NEW, password=PASSWORD, service=UNLOCK)
        return counted.run

    overtake(resident, start)
    assert counted.result == (UNLOCKED, tries)
    assert opens(resident, NEW, PASSWORD) == [True, True] and daemon.problems == []
    assert [kind for kind, _, _ in protectors(resident)] == [1, 1, 2], "what the other one has written is there"


def test_what_is_not_tried_again_says_so(resident):
    resident.daemon()
    assert resident.run(OPEN) == UNLOCKED
    other = overtake(resident, lambda: setattr(resident, "late", resident.start(ROTATE)) or resident.late)
    assert resident.late.result() == OVERTAKEN and resident.keybag.read_bytes() == other


def next_generation(person, present):
    """A keybag one generation later, made in a separate home."""
    place = person.folder / "aside"
    shutil.copytree(person.home, place)
    for path in [place, *place.rglob("*")]:
        os.chown(path, PERSON.pw_uid, PERSON.pw_gid)
    keybag = place / ".local/share/latchkey/keybag"
    keybag.write_bytes(present)
    pipe, theirs = os.pipe()
    with os.fdopen(theirs, "wb") as output:
        assert person.start(CREATE_CODE, home=place, flags=ANYWHERE, options={"stdout": output}).result() == UNLOCKED
    os.close(pipe)
    return keybag.read_bytes()


# ---- a change of password that Latchkey does not see ----


def rewrap(person, token=NEW, second=PASSWORD, **fields):
    return person.run(REWRAP, token=token, password=second, **{"service": UNLOCK} | fields)


@pytest.mark.parametrize("operation", [AUTHENTICATE, OPEN])
def test_the_daemon_hears_that_the_password_opens_nothing(resident, operation):
    daemon = resident.daemon()
    assert resident.run(operation, token=NEW) == WRONG_PASSWORD
    assert daemon.notes == 1 and daemon.deliveries == []
    assert resident.run(operation) == UNLOCKED and daemon.notes == 1
    assert resident.run(operation, token=NEW, flags=NO_CREATE) == WRONG_PASSWORD and daemon.notes == 1, "no news there"


def test_the_former_password_lets_the_present_one_open_it(resident):
    daemon = resident.daemon()
    assert rewrap(resident, prompt="7") == UNLOCKED
    assert daemon.hellos == [("authenticate", UNLOCK, "tty1", "")] and daemon.answered == [7]
    assert states(resident) == [UNPROVEN, UNPROVEN] and protectors(resident)[0][2] > 0
    assert opens(resident, NEW, PASSWORD) == [True, True]
    assert resident.run(OPEN, token=NEW) == UNLOCKED
    assert protectors(resident) == [(1, PROVEN, 0)] and opens(resident, NEW, PASSWORD) == [True, False]
    keys = [(delivery.unlocked, delivery.session) for delivery in daemon.deliveries]
    assert len(keys) == 5 and len(set(keys)) == 1
    assert not any(word.encode() in packet for packet in daemon.packets for word in (NEW, PASSWORD))


@pytest.mark.night("login")
@pytest.mark.parametrize("service", [UNLOCK, "login"])
def test_codes_that_serve_once_do_not_end_the_password_that_works(changed, service):
    """In latchkey-unlock, a second factor comes after the login password, so PAM leaves its code as the password."""
    changed.daemon()
    before = changed.keybag.read_bytes()
    assert rewrap(changed, "111111", flags=NO_CREATE, service=service) == REFUSED
    assert changed.keybag.read_bytes() == before
    for code in range(222222, 999999, 111111):
        assert rewrap(changed, str(code)) == UNLOCKED
    assert opens(changed, PASSWORD, "888888") == [True, True] and len(states(changed)) == 4
    assert changed.run(OPEN) == UNLOCKED and opens(changed, PASSWORD) == [True]


def test_of_several_former_ones_each_does_and_none_is_left(changed):
    changed.daemon()
    before = changed.keybag.read_bytes()
    for former in (PASSWORD, NEW):
        changed.write(changed.keybag, before)
        assert rewrap(changed, token=THIRD, second=former) == UNLOCKED
        assert opens(changed, THIRD, PASSWORD, NEW) == [True, True, True]
        assert changed.run(OPEN, token=THIRD) == UNLOCKED
        assert opens(changed, THIRD, PASSWORD, NEW) == [True, False, False]


def test_the_recovery_code_does_it_as_well_and_stays_valid(resident):
    result, text = create(resident)
    assert result == UNLOCKED
    code = text.strip()
    daemon = resident.daemon()
    assert rewrap(resident, second=code.lower()) == UNLOCKED
    assert [kind for kind, _, _ in protectors(resident)] == [1, 1, 2]
    assert resident.run(OPEN, token=NEW) == UNLOCKED
    assert opens(resident, NEW, PASSWORD) == [True, False]
    assert rewrap(resident, token=THIRD, second=code.replace("-", "")) == UNLOCKED
    assert resident.run(OPEN, token=THIRD) == UNLOCKED
    assert opens(resident, THIRD, NEW) == [True, False]
    assert not any(code.encode() in packet for packet in daemon.packets)
    # A password that looks like a code is still a password.
    assert change(resident, code, THIRD) == UNLOCKED
    assert rewrap(resident, second=code) == UNLOCKED


@pytest.mark.parametrize("second", ["wrong", PASSWORD + " ", "x" * 4096, "0" * 35])
def test_what_opens_nothing_changes_nothing(resident, new_keybag, second):
    daemon = resident.daemon()
    assert rewrap(resident, second=second) == WRONG_PASSWORD
    assert daemon.deliveries == [] and resident.keybag.read_bytes() == new_keybag


@pytest.mark.parametrize("need, outcome, expected", [
    (NEED_REFUSED, LIVE, REFUSED), (NOTHING, LIVE, NOTHING_NEEDED), (1, UNLOCK_REFUSED, REFUSED), (1, UNUSABLE, DAMAGED),
    (1, WRONG_KEYS, DAMAGED)])
def test_the_password_is_set_only_where_the_keys_opened_the_vault(resident, new_keybag, need, outcome, expected):
    daemon = resident.daemon()
    daemon.need, daemon.outcome = need, outcome
    assert rewrap(resident) == expected
    assert resident.keybag.read_bytes() == new_keybag


def test_without_the_daemon_nothing_is_rewrapped(resident, new_keybag):
    assert rewrap(resident) == NO_DAEMON
    assert resident.keybag.read_bytes() == new_keybag


@pytest.mark.night("login")
def test_rewrapping_that_is_killed_anywhere_leaves_what_opens(resident, new_keybag, killer):
    resident.daemon()

    def check(is_done):
        assert opens(resident, NEW, PASSWORD) in ([[True, True]] if is_done else [[True, True], [False, True]])

    killed = kill_everywhere(
        resident, killer, lambda: resident.write(resident.keybag, new_keybag), REWRAP, check, token=NEW, password=PASSWORD,
        service=UNLOCK)
    assert killed >= 4
