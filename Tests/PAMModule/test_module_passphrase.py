"""A line with the option `passphrase`. It asks for a passphrase, and succeeds only if the collection opens."""

import ctypes
import re

import pytest
from modulelogin import COLLECTION, ENTRY_POINTS, MODULE, TOKEN
from support.helper import GOES_ON, RESULTS
from test_module import FAILURES, PAM_IGNORE, await_pause, secret_pages

SUCCESS, PERM_DENIED, AUTH_ERR, AUTHINFO_UNAVAIL, CONV_ERR = 0, 6, 7, 9, 19
LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_DEBUG = 3, 4, 5, 7
ECHO_OFF = 1
PROMPT = "env:LATCHKEY_PROMPT=7"
LATE = "latchkey-derive did not answer in time"


def short(value):
    """A name for a test's case. The value itself may be long, or may move the cursor."""
    return ascii(value)[:24]


def auth(run):
    return [result for name, result in run.calls if name == "auth"]


def ask(login, *commands, **environment):
    return login.run(PROMPT, *commands, "auth", service=COLLECTION, **environment)


# ---- the request ----


def test_the_passphrase_goes_to_the_helper_with_the_prompt(login):
    login.ask("home=/srv/a", "runtime=/run/x", "debug")
    run = ask(login, "env:LATCHKEY_LABEL=Work", "env:LATCHKEY_CALLER=mail", "tty=tty7", "rhost=10.0.0.9")
    assert auth(run) == [SUCCESS] and run.lines == ["passphrase accepted"] and run.priorities == [LOG_DEBUG]
    assert login.questions == [(ECHO_OFF, b"Passphrase for 'Work', wanted by mail: ")]
    assert login.requests == [dict(
        operation="passphrase", flags=2, user=b"alice", service=COLLECTION.encode(), tty=b"tty7", remote_host=b"10.0.0.9",
        home=b"/srv/a", runtime=b"/run/x", shadow=b"", prompt=b"7", services=b"", device=b"",
        token=TOKEN.encode())]


@pytest.mark.parametrize("number", ["1", "9", "10", "1234567890", "9223372036854775806", "9223372036854775807"])
def test_numbers_of_prompts(login, number):
    login.ask()
    run = login.run(f"env:LATCHKEY_PROMPT={number}", "auth", service=COLLECTION)
    assert auth(run) == [SUCCESS] and login.requests[0]["prompt"] == number.encode()


@pytest.mark.parametrize("number", [
    None, "", "0", "00", "07", "+7", "-7", " 7", "7 ", "7\n", "7x", "x", "0x7", "1e3", "7.0", "\u0667", "9223372036854775808",
    "9999999999999999999", "10000000000000000000", "18446744073709551616", "7" * 4000], ids=short)
def test_without_a_number_nobody_is_asked(login, number):
    login.ask()
    # The module ignores the process's own environment.
    set_it = [] if number is None else [f"env:LATCHKEY_PROMPT={number}"]
    run = login.run(*set_it, "auth", service=COLLECTION, LATCHKEY_PROMPT="7")
    assert auth(run) == [AUTHINFO_UNAVAIL] and login.questions == [] and login.records == []
    assert run.lines == ["no passphrase asked for: LATCHKEY_PROMPT is not set, or not a number"]
    assert run.priorities == [LOG_ERR]


def test_a_conversation_that_changes_the_environment_changes_no_request(login):
    login.ask()
    wrapper = ["valgrind", "-q", "--error-exitcode=99", "--child-silent-after-fork=yes"]
    run = login.run(PROMPT, "auth", service=COLLECTION, wrapper=wrapper, PAMDRIVER_CONVERSE="renumber")
    assert auth(run) == [SUCCESS] and login.requests[0]["prompt"] == b"7"


# ---- the question ----


@pytest.mark.parametrize("label, caller, question", [
    (None, None, "Passphrase: "), ("", "", "Passphrase: "), (None, "mail", "Passphrase: "),
    ("Work", None, "Passphrase for 'Work': "), ("Work", "", "Passphrase for 'Work': "),
    ("Büro 🔑", "Straße", "Passphrase for 'Büro 🔑', wanted by Straße: "),
    ("%n%s", "%d", "Passphrase for '%n%s', wanted by %d: "),
    ("a\x1b[2Jb\nc\td\x7f", "\r\x01", "Passphrase for 'a?[2Jb?c?d?', wanted by ??: "),
    ("a\u009b2Jb\u0080", "\u009d", "Passphrase for 'a?2Jb?', wanted by ?: "),
    ("a\u202eb\u2066c\u200fd\u061ce", "\u2028\u2029", "Passphrase for 'a?b?c?d?e', wanted by ??: "),
    ("\u2027\u202f\u2065\u206a\u00a0\ud7ff\ue000\U0010ffff", None,
     "Passphrase for '\u2027\u202f\u2065\u206a\u00a0\ud7ff\ue000\U0010ffff': "),
    ("x" * 128, "y" * 128, f"Passphrase for '{'x' * 128}', wanted by {'y' * 128}: "),
    ("x" * 129, "y" * 50000, f"Passphrase for '{'x' * 128}', wanted by {'y' * 128}: "),
    ("x" + "ü" * 64, "🔑" * 33, f"Passphrase for 'x{'ü' * 63}', wanted by {'🔑' * 32}: "),
    ("xx" + "🔑" * 40, "x" + "\u2028" * 60, f"Passphrase for 'xx{'🔑' * 31}', wanted by x{'?' * 42}: "),
    ("x" * 127 + "\x1b\x1b", "\x1b" * 129, f"Passphrase for '{'x' * 127}?', wanted by {'?' * 128}: ")], ids=short)
