"""Helpers for tests of latchkey export: a vault with items of all kinds, the command itself, and libsecret's view of
two vaults.
"""

import base64
import gzip
import json
import os
import xml.etree.ElementTree as tree

from support.foreign import PASSWORD, PLAIN_SECRETSTORAGE
from support.importing import encoded

DONE, FAILED, PARTLY = 0, 1, 4
WIDE = "\u00e4\u6f22\U0001f511"

# Stores items as any program does.
WRITER = PLAIN_SECRETSTORAGE + """
import base64, json, sys
connection = secretstorage.dbus_init()
for home, items in json.load(sys.stdin):
    collection = secretstorage.get_default_collection(connection) if home is None else secretstorage.create_collection(connection, home)
    if collection.is_locked():
        # KWallet has it open, and asks nobody.
        collection.unlock()
    for label, attributes, secret, content_type in items:
        collection.create_item(label, attributes, base64.b64decode(secret), content_type=content_type)
"""
# Prints all properties of every item, as libsecret and the vault's own interface show them.
READER = """
import base64, json
import gi
gi.require_version("Secret", "1")
from gi.repository import Gio, GLib, Secret
service = Secret.Service.get_sync(Secret.ServiceFlags.OPEN_SESSION | Secret.ServiceFlags.LOAD_COLLECTIONS, None)
def call(path, interface, member, *arguments):
    told = GLib.Variant(f"({'s' * len(arguments)})", arguments)
    return service.get_connection().call_sync(service.get_name(), path, interface, member, told, None, 0, -1, None).unpack()[0]
def extra(path, name):
    return call(path, "org.freedesktop.DBus.Properties", "Get", "org.latchkey.Item", name)
default = call("/org/freedesktop/secrets", "org.freedesktop.Secret.Service", "ReadAlias", "default")
found = []
for collection in service.get_collections():
    if collection.get_object_path().endswith("/session"):
        continue
    for item in collection.get_items():
        item.load_secret_sync(None)
        value = item.get_secret()
        path = item.get_object_path()
        found.append([collection.get_label(), collection.get_object_path() == default, item.get_label(),
                      sorted(item.get_attributes().items()), base64.b64encode(bytes(value.get())).decode(),
                      value.get_content_type(), item.get_created(), item.get_modified(), extra(path, "Accessible"), extra(path, "Require")])
print(json.dumps(sorted(found)))
"""


def fill(session, collections):
    """Stores items. Each entry of `collections` has None for the default collection, or the label of a new one. Then
    come the items, as label, attributes, secret and content type."""
    told = [[home, [[label, attributes, encoded(secret), kind] for label, attributes, secret, kind in items]] for home, items in collections]
    session.run("/usr/bin/python3", "-c", WRITER, input=json.dumps(told), check=True, timeout=300)


def everything(session):
    """Every item with all its properties."""
    return json.loads(session.run("/usr/bin/python3", "-c", READER, check=True, timeout=300).stdout)


def export(session, *words, lines=(), password=None, timeout=120, **options):
    """Runs latchkey export, with the login password as the first line of its input."""
    given = "\n".join([session.password if password is None else password, *lines]) + "\n"
    return session.run("latchkey", "export", *words, "--stdin", input=given, timeout=timeout, **options)


def private_folder(session, name="own"):
    """A folder that no other user can list."""
    folder = session.home / name
    folder.mkdir(mode=0o700)
    os.chown(folder, session.uid, session.gid)
    return folder


def left(done):
    """The labels of the items that the export left out, with the reasons."""
    return {line["label"]: line["reason"] for line in json.loads(done.stdout)["lines"] if line["outcome"] == "left"}


def database(session, file, password=PASSWORD):
    """The content of a database, as the real KeePassXC exports it to XML."""
    done = session.run("keepassxc-cli", "export", "--format", "xml", file, input=password + "\n", timeout=120)
    assert done.returncode == 0, done.stderr
    return tree.fromstring(done.stdout)


def attached(xml):
    """The content of each attached file of such a database, by its number there."""
    found = {}
    for one in xml.iter("Binary"):
        if one.get("ID") is not None:
            content = base64.b64decode(one.text or "")
            found[one.get("ID")] = gzip.decompress(content) if one.get("Compressed") == "True" else content
    return found
