"""A libsodium that does not use latchkey-derive's mmap and munmap. The memory of Argon2id is not erased, and status
reports that.
"""

import re
import shutil

import pytest
from support.session import wait_until
from support.unerased import leave_memory

pytestmark = pytest.mark.night("vault")


def told(session):
    return [problem for problem in session.status()["problems"] if "freed without being erased" in problem]


def unlock(session):
    def is_unlocked():
        session.login()
        return session.status()["state"] == "unlocked"

    session.lock()
    # On a busy machine a login may end before its keys arrive.
    wait_until(is_unlocked, "the unlocked vault", 60)


def test_memory_that_was_left_is_told(session):
    session.login()
    unlock(session)
    assert told(session) == []
    service = session.root / "pam.d/login"
    normal = service.read_text()
    helper = re.search(r"helper=(\S+)", normal)[1]
    changed = session.root / "latchkey-derive"
    shutil.copy(helper, changed)
    leave_memory(changed)
    service.write_text(normal.replace(helper, str(changed)))
    unlock(session)
    assert len(told(session)) == 1
    assert "freed without being erased" in session.log()
    service.write_text(normal)
    unlock(session)
    assert told(session) == []
