"""Fuzzing. FUZZ_SECONDS is the total time, which is divided here."""

import os
import pathlib

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

from support.session import new_session, session, shared_session, stage  # noqa: F401

SECONDS = float(os.environ.get("FUZZ_SECONDS", "60"))
FINDINGS = REPOSITORY / ".build/fuzz-findings"


@pytest.fixture
def findings():
    """The folder for failing inputs."""
    FINDINGS.mkdir(parents=True, exist_ok=True)
    return FINDINGS
