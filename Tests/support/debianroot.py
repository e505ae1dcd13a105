"""Root file systems of Debian releases. mmdebstrap makes each once, and the cache keeps it."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from support.machine import INSIDE, Unavailable

# The packages that a login needs, and the dependencies of Latchkey's packages. A running system has no network to fetch
# packages.
SYSTEM = (
    "systemd systemd-sysv dbus dbus-user-session libpam-systemd libpam-runtime init-system-helpers debconf login passwd "
    "mawk procps openssh-server openssh-client pamtester libsecret-tools "
    "libgcrypt20 libpam0g libsodium23 libsqlite3-0 libstdc++6 libsystemd0 libyaml-0-2"
).split()
PREPARE = r"""
set -eu
rm -f "$1/var/lib/dbus/machine-id"
: >"$1/etc/machine-id"
ln -sf /lib/systemd/system/multi-user.target "$1/etc/systemd/system/default.target"
# A container has no modules to load, and Debian 13 reports that as a failure.
ln -sf /dev/null "$1/etc/systemd/system/systemd-modules-load.service"
mkdir -p "$1/etc/systemd/logind.conf.d" "$1/etc/ssh/sshd_config.d"
printf '[Login]\nUserStopDelaySec=0\n' >"$1/etc/systemd/logind.conf.d/test.conf"
printf '%s\n' 'Port 2222' 'ListenAddress 127.0.0.1' 'UsePAM yes' >"$1/etc/ssh/sshd_config.d/test.conf"
mkdir -p "$1/usr/local/lib/latchkey-test"
cp "$2" "$1/usr/local/lib/latchkey-test/"
"""


def root_of(release, packages, cache, name=None):
    """The folder of a release's root file system with these packages. The first call takes some minutes."""
    if os.geteuid() != 0:
        raise Unavailable("making a root file system needs root")
    if not shutil.which("mmdebstrap"):
        raise Unavailable("mmdebstrap is missing (`make deps`)")
    name, cache, included = name or release, Path(cache), [*SYSTEM, *packages]
    reset_user = INSIDE / "reset-user"
    digest = hashlib.sha256(repr((included, PREPARE, reset_user.read_text())).encode()).hexdigest()[:16]
    folder = cache / f"{name}-{digest}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{name}.lock").open("w") as lock:
        # The lock keeps parallel test processes from making the same root twice.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            # A root gets its name only when it is complete. Older roots with the name are removed.
            for old in cache.iterdir():
                if is_of(name, old.name):
                    remove(old)
            partial = cache / f"{name}-partial"
            run("mmdebstrap", "--variant=apt", f"--include={','.join(included)}", release, partial)
            run("sh", "-c", PREPARE, "prepare", partial, reset_user)
            partial.rename(folder)
    return folder


def is_of(name, folder):
    """Whether a folder of the cache is a root with this name, complete or not. A folder with a longer name does not
    count."""
    return re.fullmatch(rf"{re.escape(name)}-([0-9a-f]{{16}}|partial)", folder) is not None


def remove(folder):
    """Removes a root. In an incomplete root, the host's /proc, /sys and /dev may still be mounted."""
    mounted = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for place in sorted((place for place in mounted if Path(place).is_relative_to(folder)), reverse=True):
        run("umount", place)
    shutil.rmtree(folder)


def run(*command):
    done = subprocess.run(
        list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=3600,
    )  # fmt: skip
    if done.returncode != 0:
        raise Unavailable(f"{command[0]} ended with {done.returncode} (is there a network?):\n{done.stdout[-4000:]}")
