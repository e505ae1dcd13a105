"""libsecret's service, collection and item objects, and its asynchronous calls."""

import pytest
from support.clients import BEHIND, LOCKED, Conversation, bring_back, bring_to, script
from support.peer import LOGIN, ROOT, SERVICE, SESSION_COLLECTION

pytestmark = [pytest.mark.night("clients"), pytest.mark.second_try]

OBJECTS = """
import gi
gi.require_version("Secret", "1")
from gi.repository import Gio, GLib, Secret
KIND, FLAGS = Secret.SchemaAttributeType, Secret.SchemaFlags
PORTS = {"name": KIND.STRING, "port": KIND.INTEGER, "safe": KIND.BOOLEAN}
schema = Secret.Schema.new("org.latchkey.Test", FLAGS.NONE, PORTS)
loose = Secret.Schema.new("org.latchkey.Test", FLAGS.DONT_MATCH_NAME, PORTS)
foreign = Secret.Schema.new("org.latchkey.Other", FLAGS.NONE, PORTS)
words = {"name": "one", "port": "-22", "safe": "true"}
EVERYTHING = Secret.ServiceFlags.OPEN_SESSION | Secret.ServiceFlags.LOAD_COLLECTIONS
ALL, UNLOCK, LOAD = Secret.SearchFlags.ALL, Secret.SearchFlags.UNLOCK, Secret.SearchFlags.LOAD_SECRETS
service = Secret.Service.get_sync(EVERYTHING, None)
def value(text):
    return Secret.Value.new(text, -1, "text/plain")
def text(item):
    return item.get_secret() and item.get_secret().get_text()
def make(collection, words, secret, flags=Secret.ItemCreateFlags.NONE):
    return Secret.Item.create_sync(collection, schema, words, "Label of " + secret, value(secret), flags, None)
def default():
    return Secret.Collection.for_alias_sync(service, "default", Secret.CollectionFlags.LOAD_ITEMS, None)
def spin(condition, seconds=30):
    # Until it holds: what a program's main loop would do.
    context, late = GLib.MainContext.default(), []
    source = GLib.timeout_add(int(seconds * 1000), lambda: late.append(1) or False)
    while not condition() and not late: context.iteration(True)
    if late: raise TimeoutError
    GLib.source_remove(source)
    return condition()
def wait(start, finish):
    # Starts a call that does not wait, and its answer.
    answers = []
    start(lambda source, result, *_: answers.append(result))
    spin(lambda: answers)
    return finish(answers[0])
"""
# The part of the error IsLocked that libsecret shows.
LOCKED_TEXT = "it is locked: unlock the session with your password (2)"


def test_passwords_that_do_not_wait(session, peer):
    told = script(
        session,
        OBJECTS
        + """
store = lambda secret: wait(
    lambda done: Secret.password_store(schema, words, None, "Label", secret, None, done), Secret.password_store_finish)
lookup = lambda: wait(lambda done: Secret.password_lookup(schema, words, None, done), Secret.password_lookup_finish)
tell("nothing", lookup)
tell("store", lambda: store("first"))
tell("again", lambda: store("second"))
tell("lookup", lookup)
tell("search", lambda: [item.get_label() for item in wait(
    lambda done: Secret.password_search(schema, words, ALL, None, done), Secret.password_search_finish)])
tell("retrieved", lambda: [item.retrieve_secret_sync(None).get_text() for item in Secret.password_search_sync(
    schema, words, ALL, None)])
tell("binary", lambda: Secret.password_store_binary_sync(
    schema, {"name": "bytes"}, "session", "B", Secret.Value.new("octets", -1, "application/octet-stream"), None))
tell("clear", lambda: wait(lambda done: Secret.password_clear(schema, words, None, done), Secret.password_clear_finish))
tell("cleared", lookup)
""",
    )
    assert told["nothing"] is None and told["cleared"] is None
    assert told["store"] is True and told["again"] is True and told["clear"] is True
    assert told["lookup"] == "second" and told["search"] == ["Label"] and told["retrieved"] == ["second"]
    assert told["binary"] is True
    [item] = peer.search({"name": "bytes"})[0]
    assert item.startswith(SESSION_COLLECTION + "/")
    assert peer.read(item) == b"octets"


