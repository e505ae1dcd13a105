"""Bad input, on purpose or by mistake. Each call returns the error that the specification names, no data is lost, and
the same daemon serves the next client.

This file does not repeat the tests of test_clients.py.
"""

import hashlib

import pytest
from gi.repository import Gio, GLib
from support.client import Refused, SecretClient
from support.keychain import KEYCHAIN, TOLD_PROMPT
from support.peer import (
    ACCESS_DENIED, COLLECTION, DEFAULT, INVALID, IS_LOCKED, ITEM, LOGIN, NO_SESSION, NO_SUCH_OBJECT, NOT_SUPPORTED, NOTHING,
    PROMPT, PROPERTIES, ROOT, SERVICE, SESSION, SESSION_COLLECTION, Failure, Peer, octets,
)
from support.session import is_alive, wait_until

UNKNOWN_METHOD = "org.freedesktop.DBus.Error.UnknownMethod"
UNKNOWN_INTERFACE = "org.freedesktop.DBus.Error.UnknownInterface"
UNKNOWN_PROPERTY = "org.freedesktop.DBus.Error.UnknownProperty"
UNKNOWN_PLACE = {UNKNOWN_INTERFACE, UNKNOWN_PROPERTY}
READ_ONLY = "org.freedesktop.DBus.Error.PropertyReadOnly"
LIMITS = "org.freedesktop.DBus.Error.LimitsExceeded"
ENCRYPTED = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
VAULT_PATH, VAULT = "/org/latchkey/vault", "org.latchkey.Vault"
INTROSPECTABLE = "org.freedesktop.DBus.Introspectable"
SECRET = ("/", b"", b"", "")

# Every method, with the type of its arguments.
METHODS = {
    (SERVICE, "OpenSession"): "(sv)",
    (SERVICE, "CreateCollection"): "(a{sv}s)",
    (SERVICE, "SearchItems"): "(a{ss})",
    (SERVICE, "Unlock"): "(ao)",
    (SERVICE, "Lock"): "(ao)",
    (SERVICE, "GetSecrets"): "(aoo)",
    (SERVICE, "ReadAlias"): "(s)",
    (SERVICE, "SetAlias"): "(so)",
    (COLLECTION, "Delete"): "()",
    (COLLECTION, "SearchItems"): "(a{ss})",
    (COLLECTION, "CreateItem"): "(a{sv}(oayays)b)",
    (ITEM, "Delete"): "()",
    (ITEM, "GetSecret"): "(o)",
    (ITEM, "SetSecret"): "((oayays))",
    (SESSION, "Close"): "()",
    (PROMPT, "Prompt"): "(s)",
    (PROMPT, "Dismiss"): "()",
    (KEYCHAIN, "Find"): "(aa{ss}uo)",
    (KEYCHAIN, "Read"): "(ayo)",
    (KEYCHAIN, "Add"): "(a{sv}(oayays)a{ss})",
    (KEYCHAIN, "Update"): "(a(oa{sv}a{ss})b(oayays))",
    (PROPERTIES, "Get"): "(ss)",
    (PROPERTIES, "GetAll"): "(s)",
    (PROPERTIES, "Set"): "(ssv)",
}
# A value of each type that some method takes, and of several types that no method takes.
VALUES = [
    GLib.Variant("()", ()),
    GLib.Variant("(s)", ("x",)),
    GLib.Variant("(o)", ("/",)),
    GLib.Variant("(so)", ("x", "/")),
    GLib.Variant("(ss)", ("x", "y")),
    GLib.Variant("(sv)", ("x", GLib.Variant("s", "y"))),
    GLib.Variant("(ssv)", ("x", "y", GLib.Variant("s", "z"))),
    GLib.Variant("(ao)", (["/"],)),
    GLib.Variant("(as)", (["x"],)),
    GLib.Variant("(aoo)", (["/"], "/")),
    GLib.Variant("(aos)", (["/"], "/")),
    GLib.Variant("(a{ss})", ({},)),
    GLib.Variant("(a{sv})", ({},)),
    GLib.Variant("(a{sv}s)", ({}, "")),
    GLib.Variant("((oayays))", (SECRET,)),
    GLib.Variant("((oayay))", (SECRET[:3],)),
    GLib.Variant("(oayays)", SECRET),
    GLib.Variant("(a{sv}(oayays)b)", ({}, SECRET, True)),
    GLib.Variant("(a{sv}(oayays))", ({}, SECRET)),
    GLib.Variant("(a{sv}(oayays)bs)", ({}, SECRET, True, "")),
    GLib.Variant("(u)", (1,)),
    GLib.Variant("(aa{ss}uo)", ([], 0, "/")),
    GLib.Variant("(ayo)", (b"", "/")),
    GLib.Variant("(a{sv}(oayays)a{ss})", ({}, SECRET, {})),
    GLib.Variant("(a(oa{sv}a{ss})b(oayays))", ([], False, SECRET)),
    GLib.Variant("(v)", (GLib.Variant("v", GLib.Variant("v", GLib.Variant("b", True))),)),
    GLib.Variant("(aay)", ([b"\0\xff"],)),
    GLib.Variant("(g)", ("a{sv}",)),
    GLib.Variant("(d)", (float("nan"),)),
]


