"""setcred in `latchkey-unlock`. With this call its application says that the whole stack accepted the password, and that there is
no vault yet."""

import pytest
from modulelogin import TOKEN

UNLOCK = "latchkey-unlock"
LOG_WARNING, LOG_DEBUG = 4, 7
NO_PASSWORD = "no vault created: no password was given"
FORBIDDEN = "no vault created: not for this account, or no_create forbids it"


@pytest.fixture
def unlock(login):
    """A prompt's service whose vault is missing."""
    login.configure("debug", service=UNLOCK)
    login.behave("answer 3")
    return login


def test_the_vault_is_created_with_the_password(unlock):
    unlock.behave("answer 4")
    run = unlock.run("env:LATCHKEY_PROMPT=7", "auth", "setcred", service=UNLOCK)
    assert set(run.results) == {0}
    first, second = unlock.requests
    assert (first["operation"], second["operation"]) == ("authenticate", "createVault")
    assert second == {**first, "operation": "createVault"}
    assert second["token"] == TOKEN.encode() and second["prompt"] == b"7" and second["flags"] == 2
    assert run.lines[-1] == "new vault created" and run.priorities[-1] == LOG_DEBUG


def test_not_before_that_is_said(unlock):
    unlock.run("auth", service=UNLOCK)
    assert [request["operation"] for request in unlock.requests] == ["authenticate"]


@pytest.mark.parametrize("service", ["login", "i3lock", "gdm-password", "sshd", "latchkey-unlock2"])
def test_no_other_service_creates_one_so(unlock, service):
    unlock.configure(service=service)
    run = unlock.run("auth", "setcred", service=service)
    assert set(run.results) == {0}
    assert [request["operation"] for request in unlock.requests] == ["authenticate"]


def test_without_a_password_nothing_is_created(unlock):
    unlock.configure(service=UNLOCK, before="auth required pam_permit.so")
    run = unlock.run("auth", "setcred", service=UNLOCK)
    assert set(run.results) == {0} and unlock.records == []
    assert (run.lines, run.priorities) == ([NO_PASSWORD], [LOG_WARNING])


def test_the_password_serves_once(unlock):
    run = unlock.run("auth", "setcred", "setcred", service=UNLOCK)
    assert [request["operation"] for request in unlock.requests] == ["authenticate", "createVault"]
    assert run.lines[-1] == NO_PASSWORD


def test_no_create_is_passed_on(unlock):
    unlock.configure("no_create", service=UNLOCK)
    run = unlock.run("auth", "setcred", service=UNLOCK)
    assert [request["flags"] for request in unlock.requests] == [1, 1]
    assert run.lines == [FORBIDDEN] and run.priorities == [LOG_WARNING]
