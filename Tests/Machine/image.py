"""The disk image of a machine: a Debian with the packages below and the project. The image is made once.

The two steps are cached below .build/machine. The name of each result is a hash of its inputs.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from support.pace import seconds

REPOSITORY = Path(__file__).resolve().parents[2]
INSIDE = Path(__file__).resolve().parent / "inside"
UNERASED = REPOSITORY / "Tests/support/unerased.py"
AUTHENTICATOR = REPOSITORY / "Tests/support/authenticator.py"
CACHE = REPOSITORY / ".build/machine"
# The kernel's package depends on the tools that make its initial file system.
PACKAGES = (
    "linux-image-cloud-amd64 systemd-sysv udev kmod dbus dbus-user-session libpam-systemd login passwd procps "
    "libsodium23 libgcrypt20 libsqlite3-0 libyaml-0-2 libsystemd0 libfido2-1 libsecret-tools "
    "libtss2-esys-3.0.2-0 libtss2-tcti-device0 libtss2-tctildr0 libpam-u2f pamu2fcfg "
    "python3-gi gir1.2-secret-1 python3-secretstorage python3-jeepney python3-cryptography polkitd"
).split()
# The initial file system contains only the drivers for this machine's disk, which halves the time to make and boot it.
INITRAMFS = (
    'mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/usr/share/initramfs-tools/modules.d"'
    ' && printf "MODULES=list\\nCOMPRESSLEVEL=1\\n" >"$1/etc/initramfs-tools/conf.d/machine"'
    ' && printf "%s\\n" virtio_pci virtio_blk ext4 crc32c_generic >"$1/usr/share/initramfs-tools/modules.d/machine"'
)
# Room for the files that are written later. Unwritten space takes no room on the host.
SIZE = "2G"


class Unavailable(Exception):
    """A machine cannot be made here, for this reason."""


class Image:
    """A disk with a root file system, and the kernel that boots it."""

    def __init__(self, folder):
        self.kernel = folder / "vmlinuz"
        self.initrd = folder / "initrd"
        self.disk = folder / "disk"


def make_image():
    """The image of the project's present build. The first call takes some minutes, and later calls take a moment."""
    if os.geteuid() != 0:
        raise Unavailable("making a machine's disk needs root")
    for tool in ("mmdebstrap", "mke2fs", "qemu-system-x86_64"):
        if not shutil.which(tool):
            raise Unavailable(f"{tool} is missing (`make deps`)")
    with _alone():
        packages = _once("packages", _digest(INSIDE / "provision", ".", PACKAGES, INITRAMFS, _release()), _install_packages)
        return Image(_with_project(packages))


@contextlib.contextmanager
def _alone():
    """A lock that keeps parallel test processes from making the same image twice."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _once(kind, digest, make):
    """The folder that `make` fills. The folder gets its name when it is complete, and older folders of the kind are
    removed."""
    folder = CACHE / f"{kind}-{digest}"
    if not folder.is_dir():
        for old in CACHE.glob(f"{kind}-*"):
            _remove(old)
        partial = CACHE / f"{kind}-partial"
        partial.mkdir()
        make(partial)
        partial.rename(folder)
    return folder


def _remove(folder):
    """Removes a folder. A killed mmdebstrap may have left the host's folders mounted in this folder, so the function
    unmounts them first."""
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for place in reversed(mounts):
        if Path(place).is_relative_to(folder):
            _run("umount", "--lazy", place)
    _run("rm", "-rf", "--one-file-system", folder)


def _digest(path, *more):
    """A hash of a file, or of all files in a folder with names and modes, and of other values."""
    total = hashlib.sha256(repr(more).encode())
    for file in [path] if path.is_file() else sorted(path.rglob("*")):
        link = os.readlink(file) if file.is_symlink() else None
        content = hashlib.sha256(file.read_bytes()).digest() if link is None and file.is_file() else link
        total.update(repr((str(file.relative_to(path)), file.lstat().st_mode, content)).encode())
    return total.hexdigest()[:16]


def _release():
    """The code name of this machine's Debian, because the project is linked with its libraries."""
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith("VERSION_CODENAME="):
            return line.partition("=")[2]
    raise Unavailable("this is no Debian with a code name")


def _run(*command):
    done = subprocess.run(
        list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=seconds(1800),
    )  # fmt: skip
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} ended with {done.returncode}:\n{done.stdout[-4000:]}")


def _install_packages(folder):
    """Installs a root file system from this machine's own archive, if a Debian file names the archive."""
    sources = Path("/etc/apt/sources.list.d/debian.sources")
    include = f"--include={','.join(PACKAGES)}"
    root = folder / "root"
    hook = f"--setup-hook={INITRAMFS}"
    _run("mmdebstrap", "--variant=minbase", include, hook, _release(), root, *([sources] if sources.is_file() else []))
    shutil.copy(INSIDE / "provision", root / "root")
    _run("chroot", root, "bash", "/root/provision")


def _with_project(packages):
    """A folder with kernel and disk. The disk contains the result of `make install`."""
    stage = CACHE / "stage"
    shutil.rmtree(stage, ignore_errors=True)
    _run("make", "-s", "-C", REPOSITORY, "install", f"DESTDIR={stage}")

    def make(folder):
        root = folder / "root"
        subprocess.run(["cp", "-a", packages / "root", root], check=True)
        subprocess.run(["cp", "-rT", "--preserve=mode,links", stage, root], check=True)
        shutil.copytree(INSIDE, root / "usr/local/lib/latchkey-test")
        for part in (UNERASED, AUTHENTICATOR):
            shutil.copy(part, root / "usr/local/lib/latchkey-test")
        _run("chroot", root, "pam-auth-update", "--package", "--enable", "latchkey")
        for name, pattern in (("vmlinuz", "vmlinuz-*"), ("initrd", "initrd.img-*")):
            shutil.copy(next((root / "boot").glob(pattern)), folder / name)
        _run("mke2fs", "-q", "-t", "ext4", "-d", root, folder / "disk", SIZE)
        shutil.rmtree(root)

    return _once("system", _digest(stage, packages.name, _digest(INSIDE), _digest(UNERASED, "."), _digest(AUTHENTICATOR, ".")), make)
