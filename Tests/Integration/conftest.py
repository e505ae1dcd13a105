"""Gives all tests here the fixtures of session.py and clients.py, and adds details to the report of a failure."""

import json
import pathlib
import sys

import pytest
from support.evidence import add_evidence
from support.clients import open_peer, peer, shared_peer  # noqa: F401
from support.logind import logind  # noqa: F401
from support.session import new_session, session, shared_session, stage, unlocked  # noqa: F401

# A test may use helpers from another room, for example stand-ins.
sys.path += [str(room) for room in sorted(pathlib.Path(__file__).parent.iterdir()) if room.is_dir()]


def pytest_make_parametrize_id(config, val, argname):
    """Shortens the names of parameters. pytest puts a test's name into the environment, and a very long name would
    prevent programs from starting."""
    return f"{len(val)}-{argname}" if isinstance(val, bytes | str) and len(val) > 64 else None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Adds the state of the session to a failed test's report, while the session still runs."""
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
