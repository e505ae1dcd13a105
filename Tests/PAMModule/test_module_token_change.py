"""pam_sm_chauthtok tells the helper that the new password is empty, or sends the former and the new password."""

import pathlib
import signal

import pytest
from modulelogin import MODULE, TOKEN
from support.helper import EXCLUDED_SERVICES
from support.pace import seconds
from test_module import EVERYDAY, FAILURES, LOG_ERR, NOTABLE, await_pause, secret_pages

SET_ITEMS = f"password required {next(pathlib.Path('/usr/lib').glob('*/pam_wrapper/pam_set_items.so'))}"
LATE = "latchkey-derive did not answer in time"
USED_UP = "this login's time for the vault is used up"


def change(login, *commands, old=TOKEN, new="", service="login", **environment):
    """Changes the password. The modules before this one have set both passwords; None means a missing item."""
    items = {"PAM_OLDAUTHTOK": old, "PAM_AUTHTOK": new}
    environment |= {name: value for name, value in items.items() if value is not None}
    run = login.run(*commands, "chauthtok", service=service, **environment)
    assert [result for name, result in run.calls if name == "chauthtok"] == [0], "nothing of it fails the change"
    return run


@pytest.fixture
def login(login):
    login.configure(before=SET_ITEMS)
    return login


# ---- calls that send a request ----


def test_an_empty_password_is_told_with_the_one_before(login):
    run = change(login, "tty=tty7", "rhost=10.0.0.9")
    assert run.lines == []
    assert login.requests == [dict(
        operation="removePassword", flags=0, user=b"alice", service=b"login", tty=b"tty7", remote_host=b"10.0.0.9", home=b"",
        runtime=b"", shadow=b"", prompt=b"", services=b"", device=b"", token=TOKEN.encode())]
    (record,) = login.records
    assert TOKEN.encode() not in record.everything and sorted(record.descriptors) == ["0", "1", "2"]


def test_options_go_along(login):
    login.configure("debug", "no_create", "home=/srv/a", "runtime=/run/x", "shadow=/srv/s", before=SET_ITEMS)
    run = change(login, "env:LATCHKEY_PROMPT=7", service="login")
    (request,) = login.requests
    assert (request["flags"], request["home"], request["runtime"], request["shadow"]) == (3, b"/srv/a", b"/run/x", b"/srv/s")
    assert request["prompt"] == b"" and run.lines == ["vault unlocked"]


def test_without_a_password_nobody_is_told_anything(login):
    run = change(login, new=None)
    assert login.records == [] and run.lines == []


@pytest.mark.parametrize("old, sent", [
    (None, ""), ("", ""), ("x", "x"), ("x" * 4096, "x" * 4096), ("x" * 4097, ""), ("x" * 60000, "")],
    ids=["not set", "empty", "one byte", "the longest", "too long", "much too long"])  # fmt: skip
def test_the_old_password_is_bounded(login, old, sent):
    run = change(login, old=old)
    assert [request["token"] for request in login.requests] == [sent.encode()] and run.lines == []


def test_only_the_call_that_changes_the_password_counts(login):
    # libpam first asks all modules whether the change is possible. The module after this one says no, so libpam does not call
    # this one again.
    stack = [SET_ITEMS, f"password optional {MODULE} helper={login.helper}", "password required pam_deny.so"]
    (login.folder / "pam.d/login").write_text("\n".join(stack) + "\n")
    run = login.run("chauthtok", PAM_OLDAUTHTOK=TOKEN, PAM_AUTHTOK="")
    assert [result for name, result in run.calls if name == "chauthtok"] != [0]
    assert login.records == [] and run.lines == []


@pytest.mark.parametrize("service", EXCLUDED_SERVICES)
def test_also_for_services_that_begin_no_session(login, service):
    login.configure(service=service, before=SET_ITEMS)
    run = change(login, service=service)
    assert [request["service"] for request in login.requests] == [service.encode()] and run.lines == []


