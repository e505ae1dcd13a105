"""A fault or a signal ends latchkeyd while the vault is unlocked. The memory of the dying process has no key, because
the kernel does not clear that memory.

The controls: when the signal arrives, the same scan finds the keys. At the end, the scan finds the name of the daemon.
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
        # The event loop reads SIGTERM from a descriptor, and then the daemon ends as usual.
        if number != signal.SIGTERM:
            assert set(before) == set(keys | control)
            assert ended in (0, number)
        assert "control" in after
        assert {name: places for name, places in after.items() if name in keys} == {}
    wait_until(lambda: new_session.daemon_pid() != daemon, "the daemon's end")