def test_schemas(session, peer):
    told = script(
        session,
        OBJECTS
        + """
tell("store", lambda: Secret.password_store_sync(schema, words, None, "S", "by schema", None))
tell("foreign", lambda: Secret.password_lookup_sync(foreign, words, None))
tell("loose", lambda: Secret.password_lookup_sync(loose, words, None))
tell("part", lambda: Secret.password_lookup_sync(schema, {"port": "-22"}, None))
tell("other", lambda: Secret.password_lookup_sync(schema, {"port": "22"}, None))
tell("false", lambda: Secret.password_lookup_sync(schema, {"safe": "false"}, None))
tell("loose store", lambda: Secret.password_store_sync(loose, words, None, "L", "by loose schema", None))
tell("all", lambda: sorted(text(i) for i in service.search_sync(loose, words, ALL | UNLOCK | LOAD, None)))
tell("of schema", lambda: sorted(text(i) for i in service.search_sync(schema, words, ALL | UNLOCK | LOAD, None)))
tell("names", lambda: sorted(str(i.get_schema_name()) for i in service.search_sync(loose, words, ALL, None)))
tell("clear foreign", lambda: Secret.password_clear_sync(foreign, words, None))
tell("clear", lambda: Secret.password_clear_sync(schema, words, None))
tell("left", lambda: Secret.password_lookup_sync(loose, words, None))
""",
    )
    assert told["store"] is True and told["part"] == "by schema"
    assert told["foreign"] is None and told["other"] is None and told["false"] is None
    assert told["loose"] == "by schema"
    # The schema's name is stored as well, and no second item appears.
    assert told["loose store"] is True
    assert told["all"] == told["of schema"] == ["by loose schema"]
    assert told["names"] == ["org.latchkey.Test"]
    assert told["clear foreign"] is False and told["clear"] is True and told["left"] is None


def test_collections(session, peer):
    told = script(
        session,
        OBJECTS
        + """
heard = []
service.connect("notify::collections", lambda *_: heard.append(len(service.get_collections())))
tell("labels", lambda: sorted(c.get_label() for c in service.get_collections()))
def create():
    made = Secret.Collection.create_sync(service, "Work", "work", Secret.CollectionCreateFlags.NONE, None)
    again = Secret.Collection.create_sync(service, "Work 2", "work", Secret.CollectionCreateFlags.NONE, None)
    made.refresh()
    spin(lambda: made.get_label() == "Work 2")
    spin(lambda: heard and heard[-1] == 3)
    found = Secret.Collection.for_alias_sync(service, "work", Secret.CollectionFlags.NONE, None)
    none = Secret.Collection.for_alias_sync(service, "nothing", Secret.CollectionFlags.NONE, None)
    return [made.get_object_path() == again.get_object_path() == found.get_object_path(), none]
tell("create", create)
def aliases():
    made = Secret.Collection.for_alias_sync(service, "work", Secret.CollectionFlags.NONE, None)
    done = [service.set_alias_sync("default", made, None)]
    Secret.password_store_sync(schema, {"name": "moved"}, None, "M", "moved", None)
    moved = service.search_sync(schema, {"name": "moved"}, ALL, None)[0]
    done.append(moved.get_object_path().startswith(made.get_object_path() + "/"))
    login = next(c for c in service.get_collections() if c.get_label() == "Login")
    done.append(service.set_alias_sync("default", login, None))
    done.append(service.set_alias_sync("work", None, None))
    done.append(Secret.Collection.for_alias_sync(service, "work", Secret.CollectionFlags.NONE, None))
    return done
tell("aliases", aliases)
def label():
    made = next(c for c in service.get_collections() if c.get_label() == "Work 2")
    changes = []
    made.connect("notify::label", lambda *_: changes.append(made.get_label()))
    made.set_label_sync("Work 3", None)
    spin(lambda: "Work 3" in changes)
    return [made.get_label(), made.get_locked(), 0 < made.get_created() <= made.get_modified()]
tell("label", label)
def items():
    made = next(c for c in service.get_collections() if c.get_label() == "Work 3")
    made.load_items_sync(None)
    spin(lambda: len(made.get_items()) == 1)
    counts = [len(made.get_items())]
    item = make(made, {"name": "in"}, "in")
    spin(lambda: len(made.get_items()) == 2)
    found = made.search_sync(schema, {"name": "in"}, LOAD, None)
    counts += [len(found), found[0].get_object_path() == item.get_object_path(), text(found[0])]
    item.delete_sync(None)
    spin(lambda: len(made.get_items()) == 1)
    return counts
tell("items", items)
def delete():
    made = next(c for c in service.get_collections() if c.get_label() == "Work 3")
    return [made.delete_sync(None), spin(lambda: len(service.get_collections()) == 2)]
tell("delete", delete)
def without_a_loop():
    create = lambda done: Secret.Collection.create(
        service, "Later", None, Secret.CollectionCreateFlags.NONE, None, done)
    made = wait(create, Secret.Collection.create_finish)
    return [made.get_label(), wait(lambda done: made.delete(None, done), made.delete_finish)]
tell("without waiting", without_a_loop)
""",
    )
    assert told["labels"] == ["Login", "Session"]
    assert told["create"] == [True, None]
    assert told["aliases"] == [True, True, True, True, None]
    assert told["label"] == ["Work 3", False, True]
    assert told["items"] == [1, 1, True, "in"]
    assert told["delete"] == [True, True]
    assert told["without waiting"] == ["Later", True]
    assert peer.get(ROOT, SERVICE, "Collections") == [LOGIN, SESSION_COLLECTION]
    # The items of a deleted collection are deleted too.
    assert peer.search({"name": "moved"}) == ([], [])


