"""Definitions that other programs need in several places are the same everywhere."""

import collections
import re

from support.documents import REPOSITORY
from support.wire import MESSAGES, SOURCES

# File names that a tool prescribes in every folder.
PRESCRIBED = {"README.md", "__init__.py", "conftest.py", "main.swift", "Package.swift", "provision"}


def one(pattern, path):
    """The only match of `pattern` in the file."""
    (found,) = re.findall(pattern, (REPOSITORY / path).read_text(), re.M)
    return found


def test_every_package_has_the_version_of_the_programs():
    version = one(r'static let version = "([^"]+)"', "Sources/Programs/latchkey/Latchkey.swift")
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    newest = re.match(r"latchkey \(([^)]+)\)", (REPOSITORY / "debian/changelog").read_text())
    spec = (REPOSITORY / "packaging/fedora/latchkey.spec").read_text()
    assert {
        "debian/changelog": newest[1],
        "PKGBUILD": one(r"^pkgver=(.*)$", "packaging/arch/PKGBUILD"),
        "latchkey.spec": one(r"^Version: +(.*)$", "packaging/fedora/latchkey.spec"),
        "its newest change": re.search(r"^%changelog\n\* .* - ([^-\n]+)-\d+$", spec, re.M)[1],
    } == dict.fromkeys(("debian/changelog", "PKGBUILD", "latchkey.spec", "its newest change"), version)


def test_the_interface_names_every_outcome_of_a_prompt():
    text = one(r"<!-- (Before Completed[^>]*) -->", "dbus/org.latchkey.Prompt.xml")
    cases = re.findall(r"^ +case (\w+)$", (SOURCES / "Vault/ItemProtection/PromptOutcome.swift").read_text(), re.M)
    assert sorted(re.findall(r'"(\w+)"', text)) == sorted(cases) and len(cases) > 5


def test_no_two_messages_have_the_same_number():
    assert len(MESSAGES) > 30 and len(set(MESSAGES.values())) == len(MESSAGES)


def test_no_two_files_of_tests_have_the_same_name():
    """A link counts as the file that it leads to."""
    paths = collections.defaultdict(list)
    for path in (REPOSITORY / "Tests").rglob("*"):
        built = any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(REPOSITORY).parts)
        if path.is_file() and not path.is_symlink() and not built:
            paths[path.name].append(str(path.relative_to(REPOSITORY)))
    assert len(paths) > 300
    assert [group for name, group in paths.items() if len(group) > 1 and name not in PRESCRIBED] == []


def test_every_link_leads_to_a_file():
    """The links to a file must move with the file."""
    dead = []
    for folder in ("Examples", "Sources", "Tests"):
        for path in (REPOSITORY / folder).rglob("*"):
            built = any(part.startswith(".") for part in path.relative_to(REPOSITORY).parts)
            if path.is_symlink() and not built and not path.exists():
                dead.append(str(path.relative_to(REPOSITORY)))
    assert dead == []


def test_every_service_that_does_not_end_can_erase_its_secrets():
    """Without the setting, systemd sends SIGKILL, which leaves no time to erase secrets."""
    units = sorted((REPOSITORY / "dbus").glob("*.service.in"))
    services = {unit.name: unit.read_text() for unit in units if "ExecStart=" in unit.read_text()}
    assert len(services) == 5
    for name, text in services.items():
        assert {"TimeoutStopSec=5", "TimeoutStopFailureMode=abort", "LimitCORE=0"} <= set(text.splitlines()), name
