"""The clients of Tests/support on the bus of a user of a booted system."""

import contextlib
import os
from types import SimpleNamespace

from support.clients import CLASS, CLASSES
from support.peer import Failure, Peer
from support.table import Cell, written


@contextlib.contextmanager
def visitor(account):
    """A client on the bus of the user manager, as the bus sees any process of the user's."""
    account.status()  # waits until the device key service had its turn
    # Opened by root: nobody else may go through the machine's own process.
    folder = os.open(account.machine.path(f"/run/user/{account.uid}"), os.O_PATH)
    try:
        address = {"DBUS_SESSION_BUS_ADDRESS": f"unix:path=/proc/self/fd/{folder}/bus"}
        peer = Peer(SimpleNamespace(uid=account.uid, environment=address))
        yield peer
        peer.close()
    finally:
        os.close(folder)


BOUND = [name for name in CLASSES if name.endswith("this-device-only")]
FREE = [name for name in CLASSES if name not in BOUND]
UNAVAILABLE = "org.latchkey.Error.Unavailable"


def store_each(account, origin="here"):
    """An item of each class."""
    with visitor(account) as peer:
        for name in CLASSES:
            peer.create(f"{origin}, {name}", {"app": name, "origin": origin, CLASS: name})


def readable(account, origin="here"):
    """The classes whose items of `store_each` can be read, each with the right secret; the others are found, and out of
    reach."""
    classes = []
    with visitor(account) as peer:
        for name in CLASSES:
            (item,) = sum(peer.search({"app": name, "origin": origin}), [])
            try:
                assert peer.read(item).decode() == f"{origin}, {name}"
                classes.append(name)
            except Failure as failure:
                assert failure.name == UNAVAILABLE, name
    return classes


def fill(account):
    """The table's cells in the account's vault, which is unlocked."""
    with visitor(account) as peer:
        return [Cell(peer, name) for name in CLASSES]


def measured(account, cells):
    """By class and operation: what becomes of it now."""
    with visitor(account) as peer:
        return {cell.name: cell.measure(peer) for cell in cells}


def told(state):
    """By class and operation: what docs/user/classes.md says becomes of it."""
    return written()[state]
