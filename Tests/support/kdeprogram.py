"""KDE's programs in a session: kwallet-query, and a test program on KDE's own wallet library. The session may also be
one with the programs of another Debian release (support.kderoot.Inside).
"""

import os
import subprocess

from support.kwallet import FOLDER, KDEWALLET
from support.pace import seconds
from support.session import REPOSITORY

SOURCE = REPOSITORY / "Tests/Integration/KWallet/Shims/kwalletprogram.cpp"
SCREENLESS = {"QT_QPA_PLATFORM": "offscreen"}
WIDE = "\u00e4/\u6f22 \U0001f511"
NAMES = ["plain", "with blanks ", "a/b//c", WIDE, "caf\u00e9", "cafe\u0301", "'\"<&>%$`\\", "x" * 500]


class Program:
    """A running KDE program that obeys commands."""

    def __init__(self, session, binary, name="program"):
        self.process = session.start(
            binary, name, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=session.environment | SCREENLESS)

    def begin(self, command, *words):
        coded = [(word if isinstance(word, bytes) else word.encode()).hex() for word in words]
        self.process.stdin.write(" ".join([command, *coded]) + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().rstrip("\n")

    def __call__(self, command, *words):
        self.begin(command, *words)
        return self.answer()

    def texts(self, command, *words):
        return [bytes.fromhex(word).decode() for word in self(command, *words).split()]

    def value(self, command, *words):
        """The answer to a reading command: its number and its values."""
        number, *rest = self(command, *words).split()
        return int(number), [b"" if word == "-" else bytes.fromhex(word) for word in rest]

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(seconds(20)) == 0


def use_everything(app, way):
    """Opens a wallet in this way, and uses all operations.

    Returns the number of remaining entries."""
    assert app.texts("local") == [KDEWALLET, KDEWALLET] and KDEWALLET in app.texts("wallets")
    assert app(way, KDEWALLET) == "1" and app("folder", WIDE) == "1" and WIDE in app.texts("folders")
    for name in NAMES:
        assert app("write-password", name, f"secret of {name}") == "0"
        assert app.value("read-password", name) == (0, [f"secret of {name}".encode()])
    assert sorted(app.texts("entries")) == sorted(NAMES)
    large = os.urandom(1 << 20)
    assert app("write-entry", "large", large) == "0" and app.value("read-entry", "large") == (0, [large])
    pairs = ["", "empty", "a", "1", WIDE, WIDE]
    assert app("write-map", "map", *pairs) == "0" and app("type", "map") == "3"
    assert sorted(app.value("read-map", "map")[1]) == sorted(word.encode() for word in pairs)
    assert app("rename", "plain", "other") == "0" and app("rename", "none", "x") == "-1" and app("remove", "other") == "0"
    return len(NAMES) - 1 + 2


def query(session, *options, input="", environment=None):
    """Runs kwallet-query with a time limit."""
    return session.run("kwallet-query", *options, input=input, timeout=30, env=(environment or session.environment) | SCREENLESS)


def fill(client):
    """Stores the entries that `asked` reads."""
    for name in NAMES:
        assert client.write(name, f"secret of {name}", FOLDER) == 0
    assert client.write("map", {"key": "value", WIDE: WIDE}, FOLDER) == 0


def asked(session, environment=None):
    """kwallet-query's answers to all questions: status and text, with sorted lists."""
    told = {}
    for name, options in {
        "entries": ["-l", KDEWALLET], "no folder": ["-l", "-f", "none", KDEWALLET], "no wallet": ["-l", "none"],
        "password": ["-r", WIDE, KDEWALLET], "map": ["-r", "map", KDEWALLET], "no entry": ["-r", "none", KDEWALLET],
    }.items():  # fmt: skip
        done = query(session, *options, environment=environment)
        told[name] = done.returncode, sorted(done.stdout.splitlines())
    done = query(session, "-w", "plain", KDEWALLET, input="new\nlines\n", environment=environment)
    told["write"] = done.returncode, query(session, "-r", "plain", KDEWALLET, environment=environment).stdout
    return told
