"""org.latchkey.Keychain: a search is one call, the vault has one item for each key, and a change happens completely or
not at all.
"""

import contextlib
import itertools
import sqlite3
import uuid

import pytest
from gi.repository import Gio, GLib
from support.access import PRESENCE, REQUIRE
from support.clients import BEHIND, CLASS, CLASSES, EVERY_LOCK, bring_to
from support.faults import FULL, KILL, FaultySession, everywhere
from support.keychain import (
    ASKS,
    DUPLICATE,
    KEYCHAIN,
    LOCKED,
    READABLE,
    add,
    addition,
    delete,
    find,
    properties,
    read,
    refused,
    update,
)  # fmt: skip
from support.pace import seconds
from support.peer import (
    COLLECTION,
    INVALID,
    IS_LOCKED,
    ITEM,
    LIMIT,
    LOGIN,
    NO_SESSION,
    NO_SUCH_OBJECT,
    NOT_SUPPORTED,
    NOTHING,
    ROOT,
    SECRETS,
    SERVICE,
    SESSION_COLLECTION,
    Peer,
    attributes_of,
)  # fmt: skip

pytestmark = pytest.mark.night("clients")

PERMIT = "auth required pam_permit.so\naccount required pam_permit.so\n"
DAMAGED = "org.latchkey.Error.Damaged"
LIMITS = "org.freedesktop.DBus.Error.LimitsExceeded"


def fresh(**more):
    """Attributes that belong to no other item."""
    return {"test": uuid.uuid4().hex} | more


@contextlib.contextmanager
def another(session):
    peer = Peer(session)
    try:
        yield peer
    finally:
        peer.close()


def new_collection(peer, label="Other"):
    named = {COLLECTION + ".Label": GLib.Variant("s", label)}
    return peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", named, "")[0]


# MARK: finding


def test_an_item_is_told_of_as_by_its_properties(open_peer):
    peer, attributes = open_peer, fresh(k="v")
    path = peer.create("the secret", {**attributes, CLASS: "after-first-unlock"}, label="My label")
    screen_locked, (item,), secrets = find(peer, attributes)
    assert not screen_locked and secrets == {}
    told = peer.all(path, ITEM)
    assert (item.path, item.attributes, item.label) == (path, attributes, "My label")
    assert (item.created, item.modified) == (told["Created"], told["Modified"])
    assert (item.accessible, item.require) == ("after-first-unlock", "")
    assert (item.state, item.is_known) == (READABLE, True)
    assert len(item.identifier) == 24 and int.from_bytes(item.identifier[:8], "big") == int(path.rpartition("/")[2])


def test_any_of_some_sets_newest_first_each_once(open_peer):
    peer, common = open_peer, fresh()
    first, second, third, fourth = (peer.create(str(number), {**common, "n": str(number)}) for number in range(4))
    peer.create("another", fresh(n="0"))
    of = [{**common, "n": str(number)} for number in range(4)]
    assert find(peer, common).paths == [fourth, third, second, first]
    assert find(peer, of[2], of[0]).paths == [third, first]
    assert find(peer, of[3], common, of[3], fresh()).paths == [fourth, third, second, first]
    assert find(peer, of[3], of[2], of[1], limit=2).paths == [fourth, third]
    assert find(peer, common, limit=1).paths == [fourth] and find(peer, common, limit=9).paths[3:] == [first]
    assert find(peer, *[fresh() for _ in range(63)], of[1]).paths == [second]
    assert find(peer, fresh()) == (False, [], {})


def test_every_collection_of_the_vault_and_no_other(open_peer):
    peer, attributes = open_peer, fresh()
    elsewhere = peer.create("elsewhere", attributes, collection=new_collection(peer))
    peer.create("for the session", attributes, collection=SESSION_COLLECTION)
    here = peer.create("here", attributes)
    assert find(peer, attributes).paths == [here, elsewhere]


