"""The daemon's memory after the keys are erased has neither secrets nor the password."""

import secrets
import subprocess
import sys

import pytest
from support.machine import eventually
from support.memory import scan


def test_scan_finds_what_is_there():
    # The needle is also inside a run longer than one chunk, and across the border of two chunks.
    program = "import sys; kept = b'.' * (4 << 20) + bytes.fromhex(sys.stdin.readline()) * 5; print(flush=True); input()"
    needle = secrets.token_bytes(48)
    holder = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    holder.stdin.write(needle.hex() + "\n")
    holder.stdin.flush()
    holder.stdout.readline()
    try:
        found = scan(holder.pid, {"there": needle, "not there": secrets.token_bytes(48)})
    except PermissionError:
        pytest.skip("reading another process's memory needs root")
    finally:
        holder.stdin.close()
        holder.kill()
        holder.wait()
    assert len({place.address - place.offset for place in found["there"]}) >= 5
    assert "not there" not in found


class Needles:
    """Secrets so long that they are in no other memory by chance, and a control in the daemon's environment."""

    def __init__(self, alice):
        self.alice = alice
        self.bytes = {
            "control": f"XDG_RUNTIME_DIR=/run/user/{alice.uid}".encode(),
            "password": alice.password.encode(),
        }

    def new(self, name):
        self.bytes[name] = secrets.token_hex(24).encode()
        return self.bytes[name].decode()

    def found(self):
        """The names of the needles in the daemon's memory. The control must be among them, or the scan proves nothing."""
        found = set(scan(self.alice.daemon(), self.bytes))
        assert "control" in found
        return found - {"control"}


@pytest.fixture
def needles(alice):
    alice.set_password("Password-" + secrets.token_hex(12))
    return Needles(alice)


def test_lock_leaves_nothing_of_what_it_locks(alice, needles):
    with alice.login() as session:
        session.store(needles.new("default"), app="default")
        assert session.lookup(app="default") == needles.bytes["default"].decode()
        # The sizes go from a few pages to many, so that buffers grow, move and are freed.
        for size in (4 << 10, 256 << 10, 16 << 20):
            needle = needles.new(f"of {size} bytes")
            big = alice.machine.path(f"/tmp/big-{size}")
            big.write_text(needle * (size // len(needle)))
            big.chmod(0o644)
            session.run(f"/usr/local/lib/latchkey-test/items store app=big size={size} </tmp/big-{size}")
            big.unlink()
            assert needle in session.run(f"secret-tool lookup app big size {size} | head -c 100").stdout
        assert "password" not in needles.found()
        session.run("loginctl lock-session")
        eventually(lambda: session.status()["state"] == "locked", what="the lock")
        assert needles.found() == set()


def test_replaced_and_deleted_secrets_are_gone(alice, needles):
    with alice.login() as session:
        session.store(needles.new("replaced"), app="one")
        session.store(needles.new("deleted"), app="one")
        session.run("secret-tool clear app one")
        session.run("loginctl lock-session")
        eventually(lambda: session.status()["state"] == "locked", what="the lock")
        assert needles.found() == set()


def test_logout_leaves_nothing(alice, needles):
    alice.linger()
    with alice.login() as session:
        session.store(needles.new("default"), app="default")
        session.store(needles.new("first"), accessible="after-first-unlock", app="first")
        assert session.lookup(app="default") == needles.bytes["default"].decode()
        assert session.lookup(app="first") == needles.bytes["first"].decode()
    eventually(lambda: alice.status()["state"] == "sealed", what="the seal")
    assert needles.found() == set()


def test_a_refused_password_is_not_kept(alice, needles):
    with alice.login() as session:
        session.run("loginctl lock-session")
        wrong = needles.new("wrong password")
        assert not session.authenticate(wrong)
        assert session.authenticate(alice.password)
        eventually(lambda: session.status()["state"] == "unlocked", what="the unlock")
        assert needles.found() == set()
