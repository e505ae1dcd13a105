"""A program's package that depends on this repository by its address, beside packages whose names are as ours might be."""

import json
import os
import shutil
import subprocess
import time

import pytest
from support.pace import seconds
from support.session import REPOSITORY

# What packages call their targets that people use beside a keychain, and what ours once did.
NAMES = (
    "SQLite", "Sodium", "CSQLite", "CSodium", "Vault", "Bytes", "YAML", "Doctor", "Control", "Backup", "Keychain", "Prompts",
    "Posix", "Systemd",
)  # fmt: skip
LIBRARY = """
// swift-tools-version: 6.2
import PackageDescription
let package = Package(
  name: "%(package)s", products: [.library(name: "%(package)s", targets: [%(targets)s])],
  targets: [%(declared)s])
"""
PROGRAM = """
// swift-tools-version: 6.2
import PackageDescription
let package = Package(
  name: "client",
  dependencies: [
    .package(url: "file://%(folder)s/latchkey", from: "1.0.0"), .package(path: "../neighbours"),
    .package(path: "../wrapper"),
  ],
  targets: [
    .executableTarget(
      name: "six",
      dependencies: [
        "five", .product(name: "Security", package: "latchkey"), .product(name: "neighbours", package: "neighbours"),
        .product(name: "wrapper", package: "wrapper"),
      ]),
    .target(
      name: "five", dependencies: [.product(name: "Security", package: "latchkey")],
      swiftSettings: [.swiftLanguageMode(.v5)]),
  ])
"""
# It knows Apple's Security alone, as wrappers do.
WRAPPER = """
import Foundation
import Security
public func deleteByWrapper() -> OSStatus {
  SecItemDelete([kSecClass: kSecClassGenericPassword, kSecAttrService: "client"] as CFDictionary)
}
"""
FIVE = """
import Foundation
import Security
public enum Five { public static let message = SecCopyErrorMessageString(errSecNotAvailable, nil) as String? ?? "" }
"""
SIX = """
import Foundation
import Security
import five
import wrapper
%(imports)s
let status = deleteByWrapper()
print(status, Five.message)
print(SecCopyErrorMessageString(status, nil) ?? "")
"""
NO_BUS = "-25291 No keychain is available."


def run(*command, **options):
    done = subprocess.run(
        command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.lstrip())


def library(folder, package, sources):
    """A package with a target for each source."""
    names = [f'"{name}"' for name in sources]
    declared = [f".target(name: {name}, swiftSettings: [.swiftLanguageMode(.v5)])" for name in names]
    manifest = LIBRARY % {"package": package, "targets": ", ".join(names), "declared": ", ".join(declared)}
    write(folder / package, {"Package.swift": manifest} | {f"Sources/{name}/a.swift": text for name, text in sources.items()})


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """The package, and what the build of it said: the one line that the documentation gives, with the standard library inside."""
    folder = tmp_path_factory.mktemp("client")
    ours = folder / "latchkey"
    ours.mkdir()
    shutil.copy(REPOSITORY / "Package.swift", ours)
    shutil.copytree(REPOSITORY / "Sources", ours / "Sources")
    git = ("git", "-C", ours, "-c", "user.name=a", "-c", "user.email=a@example.com")
    run(*git, "init", "-q")
    run(*git, "add", "-A")
    run(*git, "commit", "-q", "-m", "All")
    run(*git, "tag", "1.0.0")
    library(folder, "neighbours", {name: f"public let {name.lower()}Is = 1\n" for name in NAMES})
    library(folder, "wrapper", {"wrapper": WRAPPER})
    sources = {"Sources/six/main.swift": SIX % {"imports": "\n".join(f"import {name}" for name in NAMES)}}
    sources["Sources/five/Five.swift"] = FIVE
    write(folder / "client", {"Package.swift": PROGRAM % {"folder": folder}} | sources)
    # A cache of its own: what other builds resolved does not help.
    build = f"swift build --static-swift-stdlib --package-path {folder}/client --cache-path {folder}/cache"
    run("sh", "-c", f"{build} --target Security && {build}", env=without_overrides())
    return folder / "client"


def without_overrides():
    return {name: value for name, value in os.environ.items() if not name.startswith("LATCHKEY_")}


def manifest(package, **more):
    """The targets and the dependencies of a package, as SwiftPM reads them there."""
    dumped = json.loads(run("swift", "package", "dump-package", "--package-path", package, env=without_overrides() | more))
    return {target["name"] for target in dumped["targets"]}, dumped["dependencies"]


def test_only_the_library_is_resolved(client):
    """Neither another package, nor a module of a program, of the daemon or of a test."""
    assert {path.name for path in (client / ".build/checkouts").iterdir()} == {"latchkey"}
    targets, dependencies = manifest(client / ".build/checkouts/latchkey")
    assert {"Security", "LocalAuthentication"} < targets and len(targets) < 16 and not dependencies
    assert not {name for name in targets if "latchkeyd" in name or "Tests" in name or "Vault" in name or "PAM" in name}


def test_the_same_at_the_next_resolution(client):
    """SwiftPM keeps what it read of a manifest, also where the same one said something else in another place."""
    targets, dependencies = manifest(client.parent / "latchkey")
    assert "latchkeyd" in targets and dependencies
    targets, dependencies = manifest(client.parent / "latchkey", LATCHKEY_LIBRARY="1")
    assert "Security" in targets and "latchkeyd" not in targets and not dependencies
    for command in ("resolve", "update"):
        run("swift", "package", command, "--package-path", client, "--cache-path", client.parent / "cache")
        assert {path.name for path in (client / ".build/checkouts").iterdir()} == {"latchkey"}


# MARK: without a bus


@pytest.mark.parametrize(
    "environment",
    [
        {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"},
        {"container": "docker", "HOME": "/root"},
        {"container": "flatpak", "FLATPAK_ID": "org.example.Client", "XDG_RUNTIME_DIR": "/run/user/4711"},
    ],
    ids=["no bus", "container", "flatpak"],
)
def test_without_a_bus_it_says_so_at_once(client, environment):
    begun = time.monotonic()
    told = run(client / ".build/debug/six", env=environment).splitlines()
    # Not after a time limit of the bus, which is 25 s; more on a machine where the program's start alone takes long.
    assert time.monotonic() - begun < seconds(7)
    assert told[0].startswith(NO_BUS) and "There is no session bus." in told[1]


def test_it_needs_no_library_of_swift(client):
    linked = run("ldd", client / ".build/debug/six")
    assert "libsystemd" in linked and "libswift" not in linked and "libFoundation" not in linked