def test_secrets_in_the_same_answer(open_peer, shared_session):
    peer, attributes = open_peer, fresh()
    (shared_session.root / "pam.d/latchkey-presence").write_text(PERMIT)
    values = {peer.create(value, {**attributes, "n": value}): value.encode() for value in ("one", "two")}
    asking = peer.create("asks", {**attributes, "n": "asks", REQUIRE: PRESENCE})
    answer = find(peer, attributes, session=peer.plain)
    assert answer.secrets == values
    assert [item.state for item in answer.items] == [ASKS, READABLE, READABLE]
    assert answer.items[0].require == PRESENCE and answer.items[0].is_known
    assert find(peer, attributes, limit=2, session=peer.plain).secrets == dict([list(values.items())[1]])
    # The first call names the transport session of another client. The others name a path that is not a session.
    with another(shared_session) as other:
        assert refused(find, other, attributes, session=peer.plain) == NO_SESSION
    assert refused(find, peer, attributes, session=LOGIN) == NO_SESSION
    assert refused(read, peer, answer.items[0].identifier, session=LOGIN) == NO_SESSION
    # The searches did not use up the grant.
    with another(shared_session) as other:
        assert find(other, attributes).items[0].state == ASKS
    assert find(peer, attributes).items[0].path == asking


def test_what_a_person_answered_is_used_up_by_the_secret_alone(session):
    (session.root / "pam.d/latchkey-presence").write_text(PERMIT)
    (session.root / "bin/pinentry").write_text("#!/bin/sh\necho OK\nwhile read -r _; do echo OK; done\n")
    (session.root / "bin/pinentry").chmod(0o755)
    session.run("dbus-update-activation-environment", "DISPLAY=:4711", check=True)
    session.restart()
    assert session.login().returncode == 0
    with another(session) as peer, another(session) as other:
        item = peer.create("asks", {"k": "v", REQUIRE: PRESENCE})
        assert peer.prompt(peer.unlock(item)[1])[0] is False
        assert [find(peer, {"k": "v"}).items[0].state for _ in range(2)] == [READABLE, READABLE]
        assert find(other, {"k": "v"}, session=other.plain).items[0].state == ASKS
        answer = find(peer, {"k": "v"}, session=peer.plain)
        assert answer.secrets == {item: b"asks"}
        answer = read(peer, answer.items[0].identifier, session=peer.plain)
        assert answer.items[0].state == ASKS and answer.secrets == {}


def test_by_its_identifier(session, peer):
    attributes = fresh()
    item, identifier, _ = add(peer, "the secret", attributes)
    other, second, _ = add(peer, "another", fresh())
    assert read(peer, identifier).items == find(peer, attributes).items
    assert read(peer, second, session=peer.plain).secrets == {other: b"another"}
    session.restart()
    assert session.login().returncode == 0
    with another(session) as again:
        answer = read(again, identifier, session=again.plain)
        assert (answer.paths, answer.secrets) == ([item], {item: b"the secret"})
        # The item's number with another vault's id, another number with this vault's id, and two identifiers that no
        # vault has.
        for unknown in (identifier[:8] + bytes(16), second[:8] + identifier[8:], b"\xff" * 24, bytes(24)):
            assert read(again, unknown) == (False, [], {})
        again.call(item, ITEM, "Delete")
        assert read(again, identifier).items == []
        for wrong in (b"", identifier[:-1], identifier + b"\0"):
            assert refused(read, again, wrong) == INVALID


# MARK: locked


@pytest.mark.parametrize("state", [*EVERY_LOCK, BEHIND])
def test_what_is_told_while_it_is_locked(session, peer, state):
    common = fresh()
    paths = {name: peer.create(f"secret {name}", {**common, "n": name, CLASS: name}, label=name) for name in CLASSES}
    bring_to(state, session, peer)
    answer = find(peer, common, session=peer.plain)
    assert answer.screen_locked == (state == BEHIND)
    assert answer.paths == list(paths.values())[::-1]
    assert {item.state for item in answer.items} == ({LOCKED} if state == "collection locked" else {READABLE, LOCKED})
    for item in answer.items:
        told = peer.all(item.path, ITEM)
        assert item.state == (LOCKED if told["Locked"] else READABLE)
        assert item.is_known == bool(told["Label"]) and item.accessible == CLASSES[-1 - answer.items.index(item)]
        assert (item.label, item.attributes) == (told["Label"], told["Attributes"])
        assert answer.secrets.get(item.path) == (None if told["Locked"] else f"secret {item.accessible}".encode())
        assert read(peer, item.identifier).items == [item]
    unknown = [item for item in answer.items if not item.is_known]
    # The keys of labels are available in more states than the keys of secrets.
    expected = {"sealed": CLASSES[:5], "collection locked": CLASSES}.get(state, ["when-passcode-set-this-device-only"])
    assert [item.accessible for item in unknown] == expected[::-1]
    assert all((item.attributes, item.label, item.require) == ({}, "", "") for item in unknown)


