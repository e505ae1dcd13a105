"""A stand-in for latchkeyd: the daemon's end of the control socket, with the answers of a test."""

import contextlib
import os
import socket
import struct
import threading

from support.pace import seconds
from support.wire import MESSAGES, codes, constant, order, raw_values

VERSION, GIVE_WAY, OTHER_VERSION, DECLINED = map(constant, ("version", "giveWay", "otherVersion", "declined"))
HELLO, UNLOCK, STATUS, LOCK, PROMPT, PROMPT_ENDED = (
    MESSAGES[name] for name in ("Hello", "UnlockWithTiers", "GetStatus", "LockVault", "ShowPrompt", "EndPrompt"))
PROMPT_PLACED, TOUCH = MESSAGES["PlacePrompt"], MESSAGES["TouchReader"]
DERIVATION, PASSPHRASE, START_EMPTY = (MESSAGES[name] for name in ("GetDerivation", "PassphraseKey", "PutVaultAside"))
ROTATE, MAY_ROTATE, NEEDED_EPOCH = (MESSAGES[name] for name in ("Rotate", "CheckMayRotate", "GetNeededEpoch"))
DEVICE_SECRET, DESTROY, UNLOCK_SESSION = (
    MESSAGES[name] for name in ("DeviceSecretRequest", "DestroyPasscodeItems", "SessionDelivery"))
NOTE_OTHER_PASSWORD, SLOW_PASSWORD, ONE_TIME_KEY, MAY_DERIVE = (
    MESSAGES[name] for name in ("NoteOtherPassword", "NoteSlowPassword", "MakeOneTimeKey", "CheckMayDerive"))
SEALED = {UNLOCK, ROTATE, UNLOCK_SESSION, PASSPHRASE}
PRESENT, NEW = map(codes("DeviceSecretRequest").get, ("present", "new"))
LOGIN, COLLECTION, NEW_PASSPHRASE, ITEM, NEW_ITEM_PASSPHRASE, ITEM_ACCESS = (
    raw_values("Purpose")[name]
    for name in ("login", "collection", "newPassphrase", "item", "newItemPassphrase", "itemAccess"))
ACCEPTED, DISMISSED, UNAVAILABLE, WRONG_ANSWERS, EXPIRED = (
    order("told")[name] for name in ("granted", "dismissed", "unavailable", "refused", "expired"))
NOTHING, KEYS, REFUSED, LATE = (codes("Need")[name] for name in ("nothing", "keys", "refused", "late"))
LIVE, STAGED, WRONG_KEYS, UNLOCK_REFUSED, UNUSABLE = (
    codes("UnlockOutcome")[name] for name in ("live", "staged", "wrongKeys", "refused", "unusable"))
STAGES = {number: name for name, number in raw_values("Stage").items()}
SILENT, CLOSED = "silent", "closed"


def text(value):
    data = value.encode()
    return struct.pack("<H", len(data)) + data


def texts(values):
    return bytes([len(values)]) + b"".join(map(text, values))


def reason(value):
    """Encodes a reason, which is a tuple of a code and values. A single text becomes a reason without a code."""
    code, *values = value if isinstance(value, tuple) else ("verbatim", value)
    parts = [b"\0" + struct.pack("<Q", one) if isinstance(one, int) else b"\2" + reason(one) if isinstance(one, tuple) else b"\1" + text(one)
             for one in values]
    return text(code) + bytes([len(parts)]) + b"".join(parts)


def listed(values):
    return bytes([len(values)]) + b"".join(map(reason, values))


def optional(value):
    """Encodes a reason that may be absent."""
    return b"\1" + reason(value) if value else b"\0"


