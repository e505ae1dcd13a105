import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Integration"))

from session import stage  # noqa: E402, F401
