"""Root file systems of Debian releases, made once and kept in .build."""

import fcntl
import hashlib
import os
import shutil
import subprocess

from support.machine import REPOSITORY, Unavailable

RELEASES = ("bookworm", "trixie")
CACHE = REPOSITORY / ".build/roots"
# What the tests use, and what the packages depend on: a running system has no network to fetch it from.
INCLUDED = (
    "systemd systemd-sysv dbus dbus-user-session libpam-systemd libpam-runtime init-system-helpers debconf login passwd "
    "mawk procps openssh-server openssh-client pamtester libsecret-tools gcr "
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


def root_of(release):
    """The folder of a release's root file system. The first time takes some minutes."""
    if os.geteuid() != 0:
        raise Unavailable("making a root file system needs root")
    if not shutil.which("mmdebstrap"):
        raise Unavailable("mmdebstrap is missing (`make deps`)")
    reset_user = REPOSITORY / "Tests/Desktop/inside/reset-user"
    digest = hashlib.sha256(repr((INCLUDED, PREPARE, reset_user.read_text())).encode()).hexdigest()[:16]
    folder = CACHE / f"{release}-{digest}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{release}.lock").open("w") as lock:
        # Test processes beside each other make one root, not two.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            make_root(release, folder, reset_user)
    return folder


def make_root(release, folder, *tools):
    """Makes a root file system, which gets its name when it is complete. Others of its release go."""
    for old in CACHE.glob(f"{release}-*"):
        shutil.rmtree(old)
    partial = CACHE / f"{release}-partial"
    run("mmdebstrap", "--variant=apt", f"--include={','.join(INCLUDED)}", release, partial)
    run("sh", "-c", PREPARE, "prepare", partial, *tools)
    partial.rename(folder)


def run(*command):
    done = subprocess.run(
        list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=1800,
    )  # fmt: skip
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} ended with {done.returncode}:\n{done.stdout[-4000:]}")
