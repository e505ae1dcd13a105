"""The Go tests of docker's credential helper for the Secret Service, from Debian's source package."""

import pathlib
import re
import shutil
import subprocess

from service import outcomes
from sources import build, make_readable
from suite import Suite, needs_all

GOPATH = pathlib.Path("/usr/share/gocode")
PACKAGE = pathlib.Path("src/github.com/docker/docker-credential-helpers")
LINE = r"^--- (?P<how>PASS|FAIL|SKIP): (?P<name>\S+)"
HOW = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}


@needs_all
def test_docker(service, folder, judge):
    place = folder / "go" / PACKAGE
    shutil.copytree(GOPATH / PACKAGE, place, dirs_exist_ok=True)
    # The authors skip the test, because their build server has no Secret Service.
    test = place / "secretservice/secretservice_linux_test.go"
    test.write_text(re.sub(r"^\tt\.Skip\(.*\n", "", test.read_text(), flags=re.MULTILINE))
    build("go", "test", "-c", "-o", folder / "docker.test", ".", folder=test.parent, GO111MODULE="off",
          GOFLAGS="", GOPATH=f"{folder / 'go'}:{GOPATH}", GOCACHE=str(folder / "gocache"))
    make_readable(folder)
    command = ["dpkg-query", "-W", "-f", "${Version}", "golang-github-docker-docker-credential-helpers-dev"]
    version = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout.partition("+")[0]
    output = service.run(folder / "docker.test", "-test.v", folder=folder)
    judge(Suite("docker-credential-secretservice", version, 2), outcomes(LINE, output, HOW), output)
