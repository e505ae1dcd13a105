"""gnome-keyring, KWallet and KeePassXC, for import and export. These are the real programs, each on its own bus. Also
libsecret's view of any provider.
"""

import hashlib
import json
import os
import subprocess

from support.pace import seconds
from support.session import wait_until

PASSWORD = "the keyring's own password"
NAME = "org.freedesktop.secrets"

# Reads a provider as any libsecret program does, without the collection that ends with the session. One encrypted
# session with KWallet in 128 fails (see PLAIN_SECRETSTORAGE), so the program tries five sessions.
READER = """
import base64, json, sys
import gi
gi.require_version("Secret", "1")
from gi.repository import GLib, Secret
def read():
    service = Secret.Service.get_sync(Secret.ServiceFlags.OPEN_SESSION | Secret.ServiceFlags.LOAD_COLLECTIONS, None)
    for collection in service.get_collections():
        if collection.get_object_path().endswith("/session"):
            continue
        for item in collection.get_items():
            item.load_secret_sync(None)
            value = item.get_secret()
            secret = value.get() if value else None
            yield [collection.get_label(), item.get_label(), sorted(item.get_attributes().items()),
                   base64.b64encode(bytes(secret or b"")).decode()]
for left in range(4, -1, -1):
    try:
        found = sorted(read())
        break
    except GLib.Error:
        if not left:
            raise
        Secret.Service.disconnect()
print(json.dumps(found))
"""
# SecretStorage without encryption. KWallet refuses a public key that begins with a zero byte, which SecretStorage
# strips. KWallet also strips leading zero bytes from a shared secret. So one encrypted session in 128 fails.
PLAIN_SECRETSTORAGE = """
import secretstorage, secretstorage.dhcrypto, secretstorage.util
def plain(connection):
    session = secretstorage.dhcrypto.Session()
    session.encrypted = False
    service = secretstorage.util.DBusAddressWrapper("/org/freedesktop/secrets", "org.freedesktop.Secret.Service", connection)
    _, session.object_path = service.call("OpenSession", "sv", "plain", ("s", ""))
    return session
secretstorage.collection.open_session = secretstorage.item.open_session = plain
"""
# Stores items. libsecret's Python interface takes no binary secrets, so this uses SecretStorage.
WRITER = PLAIN_SECRETSTORAGE + """
import base64, json, sys
connection = secretstorage.dbus_init()
homes = {one.get_label(): one for one in secretstorage.get_all_collections(connection)}
for home, label, schema, attributes, secret in json.load(sys.stdin):
    if homes[home].is_locked():
        # KWallet has it open, and asks nobody.
        homes[home].unlock()
    named = attributes | ({"xdg:schema": schema} if schema else {})
    homes[home].create_item(label, named, base64.b64decode(secret), content_type="application/octet-stream")
"""


class OtherHome:
    """Another home and bus for another program that keeps secrets, beside the session's vault."""

    def __init__(self, session, name):
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
            "XDG_CONFIG_HOME": str(self.home / ".config"), "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_RUNTIME_DIR": str(self.runtime), "DBUS_SESSION_BUS_ADDRESS": self.bus,
            "GNOME_KEYRING_CONTROL": "", "G_MESSAGES_DEBUG": "", "QT_QPA_PLATFORM": "offscreen"}  # fmt: skip
        configuration = self.home / "bus.conf"
        configuration.write_text(
            f"<busconfig><type>session</type><listen>{self.bus}</listen><policy context='default'>"
            "<allow send_destination='*' eavesdrop='true'/><allow eavesdrop='true'/><allow own='*'/></policy></busconfig>")
        configuration.chmod(0o644)
        self.quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": self.environment}
        self._bus = session.start("dbus-daemon", "--nofork", f"--config-file={configuration}", **self.quiet)
        wait_until((self.runtime / "bus").exists, "the other bus")
        self.process = None

    @property
    def folder(self):
        """The folder for the program's files."""
        return self.home / ".local/share"

    def owns(self, name):
        done = self.run("dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus",
                        "org.freedesktop.DBus.GetNameOwner", f"string:{name}")
        return done.returncode == 0

    def run(self, *command, **options):
        return self.session.run(*command, env=self.environment, **options)

    def write(self, items, timeout=60):
        """Stores items by the Secret Service. Each is the collection's label, the item's label, the schema or None, the
        attributes, and the secret in Base64."""
        self.run("/usr/bin/python3", "-c", WRITER, input=json.dumps(items), check=True, timeout=timeout)

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait(seconds(30))
            self.process = None

    def close(self):
        self.stop()
        self._bus.terminate()
        self._bus.wait(seconds(30))