def test_what_is_shown(login, label, caller, question):
    login.ask()
    commands = [f"env:LATCHKEY_{name}={value}" for name, value in (("LABEL", label), ("CALLER", caller))
                if value is not None]
    assert auth(ask(login, *commands)) == [SUCCESS]
    assert login.questions == [(ECHO_OFF, question.encode())]


@pytest.mark.parametrize("label, shown", [
    (b"\xff\xfe", b"??"), (b"\x80a", b"?a"), (b"a\xc3", b"a?"), (b"\xe2\x82", b"??"), (b"\xf0\x9f\x94", b"???"),
    (b"\xc0\xaf", b"??"), (b"\xc1\x81", b"??"), (b"\xe0\x82\x9b", b"?"), (b"\xf0\x80\x82\x9b", b"?"),
    (b"\xed\xa0\x80", b"?"), (b"\xed\xbf\xbf", b"?"), (b"\xf4\x90\x80\x80", b"?"), (b"\xf5\x80\x80\x80", b"????"),
    (b"\xc3\x1b", b"??"), (b"\xe2\x1b\x80", b"???"), (b"\xc3\xc3\xbc", "?ü".encode())], ids=short)
def test_what_is_no_text_is_not_shown(login, label, shown):
    login.ask()
    assert auth(ask(login, b"env:LATCHKEY_LABEL=" + label)) == [SUCCESS]
    assert login.questions == [(ECHO_OFF, b"Passphrase for '" + shown + b"': ")]


# ---- answers of the helper ----


@pytest.mark.parametrize("result", RESULTS.values())
def test_only_an_open_collection_is_a_success(login, result):
    login.behave(f"answer {result}")
    # No later module and no setcred can correct the failure.
    login.ask(after=["auth required pam_permit.so"])
    run = login.run(PROMPT, "auth", "setcred", service=COLLECTION)
    expected = {0: SUCCESS, 5: AUTH_ERR}.get(result, AUTHINFO_UNAVAIL)
    assert auth(run) == [expected]
    assert (dict(run.calls)["setcred"] == SUCCESS) == (expected == SUCCESS)
    assert len(run.lines) == (0 if result == 0 else 1)
    if result == 5:
        assert run.lines == ["that is another passphrase"] and run.priorities == [LOG_NOTICE]
    elif result == GOES_ON:
        assert run.priorities == [LOG_NOTICE]
    elif result:
        assert run.priorities[0] in (LOG_WARNING, LOG_ERR)


@pytest.mark.parametrize("behaviour, line", [
    ("answer 17", "latchkey-derive returned an invalid reply"), ("answer 255", "latchkey-derive returned an invalid reply"),
    ("garbage", "latchkey-derive returned an invalid reply"), ("silent", "latchkey-derive ended without an answer"),
    ("signal 11", "latchkey-derive was killed by signal 11"),
    # The module waits 90 seconds for such a helper.
    pytest.param("hang", LATE, marks=pytest.mark.night("login"))])
def test_an_answer_that_is_none_opens_nothing(login, behaviour, line):
    login.behave(behaviour)
    login.ask()
    run = ask(login)
    assert auth(run) == [AUTHINFO_UNAVAIL] and run.lines == [line]
    login.assert_helpers_gone()


def test_a_helper_that_is_missing(login):
    login.ask(helper="/nonexistent/latchkey-derive")
    run = ask(login)
    assert auth(run) == [AUTHINFO_UNAVAIL]
    assert run.lines == ["latchkey-derive cannot be started: No such file or directory"]


def test_a_stack_of_this_line_alone(login):
    """libpam's setcred walks the same stack, and counts PAM_IGNORE there as a failure."""
    login.ask()
    run = login.run(PROMPT, "auth", "setcred", "acct", service=COLLECTION)
    assert set(run.results) == {SUCCESS}
    login.behave("answer 5")
    run = login.run(PROMPT, "auth", "setcred", service=COLLECTION)
    assert run.results[2:4] == [AUTH_ERR, PERM_DENIED]


