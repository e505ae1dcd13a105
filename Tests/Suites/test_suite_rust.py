"""The tests of the Rust crate secret-service, from Debian's source package, with Debian's crates."""

import pathlib
import shutil

from service import outcomes
from sources import build, make_readable
from suite import Suite, needs_all

REGISTRY = pathlib.Path("/usr/share/cargo/registry")
CRATE = "secret-service-2.0.1"
CONFIGURATION = f"""[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "{REGISTRY}"
"""
SUITE = Suite("secret-service (Rust)", "2.0.1", 32, failing={
    "collection::test::should_delete_collection": "ends with assert!(false), as its authors left it",
    "test::should_create_and_delete_collection": "gives the collection's label as an item's property, so both daemons make `unnamed`",
})
LINE = r"^test (?P<name>\S+) \.\.\. (?P<how>ok|FAILED|ignored)"
HOW = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}


@needs_all
def test_rust(service, folder, judge):
    place = folder / CRATE
    shutil.copytree(REGISTRY / CRATE, place, dirs_exist_ok=True)
    (place / ".cargo").mkdir(exist_ok=True)
    (place / ".cargo/config.toml").write_text(CONFIGURATION)
    build("/usr/bin/cargo", "test", "--offline", "--no-run", folder=place,
          CARGO_HOME=str(folder / "cargo"), RUSTC="/usr/bin/rustc", RUSTDOC="/usr/bin/rustdoc")
    make_readable(folder)
    [program] = [file for file in (place / "target/debug/deps").glob("secret_service-*") if not file.suffix]
    output = service.run(program, "--test-threads=1", folder=folder)
    found = outcomes(LINE, output, HOW)
    # The authors ignore the tests that lock or delete objects, because some leave the collection locked. So each of
    # these tests begins after an unlock of everything.
    for name in [name for name, how in found.items() if how == "skipped"]:
        service.unlock_all()
        one = service.run(program, "--include-ignored", "--exact", name, folder=folder)
        found |= outcomes(LINE, one, HOW)
        output += one
    judge(SUITE, found, output)
