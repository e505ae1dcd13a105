"""The floors of Sources: a module declares and imports only modules of its own floor or of a lower one."""

import json
import os
import pathlib
import re
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

# The lower floors of each floor.
BELOW = {
    "C": [],
    "System": ["C"],
    "Vault": ["C", "System"],
    "Wire": ["C", "System", "Vault"],
    "Daemon": ["C", "System", "Vault", "Wire"],
    "Prompt": ["C", "System", "Vault", "Wire"],
    "Tools": ["C", "System", "Vault", "Wire"],
    "PAM": ["C"],
    "KeychainServices": ["C", "System", "Vault", "Wire"],
    "Programs": ["C", "System", "Vault", "Wire", "Daemon", "Prompt", "Tools"],
}
IMPORT = re.compile(r"^\s*(?:@\w+(?:\(\w+\))? )*(?:(?:public|internal|package|private|fileprivate) )?import (?:\w+ )?(\w+)", re.M)


@pytest.fixture(scope="module")
def targets(tmp_path_factory):
    """The targets of the folder Sources by name, each with its floor, its folder and the names that it depends on."""
    # SwiftPM locks the folder that it works in, by a file in TMPDIR. With another folder, no build holds that lock, and the file
    # belongs to no other user. The window's targets exist only in `make window`.
    folder = str(tmp_path_factory.mktemp("manifest"))
    told = subprocess.run(
        ["swift", "package", "--scratch-path", folder, "dump-package"], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True,
        check=True, env=os.environ | {"LATCHKEY_WINDOW": "1", "TMPDIR": folder})
    found = {}
    for target in json.loads(told.stdout)["targets"]:
        path = pathlib.PurePath(target.get("path") or "")
        if path.parts[:1] == ("Sources",):
            names = [next(iter(one.values()))[0] for one in target["dependencies"] if "product" not in one]
            found[target["name"]] = (path.parts[1], REPOSITORY / path, names)
    return found


def test_every_folder_is_a_floor_with_a_target_or_more(targets):
    floors = {path.name for path in (REPOSITORY / "Sources").iterdir()}
    assert floors == set(BELOW) == {floor for floor, _, _ in targets.values()}
    folders = {path for path in (REPOSITORY / "Sources").glob("*/*") if path.is_dir()}
    assert folders == {folder for _, folder, _ in targets.values()}
    for floor in floors:
        assert (REPOSITORY / "Sources" / floor / "README.md").is_file(), floor


def test_what_is_declared_points_down(targets):
    for name, (floor, _, dependencies) in targets.items():
        for dependency in dependencies:
            assert targets[dependency][0] in [floor, *BELOW[floor]], (name, dependency)


def test_what_is_imported_is_declared(targets):
    """A build sees all modules, so the compiler may not notice a missing declaration."""
    imports = 0
    for name, (_, folder, dependencies) in targets.items():
        for file in folder.rglob("*.swift"):
            for imported in IMPORT.findall(file.read_text()):
                # The module of a removed target can still be in a build folder.
                assert imported in targets or not imported.startswith(("Latchkey", "CLatchkey")), (file, imported)
                if imported in targets:
                    imports += 1
                    assert imported in dependencies, (file, imported)
    assert imports > 500


def test_only_the_client_library_imports_foundation():
    """A program that links FoundationEssentials is 6 MB larger, and `make build` has a stand-in with that name."""
    found = {}
    for file in (REPOSITORY / "Sources").rglob("*.swift"):
        floor = file.relative_to(REPOSITORY / "Sources").parts[0]
        if any(imported.startswith("Foundation") for imported in IMPORT.findall(file.read_text())):
            found.setdefault(floor, []).append(file)
    assert found.keys() == {"KeychainServices"}, found


def test_every_module_opens_with_what_it_is(targets):
    """The head comment has 20 to 40 lines: the purpose of the module, its use, its promises, and its limits. DocC has these pages
    for the client library."""
    documented = {folder.parent.name for folder in (REPOSITORY / "Sources").rglob("*.docc")}
    opened = 0
    for name, (floor, folder, _) in targets.items():
        if floor == "C" or folder.name.removesuffix("Module") in documented:
            continue
        first = next(path for path in (folder / f"{folder.name}.swift", folder / "Latchkey.swift", folder / "main.swift") if path.is_file())
        comment = re.match(r"(?://(?!/).*\n)*", first.read_text())[0].splitlines()
        assert comment and comment[0].startswith(f"// {folder.name}: "), first
        assert 20 <= len(comment) <= 40, (first, len(comment))
        opened += 1
    assert opened > 40
