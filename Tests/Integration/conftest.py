"""Makes the fixtures of session.py and clients.py known to every test here, and says more of a failure."""

import json
import pathlib
import sys

import pytest
from support.evidence import add_evidence
from support.clients import open_peer, peer, shared_peer  # noqa: F401
from support.logind import logind  # noqa: F401
from support.session import new_session, session, shared_session, stage, unlocked  # noqa: F401

# A test may use what the test of another room has, for example its stand-ins.
sys.path += [str(room) for room in sorted(pathlib.Path(__file__).parent.iterdir()) if room.is_dir()]


def pytest_make_parametrize_id(config, val, argname):
    """Short names: pytest puts them into the environment, and what is too long there keeps every program from starting."""
    return f"{len(val)}-{argname}" if isinstance(val, bytes | str) and len(val) > 64 else None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Puts what the session was like beside a failure, while it is still there."""
    report = (yield).get_result()
    if call.when != "call" or not report.failed:
        return
    used = getattr(item, "funcargs", {})
    if "display" in used:
        add_evidence(report, "the screen", lambda: used["display"].screenshot())
    for session in (used[name] for name in ("session", "new_session", "unlocked") if name in used):
        # A test may have ended the session, or stopped its daemon.
        add_evidence(report, "log of PAM", lambda: session.pam_log[-8000:])
        add_evidence(report, "log", lambda: session.log()[-8000:])
        add_evidence(report, "status", lambda: json.dumps(session.status(), indent=1))
        break