def test_before_there_is_a_vault(new_session):
    with another(new_session) as peer:
        # The vault is empty. Storing needs a prompt.
        assert find(peer, {"k": "v"}).items == [] and read(peer, bytes(24)).items == []
        assert refused(add, peer, "secret", {"k": "v"}) == IS_LOCKED


def test_a_damaged_item_keeps_no_other_from_being_found(session, peer):
    common = fresh()
    items = [add(peer, f"secret {n}", {**common, "n": str(n)})[:2] for n in range(3)]
    session.stop_daemon()
    session.remove_generations()
    with contextlib.closing(sqlite3.connect(session.vault / "vault.db")) as database, database:
        database.execute("UPDATE item SET metadata = x'00' WHERE id = ?", (int(items[1][0].rpartition("/")[2]),))
    session.start_daemon()
    session.login()
    with another(session) as again:
        assert find(again, common).paths == [items[2][0], items[0][0]]
        assert find(again, common, limit=2, session=again.plain).secrets == {items[0][0]: b"secret 0", items[2][0]: b"secret 2"}
        assert refused(find, again, {"n": "1"}) == DAMAGED and refused(read, again, items[1][1]) == DAMAGED
        # The vault cannot tell whether an item exists or whether only one such item exists.
        assert refused(find, again, fresh()) == DAMAGED and refused(read, again, bytes(24)) == DAMAGED
        assert refused(add, again, "x", fresh()) == DAMAGED
        assert refused(update, again, (items[0][0], {"label": "x"})) == DAMAGED


# MARK: adding


def test_one_item_of_a_kind(session, peer):
    kind = fresh()
    item, identifier, prompt = add(peer, "the secret", {**kind, "more": "1"}, kind, label="The one")
    assert prompt == NOTHING
    assert peer.wait_for_member("ItemCreated") == (item,)
    assert (peer.get(item, ITEM, "Label"), peer.read(item)) == ("The one", b"the secret")
    assert read(peer, identifier).paths == [item]
    with another(session) as other:
        for attributes in (kind, {**kind, "more": "2"}):
            assert refused(add, other, "another", attributes, kind) == DUPLICATE
    # Items with further attributes may exist beside the item. Clients that do not use this interface may store more
    # such items.
    add(peer, "beside", {**kind, "more": "2"}, {**kind, "more": "2"})
    assert peer.create("replaced", {**kind, "more": "1"}) == item and peer.read(item) == b"replaced"
    beside = peer.create("by CreateItem", {**kind, "more": "1"}, replace=False)
    assert len(find(peer, kind).items) == 3
    # An item from CreateItem counts as a duplicate too.
    peer.call(item, ITEM, "Delete")
    assert refused(add, peer, "another", {**kind, "more": "1"}) == DUPLICATE
    peer.call(beside, ITEM, "Delete")
    assert add(peer, "another", {**kind, "more": "1"})[0] not in (item, beside)


def test_where_it_stands_makes_no_difference(open_peer, shared_session):
    peer, kind = open_peer, fresh()
    peer.create("for the session", kind, collection=SESSION_COLLECTION)
    place = new_collection(peer)
    peer.create("elsewhere", kind, collection=place)
    assert refused(add, peer, "another", kind) == DUPLICATE
    # The item counts as a duplicate even in a locked collection.
    peer.call(ROOT, SERVICE, "Lock", "(ao)", [place])
    assert refused(add, peer, "another", kind) == DUPLICATE
    assert shared_session.login().returncode == 0
    peer.call(place, COLLECTION, "Delete")
    assert add(peer, "another", kind)[0].startswith(LOGIN)


def test_the_class_and_what_it_asks_for(open_peer):
    peer, kind = open_peer, fresh()
    add(peer, "secret", {**kind, CLASS: "always", REQUIRE: PRESENCE}, kind)
    (item,) = find(peer, kind).items
    assert (item.accessible, item.require, item.state, item.attributes) == ("always", PRESENCE, ASKS, kind)


