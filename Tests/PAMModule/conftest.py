"""Makes the fixtures of modulelogin.py known to every test here."""

from modulelogin import login, tools  # noqa: F401
