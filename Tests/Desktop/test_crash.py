"""After a kill, the next daemon is sealed and has lost no acknowledged item. After an upgrade, the old daemon gives way to the
new daemon."""

import contextlib
from types import SimpleNamespace

import pytest
from support.control import GIVE_WAY, HELLO, OTHER_VERSION, STATUS, VERSION, Control, packet
from support.machine import eventually

pytestmark = pytest.mark.night("faults")

KILL = "systemctl --user kill -s KILL latchkeyd.service"


def await_new_daemon(alice, old):
    show = ("systemctl", "--user", "show", "-P", "MainPID", "-P", "ActiveState", "latchkeyd.service")

    def came():
        number, state = sorted(alice.run(*show).stdout.split())
        # systemd shows the killed process until it hears of the end, and the process may be gone by the time of the look-up.
        with contextlib.suppress(ProcessLookupError):
            return state == "active" and number != "0" and alice.machine.host_pid(number) != old

    eventually(came, what="the new daemon")


def test_killed_daemon_comes_back_sealed(alice):
    with alice.login() as session:
        session.store("of default", app="default")
        session.store("of first", accessible="after-first-unlock", app="first")
        old = alice.daemon()
        session.run(KILL)
        await_new_daemon(alice, old)
        assert session.status()["state"] == "sealed"
        assert not session.status()["first_unlocked"]
        for name in ("default", "first"):
            assert session.secret(app=name) == "org.freedesktop.Secret.Error.IsLocked"
        reached = session.run("systemctl --user is-active latchkey-first-unlock.target", check=False).stdout.strip()
        assert reached == "inactive"
        with alice.login():
            assert session.status()["state"] == "unlocked"
            assert session.secret(app="default") == "of default"
            assert session.secret(app="first") == "of first"


def test_what_was_acknowledged_is_there_after_kills(alice):
    # A loop stores items, and records each item after secret-tool reported success. Meanwhile the daemon is killed, and a login
    # brings the keys back. The number of kills stays within the unit's start limit.
    noted = alice.machine.path(f"{alice.home}/acknowledged")
    acknowledged = lambda: noted.read_text().split() if noted.exists() else []
    with alice.login() as session:
        # The loop has no terminal. Otherwise prompts of the sealed vault would come up there, between the lines that the test
        # types.
        session.run(
            "setsid bash -c 'for i in $(seq 4000); do "
            "printf %s secret-$i | timeout 5 secret-tool store --label=test app loop number $i 2>/dev/null "
            "&& echo $i >>~/acknowledged; done' </dev/null & "
        )
        for _ in range(3):
            stored = acknowledged()
            session.run("sleep 1.5")
            # A client whose call went to the killed daemon first waits for its timeout.
            eventually(lambda: len(acknowledged()) > len(stored) + 2, 20, "stored items")
            old = alice.daemon()
            session.run(KILL)
            await_new_daemon(alice, old)
            with alice.login():
                pass
        session.run("pkill -f 'seq 40[0]'", check=False)
        stored = acknowledged()
        assert len(stored) > 5
        assert session.status()["problems"] == []
        found = session.find(app="loop")
        secrets = {item.get("secret") for item in found["items"].values()}
        assert {f"secret-{number}" for number in stored} <= secrets


def test_daemon_does_not_stop_by_itself(alice):
    with alice.login() as session:
        old = alice.daemon()
        session.run("sleep 35")  # longer than the usual idle exit of a service
        assert alice.daemon() == old


def test_a_daemon_gives_way_to_the_installed_one_where_a_password_brings_back_all_that_it_has(alice):
    """A helper of another version that has opened the keybag makes the daemon give way. The helper waits for the daemon's end,
    and then begins again."""
    ours = SimpleNamespace(runtime=alice.machine.path(f"/run/user/{alice.uid}"))

    def ask(control, operation, answer):
        assert control.ask(packet(operation, version=VERSION + 1)) == packet(answer)

    def connect():
        return contextlib.closing(Control(ours, user=False))

    with alice.login() as session:
        session.store("of first", accessible="after-first-unlock", app="first")
        old = alice.daemon()
        with connect() as helper:
            ask(helper, HELLO, OTHER_VERSION)
        assert session.status()["state"] == "unlocked"
        session.run("latchkey lock")
        with connect() as helper:
            ask(helper, HELLO, GIVE_WAY)
        with connect() as client:
            ask(client, STATUS, OTHER_VERSION)
        # None of these calls has proved a password yet.
        assert session.secret(app="first") == "of first" and alice.daemon() == old
        with connect() as helper:
            ask(helper, HELLO, GIVE_WAY)
            ask(helper, GIVE_WAY, GIVE_WAY)
            assert helper.receive() == b""
        # The helper connects at once, and the service manager starts the new daemon.
        with connect() as helper:
            assert helper.ask(packet(STATUS))[:2] == packet(STATUS)
        assert alice.daemon() != old and session.status()["state"] == "sealed"
        with alice.login():
            assert session.status()["state"] == "unlocked" and session.secret(app="first") == "of first"
