// swift-tools-version: 6.2
import PackageDescription

// A program with swift-certificates beside this library. All modules of a build see each other: that package's
// `canImport(Security)` becomes true, though it knows nothing of us, and it then expects certificates of Apple's.
let package = Package(
  name: "SecurityBeside",
  dependencies: [
    .package(name: "latchkey", path: "../.."),
    .package(url: "https://github.com/apple/swift-certificates.git", from: "1.21.1"),
  ],
  targets: [
    .executableTarget(
      name: "Beside",
      dependencies: [
        .product(name: "Security", package: "latchkey"), .product(name: "X509", package: "swift-certificates"),
      ])
  ]
)