@pytest.fixture(scope="module")
def stocked(shared_session):
    """An unlocked session that all tests of this file share. At the end, the first items and the same daemon must still
    be there."""
    assert shared_session.login().returncode == 0
    before = shared_session.daemon_pid()
    peer = Peer(shared_session)
    kept = {peer.create(f"kept {n}", {"kept": str(n)}): f"kept {n}".encode() for n in range(5)}
    peer.close()
    yield shared_session
    assert is_alive(before) and shared_session.daemon_pid() == before, shared_session.log()[-2000:]
    peer = Peer(shared_session)
    assert {item: peer.read(item) for item in kept} == kept
    assert sorted(peer.search({"kept": "3"})[0]) == [list(kept)[3]]
    peer.close()
    assert shared_session.status()["problems"] == []


@pytest.fixture
def peer(stocked):
    opened = Peer(stocked)
    yield opened
    opened.close()


@pytest.fixture
def other(stocked):
    opened = Peer(stocked)
    yield opened
    opened.close()


def error_of(peer, path, interface, method, parameters):
    with pytest.raises(Failure) as caught:
        peer.raw(path, interface, method, parameters)
    return caught.value.name


def encrypted_session(peer):
    return peer.call(ROOT, SERVICE, "OpenSession", "(sv)", ENCRYPTED, octets(b"\2" + b"\7" * 127))[1]


def served(session):
    """Whether the daemon serves a new client."""
    newcomer = Peer(session)
    item = newcomer.create("served", {"served": "x"})
    assert newcomer.read(item) == b"served"
    newcomer.close()


# MARK: wrong types, wrong places


def test_every_method_refuses_every_other_type(peer):
    collection = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", {}, "")[0]
    item = peer.create("secret", {"types": "x"}, collection=collection)
    places = {SERVICE: ROOT, COLLECTION: collection, ITEM: item, SESSION: peer.open_plain()[1], PROPERTIES: item,
              KEYCHAIN: ROOT}  # fmt: skip
    wrong = 0
    for (interface, method), signature in METHODS.items():
        for value in VALUES:
            if interface != PROMPT and value.get_type_string() != signature:
                error = error_of(peer, places[interface], interface, method, value)
                # libsystemd answers calls about properties without the daemon, and ignores surplus arguments.
                allowed = {UNKNOWN_PROPERTY, UNKNOWN_INTERFACE} if interface == PROPERTIES else set()
                assert error in {INVALID} | allowed, (method, str(value))
                wrong += 1
    assert wrong > 400
    for value in VALUES:
        for member in ("Get", "GetAll", "Set"):
            if value.get_type_string() != METHODS[PROPERTIES, member]:
                error = error_of(peer, VAULT_PATH, PROPERTIES, member, value)
                assert error in (INVALID, UNKNOWN_PROPERTY, UNKNOWN_INTERFACE)
    assert peer.read(item) == b"secret"
    peer.call(collection, COLLECTION, "Delete")


