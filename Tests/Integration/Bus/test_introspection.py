"""The daemon's introspection data matches dbus/*.xml, and every object has the standard interfaces."""

import xml.etree.ElementTree

import pytest
from gi.repository import GLib
from support.clients import MAIL
from support.peer import (
    ABSENT, COLLECTION, DEFAULT, ITEM, LOGIN, PROMPT, PROPERTIES, ROOT, SERVICE, SESSION, SESSION_COLLECTION, Failure, Peer,
)
from support.session import REPOSITORY, wait_until

STANDARD = "org.freedesktop.DBus."
INTROSPECTABLE, PEER = STANDARD + "Introspectable", STANDARD + "Peer"
EMITS = STANDARD + "Property.EmitsChangedSignal"
VAULT_PATH, VAULT = "/org/latchkey/vault", "org.latchkey.Vault"
ITEM_ACCESS, CLIENT, KEYCHAIN = "org.latchkey.Item", "org.latchkey.Service", "org.latchkey.Keychain"
TOLD_PROMPT = "org.latchkey.Prompt"
PASSWORD = "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface"
# The files of the interfaces, by the name in the repository and the name after installation.
FILES = {"Secrets": "org.freedesktop.Secrets"} | {name: "org.latchkey." + name for name in ("Vault", "Item", "Keychain", "Prompt")}
# The members that the D-Bus specification defines.
STANDARD_MEMBERS = {
    PEER: {"Ping", "GetMachineId"},
    INTROSPECTABLE: {"Introspect"},
    PROPERTIES: {"Get", "Set", "GetAll", "PropertiesChanged"},
}
PLACES = [
    "root",
    "collection",
    "session collection",
    "default alias",
    "login alias",
    "session alias",
    "own alias",
    "item's access",
    "client",
    "keychain",
    "password",
    "item",
    "item by alias",
    "session",
    "prompt",
    "told prompt",
    "vault",
]


def members(interface):
    """The content of an <interface>, in a form that does not depend on the order of the members."""
    told = {}
    for member in interface:
        direction = "in" if member.tag == "method" else "out"
        arguments = tuple(
            (argument.get("name"), argument.get("type"), argument.get("direction", direction))
            for argument in member.iterfind("arg")
        )
        notes = {note.get("name"): note.get("value") for note in member.iterfind("annotation")}
        if member.tag == "property":
            # Without an annotation, the value is "true".
            notes.setdefault(EMITS, "true")
        key = (member.tag, member.get("name"))
        assert key not in told, f"{key} twice"
        told[key] = (member.get("type"), member.get("access"), arguments, tuple(sorted(notes.items())))
    return told


def interfaces(node):
    return {interface.get("name"): members(interface) for interface in node.iterfind("interface")}


@pytest.fixture(scope="module")
def written():
    """The interfaces in dbus/*.xml."""
    told = {}
    for name in FILES.values():
        told |= interfaces(xml.etree.ElementTree.parse(REPOSITORY / f"dbus/{name}.xml").getroot())
    return told


@pytest.fixture(scope="module")
def locked_peer(shared_session):
    """A client of a locked vault, so that the vault creates prompts."""
    assert shared_session.login().returncode == 0
    opened = Peer(shared_session)
    opened.create("secret", MAIL)
    label = {COLLECTION + ".Label": GLib.Variant("s", "Other")}
    opened.call(ROOT, SERVICE, "CreateCollection", "(a{sv}s)", label, "other")
    shared_session.lock()
    yield opened
    opened.close()


@pytest.fixture
def place(locked_peer, request):
    """A path with one of its interfaces."""
    peer = locked_peer
    item = peer.search(MAIL)[1][0]
    return {
        "root": lambda: (ROOT, SERVICE),
        "collection": lambda: (LOGIN, COLLECTION),
        "session collection": lambda: (SESSION_COLLECTION, COLLECTION),
        "default alias": lambda: (DEFAULT, COLLECTION),
        "login alias": lambda: (f"{ROOT}/aliases/login", COLLECTION),
        "session alias": lambda: (f"{ROOT}/aliases/session", COLLECTION),
        "own alias": lambda: (f"{ROOT}/aliases/other", COLLECTION),
        "item": lambda: (item, ITEM),
        "item's access": lambda: (item, ITEM_ACCESS),
        "client": lambda: (ROOT, CLIENT),
        "keychain": lambda: (ROOT, KEYCHAIN),
        "password": lambda: (ROOT, PASSWORD),
        "item by alias": lambda: (item.replace(LOGIN, DEFAULT), ITEM),
        "session": lambda: (peer.plain, SESSION),
        "prompt": lambda: (peer.unlock(LOGIN)[1], PROMPT),
        "told prompt": lambda: (peer.unlock(LOGIN)[1], TOLD_PROMPT),
        "vault": lambda: (VAULT_PATH, VAULT),
    }[request.param]()