# ---- answers of the person ----


@pytest.mark.parametrize("way", ["fail", "nothing", "no text", "fail, freed"])
def test_a_conversation_that_gives_nothing(login, way):
    login.ask()
    run = ask(login, PAMDRIVER_CONVERSE=way)
    assert auth(run) == [CONV_ERR] and login.records == [] and len(login.questions) == 1 and run.lines == []


@pytest.mark.parametrize("size, expected", [(0, AUTH_ERR), (1, SUCCESS), (4096, SUCCESS), (4097, AUTH_ERR), (60000, AUTH_ERR)])
def test_passphrases_are_bounded(login, size, expected):
    (login.folder / "token").write_text("x" * size)
    login.ask()
    run = ask(login)
    assert auth(run) == [expected]
    assert [request["token"] for request in login.requests] == ([b"x" * size] if expected == SUCCESS else [])
    assert run.lines == (["a token of more than 4096 bytes is not used"] if size > 4096 else [])


def test_a_request_that_is_too_long_is_not_sent(login):
    login.ask()
    run = ask(login, f"rhost={'r' * 17000}")
    assert auth(run) == [AUTHINFO_UNAVAIL] and run.lines == ["the request is too long"] and login.records == []


def test_no_user(login):
    login.ask()
    assert auth(ask(login, "user=")) != [SUCCESS] and login.records == []


def test_typing_takes_nothing_from_the_time_and_each_attempt_has_its_own(login):
    login.ask()
    login.behave("late 1600 5")
    assert auth(ask(login, "auth")) == [AUTH_ERR, AUTH_ERR], "twice 1.6 s are more than one budget"
    login.behave("late 100 0")
    assert auth(ask(login, PAMDRIVER_CONVERSE="slow")) == [SUCCESS]


# ---- other lines of the stack ----


def test_later_modules_and_sessions_do_not_get_the_passphrase(login):
    login.configure(service=COLLECTION, before="none")
    ordinary = (login.folder / "pam.d" / COLLECTION).read_text()
    login.ask(after=ordinary.replace("auth requisite pam_deny.so\n", "").splitlines())
    run = login.run(PROMPT, "auth", "open", service=COLLECTION)
    assert set(run.results) == {SUCCESS}
    assert [(r["operation"], r["token"]) for r in login.requests] == [
        ("passphrase", TOKEN.encode()), ("openSession", b"")]


def test_the_other_entry_points_do_nothing(login):
    login.configure("passphrase", before="none")
    run = login.run("acct", "open", "close", "chauthtok")
    assert set(run.results) == {SUCCESS} and login.records == [] and login.questions == [] and run.lines == []


@pytest.mark.parametrize("options, service, line", [
    (["home=x"], COLLECTION, "nothing done: a path is not absolute: x"), ([], "sudo", None), ([], "cron", None)])
def test_a_line_that_cannot_be_followed_fails(login, options, service, line):
    login.ask(*options, service=service, after=["auth required pam_permit.so"])
    run = login.run(PROMPT, "auth", service=service)
    assert auth(run) == [AUTHINFO_UNAVAIL] and login.questions == [] and login.records == []
    assert run.lines == ([line] if line else [])


@pytest.mark.parametrize("service", ["login", "lightdm", "gdm-password", "i3lock", "latchkey-unlock", "latchkey-presence",
                                     "latchkey-biometry", "latchkey-items"])  # fmt: skip
def test_no_other_service_asks_for_one(login, service):
    """Greeters and lockers would show the question as a question for the login password."""
    login.ask(service=service)
    run = login.run(PROMPT, "env:LATCHKEY_LABEL=Bank", "auth", service=service)
    assert auth(run) == [AUTHINFO_UNAVAIL] and login.questions == [] and login.records == []
    assert run.lines == [f"no passphrase asked for: not allowed in the service {service}"]
    assert run.priorities == [LOG_ERR]


@pytest.mark.parametrize("service", ["latchkey-collection", "latchkey-item"])
def test_two_services_ask_for_one(login, service):
    login.ask(service=service)
    assert auth(login.run(PROMPT, "auth", service=service)) == [SUCCESS] and len(login.questions) == 1


@pytest.mark.parametrize("service", ["login", "lightdm", "i3lock", "sudo"])
def test_a_prompts_variables_make_no_other_service_ask(login, service):
    """The module's ordinary line does nothing if no module before it has asked a question."""
    login.configure(service=service, before="none")
    run = login.run(PROMPT, "env:LATCHKEY_LABEL=Bank", "auth", service=service)
    assert auth(run) == [SUCCESS] and run.lines == [] and login.questions == [] and login.records == []


