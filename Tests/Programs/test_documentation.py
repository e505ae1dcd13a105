"""The documentation of the client library builds, and has no broken link. The lists in other texts are complete."""

import pathlib
import subprocess

import pytest
from support.helper import EXCLUDED_SERVICES

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.night("clients")
def test_the_documentation_builds():
    built = subprocess.run(
        ["make", "-C", ROOT, "docs"], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert built.returncode == 0 and "warning:" not in built.stdout, built.stdout
    archive = ROOT / ".build/docs/LatchkeyKeychain.doccarchive/data/documentation/latchkeykeychain"
    assert {"whenmayitberead.json", "keychain.json", "passwordkeychain.json"} <= {path.name for path in archive.iterdir()}
    archive = ROOT / ".build/docs/LocalAuthentication.doccarchive/data/documentation/localauthentication"
    assert {"lacontext.json", "laerror.json"} <= {path.name for path in archive.iterdir()}
    archive = ROOT / ".build/docs/Security.doccarchive/data/documentation/security"
    assert {"gettingstarted.json", "porting.json", "wherelinuxdiffers.json", "secitemadd(_:_:).json"} <= {path.name for path in archive.iterdir()}


def test_pam_readme_names_every_excluded_service():
    text = (ROOT / "pam/README.md").read_text()
    assert [service for service in EXCLUDED_SERVICES if f"`{service}`" not in text] == []


def test_no_two_files_of_tests_have_one_name():
    names = [path.name for path in ROOT.glob("Tests/**/test_*.py")]
    assert sorted(names) == sorted(set(names))
