"""The device key of a vault, in a file or in the device key service. The service may start and stop at any time."""

import json
import socket

import pytest
from support.deviced import Service
from support.exporting import PARTLY
from support.importing import place, report, run
from support.session import wait_until

CLASS = "latchkey:accessible"
FREE = "when-unlocked"
FOREIGN = "it was stored on another device"
BOUND = ("when-unlocked-this-device-only", "after-first-unlock-this-device-only", "always-this-device-only",
         "when-passcode-set-this-device-only")  # fmt: skip


@pytest.fixture
def service(session, stage):
    """A device key service at the path that the session's daemon uses. The test starts the service."""
    made = Service(program=stage / "usr/libexec/latchkey-deviced", path=session.root / "device.sock")
    yield made
    made.close()


def fill(session, *more):
    for name in (FREE, *BOUND):
        session.store(f"of {name}", "class", name, CLASS, name, *more)


def readable(session, *more):
    """The classes of the readable items. Each must have the right secret."""
    session.status()  # waits until the daemon has talked to the service
    return readable_now(session, *more)


def readable_now(session, *more):
    """Like `readable`, but without waiting for the device key service."""
    found = {name: session.lookup("class", name, *more) for name in (FREE, *BOUND)}
    assert all(secret in (None, "", f"of {name}") for name, secret in found.items()), found
    return {name for name, secret in found.items() if secret}


def device(session, status=None):
    status = status or session.status()
    return status["device_key"], [line for line in status["problems"] if line.startswith("device key service: ")]


def begin(session):
    """Starts a new daemon and logs in."""
    session.restart()
    assert session.login().returncode == 0


def test_a_new_vault_is_the_services(session, service):
    service.start()
    assert session.login().returncode == 0
    fill(session)
    assert device(session) == ("host", [])
    assert not (session.vault / "device.key").exists()
    assert "a file that only the system service reads" in session.run("latchkey", "status").stdout
    begin(session)
    assert readable(session) == {FREE, *BOUND}


def test_a_vault_with_a_file_moves_to_the_service(session, service):
    assert session.login().returncode == 0
    fill(session)
    assert device(session) == ("file", [])
    assert (session.vault / "device.key").exists()
    service.start()
    session.lock()
    assert device(session) == ("file", [])
    assert session.locker().returncode == 0
    # The daemon moves the key after other work, and after the unlock.
    wait_until(lambda: device(session) == ("host", []), "the move to the service")
    wait_until(lambda: not (session.vault / "device.key").exists(), "the end of the file")
    assert readable(session) == {FREE, *BOUND}
    begin(session)
    assert device(session) == ("host", [])
    assert readable(session) == {FREE, *BOUND}


def test_without_its_service_a_vault_makes_no_key_of_its_own(session, service):
    service.start()
    assert session.login().returncode == 0
    fill(session)
    service.stop()
    begin(session)
    state, reasons = device(session)
    assert state == "unavailable" and len(reasons) == 1
    (session.root / "device.sock").unlink()
    begin(session)
    state, reasons = device(session)
    assert state == "unavailable" and "it is missing" in reasons[0]
    assert "cannot be used now" in session.run("latchkey", "status").stdout
    assert not (session.vault / "device.key").exists()
    assert readable(session) == {FREE}
    # The running daemon notices that the service is back.
    service.start()
    session.lock()
    assert session.locker().returncode == 0
    assert device(session) == ("host", [])
    assert readable(session) == {FREE, *BOUND}


def test_a_service_that_does_not_answer_is_not_waited_for(session, service):
    assert session.login().returncode == 0
    fill(session)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as mute:
        mute.bind(str(session.root / "device.sock"))
        (session.root / "device.sock").chmod(0o666)
        mute.listen()
        session.lock()
        assert session.locker().returncode == 0
        assert device(session) == ("file", ["device key service: it does not answer"])
        assert readable(session) == {FREE, *BOUND}


@pytest.fixture
def other(session, service, stage):
    """The service of another machine, to which the user copied a home with an item of each class."""
    other = Service(program=stage / "usr/libexec/latchkey-deviced", path=service.path)
    try:
        service.start()
        assert session.login().returncode == 0
        fill(session)
        service.stop()
        other.start()
        begin(session)
        yield other
    finally:
        other.close()


def test_two_devices_share_a_home(session, service, other):
    """A home is copied from one machine to another. Each machine has its own service."""
    assert device(session) == ("host", [])
    assert readable(session) == {FREE}
    # A search still returns the unreadable items, so no program replaces these items.
    stolen = session.store("new", "class", BOUND[0], CLASS, BOUND[0], check=False)
    assert stolen.returncode != 0
    fill(session, "second", "yes")
    assert readable(session, "second", "yes") == {FREE, *BOUND}
    other.stop()
    service.start()
    begin(session)
    assert readable(session) == {FREE, *BOUND}
    assert readable(session, "second", "yes") == {FREE}


