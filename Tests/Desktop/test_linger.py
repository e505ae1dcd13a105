"""A lingering user manager, after a reboot, before anybody has logged in."""

import json

import pytest
from support.machine import eventually
from visitor import CLASSES

pytestmark = pytest.mark.second_try

ALWAYS = ["always", "always-this-device-only"]
IS_LOCKED = "org.freedesktop.Secret.Error.IsLocked"


def test_always_is_read_before_any_login(alice):
    machine = alice.machine
    with alice.login() as session:
        for name in CLASSES:
            session.store(f"of {name}", accessible=name, app=name)
    alice.await_end()
    alice.linger()
    machine.reboot()
    eventually(alice.manager_runs, what="the user manager")

    # This is the very first call to the vault since the boot. The bus starts the daemon for it.
    assert alice.run("secret-tool", "lookup", "app", "always").stdout == "of always"
    alice.status()  # waits until the device key service has answered
    for name in CLASSES:
        found = alice.find(app=name)
        (item,) = found["items"]
        if name in ALWAYS:
            assert found == {"unlocked": [item], "locked": [], "items": {item: {"secret": f"of {name}"}}}
        else:
            assert found == {"unlocked": [], "locked": [item], "items": {item: {"error": IS_LOCKED}}}
        (listed,) = json.loads(alice.run("latchkey", "find", "--json", f"app={name}").stdout)
        assert (listed["class"], listed["state"]) == (name, "open" if name in ALWAYS else "locked")
    status = alice.status()
    assert (status["state"], status["first_unlocked"], status["device_key"]) == ("sealed", False, "host")
    assert [name for name, present in status["classes"].items() if present] == ALWAYS
    assert machine.root("loginctl", "--no-legend", "list-sessions").stdout == ""
    daemon = alice.daemon()

    with alice.login() as session:
        assert alice.daemon() == daemon
        for name in CLASSES:
            assert session.lookup(app=name) == f"of {name}"
