import Glibc
import LatchkeyDoctor
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium

/// gnome-keyring's ssh agent, which version 42 has in addition to its part for secrets.
public struct SSHAgent {
  /// The agent's state.
  public enum Content: Equatable {
    /// No agent listens.
    case absent
    /// An agent listens, but gave no valid answer, so its keys are unknown.
    case silent
    /// The agent's keys, in the form of public key files.
    case keys(Set<String>)
  }

  private let path: String
  /// The socket of the ssh-agent that works for gnome-keyring.
  private let innerPath: String

  /// The agent of a session.
  public init(runtime: String) { (path, innerPath) = ("\(runtime)/keyring/ssh", "\(runtime)/keyring/.ssh") }

  /// Whether neither the agent nor the ssh-agent behind it listens any more.
  public var hasEnded: Bool {
    [path, innerPath].allSatisfy { path in
      do throws(PosixError) { _ = try Self.connect(to: path) } catch { return Self.saysThatNobodyListens(error) }
      return false
    }
  }

  /// Ends the ssh-agent behind the agent. If gnome-keyring ends at the wrong moment, its ssh-agent keeps running, and the next one
  /// could not listen.
  public func endInner() {
    do throws(PosixError) {
      let other = try Self.connect(to: innerPath).peer()
      if other.uid == getuid(), other.pid > 1 { kill(other.pid, SIGTERM) }
    } catch {}
  }

  /// Removes the socket of an ssh-agent that has ended. The next ssh-agent could not listen beside it.
  public func removeLeftover() { unlink(innerPath) }

  /// Whether the agent answers.
  public var isRunning: Bool {
    if case .keys = content { return true }
    return false
  }

  /// The state now.
  public var content: Content {
    do throws(PosixError) { return .keys(try answer()) } catch {
      return Self.saysThatNobodyListens(error) ? .absent : .silent
    }
  }

  private func answer() throws(PosixError) -> Set<String> {
    let connection = try Self.connect(to: path)
    // A message of one byte: the request for the keys.
    try connection.sendAll(([0, 0, 0, 1, 11] as [UInt8]).span.bytes)
    let size = Self.number(try connection.read(count: 4))
    guard (5...(1 << 20)).contains(size) else { throw PosixError("read", code: EBADMSG) }
    var rest = try connection.read(count: size)[...]
    func take(_ count: Int) throws(PosixError) -> ArraySlice<UInt8> {
      guard count <= rest.count else { throw PosixError("read", code: EBADMSG) }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }
    guard try take(1).first == 12 else { throw PosixError("read", code: EBADMSG) }
    var keys: Set<String> = []
    for _ in 0..<Self.number(Array(try take(4))) {
      keys.insert(Base64.encode(Array(try take(Self.number(Array(try take(4)))))))
      _ = try take(Self.number(Array(try take(4))))  // The key's comment.
    }
    return keys
  }

  /// The reason why the agent must not end; nil if its end loses no keys. A key that is in no file of `~/.ssh` was added by hand,
  /// and is lost with the agent.
  public func whyItStays(root: SystemRoot, home: String) -> String? {
    switch content {
    case .absent: return nil
    case .silent: return translated("its ssh agent does not answer, and any keys in it would be lost")
    case .keys(var keys):
      for name in root.names(in: "\(home)/.ssh") where name.hasSuffix(".pub") {
        for line in root.lines("\(home)/.ssh/\(name)") {
          line.split(separator: " ").dropFirst().first.map { _ = keys.remove(String($0)) }
        }
      }
      let count = keys.count
      guard count > 0 else { return nil }
      return translated(
        count, one: "its ssh agent has \(count) key from ssh-add, which would be lost",
        other: "its ssh agent has \(count) keys from ssh-add, which would be lost")
    }
  }

  private static func connect(to path: String) throws(PosixError) -> FileDescriptor {
    try FileDescriptor.connect(stream: path, seconds: 5)
  }

  private static func saysThatNobodyListens(_ error: PosixError) -> Bool {
    [ENOENT, ENOTDIR, ECONNREFUSED].contains(error.code)
  }

  private static func number(_ bytes: [UInt8]) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
}
