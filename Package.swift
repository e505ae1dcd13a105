// swift-tools-version: 6.2
import PackageDescription

/// Every target is Swift 6, and a warning is an error waiting for a release.
let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]

let package = Package(
  name: "latchkey",
  products: [],
  dependencies: [],
  targets: [
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CPAM", providers: [.apt(["libpam0g-dev"])]),
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CGcrypt", providers: [.apt(["libgcrypt20-dev"])]),
    .target(name: "Systemd", dependencies: ["CSystemd"], swiftSettings: strict),
    .target(name: "SessionState", dependencies: ["Systemd"], swiftSettings: strict),
    .target(name: "PrivateBus", dependencies: ["Systemd"], path: "Tests/PrivateBus", swiftSettings: strict),
    .testTarget(name: "SystemdTests", dependencies: ["Systemd", "PrivateBus"], swiftSettings: strict),
    .testTarget(
      name: "SessionStateTests", dependencies: ["SessionState", "Systemd", "PrivateBus"], swiftSettings: strict),
  ]
)