def test_the_user_of_the_moment_is_named(login):
    change(login, "user=bob")
    assert [request["user"] for request in login.requests] == [b"bob"]
    run = change(login, "user=")
    assert len(login.records) == 1 and run.lines == []


def test_a_passphrase_line_tells_nothing(login):
    login.configure("passphrase", before=SET_ITEMS)
    run = change(login)
    assert login.records == [] and run.lines == [] and login.questions == []


@pytest.mark.parametrize("option", ["home=", "runtime=x", "shadow=", "shadow=etc/shadow", "helper=x"])
def test_an_option_that_cannot_be_followed_disarms_it(login, option):
    login.configure(option, before=SET_ITEMS)
    run = change(login)
    assert login.records == [] and run.lines == ["nothing done: a path is not absolute: " + option.split("=")[1]]


def test_it_asks_for_nothing_and_leaves_nothing(login):
    with login.pausing("chauthtok", "pause", PAM_OLDAUTHTOK=TOKEN, PAM_AUTHTOK="") as process:
        await_pause(process)
        assert secret_pages(process.pid) == []
        process.communicate("x")
    assert len(login.records) == 1 and login.questions == []
    run = login.run("descriptors", *["chauthtok"] * 5, "descriptors", PAM_OLDAUTHTOK=TOKEN, PAM_AUTHTOK="")
    assert len({result for name, result in run.calls if name == "descriptors"}) == 1 and len(login.records) == 6


def test_the_old_password_is_no_token_of_a_login(login):
    login.run("chauthtok", "open", PAM_OLDAUTHTOK=TOKEN, PAM_AUTHTOK="")
    assert [(request["operation"], request["token"]) for request in login.requests] == [
        ("removePassword", TOKEN.encode()), ("openSession", b"")]


# ---- any result of the helper ----


@pytest.mark.parametrize("result", [*EVERYDAY, *NOTABLE])
def test_every_answer_is_ignored_and_logged_by_its_weight(login, result):
    login.behave(f"answer {result}")
    assert change(login).lines == ([NOTABLE[result]] if result in NOTABLE else [])


@pytest.mark.parametrize("behaviour, line", [
    ("answer 17", "latchkey-derive returned an invalid reply"), ("garbage", "latchkey-derive returned an invalid reply"),
    ("silent", "latchkey-derive ended without an answer"), ("hang", LATE),
    (f"signal {int(signal.SIGSEGV)}", "latchkey-derive was killed by signal 11"), ("deaf 5", NOTABLE[5])])
def test_a_helper_that_hangs_or_dies_does_not_stop_the_change(login, behaviour, line):
    login.behave(behaviour)
    run = change(login)
    assert run.lines == [line] and run.seconds < seconds(6)


def test_a_helper_that_is_not_there_does_not_stop_the_change(login):
    login.configure(helper=login.folder / "none", before=SET_ITEMS)
    run = change(login)
    assert run.lines == ["latchkey-derive cannot be started: No such file or directory"] and run.priorities == [LOG_ERR]


def test_its_time_is_that_of_the_login(login):
    # An expired password is changed between authenticate and open_session.
    login.behave("hang")
    run = change(login, "open")
    # open_session leaves almost no time of the login. The rest may or may not be enough to start a helper.
    assert run.lines[0] == LATE and run.lines[1:] in ([LATE], [USED_UP]) and run.seconds < seconds(10)


@pytest.mark.parametrize("failure", FAILURES)
def test_failures_of_the_system_do_not_stop_the_change(login, failure):
    run = change(login, "descriptors", PAMDRIVER_FAIL=failure)
    for request in login.requests:
        assert request["operation"] == "removePassword" and request["token"] in (b"", TOKEN.encode())
    if failure in ("mlock:*", "send:1", "recv:1"):
        assert len(login.records) == 1 and run.lines == []
