"""The control socket from a client's side, byte by byte: packets, and a single connection."""

import contextlib
import select
import socket
import struct
import time

from support.helper import now
from support.pace import seconds
from support.peer import acting_as
from support.sealing import seal
from support.wire import MESSAGES, codes, constant, raw_values

VERSION, OTHER_VERSION, GIVE_WAY, SIZE_LIMIT = map(constant, ("version", "otherVersion", "giveWay", "sizeLimit"))
HELLO, STATUS, LOCK = MESSAGES["Hello"], MESSAGES["GetStatus"], MESSAGES["LockVault"]
UNLOCK, ROTATE, UNLOCK_SESSION = MESSAGES["UnlockWithTiers"], MESSAGES["Rotate"], MESSAGES["SessionDelivery"]
PASSPHRASE, ONE_TIME_KEY = MESSAGES["PassphraseKey"], MESSAGES["MakeOneTimeKey"]
NOTED, SLOW_PASSWORD, MAY_DERIVE = (
    MESSAGES[name] for name in ("NoteOtherPassword", "NoteSlowPassword", "CheckMayDerive"))
STAGE, NEED, OUTCOME = raw_values("Stage"), codes("Need"), codes("UnlockOutcome")
AUTHENTICATE, OPEN_SESSION, CLOSE_SESSION = STAGE["authenticate"], STAGE["openSession"], STAGE["closeSession"]
NOTHING, KEYS, REFUSED, LATE = NEED["nothing"], NEED["keys"], NEED["refused"], NEED["late"]
LIVE, STAGED, WRONG_KEYS, NOT_NOW, UNUSABLE = (
    OUTCOME[name] for name in ("live", "staged", "wrongKeys", "refused", "unusable"))
# The daemon's own time limit, the delay that a slow machine may add, and the time for immediate answers.
SILENCE = 10.0
SLACK, SOON = 1.5, 0.7


def packet(operation, fields=b"", version=VERSION):
    return bytes([version, operation]) + fields


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<H", len(value)) + value


def hello(stage=AUTHENTICATE, service="login", tty="tty1", host="", prompt=0, given=None):
    """`given` is the moment of the password. The default is now."""
    moment = now() if given is None else given
    return packet(HELLO, bytes([stage]) + text(service) + text(tty) + text(host) + struct.pack("<QQ", prompt, moment))


def keys(vault=b"v" * 16, generation=1, flags=0, tiers=b"k" * 64):
    """A packet with keys, before it is sealed."""
    return packet(UNLOCK, vault + struct.pack("<QB", generation, flags) + tiers)


class Control:
    """One connection of the session's user, or of root if the tests run as root and `user` is false."""

    def __init__(self, session, user=True):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Waits if the daemon's queue of connections is full.
        with acting_as(session) if user else contextlib.nullcontext():
            self.socket.connect(str(session.runtime / "latchkey/control"))
        self.socket.settimeout(SILENCE + seconds(SLACK))

    def send(self, data):
        self.socket.send(data)

    def receive(self):
        """The next packet. The result is empty after the daemon has ended the connection."""
        try:
            return self.socket.recv(SIZE_LIMIT)
        except ConnectionResetError:
            return b""

    def ask(self, data):
        try:
            self.send(data)
        except BrokenPipeError:
            return b""
        return self.receive()

    def one_time_key(self):
        """The public key to which the next packet must be sealed."""
        answer = self.ask(packet(ONE_TIME_KEY))
        assert answer[:2] == packet(ONE_TIME_KEY) and len(answer) == 34
        return answer[2:]

    def deliver(self, data):
        """Sends a packet with keys, sealed as a helper seals it."""
        self.send(seal(data, self.one_time_key()))

    def ask_sealed(self, data):
        """Sends a packet with keys, sealed as a helper seals it, and returns the answer. The answer is empty if the
        daemon ended the connection."""
        answer = self.ask(packet(ONE_TIME_KEY))
        return self.ask(seal(data, answer[2:])) if answer[:2] == packet(ONE_TIME_KEY) else b""

    def is_over(self):
        """Whether the daemon has ended the connection, or does so soon."""
        return bool(select.select([self.socket], [], [], seconds(SOON))[0]) and self.receive() == b""

    def close(self):
        self.socket.close()


def status_works(session):
    """Checks that the daemon serves a new client at once."""
    began = time.monotonic()
    other = Control(session)
    answer = other.ask(packet(STATUS))
    other.close()
    return answer[:2] == packet(STATUS) and time.monotonic() - began < seconds(SOON)
