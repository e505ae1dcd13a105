"""I"""

from peer import COLLECTION, ITEM, LOGIN, ROOT, SERVICE, SESSION


def test_introspection(open_peer):
    peer = open_peer
    item = peer.create("secret", {"introspect": "x"})
    introspect = lambda path: peer.call(path, "org.freedesktop.DBus.Introspectable", "Introspect")  # noqa: E731
    for path, interface, words in (
        (ROOT, SERVICE, ["OpenSession", "CreateCollection", "SearchItems", "Unlock", "Lock", "GetSecrets", "ReadAlias",
            "SetAlias", "Collections", "CollectionCreated", "CollectionDeleted", "CollectionChanged"]),
        (LOGIN, COLLECTION, ["Delete", "SearchItems", "CreateItem", "Items", "Label", "Locked", "Created", "Modified",
            "ItemCreated", "ItemDeleted", "ItemChanged"]),
        (item, ITEM, ["Delete", "GetSecret", "SetSecret", "Locked", "Attributes", "Label", "Created", "Modified"]),
        (peer.plain, SESSION, ["Close"]),
    ):
        text = introspect(path)
        assert f'interface name="{interface}"' in text
        assert all(f'name="{word}"' in text for word in words)
    assert 'node name="collection/login"' in introspect(ROOT) or 'node name="collection"' in introspect(ROOT)
    assert f'node name="{item.rpartition("/")[2]}"' in introspect(LOGIN)
