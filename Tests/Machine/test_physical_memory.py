"""What is left in all of a machine's physical memory: kernel, daemon, helper, login program, everything.

Nothing of tier A after a lock or in a sleeping machine, nothing of tier C after the logout, and never what nobody keeps. Of the
memory that Argon2id worked in there is nothing at any time; as the control, that is looked for with the erasing taken out.
Nor is there any packet with the password, from the module to the helper. Other copies of the password are only counted: they are
the terminal's, login's and libpam's.
"""

import re
import secrets

import pytest
from agreement import Agreement
from conftest import running
from qemu import eventually
from sight import INSIDE, UID, Known, Sight, add_items, assert_nothing, lock, log_in, unlock


# How often more the vault is unlocked and locked: what is left by chance is not left each time.
ROUNDS = 3


@pytest.fixture(scope="module")
def password():
    return "Password-" + secrets.token_hex(12)


@pytest.fixture(scope="module")
def machine(password):
    """A machine with a vault that has items, booted anew: nobody in it has had a key or a secret yet."""
    with running() as machine:
        machine.root.run(f"echo alice:{password} | chpasswd && systemctl start latchkey-deviced.service")
        console = machine.console
        log_in(console, password)
        add_items(console)
        console.logout()
        machine.power_off()
        machine.boot()
        # The first that asks it is not to wait for its start.
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
    # A client that reads every secret and never has one.
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

    # The password is being checked, or the vault being opened, and the device key service does not answer: no sleep waits for it.
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
    # The machine sleeps here as well, which it does once for each boot.
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
