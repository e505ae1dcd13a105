import Glibc
import LatchkeyGcrypt
import LatchkeyPosix
import LatchkeySSHProtocol
import LatchkeySodium

/// Finds the name of a host by its key, in the person's list of known hosts. Most names in the list are hashed. So this tries the
/// names in the program's arguments and in ssh's configuration.
struct KnownHosts {
  private static let limit = 4 << 20

  private let candidates: [String]
  private let lines: [Substring]

  init(pid: pid_t) {
    // A session may have a different home folder. The environment is safe to believe here, because this only affects words.
    let home = getenv("HOME").map { String(cString: $0) } ?? Account(uid: getuid())?.home ?? ""
    lines = Self.text("\(home)/.ssh/known_hosts").split(separator: "\n")
    let words = Self.text("/proc/\(pid)/cmdline").split(separator: "\0").dropFirst()
    // If an option is repeated, its last value counts.
    let options = { (option: Substring) in words.lastIndex(of: option).flatMap { words[($0 + 1)...].first } }
    let file = options("-F").map { $0.hasPrefix("/") ? String($0) : "/proc/\(pid)/cwd/\($0)" }
    let configured = Self.Configuration(Self.text(file ?? "\(home)/.ssh/config"))
    let names = words.filter { !$0.hasPrefix("-") }.map { $0.split(separator: "@").last ?? $0 } + configured.names
    let ports = Set(configured.ports + (options("-p").map { [$0] } ?? []))
    candidates = names.filter { $0.utf8.count < 256 }.prefix(Self.nameLimit).flatMap { name in
      [String(name)] + ports.prefix(Self.portLimit).map { "[\(name)]:\($0)" }
    }
  }

  private static let nameLimit = 1000
  private static let portLimit = 16

  /// All names and ports in ssh's configuration.
  private struct Configuration {
    private(set) var names: [Substring] = []
    private(set) var ports: [Substring] = []

    init(_ text: String) {
      for line in text.split(separator: "\n") {
        let words = line.split { " \t=\"\r".contains($0) }
        switch words.first?.lowercased() {
        case "host", "hostname", "hostkeyalias": names += words.dropFirst()
        case "port": ports += words.dropFirst()
        default: break
        }
      }
    }
  }

  private static func text(_ path: String) -> String {
    guard let file = try? FileDescriptor.open(path, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY),
      let bytes = try? file.readAll(limit: limit)
    else { return "" }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The name of the host with that key; nil if the list lacks the key.
  func name(of key: PublicKey) -> String? {
    let wanted = Base64.encode(key.blob)
    for line in lines {
      let fields = line.split(separator: " ")
      guard fields.count >= 3, !line.hasPrefix("#"), !line.hasPrefix("@"), fields[2] == wanted else { continue }
      guard fields[0].hasPrefix("|1|") else { return fields[0].split(separator: ",").first.map { String($0) } }
      if let name = candidates.first(where: { Self.isHash(fields[0], of: $0) }) { return name }
    }
    return nil
  }

  private static func isHash(_ field: Substring, of name: String) -> Bool {
    let parts = field.split(separator: "|")
    guard parts.count == 3, let salt = Base64.decode(parts[1]), let hash = Base64.decode(parts[2]) else { return false }
    return (try? Digest.sha1.authenticate(Array(name.utf8), key: salt)) == hash
  }
}
