"""The power is cut while a vault is written. Afterwards all acknowledged changes are there, and no change is half done.

LATCHKEY_CUTS is the number of tested disk states for each file system (1,250 in the part `cuts`). LATCHKEY_SEED repeats
a failed run, which printed its seed.
"""

import collections
import contextlib
import os
import random
import tempfile

import pytest
from aftermath import Broken, NextStart, after
from loggeddisk import LoggedDisk
from support.deviced import SoftwareTPM
from workload import Workload

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root mounts file systems")
CUTS = int(os.environ.get("LATCHKEY_CUTS", "60"))
SEED = os.environ.get("LATCHKEY_SEED") or str(random.SystemRandom().getrandbits(32))
# The real programs take seconds for a state, so the programs get only one state in this many.
STARTS = 20


@contextlib.contextmanager
def logged(kind, stage, rounds=None, **faults):
    """The log of a workload, the user of its vault, and the machine's TPM."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, contextlib.closing(SoftwareTPM()) as tpm:
        disk = LoggedDisk(kind, folder)
        try:
            workload = Workload(disk, stage, SEED, tpm, **faults)
            try:
                workload.run(rounds)
            except Exception as error:
                error.add_note(f"LATCHKEY_SEED={SEED}: {workload.history[-20:]}")
                raise
            finally:
                workload.close()
        finally:
            disk.close()
        yield disk.log(), workload.session.uid, tpm


# The part `cuts` has both, at far more cuts.
@pytest.mark.parametrize("kind", ["ext4", "btrfs"] if "LATCHKEY_CUTS" in os.environ else ["ext4"])
def test_power_cuts(stage, kind, capsys):
    started, at_flush, seen = 0, 0, collections.Counter()
    with logged(kind, stage) as (log, uid, tpm), contextlib.closing(NextStart(stage, tpm)) as next_start:
        for number, state in enumerate(log.states(CUTS, SEED)):
            at_flush += state.is_at_flush
            try:
                with after(state, kind, uid) as aftermath:
                    items = aftermath.check()
                    seen["copies"] += aftermath.has_copy
                    seen["generations"] += aftermath.opened_generations
                    seen["parts"] += aftermath.ignored_generations
                    if number % STARTS == STARTS // 2:
                        next_start.check(aftermath, items)
                        started += 1
            except Exception as error:
                error.add_note(f"LATCHKEY_SEED={SEED} LATCHKEY_CUTS={CUTS}: state {number}, {state.description}")
                error.add_note(f"the last marks: {[(mark['stage'], mark['doing']) for mark in state.marks[-3:]]}")
                raise
        with capsys.disabled():
            print(
                f"\n{kind}: {CUTS} power cuts in {log.count('write')} writes; {at_flush} of them at one of {len(log.flushes)}"
                f" flushes, {started} with a login afterwards; {seen['copies']} copies of the keybag, {seen['generations']}"
                f" generations that open, {seen['parts']} other files of theirs; seed {SEED}")  # fmt: skip
        assert seen["copies"] and seen["generations"]


def test_a_missing_flush_is_found(stage):
    with logged("ext4", stage, 1, no_flush="vault.db-wal") as (log, uid, _), pytest.raises(Broken, match="it holds"):
        for state in log.states(300, SEED):
            with after(state, "ext4", uid) as aftermath:
                aftermath.check()
