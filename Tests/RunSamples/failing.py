"""One test passes, the others fail in different ways."""

import pytest


def test_that_passes():
    pass


def test_with_an_assertion():
    assert 1 + 1 == 3, "the sum is wrong"


@pytest.fixture
def broken():
    raise OSError("no such container")


def test_whose_fixture_fails(broken):
    pass


@pytest.fixture
def unclean():
    yield
    raise OSError("the container does not end")


def test_that_cannot_be_cleaned_up(unclean):
    pass


@pytest.mark.skip(reason="needs a screen")
def test_that_is_left_out():
    pass
