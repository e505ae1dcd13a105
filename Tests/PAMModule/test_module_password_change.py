"""pam_sm_chauthtok with a new password, and the question for a former password, which only latchkey-unlock asks."""

import signal

import pytest
from modulelogin import MODULE, TOKEN, pace
from support.helper import BESIDE, EXCLUDED_SERVICES
from support.pace import seconds
from test_module import FAILURES, LOG_DEBUG, LOG_NOTICE, NOTABLE, await_pause, secret_pages
from test_module_token_change import LATE, SET_ITEMS, change

NEW = "the new one ü"
TOO_LONG = "a token of more than 4096 bytes is not used"
UNLOCK = "latchkey-unlock"
ECHO_OFF, ERROR, INFO = 1, 3, 4
TOLD = (INFO, b"Your login password was changed without Latchkey. Enter the former password once.")
QUESTION = (ECHO_OFF, b"Former login password, or recovery code: ")
AGAIN = (ERROR, b"That does not unlock the vault. Try again.")
WRONG = NOTABLE[5]


@pytest.fixture
def login(login):
    login.configure(before=SET_ITEMS)
    return login


def sent(login):
    return [(request["operation"], request["token"], request.get("second")) for request in login.requests]


# ---- a new password ----


def test_both_passwords_go_to_the_helper(login):
    login.configure("debug", "no_create", "home=/srv/a", "runtime=/run/x", "shadow=/srv/s", before=SET_ITEMS)
    run = change(login, "tty=tty7", "rhost=10.0.0.9", "env:LATCHKEY_PROMPT=7", new=NEW)
    assert run.lines == ["the vault opens with the new password as well"] and run.priorities == [LOG_DEBUG]
    assert login.requests == [dict(
        operation="changePassword", flags=3, user=b"alice", service=b"login", tty=b"tty7", remote_host=b"10.0.0.9", home=b"/srv/a",
        runtime=b"/run/x", shadow=b"/srv/s", prompt=b"", services=b"", device=b"", token=NEW.encode(), second=TOKEN.encode())]
    (record,) = login.records
    for secret in (TOKEN, NEW):
        assert secret.encode() not in record.everything
    assert sorted(record.descriptors) == ["0", "1", "2"] and login.questions == []


@pytest.mark.parametrize("new", ["x", " ", "\t", "x" * 4096])
@pytest.mark.parametrize("old", ["y", "y" * 4096])
def test_passwords_of_every_length(login, new, old):
    assert change(login, new=new, old=old).lines == []
    assert sent(login) == [("changePassword", new.encode(), old.encode())]


@pytest.mark.parametrize("size", [4097, 60000])
def test_a_new_password_that_is_too_long_is_left_alone(login, size):
    run = change(login, new="x" * size)
    assert login.records == [] and run.lines == [TOO_LONG]


@pytest.mark.parametrize("old", [None, "", "x" * 4097], ids=["not set", "empty", "too long"])
def test_without_the_former_one_there_is_nothing_to_do(login, old):
    # Nobody gave the former password, as with chpasswd and root's passwd.
    assert change(login, old=old, new=NEW).lines == [] and login.records == []
    login.configure("debug", before=SET_ITEMS)
    run = change(login, old=old, new=NEW)
    assert len(run.lines) == 1 and "without the former one" in run.lines[0] and run.priorities == [LOG_DEBUG]
    assert login.records == []


def test_the_first_of_the_two_calls_changes_nothing(login):
    stack = [SET_ITEMS, f"password optional {MODULE} helper={login.helper}", "password required pam_deny.so"]
    (login.folder / "pam.d/login").write_text("\n".join(stack) + "\n")
    run = login.run("chauthtok", PAM_OLDAUTHTOK=TOKEN, PAM_AUTHTOK=NEW)
    assert [result for name, result in run.calls if name == "chauthtok"] != [0] and login.records == []


@pytest.mark.parametrize("service", EXCLUDED_SERVICES)
def test_also_for_services_that_begin_no_session(login, service):
    login.configure(service=service, before=SET_ITEMS)
    change(login, new=NEW, service=service)
    assert [request["service"] for request in login.requests] == [service.encode()]


@pytest.mark.parametrize("option", ["passphrase", "home=x"])
def test_lines_that_do_nothing(login, option):
    login.configure(option, before=SET_ITEMS)
    change(login, new=NEW)
    assert login.records == [] and login.questions == []


@pytest.mark.parametrize("result", [0, 1, 3, *NOTABLE])
def test_every_answer_is_ignored_and_logged_by_its_weight(login, result):
    login.behave(f"answer {result}")
    run = change(login, new=NEW)
    lines = {**NOTABLE, 5: "the former password does not open the vault"}
    assert run.lines == ([lines[result]] if result in lines else [])


