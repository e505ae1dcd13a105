
from support.session import stage  # noqa: F401
