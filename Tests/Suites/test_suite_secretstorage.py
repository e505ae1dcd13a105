"""The tests of Python's SecretStorage, in Debian 12's version and the newest one."""

import shutil

import pytest
from service import HERE, outcomes
from sources import from_pypi, make_readable, unpack
from suite import Suite

VERSIONS = {
    "3.3.3": ("SecretStorage", "2403533ef369eca6d2ba81718576c5e0f564d5cca1b58f73a8b23e7d4eeebd77", 26),
    "3.5.0": ("secretstorage", "f04b8e4689cbce351744d5537bf6b1329c6fc68f91fa666f60a380edddcd11be", 27),
}
# These tests name collections by the paths of libsecret's mock.
MOCK_ONLY = {
    "test_collection.MockCollectionTest.test_create_collection",
    "test_collection.MockCollectionTest.test_default_collection",
    "test_collection.MockCollectionTest.test_deleting",
    "test_collection.MockCollectionTest.test_deleting_item_prompt",
    "test_collection.MockCollectionTest.test_deleting_prompt",
    "test_unlocking.LockingUnlockingTest.test_lock_unlock",
}
WITHOUT_MOCK = dict.fromkeys(MOCK_ONLY, "wants the paths of libsecret's mock")
LINE = r"^test_\w+ \((?P<name>[\w.]+)\).* \.\.\. (?P<how>ok|FAIL|ERROR|skipped)"
HOW = {"ok": "passed", "FAIL": "failed", "ERROR": "failed", "skipped": "skipped"}


@pytest.fixture(params=VERSIONS)
def source(request, folder):
    name, checksum, count = VERSIONS[request.param]
    place = folder / f"secretstorage-{request.param}"
    return request.param, count, unpack(from_pypi(name, request.param, checksum), place)


def run(service, source, *arguments):
    output = service.run("/usr/bin/python3", "tests/run_tests.py", *arguments, folder=source)
    return outcomes(LINE, output, HOW), output


def test_secretstorage(service, source, judge):
    version, count, place = source
    suite = Suite("SecretStorage", version, count, skipped=WITHOUT_MOCK)
    judge(suite, *run(service, place))


def test_secretstorage_with_the_mocks_objects(service, source, judge):
    version, count, place = source
    mock = place / "mock-service-lock.py"
    shutil.copy(HERE / "fixture.py", mock)
    make_readable(place)
    judge(Suite("SecretStorage, objects of libsecret's mock", version, count), *run(service, place, mock))