def test_every_method_of_a_prompt_refuses_every_other_type(session):
    assert session.login().returncode == 0
    session.lock()
    peer = Peer(session)
    prompt = peer.unlock(LOGIN)[1]
    for method in ("Prompt", "Dismiss"):
        for value in VALUES:
            # test_prompts_desktop tests the boolean, which Emacs sends.
            if value.get_type_string() != METHODS[PROMPT, method] and (method, value.get_type_string()) != ("Prompt", "(b)"):
                assert error_of(peer, prompt, PROMPT, method, value) == INVALID, (method, str(value))
    for value in VALUES:
        if value.get_type_string() != "(a{sv})":
            assert error_of(peer, prompt, TOLD_PROMPT, "Prompt", value) == INVALID, str(value)
    assert peer.prompt(prompt) == (True, "ao", [])
    peer.close()


def test_methods_at_the_wrong_place(peer):
    item = peer.create("secret", {"places": "x"})
    places = {SERVICE: ROOT, COLLECTION: LOGIN, ITEM: item, SESSION: peer.plain, VAULT: VAULT_PATH}
    for (interface, method), signature in METHODS.items():
        value = next(value for value in VALUES if value.get_type_string() == signature)
        for owner, path in places.items():
            # The root object has both interfaces.
            if interface not in (owner, PROPERTIES) and (interface, owner) != (KEYCHAIN, SERVICE):
                assert error_of(peer, path, interface, method, value) in (UNKNOWN_METHOD, UNKNOWN_INTERFACE), (
                    method, path)
    for interface, path in places.items():
        assert peer.error(path, interface, "Nothing") == UNKNOWN_METHOD
        assert peer.error(path, "org.example.Nothing", "Nothing") in (UNKNOWN_METHOD, UNKNOWN_INTERFACE)
        assert peer.error(path, PROPERTIES, "Get", "(ss)", "org.example.Nothing", "Label") in UNKNOWN_PLACE
        assert peer.error(path, PROPERTIES, "Get", "(ss)", interface, "Nothing") == UNKNOWN_PROPERTY
        # The empty string is not a valid interface name.
        assert peer.error(path, PROPERTIES, "Get", "(ss)", "", "") in UNKNOWN_PLACE | {INVALID}
        assert peer.error(path, PROPERTIES, "GetAll", "(s)", "org.example.Nothing") == UNKNOWN_INTERFACE
    assert peer.read(item) == b"secret"


def test_properties_that_nobody_may_set(peer):
    for name, signature, value in (("State", "s", "unlocked"), ("FirstUnlocked", "b", True)):
        with pytest.raises(Failure) as caught:
            peer.set(VAULT_PATH, VAULT, name, signature, value)
        assert caught.value.name == READ_ONLY
    for path, interface, name in ((LOGIN, COLLECTION, "Label"), (peer.create("x", {"set": "x"}), ITEM, "Label")):
        for signature, value in (("u", 1), ("as", ["x"]), ("v", GLib.Variant("s", "x")), ("o", "/"), ("ay", b"x")):
            with pytest.raises(Failure) as caught:
                peer.set(path, interface, name, signature, value)
            assert caught.value.name == INVALID, (path, name, signature)


PATHS_OF_NO_COLLECTION = [
    ROOT + "/collection",
    ROOT + "/collection/c0",
    ROOT + "/collection/c1",
    ROOT + "/collection/c02",
    ROOT + "/collection/c4711",
    ROOT + "/collection/c99999999999999999999",
    ROOT + "/collection/c_2",
    ROOT + "/collection/Login",
    ROOT + "/collection/login_00",
    ROOT + "/collection/" + "x" * 60_000,
    ROOT + "/aliases",
    ROOT + "/aliases/Default",
    ROOT + "/aliases/" + "a" * 60_000,
    ROOT + "/collections/login",
    ROOT + "/prompt/s1",
    "/org/freedesktop/secret/collection/login",
    "/collection/login",
    "/",
    "/" + "/".join(["x"] * 20_000),
]
ITEM_NAMES = [
    "0", "00", "01", "x", "_1", "1_", "1x", "9223372036854775807", "9223372036854775808", "18446744073709551617",
    "9" * 60_000, "1/1", "c1",
]  # fmt: skip


