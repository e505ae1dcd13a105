"""The signals that clients get, and the properties that they may set."""

import pytest
from support.clients import script
from support.pace import seconds
from support.peer import COLLECTION, ITEM, LOGIN, ROOT, SERVICE, SESSION_COLLECTION, Failure
from support.session import wait_until


def test_signals(open_peer):
    peer = open_peer
    item = peer.create("secret", {"signal": "1"})
    assert peer.wait_for_member("ItemCreated") == (item,)
    # After CollectionChanged, clients with a list of all items read the list again. The daemon does not invalidate the
    # old list, because libsecret would forget it and then crash.
    assert peer.wait_for_member("CollectionChanged", ROOT) == (LOGIN,)
    assert peer.property_changes(LOGIN) == ({}, set())
    peer.signals.clear()
    assert peer.create("second", {"signal": "1"}, label="Two") == item
    assert peer.wait_for_member("ItemChanged", LOGIN) == (item,)
    assert peer.property_changes(item)[0].keys() == {"Label", "Attributes", "Modified"}
    assert "ItemCreated" not in {signal[2] for signal in peer.signals}
    for change in (
        lambda: peer.write(item, "third"),
        lambda: peer.set(item, ITEM, "Label", "s", "Three"),
        lambda: peer.set(item, ITEM, "Attributes", "a{ss}", {"signal": "2"}),
    ):
        peer.signals.clear()
        change()
        assert peer.wait_for_member("ItemChanged", LOGIN) == (item,)
        assert "Modified" in peer.property_changes(item)[0]
    assert peer.property_changes(item)[0]["Attributes"] == {"signal": "2"}
    peer.signals.clear()
    peer.set(LOGIN, COLLECTION, "Label", "s", "Login")
    assert peer.wait_for_member("CollectionChanged", ROOT) == (LOGIN,)
    assert peer.property_changes(LOGIN)[0].keys() == {"Label", "Modified"}
    peer.signals.clear()
    peer.call(item, ITEM, "Delete")
    assert peer.wait_for_member("ItemDeleted", LOGIN) == (item,)
    assert peer.wait_for_member("CollectionChanged", ROOT) == (LOGIN,)
    assert peer.property_changes(LOGIN) == ({}, set())


def test_the_items_are_told_after_many_changes(open_peer):
    peer = open_peer
    items = [peer.create("secret", {"many": str(n)}) for n in range(100)]
    for item in items[:50]:
        peer.call(item, ITEM, "Delete")
    assert set(peer.get(LOGIN, COLLECTION, "Items")).intersection(items) == set(items[50:])
    told = {"ItemCreated", "ItemDeleted", "CollectionChanged"}
    heard = lambda: [signal[2] for signal in peer.listen(0.05) if signal[2] in told]
    wait_until(lambda: heard()[-1] == "CollectionChanged" and heard().count("ItemDeleted") == 50, "the last word")
    members = [signal[2] for signal in peer.listen() if signal[0] == LOGIN]
    assert (members.count("ItemCreated"), members.count("ItemDeleted")) == (100, 50)


def test_collections_are_told(open_peer):
    peer = open_peer
    made, _ = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", {}, "")
    assert made in peer.wait_for_property("Collections", ROOT)
    peer.signals.clear()
    peer.call(made, COLLECTION, "Delete")
    assert made not in peer.wait_for_property("Collections", ROOT)


