"""Random kills of the daemon under load. All acknowledged changes are still there, and no change is half done.

LATCHKEY_KILLS is the number of kills (500 in the part `kills`). LATCHKEY_SEED repeats a failed run, which printed its
seed.
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
