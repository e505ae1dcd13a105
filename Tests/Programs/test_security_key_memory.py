"""No PIN and no answer of a security key stays in the memory of the program that asks for them, however the program ends. Needs
root."""

import hashlib
import pathlib
import secrets
import signal
import threading

import pytest
from support.authenticator import Authenticator, mac, sha256
from support.derive import PASSWORD, as_root
from support.ending import end
from support.pace import Limit, seconds
from test_command import DONE, LOCKED, person  # noqa: F401
from test_security_key import BESIDE, add, holder, library, status  # noqa: F401

pytestmark = [as_root, pytest.mark.night("login")]
# The signal changes nothing, so the program goes on after the touch.
OWN_END = signal.SIGCONT
CONTROL = b"latchkey-security-key is started by"


def running(program):
    """The number of the process that runs `program`, once there is one."""
    limit = Limit(10)
    while True:
        for entry in pathlib.Path("/proc").glob("[0-9]*/exe"):
            try:
                if entry.readlink() == program:
                    return int(entry.parent.name)
            except OSError:
                pass
        assert not limit.is_over, "the program does not run"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGSEGV, OWN_END],
                         ids=lambda number: signal.Signals(number).name)
def test_nothing_stays_behind(holder, programs, number):  # noqa: F811
    pin = secrets.token_hex(24)
    key = Authenticator(pin)
    holder.connect(key)
    assert add(holder, "--name", "blue", typed=f"{PASSWORD}\n{pin}\n").returncode == DONE
    holder.is_now(state=LOCKED, protectors=BESIDE)
    waits, goes_on = threading.Event(), threading.Event()
    key.touches = lambda: (waits.set(), goes_on.wait(seconds(30)))
    (credential,) = key.credentials.values()
    vault = bytes.fromhex(credential["party"].partition(":")[2])
    answer = mac(credential["random"][True], hashlib.blake2b(b"latchkey/1/security-key-salt" + vault, digest_size=32).digest())
    needles = {"pin": pin.encode(), "hash": sha256(pin.encode())[:16], "answer": answer, "control": CONTROL}
    asking = threading.Thread(
        target=holder.run, args=("unlock", "--security-key", "--stdin", *holder.options), kwargs={"input": pin + "\n"})
    asking.start()
    try:
        assert waits.wait(seconds(20))
        process = running(programs / "latchkey-security-key")
        before, after, _ = end(process, number, needles, goes_on.set if number == OWN_END else lambda: None)
        # The control: the PIN was in memory while the key waited.
        assert {"pin", "control"} <= set(before)
        assert "control" in after and not set(after) & {"pin", "hash", "answer"}, after
    finally:
        goes_on.set()
        asking.join()
