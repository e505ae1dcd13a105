"""Makes the fixtures of session.py and clients.py known to every test here."""

from support.clients import open_peer, peer, shared_peer  # noqa: F401
from support.display import pytest_runtest_makereport  # noqa: F401
from support.logind import logind  # noqa: F401
from support.session import new_session, session, shared_session, stage, unlocked  # noqa: F401


def pytest_make_parametrize_id(config, val, argname):
    """Short names: pytest puts them into the environment, and what is too long there keeps every program from starting."""
    return f"{len(val)}-{argname}" if isinstance(val, bytes | str) and len(val) > 64 else None
