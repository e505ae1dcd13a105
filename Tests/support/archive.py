"""Helpers for tests of backups: sessions, and the commands backup and restore."""

import contextlib
import json
import os
import shutil

import pytest
from support.session import Session

PASSPHRASE = "a passphrase of the backup's own"
DONE, FAILED, PARTLY, NO_DAEMON = 0, 1, 4, 3


@contextlib.contextmanager
def opened(stage):
    """A session whose vault is unlocked."""
    session = Session(stage)
    try:
        assert session.login().returncode == 0
        yield session
    finally:
        session.close()


@pytest.fixture
def unlocked(stage):
    with opened(stage) as session:
        yield session


@pytest.fixture
def other(stage):
    """A second unlocked session, with another home and another device."""
    with opened(stage) as session:
        yield session


def backup(session, *options, file="b", passphrase=PASSPHRASE):
    return session.run("latchkey", "backup", "--passphrase-stdin", *options, file, input=passphrase + "\n")


def restore(session, *options, file="b", passphrase=PASSPHRASE):
    return session.run("latchkey", "restore", "--passphrase-stdin", *options, file, input=passphrase + "\n")


def report(done):
    return json.loads(done.stdout)


def counts(done):
    """The numbers in a report that are not zero."""
    return {key: value for key, value in report(done).items() if isinstance(value, int) and value and key != "dry_run"}


def lines(done, outcome):
    return [line["label"] for line in report(done)["lines"] if line["outcome"] == outcome]


def carry(source, target, name="b"):
    """Copies a backup to another session."""
    shutil.copy(source.home / name, target.home / name)
    os.chown(target.home / name, target.uid, target.gid)
