"""A system bus with stand-ins for fprintd and logind, for latchkey-deviced. A test can touch the reader, and can put
the machine to sleep.

Tests/Desktop has the real fprintd with libfprint's virtual reader. `Holder`, `held` and `Verification` send the
messages of docs/developer/finger.md, byte by byte.
"""

import contextlib
import os
import pathlib
import queue
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from gi.repository import Gio, GLib
from nacl.public import PrivateKey, PublicKey, SealedBox
from support.deviced import DONE, OPERATION, Peer
from support.logind import any_open
from support.pace import Limit
from support.systembus import SystemBus
from support.wire import DEVICE, KEYBAG, constant, raw_values

SEAT = pathlib.Path(__file__).with_name("Shims") / "seat.c"
WORD, STATE, END = raw_values("Word", DEVICE), raw_values("State", DEVICE), raw_values("HoldEnd", KEYBAG)
HOLD, DROP, HELD, VERIFY, TOUCH, LEAVE, KEY = (
    OPERATION[name] for name in ("hold", "drop", "held", "verify", "touch", "leave", "makeKey"))
ANSWERED = constant("answered", DEVICE)
NAME, PATH = "net.reactivated.Fprint", "/net/reactivated/Fprint/Device/0"
LOGIND, LOGIND_PATH = "org.freedesktop.login1", "/org/freedesktop/login1"
INTERFACES = f"""<node>
  <interface name="{NAME}.Manager"><method name="GetDevices"><arg type="ao" direction="out"/></method></interface>
  <interface name="{NAME}.Device">
    <method name="ListEnrolledFingers"><arg type="s" direction="in"/><arg type="as" direction="out"/></method>
    <method name="Claim"><arg type="s" direction="in"/></method><method name="Release"/>
    <method name="VerifyStart"><arg type="s" direction="in"/></method><method name="VerifyStop"/>
    <property name="scan-type" type="s" access="read"/>
  </interface>
  <interface name="{LOGIND}.Manager">
    <method name="Inhibit">
      <arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="s" direction="in"/>
      <arg type="h" direction="out"/>
    </method>
  </interface>
</node>"""


# Makes as many connections to a socket as the test needs.
CONNECTOR = """
import socket, sys
control = socket.socket(fileno=0)
while control.recv(1):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(sys.argv[1])
        socket.send_fds(control, [b"!"], [connection.fileno()])
"""


