"""pam_latchkey.so under the real libpam, with a stand-in for latchkey-derive. Run: make check"""

import ctypes
import pathlib
import re
import signal
import time

import pytest
from modulelogin import ENTRY_POINTS, FIELDS, MODULE, TOKEN, pace
from support import tracing
from support.helper import BESIDE, EXCLUDED_SERVICES, GOES_ON, HEAD_SIZE, LIMIT, RESULTS, now
from support.pace import Limit, seconds

PAM_IGNORE = 25
EVERYDAY = {0: "vault unlocked", 1: "vault needs no keys", 2: "latchkeyd is not there yet",
            3: "no vault, and none created", 4: "new vault created", 13: "end of the session told",
            16: "the login has no password, and the vault goes by that",
            20: "opened without a password: what is readable behind the locked screen",
            27: "the vault unlocks while the session starts"}
NOTABLE = {5: "the login password does not open the vault", 6: "latchkeyd does not let this service unlock the vault",
           7: "the vault's files cannot be used; see latchkey status", 8: "latchkeyd did not answer in time",
           9: "not enough memory to derive the vault's key", 10: "the vault's folder is not usable",
           11: "latchkey-derive did not understand the request", 12: "latchkey-derive failed",
           14: "the vault still needs too many former keys to get new ones; see latchkey status",
           15: "the vault's new keys come with the next unlock",
           21: "the device key service gives this login nothing to open the vault with; see latchkey doctor",
           22: "not believed, as others than root could have written it: /etc/latchkey/services",
           23: "a login of the same moment changed the vault's keybag",
           25: "latchkeyd began after the password was given: unlock the vault with 'latchkey unlock'",
           26: "latchkeyd is of another version: 'systemctl --user restart latchkeyd && latchkey unlock' changes to the installed one"}
LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_DEBUG = 3, 4, 5, 7
SET_ITEMS = f"auth required {next(pathlib.Path('/usr/lib').glob('*/pam_wrapper/pam_set_items.so'))}"


def secret_pages(process):
    """The contents of all mappings that are locked and kept out of core dumps."""
    found, span = [], None
    with open(f"/proc/{process}/smaps") as maps, open(f"/proc/{process}/mem", "rb") as memory:
        for line in maps:
            if match := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
                span = [int(part, 16) for part in match.groups()]
            elif line.startswith("VmFlags:") and {"lo", "dd"} <= set(line.split()):
                memory.seek(span[0])
                found.append(memory.read(span[1] - span[0]))
    return found


def await_pause(process):
    while line := process.stdout.readline():
        if line.startswith("pause"):
            return
    pytest.fail("the caller ended early")


# ---- the request ----


def test_login_sends_the_exact_requests(login):
    login.configure()
    run = login.run("tty=tty7", "rhost=10.0.0.9", "auth", "acct", "setcred", "open", "close")
    assert set(run.results) == {0} and run.lines == []
    user = dict(user=b"alice", service=b"login", tty=b"tty7", remote_host=b"10.0.0.9", home=b"", runtime=b"",
                shadow=b"", prompt=b"", services=b"", device=b"")
    assert login.requests == [
        dict(operation="authenticate", flags=0, **user, token=TOKEN.encode()),
        dict(operation="openSession", flags=BESIDE, **user, token=TOKEN.encode()),
        dict(operation="closeSession", flags=0, **user, token=b""),
    ]


def test_items_that_are_not_set_are_empty_fields(login):
    login.run("auth")
    (request,) = login.requests
    assert request["tty"] == request["remote_host"] == b""


def test_options_reach_the_request(login):
    login.configure("debug", "no_create", "home=/srv/a_b", "runtime=/run/x", "shadow=/srv/s", "services=/srv/t",
                    "device=/srv/d")
    login.run("auth", "open", "close")
    for request in login.requests:
        beside = BESIDE if request["operation"] == "openSession" else 0
        assert (request["flags"], request["home"], request["runtime"]) == (3 | beside, b"/srv/a_b", b"/run/x")
        assert request["shadow"] == b"/srv/s"
        assert (request["services"], request["device"]) == (b"/srv/t", b"/srv/d")
    # With an older spelling of the option, a one-time code must not create a vault either.
    for name in ("no_create", "no_found"):
        login.configure(name)
        assert login.run("auth").lines == [] and login.requests[-1]["flags"] == 1
    login.configure("debug")
    login.run("auth")
    assert login.requests[-1]["flags"] == 2


