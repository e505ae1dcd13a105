"""Makes the fixtures of modulelogin.py available to all tests in this folder."""

from modulelogin import login, tools  # noqa: F401
