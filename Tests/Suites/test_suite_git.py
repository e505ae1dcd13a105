"""git's test for authors of credential helpers, with git-credential-libsecret."""

import pathlib
import shutil

from service import outcomes
from sources import build, from_debian, make_readable, unpack
from suite import Suite

HELPER = pathlib.Path("/usr/share/doc/git/contrib/credential/libsecret")
SUITE = Suite("git, t0303-credential-external", "2.39.5", 12)
LINE = r"^(?P<how>ok|not ok) \d+ - (?P<name>.+)$"
HOW = {"ok": "passed", "not ok": "failed"}


def test_git(service, folder, judge):
    archive = from_debian(
        "git", "git_2.39.5.orig.tar.xz", "c58da92c378df4a986ca33266897a7397e86c22ee266a284d8c2432c39066b59")
    source = unpack(archive, folder, "t/test-lib", "t/lib-credential", "t/t0303-", "t/oid-info/")
    # The test library expects these files of a built git. The test itself uses the installed git.
    (source / "GIT-BUILD-OPTIONS").write_text("SHELL_PATH=/bin/sh\nPERL_PATH=/usr/bin/perl\nDIFF=diff\nX=\n")
    (source / "templates/blt").mkdir(parents=True, exist_ok=True)
    (source / "t/helper").mkdir(exist_ok=True)
    tool = source / "t/helper/test-tool"
    tool.write_text("#!/bin/sh\nexit 1\n")
    tool.chmod(0o755)
    helper = folder / "git-credential-libsecret"
    shutil.copytree(HELPER, helper, dirs_exist_ok=True)
    build("make", "-C", helper, folder=folder)
    make_readable(folder)
    output = service.run(
        "/bin/sh", "./t0303-credential-external.sh", folder=source / "t", GIT_TEST_INSTALLED="/usr/bin",
        GIT_TEST_CREDENTIAL_HELPER="libsecret", GIT_TEST_CHAIN_LINT="0", GIT_TEST_EXT_CHAIN_LINT="0",
        TEST_OUTPUT_DIRECTORY=service.session.environment["TMPDIR"],
        PATH=f"{helper}:{service.session.environment['PATH']}")
    judge(SUITE, outcomes(LINE, output, HOW), output)
