"""latchkey import oo7: keyrings of version 1 from libsecret's own file backend, and keyrings in the form that oo7
writes.
"""

import pytest
from support.foreign import PASSWORD, seen
from support.importing import DONE, FAILED, PARTLY, arrived, carry, counts, place, run, state, variant_keyring

pytestmark = pytest.mark.night("imports")

FOLDER = ".local/share/keyrings/v1"
APP = "org.example.App"
WIDE = "\u00e4\u6f22\U0001f511"
# Label, attributes, secret, content type.
ITEMS = [
    (f"Label {WIDE}", {"xdg:schema": "org.example.Schema", "n": "1", "empty": "", "na me": WIDE + "\n="}, b"secret", "text/plain"),
    ("octets", {"n": "2"}, bytes(range(256)) * 300, "application/octet-stream"),
    ("", {"n": "3"}, b"", "text/plain"),
    ("no attributes", {}, b"x", "text/plain"),
]  # fmt: skip


def all_arrived(items, collection):
    return sorted(arrived(label, attributes, secret, collection) for label, attributes, secret, _ in items)


def test_everything_arrives(unlocked):
    place(unlocked, f"{FOLDER}/login.keyring", variant_keyring(PASSWORD.encode(), ITEMS))
    # The first keyring is empty. In the second, the offsets have four bytes each.
    place(unlocked, f"{FOLDER}/none.keyring", variant_keyring(PASSWORD.encode(), []))
    large = [("large", {"n": "4"}, bytes(range(251)) * 300, "text/plain")]
    place(unlocked, f"{FOLDER}/large.keyring", variant_keyring(PASSWORD.encode(), large))
    folder = unlocked.home / FOLDER
    before = state(folder)
    done = run(unlocked, "oo7")
    assert done.returncode == DONE and f"rm -- '{folder}/login.keyring'" in done.stdout, done.stderr
    assert seen(unlocked) == sorted(all_arrived(ITEMS, "Login") + all_arrived(large, "large"))
    assert counts(run(unlocked, "oo7", "--json")) == {"items": 5, "same": 5} and state(folder) == before
    shown = unlocked.run("latchkey", "get", "--json", "--show", "n=2").stdout
    assert '"content_type" : "application/octet-stream"' in shown
    assert PASSWORD not in done.stdout + done.stderr + unlocked.log()


def test_what_libsecret_wrote(unlocked):
    file = unlocked.home / "apart.keyring"
    environment = unlocked.environment | {
        "SECRET_BACKEND": "file", "SECRET_FILE_TEST_PATH": str(file), "SECRET_FILE_TEST_PASSWORD": PASSWORD}
    for number in range(3):
        unlocked.run("secret-tool", "store", f"--label={WIDE} {number}", "n", str(number), "empty", "",
                     input=f"secret {number}", env=environment, check=True)  # fmt: skip
    done = run(unlocked, "oo7", file)
    assert done.returncode == DONE, done.stderr
    assert seen(unlocked) == all_arrived(
        [(f"{WIDE} {number}", {"n": str(number), "empty": ""}, f"secret {number}".encode(), "") for number in range(3)], "apart")


def test_a_sandboxed_application(unlocked):
    folder = f".var/app/{APP}/data/keyrings"
    secret = bytes(range(64))
    place(unlocked, f"{folder}/default.keyring", variant_keyring(secret, ITEMS))
    done = run(unlocked, "oo7", "--app", APP)
    assert done.returncode != DONE and f"no item with the attribute app_id={APP}" in done.stderr
    unlocked.run("latchkey", "add", f"app_id={APP}", "--label", "portal", input="wrong", check=True)
    assert "does not open with that password" in run(unlocked, "oo7", "--app", APP).stderr
    unlocked.run("latchkey", "rm", f"app_id={APP}", check=True)
    # An import first brings the portal's secret into the vault, as from gnome-keyring. Then the application's file
    # opens with that secret.
    place(unlocked, f"{FOLDER}/login.keyring",
          variant_keyring(PASSWORD.encode(), [("portal", {"app_id": APP}, secret, "application/octet-stream")]))
    assert run(unlocked, "oo7").returncode == DONE
    # The keyring beside the application's own needs another secret, so the command skips it.
    place(unlocked, f"{folder}/login.keyring", variant_keyring(b"another", ITEMS))
    done = run(unlocked, "oo7", "--app", APP, password="nobody asks")
    assert done.returncode == DONE, done.stderr
    assert [item for item in seen(unlocked) if item[0] == APP] == all_arrived(ITEMS, APP)


def test_what_cannot_be_read(unlocked):
    whole = variant_keyring(PASSWORD.encode(), ITEMS[:1])
    file = place(unlocked, "cut.keyring", whole)
    done = run(unlocked, "oo7", file, password="wrong")
    assert done.returncode == FAILED and "does not open with that password. Nothing was imported." in done.stderr
    for size in [*range(0, 70, 5), len(whole) // 2, len(whole) - 3, len(whole) - 1]:
        file.write_bytes(whole[:size])
        done = run(unlocked, "oo7", file)
        assert done.returncode == FAILED and "Nothing was imported" in done.stderr, (size, done)
    # This change flips one bit of the encrypted part.
    at = len(whole) - 80
    file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert run(unlocked, "oo7", file).returncode == FAILED
    # If another keyring is good, the command leaves out the damaged one.
    carry(unlocked, [file], FOLDER)
    place(unlocked, f"{FOLDER}/login.keyring", variant_keyring(PASSWORD.encode(), ITEMS))
    done = run(unlocked, "oo7")
    assert done.returncode == PARTLY and "cut / all of its items" in done.stdout and "rm --" not in done.stdout
