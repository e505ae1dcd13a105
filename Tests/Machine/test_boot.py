"""The machine itself: a person logs in, and the installed programs work."""

import json

import pytest
from sight import lock, log_in, status, unlock

PASSWORD = "sesame-1"
# The system's messages about logins, the module, and the memory of their processes.
SAID = "journalctl -b --no-pager -o short-monotonic | grep -E 'pam_latchkey|latchkey-derive|latchkeyd|oom|Out of memory|ttyS0'"


def test_each_login_opens_the_vault_by_itself(machine):
    console = machine.console
    for login in ("the first, which creates it", "a later one"):
        try:
            log_in(console, PASSWORD)
        except AssertionError as error:
            error.add_note(machine.root.run(SAID, check=False).stdout)
            raise
        try:
            found = json.loads(console.run("latchkey status --json").stdout)
            assert found["vault"] == "/home/alice/.local/share/latchkey", login
            assert found["memory_locked"]
        finally:
            console.logout()


def test_a_login_with_too_little_memory_goes_on_and_says_why(machine):
    """The session's control group, in which the helper checks the password, has too little memory for Argon2id."""
    console, limit = machine.console, "/run/systemd/system/session-.scope.d/memory.conf"
    log_in(console, PASSWORD)
    console.logout()
    machine.root.run(f"mkdir -p {limit.rpartition('/')[0]}")
    machine.root.write_file(limit, b"[Scope]\nMemoryMax=48M\nMemorySwapMax=0\n")
    machine.root.run("systemctl daemon-reload")
    try:
        console.login("alice", PASSWORD)
        assert console.run("id -un").stdout.strip() == "alice"
        machine.root.run("sleep 15")
        assert status(console)["state"] == "sealed"
        assert "not enough memory to derive the vault's key" in machine.root.run(SAID, check=False).stdout
        console.logout()
    finally:
        machine.root.run(f"rm {limit} && systemctl daemon-reload")
    log_in(console, PASSWORD)
    lock(machine)
    unlock(console, PASSWORD)
    console.logout()


def test_all_of_its_memory_can_be_read(machine):
    # The command types the needle in another form, so that only the file has it.
    machine.root.run("printf 'needle%.0s' 1 2 3 >/run/needles")
    with machine.stopped() as memory:
        assert b"needle" * 3 in memory.read_bytes()
