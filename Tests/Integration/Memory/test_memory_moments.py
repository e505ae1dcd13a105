"""The daemon's memory at moments that tests rarely meet by chance: in the middle of a store, and between the arrival of
keys and the unlock. The test stops the daemon at these moments.

These scans are the control for the scans a moment later. The scans look for secrets of every size and of each class
that a lock erases, keys of transport sessions, and tier keys.
"""

import concurrent.futures
import os
import signal
import subprocess

import pytest
from support.client import SecretClient
from support.control import (
    AUTHENTICATE,
    LIVE,
    NOT_NOW,
    OPEN_SESSION,
    REFUSED,
    UNLOCK,
    WRONG_KEYS,
    Control,
    hello,
    keys,
    packet,
)  # fmt: skip
from support.faults import STOP, FaultySession
from support.memory import scan_files
from support.pace import seconds
from support.peer import LOGIN
from support.session import wait_until
from test_memory import ENCRYPTED, Memory, set_tunables, store_all, tunables

pytestmark = [
    pytest.mark.night("vault"),
    pytest.mark.skipif(os.getuid() != 0, reason="reading another process's memory needs root")]

ERASED = ("when-unlocked", "when-unlocked-this-device-only", "when-passcode-set-this-device-only")
SIZES = (48, 5000, 1 << 20, 16 << 20)


@pytest.fixture
def moments(stage):
    """The memory of an unlocked daemon with the environment of its unit. A test can stop the daemon at a change of a
    file."""
    session = FaultySession(stage)
    try:
        set_tunables(session, tunables())
        session.begin()
        yield Memory(session)
    finally:
        session.close()


def stopped(session, call, look):
    """Runs `call`, stops the daemon at its first change of a file, and runs `look`. Then lets the daemon go on, and
    returns the result of `call`."""
    session.faults.arm(STOP, 1)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = pool.submit(call)
        try:
            wait_until(lambda: session.faults.told()["hits"] or running.done(), "the change")
            assert session.faults.disarm()["hits"], running.result()
            look()
        finally:
            os.kill(session.process, signal.SIGCONT)
        return running.result(60)


@pytest.mark.parametrize("name", ERASED)
def test_secrets_of_every_size_are_there_and_gone(moments, name):
    session = moments.session
    with SecretClient(session) as client:
        opened = client.open(algorithm=ENCRYPTED)
        via, transport = opened["session"], {"AES key": bytes.fromhex(opened["key"])}
        items = []
        for size in SIZES:
            attributes = {"size": str(size), "latchkey:accessible": name}
            text = moments.text("A", f"stored with {size} bytes")

            def store(text=text, size=size, attributes=attributes):
                return client.store(session=via, attributes=attributes, text=text, size=size)["item"]

            def look(size=size):
                assert set(moments.found(transport | {"secret": moments.secrets["A"][f"stored with {size} bytes"]})) == {
                    "AES key", "secret"}  # fmt: skip

            item = stopped(session, store, look)
            moments.learn()
            for way in ("replaced", "set"):
                text = moments.text("A", f"{way} with {size} bytes")
                if way == "set":
                    client.set(session=via, item=item, text=text, size=size)
                else:
                    again = client.store(session=via, attributes=attributes, text=text, size=size, replace=True)
                    assert again["item"] == item
                assert client.get(session=via, item=item)["size"] == size
            items.append(item)
        assert sorted(client.get_all(session=via, items=items)["sizes"].values()) == sorted(SIZES)
        # Every class has its keys. This class also has the keys of all its items.
        store_all(moments, client, via, "and ")
        vault = moments.learn()
        assert len([item for item in vault.items.values() if item.accessibility == name]) == len(SIZES) + 1
        client.close(session=via)
        moments.transport |= {key: bytes.fromhex(opened[key]) for key in ("key", "shared", "extracted")}
        session.lock()
        moments.check(there={"C", "device"}, gone={"A"})
    # No file contains these values in the clear. The control: the scan finds the nonces of their sealed forms.
    assert scan_files([session.vault], moments.everything()) == {}
    nonces = {f"{what} {number}": nonce for number, (_, nonce, what) in enumerate(vault.sealed) if "share" not in what}
    assert set(scan_files([session.vault], nonces)) == set(nonces)


def test_keys_on_their_way(moments):
    session = moments.session
    with SecretClient(session) as client:
        store_all(moments, client, client.open(algorithm=ENCRYPTED)["session"])
        vault = moments.learn()
        tiers = {key.name: key.value for key in vault.keys if key.kind == "tier"}
        assert len(tiers) == 2

        def look():
            assert set(moments.found(tiers)) == set(tiers)

        # A login ends the collection's explicit lock, which changes the database.
        client.lock(path=LOGIN)
        assert stopped(session, session.bring_keys, look) == LIVE
        moments.check(there={"A", "C", "device"}, gone=())
        # A lock comes during this change.
        client.lock(path=LOGIN)
        locking = []

        def look_and_lock():
            look()
            locking.append(session.start("latchkey", "lock", stdout=subprocess.DEVNULL))

        stopped(session, session.bring_keys, look_and_lock)
        with locking[0] as process:
            assert process.wait(seconds(10)) == 0
        assert session.status()["state"] == "locked"
        moments.check(there={"C", "device"}, gone={"A"})
        assert session.bring_keys(opens=False) == LIVE
        moments.check(there={"A", "C", "device"}, gone=())


def test_keys_that_are_refused(moments):
    session = moments.session
    with SecretClient(session) as client:
        store_all(moments, client, client.open(algorithm=ENCRYPTED)["session"])
    moments.learn()
    session.lock()
    control = Control(session)
    try:
        # The keys come from another machine, and are not this vault's.
        assert control.ask(hello(AUTHENTICATE, "i3lock", host="elsewhere"))[2] == REFUSED
        assert control.ask_sealed(session.keys())[:3] == packet(UNLOCK, bytes([NOT_NOW]))
        moments.check(there={"C", "device"}, gone={"A"})
        wrong = moments.text("never", "wrong keys")
        tiers = (wrong.encode() * 2)[:64]
        control.ask(hello(OPEN_SESSION))
        assert control.ask_sealed(keys(tiers=tiers))[:3] == packet(UNLOCK, bytes([WRONG_KEYS]))
        moments.check(there={"C", "device"}, gone={"A"})
    finally:
        control.close()
    session.lock()
    moments.check(there={"C", "device"}, gone={"A"})
