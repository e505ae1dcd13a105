"""Makes the fixtures of session.py known to every test here."""

from session import session, shared_session, stage  # noqa: F401
