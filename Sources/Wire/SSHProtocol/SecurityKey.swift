import LatchkeyGcrypt
import LatchkeySodium

/// A key of a FIDO device, with the fields of the key file and the agent protocol. The device makes the secret from a handle, so no
/// field is a private key.
public struct SecurityKey: Equatable, Sendable {
  /// The kinds of keys that devices have, by the names of their types.
  public enum Algorithm: String, Sendable {
    case ed25519 = "sk-ssh-ed25519@openssh.com"
    case ecdsa = "sk-ecdsa-sha2-nistp256@openssh.com"

    private static let ecdsaPointSize = 65

    /// Reads the public point. If the algorithm names a curve, the name comes first.
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
  /// The name of OpenSSH's own support for USB devices, which needs no other library.
  public static let internalProvider = "internal"
  /// A signature ends with the device's flags, and with its counter of signatures.
  static let stateSize = 5

  /// The key's flags, as OpenSSH and devices define them.
  let flags: UInt8

  /// Whether each signature needs a touch.
  public var needsTouch: Bool { flags & 0x01 != 0 }

  /// The bytes that a device signs for a message.
  static func signed(_ message: RawSpan, application: [UInt8], state: [UInt8]) -> [UInt8] {
    SignatureHash.sha256.digest(application.span.bytes) + state + SignatureHash.sha256.digest(message)
  }
}

extension PublicKey {
  /// Whether a device has the private key.
  public var isOfSecurityKey: Bool { if case .securityKey = kind { true } else { false } }

  /// Whether the key may sign data of an unknown kind. A device may have keys for web sites, which were not made for ssh. A
  /// forwarded agent must not be able to log in at such a site.
  public var signsUnknownData: Bool {
    guard case .securityKey(_, let application) = numbers else { return true }
    return application.starts(with: Array("ssh:".utf8))
  }
}

/// The libraries that may speak to security keys, in addition to OpenSSH's own support. The list has patterns with commas between
/// them, as for `-P` of ssh-agent. A pattern with `!` in front forbids.
public struct ProviderList: Sendable {
  private let patterns: [(text: String, forbids: Bool)]

  /// Reads a list of patterns. An empty text allows no library.
  public init(_ patterns: String) {
    self.patterns = patterns.split(separator: ",").map { pattern in
      pattern.hasPrefix("!") ? (String(pattern.dropFirst()), true) : (String(pattern), false)
    }
  }

  /// Whether a library may be used. `path` is its whole path without symbolic links.
  public func allows(_ path: String) -> Bool {
    let fitting = patterns.filter { NamePattern($0.text).matches(path) }
    return !fitting.isEmpty && !fitting.contains(where: \.forbids)
  }
}
