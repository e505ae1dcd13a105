"""The item commands in a session, and another client's view of the same items."""

import contextlib
import json
import subprocess
import uuid

from gi.repository import GLib
from support.clients import CLASS, CLASSES
from support.peer import COLLECTION, ITEM, NOTHING, ROOT, SERVICE

DONE, FAILED, NO_ITEM, NO_VAULT, USAGE = 0, 1, 2, 3, 64
KEYS = {"path", "label", "attributes", "class", "require", "collection", "state", "reason", "created", "modified"}
PREFIX = ROOT + "/collection/"


def latchkey(session, *words, input=b"", code=DONE, **options):
    """Runs the command, with bytes as input and output. A failed command must explain the failure on standard error and
    nowhere else."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    with session.start("latchkey", *words, **pipes) as process:
        try:
            out, err = process.communicate(input, 30)
        except BaseException:
            process.kill()
            raise
    assert process.returncode == code, (words, process.returncode, out, err)
    assert bool(err) == (code != DONE), err
    assert not err or code == USAGE or err.startswith(b"latchkey: "), err
    assert b"org.freedesktop" not in err and b"D-Bus" not in err and b"/org/" not in err + out[:65536], (out, err)
    return subprocess.CompletedProcess(words, process.returncode, out, err.decode())


@contextlib.contextmanager
def started(session, *words, **options):
    """The running command. If the test fails, the command is ended."""
    with session.start("latchkey", *words, **options) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def told(session, *words, **options):
    return json.loads(latchkey(session, *words, **options).stdout)


def fresh(**more):
    """Attributes that no other item has, and the arguments that name them."""
    attributes = {"test": uuid.uuid4().hex} | more
    return attributes, [f"{name}={value}" for name, value in attributes.items()]


def place(path):
    """The place of an item, in the form that people see."""
    assert path.startswith(PREFIX)
    return path[len(PREFIX) :]


def the_item(peer, attributes):
    found = sum(peer.search(attributes), [])
    assert len(found) == 1, found
    return found[0]


def class_of(peer, item):
    return [name for name in CLASSES if item in sum(peer.search({CLASS: name}), [])]


def content_type(peer, item):
    answer = peer.raw(item, ITEM, "GetSecret", GLib.Variant("(o)", (peer.plain,)))
    return answer.get_child_value(0).get_child_value(3).unpack()


def new_collection(peer, label):
    properties = {COLLECTION + ".Label": GLib.Variant("s", label)}
    path, prompt = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", properties, "")
    assert prompt == NOTHING
    return path