def test_collections_that_do_not_exist(peer):
    for path in PATHS_OF_NO_COLLECTION:
        calls = [
            peer.error(path, COLLECTION, "Delete"),
            peer.error(path, COLLECTION, "SearchItems", "(a{ss})", {}),
            peer.create_error("x", {"a": "b"}, collection=path).name,
            peer.error(path, PROPERTIES, "Get", "(ss)", COLLECTION, "Label"),
            peer.error(path, PROPERTIES, "Set", "(ssv)", COLLECTION, "Label", GLib.Variant("s", "x")),
        ]
        assert set(calls) <= {NO_SUCH_OBJECT, UNKNOWN_METHOD, UNKNOWN_PROPERTY}, (path, calls)
        assert peer.unlock(path) == ([], NOTHING)
        assert peer.error(ROOT, SERVICE, "Lock", "(ao)", [path]) == NO_SUCH_OBJECT
        if path != NOTHING:
            assert peer.error(ROOT, SERVICE, "SetAlias", "(so)", "nowhere", path) == NO_SUCH_OBJECT
    assert peer.call(ROOT, SERVICE, "ReadAlias", "(s)", "nowhere") == NOTHING


def test_items_that_do_not_exist(peer):
    second = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", {}, "")[0]
    elsewhere = peer.create("elsewhere", {"item": "elsewhere"}, collection=second)
    gone = peer.create("gone", {"item": "gone"})
    peer.call(gone, ITEM, "Delete")
    number = elsewhere.rpartition("/")[2]
    homes = (LOGIN, SESSION_COLLECTION, second, DEFAULT, ROOT + "/aliases/nowhere")
    paths = [f"{home}/{name}" for home in homes for name in ITEM_NAMES]
    # Paths of an item in another collection, of an item in a collection that does not exist, and of a deleted item.
    paths += [f"{LOGIN}/{number}", f"{SESSION_COLLECTION}/{number}", f"{ROOT}/collection/c4711/{number}", gone]
    for path in paths:
        calls = [
            peer.error(path, ITEM, "Delete"),
            peer.read_error(path),
            peer.write_error(path, "x"),
            peer.error(path, PROPERTIES, "Get", "(ss)", ITEM, "Label"),
            peer.error(path, PROPERTIES, "Set", "(ssv)", ITEM, "Label", GLib.Variant("s", "x")),
        ]
        assert set(calls) == {NO_SUCH_OBJECT}, (path, calls)
    assert peer.read_error(f"{LOGIN}/{number}") == NO_SUCH_OBJECT
    assert peer.read_error(gone) == NO_SUCH_OBJECT
    assert peer.unlock(*paths) == ([], NOTHING)
    assert peer.call(ROOT, SERVICE, "GetSecrets", "(aoo)", paths, peer.plain) == {}
    assert peer.read(elsewhere) == b"elsewhere"
    peer.call(second, COLLECTION, "Delete")
    assert peer.read_error(elsewhere) == NO_SUCH_OBJECT