@pytest.mark.parametrize("behaviour, line", [
    ("answer 17", "latchkey-derive returned an invalid reply"), ("silent", "latchkey-derive ended without an answer"),
    ("hang", LATE), (f"signal {int(signal.SIGSEGV)}", "latchkey-derive was killed by signal 11")])
def test_a_helper_that_hangs_or_dies_does_not_stop_the_change(login, behaviour, line):
    login.behave(behaviour)
    run = change(login, new=NEW)
    assert run.lines == [line] and run.seconds < seconds(6)


def test_its_time_is_its_own(login):
    login.behave("late 3300 0")
    run = change(login, "open", new=NEW)
    # The session used up the login's time. The log does not mention the change, which took longer.
    assert run.lines == [LATE]
    assert [request["operation"] for request in login.requests] == ["openSession", "changePassword"]


@pytest.mark.parametrize("failure", FAILURES)
def test_failures_of_the_system_do_not_stop_the_change(login, failure):
    change(login, "descriptors", new=NEW, PAMDRIVER_FAIL=failure)
    for request in login.requests:
        assert (request["operation"], request["token"]) in [("changePassword", NEW.encode())] and request["second"]


def test_nothing_stays_in_memory(login):
    with login.pausing("chauthtok", "pause", PAM_OLDAUTHTOK=TOKEN, PAM_AUTHTOK=NEW) as process:
        await_pause(process)
        assert secret_pages(process.pid) == []
        process.communicate("x")
    run = login.run("descriptors", *["chauthtok"] * 3, "descriptors", PAM_OLDAUTHTOK=TOKEN, PAM_AUTHTOK=NEW)
    assert len({result for name, result in run.calls if name == "descriptors"}) == 1


# ---- an expired password, changed between authenticate and open_session ----


@pytest.fixture
def expired(login):
    login.configure(before=f"auth requisite pam_pwdfile.so pwdfile={login.folder}/pwdfile\n{SET_ITEMS}")
    return login


def expire(login, *commands, old=TOKEN, new=NEW, **environment):
    items = {"PAM_OLDAUTHTOK": old, "PAM_AUTHTOK": new}
    environment |= {name: value for name, value in items.items() if value is not None}
    run = login.run("auth", "chauthtok", "open", *commands, **environment)
    assert set(run.results) == {0}
    return run


@pytest.mark.parametrize("result", [0, 1])
def test_the_session_opens_with_the_new_one(expired, result):
    expired.behave(f"answer {result}")
    expire(expired)
    assert sent(expired) == [
        ("authenticate", TOKEN.encode(), None), ("changePassword", NEW.encode(), TOKEN.encode()),
        ("openSession", NEW.encode(), None)]
    assert [request["flags"] & ~BESIDE for request in expired.requests] == [0, 0, 0]


@pytest.mark.parametrize("answer", [3, 10])
def test_where_the_home_folder_is_mounted_by_the_session_the_vault_is_told_then(expired, answer):
    """There was no vault when the password changed, or its folder could not be opened."""
    expired.behave(f"answer {answer}")
    with expired.pausing(
            "auth", "chauthtok", "pause", "open", "pause", PAM_OLDAUTHTOK=TOKEN, PAM_AUTHTOK=NEW) as process:
        await_pause(process)
        (page,) = secret_pages(process.pid)
        assert NEW.encode() in page and TOKEN.encode() in page
        expired.behave("answer 0")
        process.stdin.write("x")
        process.stdin.flush()
        await_pause(process)
        assert secret_pages(process.pid) == []
        process.communicate("x")
    told = ("changePassword", NEW.encode(), TOKEN.encode())
    assert sent(expired) == [("authenticate", TOKEN.encode(), None), told, told, ("openSession", NEW.encode(), None)]
    assert [request["flags"] & ~BESIDE for request in expired.requests] == [0] * 4


@pytest.mark.parametrize("behaviour", ["answer 5", "answer 10", "silent"])
def test_where_it_still_takes_nothing_then_the_former_one_opens_it(expired, behaviour):
    expired.behave("answer 10")
    with expired.pausing("auth", "chauthtok", "pause", "open", PAM_OLDAUTHTOK=TOKEN, PAM_AUTHTOK=NEW, **pace(behaviour)) as process:
        await_pause(process)
        expired.behave(behaviour)
        process.communicate("x")
    told = ("changePassword", NEW.encode(), TOKEN.encode())
    assert sent(expired) == [("authenticate", TOKEN.encode(), None), told, told, ("openSession", TOKEN.encode(), None)]
    assert [request["flags"] & ~BESIDE for request in expired.requests] == [0, 0, 0, 1]