def test_twenty_clients_at_once(open_peer, shared_session):
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(another(shared_session)) for _ in range(20)]
        for _ in range(5):
            kind, answers = fresh(), []

            def answered(bus, result, answers=answers):
                try:
                    answers.append(bus.call_finish(result).unpack()[0])
                except GLib.Error as error:
                    answers.append(Gio.DBusError.get_remote_error(error))

            calls = [(peer, addition(peer, f"of {peer.name}", {**kind, "who": peer.name}, kind)) for peer in peers]
            for peer, arguments in calls:
                peer.bus.call(
                    SECRETS, ROOT, KEYCHAIN, "Add", arguments, None, Gio.DBusCallFlags.NONE, int(seconds(LIMIT) * 1000), None, answered)
            # Each call has its own time limit.
            while len(answers) < 20:
                GLib.MainContext.default().iteration(True)
            won = [answer for answer in answers if answer != DUPLICATE]
            assert len(won) == 1 and find(open_peer, kind).paths == won


def test_behind_the_locked_screen(session, peer):
    """As with CreateItem, some classes accept new items behind the lock."""
    kind = fresh()
    session.lock()
    item, _, _ = add(peer, "secret", kind)
    assert find(peer, kind).items[0].state == LOCKED
    assert refused(add, peer, "another", kind) == DUPLICATE
    assert refused(add, peer, "x", fresh(**{CLASS: "when-passcode-set-this-device-only"}), {"test": "x"}) in (IS_LOCKED, INVALID)
    assert session.locker().returncode == 0
    assert find(peer, kind, session=peer.plain).secrets == {item: b"secret"}


# MARK: changing


def pair(peer, **more):
    """Two items, each with its own attributes."""
    kinds = [fresh(**more), fresh(**more)]
    return [add(peer, f"secret {number}", kind, label=f"Item {number}")[0] for number, kind in enumerate(kinds)], kinds


def state_of(peer, *paths):
    return [(peer.get(path, ITEM, "Label"), peer.get(path, ITEM, "Attributes"), peer.read(path)) for path in paths]


def test_several_items_change(open_peer):
    peer = open_peer
    # The new attributes replace all old attributes.
    items, kinds = pair(peer, old="x")
    other = [fresh(), fresh()]
    peer.listen()
    peer.signals.clear()
    changes = [
        (items[0], {"label": "New label"}),
        (items[1], {"attributes": {**other[1], CLASS: "after-first-unlock"}, "unique": other[1]}),
    ]
    update(peer, *changes)
    assert state_of(peer, *items) == [("New label", kinds[0], b"secret 0"), ("Item 1", other[1], b"secret 1")]
    assert [find(peer, kind).items[0].accessible for kind in (kinds[0], other[1])] == ["when-unlocked", "after-first-unlock"]
    assert [peer.wait_for_member("ItemChanged")] and {s[3][0] for s in peer.signals if s[2] == "ItemChanged"} == set(items)
    assert peer.property_changes(items[0])[0].keys() == {"Label", "Modified"}
    assert peer.property_changes(items[1])[0].keys() == {"Attributes", "Modified"}
    # The change sets one secret for all items, and nothing else.
    update(peer, (items[0], {}), (items[1], {"label": "Second"}), value="the same", content_type="text/x-test")
    assert state_of(peer, *items) == [("New label", kinds[0], b"the same"), ("Second", other[1], b"the same")]
    answer = peer.raw(items[0], ITEM, "GetSecret", GLib.Variant("(o)", (peer.plain,)))
    assert answer.get_child_value(0).get_child_value(3).unpack() == "text/x-test"
    # The empty secret is valid too.
    update(peer, (items[0], {}), value="")
    assert peer.read(items[0]) == b"" and peer.read(items[1]) == b"the same"


def test_by_alias(open_peer):
    (item, _), (kind, _) = pair(open_peer)
    alias = item.replace("/collection/login/", "/aliases/default/")
    update(open_peer, (alias, {"label": "by alias"}))
    assert open_peer.get(item, ITEM, "Label") == "by alias"
    assert refused(update, open_peer, (alias, {}), (item, {"label": "x"})) == INVALID


