"""The test fails once, and passes at the second try. A file records the first try."""

import os
import pathlib

import pytest


@pytest.mark.second_try
def test_of_another_program():
    tried = pathlib.Path(os.environ["LATCHKEY_SAMPLE"])
    if not tried.exists():
        tried.touch()
        raise AssertionError("the dialog was late")


def test_of_a_key():
    tried = pathlib.Path(os.environ["LATCHKEY_SAMPLE"] + ".key")
    if not tried.exists():
        tried.touch()
        raise AssertionError("the key was still there")
