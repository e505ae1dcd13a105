"""A disk that can be full or read-only."""

import contextlib
import os
import pathlib
import subprocess
import tempfile


@contextlib.contextmanager
def small_disk():
    """A folder on a file system of 16 MiB."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        os.chmod(place, 0o755)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=0755", "latchkey-test", place], check=True)
        try:
            yield place
        finally:
            subprocess.run(["umount", "-l", place], check=True)


@contextlib.contextmanager
def filled(place, rest):
    """Fills the file system except for this number of bytes."""
    filler = pathlib.Path(place) / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)) == 4096:
            pass
    os.truncate(filler, max(0, filler.stat().st_size - rest))
    yield
    filler.unlink()


@contextlib.contextmanager
def read_only(folder):
    """Mounts the folder read-only."""
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
