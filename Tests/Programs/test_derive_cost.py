"""latchkey-derive: the cost of trying a new password, and the message about a cost that is too high for this machine."""

import struct
import time

import pytest
from support import creation
from support.derive import AUTHENTICATE, CHANGE_PASSWORD, CREATED, OPEN, PASSWORD, ROTATE, UNLOCKED
from support.standin import SLOW_PASSWORD

# The position of the first protector's passes: after its kind, state, id, two times and salt.
PASSES = 45 + 1 + 1 + 16 + 8 + 8 + 16


def cost(keybag):
    """The passes and the memory of the first protector."""
    return struct.unpack_from("<IQ", keybag, PASSES)


def fits(keybag):
    passes, memory = cost(keybag)
    return passes == 3 and 64 << 20 <= memory <= 128 << 20


def test_a_new_password_costs_what_fits_this_machine(login):
    login.daemon()
    assert login.run(OPEN) == CREATED
    assert fits(login.keybag.read_bytes())


@pytest.mark.parametrize("operation, fields", [
    (ROTATE, {}), (CHANGE_PASSWORD, {"token": PASSWORD + "x", "password": PASSWORD}),
])  # fmt: skip
def test_the_cost_of_the_former_one_is_not_kept(resident, new_keybag, operation, fields):
    resident.daemon()
    assert cost(new_keybag) == (3, 32 << 20)
    assert resident.run(operation, **fields) == UNLOCKED
    assert fits(resident.keybag.read_bytes())


@pytest.mark.night("login")
def test_a_password_that_takes_too_long_here_is_noted(login):
    if available_memory() < 4 << 30:
        pytest.skip("it takes more memory than there is")
    daemon = login.daemon()
    begun = time.thread_time()
    login.created_before(creation.keybag(PASSWORD, passes=10, memory=768 << 20))
    # The helper's libsodium takes about two thirds of Python's time.
    if time.thread_time() - begun < 4:
        pytest.skip("this machine is fast enough for that")
    assert login.run(AUTHENTICATE) == UNLOCKED
    ((milliseconds,),) = [struct.unpack("<2xI", packet) for packet in daemon.packets if packet[1] == SLOW_PASSWORD]
    assert milliseconds > 2000


def available_memory():
    lines = dict(line.split(":") for line in open("/proc/meminfo").read().splitlines())
    return int(lines["MemAvailable"].split()[0]) << 10
