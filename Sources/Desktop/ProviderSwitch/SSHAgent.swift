import FoundationEssentials
import LatchkeyDoctor
import LatchkeyPosix

/// gnome-keyring's agent for ssh, which version 42 has beside its part for secrets.
public struct SSHAgent {
  private let folder: String

  /// The agent of a session.
  public init(runtime: String) { folder = "\(runtime)/keyring" }

  /// Whether it answers.
  public var isRunning: Bool { keys() != nil }

  /// The keys that it has, as files of public keys have them; nil where it does not answer.
  public func keys() -> Set<String>? { try? answer() }

  private func answer() throws(PosixError) -> Set<String> {
    let connection = try FileDescriptor.connect(stream: "\(folder)/ssh", seconds: 5)
    // A message of one byte: the request for the keys.
    try connection.writeAll(([0, 0, 0, 1, 11] as [UInt8]).span.bytes)
    let size = Self.number(try connection.read(count: 4))
    guard (5...(1 << 20)).contains(size) else { throw PosixError("read", code: 74 /* EBADMSG */) }
    var rest = try connection.read(count: size)[...]
    func take(_ count: Int) throws(PosixError) -> ArraySlice<UInt8> {
      guard count <= rest.count else { throw PosixError("read", code: 74) }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }
    guard try take(1).first == 12 else { throw PosixError("read", code: 74) }
    var keys: Set<String> = []
    for _ in 0..<Self.number(Array(try take(4))) {
      keys.insert(Data(try take(Self.number(Array(try take(4))))).base64EncodedString())
      _ = try take(Self.number(Array(try take(4))))  // its comment
    }
    return keys
  }

  /// Those that no file in `~/.ssh` has: they were added by hand, and end with the agent.
  public func keysWithoutFile(root: SystemRoot, home: String) -> Set<String> {
    guard var keys = keys() else { return [] }
    for name in root.names(in: "\(home)/.ssh") where name.hasSuffix(".pub") {
      for line in root.lines("\(home)/.ssh/\(name)") {
        line.split(separator: " ").dropFirst().first.map { _ = keys.remove(String($0)) }
      }
    }
    return keys
  }

  private static func number(_ bytes: [UInt8]) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
}
