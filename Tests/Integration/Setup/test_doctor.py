"""`latchkey doctor` as a program: its output, its exit status, and its view of the machine. DoctorTests tests the
single checks on files of several distributions, and Desktop tests them on the booted system.
"""

import json
import os
import re
import shutil
import subprocess

import pytest
from support.disk import filled, read_only, small_disk
from support.session import wait_until

WELL, CANNOT_LOOK, USAGE, TO_FIX = 0, 1, 64, 4
KEYS = {"id", "state", "found", "command", "advice"}
SERVICE = """\
auth requisite pam_unix.so
auth optional pam_latchkey.so
password required pam_unix.so
password optional pam_latchkey.so
session optional pam_systemd.so
session optional pam_latchkey.so
"""


@pytest.fixture
def machine(session, stage):
    """The files of a machine without problems."""
    root = session.root / "machine"
    folders = ["etc/pam.d", "usr/lib/x-linux-gnu/security", "usr/libexec", "home/x", "proc/self",
               "usr/lib/systemd/user/sockets.target.wants", "usr/share/dbus-1/services", "run"]  # fmt: skip
    for folder in folders:
        (root / folder).mkdir(parents=True)
    (root / "etc/pam.d/login").write_text(SERVICE)
    for service in (stage / "etc/pam.d").iterdir():
        (root / "etc/pam.d" / service.name).write_text(service.read_text())
    for unit in (stage / "usr/lib/systemd/user").glob("latchkey*"):
        (root / "usr/lib/systemd/user" / unit.name).write_text(unit.read_text())
    (root / "usr/lib/systemd/user/sockets.target.wants/latchkeyd.socket").symlink_to("../latchkeyd.socket")
    for file in (stage / "usr/share/dbus-1/services").iterdir():
        (root / "usr/share/dbus-1/services" / file.name).write_text(file.read_text())
    module = next(stage.rglob("pam_latchkey.so")).read_bytes()
    for name in ("pam_unix.so", "pam_latchkey.so"):
        (root / "usr/lib/x-linux-gnu/security" / name).write_bytes(module)
    for name in ("latchkeyd", "latchkey-derive", "latchkey-prompt", "latchkey-deviced"):
        (root / "usr/libexec" / name).touch(0o755)
    (root / "home/x").chmod(0o700)
    if os.getuid() == 0:
        os.chown(root / "home/x", session.uid, session.gid)
    (root / "proc/self/mountinfo").write_text("1 0 0:1 / / rw - ext4 /dev/x rw\n")
    # If root runs the tests, no password opens the session's account.
    passwd(session, "P 2025-05-20 0 99999 7 -1")
    return root


def passwd(session, words):
    """Installs a stand-in for passwd(1) that reports these words about the account."""
    folder = session.root / "machine-programs"
    folder.mkdir(exist_ok=True)
    (folder / "passwd").write_text(f"#!/bin/sh\n[ \"$*\" = -S ] && echo {session.user} {words}\n")
    (folder / "passwd").chmod(0o755)
    if str(folder) not in session.environment["PATH"]:
        session.environment["PATH"] = f"{folder}:{session.environment['PATH']}"


def doctor(session, root, *arguments):
    return session.run("latchkey", "doctor", "--root", root, "--home", "/home/x", *arguments)


def report(session, root):
    done = doctor(session, root, "--json")
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert all(set(check) == KEYS for check in found["checks"])
    return done.returncode, found["state"], {check["id"]: check for check in found["checks"]}


def test_what_it_prints(session, machine):
    """A session without a user manager, logind and the device key service. doctor cannot check some parts of it."""
    session.login()
    status, state, checks = report(session, machine)
    amiss = {name for name, check in checks.items() if check["state"] not in ("ok", "unknown")}
    # If another user than root installed the module, the module's check fails too. No session has logind.
    assert amiss - {"module"} == {"device-key", "lock-news"} and (status, state) == (TO_FIX, "broken")
    assert checks["pam.login"]["state"] == checks["vault"]["state"] == checks["memory.locked"]["state"] == "ok"
    assert checks["unit.socket"]["state"] == checks["memory.manager"]["state"] == "unknown"
    done = doctor(session, machine)
    assert done.returncode == status and done.stderr == ""
    lines = [line for line in done.stdout.splitlines() if not line.startswith("  fix: ")]
    assert [line.split()[1] for line in lines] == list(checks)
    assert len({re.match(r"\S+ +\S+ +", line).end() for line in lines}) == 1, "columns"


def test_a_throwaway_session_says_what_it_looks_at(session):
    done = session.run("latchkey", "doctor", "--json")
    assert done.stderr.startswith("What follows is about this machine") and json.loads(done.stdout)["checks"]


