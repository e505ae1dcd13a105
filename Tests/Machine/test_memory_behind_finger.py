"""The memory of a locked machine whose vault a finger would open.

Only the key K opens the tier keys that latchkeyd has behind the lock. K is in the machine's TPM, and no program's and no kernel's
memory has it. latchkeyd chooses K by chance, so a library in latchkeyd writes down a masked copy for the search.

The controls: the same search finds K when it is in a program's memory, and finds a tier key that a program keeps.
"""

import pytest
from conftest import running
from qemu import eventually
from sight import (
    INSIDE,
    Known,
    Sight,
    add_finger,
    add_items,
    assert_nothing,
    await_finger,
    last_covering_key,
    lock,
    log_in_and_unlock,
    record_covering_keys,
    status,
    unlock,
)  # fmt: skip

# Each unlock by the password makes a new K, and takes another way through the kernel's memory.
ROUNDS = 4


@pytest.fixture(scope="module")
def machine(password):
    with running(has_tpm=True) as machine:
        # The search opens the vault's files with the device's secret, so the TPM must not have that secret.
        machine.root.run(f"echo alice:{password} | chpasswd && latchkey device move host")
        record_covering_keys(machine)
        log_in_and_unlock(machine.console, password)
        add_items(machine.console)
        lock(machine)
        yield machine


@pytest.fixture(scope="module")
def known(machine, password, tmp_path_factory):
    return Known(machine, tmp_path_factory.mktemp("vault"), password, typed=True)


def know_covering_key(machine, known, number):
    """Has the search look for K of the last unlock, and for the private key that must be in memory as long as K counts."""
    key, private = last_covering_key(machine)
    known.add(f"K {number}", key, "K")
    known.add(f"private key {number}", private, "kept")


def search(machine, known, moment, number):
    """Searches the memory of the locked machine. The private key shows that the search knows the right pair."""
    sight = Sight(machine, known, moment)
    assert sight.named(f"private key {number}"), "the recorded keys are not those of the last unlock"
    return sight


def test_neither_k_nor_a_is_in_memory_with_a_tpm(machine, known, password):
    add_finger(machine, password, "in-tpm")
    for number in range(ROUNDS):
        know_covering_key(machine, known, number)
        unlocked = search(machine, known, f"unlocked, {number}", number)
        assert unlocked.missing("A") == set()
        assert_nothing(unlocked, "never", "K")
        lock(machine)
        assert_nothing(search(machine, known, f"locked, {number}", number), "A", "never", "K")
        if number < ROUNDS - 1:
            unlock(machine.console, password)
            await_finger(machine, "in-tpm")
    # The TPM keeps K over the sleep (Shutdown(STATE), Startup(STATE)), and memory still has none.
    machine.suspend()
    assert_nothing(search(machine, known, "asleep", number), "A", "never", "K")
    machine.wake()
    assert status(machine.console)["finger"] == "in-tpm"
    assert_nothing(search(machine, known, "awake", number), "A", "never", "K")


def test_a_tier_key_that_a_program_keeps_is_found(machine, known, password):
    lock(machine)
    unlock(machine.console, password)
    machine.root.run(f"systemd-run -q --unit=keeper --property=StandardOutput=file:/run/keeper {INSIDE}/keeper alice latchkeyd")
    eventually(lambda: machine.root.run("grep kept /run/keeper", check=False).returncode == 0, what="the copy")
    lock(machine)
    sight = Sight(machine, known, "locked, beside a program that keeps a copy")
    kept = {trace.name for trace in sight.traces} & known.kept["A"]
    assert kept == known.kept["A"]
    machine.root.run("systemctl stop keeper.service")


def test_k_is_found_without_a_tpm(machine, known, password):
    """The TPM's devices are gone, so K stays in latchkey-deviced. The search finds K by the same record."""
    lock(machine)
    machine.root.run("systemctl stop latchkey-deviced.service && rm /dev/tpm0 /dev/tpmrm0")
    machine.console.run(f"printf %s '{password}' | latchkey protector remove finger --stdin")
    # The password has unlocked the vault.
    lock(machine)
    add_finger(machine, password)
    know_covering_key(machine, known, "in memory")
    lock(machine)
    sight = search(machine, known, "locked, without a TPM", "in memory")
    assert sight.of("K")
    assert_nothing(sight, "A", "never")