def test_the_list_that_is_not_believed_is_the_one_in_use(login):
    login.configure("services=/srv/t")
    login.behave("answer 22")
    assert login.run("auth").lines == ["not believed, as others than root could have written it: /srv/t"]


def test_helper_starts_clean(login):
    login.run("odd-signals", "leave-open", "auth")
    (record,) = login.records
    assert record.arguments == [b"latchkey-derive"]
    assert record.environment == [b"PATH=/usr/bin:/bin", b"LANG=C"]
    assert sorted(record.descriptors) == ["0", "1", "2"]
    assert record.descriptors["0"].startswith("socket:")
    assert record.descriptors["1"] == record.descriptors["2"] == "/dev/null"
    internal = 3 << 31  # signals 32 and 33 belong to glibc, and posix_spawn leaves them ignored
    assert int(record.status["SigBlk"], 16) == int(record.status["SigIgn"], 16) & ~internal == 0
    assert record.facts["cwd"] == "/" and record.facts["nonblocking"] == "0"
    assert record.facts["sid"] == record.facts["pid"]
    assert TOKEN.encode() not in record.everything
    assert TOKEN.encode() in record.data


@pytest.mark.parametrize("size, sent", [(1, True), (4096, True), (4097, False), (60000, False)])
def test_tokens_are_bounded(login, size, sent):
    login.configure(before=SET_ITEMS)
    run = login.run("auth", "open", PAM_AUTHTOK="x" * size)
    assert set(run.results) == {0}
    assert [request["token"] for request in login.requests] == ([b"x" * size] * 2 if sent else [b""])
    assert run.lines == ([] if sent else ["a token of more than 4096 bytes is not used"])


def test_largest_request_fits_and_one_byte_more_is_refused(login):
    room = LIMIT - HEAD_SIZE - 2 * len(FIELDS) - len("alice") - len("login") - len(TOKEN.encode())
    login.run(f"tty={'t' * 5000}", f"rhost={'r' * (room - 5000)}", "auth")
    (record,) = login.records
    assert len(record.data) == 4 + 16384 and record.request["token"] == TOKEN.encode()
    run = login.run(f"tty={'t' * 5000}", f"rhost={'r' * (room - 4999)}", "auth", "open")
    assert run.lines == ["the request is too long"] * 2 and set(run.results) == {0} and len(login.records) == 1
    run = login.run(f"rhost={'r' * 70000}", "auth")
    assert run.lines == ["the request is too long"] and set(run.results) == {0}


@pytest.mark.parametrize("service, number, sent", [
    ("latchkey-unlock", "7", b"7"), ("latchkey-unlock", "0", b""), ("latchkey-unlock", "7x", b""), ("login", "7", b""),
    ("latchkey-unlock2", "7", b"")])  # fmt: skip
def test_only_the_service_of_a_prompt_passes_its_number_on(login, service, number, sent):
    login.configure(service=service)
    run = login.run(f"env:LATCHKEY_PROMPT={number}", "auth", "open", "close", service=service)
    assert set(run.results) == {0} and run.lines == [] and login.questions == [(1, b"Password: ")]
    assert [request["prompt"] for request in login.requests] == [sent, b"", b""]
    login.run("auth", service=service, LATCHKEY_PROMPT="8")
    assert login.requests[-1]["prompt"] == b"", "the process's environment is not asked"


# ---- the time of the password ----


def test_a_request_says_when_the_module_was_called(login):
    begun = now()
    login.run("auth", "open", "close")
    moments = [record.given for record in login.records]
    # A session call has its own moment, because the person may have taken long for a second factor before it.
    assert begun < moments[0] < moments[1] < moments[2] < now()


# The moments count from the start of the machine, which may have been a second ago.
@pytest.mark.parametrize("told, is_taken", [
    ("1", True), ("before the call", True), ("9223372036854775807", False), ("18446744073709551617", False), ("0", False), ("", False),
    ("07", False), ("-7", False), ("7x", False), (" 7", False)])  # fmt: skip
