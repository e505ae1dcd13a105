"""The secrets that stay in a machine's physical memory: in the kernel, the daemon, the helper, the login program,
anywhere.

After a lock and in a sleeping machine, no key of tier A is left. After the logout, no key of tier C is left. Keys that
no program keeps never appear. No block of Argon2id's memory appears at any time. The control takes the erasure out, and
finds blocks. No packet from the module to the helper with the password appears. The test only counts other copies of
the password, which belong to the terminal, login and libpam.
"""

import re

import pytest
from agreement import Agreement
from conftest import running
from qemu import eventually
from sight import INSIDE, UID, Known, Sight, add_items, assert_nothing, lock, log_in, unlock

# Further unlocks and locks. A trace that is left by chance does not appear each time.
ROUNDS = 3


@pytest.fixture(scope="module")
def machine(password):
    """A machine with a vault that has items, after a new boot. So no process has had a key or a secret yet."""
    with running() as machine:
        machine.root.run(f"echo alice:{password} | chpasswd && systemctl start latchkey-deviced.service")
        console = machine.console
        log_in(console, password)
        add_items(console)
        console.logout()
        machine.power_off()
        machine.boot()
        # The service starts now, so that its first client does not have to wait.
        machine.root.run("systemctl start latchkey-deviced.service")
        yield machine


def log_out(machine):
    machine.console.logout()
    gone = lambda: machine.root.run(f"pgrep -u {UID}", check=False).returncode != 0
    eventually(gone, what="the end of all that alice runs")


@pytest.fixture(scope="module")
def known(machine, password, tmp_path_factory):
    log_in(machine.console, password)
    known = Known(machine, tmp_path_factory.mktemp("vault"), password)
    assert known.derived
    return known


def test_what_is_left_in_physical_memory(machine, known, password):
    console, agreement = machine.console, Agreement()
    # This client reads every secret, but never has one in clear text.
    client = f"{INSIDE}/quietclient {agreement.public}"
    console.run(f"mkfifo /tmp/more && ({client} </tmp/more >/tmp/read 2>&1 &) && exec 3>/tmp/more")
    eventually(lambda: "read 2" in console.run("cat /tmp/read").stdout, what="the client's reading")
    public = re.search(r"public ([0-9a-f]+)", console.run("cat /tmp/read").stdout)[1]
    for name, value in agreement.keys(public).items():
        known.add(name, value, "session")

    sight = Sight(machine, known, "unlocked")
    assert sight.missing("A") == set() and sight.missing("C") == set()
    assert_nothing(sight, "never")

    lock(machine)
    for moment in ("locked", "60 s later"):
        sight = Sight(machine, known, moment)
        assert_nothing(sight, "A", "never")
        assert sight.missing("C") == set()
        machine.root.run("sleep 60")

    for number in range(ROUNDS):
        unlock(console, password)
        sight = Sight(machine, known, f"unlocked again, {number}")
        assert_nothing(sight, "never")
        assert sight.missing("A") == set()
        lock(machine)
        assert_nothing(Sight(machine, known, f"locked again, {number}"), "A", "never")

    # The daemon checks the password or opens the vault, while the device key service does not answer. Sleep must not
    # wait for the service.
    machine.root.run("systemctl kill --signal=STOP latchkey-deviced.service")
    console.run("systemctl --user restart latchkeyd.service")
    console.start("latchkey unlock")
    console.answer("assword.*: ", password)
    machine.suspend()
    assert_nothing(Sight(machine, known, "asleep"), "A", "never")
    machine.wake()
    machine.root.run("systemctl kill --signal=CONT latchkey-deviced.service")

    log_out(machine)
    assert_nothing(Sight(machine, known, "logged out"), "A", "C", "never", "session")
    machine.root.run("sleep 60")
    assert_nothing(Sight(machine, known, "60 s later"), "A", "C", "never", "session")


def test_memory_that_is_not_erased_is_found(machine, known, password):
    # A machine can sleep only once for each boot, and this test needs sleep too. So the machine boots again.
    machine.power_off()
    machine.boot()
    machine.root.run("systemctl start latchkey-deviced.service")
    machine.root.run(f"{INSIDE}/unerased.py /usr/libexec/latchkey-derive")
    log_in(machine.console, password)
    assert Sight(machine, known, "not erased, unlocked").blocks > 0
    lock(machine)
    assert Sight(machine, known, "not erased, locked").blocks > 0
    machine.suspend()
    assert Sight(machine, known, "not erased, asleep").blocks > 0
    machine.wake()
    log_out(machine)
    machine.root.run("sleep 60")
    assert Sight(machine, known, "not erased, 60 s after the logout").blocks > 0
