import Foundation
import LatchkeySecurity

extension AccessGroups {
  /// The access groups of this program.
  static let ofProgram = AccessGroups(ProgramIdentity.current())
}

/// The identity of a program, which distinguishes it from others. It is the program's own claim: any program of the same user
/// can claim the same.
struct ProgramIdentity: Equatable {
  /// The result of reading a file of entitlements.
  enum Entitlements: Equatable {
    /// Its contents.
    case contents(Data, path: String)
    /// The file exists, but cannot be opened or read.
    case unreadable(path: String, reason: String)
  }

  /// The file NAME.entitlements beside the executable; nil if there is none.
  var entitlements: Entitlements?
  /// `LATCHKEY_ACCESS_GROUPS`, as its unit sets it.
  var environment: String?
  /// The sandbox's application, as Flatpak sets `FLATPAK_ID`.
  var application: String?
  /// The identifier in the file Info.plist beside the executable.
  var bundle: String?
  /// The executable's name.
  var executable = ""

  /// The running program.
  static func current() -> ProgramIdentity {
    let files = FileManager.default
    var path = (try? files.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments.first ?? ""
    // The kernel adds this if the file was replaced, as by an update.
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
  /// Reads the file; nil if it does not exist. After any other error its content is unknown.
  init?(path: String) {
    // A pipe of that name must not stop the program.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      // With the ending, the executable's name may be too long for a file, so there is none.
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
  /// The groups of a program, from the first of these sources that exists.
  ///
  /// If a file of entitlements cannot be read, the program has no groups. A program with a wrong file must not get into other
  /// groups.
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

  /// The groups of a property list, then the application itself, as on Apple's systems.
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
