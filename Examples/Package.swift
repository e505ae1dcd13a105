// swift-tools-version: 6.2
import PackageDescription

// Small programs that keep secrets: a package of its own, as a program's would be. In one's own package the dependency is the
// repository's address, and what depends on it is the same.
let security: [Target.Dependency] = [.product(name: "Security", package: "latchkey")]
let authentication: [Target.Dependency] = [.product(name: "LocalAuthentication", package: "latchkey")]
let keychain: [Target.Dependency] = [.product(name: "LatchkeyKeychain", package: "latchkey")]
let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let package = Package(
  name: "Examples",
  dependencies: [.package(name: "latchkey", path: "..")],
  targets: [
    // The functions that programs for Apple's keychain call.
    .executableTarget(name: "add-password", dependencies: security, swiftSettings: strict),
    .executableTarget(name: "restrict-accessibility", dependencies: security, swiftSettings: strict),
    .executableTarget(name: "demand-presence", dependencies: security, swiftSettings: strict),
    .executableTarget(name: "require-passphrase", dependencies: security + authentication, swiftSettings: strict),
    // The layers on top.
    .executableTarget(name: "tokens", dependencies: keychain, swiftSettings: strict),
    .executableTarget(name: "passwords", dependencies: keychain, swiftSettings: strict),
  ]
)
