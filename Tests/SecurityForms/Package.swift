// swift-tools-version: 6.2
import PackageDescription

// A package of its own, as a program's would be: ways in which public code writes queries, results and constants, a file
// each. That it builds is the test; and that a program needs no more than one of the products, to run as well.
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
    // Constants of the library kept in static members: Linux's Foundation says that its strings are not Sendable.
    .target(
      name: "SwiftFive", dependencies: [.product(name: "Security", package: "latchkey")],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    // Apple's Foundation brings Security with it. On Linux an option of the compiler does.
    .target(
      name: "FoundationAlone", dependencies: [.product(name: "Security", package: "latchkey")],
      swiftSettings: [.unsafeFlags(["-Xfrontend", "-import-module", "-Xfrontend", "Security"])]),
    .target(name: "Neighbour"),
    .executableTarget(name: "OnlySecurity", dependencies: [.product(name: "Security", package: "latchkey")]),
    .executableTarget(name: "OnlyContexts", dependencies: [.product(name: "LocalAuthentication", package: "latchkey")]),
  ]
)

// What is warned of is no form that one can use.
for target in package.targets { target.swiftSettings = (target.swiftSettings ?? []) + [.treatAllWarnings(as: .error)] }