def test_without_handle_nobody_is_let_in():
    module = ctypes.CDLL(str(MODULE))
    line = (ctypes.c_char_p * 3)(b"debug", None, b"passphrase")
    results = {name: module[f"pam_sm_{name}"](None, 0, 3, line) for name in ENTRY_POINTS}
    assert results == {**dict.fromkeys(ENTRY_POINTS, PAM_IGNORE), "authenticate": AUTHINFO_UNAVAIL, "setcred": SUCCESS}


@pytest.mark.parametrize("option", ["passphrases", "Passphrase", "passphrase=yes"])
def test_the_option_matches_whole(login, option):
    login.configure(option)
    run = login.run(PROMPT, "auth")
    assert set(run.results) == {0} and run.lines == [f"unknown option: {option}"]
    assert login.requests[0]["operation"] == "authenticate"


def test_an_administrator_can_count_the_tries(login):
    login.user = "nobody"
    tally = f"dir={login.folder}/tally deny=2 unlock_time=600 nodelay"
    login.ask(before=[f"auth requisite pam_faillock.so preauth {tally}"],
              after=[f"auth optional pam_faillock.so authfail {tally}"])
    login.behave("answer 5")
    assert [auth(ask(login)) for _ in range(2)] == [[AUTH_ERR]] * 2
    login.behave("answer 0")
    asked = len(login.records)
    assert auth(ask(login)) == [AUTH_ERR] and len(login.records) == asked
    assert all(style != ECHO_OFF for style, _ in login.questions), "only told that it is locked"


# ---- memory, and every failure of the system ----


def everywhere(process, needle):
    """The mappings of a process that contain the needle."""
    found = []
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb") as memory:
        for line in maps:
            start, end = (int(part, 16) for part in re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line).groups())
            try:
                memory.seek(start)
                if needle in memory.read(end - start):
                    found.append(line.strip())
            except (OSError, OverflowError, ValueError):
                continue  # [vvar], [vsyscall]
    return found


@pytest.mark.parametrize(
    "behaviour", ["answer 0", "answer 5", "silent", pytest.param("hang", marks=pytest.mark.night("login")), None])
def test_nothing_of_the_passphrase_stays_in_the_caller(login, behaviour):
    if behaviour is None:
        login.ask(f"runtime=/{'r' * 16300}")  # the request is too long to be sent
    else:
        login.behave(behaviour)
        login.ask()
    # The token is so long that libc does not reuse its memory block as a whole. The search would find the end of a freed token.
    (login.folder / "token").write_text("x" * 3000 + TOKEN)
    with login.pausing(PROMPT, "pause", "auth", "forget-token", "pause", service=COLLECTION, TOKEN_IN_CALLER="") as process:
        await_pause(process)
        needle = TOKEN.encode()
        assert len(everywhere(process.pid, needle)) == 1, "the driver's own copy"
        process.stdin.write("x"), process.stdin.flush()
        await_pause(process)
        assert everywhere(process.pid, needle) == []
        assert secret_pages(process.pid) == []
        process.communicate("x")


@pytest.mark.parametrize("failure", [*FAILURES, "pam_getenv:1", "pam_getenv:2", "pam_getenv:*"])
def test_failures_let_nobody_in_and_leak_nothing(login, failure):
    login.ask(after=["auth required pam_permit.so"])
    login.behave("answer 5")
    run = login.run("descriptors", PROMPT, "auth", "auth", "descriptors", service=COLLECTION, PAMDRIVER_FAIL=failure)
    assert set(auth(run)) <= {AUTH_ERR, AUTHINFO_UNAVAIL, CONV_ERR}
    assert len({result for name, result in run.calls if name == "descriptors"}) == 1
    login.behave("answer 0")
    before = len(login.records)
    run = login.run(PROMPT, "auth", service=COLLECTION, PAMDRIVER_FAIL=failure)
    assert auth(run) != [SUCCESS] or len(login.records) == before + 1


@pytest.mark.parametrize("way, behaviour", [("", "answer 0"), ("fail, freed", "answer 0"), *(
    pytest.param(*both, marks=pytest.mark.night("login")) for both in (
        ("", "answer 5"), ("", "signal 11"), ("fail", "answer 0"), ("nothing", "answer 0"), ("no text", "answer 0"),
        ("renumber", "answer 0")))])
def test_valgrind_finds_nothing(login, way, behaviour):
    login.behave(behaviour)
    wrapper = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--child-silent-after-fork=yes",
               "--show-leak-kinds=definite,indirect,possible", "--errors-for-leak-kinds=definite,indirect,possible"]
    login.ask("debug", "odd")
    login.run(PROMPT, "env:LATCHKEY_LABEL=" + "ü" * 65, b"env:LATCHKEY_CALLER=\xf0\x9f", "auth", "setcred", "auth",
              service=COLLECTION, wrapper=wrapper, PAMDRIVER_CONVERSE=way)
