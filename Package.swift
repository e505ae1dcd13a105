// swift-tools-version: 6.2
import PackageDescription

/// Every target is Swift 6, and a warning is an error waiting for a release.
let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]

let package = Package(
  name: "latchkey",
  products: [],
  dependencies: [
    // Tests only: plain arithmetic to check the key agreement against.
    .package(url: "https://github.com/attaswift/BigInt.git", exact: "6.0.1")
  ],
  targets: [
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CPAM", providers: [.apt(["libpam0g-dev"])]),
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CGcrypt", providers: [.apt(["libgcrypt20-dev"])]),
    .target(name: "Gcrypt", dependencies: ["CGcrypt"], swiftSettings: strict),
    .testTarget(
      name: "GcryptTests", dependencies: ["Gcrypt", .product(name: "BigInt", package: "BigInt")],
      swiftSettings: strict),
  ]
)
