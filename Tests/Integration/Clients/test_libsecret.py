"""Programs that use libsecret by GObject introspection."""

import pytest
from support.clients import LOCKED, answer_behind_a_locker, bring_back, bring_to, script

pytestmark = pytest.mark.second_try

LIBSECRET = """
import gi
gi.require_version("Secret", "1")
from gi.repository import Secret
schema = Secret.Schema.new("org.latchkey.Test", Secret.SchemaFlags.NONE, {
    "name": Secret.SchemaAttributeType.STRING, "port": Secret.SchemaAttributeType.INTEGER})
words = {"name": "one", "port": "22"}
def store(secret, name="one"):
    return Secret.password_store_sync(schema, {"name": name, "port": "22"}, None, "One", secret, None)
def search(words=words, flags=Secret.SearchFlags.ALL | Secret.SearchFlags.UNLOCK | Secret.SearchFlags.LOAD_SECRETS):
    service = Secret.Service.get_sync(Secret.ServiceFlags.OPEN_SESSION, None)
    tell("algorithms", service.get_session_algorithms)
    found = service.search_sync(schema, words, flags, None)
    return [[item.get_label(), item.get_locked(), item.get_secret() and item.get_secret().get_text()] for item in found]
"""


def test_libsecret(session, peer):
    told = script(
        session,
        LIBSECRET
        + """
tell("store", lambda: store("secret \\u00e4\\u6f22"))
tell("lookup", lambda: Secret.password_lookup_sync(schema, words, None))
tell("search", search)
tell("again", lambda: store("another"))
tell("replaced", lambda: Secret.password_lookup_sync(schema, words, None))
tell("clear", lambda: Secret.password_clear_sync(schema, words, None))
tell("cleared", lambda: Secret.password_lookup_sync(schema, words, None))
def label():
    store("x", "labelled")
    service = Secret.Service.get_sync(Secret.ServiceFlags.OPEN_SESSION | Secret.ServiceFlags.LOAD_COLLECTIONS, None)
    item = service.search_sync(schema, {"name": "labelled"}, Secret.SearchFlags.NONE, None)[0]
    item.set_label_sync("Other", None)
    item.set_secret_sync(Secret.Value.new("y", -1, "text/plain"), None)
    item.refresh()
    return [item.get_label(), item.delete_sync(None), sorted(c.get_label() for c in service.get_collections())]
tell("item", label)
def collection():
    made = Secret.Collection.create_sync(None, "Mine", None, Secret.CollectionCreateFlags.NONE, None)
    item = Secret.Item.create_sync(made, schema, words, "In", Secret.Value.new("v", -1, "text/plain"),
        Secret.ItemCreateFlags.REPLACE, None)
    item.load_secret_sync(None)
    return [made.get_label(), made.get_locked(), item.get_secret().get_text(), made.delete_sync(None)]
tell("collection", collection)
""",
    )
    assert told["algorithms"] == "dh-ietf1024-sha256-aes128-cbc-pkcs7"
    assert told["store"] is True and told["again"] is True and told["clear"] is True
    assert told["lookup"] == "secret ä漢"
    assert told["search"] == [["One", False, "secret ä漢"]]
    assert told["replaced"] == "another"
    assert told["cleared"] is None
    assert told["item"] == ["Other", True, ["Login", "Session"]]
    assert told["collection"] == ["Mine", False, "v", True]
    assert peer.search({"xdg:schema": "org.latchkey.Test"}) == ([], [])


@pytest.mark.parametrize("state", LOCKED)
def test_libsecret_while_locked(session, peer, state):
    script(session, LIBSECRET + 'tell("store", lambda: store("old"))')
    bring_to(state, session, peer)
    told = script(
        session,
        LIBSECRET
        + """
tell("lookup", lambda: Secret.password_lookup_sync(schema, words, None))
tell("search", search)
tell("store", lambda: store("new"))
tell("other", lambda: store("stored while locked", "other"))
tell("clear", lambda: Secret.password_clear_sync(schema, words, None))
""",
    )
    assert told["lookup"] is None or told["lookup"].startswith("! Error")
    [[_, locked, secret]] = told["search"]
    assert locked is True and secret is None
    assert told["store"] is not True
    assert (told["other"] is True) is (state != "sealed")
    assert told["clear"] is False
    bring_back(state, session, peer)
    told = script(session, LIBSECRET + 'tell("lookup", lambda: Secret.password_lookup_sync(schema, words, None))')
    assert told["lookup"] == "old"


def test_libsecret_behind_a_locker(session, peer):
    script(session, LIBSECRET + 'tell("store", lambda: store("old"))')
    code = """
tell("other", lambda: store("stored while locked", "other"))
tell("clear", lambda: Secret.password_clear_sync(schema, words, None))
tell("lookup", lambda: Secret.password_lookup_sync(schema, words, None))
"""
    told = answer_behind_a_locker(session, peer, lambda: script(session, LIBSECRET + code))
    assert told == {"other": True, "clear": False, "lookup": "old"}
    assert len(peer.search({"name": "other"})[0]) == 1
