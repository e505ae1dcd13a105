"""The documentation of the modules LatchkeyKeychain and Security builds, and no link of it leads nowhere."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_documentation_builds():
    built = subprocess.run(
        ["make", "-C", ROOT, "docs"], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert built.returncode == 0 and "warning:" not in built.stdout, built.stdout
    archive = ROOT / ".build/docs/LatchkeyKeychain.doccarchive/data/documentation/latchkeykeychain"
    assert {"whenmayitberead.json", "keychain.json", "passwordkeychain.json"} <= {path.name for path in archive.iterdir()}
    archive = ROOT / ".build/docs/Security.doccarchive/data/documentation/security"
    assert {"gettingstarted.json", "porting.json", "wherelinuxdiffers.json", "secitemadd(_:_:).json"} <= {path.name for path in archive.iterdir()}
