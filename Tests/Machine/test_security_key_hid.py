"""A security key on a separate machine. The kernel's HID devices, udev and libfido2 are real, and the key is software.
"""

from qemu import eventually
from sight import INSIDE, await_state, log_in, status

PASSWORD, PIN = "sesame-1", "135790"


def test_a_key_that_was_added_unlocks_after_a_lock_and_not_after_its_removal(machine):
    console, root = machine.console, machine.root
    root.run("modprobe uhid")
    root.run(f"setsid {INSIDE}/softwarekey {PIN} >/run/key 2>&1 </dev/null &")
    eventually(lambda: root.run("grep connected /run/key && ls /dev/hidraw*", check=False).returncode == 0, what="the key")
    # udev recognizes a security key. A session at a screen may then use it, but a session on a serial line has no seat.
    assert "ID_FIDO_TOKEN=1" in root.run("udevadm settle; udevadm info --no-pager -q property /dev/hidraw0").stdout
    root.run("chown alice /dev/hidraw0")
    log_in(console, PASSWORD)
    try:
        added = console.run(f"printf '{PASSWORD}\\n{PIN}\\n' | latchkey protector add security-key --name blue --stdin")
        assert "Touch your security key once more." in added.stdout and "under the name blue" in added.stdout
        assert [one["kind"] for one in status(console)["protectors"]] == ["password", "security-key"]
        console.run("latchkey lock")
        await_state(console, "locked")
        wrong = console.run("printf '0000\\n' | latchkey unlock --security-key --stdin", check=False)
        assert wrong.returncode == 1 and "7 tries are left" in wrong.stdout
        console.start("latchkey unlock --security-key")
        console.answer("PIN of the security key: ", PIN)
        assert "Touch your security key." in console.finish().stdout
        await_state(console, "unlocked")
        console.run(f"echo {PASSWORD} | latchkey protector remove security-key blue --stdin")
        console.run("latchkey lock")
        done = console.run(f"echo {PIN} | latchkey unlock --security-key --stdin", check=False)
        assert done.returncode == 1 and "no security key unlocks this vault" in done.stdout
    finally:
        console.logout()
