// swift-tools-version: 6.2
import PackageDescription

/// Every target is Swift 6, and existential types are marked by `any`.
let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]

/// For the layers whose types lend their memory as spans (`RawSpan` properties of non-copyable owners).
let lending: [SwiftSetting] = strict + [.enableExperimentalFeature("Lifetimes")]

/// For what other packages link: what a file imports is no part of its interface unless it says so.
let published: [SwiftSetting] = strict + [.enableUpcomingFeature("InternalImportsByDefault")]

/// Where latchkey-derive is installed; compiled into the PAM module, as a login's environment is not to be asked.
let libexec = Context.environment["LATCHKEY_LIBEXECDIR"] ?? "/usr/libexec"

// Every function is found at the start. Lazy binding saves the vector registers on the stack at the first call of each,
// and what the last cipher had in them: keys, long after it erased its own memory.
let bindNow = LinkerSetting.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now", "-Xlinker", "-z", "-Xlinker", "relro"])

// lld packs the relocations of position-independent code, which are a tenth of a program, and maps constants without the
// right to execute them. libc 2.36 and later reads packed ones. No library calls into a program, so its own symbols, which
// Swift's runtime would export all, are left out: 0.4 MB of each program.
let packed = LinkerSetting.unsafeFlags(
  ["-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs", "-Xlinker", "--no-export-dynamic"],
  .when(configuration: .release))

// ErasedMappings takes the place of libc's functions for the libraries, too.
let exportMappings = LinkerSetting.unsafeFlags(
  ["mmap", "munmap"].flatMap { ["-Xlinker", "--export-dynamic-symbol=\($0)"] })

/// The floors of Sources. A target depends on those of its own floor and of lower ones. Daemon, Prompt, Tools and
/// KeychainServices stand side by side on `wire`, and PAM has `C` alone below it. test_floors.py compares this file and the
/// imports with that.
enum Floor: String {
  case c = "C"
  case system = "System"
  case vault = "Vault"
  case wire = "Wire"
  case daemon = "Daemon"
  case prompt = "Prompt"
  case tools = "Tools"
  case pam = "PAM"
  case keychainServices = "KeychainServices"
  case programs = "Programs"
}

/// A module of Latchkey's own. SwiftPM takes no two targets of one name in a whole graph, whoever uses them, so each has a
/// prefix; its folder has none.
func module(
  _ name: String, on floor: Floor, _ dependencies: [Target.Dependency] = [], settings: [SwiftSetting] = strict
) -> Target {
  .target(
    name: "Latchkey\(name)", dependencies: dependencies, path: "Sources/\(floor.rawValue)/\(name)",
    swiftSettings: settings)
}

/// The tests of a module, below `Tests`.
func tests(
  _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], resources: [Resource] = [],
  settings: [SwiftSetting] = strict, linkerSettings: [LinkerSetting] = []
) -> Target {
  .testTarget(
    name: name, dependencies: dependencies, exclude: exclude, resources: resources, swiftSettings: settings,
    linkerSettings: linkerSettings)
}

/// The module map and the static inline shims of a C library.
func library(_ name: String, pkgConfig: String? = nil, apt package: String? = nil) -> Target {
  .systemLibrary(
    name: "CLatchkey\(name)", path: "Sources/C/C\(name)", pkgConfig: pkgConfig,
    providers: package.map { [.apt([$0])] })
}

/// A program: arguments and wiring.
func program(_ name: String, _ dependencies: [Target.Dependency], linker: [LinkerSetting] = [bindNow]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "Sources/Programs/\(name)", swiftSettings: strict,
    linkerSettings: linker + [packed])
}

/// The PAM module, for `make module` alone, which sets the variable: SwiftPM compiles the library products of a dependency whether a
/// client uses them or not, and this one wants PAM's header files.
///
/// The module is a product of SwiftPM, and needs no call of swiftc by hand: with the feature Embedded, the compiler links no
/// Swift runtime. The file is libpam_latchkey.so; `make install` renames it.
let pamModule: [Product] =
  Context.environment["LATCHKEY_PAM_PRODUCT"] == nil
  ? [] : [.library(name: "pam_latchkey", type: .dynamic, targets: ["LatchkeyPAMModule"])]

