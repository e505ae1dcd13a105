"""A login without a password brings only tier key C. latchkeyd must use a genuine key, and reject any other key."""

import contextlib
import secrets
import struct

import pytest
from support.clients import CLASS, CLASSES
from support.control import (
    AUTHENTICATE,
    CLOSE_SESSION,
    LIVE,
    NOT_NOW,
    OPEN_SESSION,
    UNLOCK,
    UNUSABLE,
    WRONG_KEYS,
    Control,
    hello,
    packet,
)  # fmt: skip
from support.peer import Failure, Peer
from support.session import wait_until
from support.vaultreader import Keybag, blake2b, kdf

UNLOCK_SESSION = 30
LOCKED = "org.freedesktop.Secret.Error.IsLocked"
OPENED = [name for name in CLASSES if not name.startswith("when-")]
ALWAYS = [name for name in CLASSES if name.startswith("always")]


class Keys:
    """The keys of a session's vault."""

    def __init__(self, session):
        self.keybag = Keybag((session.vault / "keybag").read_bytes(), session.password)
        self.epoch = max(epoch for epoch, _ in self.keybag.tiers)
        self.key = self.keybag.tiers[self.epoch, "C"]

    def packet(self, **other):
        given = {"key": self.key, "epoch": self.epoch, "vault": self.keybag.id, **other}
        return packet(UNLOCK_SESSION, given["vault"] + struct.pack("<I", given["epoch"]) + given["key"])


def admit(session, epoch):
    """Adds a session's protector for this key epoch to the keybag, as the vault's owner would. No device key ever
    protected the protector's secret."""
    content = (session.vault / "keybag").read_bytes()
    (root,) = (key.value for key in Keybag(content, session.password).keys if key.kind == "root")
    end = 45
    for _ in range(content[44]):
        end += 96 + int.from_bytes(content[end + 94 : end + 96], "little")
    protector = bytes([3, 1]) + secrets.token_bytes(16) + bytes(16) + secrets.token_bytes(16) + bytes(12)
    protector += secrets.token_bytes(32) + struct.pack("<H72sI72s", 148, secrets.token_bytes(72), epoch, secrets.token_bytes(72))
    generation = struct.pack("<Q", int.from_bytes(content[28:36], "little") + 1)
    body = content[:28] + generation + content[36:44] + bytes([content[44] + 1]) + content[45:end] + protector + content[end:-64]
    signed = body + kdf(root, "keybag-tag", body)
    (session.vault / "keybag").write_bytes(signed + blake2b(signed))


def bring(session, data, *greeting):
    """Sends the packet after a hello, and returns the outcome. The outcome is None if the daemon ended the connection.
    `greeting` may replace or omit the hello."""
    control = Control(session)
    try:
        (first,) = greeting or (hello(stage=OPEN_SESSION, service="autologin"),)
        if first:
            control.ask(first)
        answer = control.ask_sealed(data)
        assert answer == b"" or answer[:2] == packet(UNLOCK)
        return answer[2] if answer else None
    finally:
        control.close()


def readable(session):
    """The classes whose items are readable without a prompt."""
    session.status()  # waits until the daemon has talked to the service
    with contextlib.closing(Peer(session)) as peer:
        found = {name: sum(peer.search({"class": name}), []) for name in CLASSES}
        assert all(len(items) == 1 for items in found.values())
        open_ones = []
        for name, (item,) in found.items():
            try:
                assert peer.read(item) == f"of {name}".encode()
                open_ones.append(name)
            except Failure as failure:
                assert failure.name == LOCKED
        return open_ones


def state(session):
    status = session.status()
    return status["state"], status["opened_without_password"]


@pytest.fixture
def sealed(session):
    """A sealed vault with an item of each class, and its keys."""
    assert session.login().returncode == 0
    for name in CLASSES:
        session.store(f"of {name}", "class", name, CLASS, name)
    admit(session, 1)
    keys = Keys(session)
    session.restart()
    assert state(session) == ("sealed", False)
    return session, keys


def test_without_a_protector_for_it_nobody_is_believed(session):
    """By default, a login without a password unlocks nothing, even with the right key."""
    assert session.login().returncode == 0
    session.restart()
    cursor = len(session.log())
    assert bring(session, Keys(session).packet()) == WRONG_KEYS
    assert state(session) == ("sealed", False)
    assert "the session key from autologin belongs to another keybag" in session.log()[cursor:]
    # A session key of another key epoch unlocks nothing either.
    admit(session, 2)
    assert bring(session, Keys(session).packet()) == WRONG_KEYS
    assert state(session) == ("sealed", False)


def test_it_is_of_the_keybag_that_is_there(sealed):
    session, keys = sealed
    assert bring(session, keys.packet(vault=bytes(16))) == WRONG_KEYS
    assert bring(session, keys.packet()) == LIVE