@pytest.mark.parametrize("service", ["latchkey-unlock", "login"])
def test_latchkeys_own_applications_say_when_the_answer_came(login, service, told, is_taken):
    """The modules before pam_latchkey may have needed long to check the password. A moment in the future does not count."""
    login.configure("debug", service=service)
    begun = now()
    told = str(begun) if told == "before the call" else told
    login.run(f"env:LATCHKEY_GIVEN={told}", "auth", "open", service=service)
    for record in login.records:
        if is_taken and service == "latchkey-unlock":
            assert record.given == int(told)
        else:
            assert begun < record.given < now()
    assert len(login.records) == 2


# ---- calls without a request ----


def test_without_token_authenticate_starts_nothing(login):
    login.configure(before="none")
    run = login.run("auth")
    assert set(run.results) == {0} and login.records == [] and run.lines == []
    login.run("open")
    assert [(r["operation"], r["token"]) for r in login.requests] == [("openSession", b"")]


def test_empty_token_starts_nothing(login):
    login.configure(before=SET_ITEMS)
    login.run("auth", PAM_AUTHTOK="")
    assert login.records == []


def test_wrong_password_never_reaches_the_helper(login):
    (login.folder / "token").write_text("mistyped")
    run = login.run("auth")
    assert run.calls[1][1] != 0 and login.records == []


def test_setcred_account_and_password_change_start_nothing(login):
    run = login.run("setcred", "acct", "chauthtok")
    assert ("acct", 0) in run.calls and ("chauthtok", 0) in run.calls
    assert login.records == [] and run.lines == []


@pytest.mark.parametrize("service", EXCLUDED_SERVICES)
def test_ignored_services(login, service):
    login.configure("debug", "nonsense", service=service)
    run = login.run("auth", "acct", "setcred", "open", "close", service=service)
    assert set(run.results) == {0} and login.records == [] and run.lines == []


@pytest.mark.parametrize("service", ["sud", "sudoer", "login", "sshd", "gdm-password", "i3lock"])
def test_other_services_are_served(login, service):
    login.configure(service=service)
    login.run("auth", service=service)
    assert [request["service"] for request in login.requests] == [service.encode()]


def test_without_handle_every_entry_point_ignores():
    module = ctypes.CDLL(str(MODULE))
    for name in ENTRY_POINTS:
        assert module[f"pam_sm_{name}"](None, 0, 0, None) == PAM_IGNORE


# ---- answers ----


def test_every_result_has_a_line():
    # GOES_ON is missing here, because it is not a final result: see test_module_passphrase.py.
    assert {*EVERYDAY, *NOTABLE, GOES_ON} == {*RESULTS.values()}


@pytest.mark.parametrize("result", [*EVERYDAY, *NOTABLE])
def test_every_answer_is_ignored_and_logged_by_its_weight(login, result):
    login.behave(f"answer {result}")
    run = login.run("auth", "open", "close")
    assert set(run.results) == {0}
    assert run.lines == ([NOTABLE[result]] * 3 if result in NOTABLE else [])
    if result == 5:
        assert run.priorities == [LOG_NOTICE] * 3
    login.configure("debug")
    assert login.run("auth").lines == [{**EVERYDAY, **NOTABLE}[result]]


@pytest.mark.parametrize("result", [17, 99, 255])
def test_unknown_answer(login, result):
    login.behave(f"answer {result}")
    run = login.run("auth")
    assert set(run.results) == {0} and run.lines == ["latchkey-derive returned an invalid reply"]


def test_garbage_answer(login):
    login.behave("garbage")
    run = login.run("auth")
    assert set(run.results) == {0} and run.lines == ["latchkey-derive returned an invalid reply"]


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGILL, signal.SIGABRT, signal.SIGKILL, signal.SIGTERM])
def test_death_by_signal_is_one_line(login, number):
    login.behave(f"signal {number}")
    run = login.run("odd-signals", "auth")
    assert set(run.results) == {0} and run.priorities == [LOG_ERR]
    assert run.lines == [f"latchkey-derive was killed by signal {int(number)}"]


def test_end_without_answer_is_one_line(login):
    login.behave("silent")
    run = login.run("auth")
    assert set(run.results) == {0} and run.lines == ["latchkey-derive ended without an answer"]


@pytest.mark.parametrize("kind", ["absent", "folder", "not executable", "not a program"])
def test_helper_that_cannot_be_started(login, kind):
    path = login.folder / "other"
    if kind == "folder":
        path.mkdir()
    elif kind != "absent":
        path.write_text("nothing to run")
        path.chmod(0o755 if kind == "not a program" else 0o644)
    login.configure(helper=path)
    run = login.run("auth", "open")
    error = {"absent": "No such file or directory", "not a program": "Exec format error"}.get(kind, "Permission denied")
    assert set(run.results) == {0} and run.lines == [f"latchkey-derive cannot be started: {error}"] * 2


