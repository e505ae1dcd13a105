"""This file cannot be imported."""

import no_such_module_at_all  # noqa: F401
