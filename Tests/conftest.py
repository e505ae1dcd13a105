"""What all Python tests share: which of them a run takes, and the record of what became of them."""

pytest_plugins = ["support.selection", "support.outcomes"]