let package = Package(
  name: "latchkey",
  // What other packages may use, and the PAM module. SwiftPM makes products of the programs by itself, in the root package
  // alone. Do not declare them: a package that depends on this one resolves all that a declared product needs
  // (docs/developer/client-library.md).
  products: [
    // For other packages: the Keychain Services API. They link what the system has of Swift and Foundation. The way to
    // the vault is linked beside it, as nothing that they import may name it.
    .library(name: "Security", targets: ["Security", "LatchkeyKeychainClient"]),
    .library(name: "LocalAuthentication", targets: ["LocalAuthentication", "LatchkeyKeychainClient"]),
    .library(name: "LatchkeyKeychain", targets: ["LatchkeyKeychain", "LatchkeyKeychainClient"]),
  ] + pamModule,
  dependencies: [
    // Exact: builds of the same sources at different times are the same.
    .package(url: "https://github.com/apple/swift-argument-parser.git", exact: "1.8.2"),
    // Tests only: plain arithmetic to check the key agreement against.
    .package(url: "https://github.com/attaswift/BigInt.git", exact: "6.0.1"),
  ],
  targets: [
    // C
    library("Linux"),
    // The protocol between latchkey-derive and those that start it.
    library("Helper"),
    library("Sodium", pkgConfig: "libsodium", apt: "libsodium-dev"),
    library("PAM", apt: "libpam0g-dev"),
    library("PAMModule", apt: "libpam0g-dev"),
    library("Systemd", pkgConfig: "libsystemd", apt: "libsystemd-dev"),
    library("SQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
    library("Gcrypt", apt: "libgcrypt20-dev"),
    // Header files only: the library is opened while the program runs.
    library("TSS", apt: "libtss2-dev"),
    library("FIDO", pkgConfig: "libfido2", apt: "libfido2-dev"),
    // A part of libc.
    library("Gettext"),
    library("YAML", pkgConfig: "yaml-0.1", apt: "libyaml-dev"),

    // System: one thin typed layer over each.
    module("Bytes", on: .system),
    // What Foundation and _StringProcessing have, and no program is to link: JSON, and the search within strings.
    module("Text", on: .system),
    module("Posix", on: .system, ["CLatchkeyLinux"]),
    module("Sodium", on: .system, ["CLatchkeySodium"], settings: lending),
    // Functions that take the place of libc's, so only for the programs that derive keys.
    module("ErasedMappings", on: .system, ["CLatchkeyLinux", "LatchkeySodium"]),
    module("SQLite", on: .system, ["CLatchkeySQLite"]),
    module("Gcrypt", on: .system, ["CLatchkeyGcrypt"]),
    module("Systemd", on: .system, ["CLatchkeySystemd"]),
    // Not for the programs that run as root, nor for the PAM module: catalogues are no input of theirs.
    module("Gettext", on: .system, ["CLatchkeyGettext", "LatchkeyText"]),
    module("YAML", on: .system, ["CLatchkeyYAML"]),
    module("FIDO", on: .system, ["CLatchkeyFIDO", "LatchkeySodium"]),
    module("TSS", on: .system, ["LatchkeyBytes", "CLatchkeyTSS", "LatchkeySodium"]),
    module(
      "PAMClient", on: .system,
      ["CLatchkeyLinux", "CLatchkeyPAM", "LatchkeyGettext", "LatchkeyPosix", "LatchkeySodium", "LatchkeyText"]),

    // Vault
    module("ItemProtection", on: .vault),
    // On the lowest floor that has reasons to give. The programs that run as root give some too, so it links no catalogue.
    module("Reasons", on: .vault, ["LatchkeyBytes", "LatchkeyItemProtection", "LatchkeyText"]),
    module(
      "Keybag", on: .vault,
      [
        "LatchkeyBytes", "LatchkeyItemProtection", "LatchkeyPosix", "LatchkeyReasons", "LatchkeySodium", "LatchkeyText",
      ]),
    // Not in Vault: the command line and the control socket need an entry's form, and no database.
    module("AccessEvent", on: .vault, ["LatchkeyBytes", "LatchkeyItemProtection"]),
    module("Backup", on: .vault, ["LatchkeyBytes", "LatchkeyKeybag", "LatchkeyReasons", "LatchkeySodium"]),
    module("ClassRules", on: .vault, ["LatchkeyKeybag", "LatchkeyPosix", "LatchkeyReasons", "LatchkeyYAML"]),
    module(
      "Vault", on: .vault,
      [
        "LatchkeyAccessEvent", "LatchkeyBackup", "LatchkeyBytes", "LatchkeyClassRules", "LatchkeyKeybag",
        "LatchkeyPosix", "LatchkeyReasons", "LatchkeySQLite", "LatchkeySodium", "LatchkeyYAML",
      ]),
    module(
      "DeviceStore", on: .vault,
      ["LatchkeyBytes", "LatchkeyKeybag", "LatchkeyPosix", "LatchkeyReasons", "LatchkeySodium", "LatchkeyTSS"]),

    // Wire
    module(
      "Control", on: .wire,
      ["LatchkeyBytes", "LatchkeyKeybag", "LatchkeyPosix", "LatchkeyReasons", "LatchkeySodium"]),
    // Not in Control: no program that handles passwords needs the log.
    module("LogControl", on: .wire, ["LatchkeyAccessEvent", "LatchkeyBytes", "LatchkeyControl"]),
    // Nor does one need the format of backups.
    module(
      "BackupControl", on: .wire,
      ["LatchkeyBackup", "LatchkeyBytes", "LatchkeyControl", "LatchkeyKeybag", "LatchkeyReasons"]),
    module(
      "HistoryControl", on: .wire,
      [
        "LatchkeyBackup", "LatchkeyBackupControl", "LatchkeyBytes", "LatchkeyControl", "LatchkeyKeybag",
        "LatchkeyReasons",
      ]),
    module(
      "DeviceService", on: .wire,
      ["LatchkeyBytes", "LatchkeyKeybag", "LatchkeyPosix", "LatchkeyReasons", "LatchkeySodium"]),
    // The conversation with latchkey-security-key.
    module(
      "SecurityKeys", on: .wire,
      ["CLatchkeyHelper", "LatchkeyBytes", "LatchkeyKeybag", "LatchkeyPosix", "LatchkeySodium"]),
    // Starts latchkey-derive for a program that has a secret of the keybag.
    module(
      "HelperProgram", on: .wire, ["CLatchkeyHelper", "LatchkeyPosix", "LatchkeySodium"]),
    // The agent protocol of ssh, and its keys.
    module("SSHProtocol", on: .wire, ["LatchkeyGcrypt", "LatchkeySodium"]),
    // A client's way to the vault, as every program has it.
    module("SecretClient", on: .wire, ["LatchkeyGcrypt", "LatchkeySodium", "LatchkeySystemd"]),
    // A client's way to fprintd.
    module("FingerReaders", on: .wire, ["LatchkeyPosix", "LatchkeyReasons", "LatchkeySystemd"]),

    // Daemon
    module(
      "SessionState", on: .daemon,
      ["CLatchkeyHelper", "LatchkeyControl", "LatchkeyPosix", "LatchkeyReasons", "LatchkeySystemd"]),
    module(
      "Prompts", on: .daemon,
      ["CLatchkeyLinux", "LatchkeyControl", "LatchkeyKeybag", "LatchkeyPosix", "LatchkeySystemd"]),
    module(
      "SecretService", on: .daemon,
      [
        "LatchkeyControl", "LatchkeyGcrypt", "LatchkeyKeybag", "LatchkeyPosix", "LatchkeyPrompts", "LatchkeyReasons",
        "LatchkeySodium", "LatchkeySystemd", "LatchkeyVault",
      ]),
    module(
      "Daemon", on: .daemon,
      [
        "LatchkeyAccessEvent", "LatchkeyBackup", "LatchkeyBackupControl", "LatchkeyClassRules", "LatchkeyControl",
        "LatchkeyDeviceService", "LatchkeyFingerReaders", "LatchkeyGettext", "LatchkeyHistoryControl", "LatchkeyKeybag",
        "LatchkeyLogControl", "LatchkeyPosix", "LatchkeyPrompts", "LatchkeyReasons", "LatchkeySecretService",
        "LatchkeySessionState", "LatchkeySodium", "LatchkeySystemd", "LatchkeyVault",
      ]),

    // Prompt
    module(
      "Prompters", on: .prompt,
      [
        "LatchkeyControl", "LatchkeyGcrypt", "LatchkeyGettext", "LatchkeyKeybag", "LatchkeyPAMClient", "LatchkeyPosix",
        "LatchkeySodium", "LatchkeySystemd", "LatchkeyText",
      ]),

    // Tools
    module(
      "Doctor", on: .tools,
      ["CLatchkeyHelper", "CLatchkeyLinux", "LatchkeyGettext", "LatchkeyKeybag", "LatchkeyPosix", "LatchkeyText"]),
    module(
      "ProviderSwitch", on: .tools,
      ["LatchkeyDoctor", "LatchkeyGettext", "LatchkeyPosix", "LatchkeySodium", "LatchkeyText"]),
    module(
      "ForeignKeyrings", on: .tools,
      ["LatchkeyGcrypt", "LatchkeyGettext", "LatchkeySecretClient", "LatchkeySodium", "LatchkeyText"]),

    // KeychainServices: for other packages. All modules of a build see each other, and packages that know nothing of us
    // ask whether they can import Security: so it imports no module of C, which only targets that depend on it would find,
    // and only the product of that name builds a module of that name. Contexts know items, not the other way round: a
    // program without contexts builds without.
    module("Security", on: .keychainServices, ["LatchkeyItemProtection"], settings: published),
    module("LocalAuthentication", on: .keychainServices, ["LatchkeySecurity"], settings: published),
    module(
      "KeychainClient", on: .keychainServices,
      ["LatchkeyItemProtection", "LatchkeySecretClient", "LatchkeySecurity", "LatchkeySodium", "LatchkeySystemd"]),
    module(
      "Keychain", on: .keychainServices, ["LatchkeyLocalAuthentication", "LatchkeySecurity"], settings: published),
    // Apple's names.
    .target(
      name: "Security", dependencies: ["LatchkeySecurity"], path: "Sources/KeychainServices/SecurityModule",
      swiftSettings: published),
    .target(
      name: "LocalAuthentication", dependencies: ["LatchkeyLocalAuthentication"],
      path: "Sources/KeychainServices/LocalAuthenticationModule", swiftSettings: published),

    // PAM
    .target(
      name: "LatchkeyPAMModule",
      dependencies: ["CLatchkeyHelper", "CLatchkeyPAMModule"],
      path: "Sources/PAM/PAMModule",
      exclude: ["exports.map"],
      swiftSettings: strict + [
        .enableExperimentalFeature("Embedded"),
        // A section for each function, so that the linker drops all of Embedded Swift's runtime that is not called.
        // No static standard library even if the rest asks for it: Embedded Swift has none to look for.
        .unsafeFlags(["-wmo", "-Xfrontend", "-function-sections", "-no-static-stdlib"]),
        // Both of its C modules are to see the same libc.
        .unsafeFlags(["-Xcc", "-DLATCHKEY_LIBEXECDIR=\"\(libexec)\"", "-Xcc", "-D_GNU_SOURCE=1"]),
      ],
      linkerSettings: [
        .linkedLibrary("pam"),  // Embedded Swift writes no autolink entries
        .unsafeFlags(
          // Never unmapped: libpam calls back into it. No lazy binding: nothing can be missing halfway through a login.
          // Without a soname, programs would know the module by the path to which the linker wrote it.
          ["-z", "nodelete", "-z", "now", "-z", "relro", "-z", "defs", "-soname", "pam_latchkey.so"]
            .flatMap { ["-Xlinker", $0] }
            + ["-Xlinker", "--version-script=\(Context.packageDirectory)/Sources/PAM/PAMModule/exports.map"]),
      ]),

    // Programs
    program(
      "latchkey",
      [
        "LatchkeyAccessEvent", "LatchkeyBackup", "LatchkeyBackupControl", "CLatchkeyHelper", "CLatchkeyLinux",
        "LatchkeyClassRules", "LatchkeyControl",
        "LatchkeyDeviceService", "LatchkeyDoctor", "LatchkeyFingerReaders", "LatchkeyForeignKeyrings", "LatchkeyGcrypt",
        "LatchkeyGettext", "LatchkeyHelperProgram", "LatchkeyHistoryControl",
        "LatchkeyItemProtection", "LatchkeyKeybag", "LatchkeyLogControl", "LatchkeyPAMClient",
        "LatchkeyPosix", "LatchkeyProviderSwitch", "LatchkeyReasons", "LatchkeySSHProtocol", "LatchkeySecretClient",
        "LatchkeySecurityKeys",
        "LatchkeySodium", "LatchkeySystemd", "LatchkeyText", "LatchkeyYAML",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    program(
      "latchkey-derive",
      [
        "CLatchkeyHelper", "LatchkeyControl", "LatchkeyDeviceService", "LatchkeyErasedMappings", "LatchkeyKeybag",
        "LatchkeyPosix",
        "LatchkeySodium",
      ],
      linker: [bindNow, exportMappings]),
    program(
      "latchkey-security-key",
      [
        "LatchkeyFIDO", "LatchkeyPosix", "LatchkeySecurityKeys", "LatchkeySodium",
      ]),
    program(
      "latchkey-prompt",
      [
        "CLatchkeyHelper", "LatchkeyControl", "LatchkeyGcrypt", "LatchkeyGettext", "LatchkeyHelperProgram",
        "LatchkeyItemProtection", "LatchkeyKeybag", "LatchkeyPAMClient", "LatchkeyPosix", "LatchkeyPrompters",
        "LatchkeyReasons", "LatchkeySecurityKeys", "LatchkeySodium", "LatchkeySystemd",
      ]),
    program(
      "latchkey-deviced",
      [
        "LatchkeyDeviceService", "LatchkeyDeviceStore", "LatchkeyFingerReaders", "LatchkeyKeybag", "LatchkeyPosix",
        "LatchkeyReasons", "LatchkeySodium", "LatchkeySystemd",
      ]),
    program(
      "latchkey-ssh-agent",
      [
        "LatchkeyGcrypt", "LatchkeyGettext", "LatchkeyPosix", "LatchkeyPrompters", "LatchkeyPrompts",
        "LatchkeySSHProtocol", "LatchkeySecretClient", "LatchkeySodium", "LatchkeySystemd",
      ]),
    program(
      "latchkey-kwallet",
      [
        "LatchkeyDoctor", "LatchkeyForeignKeyrings", "LatchkeyGcrypt", "LatchkeyGettext", "LatchkeyPosix",
        "LatchkeySecretClient", "LatchkeySodium", "LatchkeySystemd",
      ]),
    program(
      "latchkeyd",
      [
        "LatchkeyClassRules", "LatchkeyControl", "LatchkeyDaemon", "LatchkeyDeviceService", "LatchkeyGcrypt",
        "LatchkeyKeybag", "LatchkeyPosix", "LatchkeySodium", "LatchkeySystemd", "LatchkeyVault",
      ]),

    // Tests.
    .target(name: "LatchkeyScratch", path: "Tests/Scratch", swiftSettings: strict),
    .target(
      name: "LatchkeyPrivateBus", dependencies: ["LatchkeySystemd"], path: "Tests/PrivateBus", swiftSettings: strict),
    tests("GettextTests", ["LatchkeyGettext", "LatchkeyText"]),
    tests(
      "SessionStateTests",
      [
        "LatchkeyControl", "LatchkeyPosix", "LatchkeyReasons", "LatchkeySessionState", "LatchkeySystemd",
        "LatchkeyPrivateBus",
      ]),
    tests(
      "FingerReadersTests", ["LatchkeyFingerReaders", "LatchkeyPosix", "LatchkeySystemd", "LatchkeyPrivateBus"]),
    tests("ReasonsTests", ["LatchkeyBytes", "LatchkeyReasons", "LatchkeyText"]),
    tests(
      "ControlTests",
      [
        "LatchkeyAccessEvent", "LatchkeyBackup", "LatchkeyBackupControl", "LatchkeyBytes", "LatchkeyControl",
        "LatchkeyHistoryControl", "LatchkeyKeybag", "LatchkeyLogControl", "LatchkeyPosix", "LatchkeyReasons",
        "LatchkeySodium",
      ]),
    tests(
      "SecretServiceTests",
      [
        "LatchkeyKeybag", "LatchkeyPrivateBus", "LatchkeyPrompts", "LatchkeySecretService", "LatchkeySodium",
        "LatchkeySystemd", "LatchkeyVault",
      ]),
    tests(
      "PromptsTests",
      [
        "CLatchkeyLinux", "LatchkeyControl", "LatchkeyKeybag", "LatchkeyPosix", "LatchkeyPrompts", "LatchkeyScratch",
        "LatchkeySodium", "LatchkeySystemd",
      ]),
    .target(
      name: "LatchkeyStandInDevice", dependencies: ["LatchkeyKeybag", "LatchkeyPosix", "LatchkeySodium"],
      path: "Tests/StandInDevice",
      swiftSettings: strict),
    .executableTarget(
      name: "LatchkeyVaultCrash",
      dependencies: [
        "LatchkeyBackup", "LatchkeyKeybag", "LatchkeyPosix", "LatchkeySodium", "LatchkeyStandInDevice", "LatchkeyVault",
      ],
      path: "Tests/VaultCrash",
      swiftSettings: strict),
    tests(
      "VaultTests",
      [
        "LatchkeyAccessEvent", "LatchkeyBackup", "LatchkeyKeybag", "LatchkeyPosix", "LatchkeySQLite", "LatchkeyScratch",
        "LatchkeySodium", "LatchkeyReasons", "LatchkeyStandInDevice", "LatchkeyVault", "LatchkeyVaultCrash",
      ], exclude: ["Shims"], settings: lending),
    tests(
      "DeviceTests",
      [
        "LatchkeyDeviceService", "LatchkeyDeviceStore", "LatchkeyKeybag", "LatchkeyPosix", "LatchkeyScratch",
        "LatchkeySodium", "LatchkeyTSS",
      ]),
    tests(
      "BackupTests", ["LatchkeyBackup", "LatchkeyBytes", "LatchkeyKeybag", "LatchkeySodium"],
      exclude: ["Vectors/generate_backups.py"], resources: [.copy("Vectors/backups.json")]),
    tests("SystemdTests", ["LatchkeySystemd", "LatchkeyPrivateBus"]),
    tests("GcryptTests", ["LatchkeyGcrypt", .product(name: "BigInt", package: "BigInt")]),
    .target(
      name: "LatchkeyStandInStore", dependencies: ["LatchkeyItemProtection", "LatchkeySecurity"],
      path: "Tests/StandInStore",
      swiftSettings: strict),
    tests(
      "SecurityTests",
      [
        "LatchkeyItemProtection", "LatchkeyKeychainClient", "LatchkeyLocalAuthentication", "LatchkeySecurity",
        "LatchkeyStandInStore",
      ]),
    tests(
      "KeychainTests",
      [
        "LatchkeyItemProtection", "LatchkeyKeychain", "LatchkeyKeychainClient", "LatchkeyLocalAuthentication",
        "LatchkeySecurity", "LatchkeyStandInStore",
      ]),
    tests(
      "KeychainClientTests",
      [
        "LatchkeyItemProtection", "LatchkeyKeychainClient", "LatchkeySecretClient", "LatchkeySecurity",
        "LatchkeySystemd",
      ]),
    .executableTarget(
      name: "keychain-caller", dependencies: ["LatchkeyKeychainClient", "LocalAuthentication", "Security"],
      path: "Tests/KeychainCaller", swiftSettings: strict),
    tests("ProviderSwitchTests", ["LatchkeyDoctor", "LatchkeyPosix", "LatchkeyProviderSwitch", "LatchkeyScratch"]),
    tests("DoctorTests", ["LatchkeyDoctor", "LatchkeyScratch", "LatchkeyText"]),
    tests("ForeignKeyringsTests", ["LatchkeyForeignKeyrings", "LatchkeySecretClient", "LatchkeySodium"]),
    tests("SSHProtocolTests", ["LatchkeySSHProtocol", "LatchkeySodium"]),
    tests("YAMLTests", ["LatchkeyYAML"]),
    tests("ClassRulesTests", ["LatchkeyClassRules", "LatchkeyKeybag", "LatchkeyScratch"]),
    tests(
      "PromptersTests",
      [
        "LatchkeyControl", "LatchkeyGcrypt", "LatchkeyItemProtection", "LatchkeyKeybag", "LatchkeyPAMClient",
        "LatchkeyPrompters", "LatchkeyScratch", "LatchkeySodium", "LatchkeySystemd",
        .product(name: "BigInt", package: "BigInt"),
      ]),
    tests("BytesTests", ["LatchkeyBytes"]),
    tests("TextTests", ["LatchkeyText"]),
    tests(
      "SodiumTests", ["CLatchkeySodium", "LatchkeyErasedMappings", "LatchkeySodium"],
      linkerSettings: [bindNow, exportMappings]),
    tests("PosixTests", ["CLatchkeyLinux", "LatchkeyPosix", "LatchkeyScratch"]),
    tests(
      "KeybagTests", ["LatchkeyBytes", "LatchkeyKeybag", "LatchkeyPosix", "LatchkeyScratch", "LatchkeySodium"],
      exclude: ["Vectors/generate_keybags.py"], resources: [.copy("Vectors/vectors.json")]),
  ]
)

// Only for fuzzing (Tests/Fuzz): everything is then built with libFuzzer's instruments, which no other build may have.
if Context.environment["LATCHKEY_FUZZ"] != nil {
  package.targets += [
    .systemLibrary(name: "CLatchkeyFuzzer", path: "Tests/Fuzz/CFuzzer"),
    .executableTarget(
      name: "latchkey-fuzz",
      dependencies: [
        "CLatchkeyHelper", "LatchkeyAccessEvent", "LatchkeyBackup", "LatchkeyBackupControl", "LatchkeyBytes",
        "CLatchkeyFuzzer",
        "LatchkeyControl",
        "LatchkeyDeviceService", "LatchkeyForeignKeyrings", "LatchkeyHistoryControl",
        "LatchkeyKeybag", "LatchkeyLogControl", "LatchkeyPosix", "LatchkeyPrompters", "LatchkeyPrompts",
        "LatchkeyReasons", "LatchkeySQLite",
        "LatchkeySSHProtocol", "LatchkeySecretClient", "LatchkeySecretService", "LatchkeySodium", "LatchkeyVault",
      ],
      path: "Tests/Fuzz/Targets", swiftSettings: strict,
      linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]),
  ]
}

// Only for `make bench`: it has nothing that a test would run.
if Context.environment["LATCHKEY_BENCHMARK"] != nil {
  package.targets += [
    .executableTarget(
      name: "keychain-benchmark", dependencies: ["CLatchkeySystemd", "LatchkeyKeychainClient", "Security"],
      path: "Tests/Benchmark/Keychain", swiftSettings: strict)
  ]
}

// Only for `make window`: nobody needs GTK for the rest. docs/developer/decisions.md says why it is no package of its own.
if Context.environment["LATCHKEY_WINDOW"] != nil {
  package.targets += [
    library("Adwaita", pkgConfig: "latchkey-adwaita", apt: "libadwaita-1-dev"),
    module("Adwaita", on: .system, ["CLatchkeyAdwaita", "LatchkeySodium"]),
    program(
      "latchkey-app",
      [
        "LatchkeyAdwaita", "LatchkeyControl", "LatchkeyGcrypt", "LatchkeyGettext", "LatchkeyItemProtection",
        "LatchkeyPosix", "LatchkeyReasons", "LatchkeySecretClient", "LatchkeySodium", "LatchkeySystemd", "LatchkeyText",
      ]),
  ]
}