def test_items(session, peer):
    told = script(
        session,
        OBJECTS
        + """
collection = default()
first = make(collection, words, "first")
def replace():
    other = make(collection, words, "second", Secret.ItemCreateFlags.REPLACE)
    first.load_secret_sync(None)
    beside = make(collection, words, "third")
    return [other.get_object_path() == first.get_object_path(), text(first),
        beside.get_object_path() != first.get_object_path(), beside.delete_sync(None)]
tell("replace", replace)
def setters():
    changes = []
    for name in ("label", "attributes"): first.connect("notify::" + name, lambda _, what: changes.append(what.name))
    before = first.get_modified()
    done = [first.set_label_sync("Other", None), first.set_attributes_sync(schema, {"name": "two", "port": "7"}, None),
        first.set_secret_sync(Secret.Value.new("fourth", -1, "text/x-test"), None)]
    spin(lambda: {"label", "attributes"} <= set(changes) and first.get_attributes().get("port") == "7")
    again = service.search_sync(schema, {"name": "two"}, LOAD, None)[0]
    secret = again.get_secret()
    return [done, first.get_label(), first.get_attributes(), secret.get().decode(), secret.get_content_type(),
        first.get_created() <= before <= again.get_modified(), service.search_sync(schema, words, ALL, None)]
tell("setters", setters)
def load():
    for n in range(3): make(collection, {"name": "many", "port": str(n)}, f"secret {n}")
    items = service.search_sync(schema, {"name": "many"}, ALL, None)
    before = [text(item) for item in items]
    done = Secret.Item.load_secrets_sync(items, None)
    later = service.search_sync(schema, {"name": "many"}, ALL, None)
    wait(lambda done: Secret.Item.load_secrets(later, None, done), Secret.Item.load_secrets_finish)
    return [before, done, sorted(text(item) for item in items), sorted(text(item) for item in later),
        len(service.search_sync(schema, {"name": "many"}, Secret.SearchFlags.NONE, None))]
tell("load", load)
def setters_without_waiting():
    item = service.search_sync(schema, {"name": "two"}, ALL, None)[0]
    done = [wait(lambda done: item.set_label("Later", None, done), item.set_label_finish),
        wait(lambda done: item.set_attributes(schema, {"name": "2"}, None, done), item.set_attributes_finish),
        wait(lambda done: item.set_secret(value("fifth"), None, done), item.set_secret_finish),
        wait(lambda done: item.load_secret(None, done), item.load_secret_finish)]
    return done + [text(item)]
tell("setters without waiting", setters_without_waiting)
def delete():
    item = service.search_sync(schema, {"name": "2"}, ALL, None)[0]
    return [item.delete_sync(None), service.search_sync(schema, {"name": "2"}, ALL, None)]
tell("delete", delete)
tell("twice", lambda: first.delete_sync(None))
""",
    )
    assert told["replace"] == [True, "second", True, True]
    attributes = {"name": "two", "port": "7", "xdg:schema": "org.latchkey.Test"}
    assert told["setters"] == [[True] * 3, "Other", attributes, "fourth", "text/x-test", True, []]
    expected = ["secret 0", "secret 1", "secret 2"]
    assert told["load"] == [[None] * 3, True, expected, expected, 1]
    assert told["setters without waiting"] == [True, True, True, True, "fifth"]
    assert told["delete"] == [True, []]
    assert told["twice"].startswith("! ")


