import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// The item of the vault that has a key file's passphrase. It has the attributes of gnome-keyring and gcr, so this also finds
/// imported items.
struct StoredPassphrase {
  private let connection: ServiceConnection
  private let channel: SecretChannel
  private let attributes: [String: String]
  private let path: String

  /// Connects to the vault; nil without a vault.
  init?(of file: FilePassphrase) {
    do {
      connection = try ServiceConnection()
      channel = try SecretChannel(connection)
    } catch { return nil }
    path = file.path
    attributes = ["xdg:schema": "org.freedesktop.Secret.Generic", "unique": "ssh-store:\(file.path)"]
  }

  /// Reads the passphrase. If the item is locked, the vault asks the person first.
  ///
  /// - Returns: nil if there is no item, or if the item stays locked.
  func read() -> Secret? {
    do throws(BusError) {
      let found = try connection.call(ServiceConnection.root, ServiceConnection.service, "SearchItems") {
        $0.appendStringDictionary(attributes)
      } read: { (answer: Message) throws(BusError) in
        try answer.readObjectPaths() + answer.readObjectPaths()
      }
      guard let item = found.first else { return nil }
      do throws(BusError) { return try secret(of: item) } catch {
        guard error.isLocked, try unlock(item) else { return nil }
        return try secret(of: item)
      }
    } catch { return nil }
  }

  private func secret(of item: String) throws(BusError) -> Secret {
    try connection.call(item, ServiceConnection.item, "GetSecret") {
      $0.appendObjectPath(channel.path)
    } read: { (answer: Message) throws(BusError) in
      try channel.read(from: answer)
    }
  }

  private func unlock(_ item: String) throws(BusError) -> Bool {
    let prompt = try connection.call(ServiceConnection.root, ServiceConnection.service, "Unlock") {
      $0.appendObjectPaths([item])
    } read: { (answer: Message) throws(BusError) in
      _ = try answer.readObjectPaths()
      return try answer.readObjectPath()
    }
    guard prompt != ServiceConnection.none else { return true }
    var outcome: Bool?
    let slots: [BusSlot]
    do {
      slots = [
        try connection.bus.matchSignal(
          sender: connection.owner, path: prompt, interface: ServiceConnection.prompt, member: "Completed"
        ) { (message: Message) throws(BusError) in outcome = try !message.readBool() },
        // The vault's program ended, so the prompt has ended too.
        try connection.bus.watchPeer(connection.owner) { outcome = outcome ?? false },
      ]
    } catch { throw .failed("\(error)") }
    try connection.call(prompt, ServiceConnection.prompt, "Prompt") {
      $0.appendString("")
    } read: { _ in
    }
    try connection.serveForPerson { outcome != nil }
    return withExtendedLifetime(slots) { outcome ?? false }
  }

  /// Stores a passphrase, and replaces a former one. The vault accepts it even while it is locked.
  func store(_ passphrase: RawSpan) -> Bool {
    do {
      let secret = Secret(try SecureBytes(copying: passphrase), contentType: "text/plain")
      return try connection.call(
        ServiceConnection.defaultCollection, ServiceConnection.collection, "CreateItem"
      ) { out throws(BusError) in
        out.appendItemProperties(label: "Unlock password for: \(path)", attributes: attributes)
        try channel.write(secret, to: &out)
        out.appendBool(true)
      } read: { (answer: Message) throws(BusError) in
        try answer.readObjectPath() != ServiceConnection.none
      }
    } catch { return false }
  }
}
