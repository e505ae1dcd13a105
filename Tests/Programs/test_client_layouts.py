"""SwiftPM has several kinds of dependencies. A program's package depends on this repository by each kind, next to a package that
uses Apple's modules. In each way the program gets only the library, and no module with a name that it did not ask for."""

import hashlib
import http.server
import json
import subprocess
import threading

import pytest
from support.clientpackage import run, without_overrides, write, write_library

# The package uses names that exist only in Apple's modules, as Alamofire and supabase-swift do.
ASKER = """
import Foundation
#if canImport(Security)
  import Security
  public func key(of trust: SecTrust, _ result: SecTrustResultType, _ policy: SecPolicy) -> SecKey? {
    SecKeyCreateWithData(Data() as CFData, [kSecAttrKeyClass: kSecAttrKeyClassPublic] as CFDictionary, nil)
  }
#endif
#if canImport(LocalAuthentication)
  import LocalAuthentication
  public let asks = LAContext().canEvaluatePolicy(.deviceOwnerAuthentication, error: nil)
#endif
public let asked = "asked"
"""
MANIFEST = """
// swift-tools-version: 6.2
import PackageDescription
let asker: Target.Dependency = .product(name: "asker", package: "asker")
let package = Package(
  name: "client", dependencies: [%(dependency)s, .package(path: "../asker")],
  targets: [
    .executableTarget(
      name: "smaller", dependencies: [asker, .product(name: "LatchkeyKeychain", package: "%(package)s")]),
    .executableTarget(
      name: "renamed",
      dependencies: [
        asker,
        .product(name: "Security", package: "%(package)s", moduleAliases: ["Security": "KeychainSecurity"]),
        .product(
          name: "LocalAuthentication", package: "%(package)s",
          moduleAliases: ["LocalAuthentication": "KeychainAuthentication"]),
      ]),
  ])
"""
SMALLER = """
import LatchkeyKeychain
import asker
do throws(KeychainError) {
  print(try Keychain(service: "client").getString("anna"))
} catch { print(asked, error.message) }
"""
RENAMED = """
import Foundation
import LocalAuthentication
import Security
import asker
let query: [CFString: Any] = [
  kSecClass: kSecClassGenericPassword, kSecAttrService: "client", kSecUseAuthenticationContext: LAContext(),
]
print(asked, Security.SecItemDelete(query as CFDictionary))
"""
LIBRARY = {
    "LatchkeyGcrypt", "LatchkeyItemProtection", "LatchkeyKeychain", "LatchkeyKeychainClient", "LatchkeyLocalAuthentication",
    "LatchkeySecretClient", "LatchkeySecurity", "LatchkeySodium", "LatchkeySystemd",
}  # fmt: skip
BY_PATH = '.package(name: "latchkey", path: "../latchkey")'
NO_BUS = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layouts")
    write_library(folder)
    asker = '.target(name: "asker", swiftSettings: [.swiftLanguageMode(.v5)])'
    manifest = f'// swift-tools-version: 6.2\nimport PackageDescription\nlet package = Package(name: "asker", products: [' \
        f'.library(name: "asker", targets: ["asker"])], targets: [{asker}])\n'
    write(folder / "asker", {"Package.swift": manifest, "Sources/asker/Asker.swift": ASKER})
    write(
        folder / "client",
        {"Sources/smaller/main.swift": SMALLER, "Sources/renamed/main.swift": RENAMED})
    return folder


def depend(folder, dependency, package="latchkey"):
    write(folder / "client", {"Package.swift": MANIFEST % {"dependency": dependency, "package": package}})


def swift(folder, command, *arguments):
    """Runs a command of SwiftPM on the client, with a cache of its own, so that the results of other builds do not help. SwiftPM
    keeps the checksum of each version that it has seen and refuses another checksum. But in this test one version has many
    contents."""
    options = (
        "--package-path", folder / "client", "--cache-path", folder / "cache", "--security-path", folder / "security",
    )  # fmt: skip
    return run("swift", command, *options, *arguments, env=without_overrides())


def built(folder):
    return {path.stem for path in (folder / "client/.build/debug/Modules").glob("*.swiftmodule")}