@pytest.mark.parametrize("size", [1, 4096])
def test_the_longest_passwords_wait_for_the_session(expired, size):
    expired.behave("answer 3")
    expire(expired, "open", old="o" * size, new="n" * size)
    assert sent(expired)[1:] == [("changePassword", b"n" * size, b"o" * size)] * 2 + [
        ("openSession", b"n" * size, None), ("openSession", b"", None)]


@pytest.mark.parametrize("behaviour", ["answer 5", "answer 7", "answer 9", "answer 23", "silent", "hang", "garbage"])
def test_what_the_vault_does_not_know_opens_nothing_and_the_former_one_creates_nothing(expired, behaviour):
    """If the helper did not get the change, the former password still opens the vault, but creates no vault."""
    (expired.helper.parent / "behaviour").write_text("first 0 0")
    with expired.pausing(
            "auth", "pause", "chauthtok", "pause", "open", PAM_OLDAUTHTOK=TOKEN, PAM_AUTHTOK=NEW, **pace(behaviour)) as process:
        await_pause(process)
        expired.behave(behaviour)
        process.stdin.write("x")
        process.stdin.flush()
        await_pause(process)
        expired.behave("answer 0")
        process.communicate("x")
    *_, last = expired.requests
    assert (last["operation"], last["token"], last["flags"] & ~BESIDE) == ("openSession", TOKEN.encode(), 1)


def test_where_modules_pass_no_former_one_on_it_is_that_of_the_login(expired):
    expire(expired, old=None)
    assert sent(expired)[1:] == [("changePassword", NEW.encode(), TOKEN.encode()), ("openSession", NEW.encode(), None)]


def test_a_new_one_that_is_too_long_creates_nothing(expired):
    run = expire(expired, new="x" * 5000)
    assert run.lines == [TOO_LONG]
    assert sent(expired)[1:] == [("openSession", TOKEN.encode(), None)] and expired.requests[-1]["flags"] == 1 | BESIDE


def test_another_user_gets_no_token(expired):
    expired.run("auth", "user=bob", "chauthtok", "open", PAM_OLDAUTHTOK="old", PAM_AUTHTOK=NEW)
    assert sent(expired)[1:] == [("changePassword", NEW.encode(), b"old"), ("openSession", b"", None)]


def test_no_copy_of_either_is_left(expired):
    with expired.pausing(
            "auth", "chauthtok", "pause", "open", "pause", PAM_OLDAUTHTOK=TOKEN, PAM_AUTHTOK=NEW) as process:
        await_pause(process)
        (page,) = secret_pages(process.pid)
        assert NEW.encode() in page and TOKEN.encode() not in page
        process.stdin.write("x")
        process.stdin.flush()
        await_pause(process)
        assert secret_pages(process.pid) == []
        process.communicate("x")


# ---- a former password ----


@pytest.fixture
def unlock(login):
    login.configure(service=UNLOCK)
    login.behave("answer 5")
    return login


def authenticate(login, *commands, **environment):
    run = login.run(*commands, "auth", service=UNLOCK, **environment)
    assert [result for name, result in run.calls if name == "auth"] == [0], "what it asks changes nothing for the stack"
    return run


def asked(login):
    """The questions, except those of the module that asks for the login password."""
    return [question for question in login.questions if question[1] != b"Password: "]


def test_it_is_asked_for_three_times(unlock):
    run = authenticate(unlock, "env:LATCHKEY_PROMPT=7", "tty=tty7")
    assert asked(unlock) == [TOLD, QUESTION, AGAIN, QUESTION, AGAIN, QUESTION]
    assert sent(unlock) == [("authenticate", TOKEN.encode(), None)] + [("rewrap", TOKEN.encode(), TOKEN.encode())] * 3
    assert {request["prompt"] for request in unlock.requests} == {b"7"}
    assert {request["tty"] for request in unlock.requests} == {b"tty7"}
    assert run.lines == [WRONG, "neither a former password nor the recovery code was given"]
    assert run.priorities == [LOG_NOTICE, LOG_NOTICE]


def test_a_right_one_ends_it(unlock):
    unlock.configure("debug", service=UNLOCK)
    unlock.behave("first 5 0")
    run = authenticate(unlock)
    assert asked(unlock) == [TOLD, QUESTION] and len(unlock.records) == 2
    assert run.lines == [WRONG, "the vault opens with the present password from now on"]


@pytest.mark.night("login")
def test_a_former_one_was_given_when_it_was_answered(unlock):
    """A lock may come while the person thinks. Such a lock is older than the answer."""
    unlock.behave("first 5 0")
    authenticate(unlock, PAMDRIVER_CONVERSE="slow")
    present, former = (record.given for record in unlock.records)
    assert former - present > 3_000_000, "the answer took longer"


