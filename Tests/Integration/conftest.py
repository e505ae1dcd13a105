"""Makes the fixtures of session.py known to every test here."""

from display import pytest_runtest_makereport  # noqa: F401
from session import session, shared_session, stage  # noqa: F401