@pytest.mark.parametrize("limit", [8192, 20479])
def test_a_small_limit_for_files_ends_no_login(login, limit):
    """A request above the limit would raise SIGXFSZ in the login program."""
    run = login.run("auth", "open", wrapper=["prlimit", f"--fsize={limit}:"])
    assert set(run.results) == {0} and not login.requests
    assert run.lines == ["latchkey-derive cannot be given a request: File too large"] * 2


def test_helper_that_does_not_read_breaks_no_pipe(login):
    login.behave("deaf 11")
    run = login.run("auth", "open", PAMDRIVER_DAWDLE="1")
    assert set(run.results) == {0} and run.lines == [NOTABLE[11]] * 2


# ---- time ----


def test_hanging_helper_is_killed_and_the_login_goes_on(login):
    login.behave("hang")
    run = login.run("auth", "acct", "open", "close")
    assert set(run.results) == {0} and run.seconds < seconds(4)
    login.assert_helpers_gone()
    # authenticate leaves open_session enough time to start a helper. close_session has its own second.
    assert [request["operation"] for request in login.requests] == ["authenticate", "openSession", "closeSession"]
    assert run.lines == ["latchkey-derive did not answer in time"] * 3


def test_helper_is_told_to_go_on_when_the_login_waits_no_longer(login):
    login.behave("word 24 12")
    run = login.run("auth", "open", "close")
    line = "this takes longer than a login waits: latchkey-derive goes on in the background"
    assert set(run.results) == {0} and run.lines == [line] * 3 and run.priorities == [LOG_NOTICE] * 3
    assert run.seconds < seconds(4)
    login.assert_helpers_gone()


def test_budget_is_one_for_the_whole_login(login):
    login.behave("late 1800 5")
    run = login.run("auth", "open")
    assert run.lines == [NOTABLE[5], "latchkey-derive did not answer in time"]
    assert set(run.results) == {0} and run.seconds < seconds(4)
    assert len(login.records) == 2


def test_budget_is_one_per_login_not_per_process(login):
    login.behave("late 1800 5")
    run = login.run("auth", "end", "start", "open")
    assert run.lines == [NOTABLE[5], NOTABLE[5]]


def test_late_answer_within_the_budget_counts(login):
    login.behave("late 500 7")
    assert login.run("auth").lines == [NOTABLE[7]]


def test_helper_that_answers_and_stays_is_killed(login):
    login.behave("linger 6")
    run = login.run("auth", "open", "close")
    assert set(run.results) == {0} and run.lines == [NOTABLE[6]] * 3 and run.seconds < seconds(4)
    login.assert_helpers_gone()


def test_interrupted_calls_change_nothing(login):
    login.behave("late 600 6")
    run = login.run("storm", "auth")
    assert set(run.results) == {0} and run.lines == [NOTABLE[6]]


def test_a_storm_of_signals_does_not_prolong_the_wait(login):
    login.behave("hang")
    run = login.run("storm", "auth")
    assert set(run.results) == {0} and run.lines == ["latchkey-derive did not answer in time"] and run.seconds < seconds(4)


# ---- odd callers ----


@pytest.mark.parametrize("caller", ["ignore-children", "collect-children"])
def test_callers_that_collect_all_children(login, caller):
    login.configure(before=SET_ITEMS)
    run = login.run(caller, "auth", "open", "close", PAM_AUTHTOK=TOKEN)
    assert set(run.results) == {0} and run.lines == [] and len(login.records) == 3
    login.behave(f"signal {int(signal.SIGSEGV)}")
    run = login.run(caller, "auth", PAM_AUTHTOK=TOKEN)
    assert set(run.results) == {0} and len(run.lines) == 1
    login.behave("hang")
    run = login.run(caller, "auth", PAM_AUTHTOK=TOKEN)
    assert set(run.results) == {0} and run.lines == ["latchkey-derive did not answer in time"]


