import LatchkeyBytes
import LatchkeySodium

/// The public facts about an enrolled security key: its name, and the credential by which it recognises the vault.
public struct SecurityKey: Equatable, Sendable {
  /// The longest name, in bytes.
  public static let nameLimit = 64
  /// The longest credential, in bytes. Keys make up to a few hundred bytes.
  public static let credentialLimit = 1024

  /// The name that the person gave, for a line of its own.
  public let name: String
  /// The credential's id. The security key made it, and only this key can use it.
  public let credential: [UInt8]

  /// nil for a name or a credential that no keybag may have.
  public init?(name: String, credential: [UInt8]) {
    guard SecurityKey.isName(name), (1...SecurityKey.credentialLimit).contains(credential.count) else { return nil }
    (self.name, self.credential) = (name, credential)
  }

  /// Whether a security key may have that name: 1 to 64 bytes, no control character, and no blank at either end.
  public static func isName(_ name: String) -> Bool {
    let scalars = name.unicodeScalars
    guard (1...nameLimit).contains(name.utf8.count), let first = scalars.first, let last = scalars.last else {
      return false
    }
    return !first.properties.isWhitespace && !last.properties.isWhitespace
      && !scalars.contains { $0.properties.generalCategory == .control || $0.properties.generalCategory == .format }
  }

  /// The salt from which each security key of a vault computes its answer.
  public static func salt(vault: [UInt8]) -> [UInt8] {
    Sodium.checksum((Array("latchkey/1/security-key-salt".utf8) + vault).span.bytes)
  }

  /// The name by which a security key stores the vault: FIDO's relying party.
  public static func party(vault: [UInt8]) -> String {
    let digits = Array("0123456789abcdef")
    return "latchkey:" + String(vault.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }

  /// The bytes behind the sealed root key.
  var encoded: [UInt8] { [UInt8(name.utf8.count)] + Array(name.utf8) + credential }

  init?(decoding bytes: ArraySlice<UInt8>) {
    guard let length = bytes.first, bytes.count > Int(length) + 1,
      let name = String(validating: bytes.dropFirst().prefix(Int(length)), as: UTF8.self)
    else { return nil }
    self.init(name: name, credential: Array(bytes.dropFirst(Int(length) + 1)))
  }
}

/// The protector of a security key. The key computes an answer to the vault's salt (hmac-secret), after a person has given its PIN
/// and touched it. The answer is used like a recovery code, so new root keys need no touch.
extension Protector {
  static let securityKeySealedSizes =
    recoverySealedSize + 3...recoverySealedSize + 1 + SecurityKey.nameLimit + SecurityKey.credentialLimit

  /// A new protector for the answer of a security key.
  static func make(
    _ key: SecurityKey, answer: borrowing Key, root: borrowing Key, vault: [UInt8]
  ) throws(SodiumError) -> Protector {
    let salt = Sodium.randomBytes(PasswordHash.saltSize)
    return try make(
      .securityKey, key: try answer.derive(.securityKey, [salt]), id: Sodium.randomBytes(16), salt: salt, root: root,
      vault: vault, facts: key.encoded)
  }

  /// The facts about the security key; nil for any other kind.
  public var securityKey: SecurityKey? {
    guard kind == .securityKey else { return nil }
    return SecurityKey(decoding: sealed.dropFirst(Protector.recoverySealedSize))
  }

  /// The root key if `answer` is from this security key, otherwise nil.
  ///
  /// - Throws: ``KeybagError/damaged``, even if the answer opens it but a stranger sealed the root key.
  func open(securityKeyAnswer answer: borrowing Key, vault: [UInt8]) throws(KeybagError) -> Key? {
    guard kind == .securityKey else { return nil }
    return try KeybagError.sodium { () throws(SodiumError) -> Key? in
      try open(key: try answer.derive(.securityKey, [salt]), vault: vault)
    }
  }
}

extension Keybag {
  /// The most security keys of one vault: some keys accept no more credentials in one question.
  public static let securityKeyLimit = 8

  /// The enrolled security keys, in the order in which they were added.
  public var securityKeys: [SecurityKey] { protectors.compactMap(\.securityKey) }

  /// Opens with the answer of a security key.
  ///
  /// - Throws: ``KeybagError/wrongPassword`` if no protector has this answer; ``KeybagError/damaged``.
  public func open(securityKeyAnswer answer: borrowing Key) throws(KeybagError) -> Opened {
    for (index, protector) in protectors.enumerated() {
      guard let root = try protector.open(securityKeyAnswer: answer, vault: vault) else { continue }
      return try opened(root, by: index)
    }
    throw .wrongPassword
  }
}

extension Keybag.Opened {
  /// The keybag with one more security key, one generation later.
  ///
  /// - Throws: ``KeybagError/alreadyThere`` if another key has that name or credential; ``KeybagError/unreasonable`` if there is no
  ///   room for another key, or if the login has no password, because such a vault is always unlocked.
  public borrowing func addingSecurityKey(
    _ key: SecurityKey, answer: borrowing Key
  ) throws(KeybagError) -> Keybag {
    let keybag = keybag
    let present = keybag.securityKeys
    guard !present.contains(where: { $0.name == key.name || $0.credential == key.credential }) else {
      throw .alreadyThere
    }
    guard !keybag.isPasswordless, present.count < Keybag.securityKeyLimit,
      keybag.protectors.count < Keybag.protectorLimit
    else { throw .unreasonable }
    let made = try KeybagError.sodium { () throws(SodiumError) in
      try Protector.make(key, answer: answer, root: root, vault: keybag.vault)
    }
    return try next { $0.protectors.append(made) }
  }

  /// The keybag without the security key of that name, one generation later; nil if no key has that name.
  public borrowing func removingSecurityKey(named name: String) throws(KeybagError) -> Keybag? {
    guard keybag.securityKeys.contains(where: { $0.name == name }) else { return nil }
    return try next { keybag in keybag.protectors.removeAll { $0.securityKey?.name == name } }
  }

  /// The keybag in which a security key has another name, one generation later; nil if no key has the former name.
  ///
  /// - Throws: ``KeybagError/alreadyThere`` if another security key has the new name.
  public borrowing func renamingSecurityKey(_ former: String, to name: String) throws(KeybagError) -> Keybag? {
    let keybag = keybag
    guard let place = keybag.protectors.firstIndex(where: { $0.securityKey?.name == former }),
      let credential = keybag.protectors[place].securityKey?.credential
    else { return nil }
    guard let renamed = SecurityKey(name: name, credential: credential) else { throw .unreasonable }
    guard former == name || !keybag.securityKeys.contains(where: { $0.name == name }) else { throw .alreadyThere }
    return try next { $0.protectors[place] = $0.protectors[place].withFacts(renamed.encoded) }
  }

  /// The security keys that stay with a new protector of this kind. None stays with a device key protector or with the first
  /// password.
  borrowing func securityKeys(besides kind: Protector.Kind) -> [Protector] {
    keybag.isPasswordless || kind == .device ? [] : keybag.protectors.filter { $0.kind == .securityKey }
  }
}
