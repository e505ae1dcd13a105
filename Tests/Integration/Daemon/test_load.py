"""Random kills of the daemon under load: whatever was acknowledged is there, and nothing is half done.

LATCHKEY_KILLS: how many; the part `kills` has 500. LATCHKEY_SEED: what a failure told, for the same again.
"""

import os
import random

import pytest
from support.faults import QuickSession
from support.load import Load

pytestmark = pytest.mark.night("faults")


def test_killed_at_random(stage, capsys):
    seed = os.environ.get("LATCHKEY_SEED") or random.SystemRandom().getrandbits(32)
    kills = int(os.environ.get("LATCHKEY_KILLS", "40"))
    session = QuickSession(stage, "/tmp")
    try:
        load = Load(session, str(seed))
        for number in range(kills):
            try:
                load.round(number)
            except BaseException as error:
                error.add_note(f"LATCHKEY_SEED={seed} LATCHKEY_KILLS={kills}: kill {number + 1}, after {load.counts}")
                error.add_note(f"the person's since the kill before: {load.history}")
                raise
        with capsys.disabled():
            print(f"\n{kills} kills, seed {seed}: {load.counts}")
        assert load.counts["operations"] > kills
    finally:
        session.close()
