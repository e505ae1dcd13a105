"""latchkey export of a large set of items into each kind of target. Another program then reads all the items. The part
`corpora` takes 2,000 items.
"""

import csv

import pytest
from support.archive import opened
from support.corpus import COUNT, OCTETS, TEXT, TIMEOUT, items
from support.exporting import DONE, FAILED, PARTLY, attached, database, export, fill, private_folder
from support.foreign import PASSWORD, GnomeKeyring, KWallet, seen
from support.importing import counts

pytestmark = pytest.mark.night("imports")


@pytest.fixture(scope="module")
def full(stage):
    """A vault with all items. No test changes the vault."""
    with opened(stage) as session:
        fill(session, [(None, items())])
        session.out = private_folder(session)
        yield session


def stored(items):
    """Items without the label of their collection, because each program names its default collection differently."""
    return sorted(item[1:] for item in items)


@pytest.mark.parametrize("program", [GnomeKeyring, KWallet])
def test_into_a_running_program(full, program):
    other = program(full)
    if program is KWallet:
        # KWallet's Secret Service only has wallets that existed at its start.
        other.write_entries([])
        other.stop()
        other.start()
    try:
        for outcome in ("exported", "same"):
            done = export(full, "service", "--bus", other.bus, "--json", timeout=TIMEOUT)
            assert done.returncode == DONE and counts(done) == {"items": COUNT, outcome: COUNT}, done.stdout + done.stderr
            # The comparison is outside the assertion, because pytest would print all items.
            is_same = stored(seen(other)) == stored(seen(full))
            assert is_same
    finally:
        other.close()


def test_into_a_database(full):
    file = full.out / "all.kdbx"
    done = export(full, "keepass", "--json", file, lines=[PASSWORD], timeout=TIMEOUT)
    assert done.returncode == DONE and counts(done) == {"items": COUNT, "exported": COUNT}, done.stderr
    found, xml = [], database(full, file)
    files = attached(xml)
    for entry in xml.iter("Entry"):
        fields = {one.findtext("Key"): one.findtext("Value") or "" for one in entry.findall("String")}
        named = {name: fields[name] for name in ("xdg:schema", "n")}
        # Binary secrets are in an attached file, and a field has their content type.
        own = {one.findtext("Key"): files[one.find("Value").get("Ref")] for one in entry.findall("Binary")}
        secret = own.get("FDO_SECRETS_DATA", fields["Password"].encode())
        found.append((fields["Title"], named, secret, fields.get("FDO_SECRETS_CONTENT_TYPE", TEXT)))
    assert sorted(found, key=str) == sorted(items(), key=str)
    before = file.read_bytes()
    assert export(full, "keepass", file, lines=[PASSWORD], timeout=TIMEOUT).returncode == FAILED and file.read_bytes() == before


def test_into_csv(full):
    file = full.out / "all.csv"
    done = export(full, "csv", "--plain", "--json", file, timeout=TIMEOUT)
    texts = [item for item in items() if item[3] != OCTETS]
    assert done.returncode == PARTLY, done.stderr
    assert counts(done) == {"items": COUNT, "exported": len(texts), "left": COUNT - len(texts)}
    with file.open(newline="") as rows:
        found = [(row["name"], row["password"]) for row in csv.DictReader(rows)]
    assert sorted(found) == sorted((label, value.decode()) for label, _, value, _ in texts)