def test_signals_come_before_the_reply(session, peer):
    """The signals come before the reply, as from gnome-keyring, for all changes of a call."""
    told = script(
        session,
        """
from jeepney import *
from jeepney.io.blocking import open_dbus_connection
NAME, ROOT, SECRET = "org.freedesktop.secrets", "/org/freedesktop/secrets", "org.freedesktop.Secret."
bus = open_dbus_connection("SESSION")
bus.send_and_get_reply(message_bus.AddMatch(MatchRule(type="signal", sender=NAME)))
members = {"Item" + end for end in ("Created", "Changed", "Deleted")}
# CollectionChanged is not among them: for changed contents it comes a moment later, once for many changes.
members |= {"CollectionCreated", "CollectionDeleted"}
order = []
def send(path, interface, method, signature=None, *body):
    # What comes up to the answer, and whether it does.
    serial = next(bus.outgoing_serial)
    address = DBusAddress(path, bus_name=NAME, interface=interface)
    bus.send(new_method_call(address, method, signature, body), serial=serial)
    while True:
        message = bus.receive(timeout=float(sys.argv[1]))
        fields = message.header.fields
        if fields.get(HeaderFields.reply_serial) == serial:
            return message.body
        if fields.get(HeaderFields.member) in members:
            order.append(fields[HeaderFields.member])
def call(name, *arguments):
    order.clear()
    body = send(*arguments)
    before = len(order)
    send("/", "org.freedesktop.DBus.Peer", "Ping")
    told[name] = [order[:before], order[before:]]
    return body
session = send(ROOT, SECRET + "Service", "OpenSession", "sv", "plain", ("s", ""))[1]
secret = (session, b"", b"x", "text/plain")
new = {SECRET + "Item.Attributes": ("a{ss}", {"signals": "order"})}
made = call("collection made", ROOT, SECRET + "Service", "CreateCollection", "a{sv}s", {}, "")[0]
create = (made, SECRET + "Collection", "CreateItem", "a{sv}(oayays)b", new, secret, True)
item = call("made", *create)[0]
call("replaced", *create)
call("set", item, SECRET + "Item", "SetSecret", "(oayays)", secret)
call("renamed", item, "org.freedesktop.DBus.Properties", "Set", "ssv", SECRET + "Item", "Label", ("s", "new"))
call("deleted", item, SECRET + "Item", "Delete")
call("collection deleted", made, SECRET + "Collection", "Delete")
other = send(ROOT, SECRET + "Service", "CreateCollection", "a{sv}s", {}, "")[0]
members = {"PropertiesChanged"}
call("locked", ROOT, SECRET + "Service", "Lock", "ao", [other])
call("locked again", ROOT, SECRET + "Service", "Lock", "ao", [other])
""",
        seconds(10),
    )
    assert told == {
        "collection made": [["CollectionCreated"], []],
        "made": [["ItemCreated"], []],
        "replaced": [["ItemChanged"], []],
        "set": [["ItemChanged"], []],
        "renamed": [["ItemChanged"], []],
        "deleted": [["ItemDeleted"], []],
        "collection deleted": [["CollectionDeleted"], []],
        "locked": [["PropertiesChanged"], []],
        "locked again": [[], []],
    }


def test_the_end_of_the_session_collection_is_told(session, peer):
    item = peer.create("secret", {"signal": "end"}, collection=SESSION_COLLECTION)
    peer.wait_for_member("CollectionChanged", ROOT)
    peer.signals.clear()
    assert session.logout().returncode == 0
    assert peer.wait_for_member("ItemDeleted", SESSION_COLLECTION) == (item,)
    peer.wait_for(lambda signal: signal[2:] == ("CollectionChanged", (SESSION_COLLECTION,)), "the collection's change")
    assert peer.get(SESSION_COLLECTION, COLLECTION, "Items") == []


def test_replace_is_exact(open_peer):
    peer = open_peer
    first = peer.create("one", {"replace": "x"})
    more = peer.create("two", {"replace": "x", "more": "y"})
    assert first != more
    assert peer.create("three", {"replace": "x"}, replace=False) not in (first, more)
    assert peer.create("four", {"replace": "x", "more": "y"}) == more
    assert peer.read(first) == b"one"
    elsewhere = peer.create("five", {"replace": "x", "more": "y"}, collection=SESSION_COLLECTION)
    assert elsewhere.startswith(SESSION_COLLECTION + "/")
    assert peer.read(more) == b"four"


def test_read_only_properties(open_peer):
    item = open_peer.create("secret", {"property": "x"})
    for path, interface, name, signature, value in (
        (ROOT, SERVICE, "Collections", "ao", []),
        (LOGIN, COLLECTION, "Locked", "b", False),
        (item, ITEM, "Locked", "b", False),
        (item, ITEM, "Created", "t", 1),
    ):
        with pytest.raises(Failure, match="PropertyReadOnly"):
            open_peer.set(path, interface, name, signature, value)
    for signature, value in (("a{sv}", {}), ("s", "x"), ("as", [])):
        with pytest.raises(Failure, match="InvalidArgs|InvalidSignature"):
            open_peer.set(item, ITEM, "Attributes", signature, value)
