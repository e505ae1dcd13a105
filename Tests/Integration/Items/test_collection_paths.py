"""Object paths of collections. The daemon makes the paths from labels, as gnome-keyring does. A path stays the same for
a collection's whole life.
"""

import contextlib
import json

import pytest
from support.importing import DONE, place, run
from support.items import new_collection
from support.peer import COLLECTION, LOGIN, NOTHING, ROOT, SERVICE, SESSION_COLLECTION, Peer
from support.session import wait_until

FOLDER = ROOT + "/collection/"
ITEM = {"profile": "dev"}
# A keyring file that gnome-keyring wrote without a password. The label was changed after the keyring was created.
KEYRING = """[keyring]
display-name=Cloud
ctime=1600000000
mtime=1600000000
lock-on-idle=false
lock-after=false

[1]
item-type=0
display-name=dev
secret=imported
mtime=1600000000
ctime=1600000000

[1:attribute0]
name=profile
type=string
value=dev
"""


def collections(peer):
    """The paths of the vault's collections."""
    return [path for path in peer.get(ROOT, SERVICE, "Collections") if path != SESSION_COLLECTION]


@pytest.fixture
def peer(unlocked):
    with contextlib.closing(Peer(unlocked)) as opened:
        yield opened


def test_a_program_finds_its_collection_by_its_name(unlocked, peer):
    made = new_collection(peer, "exampletool")
    assert made == FOLDER + "exampletool"
    item = peer.create("key", ITEM, collection=made)
    assert item.startswith(made + "/")
    assert [new_collection(peer, label) for label in ("exampletool", "My Keys")] == [
        FOLDER + "exampletool_5f1", FOLDER + "My_5fKeys"]  # fmt: skip
    peer.set(made, COLLECTION, "Label", "s", "Renamed")
    for _ in range(2):
        with contextlib.closing(Peer(unlocked)) as later:
            assert collections(later) == [LOGIN, *(FOLDER + name for name in ("exampletool", "exampletool_5f1", "My_5fKeys"))]
            assert later.call(made, COLLECTION, "SearchItems", "(a{ss})", ITEM) == [item]
            # The path with the number leads to the same collection, but answers contain the path with the name.
            assert later.get(FOLDER + "c2", COLLECTION, "Items") == [item]
            assert later.read(item) == later.read(FOLDER + "c2/" + item.rsplit("/", 1)[1]) == b"key"
        unlocked.restart()
        assert unlocked.login().returncode == 0
    assert unlocked.run("latchkey", "get", "--json", "exampletool/" + item.rsplit("/", 1)[1]).returncode == 0
    listed = json.loads(unlocked.run("latchkey", "collection", "--json").stdout)
    assert {"exampletool": "Renamed", "exampletool_5f1": "exampletool"}.items() <= {one["name"]: one["label"] for one in listed}.items()
    assert "exampletool" not in unlocked.log()


def test_an_import_keeps_the_path(unlocked, peer):
    assert run(unlocked, "gnome-keyring", place(unlocked, "awsvault.keyring", KEYRING), password="").returncode == DONE
    assert collections(peer) == [LOGIN, FOLDER + "awsvault"]
    assert peer.get(FOLDER + "awsvault", COLLECTION, "Label") == "Cloud"
    assert len(peer.call(FOLDER + "awsvault", COLLECTION, "SearchItems", "(a{ss})", ITEM)) == 1
    content = {"format": "latchkey-export", "version": 1, "collections": [
        {"name": "My_5fKeys", "label": "Others", "items": [{"label": "one", "attributes": ITEM, "secret": "1"}]},
        {"name": "c7", "label": "Numbered", "items": [{"label": "two", "attributes": ITEM, "secret": "2"}]}]}  # fmt: skip
    assert run(unlocked, "json", place(unlocked, "vault.json", json.dumps(content))).returncode == DONE
    assert collections(peer)[2:] == [FOLDER + "My_5fKeys", FOLDER + "Numbered"]
    assert peer.get(FOLDER + "My_5fKeys", COLLECTION, "Label") == "Others"
    # The import's record contains no label.
    record = json.loads((unlocked.home / ".local/state/latchkey/imported.json").read_text())
    assert record["items"] and all(number.isdigit() for number in record["items"])


def test_before_the_login_the_path_is_a_number_where_labels_cannot_be_opened(unlocked, peer):
    made = new_collection(peer, "exampletool")
    peer.create("key", ITEM, collection=made)
    unlocked.stop_daemon()
    # The device key is missing, as on another machine, so the daemon cannot read labels.
    (unlocked.vault / "device.key").unlink()
    unlocked.start_daemon()
    with contextlib.closing(Peer(unlocked)) as client:
        assert collections(client) == [LOGIN, FOLDER + "c2"]
        # A program that still has the other path can unlock the collection.
        done, prompt = client.unlock(made)
        assert done == [] and prompt != NOTHING
        client.listen()
        client.signals.clear()
        assert unlocked.login().returncode == 0
        wait_until(lambda: collections(client) == [LOGIN, made], "the name")
        assert client.wait_for_member("CollectionCreated", ROOT) == (made,)
        assert client.wait_for_member("CollectionDeleted", ROOT) == (FOLDER + "c2",)
        assert made in client.wait_for_property("Collections", ROOT)
        assert len(client.get(FOLDER + "c2", COLLECTION, "Items")) == 1
