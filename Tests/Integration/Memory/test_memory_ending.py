"""No key stays behind in the memory of a latchkeyd that a fault or a signal ends while the vault is unlocked. The kernel frees that
memory as it is.

The control: the same scan finds the keys in the moment in which the signal arrives, and the name of the daemon in its last one.
"""

import os
import secrets
import signal

import pytest
from support.client import SecretClient
from support.ending import FAULTS, end
from support.session import wait_until
from test_memory import ENCRYPTED, Memory, log_in, store_all

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="reading another process's memory needs root")


@pytest.mark.parametrize("number", [*FAULTS, signal.SIGTERM], ids=lambda number: signal.Signals(number).name)
def test_no_key_stays_behind(new_session, number):
    new_session.set_password("password " + secrets.token_hex(24))
    memory = Memory(new_session)
    log_in(memory)
    with SecretClient(new_session) as client:
        opened = client.open(algorithm=ENCRYPTED)
        store_all(memory, client, opened["session"])
        memory.learn()
        keys = memory._named({"A", "C", "device"}, True) | {"key of the session": bytes.fromhex(opened["key"])}
        control = {"control": b"another latchkeyd of this user runs"}
        daemon = new_session.daemon_pid()
        before, after, ended = end(daemon, number, keys | control)
        # The loop takes SIGTERM from a descriptor, and then ends as usual.
        if number != signal.SIGTERM:
            assert set(before) == set(keys | control)
            assert ended in (0, number)
        assert "control" in after
        assert {name: places for name, places in after.items() if name in keys} == {}
    wait_until(lambda: new_session.daemon_pid() != daemon, "the daemon's end")
