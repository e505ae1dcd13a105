"""A daemon that is killed comes back sealed and has lost nothing that it acknowledged; one that was upgraded gives way."""

import contextlib
from types import SimpleNamespace

from support.control import GIVE_WAY, HELLO, OTHER_VERSION, STATUS, VERSION, Control, packet
from support.machine import eventually

KILL = "systemctl --user kill -s KILL latchkeyd.service"


def await_new_daemon(session, alice, old):
    def came():
        shown = session.run("systemctl --user show -P MainPID -P ActiveState latchkeyd.service").stdout.split()
        return "active" in shown and "0" not in shown and alice.daemon() != old

    eventually(came, what="the new daemon")


def test_killed_daemon_comes_back_sealed(alice):
    with alice.login() as session:
        session.store("of default", app="default")
        session.store("of first", accessible="after-first-unlock", app="first")
        old = alice.daemon()
        session.run(KILL)
        await_new_daemon(session, alice, old)
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
    # A loop stores items and notes each that secret-tool reported done, while the daemon is killed and login brings
    # the keys back. No more kills than the unit's start limit lets pass.
    with alice.login() as session:
        # Away from the terminal: while the vault is sealed its prompts would come up there, between what the test types.
        session.run(
            "setsid bash -c 'for i in $(seq 400); do "
            "printf %s secret-$i | timeout 5 secret-tool store --label=test app loop number $i 2>/dev/null "
            "&& echo $i >>~/acknowledged; done' </dev/null & "
        )
        for _ in range(3):
            session.run("sleep 1.5")
            old = alice.daemon()
            session.run(KILL)
            await_new_daemon(session, alice, old)
            with alice.login():
                pass
        session.run("pkill -f 'seq 40[0]'", check=False)
        acknowledged = alice.machine.path(f"{alice.home}/acknowledged").read_text().split()
        assert len(acknowledged) > 5
        assert session.status()["problems"] == []
        found = session.find(app="loop")
        secrets = {item.get("secret") for item in found["items"].values()}
        assert {f"secret-{number}" for number in acknowledged} <= secrets


def test_daemon_does_not_stop_by_itself(alice):
    with alice.login() as session:
        old = alice.daemon()
        session.run("sleep 35")  # longer than the usual idle exit of a service
        assert alice.daemon() == old


def test_a_daemon_gives_way_to_the_installed_one_where_a_password_brings_back_all_that_it_has(alice):
    """A helper of another version that has opened the keybag asks for it, and waits for its end before it begins anew."""
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
        # No password opened anything until now.
        assert session.secret(app="first") == "of first" and alice.daemon() == old
        with connect() as helper:
            ask(helper, HELLO, GIVE_WAY)
            ask(helper, GIVE_WAY, GIVE_WAY)
            assert helper.receive() == b""
        # As the helper does then, at once: the service manager starts the new one.
        with connect() as helper:
            assert helper.ask(packet(STATUS))[:2] == packet(STATUS)
        assert alice.daemon() != old and session.status()["state"] == "sealed"
        with alice.login():
            assert session.status()["state"] == "unlocked" and session.secret(app="first") == "of first"