@pytest.mark.parametrize("result", [1, 2, 6, 7, 8, 9, 10, 12])
def test_what_another_try_does_not_help_ends_it(unlock, result):
    unlock.behave(f"first 5 {result}")
    run = authenticate(unlock)
    assert asked(unlock) == [TOLD, QUESTION] and len(unlock.records) == 2
    assert run.lines[1:] == ([NOTABLE[result]] if result in NOTABLE else [])


@pytest.mark.parametrize("behaviour", ["answer 0", "answer 1", "answer 6", "answer 7", "silent", "garbage"])
def test_nobody_is_asked_where_the_password_is_not_the_reason(unlock, behaviour):
    unlock.behave(behaviour)
    authenticate(unlock)
    assert asked(unlock) == [] and len(unlock.records) == 1


@pytest.mark.parametrize("service", ["login", "i3lock", "gdm-password", "sshd", "latchkey-unlock2"])
def test_no_other_service_asks(unlock, service):
    unlock.configure(service=service)
    unlock.run("auth", service=service)
    assert asked(unlock) == [] and len(unlock.records) == 1


def test_where_none_may_be_founded_nobody_is_asked(unlock):
    """In this stack a second factor comes after the login password. So a password that unlocks nothing is a code, and must not
    open anything later."""
    unlock.configure("no_create", service=UNLOCK)
    run = authenticate(unlock)
    assert asked(unlock) == [] and len(unlock.records) == 1 and run.lines == [WRONG]


def test_the_application_may_want_none_of_it(unlock):
    authenticate(unlock, "env:LATCHKEY_FORMER=no")
    assert asked(unlock) == [] and len(unlock.records) == 1
    authenticate(unlock, "env:LATCHKEY_FORMER=yes")
    assert asked(unlock) != []
    unlock.run("auth", service=UNLOCK, LATCHKEY_FORMER="no")
    assert asked(unlock) != [], "the environment of the process is not asked"


@pytest.mark.parametrize("way", ["fail", "nothing", "no text", "fail, freed", "renumber"])
@pytest.mark.parametrize("valgrind", [False, True])
def test_conversations_of_every_kind(unlock, way, valgrind):
    if valgrind and way not in ("no text", "renumber"):
        return
    # The token does not come from the asking module, because that module's conversation would fail too.
    unlock.configure(service=UNLOCK, before=SET_ITEMS.replace("password ", "auth "))
    wrapper = ["valgrind", "-q", "--error-exitcode=99", "--child-silent-after-fork=yes"] if valgrind else []
    run = unlock.run("env:LATCHKEY_PROMPT=7", "auth", service=UNLOCK, wrapper=wrapper, PAM_AUTHTOK=TOKEN, PAMDRIVER_CONVERSE=way)
    assert set(run.results) == {0}
    assert len(unlock.records) == (4 if way == "renumber" else 1)


@pytest.mark.parametrize("size, expected", [(1, 4), (4096, 4), (4097, 1), (60000, 1)])
def test_the_answer_is_bounded(unlock, size, expected):
    unlock.configure(service=UNLOCK, before=SET_ITEMS.replace("password ", "auth "))
    (unlock.folder / "token").write_text("y" * size)
    run = unlock.run("auth", service=UNLOCK, PAM_AUTHTOK="x")
    assert len(unlock.records) == expected
    assert run.lines[1:] == ([TOO_LONG] if expected == 1 else [run.lines[-1]])
    if expected == 4:
        assert sent(unlock)[1] == ("rewrap", b"x", b"y" * size)


@pytest.mark.night("login")
def test_a_helper_that_hangs_is_waited_for_once(unlock):
    unlock.behave("first 5 5")
    with unlock.pausing("auth", "pause", service=UNLOCK) as process:
        await_pause(process)
        process.communicate("x")
    unlock.behave("hang")
    run = authenticate(unlock)
    assert asked(unlock) == [] and run.lines == [LATE]


def test_only_the_kept_token_stays_in_memory(unlock):
    with unlock.pausing("auth", "pause", service=UNLOCK) as process:
        await_pause(process)
        assert len(secret_pages(process.pid)) == 1
        process.communicate("x")


@pytest.mark.parametrize("failure", FAILURES)
def test_failures_of_the_system_change_nothing_for_the_stack(unlock, failure):
    run = unlock.run("descriptors", "auth", "descriptors", service=UNLOCK, PAMDRIVER_FAIL=failure)
    assert len({result for name, result in run.calls if name == "descriptors"}) == 1
    assert [result for name, result in run.calls if name == "auth"] == [0]