def test_aliases_that_are_none(peer):
    read = lambda name: peer.call(ROOT, SERVICE, "ReadAlias", "(s)", name)  # noqa: E731
    for name in ("", "nowhere", "Default", "/", "../login", "\u0001", "x" * (1 << 20), "défaut"):
        assert read(name) == NOTHING
        # Removing a missing alias changes nothing.
        if name:
            peer.call(ROOT, SERVICE, "SetAlias", "(so)", name, NOTHING)
    assert peer.error(ROOT, SERVICE, "SetAlias", "(so)", "", LOGIN) == INVALID
    assert peer.error(ROOT, SERVICE, "SetAlias", "(so)", "session", LOGIN) == NOT_SUPPORTED
    assert peer.error(ROOT, SERVICE, "SetAlias", "(so)", "x", SESSION_COLLECTION) == NOT_SUPPORTED
    assert peer.error(SESSION_COLLECTION, COLLECTION, "Delete") == NOT_SUPPORTED
    assert read("default") == LOGIN
    odd = "\u0001 ../" + "x" * 1000
    peer.call(ROOT, SERVICE, "SetAlias", "(so)", odd, LOGIN)
    assert read(odd) == LOGIN
    peer.call(ROOT, SERVICE, "SetAlias", "(so)", odd, NOTHING)
    assert read(odd) == NOTHING


@pytest.mark.night("faults")
def test_empty_huge_and_repeated_arrays(peer):
    item = peer.create("secret", {"array": "x"})
    assert peer.unlock() == ([], NOTHING)
    assert peer.call(ROOT, SERVICE, "Lock", "(ao)", []) == ([], NOTHING)
    assert peer.call(ROOT, SERVICE, "GetSecrets", "(aoo)", [], peer.plain) == {}
    assert peer.error(ROOT, SERVICE, "GetSecrets", "(aoo)", [], "/nowhere") == NO_SESSION
    assert list(peer.call(ROOT, SERVICE, "GetSecrets", "(aoo)", [item] * 20_000, peer.plain)) == [item]
    assert set(peer.unlock(*[item] * 20_000)[0]) == {item}
    many = [f"{LOGIN}/{n}" for n in range(1_000_000, 1_100_000)]
    assert peer.unlock(*many) == ([], NOTHING)
    assert list(peer.call(ROOT, SERVICE, "GetSecrets", "(aoo)", [*many, item], peer.plain)) == [item]
    assert peer.error(ROOT, SERVICE, "Lock", "(ao)", many) == NO_SUCH_OBJECT
    assert peer.read(item) == b"secret"


# MARK: sessions and prompts of others, and dead ones


def test_sessions_that_are_not_ones_own(stocked, peer, other):
    item = peer.create("secret", {"sessions": "x"})
    departed = Peer(stocked)
    dead = departed.plain
    departed.close()
    closed = peer.open_plain()[1]
    peer.call(closed, SESSION, "Close")
    foreign = [other.plain, encrypted_session(other)]
    for session in (*foreign, dead, closed, ROOT + "/session/s99999999", ROOT + "/session", ROOT, NOTHING, LOGIN):
        assert peer.read_error(item, session) == NO_SESSION
        assert peer.write_error(item, "x", session) == NO_SESSION
        assert peer.create_error("x", {"sessions": "y"}, session=session).name == NO_SESSION
        assert peer.error(ROOT, SERVICE, "GetSecrets", "(aoo)", [item], session) == NO_SESSION
    for session in foreign:
        assert peer.error(session, SESSION, "Close") == ACCESS_DENIED
    wait_until(lambda: peer.error(dead, SESSION, "Close") == NO_SUCH_OBJECT, "the session's end")
    for session in (closed, ROOT + "/session/s99999999"):
        assert peer.error(session, SESSION, "Close") == NO_SUCH_OBJECT
    assert peer.search({"sessions": "y"}) == ([], [])
    assert other.read(item) == b"secret"


def test_prompts_that_are_not_ones_own(session):
    assert session.login().returncode == 0
    session.lock()
    peer, other = Peer(session), Peer(session)
    foreign = other.unlock(LOGIN)[1]
    mine = peer.unlock(LOGIN)[1]
    for method, arguments in (("Prompt", ("(s)", "")), ("Dismiss", ())):
        assert peer.error(foreign, PROMPT, method, *arguments) == ACCESS_DENIED
        for nothing in (ROOT + "/prompt/s99999999", ROOT + "/prompt", NOTHING):
            assert peer.error(nothing, PROMPT, method, *arguments) == NO_SUCH_OBJECT
        assert peer.error(peer.plain, PROMPT, method, *arguments) == UNKNOWN_METHOD
    assert peer.prompt(mine)[0] is True
    assert peer.error(mine, PROMPT, "Prompt", "(s)", "") == NO_SUCH_OBJECT
    # The other client's attempt did not use up the prompt.
    assert other.prompt(foreign) == (True, "ao", [])
    assert session.locker().returncode == 0
    peer.close()
    other.close()


