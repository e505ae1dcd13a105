"""A security key in software. It is OpenSSH's own key for tests, behind a library that waits for a touch and asks for a
PIN.
"""

import pathlib
import subprocess

from support.session import REPOSITORY

DUMMY = pathlib.Path("/usr/lib/openssh/regress/misc/sk-dummy/sk-dummy.so")
SOURCE = REPOSITORY / "Tests/support/Shims/securitykey.c"


class SecurityKeyLibrary:
    """A library for `ssh-add -S`. If the test wants, a signature needs the PIN or waits for a touch."""

    def __init__(self, folder):
        self.path = folder / "securitykey.so"
        self._touch, self._waits, self._pin = folder / "touch", folder / "waits", folder / "pin"
        # While a signature waits, the library keeps this folder.
        places = {"DUMMY": DUMMY, "TOUCH": self._touch, "WAITS": self._waits, "PIN": self._pin}
        macros = [f'-D{name}="{place}"' for name, place in places.items()]
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.path, *macros, SOURCE, "-ldl"], check=True)

    def wait_for_touch(self):
        """From now on, a signature waits until :meth:`touch`."""
        self._touch.unlink(missing_ok=True)
        self._touch.with_suffix(".needed").touch()

    def touch(self):
        self._touch.touch()

    def forget_touch(self):
        """From now on, signatures no longer wait. Do not call this while a signature waits."""
        for file in (self._touch, self._waits, self._touch.with_suffix(".needed")):
            file.unlink(missing_ok=True)

    def is_waiting(self):
        """Whether a signature waits for a touch."""
        return self._waits.exists()

    def require_pin(self, pin):
        self._pin.write_text(pin)