def status(state=1, first=True, locker=False, staged=False, memory=True, reasons=(), problems=(), sources=("logind",),
           classes=(("when-unlocked", True),), vault="/home/alice/.local/share/latchkey", generation=2, device="file",
           owner="latchkeyd", items=3, collections=1, locked_collections=0, foreign=0, rotation=(0, 0, 0, 0), former=0,
           epoch=1, code=0, passwordless=0, older=0, without_password=0, protectors=((1, 1, 1700000000),), swappable=0,
           history=(True, 24, 1700000000, ""), damaged=(), names={}, finger=0, finger_problem=""):
    flags = first | locker << 1 | staged << 2 | memory << 3
    return (bytes([VERSION, STATUS, state, flags]) + b"".join(map(listed, (reasons, problems, sources)))
            + texts([name for name, _ in classes]) + bytes(present for _, present in classes) + text(vault)
            + struct.pack("<Q", generation) + text(device) + text(owner)
            + struct.pack("<QQQQ", items, collections, locked_collections, foreign)
            + struct.pack("<QQQQBIQBBBB", *rotation, former, epoch, code, passwordless, older, without_password, len(protectors))
            + b"".join(struct.pack("<BBQ", *protector) for protector in protectors) + struct.pack("<Q", swappable)
            + struct.pack("<BIQ", *history[:3]) + optional(history[3]) + texts(damaged)
            + b"".join(text(names.get(place, "")) for place in range(len(protectors)))
            + bytes([finger]) + optional(finger_problem))


def prompt(purpose=LOGIN, label="", caller="", window="", terminal="", access=0, reuse=0, change="", reason="", process=("", 0, 0), away=False):
    """`process` is for an interpreter: its program, its process id, and its start time."""
    texts = b"".join(map(text, (label, caller, window, terminal)))
    words = text(change) + text(reason)
    return bytes([VERSION, PROMPT, purpose]) + texts + struct.pack("<IH", access, reuse) + words + bytes([False]) + text(process[0]) + struct.pack("<IQ", *process[1:]) + bytes([away])


def answer(operation, code, why=""):
    return bytes([VERSION, operation, code]) + reason(why)


def derivation(salt=bytes(range(16)), passes=3, memory=32 << 20):
    return bytes([VERSION, DERIVATION]) + salt + struct.pack("<IQ", passes, memory)


def sealed(secret, public_key):
    """A crypto_box_seal. The import is here because other tests need no libsodium."""
    from nacl.public import PublicKey, SealedBox

    return SealedBox(PublicKey(public_key)).encrypt(secret)


def declined(why="so says the test"):
    return bytes([VERSION, DECLINED]) + reason(why)


class Delivery:
    """The keys in a packet."""

    def __init__(self, packet):
        assert len(packet) >= 91 and (len(packet) - 91) % 68 == 0
        self.vault, self.generation, self.flags, self.unlocked, self.session = struct.unpack("<2x16sQB32s32s", packet[:91])
        # The number and the tier keys A and C of each former key epoch.
        self.former = list(struct.iter_unpack("<I32s32s", packet[91:]))