def test_what_is_locked_says_so(session):
    assert session.login().returncode == 0
    peer = Peer(session)
    item = peer.create("secret", {"locked": "x"})
    second = peer.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", {}, "second")[0]
    assert peer.call(ROOT, SERVICE, "Lock", "(ao)", [second, second, "/nowhere"]) == ([second], NOTHING)
    assert peer.create_error("x", {"a": "b"}, collection=second).name == IS_LOCKED
    session.lock()
    assert peer.read_error(item) == IS_LOCKED
    assert peer.write_error(item, "x") == IS_LOCKED
    assert peer.create_error("x", {"locked": "x"}).name == IS_LOCKED
    assert peer.error(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", {}, "third") == IS_LOCKED
    # The daemon checks the transport session first, so a client without one learns nothing.
    assert peer.read_error(item, NOTHING) == NO_SESSION
    assert peer.call(ROOT, SERVICE, "ReadAlias", "(s)", "third") == NOTHING
    assert session.locker().returncode == 0
    assert peer.read(item) == b"secret"
    peer.close()


def test_a_path_of_the_session_collection_never_leads_to_another_item(session):
    assert session.login().returncode == 0
    peer = Peer(session)
    create = lambda value: peer.create(value, {"value": value}, collection=SESSION_COLLECTION)  # noqa: E731
    seen = [create("one"), create("two")]
    for value in ("three", "four"):
        assert session.logout().returncode == 0
        assert session.login().returncode == 0
        for item in seen:
            assert peer.read_error(item) == NO_SUCH_OBJECT
        seen.append(create(value))
        assert peer.read(seen[-1]) == value.encode()
    assert len(set(seen)) == 4
    peer.close()


# MARK: sizes


def test_a_mebibyte_of_attribute_and_thousands_of_them(peer):
    mebibyte = "x" * (1 << 20)
    large = {mebibyte: "value", "name": mebibyte}
    item = peer.create("large", large)
    assert peer.get(item, ITEM, "Attributes") == large
    assert peer.search({mebibyte: "value"}) == ([item], [])
    assert peer.search({mebibyte[1:]: "value"}) == ([], [])
    assert peer.create("larger", large) == item
    assert peer.read(item) == b"larger"
    many = {f"name {n}": str(n) for n in range(5000)}
    item = peer.create("many", many)
    assert peer.get(item, ITEM, "Attributes") == many
    assert peer.search(many) == ([item], [])
    assert peer.search(many | {"name 4999": "other"}) == ([], [])
    peer.set(item, ITEM, "Label", "s", mebibyte)
    assert peer.get(item, ITEM, "Label") == mebibyte
    peer.call(item, ITEM, "Delete")


@pytest.mark.night("faults")
def test_more_than_a_vault_keeps(peer):
    item = peer.create("secret", {"limit": "x"})
    huge = "x" * (16 << 20)
    many = {f"name {n}": "" for n in range(16385)}
    for attributes in ({"limit": huge}, {huge: "limit"}, many):
        assert peer.create_error("x", attributes).name == LIMITS
        assert peer.search(attributes) == ([], [])
        with pytest.raises(Failure) as caught:
            peer.set(item, ITEM, "Attributes", "a{ss}", attributes)
        assert caught.value.name == LIMITS
    for path, interface, label in ((item, ITEM, huge), (LOGIN, COLLECTION, "x" * 65537)):
        with pytest.raises(Failure) as caught:
            peer.set(path, interface, "Label", "s", label)
        assert caught.value.name == LIMITS
    long = {COLLECTION + ".Label": GLib.Variant("s", "x" * 65537)}
    assert peer.error(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", long, "long") == LIMITS
    assert peer.call(ROOT, SERVICE, "ReadAlias", "(s)", "long") == NOTHING
    # The format stores the length in 16 bits. The daemon refuses longer types instead of cutting them.
    typed = peer.secret("x", content_type="t" * 65536)
    assert error_of(peer, item, ITEM, "SetSecret", GLib.Variant.new_tuple(typed)) == LIMITS
    peer.raw(item, ITEM, "SetSecret", GLib.Variant.new_tuple(peer.secret("x", content_type="t" * 65535)))
    answer = peer.raw(item, ITEM, "GetSecret", GLib.Variant("(o)", (peer.plain,)))
    assert answer.get_child_value(0).get_child_value(3).unpack() == "t" * 65535
    assert peer.get(item, ITEM, "Attributes") == {"limit": "x"}


def test_paths_that_are_longer_than_libsystemd_takes(stocked, peer):
    """libsystemd drops calls to a path of this length without an answer, and refuses the path as an argument."""
    long = LOGIN + "/" + "x" * 100_000
    for path, parameters in ((long, None), (LOGIN, GLib.Variant("(o)", (long,)))):
        peer.bus.call(
            "org.freedesktop.secrets", path, ITEM, "GetSecret", parameters, None, Gio.DBusCallFlags.NONE, 1000, None,
            lambda *_: None,
        )
    item = peer.create("secret", {"long": "x"})
    assert peer.read_error(item, long) == INVALID
    assert peer.error(ROOT, SERVICE, "GetSecrets", "(aoo)", [item, long], peer.plain) == INVALID
    assert peer.error(ROOT, SERVICE, "Unlock", "(ao)", [item, long]) == INVALID
    assert peer.read(item) == b"secret"


@pytest.mark.night("faults")
@pytest.mark.parametrize("algorithm", ["plain", "encrypted"])
def test_the_largest_secret_and_one_byte_more(stocked, peer, algorithm):
    """Secrets above the 16 MiB that the daemon guarantees to clients."""
    limit, word = 32 << 20, "0123456789abcdef"
    digest = lambda size: hashlib.sha256((word * (size // 16 + 1))[:size].encode()).hexdigest()  # noqa: E731
    with SecretClient(stocked) as client:
        session = client.open(algorithm=ENCRYPTED if algorithm == "encrypted" else "plain")["session"]
        attributes = {"largest": algorithm}
        item = client.store(session=session, attributes=attributes, text=word, size=16 << 20)["item"]
        assert client.get(session=session, item=item) == {"size": 16 << 20, "hash": digest(16 << 20)}
        for call in (
            lambda: client.store(session=session, attributes=attributes, text=word, size=limit + 1, replace=True),
            lambda: client.set(session=session, item=item, text=word, size=limit + 1),
        ):
            with pytest.raises(Refused, match="LimitsExceeded"):
                call()
        assert client.get(session=session, item=item)["size"] == 16 << 20
        client.set(session=session, item=item, text=word, size=limit)
        assert client.get(session=session, item=item) == {"size": limit, "hash": digest(limit)}
        assert client.get_all(session=session, items=[item])["sizes"] == {item: limit}
        client.delete(item=item)


@pytest.mark.night("faults")
def test_more_secrets_at_once_than_a_message_carries(peer):
    """An array of D-Bus holds at most 64 MiB, and the bus disconnects a sender of more."""
    value = bytes(range(256)) * (16 << 12)
    items = [peer.create(value, {"many": str(n)}) for n in range(4)]
    parameters = GLib.Variant("(aoo)", (items, peer.plain))
    assert error_of(peer, ROOT, SERVICE, "GetSecrets", parameters) == LIMITS
    answer = peer.raw(ROOT, SERVICE, "GetSecrets", GLib.Variant("(aoo)", (items[:3], peer.plain)))
    assert answer.get_child_value(0).n_children() == 3
    for item in items:
        assert peer.read(item) == value
        peer.call(item, ITEM, "Delete")
