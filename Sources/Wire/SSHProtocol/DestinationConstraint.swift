import Glibc
import LatchkeySodium

/// One allowed step of a key with `restrict-destination-v00@openssh.com`: from a host, or from this machine, to a host.
public struct DestinationConstraint: Equatable, Sendable {
  /// An end of the step.
  struct End: Equatable, Sendable {
    /// A pattern for the user at this end; empty for any user.
    let user: String
    /// The host's name; empty for this machine.
    let host: String
    /// The host's keys. Each is either the host's own key or the key of a certificate authority.
    let keys: [(key: PublicKey, isAuthority: Bool)]

    static func == (left: End, right: End) -> Bool {
      left.user == right.user && left.host == right.host
        && left.keys.elementsEqual(right.keys) { $0.key == $1.key && $0.isAuthority == $1.isAuthority }
    }

    init(_ bytes: RawSpan, _ reader: SSHReader) throws(SSHReader.Malformed) {
      var reader = reader
      user = try reader.text(bytes)
      host = try reader.text(bytes)
      guard try reader.string(bytes).isEmpty else { throw SSHReader.Malformed() }  // This field is reserved.
      var keys: [(key: PublicKey, isAuthority: Bool)] = []
      while !reader.isAtEnd {
        guard keys.count < DestinationConstraint.limit else { throw SSHReader.Malformed() }
        let blob = try reader.octets(bytes)
        keys.append((try PublicKey(blob: blob), try reader.byte(bytes) != 0))
      }
      self.keys = keys
    }

    /// Whether this end is the host that has proved that it has a key.
    func fits(_ key: PublicKey) -> Bool {
      keys.contains { known in
        guard known.isAuthority else { return key.certificate == nil && known.key == key }
        return key.isCertified(by: known.key, as: host, now: UInt64(clamping: time(nil)))
      }
    }
  }

  let from: End
  let to: End

  static let limit = 1024

  init(_ bytes: RawSpan, _ reader: SSHReader) throws(SSHReader.Malformed) {
    var reader = reader
    from = try End(bytes, try reader.fields(bytes))
    to = try End(bytes, try reader.fields(bytes))
    guard try reader.string(bytes).isEmpty, reader.isAtEnd else { throw SSHReader.Malformed() }
    guard from.user.isEmpty, from.host.isEmpty == from.keys.isEmpty, !to.host.isEmpty, !to.keys.isEmpty else {
      throw SSHReader.Malformed()
    }
  }

  /// Reads all constraints of a key.
  public static func read(_ bytes: RawSpan, _ reader: SSHReader) throws(SSHReader.Malformed) -> [DestinationConstraint]
  {
    var reader = reader
    var all: [DestinationConstraint] = []
    while !reader.isAtEnd {
      guard all.count < limit else { throw SSHReader.Malformed() }
      all.append(try DestinationConstraint(bytes, try reader.fields(bytes)))
    }
    return all
  }

  /// Whether a step is allowed.
  ///
  /// - Parameters:
  ///   - origin: the key of the host at which the step begins; nil for this machine.
  ///   - target: the key of the host to which the step leads; nil for any host.
  ///   - user: the user who logs in at that host; nil before a login.
  func allows(from origin: PublicKey?, to target: PublicKey?, user: String?) -> Bool {
    if let origin {
      guard from.fits(origin) else { return false }
    } else {
      guard from.keys.isEmpty else { return false }
    }
    if let target { guard to.fits(target) else { return false } }
    guard let user, !to.user.isEmpty else { return true }
    return NamePattern(to.user).matches(user)
  }
}

/// A pattern of names with `*` and `?`.
struct NamePattern {
  private let pattern: [UInt8]

  init(_ pattern: String) { self.pattern = Array(pattern.utf8) }

  func matches(_ name: String) -> Bool {
    let name = Array(name.utf8)
    var (place, at) = (0, 0)
    // The place of the last star in the pattern, and the end of the text that it matches so far.
    var star: (pattern: Int, name: Int)?
    while at < name.count {
      if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
        star = (place, at)
        place += 1
      } else if place < pattern.count, pattern[place] == UInt8(ascii: "?") || pattern[place] == name[at] {
        (place, at) = (place + 1, at + 1)
      } else if let last = star {
        star = (last.pattern, last.name + 1)
        (place, at) = (last.pattern + 1, last.name + 1)
      } else {
        return false
      }
    }
    return pattern[place...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}
