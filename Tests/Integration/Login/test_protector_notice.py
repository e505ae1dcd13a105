"""A protector that comes or goes is in the log. One that comes is told the person too: somebody else could have added it."""

import pytest
from support.notifications import know_the_first, notifications  # noqa: F401 (a fixture)
from support.session import wait_until

pytestmark = pytest.mark.night("login")


def test_a_protector_that_was_added_is_told(new_session, notifications):  # noqa: F811
    know_the_first(new_session)
    assert new_session.login().returncode == 0

    def change(*words):
        done = new_session.run("latchkey", "protector", *words, "--stdin", input=new_session.password + "\n")
        assert done.returncode == 0, done.stderr
        assert new_session.status()["state"] == "unlocked"

    change("add", "recovery-code", "--stdout")
    wait_until(notifications.look, "the notification")
    ((title, text),) = notifications.shown
    assert title == "A recovery code unlocks your vault now"
    assert "'latchkey protector remove'" in text and not set("<>&") & set(title + text)
    change("remove", "recovery-code")
    wait_until(lambda: "the protector recovery-code was removed from the vault" in new_session.log(), "the log")
    assert "the protector recovery-code was added to the vault" in new_session.log()
    assert len(notifications.look()) == 1
