"""A program's package depends on this repository by its address, next to packages with names that our package could also have."""

import time

import pytest
from support.clientpackage import run, without_overrides, write, write_library
from support.pace import seconds

# Target names of packages that people use next to a keychain, and former names of our own targets.
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
# The package knows only Apple's Security, as wrappers do.
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


def library(folder, package, sources):
    """A package with a target for each source."""
    names = [f'"{name}"' for name in sources]
    declared = [f".target(name: {name}, swiftSettings: [.swiftLanguageMode(.v5)])" for name in names]
    manifest = LIBRARY % {"package": package, "targets": ", ".join(names), "declared": ", ".join(declared)}
    write(folder / package, {"Package.swift": manifest} | {f"Sources/{name}/a.swift": text for name, text in sources.items()})


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """The package and the output of its build. The build follows the documentation: it links the standard library statically."""
    folder = tmp_path_factory.mktemp("client")
    write_library(folder)
    library(folder, "neighbours", {name: f"public let {name.lower()}Is = 1\n" for name in NAMES})
    library(folder, "wrapper", {"wrapper": WRAPPER})
    sources = {"Sources/six/main.swift": SIX % {"imports": "\n".join(f"import {name}" for name in NAMES)}}
    sources["Sources/five/Five.swift"] = FIVE
    write(folder / "client", {"Package.swift": PROGRAM % {"folder": folder}} | sources)
    # The build has its own cache, so that no results of other builds are in it.
    build = f"swift build --static-swift-stdlib --package-path {folder}/client --cache-path {folder}/cache"
    run("sh", "-c", f"{build} --target Security && {build}", env=without_overrides())
    return folder / "client"


def test_only_the_library_is_resolved_and_built(client):
    """The client gets no other package, and no module of a program, of the daemon or of a test, although they are in the
    repository."""
    for command in ((), ("resolve",), ("update",)):
        if command:
            run("swift", "package", *command, "--package-path", client, "--cache-path", client.parent / "cache", env=without_overrides())
        assert {path.name for path in (client / ".build/checkouts").iterdir()} == {"latchkey"}
    modules = {path.stem for path in (client / ".build/debug/Modules").glob("*.swiftmodule")}
    assert {name for name in modules if name.startswith("Latchkey")} == {
        "LatchkeyGcrypt", "LatchkeyItemProtection", "LatchkeyKeychainClient", "LatchkeySecretClient", "LatchkeySecurity",
        "LatchkeySodium", "LatchkeySystemd",
    }  # fmt: skip
    assert modules - {"five", "six", "wrapper", *NAMES} == {name for name in modules if name.startswith("Latchkey")} | {"Security"}


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
    # The program must not wait for the bus's timeout of 25 s. A machine on which programs start slowly gets more time.
    assert time.monotonic() - begun < seconds(7)
    assert told[0].startswith(NO_BUS) and "There is no session bus." in told[1]


def test_it_needs_no_library_of_swift(client):
    linked = run("ldd", client / ".build/debug/six")
    assert "libsystemd" in linked and "libswift" not in linked and "libFoundation" not in linked