@pytest.mark.skipif(os.getuid() != 0, reason="a module is root's")
def test_the_exit_status(session, machine):
    # The daemon would report that it has no logind. Without the daemon, doctor finds only one problem: no provider owns
    # the name.
    session.stop_daemon()
    found = report(session, machine)
    assert {name for name, check in found[2].items() if check["state"] not in ("ok", "unknown")} == {"name"}
    environment = {name: value for name, value in session.environment.items() if name != "DBUS_SESSION_BUS_ADDRESS"}
    session.environment = environment | {"XDG_RUNTIME_DIR": "/nowhere"}
    assert report(session, machine)[:2] == (CANNOT_LOOK, "unknown")
    (machine / "etc/pam.d/login").write_text(SERVICE.replace("password optional pam_latchkey.so\n", ""))
    status, state, checks = report(session, machine)
    assert (status, state, checks["pam.login"]["state"]) == (TO_FIX, "warning", "warning")
    assert checks["pam.login"]["command"].endswith("'password optional pam_latchkey.so' | sudo tee -a /etc/pam.d/login >/dev/null")
    (machine / "etc/pam.d/login").write_text("auth requisite pam_unix.so\n")
    assert report(session, machine)[:2] == (TO_FIX, "broken")
    assert doctor(session, machine, "--bogus").returncode == USAGE


def test_without_a_session(session, machine):
    environment = {name: value for name, value in session.environment.items() if name != "DBUS_SESSION_BUS_ADDRESS"}
    environment["XDG_RUNTIME_DIR"] = "/nowhere"
    done = session.run("latchkey", "doctor", "--json", "--root", machine, "--home", "/home/x", env=environment)
    checks = {check["id"]: check for check in json.loads(done.stdout)["checks"]}
    assert done.stderr == "" and checks["pam.login"]["state"] == "ok"
    for name in ("name", "unit.socket", "vault", "device-key", "activation"):
        assert checks[name]["state"] == "unknown" and checks[name]["command"] is None


def test_files_cannot_command_the_terminal(session, machine):
    (machine / "etc/pam.d/login").write_text("auth include \x1b[2Jgone\n")
    for arguments in ([], ["--json"]):
        assert "\x1b" not in doctor(session, machine, *arguments).stdout


# The locker's service, the file that it includes, and whether the right password then reaches the vault.
STACKS = {
    "requisite": ("auth requisite {ask}\nauth optional {ours}\n", "", True),
    "jump over deny": (
        "auth [success=1 default=ignore] {ask}\nauth requisite pam_deny.so\nauth required pam_permit.so\nauth optional {ours}\n",
        "", True),
    "jump over ours": (
        "auth [success=2 default=ignore] {ask}\nauth requisite pam_deny.so\nauth optional {ours}\nauth required pam_permit.so\n",
        "", False),
    "sufficient": ("auth sufficient {ask}\nauth required pam_deny.so\nauth optional {ours}\n", "", False),
    "done": ("auth [success=done default=die] {ask}\nauth optional {ours}\n", "", False),
    "include ends all": ("auth include {inner}\nauth optional {ours}\n", "auth sufficient {ask}\nauth required pam_deny.so\n", False),
    "@include ends all": ("@include {inner}\nauth optional {ours}\n", "auth sufficient {ask}\nauth required pam_deny.so\n", False),
    "substack ends itself": (
        "auth substack {inner}\nauth optional {ours}\n", "auth sufficient {ask}\nauth required pam_deny.so\n", True),
    "substack dies alone": (
        "auth substack {inner}\nauth optional {ours}\n", "auth [success=done default=die] {ask}\n", True),
    "jump within a substack": (
        "auth substack {inner}\nauth optional {ours}\n",
        "auth [success=1 default=ignore] {ask}\nauth requisite pam_deny.so\nauth required pam_permit.so\n", True),
    "jump to a substack's end": (
        "auth substack {inner}\nauth required pam_permit.so\nauth optional {ours}\n",
        "auth [success=1 default=ignore] {ask}\nauth requisite pam_deny.so\n", True),
    "jump over a substack": (
        "auth [default=1] pam_permit.so\nauth substack {inner}\nauth requisite {ask}\nauth optional {ours}\n",
        "auth required pam_env.so\nauth requisite pam_deny.so\n", True),
    "before": ("auth optional {ours}\nauth requisite {ask}\n", "", False),
}  # fmt: skip