class GnomeKeyring(OtherHome):
    """The real gnome-keyring-daemon."""

    def __init__(self, session, name="keyring"):
        super().__init__(session, name)
        self.start()

    @property
    def folder(self):
        return self.home / ".local/share/keyrings"

    def start(self):
        """Starts the daemon. The first start creates the login keyring with the password."""
        self.process = self.session.start(
            "gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets", stdin=subprocess.PIPE, **self.quiet)
        self.process.stdin.write(PASSWORD.encode())
        self.process.stdin.close()
        wait_until(lambda: self.owns(NAME), "gnome-keyring's start", 60)


# Starts KWallet as pam_kwallet5 does, with the command in its arguments. A pipe passes the key of the default wallet,
# and a socket passes the environment.
KWALLET_STARTER = """
import os, socket, sys
key = sys.stdin.buffer.read()
read, write = os.pipe()
os.write(write, key)
os.close(write)
path = os.environ["XDG_RUNTIME_DIR"] + "/kwallet.socket"
if os.path.exists(path):
    os.unlink(path)
server, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen(1)
client.connect(path)
client.close()
os.set_inheritable(read, True)
os.set_inheritable(server.fileno(), True)
os.environ["PAM_KWALLET5_LOGIN"] = path
os.execvp(sys.argv[1], [*sys.argv[1:], "--pam-login", str(read), str(server.fileno())])
"""
# Stores entries through KWallet's own interface: folder, entry, kind, and the value as Qt writes it.
KWALLET_WRITER = """
import base64, json, sys
from gi.repository import Gio, GLib
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
def call(member, *arguments):
    return bus.call_sync("org.kde.kwalletd5", "/modules/kwalletd5", "org.kde.KWallet", member,
                         GLib.Variant(*arguments), None, 0, 60000, None).unpack()[0]
handle = call("open", "(sxs)", ("kdewallet", 0, "test"))
assert handle >= 0, handle
entries = json.load(sys.stdin)
for folder in {folder for folder, *_ in entries}:
    call("createFolder", "(iss)", (handle, folder, "test"))
for folder, entry, kind, value in entries:
    assert call("writeEntry", "(issayis)", (handle, folder, entry, base64.b64decode(value), kind, "test")) == 0
bus.call_sync("org.kde.kwalletd5", "/modules/kwalletd5", "org.kde.KWallet", "sync",
              GLib.Variant("(is)", (handle, "test")), None, 0, 60000, None)
"""


