import LatchkeySodium

/// An ssh key in the form of an item of the vault. The item's attributes have the public key, and its secret is a ``KeyFile``.
public struct KeyItem: Equatable, Sendable {
  /// When a signature by the key needs a question to the person.
  public enum Asking: String, CaseIterable, Sendable {
    /// Never.
    case never
    /// Once until the next lock of the vault.
    case once
    /// At each signature.
    case always
  }

  /// The schema of keys.
  public static let schema = "org.latchkey.SSHKey"
  /// The attribute that names a schema.
  public static let schemaName = "xdg:schema"

  /// The public key.
  public var publicKey: PublicKey
  /// When a signature asks the person.
  public var asking: Asking
  /// The moment at which the key is removed, in seconds since the machine started; nil if the key does not expire.
  public var expiry: UInt64?
  /// The destinations for which the key may be used, in the protocol's form; empty for all.
  public var destinations: [UInt8]
  /// The library that speaks to the security key; nil for OpenSSH's own.
  public var provider: String?

  /// A key without constraints.
  public init(
    _ publicKey: PublicKey, asking: Asking, expiry: UInt64? = nil, destinations: [UInt8] = [], provider: String? = nil
  ) {
    (self.publicKey, self.asking, self.expiry, self.destinations) = (publicKey, asking, expiry, destinations)
    self.provider = provider
  }

  /// Reads attributes; nil if they do not belong to a key. If the word for ``asking`` is unknown, each signature asks.
  public init?(attributes: [String: String]) {
    guard attributes[Self.schemaName] == Self.schema, let text = attributes["public-key"],
      let blob = Base64.decode(text), let key = try? PublicKey(blob: blob)
    else { return nil }
    publicKey = key
    provider = attributes["provider"]
    asking = attributes["ask"].map { Asking(rawValue: $0) ?? .always } ?? .once
    if let text = attributes["expires"] {
      guard let moment = UInt64(text) else { return nil }
      expiry = moment
    }
    if let text = attributes["destinations"] {
      // An unreadable constraint allows nothing.
      guard let bytes = Base64.decode(text), !bytes.isEmpty else { return nil }
      destinations = bytes
    } else {
      destinations = []
    }
  }

  /// The attributes of the key's item.
  public var attributes: [String: String] {
    var all = [
      Self.schemaName: Self.schema, "public-key": Base64.encode(publicKey.blob), "type": publicKey.type,
      "fingerprint": publicKey.fingerprint, "ask": asking.rawValue,
    ]
    if let expiry { all["expires"] = String(expiry) }
    if let provider { all["provider"] = provider }
    if !destinations.isEmpty { all["destinations"] = Base64.encode(destinations) }
    return all
  }
}