def test_its_verdict_is_what_libpam_does(session, machine):
    """Compares libpam and doctor on each stack."""
    session.login()
    lines = (session.root / "pam.d/i3lock").read_text().splitlines()
    places = {"ask": lines[0].split("required")[1].strip(), "ours": lines[1].split("optional")[1].strip()}
    for name, (outer, inner, opens) in STACKS.items():
        # In the session, libpam finds services in another folder. An included file needs its full path there.
        for folder, path in ((session.root / "pam.d", session.root / "pam.d/inner"), (machine / "etc/pam.d", "inner")):
            (folder / "i3lock").write_text(outer.format(**places, inner=path))
            (folder / "inner").write_text(inner.format(**places))
        session.lock()
        assert session.locker().returncode == 0, f"{name}: the right password is not accepted"
        assert (session.status()["state"] == "unlocked") == opens, name
        assert report(session, machine)[2]["pam.i3lock"]["state"] == ("ok" if opens else "broken"), name


def nothing(folder):
    pass


def damaged_keybag(folder):
    data = bytearray((folder / "keybag").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "keybag").write_bytes(data)


def damaged_keybags(folder):
    damaged_keybag(folder)
    (folder / "keybag.copy").unlink()


def no_database(folder):
    (folder / "vault.db").unlink()


def a_file_that_is_no_database(folder):
    (folder / "vault.db").write_bytes(b"x" * 4096)


def no_database_and_no_generation(folder):
    no_database(folder)
    shutil.rmtree(folder / "generations")


def a_folder_in_its_place(folder):
    no_database(folder)
    (folder / "vault.db").mkdir()


def an_unreadable_database(folder):
    (folder / "vault.db").chmod(0)


def somebody_elses_keybag(folder):
    os.chown(folder / "keybag", 0, 0)


def a_link_to_a_file_of_roots(folder):
    (folder / "keybag").unlink()
    (folder / "keybag").symlink_to("/etc/shadow")


REPAIR = "latchkey lock && latchkey unlock"
FILES = {
    nothing: ("ok", None), damaged_keybag: ("warning", REPAIR), damaged_keybags: ("broken", "start-empty"),
    no_database: ("broken", REPAIR), a_file_that_is_no_database: ("broken", REPAIR), a_folder_in_its_place: ("broken", REPAIR),
    no_database_and_no_generation: ("broken", "start-empty"), an_unreadable_database: ("broken", "chmod 600"),
    somebody_elses_keybag: ("broken", "mv -nT"), a_link_to_a_file_of_roots: ("broken", "mv -nT"),
}  # fmt: skip


@pytest.mark.night("vault")
@pytest.mark.parametrize("change", FILES)
def test_files_that_cannot_be_used_are_found_without_the_vault(session, change):
    """No daemon runs, as after a login in which the daemon could not start."""
    if change is somebody_elses_keybag and os.getuid() != 0:
        pytest.skip("needs root")
    session.login()
    session.store("x", "n", "1")
    session.stop_daemon()
    change(session.vault)
    done = session.run("latchkey", "doctor", "--home", session.home, "--json")
    check = next(check for check in json.loads(done.stdout)["checks"] if check["id"] == "vault.files")
    state, fix = FILES[change]
    assert check["state"] == state and (fix or "") in (check["command"] or check["advice"] or ""), check
    # At any moment, a program of the session can replace a file below the home by a link to a root-owned file.
    assert "sudo" not in (check["command"] or ""), check


def test_an_account_by_which_no_password_fits(session, machine):
    """passwd reports fewer fields for an account of a directory service."""
    session.stop_daemon()
    for words, state in (("L 2025-05-20 0 99999 7 -1", "warning"), ("P 2025-05-20 0 99999 7 -1", "ok"), ("L", "ok")):
        passwd(session, words)
        check = report(session, machine)[2]["vault.files"]
        assert check["state"] == state and (state == "ok" or f"sudo passwd {session.user}" in check["advice"]), words


@pytest.mark.parametrize("mask", [None, "home/x/.config/systemd/user", "etc/systemd/user"])
def test_a_vault_that_a_login_did_not_finish(session, machine, mask):
    """The first login came while Latchkey was off. The helper made the keybag, but no daemon made the database."""
    session.stop_daemon()
    shutil.copytree(session.vault, machine / "home/x/.local/share/latchkey")
    subprocess.run(["chown", "-R", f"{session.uid}:{session.gid}", machine / "home/x"], check=True)
    if mask:
        (machine / "dev").mkdir()
        (machine / "dev/null").touch()
        (machine / mask).mkdir(parents=True)
        for kind in ("socket", "service"):
            (machine / mask / f"latchkeyd.{kind}").symlink_to("/dev/null")
    check = report(session, machine)[2]["vault.files"]
    assert (check["state"], check["command"]) == (("ok", None) if mask else ("warning", "latchkey unlock"))
    assert "there is no vault.db yet" in check["found"]
    # A login with the daemon completes the vault.
    session.start_daemon()
    session.login()
    assert (session.vault / "vault.db").exists() and session.status()["problems"] == []


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a disk")
def test_a_disk_without_room_for_a_vault(session):
    with small_disk() as place:
        for room, state in ((2 << 20, "warning"), (6 << 20, "ok")):
            with filled(place, room):
                done = session.run("latchkey", "doctor", "--home", place, "--json")
            check = next(check for check in json.loads(done.stdout)["checks"] if check["id"] == "home.file-system")
            assert check["state"] == state and (state == "ok" or "4 MiB" in check["found"]), check


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a disk")
def test_a_disk_on_which_nothing_can_be_written(session):
    with small_disk() as place, read_only(place):
        done = session.run("latchkey", "doctor", "--home", place, "--json")
    check = next(check for check in json.loads(done.stdout)["checks"] if check["id"] == "home.file-system")
    assert check["state"] == "broken" and "for writing" in check["advice"]


