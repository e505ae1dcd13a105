"""A login must not fail, nor wait long, whatever state the vault and its daemon are in."""

import os
import re
import signal
import time

import pytest

VAULTS = ["new", "founded"]


@pytest.fixture(params=VAULTS)
def user(alice, request):
    """A user without a vault yet, and one who has a vault."""
    if request.param == "founded":
        with alice.login() as session:
            session.store("of default", app="default")
        alice.await_end()
    else:
        alice.machine.root("install", "-d", "-m", "700", "-o", alice.name, "-g", alice.name, alice.folder)
        alice.machine.root("chown", "-R", f"{alice.name}:", f"{alice.home}/.local")
    alice.founded = request.param == "founded"
    return alice


def assert_login_works(user):
    with user.login() as session:
        assert session.run("echo here").stdout == "here\n"
        session.status()  # the daemon answers
        assert session.lookup(app="absent") is None


def assert_recovered(user):
    user.await_end()
    with user.login() as session:
        if user.founded:
            assert session.lookup(app="default") == "of default"
        session.store("stored after", app="after")
        assert session.lookup(app="after") == "stored after"


def test_read_only_folder(user):
    root, folder = user.machine.root, user.folder
    root("mount", "--bind", folder, folder)
    root("mount", "-o", "remount,bind,ro", folder)
    assert_login_works(user)
    root("umount", folder)
    assert_recovered(user)


def test_full_file_system(user):
    root, folder = user.machine.root, user.folder
    root("mount", "-t", "tmpfs", "-o", f"size=1M,mode=700,uid={user.uid}", "full", f"{user.home}/.local/share")
    if user.founded:
        # The same vault, where no byte more fits.
        root("mkdir", folder)
        bare = f"/tmp/bare-{user.name}"
        root("mkdir", "-p", bare)
        root("mount", "--bind", "/home", bare)
        root("cp", "-a", f"{bare}/{user.name}/.local/share/latchkey/.", folder)
        root("chown", f"{user.name}:", folder)
        root("chmod", "700", folder)
        root("umount", bare)
    root("dd", "if=/dev/zero", f"of={user.home}/.local/share/filler", "bs=4k", check=False)
    assert_login_works(user)
    root("rm", f"{user.home}/.local/share/filler")
    assert_recovered(user)


def test_home_is_absent(user):
    root = user.machine.root
    root("mv", user.home, f"{user.home}.away")
    assert_login_works(user)
    root("mv", f"{user.home}.away", user.home)
    assert_recovered(user)


def test_home_is_unreadable(user):
    root = user.machine.root
    root("chown", "root:", user.home)
    root("chmod", "000", user.home)
    assert_login_works(user)
    root("chown", f"{user.name}:", user.home)
    root("chmod", "700", user.home)
    assert_recovered(user)


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_keybag_is_no_file(user, kind):
    # Neither followed nor waited for.
    root, keybag = user.machine.root, f"{user.folder}/keybag"
    root("mv", keybag, f"{user.home}/kept", check=False)
    root(*{"link": ["ln", "-s", "/etc/shadow"], "fifo": ["mkfifo"], "folder": ["mkdir"]}[kind], keybag)
    root("chown", "-h", f"{user.name}:", keybag)
    assert_login_works(user)
    root("rm", "-r", keybag)
    root("mv", f"{user.home}/kept", keybag, check=False)
    assert_recovered(user)


def seconds_of_login(user):
    begun = time.monotonic()
    session = user.login()
    taken = time.monotonic() - begun
    session.close()
    return taken


def test_hung_daemon_delays_a_login_by_three_seconds_at_most(alice):
    with alice.login() as first:
        first.store("of default", app="default")
        usual = seconds_of_login(alice)
        cursor = alice.machine.cursor()
        daemon = alice.daemon()
        os.kill(daemon, signal.SIGSTOP)
        try:
            hung = seconds_of_login(alice)
        finally:
            os.kill(daemon, signal.SIGCONT)
        # The module's budget is 3 s; the rest is for a busy machine.
        assert hung < usual + 6
        assert re.search(r"pam_latchkey\(login:.*did not answer in time", alice.machine.journal(cursor, "login"))
        assert first.lookup(app="default") == "of default"


def test_missing_helper_is_a_line_in_the_log(alice):
    root = alice.machine.root
    root("mv", "/usr/libexec/latchkey-derive", "/usr/libexec/away")
    try:
        cursor = alice.machine.cursor()
        with alice.login() as session:
            session.run("true")
        assert "pam_latchkey(login:" in alice.machine.journal(cursor, "login")
    finally:
        root("mv", "/usr/libexec/away", "/usr/libexec/latchkey-derive")


@pytest.mark.parametrize("end", ["kill -SEGV $$", "kill -KILL $$", "exec sleep 60", "exit 1", "printf '\\377'; exit 0"])
def test_helper_that_misbehaves_is_a_line_in_the_log(alice, end):
    helper = alice.machine.path("/usr/libexec/latchkey-derive")
    kept = helper.read_bytes()
    alice.machine.root("rm", "/usr/libexec/latchkey-derive")  # not to write into a running program
    try:
        helper.write_text(f"#!/bin/bash\n{end} >&0\n")
        helper.chmod(0o755)
        cursor = alice.machine.cursor()
        begun = time.monotonic()
        with alice.login() as session:
            assert time.monotonic() - begun < 10
            session.run("true")
        assert "pam_latchkey(login:" in alice.machine.journal(cursor, "login")
    finally:
        alice.machine.root("rm", "/usr/libexec/latchkey-derive")
        helper.write_bytes(kept)
        helper.chmod(0o755)
