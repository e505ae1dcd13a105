"""The Secret Service tests of Python's keyring, in Debian 12's version and the newest one."""

import pytest
from service import outcomes
from sources import from_pypi, unpack
from suite import Suite

VERSIONS = {
    "23.9.3": ("69b01dd83c42f590250fe7a1f503fc229b14de83857314b1933a3ddbf595c4a5", 26),
    "25.7.0": ("fe01bd85eb3f8fb3dd0405defdeac9a5b4f6f0439edbb3149577f244a2e8245b", 32),
}
TESTS = ["tests/backends/test_libsecret.py", "tests/backends/test_SecretService.py"]
LINE = r"^tests/backends/(?P<name>\S+) (?P<how>PASSED|FAILED|ERROR|SKIPPED|XPASS|XFAIL)"
HOW = {"PASSED": "passed", "XPASS": "passed", "FAILED": "failed", "ERROR": "failed", "XFAIL": "failed", "SKIPPED": "skipped"}


@pytest.mark.parametrize("version", VERSIONS)
def test_keyring(service, folder, judge, version):
    checksum, count = VERSIONS[version]
    place = unpack(from_pypi("keyring", version, checksum), folder / f"keyring-{version}")
    output = service.run(
        "/usr/bin/python3", "-m", "pytest", "-v", "-p", "no:cacheprovider", *TESTS, folder=place, PYTHONPATH=str(place))
    judge(Suite("keyring", version, count), outcomes(LINE, output, HOW), output)
