"""latchkey import of files that programs of Debian 13 wrote, while this machine has the programs of Debian 12.
ForeignFiles/make creates the files.
"""

import pathlib

import pytest
from support.foreign import PASSWORD, seen
from support.importing import DONE, FAILED, arrived, carry, counts, encoded, run

pytestmark = [pytest.mark.night("imports"), pytest.mark.second_try]

FILES = pathlib.Path(__file__).with_name("ForeignFiles")
CORPUS = "org.example.Corpus"
WALLET = "Fol\u00e4"
KEYRING_ITEMS = [
    arrived("Plain", {"xdg:schema": CORPUS, "n": "1"}, b"secret 1"),
    arrived("Wide \u00e4\u6f22\U0001f511", {"xdg:schema": CORPUS, "n": "\u00e4"}, "\u00e4\u6f22\nline".encode()),
    arrived("Octets", {"xdg:schema": CORPUS, "n": "3"}, bytes(range(256))), arrived("Bare", {"n": "4"}, b"")]  # fmt: skip


def entry(name, kind, secret):
    return arrived(f"{WALLET}/{name}", {"xdg:schema": "org.qt.keychain", "server": WALLET, "user": name, "type": kind}, secret,
                   collection="kdewallet")


WALLET_ITEMS = [
    entry("plain", "plaintext", "secret \u6f22".encode()), entry("map", "map", b'{"k":"v"}'),
    entry("stream", "base64", encoded(bytes(range(256))).encode())]  # fmt: skip


@pytest.mark.parametrize("provider, names, folder, items", [
    ("gnome-keyring", ["login.keyring"], "keyrings", KEYRING_ITEMS),
    ("kwallet", ["kdewallet.kwl", "kdewallet.salt"], "kwalletd", WALLET_ITEMS)], ids=["gnome-keyring-48", "kwallet-6.13"])  # fmt: skip
def test_everything_arrives(unlocked, provider, names, folder, items):
    carry(unlocked, [FILES / name for name in names], f".local/share/{folder}")
    wrong = run(unlocked, provider, password="wrong")
    assert wrong.returncode == FAILED and "does not open with that password" in wrong.stderr
    for outcome in ("added", "same"):
        done = run(unlocked, provider, "--json", password=PASSWORD)
        assert done.returncode == DONE and counts(done) == {"items": len(items), outcome: len(items)}, done.stderr
        assert seen(unlocked) == sorted(items)
