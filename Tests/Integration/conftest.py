"""Makes the fixtures of session.py and clients.py known to every test here."""

from clients import open_peer, peer, shared_peer  # noqa: F401
from display import pytest_runtest_makereport  # noqa: F401
from session import session, shared_session, stage  # noqa: F401
