// swift-tools-version: 6.2
import PackageDescription

/// Every target is Swift 6, and a warning is an error waiting for a release.
let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]

/// For the layers whose types lend their memory as spans (`RawSpan` properties of non-copyable owners).
let lending: [SwiftSetting] = strict + [.enableExperimentalFeature("Lifetimes")]

let package = Package(
  name: "latchkey",
  products: [],
  dependencies: [],
  targets: [
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CPAM", providers: [.apt(["libpam0g-dev"])]),
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CGcrypt", providers: [.apt(["libgcrypt20-dev"])]),

    .target(name: "Sodium", dependencies: ["CSodium"], swiftSettings: lending),
    .target(name: "Posix", dependencies: ["CLinux"], swiftSettings: strict),
    .target(name: "Bytes", swiftSettings: strict),
    .target(name: "SQLite", dependencies: ["CSQLite"], swiftSettings: strict),
    .target(name: "Vault", dependencies: ["Bytes", "Keybag", "Posix", "SQLite", "Sodium"], swiftSettings: strict),
    .target(name: "Keybag", dependencies: ["Bytes", "Posix", "Sodium"], swiftSettings: strict),

    .target(name: "Scratch", path: "Tests/Scratch", swiftSettings: strict),
    .testTarget(name: "BytesTests", dependencies: ["Bytes"], swiftSettings: strict),
    .testTarget(name: "SodiumTests", dependencies: ["Sodium"], swiftSettings: strict),
    .testTarget(name: "PosixTests", dependencies: ["CLinux", "Posix", "Scratch"], swiftSettings: strict),
    .testTarget(
      name: "KeybagTests", dependencies: ["Bytes", "Keybag", "Posix", "Scratch", "Sodium"],
      exclude: ["Vectors/generate.py"], resources: [.copy("Vectors/vectors.json")], swiftSettings: strict),
  ]
)
