"""Makes the fixtures of session.py and clients.py known to every test here, and says more of a failure."""

import contextlib
import json

import pytest
from support.clients import open_peer, peer, shared_peer  # noqa: F401
from support.logind import logind  # noqa: F401
from support.session import new_session, session, shared_session, stage, unlocked  # noqa: F401


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
        report.sections.append(("the screen", str(used["display"].screenshot())))
    if "session" in used:
        # A test may have ended the session, or stopped its daemon.
        with contextlib.suppress(Exception):
            report.sections.append(("log of PAM", used["session"].pam_log[-8000:]))
            report.sections.append(("log", used["session"].log()[-8000:]))
            report.sections.append(("status", json.dumps(used["session"].status(), indent=1)))
