"""The table in docs/user/classes.md is true for each class in each state."""

import pytest
from support import table

pytestmark = pytest.mark.night("vault")


def test_it_is_whole():
    written = table.written()
    assert list(written) == list(table.STATES)
    for rows in written.values():
        assert list(rows) == table.CLASSES
        assert all(list(outcomes) == list(table.OPERATIONS) for outcomes in rows.values())


@pytest.mark.parametrize("state", table.STATES)
def test_state(stage, state):
    assert table.measure(stage, state) == table.written()[state]
