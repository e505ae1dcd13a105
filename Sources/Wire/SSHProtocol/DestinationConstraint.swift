import LatchkeySodium

/// One step that a key with `restrict-destination-v00@openssh.com` may take: from a host, or from here, to a host.
public struct DestinationConstraint: Equatable, Sendable {
  /// An end of the step.
  struct End: Equatable, Sendable {
    /// The user there, as a pattern; empty for any.
    let user: String
    /// The host's name; empty for this machine.
    let host: String
    /// The host's keys, and whether each is an authority's.
    let keys: [(key: PublicKey, isAuthority: Bool)]

    static func == (left: End, right: End) -> Bool {
      left.user == right.user && left.host == right.host
        && left.keys.elementsEqual(right.keys) { $0.key == $1.key && $0.isAuthority == $1.isAuthority }
    }

    init(_ bytes: RawSpan, _ reader: SSHReader) throws(SSHReader.Malformed) {
      var reader = reader
      user = try reader.text(bytes)
      host = try reader.text(bytes)
      guard try reader.string(bytes).isEmpty else { throw SSHReader.Malformed() }  // reserved
      var keys: [(key: PublicKey, isAuthority: Bool)] = []
      while !reader.isAtEnd {
        guard keys.count < DestinationConstraint.limit else { throw SSHReader.Malformed() }
        let blob = try reader.octets(bytes)
        keys.append((try PublicKey(blob: blob), try reader.byte(bytes) != 0))
      }
      self.keys = keys
    }

    /// Whether a host that proved to have a key is meant.
    func fits(_ key: PublicKey) -> Bool {
      keys.contains { known in
        guard let certificate = key.certificate else { return !known.isAuthority && known.key == key }
        return known.isAuthority && certificate.isHost && certificate.authority == known.key.blob
          && certificate.principals.contains(host)
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
  ///   - origin: the key of the host that it begins at; nil for this machine.
  ///   - target: the key of the host that it leads to; nil for any.
  ///   - user: the user who logs in there; nil before a login.
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
    // Where the last star is, and what it has matched so far.
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