def test_they_may_exchange_what_each_alone_may_have(open_peer):
    peer = open_peer
    items, kinds = pair(peer)
    update(peer, *[(item, {"attributes": kind, "unique": kind}) for item, kind in zip(items, reversed(kinds))])
    assert [find(peer, kind).paths for kind in kinds] == [[items[1]], [items[0]]]


@pytest.mark.parametrize("value", [None, "new secret"], ids=["attributes", "secret"])
@pytest.mark.parametrize("way", ["another", "each other", "said twice"])
def test_a_duplicate_among_them_leaves_all(open_peer, value, way):
    peer = open_peer
    (first, second), kinds = pair(peer)
    third = add(peer, "third", taken := fresh(more="x"))[0]
    before = state_of(peer, first, second, third)
    free, wanted = fresh(), {"test": taken["test"]}
    if way == "another":
        changes = [(first, {"label": "changed", "attributes": free, "unique": free}), (second, {"attributes": wanted, "unique": wanted})]
    elif way == "each other":
        changes = [(item, {"attributes": {**free, "n": n}, "unique": free}) for n, item in enumerate_text(first, second)]
    else:
        # No item has this key yet, but both changes claim it.
        changes = [(first, {"unique": free}), (second, {"unique": free})]
    assert refused(update, peer, *changes, value=value) == DUPLICATE
    assert state_of(peer, first, second, third) == before
    assert find(peer, free).items == [] and find(peer, wanted).paths == [third]


def enumerate_text(*items):
    return [(str(number), item) for number, item in enumerate(items)]


def test_one_that_is_locked_leaves_all(session, peer):
    after, unlocked = fresh(**{CLASS: "after-first-unlock"}), fresh()
    items = [add(peer, "one", after, {"test": after["test"]})[0], add(peer, "two", unlocked)[0]]
    session.lock()
    assert refused(update, peer, (items[0], {}), (items[1], {}), value="new") == IS_LOCKED
    assert peer.read(items[0]) == b"one"
    for moved in ({"label": "b"}, {"attributes": {**unlocked, CLASS: "after-first-unlock"}}):
        assert refused(update, peer, (items[0], {"label": "a"}), (items[1], moved)) == IS_LOCKED
    labels = [peer.get(item, ITEM, "Label") for item in items]
    assert "a" not in labels and "b" not in labels
    update(peer, (items[0], {"label": "a"}))
    assert peer.get(items[0], ITEM, "Label") == "a"
    assert session.locker().returncode == 0
    assert [peer.read(item) for item in items] == [b"one", b"two"]
    update(peer, (items[0], {}), (items[1], {}), value="new")
    assert [peer.read(item) for item in items] == [b"new", b"new"]


@pytest.mark.parametrize("state", [*EVERY_LOCK, BEHIND])
def test_deleting_needs_no_key(session, peer, state):
    """As on Apple's systems, a client may delete locked items. Only this interface allows that."""
    add(peer, "one", attributes := fresh())
    bring_to(state, session, peer)
    [item] = find(peer, attributes).items
    assert peer.error(item.path, ITEM, "Delete") == IS_LOCKED
    assert delete(peer, item) == 1
    assert peer.wait_for_member("ItemDeleted", LOGIN) == (item.path,)
    assert delete(peer, item) == 0
    assert peer.search(attributes) == ([], [])


def test_many_are_deleted_at_once(open_peer):
    peer, common = open_peer, fresh()
    for number in range(5):
        peer.create("x", {**common, "n": str(number)})
    items = find(peer, common).items
    paths = [item.path for item in items]
    own = peer.create("x", fresh(), collection=SESSION_COLLECTION), bytes(24)
    for wrong, error in (
        ((), INVALID), ((own,), NOT_SUPPORTED), ((items[0], own), NOT_SUPPORTED), ((items[0],) * 4097, LIMITS),
        ((items[0], (paths[1], bytes(23))), INVALID),
    ):  # fmt: skip
        assert refused(delete, peer, *wrong) == error
    # An item of another vault may have the same path and number.
    for at in (0, 7, 8, 23):
        other = bytearray(items[0].identifier)
        other[at] ^= 1
        assert delete(peer, (paths[0], bytes(other))) == 0
    assert delete(peer, (paths[0], items[1].identifier)) == 0
    assert find(peer, common).paths == paths
    # The count leaves out missing items and paths that occur twice.
    nothing = [(path, items[0].identifier) for path in (LOGIN, NOTHING, f"{LOGIN}/987654321")]
    assert delete(peer, *items[1:4], items[1], *nothing) == 3
    assert find(peer, common).paths == [paths[0], paths[4]]
    for item in paths[1:4]:
        peer.wait_for(lambda signal, item=item: signal[2] == "ItemDeleted" and signal[3] == (item,), "ItemDeleted")