@pytest.fixture
def unlocked(shared_session, locked_peer):
    """The vault must be unlocked for changes."""
    assert shared_session.locker().returncode == 0
    wait_until(lambda: shared_session.status()["state"] == "unlocked", "the unlock")
    yield
    shared_session.lock()


def together(interface):
    """All interfaces of an object that has this interface."""
    return next((own for own in ({ITEM, ITEM_ACCESS}, {COLLECTION, "org.latchkey.Collection"}, {SERVICE, CLIENT, KEYCHAIN, PASSWORD}, {PROMPT, TOLD_PROMPT}) if interface in own), {interface})


at_each_place = pytest.mark.parametrize("place", PLACES, indirect=True)


def introspect(peer, path):
    return xml.etree.ElementTree.fromstring(peer.call(path, INTROSPECTABLE, "Introspect"))


@at_each_place
def test_the_interfaces(locked_peer, place, written):
    path, interface = place
    told = interfaces(introspect(locked_peer, path))
    for name, expected in STANDARD_MEMBERS.items():
        assert {member for _, member in told.pop(name)} == expected
    assert told == {name: written[name] for name in together(interface)}


def test_every_interface_is_served(written):
    assert written.keys() == {SERVICE, COLLECTION, ITEM, SESSION, PROMPT, VAULT, ITEM_ACCESS, CLIENT, KEYCHAIN, TOLD_PROMPT, PASSWORD, "org.latchkey.Collection"}


def test_the_interfaces_are_installed(stage):
    folder = stage / "usr/share/dbus-1/interfaces"
    for name, source in FILES.items():
        laid = folder / f"org.latchkey.{name}.xml"
        assert laid.read_bytes() == (REPOSITORY / f"dbus/{source}.xml").read_bytes()


@at_each_place
def test_properties(locked_peer, place, unlocked, written):
    peer, (path, interface) = locked_peer, place
    declared = {name: facts for (kind, name), facts in written[interface].items() if kind == "property"}
    everything = peer.raw(path, PROPERTIES, "GetAll", GLib.Variant("(s)", (interface,))).get_child_value(0)
    assert set(everything.unpack()) == set(declared)
    values = {}
    for name, (kind, _, _, _) in declared.items():
        answer = peer.raw(path, PROPERTIES, "Get", GLib.Variant("(ss)", (interface, name)))
        values[name] = answer.get_child_value(0).get_variant()
        assert values[name].get_type_string() == kind
        assert values[name].unpack() == everything.unpack()[name]
    for name, (_, access, _, _) in declared.items():
        one = values[name]
        if access == "read":
            error = peer.error(path, PROPERTIES, "Set", "(ssv)", interface, name, one)
            assert error == STANDARD + "Error.PropertyReadOnly"
        else:
            peer.call(path, PROPERTIES, "Set", "(ssv)", interface, name, one)
            assert peer.get(path, interface, name) == one.unpack()
    # An empty interface name means all interfaces.
    assert set(peer.call(path, PROPERTIES, "GetAll", "(s)", "")) == {
        name for one in together(interface) for kind, name in written[one] if kind == "property"}
    unknown = {STANDARD + "Error.UnknownProperty", STANDARD + "Error.UnknownInterface"}
    assert peer.error(path, PROPERTIES, "Get", "(ss)", interface, "Nothing") in unknown
    assert peer.error(path, PROPERTIES, "Get", "(ss)", interface + "s", "Label") in unknown
    assert peer.error(path, PROPERTIES, "GetAll", "(s)", interface + "s") in unknown
    assert peer.error(path, PROPERTIES, "Set", "(ssv)", interface, "Nothing", GLib.Variant("s", "")) in unknown