def test_closed_standard_descriptors(login):
    run = login.run("close-standard", "descriptors", "auth", "open", "close", "descriptors")
    assert {result for name, result in run.calls if name in ("auth", "open", "close")} == {0} and run.lines == []
    assert len(login.records) == 3
    for record in login.records:
        assert sorted(record.descriptors) == ["0", "1", "2"] and record.descriptors["0"].startswith("socket:")
        assert TOKEN.encode() not in record.everything
    assert len({result for name, result in run.calls if name == "descriptors"}) == 1


def test_no_descriptor_left(login):
    login.configure(before=SET_ITEMS)
    run = login.run("auth", "no-descriptors", "open", PAM_AUTHTOK=TOKEN)
    assert set(run.results) == {0} and run.lines[-1] == "latchkey-derive cannot be given a request: Too many open files"


def test_many_logins_in_one_process_leave_nothing(login):
    cycle = ["start", "auth", "open", "close", "end"]
    run = login.run("descriptors", *(["auth", "open", "close"] * 20), "end", *cycle * 20, "start", "descriptors")
    assert {result for name, result in run.calls if name != "descriptors"} == {0}
    counts = [result for name, result in run.calls if name == "descriptors"]
    assert counts[0] == counts[1]


def test_module_twice_in_a_stack(login):
    login.configure(repeat=2)
    run = login.run("auth", "open")
    assert set(run.results) == {0} and run.lines == []
    assert [(r["operation"], bool(r["token"])) for r in login.requests] == [
        ("authenticate", True), ("authenticate", True), ("openSession", True), ("openSession", False)]


def test_module_twice_in_a_stack_waits_no_longer(login):
    login.configure(repeat=2)
    login.behave("hang")
    run = login.run("auth", "open", "close")
    late, used = "latchkey-derive did not answer in time", "this login's time for the vault is used up"
    assert set(run.results) == {0} and run.lines == [late, used, late, used, late, used] and run.seconds < seconds(5)


def test_no_user(login):
    login.configure(before="none")
    run = login.run("user=", "open")
    assert set(run.results) == {0} and login.records == []


def test_user_is_taken_at_each_call(login):
    run = login.run("auth", "user=bob", "open")
    assert set(run.results) == {0}
    assert [request["user"] for request in login.requests] == [b"alice", b"bob"]


@pytest.mark.parametrize("other", ["bob", "alic", "alice2"])
def test_token_of_one_user_is_not_given_to_another(login, other):
    """doas authenticates one user and opens another user's session. The password must not create a vault for that other user."""
    login.run("auth", f"user={other}", "open")
    assert [request["token"] for request in login.requests] == [TOKEN.encode(), b""]


def test_handle_used_for_two_users_one_after_the_other(login):
    login.configure(before=SET_ITEMS)
    calls = ["auth", "open", "close"]
    run = login.run(*calls, "user=bob", *calls, "user=alice", *calls, PAM_AUTHTOK=TOKEN)
    assert set(run.results) == {0} and run.lines == []
    assert [(request["user"], request["operation"], bool(request["token"])) for request in login.requests] == [
        (user, operation, operation != "closeSession") for user in (b"alice", b"bob", b"alice")
        for operation in ("authenticate", "openSession", "closeSession")]


def test_second_user_of_a_handle_takes_the_place_of_the_first(login):
    login.configure(before=SET_ITEMS)
    login.run("auth", "user=bob", "auth", "user=alice", "open", PAM_AUTHTOK=TOKEN)
    assert [(r["user"], r["operation"], bool(r["token"])) for r in login.requests] == [
        (b"alice", "authenticate", True), (b"bob", "authenticate", True), (b"alice", "openSession", False)]


def test_second_login_on_a_handle_waits_for_what_the_first_left(login):
    login.configure(before=SET_ITEMS)
    login.behave("hang")
    run = login.run("auth", "open", "close", "auth", "open", "close", PAM_AUTHTOK=TOKEN)
    late, used = "latchkey-derive did not answer in time", "this login's time for the vault is used up"
    # All logins together have 3 s, and each logout has 1 s.
    assert set(run.results) == {0} and run.lines == [late, late, late, used, used, late] and run.seconds < seconds(6)


# ---- options ----


def test_unknown_option_is_one_line_and_ignored(login):
    login.configure("%n%s%x", "debug")
    run = login.run("auth")
    assert run.lines == ["unknown option: %n%s%x", "vault unlocked"] and run.priorities == [LOG_WARNING, LOG_DEBUG]
    assert login.requests[0]["token"] == TOKEN.encode()