class Reader:
    """The bus, its services, and a folder of prints. `address` is the value for DBUS_SYSTEM_BUS_ADDRESS."""

    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="latchkey-reader-", dir="/tmp"))
        self.root.chmod(0o755)
        self.address = f"unix:path={self.root}/bus"
        self._daemon = SystemBus(self.root, self.address)
        # This library is preloaded into the service. It puts every user at a seat of the machine, until the test has them leave.
        self.seat, self._seats = self.root / "seat.so", self.root / "seats"
        self._seats.mkdir()
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", f'-DSEATS="{self._seats}"', "-o", self.seat, SEAT], check=True)
        self.prints = self.root / "prints"
        self.prints.mkdir(mode=0o700)
        self.policy = self.root / "finger"
        self.calls, self.claimant, self._inhibitors, self.pause = [], None, [], 0
        self._changed = threading.Condition()
        self._context = GLib.MainContext()
        self._loop = GLib.MainLoop(self._context)
        ready = threading.Event()
        threading.Thread(target=self._serve, args=(ready,), daemon=True).start()
        assert ready.wait(Limit(10).seconds), "the reader does not start"

    def connect(self):
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        return Gio.DBusConnection.new_for_address_sync(self.address, flags, None, None)

    def _serve(self, ready):
        self._context.push_thread_default()
        self._bus = self.connect()
        manager, device, logind = Gio.DBusNodeInfo.new_for_xml(INTERFACES).interfaces
        self._bus.register_object("/net/reactivated/Fprint/Manager", manager, self._called, None, None)
        self._bus.register_object(PATH, device, self._called, lambda *_: GLib.Variant("s", "press"), None)
        self._bus.register_object(LOGIND_PATH, logind, self._inhibited, None, None)
        for name in (NAME, LOGIND):
            self._bus.call_sync(
                "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
                GLib.Variant("(su)", (name, 4)), None, 0, 10000, None)
        ready.set()
        self._loop.run()

    def _called(self, _bus, sender, _path, _interface, method, arguments, call):
        values = arguments.unpack()
        answer = None
        if method == "GetDevices":
            answer = GLib.Variant("(ao)", ([PATH],))
        elif method == "ListEnrolledFingers":
            folder = self.prints / values[0]
            fingers = sorted(file.name for file in folder.rglob("*") if file.is_file()) if folder.exists() else []
            if not fingers:
                return call.return_dbus_error(f"{NAME}.Error.NoEnrolledPrints", "")
            answer = GLib.Variant("(as)", (fingers,))
        elif method == "Claim":
            # The real fprintd also notices the end of the program that has claimed the reader.
            if self.claimant and self._is_there(self.claimant):
                return call.return_dbus_error(f"{NAME}.Error.AlreadyInUse", "")
            self.claimant = sender
        elif method == "Release":
            time.sleep(self.pause)
            self.claimant = None
        call.return_value(answer)
        with self._changed:
            self.calls.append(" ".join([method, *values]))
            self._changed.notify_all()

    def _is_there(self, name):
        there = self._bus.call_sync(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner", GLib.Variant("(s)", (name,)), None, 0,
            10000, None)
        return there.unpack()[0]

    def _inhibited(self, _bus, _sender, _path, _interface, _method, _arguments, call):
        given, kept = os.pipe()
        self._inhibitors.append(kept)
        descriptors = Gio.UnixFDList.new()
        number = descriptors.append(given)
        os.close(given)
        call.return_value_with_unix_fd_list(GLib.Variant("(h)", (number,)), descriptors)
        with self._changed:
            self._changed.notify_all()

    def wait(self, condition, what):
        with self._changed:
            assert self._changed.wait_for(condition, Limit(20).seconds), what

    def wait_for_person(self):
        """Waits until a program waits for a finger."""
        self.wait(lambda: self.calls[-1:] == ["VerifyStart any"], "nobody waits for a finger")

    def touch(self, word="verify-match", isDone=True):
        """Sends fprintd's signal about a finger on the reader."""
        self._bus.emit_signal(
            None, PATH, f"{NAME}.Device", "VerifyStatus", GLib.Variant("(sb)", (word, isDone)))

    def sleep(self, starts=True):
        """Announces sleep, and waits until no program delays it. With `starts` false, announces the end of sleep."""
        self.wait(lambda: self._inhibitors, "nobody holds up sleep")
        self._bus.emit_signal(None, LOGIND_PATH, f"{LOGIND}.Manager", "PrepareForSleep", GLib.Variant("(b)", (starts,)))
        limit = Limit(20)
        while starts and any_open(self._inhibitors):
            assert not limit.is_over, "sleep is held up"
            time.sleep(0.005)

    def leave_seat(self):
        """No user is in front of the machine any more."""
        (self.root / "away").touch()
        (self.root / "away").rename(self._seats / "away")

    def take_seat(self):
        (self._seats / "away").unlink()

    def enroll(self, user="root", finger="7", content=b"print"):
        folder = self.prints / user / "virtual" / "0"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / finger).write_bytes(content)
        (folder / finger).chmod(0o600)

    def close(self):
        self._loop.quit()
        self._daemon.close()
        shutil.rmtree(self.root)