def resolved(folder):
    """The packages of the graph, each with the packages that it depends on."""
    swift(folder, "package", "show-dependencies", "--format", "json", "--output-path", folder / "graph")
    root = json.loads((folder / "graph").read_text())
    return {one["identity"]: {other["identity"] for other in one["dependencies"]} for one in [root, *root["dependencies"]]}


@pytest.mark.night("clients")
def test_a_folder_gives_the_library_alone_under_no_name_of_apples(folder):
    """The order of compilation decides whether the other package sees our modules. Here the package is compiled before them, and
    again after them."""
    depend(folder, BY_PATH)
    assert resolved(folder) == {"client": {"latchkey", "asker"}, "latchkey": set(), "asker": set()}
    swift(folder, "build", "--target", "asker")
    swift(folder, "build", "--product", "smaller")
    assert built(folder) == LIBRARY | {"asker", "smaller"}
    asker = folder / "asker/Sources/asker/Asker.swift"
    for aside in ("// With the smaller layer there.", "// With all of them there."):
        asker.write_text(f"{ASKER}{aside}\n")
        assert "asker" in swift(folder, "build")
    assert built(folder) == LIBRARY | {"KeychainAuthentication", "KeychainSecurity", "asker", "renamed", "smaller"}
    assert run(folder / "client/.build/debug/smaller", env=NO_BUS).startswith("asked No keychain is available.")
    assert run(folder / "client/.build/debug/renamed", env=NO_BUS) == "asked -25291\n"


@pytest.mark.night("clients")
def test_an_edited_package_gives_the_library_alone(folder):
    depend(folder, f'.package(url: "file://{folder}/latchkey", from: "1.0.0")')
    swift(folder, "package", "resolve")
    swift(folder, "package", "edit", "latchkey", "--path", folder / "latchkey")
    assert resolved(folder) == {"client": {"latchkey", "asker"}, "latchkey": set(), "asker": set()}
    swift(folder, "build", "--product", "smaller")
    built_before = {"KeychainAuthentication", "KeychainSecurity", "renamed"}
    assert built(folder) - built_before == LIBRARY | {"asker", "smaller"}


# MARK: a registry


class Registry(http.server.BaseHTTPRequestHandler):
    """One release of one package, in SwiftPM's protocol for registries."""

    archive = manifest = b""

    def do_GET(self):
        release = "/latchkey/latchkey/1.0.0"
        resource = {"name": "source-archive", "type": "application/zip", "checksum": hashlib.sha256(self.archive).hexdigest()}
        kind, body = {
            "/latchkey/latchkey": ("json", json.dumps({"releases": {"1.0.0": {}}}).encode()),
            release: ("json", json.dumps(
                {"id": "latchkey.latchkey", "version": "1.0.0", "resources": [resource], "metadata": {}}).encode()),
            f"{release}.zip": ("zip", self.archive),
            f"{release}/Package.swift": ("x-swift", self.manifest),
        }.get(self.path.partition("?")[0], (None, b""))  # fmt: skip
        self.send_response(200 if kind else 404)
        self.send_header("Content-Type", "text/x-swift" if kind == "x-swift" else f"application/{kind}")
        self.send_header("Content-Version", "1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def registry(folder):
    """The address of a registry that the test runs."""
    archive = ("git", "-C", folder / "latchkey", "archive", "--format=zip", "--prefix=latchkey/", "1.0.0")
    Registry.archive = subprocess.run(archive, stdout=subprocess.PIPE, check=True).stdout
    Registry.manifest = (folder / "latchkey/Package.swift").read_bytes()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.night("clients")
def test_a_registry_gives_the_library_alone(folder, registry):
    depend(folder, '.package(id: "latchkey.latchkey", from: "1.0.0")', "latchkey.latchkey")
    settings = {
        "authentication": {}, "registries": {"[default]": {"supportsAvailability": False, "url": registry}}, "version": 1,
        "security": {"default": {"signing": {"onUnsigned": "silentAllow"}}},
    }  # fmt: skip
    write(folder / "client", {".swiftpm/configuration/registries.json": json.dumps(settings)})
    swift(folder, "package", "reset")
    own = "latchkey.latchkey"
    assert resolved(folder) == {"client": {own, "asker"}, own: set(), "asker": set()}
    assert {path.name for path in (folder / "client/.build/registry/downloads/latchkey/latchkey").iterdir()} == {"1.0.0"}