def test_long_and_binary_options_are_shown_shortened(login):
    login.configure("o" * 500, "käse\x07")
    assert login.run("auth").lines == ["unknown option: " + "o" * 64, "unknown option: k??se?"]


@pytest.mark.parametrize("option", ["debugging", "no_createx", "Debug", "home", "homes=/x", "no_create=1"])
def test_options_match_whole(login, option):
    login.configure(option)
    assert login.run("auth").lines == [f"unknown option: {option}"]
    assert login.requests[0]["flags"] == 0 and login.requests[0]["home"] == b""


@pytest.mark.parametrize("option", ["home=", "home=x", "runtime=", "runtime=../x", "shadow=x", "services=x", "device=", "helper=",
                                    "helper=latchkey-derive"])
def test_path_that_is_not_absolute_disarms_the_module(login, option):
    login.configure(option)
    run = login.run("auth", "open", "close")
    assert set(run.results) == {0} and login.records == []
    assert run.lines == ["nothing done: a path is not absolute: " + option.split("=")[1]] * 3


# ---- the token's end ----


def test_token_is_gone_after_open_session(login):
    login.run("auth", "open", "open")
    assert [r["token"] for r in login.requests] == [TOKEN.encode(), TOKEN.encode(), b""]


@pytest.mark.parametrize("behaviour", ["answer 3", "silent", "hang"])
def test_token_is_gone_after_open_session_however_it_ended(login, behaviour):
    with login.pausing("auth", "pause", "open", "pause", **pace(behaviour)) as process:
        login.behave("answer 2")
        await_pause(process)
        (page,) = secret_pages(process.pid)
        assert page[4:4100].rstrip(b"\0") == TOKEN.encode()
        login.behave(behaviour)
        process.stdin.write("x"), process.stdin.flush()
        await_pause(process)
        assert secret_pages(process.pid) == []
        process.stdin.write("x"), process.stdin.flush()


@pytest.mark.parametrize("behaviour, copies", [("late 1500 0", 1), ("unread 1500 0", 2)])
def test_request_is_in_secret_pages_until_it_was_read(login, behaviour, copies):
    login.configure("debug")
    login.behave(behaviour)
    with login.pausing("auth") as process:
        while not login.records:  # the request has arrived
            assert process.poll() is None
        memory = b"".join(secret_pages(process.pid))
        # The memory has the kept token, and the request as long as it exists.
        assert memory.count(TOKEN.encode()) == copies
        process.communicate("")


def test_request_that_nobody_reads_is_erased(login):
    login.behave("unread 0 0")
    with login.pausing("auth", "pause") as process:
        await_pause(process)
        assert b"".join(secret_pages(process.pid)).count(TOKEN.encode()) == 1
        process.communicate("x")


def test_helper_that_goes_on_may_read_the_request_later(login):
    """A helper without processor time reads the request long after the login went on."""
    login.behave("orphan")
    run = login.run("auth")
    assert run.lines == ["latchkey-derive did not answer in time"]
    limit = Limit(5)
    while not login.records:
        assert not limit.is_over, "nothing was read"
        time.sleep(0.05)
    assert login.requests[0]["token"] == TOKEN.encode()


def test_the_request_crosses_no_socket(login, tmp_path):
    """strace records every byte that the module sends."""
    trace = tmp_path / "trace"
    run = login.run("auth", "open", "close", wrapper=tracing.command(trace))
    assert set(run.results) == {0} and [bool(request["token"]) for request in login.requests] == [True, True, False]
    calls = tracing.calls(trace)
    # The control: the stand-in reads the token from the shared memory.
    found = [call for call in calls if call.has(TOKEN.encode())]
    assert any(call.name == "pread64" and call.file.startswith("/memfd:") for call in found)
    assert any(call.name == "sendmsg" for call in calls)
    files = {call.file for call in found}
    assert not any(file.startswith(("socket:", "pipe:")) for file in files) and not any("msg" in call.name for call in found)


def test_token_of_an_earlier_attempt_does_not_survive_the_next(login):
    login.configure(before=SET_ITEMS)
    login.run("auth", "auth", "open", PAM_AUTHTOK=TOKEN)
    assert login.requests[-1]["token"] == TOKEN.encode()
    login.configure(before=f"auth optional pam_pwdfile.so pwdfile={login.folder}/pwdfile")
    login.run("auth", "forget-token", "auth", "open")
    assert login.requests[-1]["operation"] == "openSession" and login.requests[-1]["token"] == b""


