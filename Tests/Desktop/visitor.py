"""The clients of Tests/support on a user's bus of a booted system."""

import contextlib
import os
from types import SimpleNamespace

from support.clients import CLASS, CLASSES
from support.peer import Failure, Peer
from support.table import Cell, written


@contextlib.contextmanager
def visitor(account):
    """A client on the user manager's bus. The bus sees it as a process of the user."""
    account.status()  # waits until the device key service has answered
    # Root opens the folder, because nobody else may go through the path of the machine's process.
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
    """Stores an item of each class."""
    with visitor(account) as peer:
        for name in CLASSES:
            peer.create(f"{origin}, {name}", {"app": name, "origin": origin, CLASS: name})


def readable(account, origin="here"):
    """The classes of `store_each` whose items have the right secret. The other items must be found and locked."""
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
    """The measured result for each class and operation."""
    with visitor(account) as peer:
        return {cell.name: cell.measure(peer) for cell in cells}


def told(state):
    """The result that docs/user/classes.md names for each class and operation."""
    return written()[state]
