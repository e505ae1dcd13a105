// swift-tools-version: 6.2
import PackageDescription

// A separate package, like a program's. Each file has one form in which public code writes queries, results or constants. The test
// is that the package builds, and that a program needs only one of the products to build and run.
let package = Package(
  name: "SecurityForms",
  products: [
    .library(name: "SecurityForms", targets: ["Articles", "Forms", "SwiftFive", "FoundationAlone", "Neighbour"])
  ],
  dependencies: [.package(name: "latchkey", path: "../..")],
  targets: [
    .target(
      name: "Articles",
      dependencies: [
        .product(name: "Security", package: "latchkey"), .product(name: "LocalAuthentication", package: "latchkey"),
      ]),
    .target(
      name: "Forms",
      dependencies: [
        .product(name: "Security", package: "latchkey"), .product(name: "LocalAuthentication", package: "latchkey"),
      ]),
    // The target keeps the library's constants in static members. On Linux, Foundation says that its strings are not Sendable.
    .target(
      name: "SwiftFive", dependencies: [.product(name: "Security", package: "latchkey")],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    // Apple's Foundation includes Security. On Linux, an option of the compiler does the same.
    .target(
      name: "FoundationAlone", dependencies: [.product(name: "Security", package: "latchkey")],
      swiftSettings: [.unsafeFlags(["-Xfrontend", "-import-module", "-Xfrontend", "Security"])]),
    .target(name: "Neighbour"),
    .executableTarget(name: "OnlySecurity", dependencies: [.product(name: "Security", package: "latchkey")]),
    .executableTarget(name: "OnlyContexts", dependencies: [.product(name: "LocalAuthentication", package: "latchkey")]),
  ]
)

// Warnings are errors here, so no form may cause a warning.
for target in package.targets { target.swiftSettings = (target.swiftSettings ?? []) + [.treatAllWarnings(as: .error)] }