def test_what_an_item_of_another_device_keeps_from_being_stored(session, other):
    """The attributes of some classes are not readable on this device. An unreadable item may have the attributes of a
    new item, so the vault refuses to store the new item."""
    assert session.status()["other_device_items"] == len(BOUND)
    items = [{"label": name, "attributes": {"class": name}, "class": name, "content_type": "text/plain", "secret": "new",
              "created": 1, "modified": 4102444800, "require": ""} for name in (FREE, *BOUND)]  # fmt: skip
    content = {"format": "latchkey-export", "version": 1, "exported": "2026-01-01T00:00:00Z", "default": "login",
               "collections": [{"name": "login", "label": "Login", "items": items}]}  # fmt: skip
    done = run(session, "json", "--prefer", "there", "--json", place(session, "vault.json", json.dumps(content)))
    assert done.returncode == PARTLY, done.stderr
    told = {line["label"]: (line["outcome"], line["reason"]) for line in report(done)["lines"]}
    assert told[FREE][0] == "newer_there", told
    for number, name in enumerate(BOUND, 2):
        outcome, reason = told[name]
        assert outcome == "left" and reason.startswith(f"login/{number} has these attributes, and cannot be read: {FOREIGN};")
        words = [f"class={name}"]
        done = session.run("latchkey", "add", "--replace", "--label=new", *words, input="new")
        assert done.returncode == 1 and FOREIGN in done.stderr and "locked" not in done.stderr
        for change in (["--set", "a=b"], ["--class", FREE]):
            if "--class" in change or name in BOUND[2:]:
                done = session.run("latchkey", "edit", *change, *words)
                assert done.returncode == 1 and FOREIGN in done.stderr and "locked" not in done.stderr
        # The numbers that status shows for these items.
        session.run("latchkey", "rm", f"login/{number}", check=True)
        session.run("latchkey", "add", "--label=new", *words, input="new", check=True)
        assert session.lookup(*words[0].split("=")) == "new"
    assert session.status()["other_device_items"] == 0


def test_an_erased_secret_takes_its_class_along(session, service):
    service.start()
    assert session.login().returncode == 0
    fill(session)
    with service.peer(session.uid) as peer:
        peer.erase(session.uid)
    begin(session)
    name = "when-passcode-set-this-device-only"
    assert readable(session) == {FREE, *BOUND} - {name}
    assert device(session) == ("host", [])
    # The unreadable items are deleted, and new items of the class can be stored.
    assert json.loads(session.run("latchkey", "find", "--class", name, "--json").stdout) == []
    session.store("new", "class", "new", CLASS, name)
    begin(session)
    assert session.run("secret-tool", "lookup", "class", "new").stdout == "new"


def doctor(session, name):
    checks = json.loads(session.run("latchkey", "doctor", "--home", session.home, "--json").stdout)["checks"]
    return next(check for check in checks if check["id"] == name)


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.night("device")
@pytest.mark.parametrize("damage", ["device", "user", "missing"])
def test_doctor_says_what_helps_where_the_services_key_is_damaged(session, service, damage):
    """A restart does not help, because the service never replaces a damaged key file. The advice of doctor does help.
    """
    service.start()
    assert session.login().returncode == 0
    fill(session)
    service.stop()
    path = service.state / ("users/%d" % session.uid if damage == "user" else "device")
    content = path.read_bytes()
    path.unlink() if damage == "missing" else flip(path)
    service.start()
    begin(session)
    check = doctor(session, "device-key")
    assert check["state"] == "broken" and check["command"] is None
    # The advice moves the key of all users away only if that key itself is damaged.
    new = "'latchkey device forget' gives this user" if damage == "user" else "To create a new key: sudo systemctl stop"
    assert "back from a backup" in check["advice"] and new in check["advice"]
    assert ("latchkey.damaged" in check["advice"]) == (damage != "user")
    assert "device-key" in doctor(session, "vault")["advice"]
    # A person restores the file from a backup.
    service.stop()
    path.write_bytes(content)
    service.start()
    session.lock()
    assert session.locker().returncode == 0
    assert doctor(session, "device-key")["state"] == "ok" and readable(session) == {FREE, *BOUND}
    # A person has no backup of the file.
    service.stop()
    flip(path)
    service.start()
    begin(session)
    if damage == "user":
        with service.peer() as peer:
            peer.forget(session.uid)
    else:
        service.stop()
        service.state.rename(service.state.with_name("state.damaged"))
        service.state.mkdir(0o700)
        service.start()
    session.lock()
    assert session.locker().returncode == 0
    assert doctor(session, "device-key")["state"] == "ok" and readable(session) == {FREE}
    fill(session, "second", "yes")
    assert readable(session, "second", "yes") == {FREE, *BOUND}


@pytest.mark.night("device")
def test_doctor_says_what_helps_where_the_file_of_the_key_is_damaged(session):
    assert session.login().returncode == 0
    fill(session)
    path = session.vault / "device.key"
    flip(path)
    begin(session)
    check = doctor(session, "device-key")
    assert check["command"] is None and f"Put {path} back" in check["advice"]
    command = f"mv -nT {path} {path}.damaged"
    assert f"To create a new key: {command} && latchkey lock && latchkey unlock" in check["advice"]
    assert session.run("sh", "-c", command).returncode == 0
    session.lock()
    assert session.locker().returncode == 0
    assert device(session)[0] == "file" and readable(session) == {FREE}
    fill(session, "second", "yes")
    assert readable(session, "second", "yes") == {FREE, *BOUND}
    # With the device key file back in its place, the protected items are readable.
    flip(path.with_name("device.key.damaged"))
    path.with_name("device.key.damaged").rename(path)
    begin(session)
    assert readable(session) == {FREE, *BOUND}


def test_find_says_what_helps_where_no_device_key_gives_the_index(session, service):
    """Before the login, only a device key opens the index."""
    service.start()
    assert session.login().returncode == 0
    fill(session)
    service.stop()
    flip(service.state / "device")
    service.start()
    session.restart()
    session.status()
    for command in (("find", "class=always"), ("get", "class=always")):
        done = session.run("latchkey", *command)
        assert done.returncode != 0 and "no item can be found until the vault is unlocked" in done.stderr, done.stderr
    assert session.login().returncode == 0
    assert session.run("latchkey", "find", f"class={FREE}").returncode == 0