class Daemon:
    """Listens in `runtime`. `need`, `outcome`, `status`, `lock` and `derivation` are the answers: a number, a whole
    packet, SILENT for no answer, CLOSED to hang up, or a list of these for successive requests. `outcome` answers keys
    and passphrases.

    These attributes record the requests. `hellos` has the hello packets, `answered` the prompt number of each, and
    `given` the moment of each password. `deliveries` has the keys, and `sessions` each delivery of tier key C alone.
    `asked` has the prompt of each derivation, and `keys` the prompt and key of each passphrase. `packets` has all
    packets. `prompts` has the prompts by number, and `touching` the prompts that wait for a finger, which `touch` answers. `outcomes` tells how each prompt ended, or None if only its connection
    ended.

    The stand-in also has a device key. With `device_secret` None, the stand-in answers as without a service. `secrets`
    has the content of each wrapping, and `wrapping` belongs to the present protector. `wanted` has kind, vault and
    protector of each request for a secret. `destructions` tells, for each destruction of items, whether the password was removed.
    `notes` counts the passwords that did not unlock the vault, and `put_aside` has the folders of vaults that were put aside.

    `give_way` answers a helper that asks the daemon to end, and `given_way` counts these requests. If the answer is
    yes, the stand-in ends the connection as a real daemon would. Later requests reach the next daemon.

    Sealed packets are recorded in their opened form. With `one_time_key` None, the stand-in answers a request for a
    sealing key as the real daemon does."""

    IDENTITY = bytes(range(0xD0, 0xE0))

    def __init__(self, runtime, owner=None, path=None):
        self.path = path or f"{runtime}/latchkey/control"
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        self.need, self.outcome, self.status, self.lock = KEYS, LIVE, status(), bytes([VERSION, LOCK])
        self.derivation = derivation()
        self.may_rotate, self.needed = bytes([VERSION, MAY_ROTATE]), bytes([VERSION, NEEDED_EPOCH]) + struct.pack("<I", 1)
        self.may_derive = bytes([VERSION, MAY_DERIVE])
        self.hellos, self.deliveries, self.packets, self.problems = [], [], [], []
        self._connections, self.replies = {}, 0
        self.prompts, self.outcomes, self._showing = {}, {}, {}
        self.places = {}
        self.answered, self.given, self.asked, self.keys = [], [], [], []
        self.device_secret, self.destroy = None, bytes([VERSION, DESTROY]) + struct.pack("<Q", 0)
        self.sessions = []
        self.secrets, self.wrapping, self.wanted, self.destructions = {}, None, [], []
        self.notes, self.put_aside = 0, []
        self.touch, self.touching = bytes([VERSION, TOUCH]), []
        self.one_time_key = None
        self.give_way, self.given_way = bytes([VERSION + 1, GIVE_WAY]), 0
        self.on_request = lambda operation: None
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(self.path)
        self._listener.listen(16)
        if owner is not None:
            os.chown(os.path.dirname(self.path), owner, -1)
            os.chown(self.path, owner, -1)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self, remove=True):
        # This wakes the accepting thread. close() alone would not.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        if remove:
            os.unlink(self.path)

    def hang_up(self):
        """Ends all connections, and returns when all are closed. A client may get a signal for the shutdown and another for
        the close. So this waits for the close, and the client gets no late signal."""
        for connection, thread in list(self._connections.items()):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join(seconds(10))

    def withdraw(self, number):
        """Ends the connection that shows the prompt."""
        self._showing.pop(number).shutdown(socket.SHUT_RDWR)

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=[connection], daemon=True)
            self._connections[connection] = thread
            thread.start()

    def _serve(self, connection):
        with connection:
            showing = key = None
            try:
                while packet := connection.recv(65536):
                    if packet == bytes([VERSION, ONE_TIME_KEY]):
                        key, reply = self._one_time_key()
                        if reply == CLOSED:
                            return
                        if reply != SILENT:
                            connection.send(reply)
                        continue
                    if packet[1] in SEALED:
                        assert key is not None, "keys in the clear"
                        packet = key.open(packet)
                    key = None
                    self.packets.append(packet)
                    if packet[:2] == bytes([VERSION, PROMPT]):
                        (showing,) = struct.unpack("<Q", packet[2:])
                        self._showing[showing] = connection
                        connection.send(self.prompts.get(showing) or declined("no such prompt"))
                        continue
                    if packet[:2] == bytes([VERSION, PROMPT_PLACED]):
                        assert showing is not None and len(packet) == 3
                        self.places.setdefault(showing, []).append(packet[2])
                        connection.send(packet[:2])
                        continue
                    if packet[:2] == bytes([VERSION, PROMPT_ENDED]):
                        assert showing is not None and len(packet) == 3
                        self.outcomes[showing] = packet[2]
                        continue
                    reply = self._reply(packet)
                    if reply == CLOSED:
                        return
                    if reply != SILENT:
                        connection.send(reply)
                        self.replies += 1
                    if packet[1] == GIVE_WAY and reply[1] == GIVE_WAY:
                        return
            except (AssertionError, KeyError, UnicodeDecodeError, ValueError, struct.error) as error:
                self.problems.append(repr(error))
            except OSError:
                pass
            finally:
                if showing is not None:
                    self.outcomes.setdefault(showing, None)

    def _one_time_key(self):
        # The import is here because other tests need no libsodium.
        from support.sealing import OneTimeKey

        key = OneTimeKey()
        return key, bytes([VERSION, ONE_TIME_KEY]) + key.public if self.one_time_key is None else self.one_time_key

    def _reply(self, packet):
        version, operation = packet[:2]
        assert version == VERSION
        self.on_request(operation)
        if operation == HELLO:
            self.hellos.append(self._hello(packet[:-16]))
            number, moment = struct.unpack("<QQ", packet[-16:])
            self.answered.append(number)
            self.given.append(moment)
            return self._next("need", HELLO)
        if operation == MAY_ROTATE:
            return self._next("may_rotate", MAY_ROTATE)
        if operation == MAY_DERIVE:
            assert len(packet) == 2
            return self._next("may_derive", MAY_DERIVE)
        if operation == NEEDED_EPOCH:
            return self._next("needed", NEEDED_EPOCH)
        if operation == GIVE_WAY:
            assert len(packet) == 2
            self.given_way += 1
            return self.give_way
        if operation in (UNLOCK, ROTATE):
            self.deliveries.append(Delivery(packet))
            return self._next("outcome", UNLOCK)
        if operation == UNLOCK_SESSION:
            # Vault, key epoch and tier key C.
            self.sessions.append(struct.unpack("<2x16sI32s", packet))
            return self._next("outcome", UNLOCK)
        if operation == DEVICE_SECRET:
            kind, vault, protector, public_key = struct.unpack("<2xB16s16s32s", packet)
            assert kind in (PRESENT, NEW) and (kind == NEW or vault == protector == bytes(16))
            self.wanted.append((kind, vault, protector))
            return self._secret(kind, public_key) if self.device_secret is None else self._next("device_secret", operation)
        if operation == DESTROY:
            assert packet[2:] in (b"\0", b"\1")
            self.destructions.append(packet[2] == 1)
            return self._next("destroy", DESTROY)
        if operation == NOTE_OTHER_PASSWORD:
            assert len(packet) == 2
            self.notes += 1
            return packet
        if operation == SLOW_PASSWORD:
            assert len(packet) == 6
            return bytes([VERSION, NOTE_OTHER_PASSWORD])
        if operation == START_EMPTY:
            (size,) = struct.unpack_from("<H", packet, 2)
            assert len(packet) == 4 + size
            self.put_aside.append(packet[4:].decode())
            return bytes([VERSION, START_EMPTY]) + text(self.put_aside[-1] + "-aside-20261122-030405")
        if operation == TOUCH:
            self.touching += struct.unpack("<2xQ", packet)
            return self._next("touch", TOUCH)
        if operation == DERIVATION:
            self.asked.append(struct.unpack("<2xQQ", packet)[0])
            return self._next("derivation", DERIVATION)
        if operation == PASSPHRASE:
            self.keys.append(struct.unpack("<2xQ32s", packet))
            return self._next("outcome", UNLOCK)
        assert len(packet) == 2
        return self._next({STATUS: "status", LOCK: "lock"}[operation], operation)

    def _secret(self, kind, public_key):
        if kind == NEW:
            self.wrapping = os.urandom(72)
            self.secrets[self.wrapping] = os.urandom(32)
        if self.wrapping is None:
            return declined("the vault has a password")
        box = sealed(self.secrets[self.wrapping], public_key)
        return bytes([VERSION, DEVICE_SECRET]) + self.IDENTITY + self.wrapping + box

    @staticmethod
    def _hello(packet):
        fields, at = [STAGES[packet[2]]], 3
        for _ in range(3):
            (size,) = struct.unpack_from("<H", packet, at)
            fields.append(packet[at + 2 : at + 2 + size].decode())
            at += 2 + size
        assert at == len(packet)
        return tuple(fields)

    def _next(self, name, operation):
        value = getattr(self, name)
        if isinstance(value, list):
            value = value.pop(0) if len(value) > 1 else value[0]
        return answer(operation, value, "so says the test") if isinstance(value, int) else value