def test_one_that_asks_leaves_all(open_peer, shared_session):
    peer = open_peer
    (shared_session.root / "pam.d/latchkey-presence").write_text(PERMIT)
    (item, _), (kind, _) = pair(peer)
    asking = add(peer, "asks", {**(own := fresh()), REQUIRE: PRESENCE}, own)[0]
    for value in (None, "new"):
        assert refused(update, peer, (item, {"label": "changed"}), (asking, {"label": "x"}), value=value) == IS_LOCKED
    assert peer.get(item, ITEM, "Label") == "Item 0" and peer.read(item) == b"secret 0"
    for named in ({"attributes": {**own, REQUIRE: ""}}, {"attributes": {**own, REQUIRE: PRESENCE}}):
        assert refused(update, peer, (item, {"label": "changed"}), (asking, named)) == NOT_SUPPORTED
    assert peer.get(item, ITEM, "Label") == "Item 0"


def test_one_that_is_not_there_leaves_all(open_peer):
    peer = open_peer
    (item, gone), _ = pair(peer)
    peer.call(gone, ITEM, "Delete")
    own = peer.create("x", fresh(), collection=SESSION_COLLECTION)
    for path, error in ((gone, NO_SUCH_OBJECT), (LOGIN, NO_SUCH_OBJECT), (NOTHING, NO_SUCH_OBJECT), (own, NOT_SUPPORTED)):
        assert refused(update, peer, (item, {"label": "changed"}), (path, {"label": "changed"})) == error
    assert peer.get(item, ITEM, "Label") == "Item 0"


def test_too_much_at_once(open_peer):
    """The sealed values of one change wait in memory together, so their total size is limited."""
    peer, common = open_peer, fresh()
    items = [peer.create("small", {**common, "n": str(number)}) for number in range(3)]
    assert refused(update, peer, *[(item, {}) for item in items], value="x" * (24 << 20)) == LIMITS
    assert [peer.read(item) for item in items] == [b"small"] * 3
    update(peer, *[(item, {}) for item in items], value="x" * (1 << 20))
    assert [len(peer.read(item)) for item in items] == [1 << 20] * 3
    assert refused(update, peer, *[(f"{LOGIN}/{number}", {}) for number in range(1, 4098)]) in (LIMITS, NO_SUCH_OBJECT)


def test_more_attributes_than_a_search_or_a_key_has(open_peer):
    """A lock waits for the end of the call, so the number of attributes is limited."""
    peer = open_peer
    many = {f"name {number}": "x" for number in range(1024)}
    assert find(peer, many).items == []
    assert refused(find, peer, many, ONE) == LIMITS
    key = {f"name {number}": "x" for number in range(17)}
    assert refused(add, peer, "x", key) == LIMITS
    path, _, _ = add(peer, "x", key, {"name 0": "x"})
    assert refused(update, peer, (path, {"label": "x", "unique": key})) == LIMITS


# MARK: wrong arguments

ONE = {"k": "v"}


@pytest.mark.parametrize("sets", [[], [{}], [ONE, {}], [ONE] * 65, [{"latchkey:accessible": "always"}], [{**ONE, "latchkey:x": ""}]])
def test_wrong_searches(open_peer, sets):
    assert refused(find, open_peer, *sets) == INVALID


@pytest.mark.parametrize("attributes, unique", [
    (ONE, {}), (ONE, {"k": "w"}), (ONE, {**ONE, "more": ""}), ({CLASS: "always"}, {CLASS: "always"}),
    ({**ONE, CLASS: "never"}, ONE), ({**ONE, REQUIRE: "or"}, ONE), ({**ONE, "latchkey:x": ""}, ONE)])  # fmt: skip
def test_wrong_additions(open_peer, attributes, unique):
    before = open_peer.session.status()["items"]
    assert refused(add, open_peer, "secret", attributes, unique) == INVALID
    assert open_peer.session.status()["items"] == before


