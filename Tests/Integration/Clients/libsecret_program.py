"""A libsecret program that runs for a long time, as Seahorse or a mail program does. The program loads every collection
once, keeps a copy, and listens to signals. Each line of standard input is a call. Each line of output is the answer as
JSON.
"""

import json
import sys

import gi

gi.require_version("Secret", "1")
from gi.repository import GLib, Secret  # noqa: E402

ALL = Secret.SearchFlags.ALL | Secret.SearchFlags.UNLOCK | Secret.SearchFlags.LOAD_SECRETS
context = GLib.MainContext.default()
schema = Secret.Schema.new("org.latchkey.Test", Secret.SchemaFlags.DONT_MATCH_NAME, {
    "name": Secret.SchemaAttributeType.STRING})  # fmt: skip
service = None


def start():
    global service
    service = Secret.Service.get_sync(Secret.ServiceFlags.OPEN_SESSION | Secret.ServiceFlags.LOAD_COLLECTIONS, None)


def kept():
    """The program's copy of every item, by path."""
    items = [item for collection in service.get_collections() or [] for item in collection.get_items() or []]
    return {item.get_object_path(): [item.get_label(), item.get_locked(), item.get_attributes()] for item in items}


def wait(expected, seconds=20):
    """The program's copy, as soon as the copy matches the expected state or the time is over."""
    late = []
    timer = GLib.timeout_add_seconds(seconds, late.append, True)
    while (now := kept()) != expected and not late:
        context.iteration(True)
    if not late:
        GLib.source_remove(timer)
    return now


def told(items):
    return [[item.get_label(), item.get_locked(), item.get_secret() and item.get_secret().get_text()] for item in items]


def search(name):
    """An asynchronous search, as programs with a main loop make it."""
    ended = []
    service.search(schema, {"name": name}, ALL, None, lambda _, result: ended.append(result))
    while not ended:
        context.iteration(True)
    return told(service.search_finish(ended[0]))


def search_sync(name):
    while context.iteration(False):
        pass
    return told(service.search_sync(schema, {"name": name}, ALL, None))


def lock(path):
    [item] = [item for collection in service.get_collections() for item in collection.get_items()
              if item.get_object_path() == path]  # fmt: skip
    count, locked = service.lock_sync([item], None)
    return [count, [one.get_object_path() for one in locked]]


def collections():
    """The lock state of each collection, by path."""
    return {one.get_object_path(): one.get_locked() for one in service.get_collections()}


def version():
    return [Secret.MAJOR_VERSION, Secret.MINOR_VERSION, Secret.MICRO_VERSION]


for line in sys.stdin:
    name, *arguments = json.loads(line)
    try:
        answer = globals()[name](*arguments)
    except GLib.Error as error:
        answer = f"! {error.message}"
    print(json.dumps(answer), flush=True)
