"""One home folder on two machines. Items that are bound to one machine wait there, whatever the other machine does."""

import json
import sqlite3

import pytest
from support.account import Account
from support.machine import eventually
from visitor import BOUND, CLASSES, FREE, readable, store_each, visitor

pytestmark = pytest.mark.night("device")

FOREIGN = "it was stored on another device"
# A change of keys on any device may write these columns, because every device must be able to list the labels.
ALSO_UNDER_C = {"metadata_key_session", "checksum"}


@pytest.fixture
def elsewhere(alice, other_machine):
    """The same person's account on the other machine."""
    return Account(other_machine, alice.name, alice.uid, alice.password)


def kept(account, numbers):
    """The whole rows of items, and the wrapped keys of their classes."""
    for file in account.vault.glob("vault.db*"):
        (account.machine.work / file.name).write_bytes(file.read_bytes())
    database = sqlite3.connect(account.machine.work / "vault.db")
    try:
        fitting = ",".join(map(str, numbers))
        items = database.execute(f"SELECT * FROM item WHERE id IN ({fitting}) ORDER BY id").fetchall()
        keys = database.execute(
            "SELECT class_key.* FROM class_key JOIN item ON item.class_key = class_key.id "
            f"WHERE item.id IN ({fitting}) ORDER BY item.id"
        )
        columns = [number for number, column in enumerate(keys.description) if column[0] not in ALSO_UNDER_C]
        return items, [tuple(row[number] for number in columns) for row in keys]
    finally:
        database.close()
        for file in account.machine.work.glob("vault.db*"):
            file.unlink()


def rotate(session, password):
    session.start("latchkey rotate")
    session.expect("assword: ")
    session.send(password)
    done = session.finish()
    assert done.returncode == 0 and "The vault has new keys." in done.stdout
    return done.stdout


def rotation(account):
    return account.status()["rotation"]


def test_a_home_that_travels(alice, elsewhere):
    here, there = alice.machine, elsewhere.machine
    for file in ("/etc/machine-id", "/var/lib/latchkey/device"):
        there.root("latchkey", "device", "show")
        here.root("latchkey", "device", "show")
        assert here.path(file).read_bytes() != there.path(file).read_bytes()

    with alice.login():
        store_each(alice, "here")
        assert readable(alice, "here") == CLASSES
        assert alice.status()["other_device_items"] == 0
        with visitor(alice) as peer:
            numbers = [int(path.rpartition("/")[2]) for name in BOUND for path in peer.search({"app": name})[0]]
    alice.await_end()
    before = kept(alice, numbers)
    assert len(before[0]) == len(before[1]) == len(BOUND)

    alice.carry_home(elsewhere)
    with elsewhere.login() as session:
        assert readable(elsewhere, "here") == FREE
        status = elsewhere.status()
        assert (status["device_key"], status["problems"], status["other_device_items"]) == ("host", [], len(BOUND))
        found = json.loads(elsewhere.run("latchkey", "find", "--json").stdout)
        listed = {item["class"]: (item["state"], item["reason"]) for item in found}
        assert listed == {name: ("open", None) for name in FREE} | {name: ("locked", FOREIGN) for name in BOUND}
        refused = session.run(f"latchkey get --no-prompt app={BOUND[0]} | cat", check=False)
        assert FOREIGN in refused.stdout
        assert "7 items in 1 collection; 4 stored on another device\n" in session.run("latchkey status").stdout
        # These steps might change the bound items.
        store_each(elsewhere, "there")
        assert readable(elsewhere, "there") == CLASSES
        session.run("loginctl lock-session")
        eventually(lambda: elsewhere.status()["state"] == "locked", what="the lock")
        assert session.authenticate(elsewhere.password)
        eventually(lambda: elsewhere.status()["state"] == "unlocked", what="the unlock")
        said = rotate(session, elsewhere.password)
        # The number includes the `always` item. A copy makes it readable here, but it is bound to the other device as well.
        assert f"{len(BOUND) + 1} items of other devices will follow when the vault is unlocked there." in said
        assert rotation(elsewhere)["left"] == 0
        assert rotation(elsewhere)["former_keys_needed"]
        assert readable(elsewhere, "here") == FREE
    elsewhere.await_end()
    with elsewhere.login():
        assert readable(elsewhere, "here") == FREE
        assert readable(elsewhere, "there") == CLASSES
    elsewhere.await_end()
    assert kept(elsewhere, numbers) == before

    elsewhere.carry_home(alice)
    with alice.login():
        assert readable(alice, "here") == CLASSES
        assert readable(alice, "there") == FREE
        assert alice.status()["problems"] == []
        # The new keys have now reached the items that are bound to this device.
        eventually(lambda: rotation(alice)["left"] == rotation(alice)["other_device"] == 0, what="the new keys")
        assert readable(alice, "here") == CLASSES
    alice.await_end()
    assert kept(alice, numbers) != before

    alice.carry_home(elsewhere)
    with elsewhere.login():
        assert readable(elsewhere, "here") == FREE
        assert readable(elsewhere, "there") == CLASSES
