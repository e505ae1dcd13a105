import LatchkeyGcrypt
import LatchkeySodium

/// A key of a FIDO device, as its file and the agent protocol have it. The device makes the secret from a handle, so nothing here
/// is a private key.
public struct SecurityKey: Equatable, Sendable {
  /// The kinds of keys that devices have, by the names of their types.
  public enum Algorithm: String, Sendable {
    case ed25519 = "sk-ssh-ed25519@openssh.com"
    case ecdsa = "sk-ecdsa-sha2-nistp256@openssh.com"

    private static let ecdsaPointSize = 65

    /// The public point, behind the curve's name if there is one.
    func readPoint(_ bytes: RawSpan, _ reader: inout SSHReader) throws(SSHReader.Malformed) -> [UInt8] {
      switch self {
      case .ed25519:
        let point = try reader.octets(bytes)
        guard point.count == Ed25519.publicKeySize else { throw SSHReader.Malformed() }
        return point
      case .ecdsa:
        guard try reader.text(bytes) == NamedCurve.p256.rawValue else { throw SSHReader.Malformed() }
        let point = try reader.octets(bytes)
        guard point.first == 4, point.count == Self.ecdsaPointSize else { throw SSHReader.Malformed() }
        return point
      }
    }
  }

  static let (typePrefix, typeSuffix) = ("sk-", "@openssh.com")
  /// OpenSSH's own way to devices of USB, which needs no other library.
  public static let internalProvider = "internal"
  /// A signature ends with the device's flags, and with its counter of signatures.
  static let stateSize = 5

  /// The bits that OpenSSH and devices have for it.
  let flags: UInt8

  /// Whether each signature needs a touch.
  public var needsTouch: Bool { flags & 0x01 != 0 }

  /// The bytes that a device signs for a message.
  static func signed(_ message: RawSpan, application: [UInt8], state: [UInt8]) -> [UInt8] {
    let digest = message.withUnsafeBytes { SignatureHash.sha256.digest($0) }
    return application.withUnsafeBytes { SignatureHash.sha256.digest($0) } + state + digest
  }
}

extension PublicKey {
  /// Whether a device has its private key.
  public var isOfSecurityKey: Bool { if case .securityKey = kind { true } else { false } }

  /// Whether it may sign data of an unknown kind. A device's key that was not made for ssh is one for a web site, and an agent that
  /// is forwarded must not log in there.
  public var signsUnknownData: Bool {
    guard case .securityKey(_, let application) = numbers else { return true }
    return application.starts(with: Array("ssh:".utf8))
  }
}

/// The libraries that may speak to security keys, beside OpenSSH's own way: patterns with commas between them, as ssh-agent's `-P` has
/// them. A pattern behind `!` forbids.
public struct ProviderList: Sendable {
  private let patterns: [(text: String, forbids: Bool)]

  /// An empty text allows none.
  public init(_ patterns: String) {
    self.patterns = patterns.split(separator: ",").map { pattern in
      pattern.hasPrefix("!") ? (String(pattern.dropFirst()), true) : (String(pattern), false)
    }
  }

  /// Whether a file may be run, by its whole path without links.
  public func allows(_ path: String) -> Bool {
    let fitting = patterns.filter { NamePattern($0.text).matches(path) }
    return !fitting.isEmpty && !fitting.contains(where: \.forbids)
  }
}
