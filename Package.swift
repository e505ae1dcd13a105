// swift-tools-version: 6.2
import Glibc
import PackageDescription

/// Every target is Swift 6, and a warning is an error waiting for a release.
let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]

/// For the layers whose types lend their memory as spans (`RawSpan` properties of non-copyable owners).
let lending: [SwiftSetting] = strict + [.enableExperimentalFeature("Lifetimes")]

/// For what other packages link: what a file imports is no part of its interface unless it says so.
let published: [SwiftSetting] = strict + [.enableUpcomingFeature("InternalImportsByDefault")]

/// Whether another package depends on this one. It is the client library alone then; ARCHITECTURE.md says why. SwiftPM
/// reads the manifest of a dependency twice: at "/" from the repository, and in a folder "checkouts" beside
/// "repositories". A dependency by path looks like a clone; LATCHKEY_LIBRARY=1 tells them apart.
let isDependency =
  Context.environment["LATCHKEY_LIBRARY"] == "1" || Context.packageDirectory == "/"
  || Context.packageDirectory.split(separator: "/").dropLast().last == "checkouts"
    && access("\(Context.packageDirectory)/../../repositories", F_OK) == 0

/// Where latchkey-derive is installed; compiled into the PAM module, as a login's environment is not to be asked.
let libexec = Context.environment["LATCHKEY_LIBEXECDIR"] ?? "/usr/libexec"

// Every function is found at the start. Lazy binding saves the vector registers on the stack at the first call of each,
// and what the last cipher had in them: keys, long after it erased its own memory.
let bindNow = LinkerSetting.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now", "-Xlinker", "-z", "-Xlinker", "relro"])

// ErasedMappings takes the place of libc's functions for the libraries, too.
let exportMappings = LinkerSetting.unsafeFlags(
  ["mmap", "munmap"].flatMap { ["-Xlinker", "--export-dynamic-symbol=\($0)"] })