def test_it_opens_what_is_readable_behind_the_locked_screen(sealed):
    session, keys = sealed
    assert bring(session, keys.packet()) == LIVE
    assert state(session) == ("locked", True) and session.status()["first_unlocked"]
    assert readable(session) == OPENED
    # A second session key changes nothing.
    assert bring(session, keys.packet()) == NOT_NOW
    # The password unlocks the rest, so another session key is useless.
    assert session.login().returncode == 0
    assert state(session) == ("unlocked", False) and readable(session) == CLASSES
    assert bring(session, keys.packet()) == NOT_NOW
    assert state(session) == ("unlocked", False) and readable(session) == CLASSES
    session.lock()
    assert bring(session, keys.packet()) == NOT_NOW
    assert state(session) == ("locked", False) and readable(session) == OPENED
    # Each of those five logins began a session.
    for _ in range(5):
        assert session.logout().returncode == 0
    wait_until(lambda: state(session) == ("sealed", False), "the end of all sessions")
    assert readable(session) == ALWAYS


def test_only_after_a_login_of_a_session(sealed):
    session, keys = sealed
    for greeting in (
        hello(stage=AUTHENTICATE, service="autologin"), hello(stage=CLOSE_SESSION), hello(stage=OPEN_SESSION, service="su"),
        hello(stage=OPEN_SESSION, service="sudo"), hello(stage=OPEN_SESSION, service="cron"),
        hello(stage=OPEN_SESSION, service="systemd-user"),
    ):
        assert bring(session, keys.packet(), greeting) == NOT_NOW
    assert bring(session, keys.packet(), None) is None
    assert state(session) == ("sealed", False) and readable(session) == ALWAYS


def test_other_keys_open_nothing(sealed):
    session, keys = sealed
    tiers = keys.keybag.tiers
    for other in (
        {"key": secrets.token_bytes(32)}, {"key": tiers[keys.epoch, "A"]}, {"epoch": keys.epoch + 1}, {"epoch": 0},
        {"key": bytes(byte ^ 1 for byte in keys.key)},
    ):
        assert bring(session, keys.packet(**other)) == WRONG_KEYS, other
    for size in (0, 59, 61, 92):
        assert bring(session, packet(UNLOCK_SESSION, bytes(size))) is None
    assert state(session) == ("sealed", False) and readable(session) == ALWAYS
    assert bring(session, keys.packet()) == LIVE


def test_a_keybag_that_calls_another_key_its_own_opens_no_database(sealed):
    """An attacker who can write into the folder can correct commitment and check sum. The tag needs the password, which
    the attacker does not have."""
    session, keys = sealed
    mine = secrets.token_bytes(32)
    content = (session.vault / "keybag").read_bytes()[:-32]
    content = content[:-64] + kdf(mine, "tier-commitment", keys.keybag.id) + content[-32:]
    session.stop_daemon()
    (session.vault / "keybag").write_bytes(content + blake2b(content))
    session.start_daemon()
    assert bring(session, keys.packet(key=mine)) == UNUSABLE
    assert bring(session, keys.packet()) == WRONG_KEYS
    assert state(session) == ("sealed", False) and readable(session) == ALWAYS
    # The login with the password reports the problem.
    session.login()
    assert state(session)[0] == "sealed"


def test_no_database_is_made_by_it(session):
    assert session.login().returncode == 0
    admit(session, 1)
    keys = Keys(session)
    session.stop_daemon()
    for file in session.vault.glob("vault.db*"):
        file.unlink()
    session.start_daemon()
    assert bring(session, keys.packet()) == UNUSABLE
    assert not (session.vault / "vault.db").exists()
    assert session.status()["state"] == "sealed"


def test_behind_a_locker_it_lifts_nothing(sealed):
    session, keys = sealed
    peer = Peer(session)
    peer.activate_screen_saver(True)
    wait_until(lambda: session.status()["locker_up"], "the locker")
    assert bring(session, keys.packet()) == LIVE
    assert state(session) == ("locked", True) and readable(session) == OPENED
    peer.activate_screen_saver(False)
    wait_until(lambda: not session.status()["locker_up"], "the locker's end")
    assert state(session) == ("locked", True) and readable(session) == OPENED
    peer.close()


def test_with_new_keys_it_is_the_newest(sealed):
    session, old = sealed
    assert session.login().returncode == 0
    done = session.run("latchkey", "rotate", "--stdin", input=session.password + "\n")
    assert done.returncode == 0, done.stderr
    keys = Keys(session)
    assert keys.epoch == 2 and len(keys.keybag.tiers) == 2
    admit(session, 2)
    keys = Keys(session)
    session.restart()
    assert bring(session, old.packet()) == WRONG_KEYS
    assert bring(session, keys.packet(epoch=1)) == WRONG_KEYS
    assert bring(session, keys.packet()) == LIVE
    assert readable(session) == OPENED
