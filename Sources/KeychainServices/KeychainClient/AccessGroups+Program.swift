import Foundation
import LatchkeySecurity

extension AccessGroups {
  /// The access groups of this program.
  static let ofProgram = AccessGroups(ProgramIdentity.current())
}

/// The identity of a program, which distinguishes it from other programs. It is only a claim: any program of the same user can
/// claim the same identity.
struct ProgramIdentity: Equatable {
  /// The result of reading a file of entitlements.
  enum Entitlements: Equatable {
    /// The contents of the file.
    case contents(Data, path: String)
    /// The file exists, but cannot be opened or read.
    case unreadable(path: String, reason: String)
  }

  /// The file NAME.entitlements beside the executable; nil if there is none.
  var entitlements: Entitlements?
  /// The variable `LATCHKEY_ACCESS_GROUPS`, which the program's systemd unit may set.
  var environment: String?
  /// The application of the sandbox, which Flatpak puts into `FLATPAK_ID`.
  var application: String?
  /// The identifier in the file Info.plist beside the executable.
  var bundle: String?
  /// The executable's name.
  var executable = ""

  /// The running program.
  static func current() -> ProgramIdentity {
    let files = FileManager.default
    var path = (try? files.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments.first ?? ""
    // The kernel adds this if the file was replaced, for example by an update.
    let gone = " (deleted)"
    if path.hasSuffix(gone), !files.fileExists(atPath: path) { path.removeLast(gone.count) }
    var identity = ProgramIdentity()
    identity.entitlements = Entitlements(path: path + ".entitlements")
    identity.environment = ProcessInfo.processInfo.environment["LATCHKEY_ACCESS_GROUPS"]
    identity.application = ProcessInfo.processInfo.environment["FLATPAK_ID"]
    identity.bundle = Bundle.main.bundleIdentifier
    identity.executable = URL(fileURLWithPath: path).lastPathComponent
    return identity
  }
}

extension ProgramIdentity.Entitlements {
  /// Reads the file; nil if it does not exist. After any other error, the content counts as unreadable.
  init?(path: String) {
    // If a pipe has this name, opening it must not block the program.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      // With the ending, the name may be too long for a file name, so there is no such file.
      if [ENOENT, ENOTDIR, ENAMETOOLONG].contains(errno) { return nil }
      self = .unreadable(path: path, reason: String(cString: strerror(errno)))
      return
    }
    defer { close(file) }
    var contents = Data()
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(file, &buffer, buffer.count)
      if count == 0 { break }
      guard count > 0 else {
        if errno == EINTR { continue }
        self = .unreadable(path: path, reason: String(cString: strerror(errno)))
        return
      }
      contents += buffer.prefix(count)
    }
    self = .contents(contents, path: path)
  }
}

extension AccessGroups {
  /// The groups of a program, from the first of its sources that exists.
  ///
  /// If the file of entitlements cannot be read, the program has no groups. Otherwise a program with a damaged file would get into
  /// the wrong groups.
  init(_ identity: ProgramIdentity) {
    switch identity.entitlements {
    case .contents(let file, let path):
      self.init(AccessGroups.names(inEntitlements: file), absence: .malformedGroups(path: path))
      return
    case .unreadable(let path, let reason):
      self.init([], absence: .unreadableGroups(path: path, reason: reason))
      return
    case nil: break
    }
    let named = identity.environment?.split { $0.isWhitespace || $0 == "," }.map(String.init) ?? []
    if !named.isEmpty {
      self.init(AccessGroups.unique(named))
      return
    }
    let name = [identity.application, identity.bundle, identity.executable].compactMap { $0 }.first { !$0.isEmpty }
    self.init(name.map { [$0] } ?? [])
  }

  /// The groups of a property list, and after them the application's own identifier, as on Apple's systems.
  private static func names(inEntitlements file: Data) -> [String] {
    let list = try? PropertyListSerialization.propertyList(from: file, format: nil)
    guard let list = list as? [String: Any] else { return [] }
    let groups = list["keychain-access-groups"] as? [Any] ?? []
    let application = list["application-identifier"] as? String
    return unique(groups.compactMap { $0 as? String } + (application.map { [$0] } ?? [])).filter { !$0.isEmpty }
  }

  private static func unique(_ names: [String]) -> [String] {
    var seen: Set<String> = []
    return names.filter { $0.canTravel && seen.insert($0).inserted }
  }
}