@at_each_place
def test_the_peer_interface(locked_peer, place):
    path, _ = place
    assert locked_peer.call(path, PEER, "Ping") is None
    with open("/etc/machine-id") as file:
        assert locked_peer.call(path, PEER, "GetMachineId") == file.read().strip()


@at_each_place
def test_members_of_other_interfaces_are_not_there(locked_peer, place, written):
    path, own = place
    for interface in written.keys() - together(own):
        for kind, name in written[interface]:
            if kind == "method":
                # The arguments have the right types, so only the interface is wrong.
                kinds = [kind for _, kind, way in written[interface]["method", name][2] if way == "in"]
                values = [GLib.Variant.parse(GLib.VariantType(kind), EXAMPLES[kind], None, None) for kind in kinds]
                with pytest.raises(Failure) as raised:
                    locked_peer.raw(path, interface, name, GLib.Variant.new_tuple(*values) if values else None)
                assert raised.value.name in ABSENT | {STANDARD + "Error.UnknownInterface"}, (interface, name)


EXAMPLES = {
    "a{sv}": "{}",
    "a{ss}": "{}",
    "aa{ss}": "[{'a': 'b'}]",
    "ay": "[]",
    "a(oa{sv}a{ss})": "[]",
    "a(oay)": "[]",
    "ao": "[]",
    "as": "[]",
    "t": "0",
    "o": "'/'",
    "s": "''",
    "u": "1",
    "v": "<''>",
    "b": "true",
    "(oayays)": "('/', [], [], '')",
}


@pytest.mark.parametrize(
    ("path", "interface"),
    [
        (LOGIN, COLLECTION),
        (DEFAULT, COLLECTION),
        (ROOT + "/aliases/other", COLLECTION),
        ("item", ITEM),
        ("alias", ITEM),
    ],
)
def test_properties_changed(locked_peer, unlocked, path, interface):
    """The signal comes from the object's own path, even if the client changed the object through an alias."""
    peer = locked_peer
    [item] = peer.search(MAIL)[0]
    path = {"item": item, "alias": item.replace(LOGIN, DEFAULT)}.get(path, path)
    own = path
    if path.startswith(ROOT + "/aliases/"):
        alias, *rest = path.removeprefix(ROOT + "/aliases/").split("/")
        own = "/".join([peer.call(ROOT, SERVICE, "ReadAlias", "(s)", alias), *rest])
    peer.listen()
    peer.signals.clear()
    label = "changed through " + path
    peer.set(path, interface, "Label", "s", label)
    told = lambda signal: signal[2] == "PropertiesChanged" and "Label" in signal[3][1]
    where, from_interface, _, arguments = peer.wait_for(told, "change")
    assert (where, from_interface) == (own, PROPERTIES)
    assert arguments[0] == interface
    assert arguments[1] == {"Label": label, "Modified": peer.get(own, interface, "Modified")}
    assert arguments[2] == []


def test_the_state_changes(shared_session, locked_peer):
    for change, state in ((shared_session.locker, "unlocked"), (shared_session.lock, "locked")):
        locked_peer.listen()
        locked_peer.signals.clear()
        change()
        # A late signal may be about an earlier change, but no earlier change led to this state.
        locked_peer.wait_for(
            lambda signal: signal[:3:2] == (VAULT_PATH, "PropertiesChanged") and signal[3][1].get("State") == state, state)
        assert locked_peer.get(VAULT_PATH, VAULT, "State") == state


def test_every_object_is_found_from_the_root(locked_peer):
    """The test walks down the path, one part at each step."""
    peer = locked_peer
    prompt = peer.unlock(LOGIN)[1]
    found = []

    def walk(path):
        found.append(path)
        for node in introspect(peer, path).iterfind("node"):
            name = node.get("name")
            assert "/" not in name, f"{name} at {path}"
            walk(path.rstrip("/") + "/" + name)

    walk("/")
    assert len(found) == len(set(found)), "a node is listed twice"
    everything = {ROOT, LOGIN, SESSION_COLLECTION, peer.plain, prompt, VAULT_PATH}
    assert everything.union(peer.get(LOGIN, COLLECTION, "Items")) <= set(found)
