"""The machine itself: somebody logs in, and finds what is installed at work."""

import json


def test_a_login_finds_the_vault_of_this_user(machine):
    console = machine.console
    console.login("alice", "sesame-1")
    try:
        status = json.loads(console.run("latchkey status --json").stdout)
        assert status["vault"] == "/home/alice/.local/share/latchkey"
        assert status["memory_locked"]
    finally:
        console.logout()


def test_all_of_its_memory_can_be_read(machine):
    # Not as it was typed.
    machine.root.run("printf 'needle%.0s' 1 2 3 >/run/needles")
    with machine.stopped() as memory:
        assert b"needle" * 3 in memory.read_bytes()