class KWallet(OtherHome):
    """kwalletd5 with its default wallet. `wallet` is the content of a wallet for a GPG key, which KWallet opens without
    a password. `command` lets root start another KWallet."""

    def __init__(self, session, name="kwallet", wallet=None, command=None):
        super().__init__(session, name)
        self._command = command
        self._salt = None if wallet else os.urandom(56)
        self._place(self.folder / f"kdewallet.{'kwl' if wallet else 'salt'}", wallet or self._salt)
        # With these settings, the test may read without a question, and KWallet is a Secret Service.
        self._place(self.home / ".config/kwalletrc",
                    b"[Wallet]\nFirst Use=false\nEnabled=true\nPrompt on Open=false\n"
                    b"[Auto Allow]\nkdewallet=test,latchkey\n[org.freedesktop.secrets]\napiEnabled=true\n")
        self.start()

    def _place(self, file, content):
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
        for path in (file.parent, file):
            os.chown(path, self.session.uid, self.session.gid)

    @property
    def folder(self):
        return self.home / ".local/share/kwalletd"

    def start(self):
        if self._salt is None:
            self.process = self.session.start("kwalletd5", **self.quiet)
        else:
            key = hashlib.pbkdf2_hmac("sha512", PASSWORD.encode(), self._salt, 50_000, 56)
            start = subprocess.Popen if self._command else lambda words, **options: self.session.start(*words, **options)
            self.process = start(["/usr/bin/python3", "-c", KWALLET_STARTER, *(self._command or ["kwalletd5"])], stdin=subprocess.PIPE, **self.quiet)
            self.process.stdin.write(key)
            self.process.stdin.close()
        wait_until(lambda: self.owns("org.kde.kwalletd5"), "KWallet's start", 60)

    def write_entries(self, entries):
        """Stores entries: folder, entry, kind, and Qt's form of the value in Base64."""
        self.run("/usr/bin/python3", "-c", KWALLET_WRITER, input=json.dumps(entries), check=True, timeout=300)


# A database whose second group is a collection of the Secret Service. The identifier occurs twice: once in Base64, and
# once in braces.
KEEPASSXC_XML = """<?xml version="1.0" encoding="UTF-8"?><KeePassFile><Meta><CustomData><Item><Key>FDO_SECRETS_EXPOSED_GROUP</Key>
<Value>{01010101-0101-0101-0101-010101010101}</Value></Item></CustomData></Meta><Root><Group><UUID>AgICAgICAgICAgICAgICAg==</UUID>
<Name>Passwords</Name><Group><UUID>AQEBAQEBAQEBAQEBAQEBAQ==</UUID><Name>Programs</Name></Group></Group></Root></KeePassFile>"""
# With these settings, programs may read without a question. KeePassXC 2.7.4 crashes if it saves a database while new
# entries arrive.
KEEPASSXC_SETTINGS = """[General]
ConfigVersion=2
UpdateCheckMessageShown=true
AutoSaveAfterEveryChange=false

[GUI]
CheckForUpdates=false

[FdoSecrets]
Enabled=true
ShowNotification=false
ConfirmDeleteItem=false
ConfirmAccessItem=false
UnlockBeforeSearch=false
"""


class KeePassXC(OtherHome):
    """KeePassXC with an open database, without a screen. `entries` are the entries of the collection, in XML."""

    def __init__(self, session, name="keepassxc", entries=""):
        super().__init__(session, name)
        xml = KEEPASSXC_XML.replace("<Name>Programs</Name>", f"<Name>Programs</Name>{entries}")
        for file, content in ((".config/keepassxc/keepassxc.ini", KEEPASSXC_SETTINGS), ("source.xml", xml)):
            path = self.home / file
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_text(content)
            for one in (path.parent, path):
                os.chown(one, session.uid, session.gid)
        self.database = self.folder / "Passwords.kdbx"
        self.run("keepassxc-cli", "import", "--set-password", self.home / "source.xml", self.database,
                 input=f"{PASSWORD}\n{PASSWORD}\n", check=True, timeout=120)  # fmt: skip
        self.process = session.start("keepassxc", "--pw-stdin", self.database, stdin=subprocess.PIPE, **self.quiet)
        self.process.stdin.write(PASSWORD.encode() + b"\n")
        self.process.stdin.close()
        wait_until(self.is_open, "KeePassXC's database", 60)

    @property
    def folder(self):
        return self.home / "databases"

    def is_open(self):
        """Whether the database is open. KeePassXC owns the name earlier, and would then ask for the password in a
        window."""
        done = self.run("busctl", f"--address={self.bus}", "get-property", NAME, "/org/freedesktop/secrets/aliases/default",
                        "org.freedesktop.Secret.Collection", "Locked")  # fmt: skip
        return done.stdout.strip() == "b false"


def seen(runner):
    """libsecret's view of the provider on the bus of `runner`, which is a session or a GnomeKeyring."""
    return json.loads(runner.run("/usr/bin/python3", "-c", READER, check=True, timeout=300).stdout)