def test_other_properties_are_none(open_peer):
    peer = open_peer
    named = GLib.Variant("a{sv}", {ITEM + ".Lable": GLib.Variant("s", "x"), ITEM + ".Attributes": attributes_of(ONE)})
    arguments = GLib.Variant.new_tuple(named, peer.secret("x"), attributes_of(ONE))
    assert refused(peer.raw, ROOT, KEYCHAIN, "Add", arguments) == INVALID
    wrong = GLib.Variant("a{sv}", {ITEM + ".Label": GLib.Variant("u", 1)})
    arguments = GLib.Variant.new_tuple(wrong, peer.secret("x"), attributes_of(ONE))
    assert refused(peer.raw, ROOT, KEYCHAIN, "Add", arguments) == INVALID


def test_wrong_changes(open_peer):
    peer = open_peer
    (item, _), (kind, _) = pair(peer)
    assert refused(update, peer) == INVALID
    for named in (
        {"attributes": {**kind, "latchkey:x": "y"}}, {"attributes": {**kind, CLASS: "never"}},
        {"attributes": kind, "unique": fresh()}, {"unique": {"latchkey:accessible": "always"}},
    ):  # fmt: skip
        assert refused(update, peer, (item, {"label": "changed"} | named)) == INVALID
    # Without has_secret, the daemon ignores the secret.
    assert peer.get(item, ITEM, "Label") == "Item 0"
    with another(peer.session) as other:
        foreign = GLib.Variant.new_tuple(
            GLib.Variant.new_array(GLib.VariantType("(oa{sv}a{ss})"), [
                GLib.Variant.new_tuple(GLib.Variant("o", item), properties("changed"), attributes_of({}))]),
            GLib.Variant("b", True), other.secret("x", peer.plain))  # fmt: skip
        assert refused(other.raw, ROOT, KEYCHAIN, "Update", foreign) == NO_SESSION


# MARK: faults


@pytest.mark.parametrize("fault", [KILL, FULL], ids=["killed", "full"])
def test_faults_while_several_change(stage, fault):
    with contextlib.closing(FaultySession(stage)) as faulty:
        count = itertools.count()

        def prepare():
            peer = faulty.peer
            for path in sum(peer.search({"changes": "yes"}), []):
                peer.call(path, ITEM, "Delete")
            common = {"changes": "yes", "run": str(next(count))}
            return [peer.create("old", {**common, "n": str(n)}, label="old") for n in range(3)], common

        def act(prepared):
            items, common = prepared
            new = [{**common, "n": f"new {n}"} for n in range(3)]
            update(
                faulty.peer, *[(item, {"label": "new", "attributes": own, "unique": own}) for item, own in zip(items, new)],
                value="new")  # fmt: skip
            return True

        def check(prepared, acknowledged):
            items, common = prepared
            answer = find(faulty.peer, common, session=faulty.peer.plain)
            assert answer.paths == items[::-1]
            states = {(item.label, item.attributes["n"][:3] == "new", answer.secrets[item.path]) for item in answer.items}
            assert len(states) == 1 and states <= {("old", False, b"old"), ("new", True, b"new")}
            assert not acknowledged or states == {("new", True, b"new")}
            mine = [item for item in faulty.read().items.values() if item.attributes.get("changes")]
            assert {(item.label, item.secret) for item in mine} <= {("old", b"old"), ("new", b"new")} and len(mine) == 3

        assert everywhere(faulty, fault, prepare, act, check) > 2


@pytest.mark.parametrize("fault", [KILL, FULL], ids=["killed", "full"])
def test_faults_while_several_are_deleted(stage, fault):
    with contextlib.closing(FaultySession(stage)) as faulty:

        def prepare():
            peer = faulty.peer
            for path in sum(peer.search({"deleted": "yes"}), []):
                peer.call(path, ITEM, "Delete")
            for n in range(3):
                peer.create("x", {"deleted": "yes", "n": str(n)})
            return find(peer, {"deleted": "yes"}).items

        def act(items):
            assert delete(faulty.peer, *items) == 3
            return True

        def check(items, acknowledged):
            left = find(faulty.peer, {"deleted": "yes"}).items
            assert left in ([], items)
            assert not acknowledged or left == []

        assert everywhere(faulty, fault, prepare, act, check) > 2
