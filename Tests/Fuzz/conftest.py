"""Fuzzing. FUZZ_SECONDS is for all of it together; it is shared out here."""

import os
import pathlib

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

from support.session import new_session, session, shared_session, stage  # noqa: F401

SECONDS = float(os.environ.get("FUZZ_SECONDS", "60"))
FINDINGS = REPOSITORY / ".build/fuzz-findings"


@pytest.fixture
def findings():
    """The folder where failing inputs are kept."""
    FINDINGS.mkdir(parents=True, exist_ok=True)
    return FINDINGS