def test_files_that_were_moved_while_in_use_are_found(session):
    session.login()
    session.vault.rename(session.vault.with_name("away"))
    done = session.run("latchkey", "doctor", "--home", session.home, "--json")
    check = next(check for check in json.loads(done.stdout)["checks"] if check["id"] == "vault.files")
    assert check["state"] == "broken" and "Move them back" in check["advice"]


def test_logins_without_the_module_are_no_fault_where_latchkey_is_off_for_all(session, machine):
    """`pam-auth-update --disable latchkey` and `systemctl --global mask` leave this state."""
    (machine / "etc/systemd/user").mkdir(parents=True)
    (machine / "etc/pam.d/login").write_text("".join(line for line in SERVICE.splitlines(True) if "latchkey" not in line))
    session.stop_daemon()
    assert report(session, machine)[2]["pam.login"]["state"] == "broken"
    for kind in ("socket", "service"):
        (machine / f"etc/systemd/user/latchkeyd.{kind}").symlink_to("/dev/null")
    check = report(session, machine)[2]["pam.login"]
    assert check["state"] == "ok" and "not needed while Latchkey is off" in check["found"] and check["command"] is None


def test_edited_files_of_pam_have_another_way(session, machine):
    """pam-auth-update does not change edited files, and ends with status 0."""
    session.stop_daemon()
    (machine / "etc/os-release").write_text("ID=debian\n")
    for name in ("usr/share/pam-configs/latchkey", "usr/sbin/pam-auth-update"):
        (machine / name).parent.mkdir(parents=True, exist_ok=True)
        (machine / name).touch()
    (machine / "etc/pam.d/common-auth").write_text("auth requisite pam_unix.so\n")
    (machine / "etc/pam.d/common-session").write_text("session optional pam_systemd.so\n")
    (machine / "etc/pam.d/common-password").write_text("password required pam_unix.so\n")
    for name in ("login", "sshd"):
        (machine / "etc/pam.d" / name).write_text("".join(f"@include common-{kind}\n" for kind in ("auth", "session", "password")))
    check = report(session, machine)[2]["pam.login"]
    assert check["command"] == "sudo pam-auth-update --enable latchkey" and "Do not use --force" in check["advice"]
    text = doctor(session, machine).stdout
    assert text.count("Do not use --force") == 1 and "fix: as above" in text, "once for all of them"


def test_a_password_that_root_changed_has_the_command_that_asks_for_the_former(session):
    session.login()
    wait_until(lambda: session.status()["state"] == "unlocked", "the keys")
    session.logout()
    # On a busy machine, the helpers of a login and a logout still run in the background.
    wait_until(lambda: session.status()["state"] == "sealed", "the end of the session")
    session.login("another password")
    wait_until(lambda: session.status()["needs_former_password"], "the password to be found wrong")
    done = session.run("latchkey", "doctor", "--home", session.home, "--json")
    check = next(check for check in json.loads(done.stdout)["checks"] if check["id"] == "vault")
    assert check["state"] == "broken" and check["command"] == "latchkey unlock"


def test_a_latchkey_that_was_turned_off_is_no_fault(session, machine):
    """`latchkey switch --back` and `systemctl --user mask` leave this state."""
    units = machine / "home/x/.config/systemd/user"
    units.mkdir(parents=True)
    for kind in ("socket", "service"):
        (units / f"latchkeyd.{kind}").symlink_to("/dev/null")
    session.stop_daemon()
    _, _, checks = report(session, machine)
    assert {name for name, check in checks.items() if check["state"] != "ok"} <= {"module", "unit.device", "memory.manager"}
    assert "on purpose" in checks["unit.socket"]["found"] and "systemctl --user unmask" in checks["unit.socket"]["found"]
