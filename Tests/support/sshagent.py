"""The ssh agent, and a client that speaks its protocol byte by byte."""

import base64
import contextlib
import pathlib
import socket
import struct

import pytest
from support.pace import seconds
from support.session import wait_until

FAILURE, SUCCESS, EXTENSION_FAILURE, EXTENSION_RESPONSE = 5, 6, 28, 29
IDENTITIES, SIGNATURE = 12, 14
RESTRICT = "restrict-destination-v00@openssh.com"


def string(value):
    """The value with its length in front."""
    value = value.encode() if isinstance(value, str) else value
    return struct.pack(">I", len(value)) + value


def strings(value):
    """The strings in a value."""
    found = []
    while value:
        size = struct.unpack(">I", value[:4])[0]
        found.append(value[4 : 4 + size])
        value = value[4 + size :]
    return found


class Agent:
    """A running agent of a session. A file has the answer to its questions. Without the file, the answer is no."""

    def __init__(self, session, asks_itself=False, providers=None):
        """`asks_itself` uses a real prompter instead of the file. `providers` are the libraries that may talk to
        security keys."""
        self.session = session
        self.folder = session.root / "agent"
        self.folder.mkdir()
        self.folder.chmod(0o777)
        self.path = self.folder / "socket"
        self.answer, self.questions, self.pin = self.folder / "answer", self.folder / "questions", self.folder / "said-pin"
        self.host_answer = self.folder / "answer-host"
        program = self.folder / "prompt"
        program.write_text(
            # The program writes once, because a notice and a question may come at the same time.
            f"#!/bin/sh\ntext=$(tr '\\0' '|')\nprintf '%s\\n' \"$text\" >>{self.questions}\n[ ! -e {self.pin} ] || cat {self.pin}\n"
            f"case $text in *'|host') exit $(cat {self.host_answer} || echo 1) ;; esac\nexit $(cat {self.answer} || echo 1)\n")
        program.chmod(0o755)
        libexec = session.stage / "usr/libexec/latchkey-ssh-agent"
        asking = [] if asks_itself else ["--prompt-program", program]
        self.process = session.start(libexec, "--socket", self.path, *asking, *(["-P", providers] if providers else []))
        session.environment["SSH_AUTH_SOCK"] = str(self.path)
        wait_until(lambda: self.path.exists() or self.process.poll() is not None, "the agent's socket")

    def close(self):
        self.process.terminate()
        self.process.wait(seconds(10))

    def will_say(self, yes, host=False):
        """Sets the person's answer from now on. `host` tells whether the person allows a host until the lock."""
        self.answer.write_text("0" if yes else "1")
        self.host_answer.write_text("0" if host else "1")

    def asked(self):
        """The questions so far."""
        return self.questions.read_text().splitlines() if self.questions.exists() else []

    def run(self, *command, **options):
        """Runs a command that finds the agent in its environment."""
        return self.session.run(*command, **options)

    def key(self, name="key", kind="ed25519", *options):
        """Makes a key file without a passphrase, and returns its path."""
        path = self.folder / name
        self.run("ssh-keygen", "-q", "-N", "", "-C", name, "-t", kind, "-f", path, *options, check=True)
        return path

    def listed(self):
        """The comments of the keys that the agent shows to a client on this machine."""
        with self.connect() as client:
            return [comment.decode() for _, comment in client.identities()]

    @contextlib.contextmanager
    def connect(self):
        client = Client(self.path)
        try:
            yield client
        finally:
            client.close()


class Client:
    """A connection to the agent."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(seconds(20))
        self.socket.connect(str(path))

    def close(self):
        self.socket.close()

    def send(self, message):
        self.socket.sendall(string(message))

    def receive(self):
        header = self._exactly(4)
        return self._exactly(struct.unpack(">I", header)[0])

    def _exactly(self, count):
        taken = b""
        while len(taken) < count:
            part = self.socket.recv(count - len(taken))
            if not part:
                raise ConnectionError("the agent hung up")
            taken += part
        return taken

    def ask(self, *parts):
        self.send(b"".join(bytes([part]) if isinstance(part, int) else part for part in parts))
        return self.receive()

    def identities(self):
        answer = self.ask(11)
        assert answer[0] == IDENTITIES, answer
        parts = strings(answer[5:])
        return list(zip(parts[::2], parts[1::2], strict=True))

    def sign(self, blob, data, flags=0):
        """The signature, or None."""
        answer = self.ask(13, string(blob), string(data), struct.pack(">I", flags))
        return strings(answer[1:])[0] if answer[0] == SIGNATURE else None

    def extend(self, name, *fields):
        return self.ask(27, string(name), *fields)

    def bind(self, host, session, forwarding):
        """Binds the connection to a session of a host. Returns whether the agent accepted."""
        fields = string(host.blob), string(session), string(host.sign(session)), bytes([forwarding])
        return self.extend("session-bind@openssh.com", *fields)[0] == SUCCESS


class Host:
    """A host with an Ed25519 key."""

    def __init__(self):
        from cryptography.hazmat.primitives.asymmetric import ed25519
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        self._key = ed25519.Ed25519PrivateKey.generate()
        raw = self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.blob = string("ssh-ed25519") + string(raw)

    def sign(self, data):
        return string("ssh-ed25519") + string(self._key.sign(data))


def login(blob, session, user="anna", host=None):
    """The data that ssh signs for a login. With `host`, the login names the host's key."""
    kind = blob[4 : 4 + struct.unpack(">I", blob[:4])[0]]
    method, end = ("publickey-hostbound-v00@openssh.com", string(host.blob)) if host else ("publickey", b"")
    return (
        string(session) + bytes([50]) + string(user) + string("ssh-connection") + string(method) + b"\1" + string(kind)
        + string(blob) + end
    )


def public_blob(path):
    """The blob of a public key file."""
    return base64.b64decode(pathlib.Path(f"{path}.pub").read_text().split()[1])


def hop(user, host, *hosts):
    return string(string(user) + string(host) + string("") + b"".join(string(one.blob) + b"\0" for one in hosts))


def destination(to_name, to, user="", from_name="", origin=()):
    """One constraint of a key's destination."""
    return string(hop("", from_name, *origin) + hop(user, to_name, to) + string(""))


def private_fields(path):
    """The fields of a key file, in the form for adding it to an agent."""
    text = pathlib.Path(path).read_text().splitlines()[1:-1]
    raw = base64.b64decode("".join(text))
    rest = raw[len(b"openssh-key-v1\0") :]
    for _ in range(3):
        rest = rest[4 + struct.unpack(">I", rest[:4])[0] :]
    rest = rest[4:]
    rest = rest[4 + struct.unpack(">I", rest[:4])[0] :]
    # Skips a number that the file has twice. The padding counts from 1.
    fields = rest[4:][8:]
    padding = next((size for size in range(7, 0, -1) if fields.endswith(bytes(range(1, size + 1)))), 0)
    return fields[: len(fields) - padding]


def strings_until(value):
    """The strings of a value, up to the first other data."""
    found = []
    while len(value) >= 4 and value[0] == 0:
        size = struct.unpack(">I", value[:4])[0]
        found.append(value[4 : 4 + size])
        value = value[4 + size :]
    return found


@pytest.fixture
def agent(unlocked):
    opened = Agent(unlocked)
    yield opened
    opened.close()