def test_authenticate_in_a_child_leaves_the_session_without_token(login):
    run = login.run("child-auth", "open")
    assert ("open", 0) in run.calls
    calls = [(request["operation"], bool(request["token"])) for request in login.requests]
    assert calls == [("authenticate", True), ("openSession", False)]


def test_end_in_a_child_leaves_the_parent_its_token(login):
    run = login.run("auth", "child-end", "open")
    assert set(run.results) == {0}
    assert [bool(r["token"]) for r in login.requests] == [True, True]


# ---- every failure of the system, one at a time ----


FAILURES = [
    "mmap:1", "mmap:2", "mmap:3", "mlock:*", "memfd_create:1", "memfd_create:2", "posix_fallocate:1", "socketpair:1", "posix_spawn:1", "posix_spawn:2",
    "posix_spawn_file_actions_init:1", "posix_spawn_file_actions_adddup2:1", "posix_spawn_file_actions_addopen:1",
    "posix_spawn_file_actions_addopen:2", "posix_spawn_file_actions_addclosefrom_np:1",
    "posix_spawn_file_actions_addchdir_np:1", "posix_spawnattr_init:1", "posix_spawnattr_setflags:1", "pam_set_data:1",
    "pam_set_data:2", "pam_set_data:3", "pam_set_data:*", "poll:1", "poll:*", "waitpid:*", "sendmsg:1", "sendmsg:2",
    "recv:1",
    *(f"pam_get_item:{number}" for number in range(1, 12)), "pam_get_item:*",
]


@pytest.mark.parametrize("failure", FAILURES)
def test_failures_are_survived_and_leak_nothing(login, failure):
    run = login.run("descriptors", "auth", "open", "close", "descriptors", PAMDRIVER_FAIL=failure)
    assert {result for name, result in run.calls if name != "descriptors"} == {0}
    assert len({result for name, result in run.calls if name == "descriptors"}) == 1
    # A single failure costs one call at most. The other calls still send the right bytes.
    operations = [request["operation"] for request in login.requests]
    assert failure.endswith("*") or len(operations) >= 2 or failure == "pam_set_data:1"
    for request in login.requests:
        assert request["token"] in (b"", TOKEN.encode())
    if failure in ("mlock:*", "sendmsg:1", "recv:1"):
        assert operations == ["authenticate", "openSession", "closeSession"] and run.lines == []


@pytest.mark.parametrize("failure, calls", [("pam_set_data:1", ["auth"]), ("pam_set_data:*", ["auth", "open"]),
                                            ("posix_spawn:2", ["auth", "open"]), ("poll:*", ["auth", "open"])])
def test_failures_leave_no_secret_behind(login, failure, calls):
    with login.pausing(*calls, "pause", PAMDRIVER_FAIL=failure) as process:
        await_pause(process)
        assert secret_pages(process.pid) == []
        process.communicate("x")


@pytest.mark.parametrize("failure, failed", [
    ("fcntl:1", "latchkey-derive cannot be given a request: Too many open files"),
    ("fcntl:2", "latchkey-derive cannot be started: Too many open files"),
    ("fcntl:3", "latchkey-derive cannot be started: Too many open files")])
def test_lifting_descriptors_fails(login, failure, failed):
    run = login.run("close-standard", "descriptors", "auth", "open", "close", "descriptors", PAMDRIVER_FAIL=failure)
    assert {result for name, result in run.calls if name in ("auth", "open", "close")} == {0}
    assert len({result for name, result in run.calls if name == "descriptors"}) == 1
    assert run.lines == [failed] and len(login.records) == 2


# ---- memory ----


@pytest.mark.parametrize("behaviour", [
    "answer 0", "garbage", *(pytest.param(way, marks=pytest.mark.night("login")) for way in ("answer 5", "silent", "signal 11"))])
def test_valgrind_finds_nothing(login, behaviour):
    login.behave(behaviour)
    wrapper = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--child-silent-after-fork=yes",
               "--show-leak-kinds=definite,indirect,possible", "--errors-for-leak-kinds=definite,indirect,possible"]
    login.configure("debug", "no_create", "home=/srv/x", "odd")
    run = login.run("auth", "setcred", "open", "close", "end", "start", "auth", wrapper=wrapper)
    assert set(run.results) == {0} and len(login.records) == 4