def test_locks(session, peer):
    """libsecret locks items and collections, and its objects show the new state."""
    told = script(
        session,
        OBJECTS
        + """
collection = default()
item = make(collection, words, "secret")
heard = []
collection.connect("notify::locked", lambda *_: heard.append(collection.get_locked()))
tell("unlock open ones", lambda: [len(found) for found in [service.unlock_sync([collection, item], None)[1]]])
tell("lock item", lambda: [one.get_object_path() for one in service.lock_sync([item], None)[1]])
def lock():
    locked = service.lock_sync([collection], None)[1]
    return [[one.get_object_path() for one in locked], spin(lambda: heard) and heard[-1]]
tell("lock", lock)
tell("told", lambda: [collection.get_locked(), item.get_locked()])
def search(flags):
    found = service.search_sync(schema, words, flags, None)
    return [[item.get_label(), item.get_locked(), text(item)] for item in found]
tell("search", lambda: search(ALL | LOAD))
tell("search and unlock", lambda: search(ALL | UNLOCK | LOAD))
tell("unlock", lambda: [service.unlock_sync([collection], None)[0], service.unlock_sync([item], None)[0]])
tell("without waiting", lambda: wait(lambda done: service.unlock([collection], None, done), service.unlock_finish)[0])
tell("load", lambda: item.load_secret_sync(None))
tell("secrets", lambda: [Secret.Item.load_secrets_sync([item], None), text(item)])
tell("label", lambda: item.set_label_sync("Other", None))
tell("secret", lambda: item.set_secret_sync(value("other"), None))
tell("replace", lambda: make(collection, words, "new", Secret.ItemCreateFlags.REPLACE))
tell("new", lambda: make(collection, {"name": "new"}, "new"))
tell("path", item.get_object_path)
""",
    )
    [item] = peer.search({"name": "one"})[1]
    assert told["unlock open ones"] == [2]
    assert told["lock item"] == [item] and told["lock"] == [[LOGIN], True]
    assert told["told"][0] is True
    # The keys of the item are erased, so nobody can read its label.
    assert told["search"] == [["", True, None]] and told["search and unlock"] == told["search"]
    assert told["unlock"] == [0, 0] and told["without waiting"] == 0
    assert told["load"].startswith("! ") and LOCKED_TEXT in told["load"]
    assert told["secrets"][1] is None
    for refused in ("secret", "replace", "new"):
        assert LOCKED_TEXT in told[refused]
    assert told["path"] == item
    assert session.login().returncode == 0
    assert peer.read(item) == b"secret"
    assert len(peer.search({"name": "one"})[0]) == 1


@pytest.mark.parametrize("state", [*LOCKED, BEHIND])
def test_objects_that_were_there_before_the_lock(session, peer, state):
    """A program that keeps running can use its objects again after the unlock."""
    code = """
collection = default()
item = make(collection, words, "secret")
other = make(collection, {"name": "gone"}, "gone")
def read(flags=UNLOCK | LOAD):
    found = service.search_sync(schema, words, flags, None)
    return [found[0].get_object_path() == item.get_object_path(), found[0].get_locked(), text(found[0])]
pause()
tell("search", lambda: read(FLAGS))
tell("load", lambda: item.load_secret_sync(None))
tell("collection", lambda: spin(lambda: collection.get_locked() is AFTER))
pause()
tell("search", read)
tell("load", lambda: [item.load_secret_sync(None), text(item)])
tell("collection", lambda: spin(lambda: collection.get_locked() is False))
tell("store", lambda: Secret.password_store_sync(schema, {"name": "later"}, None, "L", "later", None))
tell("delete", lambda: other.delete_sync(None))
"""
    # Behind a locker, UNLOCK would wait for a person to unlock the screen.
    code = code.replace("FLAGS", "LOAD" if state == BEHIND else "UNLOCK | LOAD")
    with Conversation(session, OBJECTS + code.replace("AFTER", str(state != BEHIND))) as program:
        assert program.told() == {}
        bring_to(state, session, peer)
        told = program.go_on()
        assert told["search"] == [True, True, None]
        assert LOCKED_TEXT in told["load"]
        assert told["collection"] is True
        bring_back(state, session, peer)
        told = program.go_on()
        assert told["search"] == [True, False, "secret"]
        assert told["load"] == [True, "secret"]
        assert told["collection"] is True
        assert told["store"] is True and told["delete"] is True
    assert peer.search({"name": "gone"}) == ([], [])
