"""The example programs build as a package of their own and without a warning, and so does the documentation."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "Examples"


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    scratch = tmp_path_factory.mktemp("examples")
    built = subprocess.run(
        ["swift", "build", "--package-path", EXAMPLES, "--scratch-path", scratch], text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert built.returncode == 0, built.stdout
    return scratch / "debug", built.stdout


def test_none_is_warned_of(build):
    assert not re.findall(r".*warning:.*", build[1])


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("Sources/*")))
def test_each_runs_as_far_as_its_usage(build, example):
    run = subprocess.run([build[0] / example], text=True, stdin=subprocess.DEVNULL, capture_output=True)
    assert run.returncode == 1 and run.stderr.startswith(f"usage: {example} "), run


def test_the_documentation_builds():
    built = subprocess.run(
        ["make", "-C", ROOT, "docs"], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert built.returncode == 0 and "warning:" not in built.stdout, built.stdout
    archive = ROOT / ".build/docs/Keychain.doccarchive/data/documentation/keychain"
    assert {"whenmayitberead.json", "keychain.json", "passwordkeychain.json"} <= {path.name for path in archive.iterdir()}
    archive = ROOT / ".build/docs/Security.doccarchive/data/documentation/security"
    assert {"wherelinuxdiffers.json", "secitemadd(_:_:).json"} <= {path.name for path in archive.iterdir()}
