"""Python cannot import this file."""

import no_such_module_at_all  # noqa: F401
