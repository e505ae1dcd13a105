"""The tests' own root: a command in it changes nothing on the machine, and each root is made only once."""

import os
import pathlib
import shutil
import subprocess
import time

import pytest
from support.footprint import footprint
from support.pace import seconds
from support.session import wait_until

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TESTROOT = REPOSITORY / "Tests/Session/testroot"
# Files that an installation leaves, and a package that is removed.
CHANGES = """
set -eu
touch /etc/xdg/autostart/another-keyring.desktop /usr/share/dbus-1/services/org.example.service
echo 'auth required pam_deny.so' >>/etc/pam.d/common-auth
echo Name: another >/usr/share/pam-configs/another
dpkg --force-depends --purge i3lock >/dev/null
mount -t tmpfs none /mnt
! dpkg-query -W i3lock 2>/dev/null && cat /usr/share/pam-configs/another
"""
MMDEBSTRAP = """#!/bin/sh
for argument; do case "$argument" in *.partial) root=$argument ;; esac; done
echo once >>"$LOG"
mkdir "$root" && mkdir "$root/etc" && sleep "$PAUSE"
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def testroot(*arguments, **options):
    return subprocess.run(
        [TESTROOT, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=seconds(600), **options)


# pytest would take the function for a test, because of its name.
testroot.__test__ = False


def mounts():
    return sorted(line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())


def test_a_command_changes_nothing_on_the_machine():
    """If the test itself runs in a root of the tests, that root counts as the machine."""
    before, mounted = footprint(), mounts()
    assert any(path.startswith("/etc/pam.d/") for path in before)
    done = testroot("--nested", "--", "sh", "-c", CHANGES)
    assert done.returncode == 0 and done.stdout == "Name: another\n", done
    assert footprint() == before and mounts() == mounted
    # The next command does not see the changes either.
    done = testroot("--nested", "--", "sh", "-c", "dpkg-query -W i3lock && test ! -e /usr/share/pam-configs/another")
    assert done.returncode == 0, done


def test_a_command_has_its_surroundings(tmp_path):
    """The command keeps the working directory, the environment, the home, and the machine's /tmp. It has user namespaces, and a
    /run without the machine's files."""
    words = "pwd; echo $GIVEN; unshare -r id -u; ls /run; echo here >$HOME/seen; exit 7"
    environment = os.environ | {"GIVEN": "a b", "HOME": str(tmp_path)}
    done = testroot("--nested", "--", "sh", "-c", words, cwd=REPOSITORY / "Tests", env=environment)
    assert done.stdout.split("\n") == [str(REPOSITORY / "Tests"), "a b", "0", "lock", "testroot", ""], done
    assert done.returncode == 7 and (tmp_path / "seen").read_text() == "here\n"
    assert testroot("--nested", "--", "no-such-program").returncode == 127


@pytest.fixture
def making(tmp_path):
    """The folder of the roots, and an environment in which a stand-in for mmdebstrap makes an empty root."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "mmdebstrap").write_text(MMDEBSTRAP)
    (programs / "mmdebstrap").chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    return tmp_path / "roots", os.environ | {"PATH": path, "LOG": str(tmp_path / "log"), "PAUSE": "0"}


def make(making, *more, **options):
    folder, environment = making
    return testroot("--nested", "--below", folder, *more, "--make", env=environment | options)


def roots(making):
    return {path.name for path in making[0].iterdir() if path.is_dir()}


def test_runs_beside_each_other_make_one_root(making):
    folder, environment = making
    command = [TESTROOT, "--nested", "--below", folder, "--make"]
    runs = [
        subprocess.Popen(command, env=environment | {"PAUSE": "1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    told = {run.communicate(timeout=seconds(60))[0] for run in runs}
    assert [run.returncode for run in runs] == [0, 0, 0] and len(told) == 1
    assert pathlib.Path(environment["LOG"]).read_text() == "once\n" and len(roots(making)) == 1


def test_a_root_that_was_not_completed_is_made_anew(making):
    folder, environment = making
    log = pathlib.Path(environment["LOG"])
    run = subprocess.Popen([TESTROOT, "--nested", "--below", folder, "--make"], env=environment | {"PAUSE": "600"}, process_group=0)
    try:
        wait_until(log.exists, "the start of mmdebstrap", 60)
    finally:
        os.killpg(run.pid, 9)
        run.wait()
    assert all(name.endswith(".partial") for name in roots(making))
    done = make(making)
    assert done.returncode == 0 and roots(making) == {pathlib.Path(done.stdout.strip()).name}


def test_of_the_old_roots_the_last_used_one_stays(making):
    names = []
    for package in ("one", "two", "three"):
        names.append(pathlib.Path(make(making, "--with", package).stdout.strip()).name)
        age = time.time() - 1000 + 100 * len(names)
        os.utime(making[0] / f"{names[-1]}.lock", (age, age))
    assert roots(making) == set(names[1:])
    # The first root was used meanwhile, so the second root goes.
    assert make(making, "--with", "two").returncode == 0
    fourth = pathlib.Path(make(making, "--with", "four").stdout.strip()).name
    assert roots(making) == {names[1], fourth}


def test_what_is_missing_is_named(making, tmp_path):
    folder, environment = making
    programs = tmp_path / "few"
    programs.mkdir()
    for name in ("cat", "echo"):
        (programs / name).symlink_to(shutil.which(name))
    for missing in ("make", "mmdebstrap"):
        done = make(making, PATH=str(programs))
        assert done.returncode == 125 and f"sudo apt-get install {missing}" in done.stderr, done
        (programs / missing).symlink_to(shutil.which(missing, path=environment["PATH"]))
    folder.chmod(0o777)
    done = make(making)
    assert done.returncode == 125 and "is not root's alone" in done.stderr