let package = Package(
  name: "latchkey",
  products: [
    // A real product and no call of swiftc by hand: with the Embedded feature on, the compiler driver links no Swift
    // runtime, under SwiftPM as well. The file is libpam_latchkey.so; `make install` renames it.
    .library(name: "pam_latchkey", type: .dynamic, targets: ["PAMModule"]),
    // For other packages: the Keychain Services API. They link what the system has of Swift and Foundation. The way to
    // the vault is linked beside it, as nothing that they import may name it.
    .library(name: "Security", targets: ["Security", "KeychainClient"]),
    .library(name: "LocalAuthentication", targets: ["LocalAuthentication", "KeychainClient"]),
    .library(name: "Keychain", targets: ["Keychain", "KeychainClient"]),
    .executable(name: "latchkey", targets: ["latchkey"]),
    .executable(name: "latchkeyd", targets: ["latchkeyd"]),
    .executable(name: "latchkey-derive", targets: ["latchkey-derive"]),
    .executable(name: "latchkey-prompt", targets: ["latchkey-prompt"]),
    .executable(name: "latchkey-deviced", targets: ["latchkey-deviced"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
    // Tests only: plain arithmetic to check the key agreement against.
    .package(url: "https://github.com/attaswift/BigInt.git", exact: "6.0.1"),
  ],
  targets: [
    // Module maps and static inline shims of C libraries.
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CPAM", providers: [.apt(["libpam0g-dev"])]),
    .systemLibrary(name: "CPAMModule", providers: [.apt(["libpam0g-dev"])]),
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CGcrypt", providers: [.apt(["libgcrypt20-dev"])]),
    // Header files only: the library is opened while the program runs.
    .systemLibrary(name: "CTSS", providers: [.apt(["libtss2-dev"])]),
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),

    // One thin typed layer over each.
    .target(name: "Bytes", swiftSettings: strict),
    .target(name: "Posix", dependencies: ["CLinux"], swiftSettings: strict),
    .target(name: "Sodium", dependencies: ["CSodium"], swiftSettings: lending),
    // Functions that take the place of libc's, so only for the programs that derive keys.
    .target(name: "ErasedMappings", dependencies: ["CLinux", "Sodium"], swiftSettings: strict),
    .target(name: "SQLite", dependencies: ["CSQLite"], swiftSettings: strict),
    .target(name: "Gcrypt", dependencies: ["CGcrypt"], swiftSettings: strict),
    .target(name: "Systemd", dependencies: ["CSystemd"], swiftSettings: strict),
    .target(name: "YAML", dependencies: ["CYAML"], swiftSettings: strict),
    .target(name: "TSS", dependencies: ["Bytes", "CTSS", "Sodium"], swiftSettings: strict),

    .target(name: "PAMClient", dependencies: ["CLinux", "CPAM", "Posix", "Sodium"], swiftSettings: strict),

    // The vault, bottom up.
    .target(name: "ItemProtection", swiftSettings: strict),
    .target(name: "Keybag", dependencies: ["Bytes", "ItemProtection", "Posix", "Sodium"], swiftSettings: strict),
    .target(name: "Backup", dependencies: ["Bytes", "Keybag", "Sodium"], swiftSettings: strict),
    .target(
      name: "Control", dependencies: ["Backup", "Bytes", "Keybag", "Posix", "Sodium"], swiftSettings: strict),
    .target(
      name: "Vault", dependencies: ["Backup", "Bytes", "Keybag", "Posix", "SQLite", "Sodium"], swiftSettings: strict),
    .target(name: "DeviceService", dependencies: ["Bytes", "Keybag", "Posix", "Sodium"], swiftSettings: strict),
    .target(
      name: "DeviceStore", dependencies: ["Bytes", "Keybag", "Posix", "Sodium", "TSS"], swiftSettings: strict),
    .target(name: "ClassRules", dependencies: ["Keybag", "Posix", "YAML"], swiftSettings: strict),
    .target(name: "Doctor", dependencies: ["CLinux", "Posix"], swiftSettings: strict),
    .target(name: "SessionState", dependencies: ["Systemd"], swiftSettings: strict),
    .target(name: "Biometry", dependencies: ["Systemd"], swiftSettings: strict),
    .target(
      name: "Prompts", dependencies: ["CLinux", "Control", "Keybag", "Posix", "Systemd"], swiftSettings: strict),
    .target(
      name: "SecretService",
      dependencies: ["Control", "Gcrypt", "Keybag", "Posix", "Prompts", "Sodium", "Systemd", "Vault"],
      swiftSettings: strict),

    // A client's way to the vault, as every program has it.
    .target(name: "SecretClient", dependencies: ["Gcrypt", "Posix", "Sodium", "Systemd"], swiftSettings: strict),

    .target(
      name: "Prompters", dependencies: ["Control", "Gcrypt", "Keybag", "PAMClient", "Posix", "Sodium", "Systemd"],
      swiftSettings: strict),

    // The client library. All modules of a build see each other, and packages that know nothing of us ask whether they
    // can import Security: so it imports no module of C, which only targets that depend on it would find. Contexts know
    // items, not the other way round: a program without contexts builds without.
    .target(name: "Security", dependencies: ["ItemProtection"], swiftSettings: published),
    .target(name: "LocalAuthentication", dependencies: ["Security"], swiftSettings: published),
    .target(
      name: "KeychainClient",
      dependencies: ["ItemProtection", "Posix", "SecretClient", "Security", "Sodium", "Systemd"],
      swiftSettings: strict),
    .target(name: "Keychain", dependencies: ["LocalAuthentication", "Security"], swiftSettings: published),

    .target(
      name: "PAMModule",
      dependencies: ["CPAMModule"],
      exclude: ["exports.map"],
      swiftSettings: strict + [
        .enableExperimentalFeature("Embedded"),
        // A section for each function, so that the linker drops all of Embedded Swift's runtime that is not called.
        // No static standard library even if the rest asks for it: Embedded Swift has none to look for.
        .unsafeFlags(["-wmo", "-Xfrontend", "-function-sections", "-no-static-stdlib"]),
        .unsafeFlags(["-Xcc", "-DLATCHKEY_LIBEXECDIR=\"\(libexec)\""]),
      ],
      linkerSettings: [
        .linkedLibrary("pam"),  // Embedded Swift writes no autolink entries
        .unsafeFlags(
          // Never unmapped: libpam calls back into it. No lazy binding: nothing can be missing halfway through a login.
          ["-z", "nodelete", "-z", "now", "-z", "relro", "-z", "defs"].flatMap { ["-Xlinker", $0] }
            + ["-Xlinker", "--version-script=\(Context.packageDirectory)/Sources/PAMModule/exports.map"]),
      ]),

    // Programs: arguments and wiring.
    .executableTarget(
      name: "latchkey",
      dependencies: [
        "Backup", "CLinux", "ClassRules", "Control", "DeviceService", "Doctor", "Keybag", "PAMClient",
        "Posix", "SecretClient", "Sodium", "Systemd",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: strict, linkerSettings: [bindNow]),
    .executableTarget(
      name: "latchkey-derive",
      dependencies: ["Control", "DeviceService", "ErasedMappings", "Keybag", "Posix", "Sodium"],
      swiftSettings: strict,
      linkerSettings: [bindNow, exportMappings]),
    .executableTarget(
      name: "latchkey-prompt",
      dependencies: ["Control", "Gcrypt", "PAMClient", "Posix", "Prompters", "Sodium", "Systemd"],
      swiftSettings: strict, linkerSettings: [bindNow]),
    .executableTarget(
      name: "latchkey-deviced",
      dependencies: ["DeviceService", "DeviceStore", "Keybag", "Posix", "Sodium", "Systemd"], swiftSettings: strict,
      linkerSettings: [bindNow]),
    .executableTarget(
      name: "latchkeyd",
      dependencies: [
        "Backup", "Biometry", "ClassRules", "CLinux", "Control", "DeviceService", "Gcrypt", "Keybag", "Posix",
        "Prompts", "SecretService",
        "SessionState", "Sodium", "Systemd", "Vault",
      ],
      swiftSettings: strict, linkerSettings: [bindNow]),

    // Tests.
    .target(name: "Scratch", path: "Tests/Scratch", swiftSettings: strict),
    .target(name: "PrivateBus", dependencies: ["Systemd"], path: "Tests/PrivateBus", swiftSettings: strict),
    .testTarget(
      name: "SessionStateTests", dependencies: ["SessionState", "Systemd", "PrivateBus"], swiftSettings: strict),
    .testTarget(name: "BiometryTests", dependencies: ["Biometry", "Systemd", "PrivateBus"], swiftSettings: strict),
    .testTarget(
      name: "ControlTests", dependencies: ["Backup", "Bytes", "Control", "Keybag", "Posix", "Sodium"],
      swiftSettings: strict),
    .testTarget(
      name: "SecretServiceTests",
      dependencies: ["Keybag", "PrivateBus", "Prompts", "SecretService", "Systemd", "Vault"],
      swiftSettings: strict),
    .testTarget(
      name: "PromptsTests",
      dependencies: ["CLinux", "Control", "Keybag", "Posix", "Prompts", "Scratch", "Sodium", "Systemd"],
      swiftSettings: strict),
    .target(
      name: "StandInDevice", dependencies: ["Keybag", "Posix", "Sodium"], path: "Tests/StandInDevice",
      swiftSettings: strict),
    .executableTarget(
      name: "VaultCrash", dependencies: ["Backup", "Keybag", "Posix", "Sodium", "StandInDevice", "Vault"],
      path: "Tests/VaultCrash",
      swiftSettings: strict),
    .testTarget(
      name: "VaultTests",
      dependencies: [
        "Backup", "Keybag", "Posix", "SQLite", "Scratch", "Sodium", "StandInDevice", "Vault", "VaultCrash",
      ],
      exclude: ["Shims"], swiftSettings: lending),
    .testTarget(
      name: "DeviceTests", dependencies: ["DeviceService", "DeviceStore", "Keybag", "Posix", "Scratch", "Sodium"],
      swiftSettings: strict),
    .testTarget(
      name: "BackupTests", dependencies: ["Backup", "Bytes", "Keybag", "Sodium"],
      exclude: ["Vectors/generate.py"], resources: [.copy("Vectors/backups.json")], swiftSettings: strict),
    .testTarget(name: "SystemdTests", dependencies: ["Systemd", "PrivateBus"], swiftSettings: strict),
    .testTarget(
      name: "GcryptTests", dependencies: ["Gcrypt", .product(name: "BigInt", package: "BigInt")],
      swiftSettings: strict),
    .target(
      name: "StandInStore", dependencies: ["ItemProtection", "Security"], path: "Tests/StandInStore",
      swiftSettings: strict),
    .testTarget(
      name: "SecurityTests",
      dependencies: ["ItemProtection", "KeychainClient", "LocalAuthentication", "Security", "StandInStore"],
      swiftSettings: strict),
    .testTarget(
      name: "KeychainTests",
      dependencies: [
        "ItemProtection", "Keychain", "KeychainClient", "LocalAuthentication", "Security", "StandInStore",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "KeychainClientTests", dependencies: ["ItemProtection", "KeychainClient", "Security", "Systemd"],
      swiftSettings: strict),
    .executableTarget(
      name: "keychain-caller", dependencies: ["KeychainClient", "LocalAuthentication", "Security"],
      path: "Tests/KeychainCaller", swiftSettings: strict),
    .testTarget(name: "DoctorTests", dependencies: ["Doctor", "Scratch"], swiftSettings: strict),
    .testTarget(name: "YAMLTests", dependencies: ["YAML"], swiftSettings: strict),
    .testTarget(
      name: "ClassRulesTests", dependencies: ["ClassRules", "Keybag", "Scratch"], swiftSettings: strict),
    .testTarget(
      name: "PromptersTests",
      dependencies: [
        "Control", "Gcrypt", "Keybag", "PAMClient", "Prompters", "Sodium", .product(name: "BigInt", package: "BigInt"),
      ], swiftSettings: strict),
    .testTarget(name: "BytesTests", dependencies: ["Bytes"], swiftSettings: strict),
    .testTarget(
      name: "SodiumTests", dependencies: ["CSodium", "ErasedMappings", "Sodium"], swiftSettings: strict,
      linkerSettings: [bindNow, exportMappings]),
    .testTarget(name: "PosixTests", dependencies: ["CLinux", "Posix", "Scratch"], swiftSettings: strict),
    .testTarget(
      name: "KeybagTests", dependencies: ["Bytes", "Keybag", "Posix", "Scratch", "Sodium"],
      exclude: ["Vectors/generate.py"], resources: [.copy("Vectors/vectors.json")], swiftSettings: strict),
  ]
)

// Only for fuzzing (Tests/Fuzz): everything is then built with libFuzzer's instruments, which no other build may have.
if Context.environment["LATCHKEY_FUZZ"] != nil {
  package.targets += [
    .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
    .executableTarget(
      name: "latchkey-fuzz",
      dependencies: [
        "Backup", "Bytes", "CFuzzer", "Control", "DeviceService", "Keybag", "Posix", "Prompters", "Prompts", "SQLite",
        "SecretService", "Sodium", "Vault",
      ],
      path: "Tests/Fuzz/Targets", swiftSettings: strict,
      linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]),
  ]
}

// Only for `make bench`: it has nothing that a test would run.
if Context.environment["LATCHKEY_BENCHMARK"] != nil {
  package.targets += [
    .executableTarget(
      name: "keychain-benchmark", dependencies: ["CSystemd", "KeychainClient", "Security"],
      path: "Tests/Benchmark/Keychain", swiftSettings: strict)
  ]
}

// The products for other packages, and what they are built from.
if isDependency {
  package.dependencies = []
  package.products.removeAll { !["Keychain", "LocalAuthentication", "Security"].contains($0.name) }
  package.targets.removeAll {
    ![
      "CGcrypt", "CLinux", "CSodium", "CSystemd", "Gcrypt", "ItemProtection", "Keychain", "KeychainClient",
      "LocalAuthentication", "Posix", "SecretClient", "Security", "Sodium", "Systemd",
    ].contains($0.name)
  }
}
