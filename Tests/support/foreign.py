"""gnome-keyring as the place that secrets come from: the real daemon on a bus of its own, and what libsecret sees of any
provider."""

import json
import os
import subprocess

from support.pace import seconds
from support.session import wait_until

PASSWORD = "the keyring's own password"
NAME = "org.freedesktop.secrets"

# Reads a provider as any program with libsecret does: every item but those of the collection that ends with the session.
READER = """
import base64, json, sys
import gi
gi.require_version("Secret", "1")
from gi.repository import Secret
service = Secret.Service.get_sync(Secret.ServiceFlags.OPEN_SESSION | Secret.ServiceFlags.LOAD_COLLECTIONS, None)
found = []
for collection in service.get_collections():
    if collection.get_object_path().endswith("/session"):
        continue
    for item in collection.get_items():
        item.load_secret_sync(None)
        value = item.get_secret()
        secret = value.get() if value else None
        found.append([collection.get_label(), item.get_label(), sorted(item.get_attributes().items()),
                      base64.b64encode(bytes(secret or b"")).decode()])
print(json.dumps(sorted(found)))
"""
# Stores items. libsecret's interface for Python takes no octets, so this is SecretStorage.
WRITER = """
import base64, json, sys
import secretstorage
connection = secretstorage.dbus_init()
homes = {one.get_label(): one for one in secretstorage.get_all_collections(connection)}
for home, label, schema, attributes, secret in json.load(sys.stdin):
    named = attributes | ({"xdg:schema": schema} if schema else {})
    homes[home].create_item(label, named, base64.b64decode(secret), content_type="application/octet-stream")
"""


class GnomeKeyring:
    """gnome-keyring-daemon with a home of its own, beside the vault of a session."""

    def __init__(self, session, name="keyring"):
        self.session = session
        self.home = session.root / name
        self.runtime = self.home / "run"
        for folder in (self.home, self.runtime, self.folder):
            folder.mkdir(mode=0o700, parents=True)
        for folder in (self.home, *self.home.rglob("*")):
            os.chown(folder, session.uid, session.gid)
        self.bus = f"unix:path={self.runtime}/bus"
        self.environment = session.environment | {
            "HOME": str(self.home), "XDG_DATA_HOME": str(self.home / ".local/share"),
            "XDG_RUNTIME_DIR": str(self.runtime), "DBUS_SESSION_BUS_ADDRESS": self.bus,
            "GNOME_KEYRING_CONTROL": "", "G_MESSAGES_DEBUG": ""}  # fmt: skip
        configuration = self.home / "bus.conf"
        configuration.write_text(
            f"<busconfig><type>session</type><listen>{self.bus}</listen><policy context='default'>"
            "<allow send_destination='*' eavesdrop='true'/><allow eavesdrop='true'/><allow own='*'/></policy></busconfig>")
        configuration.chmod(0o644)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": self.environment}
        self.quiet = quiet
        self._bus = session.start("dbus-daemon", "--nofork", f"--config-file={configuration}", **quiet)
        wait_until((self.runtime / "bus").exists, "the other bus")
        self.process = None
        self.start()

    @property
    def folder(self):
        return self.home / ".local/share/keyrings"

    def start(self):
        """Starts the daemon; the first start makes the login keyring with the password."""
        self.process = self.session.start(
            "gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets", stdin=subprocess.PIPE, **self.quiet)
        self.process.stdin.write(PASSWORD.encode())
        self.process.stdin.close()
        wait_until(self._is_owner, "gnome-keyring's start", 60)

    def _is_owner(self):
        done = self.run("dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus",
                        "org.freedesktop.DBus.GetNameOwner", f"string:{NAME}")
        return done.returncode == 0

    def run(self, *command, **options):
        return self.session.run(*command, env=self.environment, **options)

    def write(self, items):
        """Stores items: label of the collection, label, schema or None, attributes, secret in Base64."""
        self.run("/usr/bin/python3", "-c", WRITER, input=json.dumps(items), check=True, timeout=60)

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait(seconds(30))
            self.process = None

    def close(self):
        self.stop()
        self._bus.terminate()
        self._bus.wait(seconds(30))


def seen(runner):
    """What libsecret sees of the provider on the bus of `runner`, a session or a GnomeKeyring."""
    return json.loads(runner.run("/usr/bin/python3", "-c", READER, check=True, timeout=60).stdout)
