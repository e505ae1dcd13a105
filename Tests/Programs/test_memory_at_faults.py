"""A fault that ends latchkey-prompt or latchkey-deviced leaves no secret in the program's memory. The kernel frees that memory
unchanged. `Integration/Memory/test_memory_ending.py` proves the same of latchkeyd.

The control: the secret is in memory when the signal arrives, and another text of the program still is at its end.
"""

import secrets
import signal

import pytest
from support.derive import as_root
from support.deviced import service, state_file  # noqa: F401
from support.ending import end
from support.memory import scan
from support.prompting import prompting, wait_until  # noqa: F401

pytestmark = as_root
# A Swift trap, a bad access, and an abort by the C library. `Integration` tests all faults.
FAULTS = pytest.mark.parametrize("number", [signal.SIGILL, signal.SIGSEGV, signal.SIGABRT], ids=lambda number: number.name)


def assert_erased(process, number, secret, control):
    needles = {"secret": secret, "control": control}
    before, after, ended = end(process.pid, number, needles)
    assert set(before) == set(needles)
    assert ended in (0, number)
    assert "control" in after and "secret" not in after, after


@FAULTS
def test_what_is_typed_is_erased(prompting, number):
    password = secrets.token_hex(24)
    # The pinentry is in the middle of an answer.
    pinentry = prompting.programs / "pinentry"
    pinentry.write_text(
        "#!/bin/sh\necho OK\nwhile read -r what; do\n  case $what in\n"
        f"    GETPIN*) printf 'D {password}';;\n    *) echo OK;;\n  esac\ndone\n")
    pinentry.chmod(0o755)
    prompting.environment["DISPLAY"] = ":4711"
    prompting.start()
    wait_until(lambda: "password" in scan(prompting.process.pid, {"password": password.encode()}), "the answer")
    assert_erased(prompting.process, number, password.encode(), b"latchkey-prompt cannot ask")


@FAULTS
def test_the_secret_of_the_machine_is_erased(service, number):
    with service.peer() as peer:
        peer.identity()
        secret = state_file(service.files()["device"], b"LATCHDVS")[1:]
        assert_erased(service.process, number, secret, b"another latchkey-deviced runs")
