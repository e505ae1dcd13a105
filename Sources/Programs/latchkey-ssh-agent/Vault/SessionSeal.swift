import LatchkeySSHProtocol
import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// Encrypts the keys in the session's collection, because this collection stays unlocked for the whole session. The sealing key is
/// an item of the vault. A lock of the vault erases the item's class key, and without that nobody can read the sealed keys.
struct SessionSeal {
  private static let schema = "org.latchkey.SSHAgent"
  private static let attributes = [KeyItem.schemaName: schema]
  private static let label = "Key of the ssh keys that ssh-add adds"

  let vault: AgentVault

  /// - Parameter isFirst: whether the session has no such key yet. Then this makes a new sealing key, and the keys of an earlier
  ///   session can no longer be opened.
  func seal(_ key: borrowing PrivateKey, isFirst: Bool) throws(BusError) -> Secret {
    do {
      let wrapping = if isFirst { try renew() } else { try read() }
      let file = try KeyFile.encode(key, comment: "")
      let sealed = AEAD.seal(file.bytes, key: wrapping, associated: key.publicKey.blob)
      return Secret(try SecureBytes(copying: sealed.span.bytes), contentType: "application/octet-stream")
    } catch let error as BusError { throw error } catch { throw .failed("no memory for a key") }
  }

  /// Opens a sealed key; nil if it is damaged.
  func open(_ key: AgentKey) throws(BusError) -> PrivateKey? {
    if let path = try path {
      // Reads the sealed key and the sealing key by one call, if both can be read.
      let found = try vault.secrets(of: [key.path, path])
      if let sealed = found[key.path], let wrapping = found[path].flatMap(Self.key) {
        return Self.open(sealed, of: key.item.publicKey, with: wrapping)
      }
    }
    let sealed = try vault.secret(of: key.path)
    return Self.open(sealed, of: key.item.publicKey, with: try read())
  }

  private static func open(_ sealed: Secret, of key: PublicKey, with wrapping: borrowing Key) -> PrivateKey? {
    guard let file = try? sealed.withBytes({ try AEAD.open($0, key: wrapping, associated: key.blob) }) else {
      return nil
    }
    return try? KeyFile.decode(file.bytes).takeKey()
  }

  private static func key(_ secret: Secret) -> Key? { try? secret.withBytes { try Key(copying: $0) } }

  private func renew() throws(BusError) -> Key {
    do {
      let key = try Key.random()
      let secret = Secret(try Self.copy(of: key), contentType: "application/octet-stream")
      try vault.store(
        secret, label: Self.label,
        attributes: Self.attributes.merging(["latchkey:accessible": "when-unlocked"]) { $1 }, inSession: false)
      return key
    } catch let error as BusError { throw error } catch { throw .failed("no memory for a key") }
  }

  private static func copy(of key: borrowing Key) throws(SodiumError) -> SecureBytes {
    try SecureBytes(copying: key.bytes)
  }

  /// The path of the item with the sealing key.
  var path: String? { get throws(BusError) { try vault.seal(Self.attributes) } }

  private func read() throws(BusError) -> Key {
    guard let path = try path else { throw .failed("the seal of this session is gone") }
    guard let key = try? vault.secret(of: path).withBytes({ try Key(copying: $0) }) else {
      // If the item is only locked, the caller's next try will show that.
      throw BusError(name: BusError.lockedName, message: "the session's seal cannot be read now")
    }
    return key
  }
}