class Holder(Peer):
    """A connection that holds a covering key."""

    def __init__(self, path, uid=None, memory=True):
        super().__init__(path, uid)
        self.pair, self.key = PrivateKey.generate(), os.urandom(32)
        service = SealedBox(PublicKey(self.ask(KEY)))
        self.ask(HOLD, service.encrypt(bytes([memory]) + self.key + bytes(self.pair.public_key)))

    def touch(self, number=1, operation=TOUCH):
        """Asks for a finger for this holder, or ends the wait. Returns the first word about the touch."""
        self.socket.send(bytes([1, operation]) + number.to_bytes(4, "little"))
        return self.word(number)

    def word(self, number=1):
        """The next word about this holder's touch, or the key if a finger has matched."""
        packet = self.socket.recv(4096)
        assert packet[:2] == bytes([1, DONE]) and packet[3:7] == number.to_bytes(4, "little")
        if packet[2] == ANSWERED:
            return SealedBox(self.pair).decrypt(packet[15:])
        assert len(packet) == 7
        return _name(WORD, packet[2])

    def news(self):
        """The next unrequested packet: the returned key, or the name of the event that ended the hold."""
        packet = self.socket.recv(4096)
        if not packet:
            return "closed"
        assert packet[:2] == bytes([1, DONE])
        if packet[2] == WORD["matched"]:
            self.moment = int.from_bytes(packet[3:11], "little")
            return SealedBox(self.pair).decrypt(packet[11:])
        assert packet[2] == WORD["notHeld"] and len(packet) == 4
        return _name(END, packet[3])

    def hears_nothing(self):
        return not select.select([self.socket], [], [], 0)[0]


class Delay:
    """Stands between latchkeyd and the service, and learns the covering keys: latchkeyd seals them to this object's key. If
    `passes` is true, the hand-overs of keys go on to the service. All other packets always go on. `packets` has everything
    that latchkeyd sent."""

    def __init__(self, path, uid, passes=False):
        self.path, self.passes, self.kept, self.packets = pathlib.Path(path), passes, queue.Queue(), []
        self._pair = PrivateKey.generate()
        self._behind = self.path.with_name("behind.sock")
        self.path.rename(self._behind)
        # All threads of a process have the same user, so another process connects as the user.
        self._connector, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen([sys.executable, "-c", CONNECTOR, self._behind], stdin=other, user=uid)
        self._asking = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(self.path))
        self.path.chmod(0o666)
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._pass_on, args=(self._listener.accept()[0],), daemon=True).start()

    def _pass_on(self, client):
        with contextlib.suppress(OSError), self._connect() as service:
            while packet := client.recv(4096):
                self.packets.append(packet)
                if packet[1] == KEY:
                    client.send(bytes([1, DONE]) + bytes(self._pair.public_key))
                elif packet[1] == HOLD:
                    plain = SealedBox(self._pair).decrypt(packet[2:])
                    self.kept.put((client, plain[1:33]))
                    return self._hold(client, plain, service) if self.passes else None
                else:
                    service.send(packet)
                    client.send(service.recv(4096))
        client.close()

    def _connect(self):
        with self._asking:
            self._connector.send(b"?")
            return socket.socket(fileno=socket.recv_fds(self._connector, 1, 1)[1][0])

    @staticmethod
    def _hold(client, plain, service):
        """Hands the key over, and passes on packets that the service sends unrequested, until the service or the holder
        ends."""
        service.send(bytes([1, KEY]))
        service.send(bytes([1, HOLD]) + SealedBox(PublicKey(service.recv(4096)[2:])).encrypt(plain))
        with client:
            while service in select.select([client, service], [], [])[0] and (news := service.recv(4096)):
                client.send(news)

    def hand_over(self):
        """The connection and the key of the next hand-over."""
        client, key = self.kept.get(timeout=Limit(20).seconds)
        client.settimeout(Limit(20).seconds)
        return client, key

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._connector.close()
        self._process.wait(Limit(10).seconds)
        self._behind.rename(self.path)


class Verification(Peer):
    """A connection of root that waits for a finger."""

    def __init__(self, path, user):
        super().__init__(path)
        self.user = user
        self.socket.send(bytes([1, VERIFY]) + user.to_bytes(4, "little"))

    def word(self):
        """The next word, with its reason if it has one."""
        packet = self.socket.recv(4096)
        if not packet:
            return "closed"
        assert packet[0] == 1
        if packet[1] != DONE:
            return "refused"
        word, why = _name(WORD, packet[2]), packet[3]
        return (word, _name(END, why)) if why else word


def held(service, user):
    """The state, the number of touches left, and the name of the event that ended the hold, or None."""
    with Peer(service.path) as peer:
        state, touches, end = peer.ask(HELD, user.to_bytes(4, "little"))
    return _name(STATE, state), touches, _name(END, end) if end else None


def _name(names, number):
    return next(name for name, one in names.items() if one == number)


