import LatchkeySystemd
import LatchkeyVault

/// `Find` and `Read` of `org.latchkey.Keychain`.
final class KeychainSearch {
  /// Path, identifier, attributes, label, created, modified, class, requirements, state, whether the label is known.
  static let itemType = "oaya{ss}sttssyb"
  /// The most sets of attributes that one search may have.
  private static let alternativeLimit = 64
  /// The most attributes that all queries may have together. The limit is needed because a lock waits for the whole search.
  private static let searchLimit = 1024
  /// The most bytes of labels and attributes in one answer.
  private static let answerLimit = 64 << 20

  /// Whether a client can have an item's secret.
  private enum State: UInt8 {
    case readable = 0
    case locked = 1
    /// The item has requirements, and this client has no grant.
    case asks = 2
  }

  /// The facts of an item that clients get.
  private struct KeychainItem {
    let id: Int64
    let collection: Int64
    let info: ItemInfo
    let state: State
    var place: ItemPlace { ItemPlace(collection: .vault(collection), id: id) }
  }

  private let vault: Vault
  private let sessions: TransportSessions
  private let locks: LockStates
  private let grants: AccessGrants
  private let gate: VerificationGate

  init(
    _ vault: Vault, sessions: TransportSessions, locks: LockStates, grants: AccessGrants, gate: VerificationGate
  ) {
    self.vault = vault
    self.sessions = sessions
    self.locks = locks
    self.grants = grants
    self.gate = gate
  }

  func find(_ call: MethodCall) throws(BusError) {
    let sets = try call.message.readArray("a{ss}") { (message: Message) throws(BusError) in
      try message.readStringDictionary()
    }
    let limit = try call.message.readUInt32()
    let session = try readSession(call)
    guard !sets.isEmpty, sets.count <= Self.alternativeLimit else {
      throw .invalidArguments("a search takes 1 to \(Self.alternativeLimit) sets of attributes")
    }
    for set in sets { try KeychainObject.checkFindable(set) }
    guard sets.reduce(0, { $0 + $1.count }) <= Self.searchLimit else {
      throw .limitsExceeded("a search takes \(Self.searchLimit) attributes at most")
    }
    try answer(call, limit: Int(limit), session) { [vault] () throws(VaultError) -> [FoundItem] in
      if sets.count == 1 { return try vault.reader.search(.attributes(sets[0])) }
      var found: [Int64: FoundItem] = [:]
      for set in sets {
        for item in try vault.reader.search(.attributes(set)) { found[item.id] = item }
      }
      return found.values.sorted(by: FoundItem.comesFirst)
    }
  }

  func read(_ call: MethodCall) throws(BusError) {
    let identifier = try ItemIdentifier.read(call.message)
    let session = try readSession(call)
    try answer(call, limit: 1, session) { [vault] () throws(VaultError) -> [FoundItem] in
      try vault.reader.item(identifier.item, uuid: identifier.uuid).map { [$0] } ?? []
    }
  }

  /// The session for secrets; nil if the client wants no secrets.
  private func readSession(_ call: MethodCall) throws(BusError) -> TransportSession? {
    let path = try call.message.readObjectPath()
    return path == ObjectPath.none ? nil : try sessions.session(path, of: call.sender)
  }

  /// Replies with the result of `search`. An empty answer waits until the whole database was verified, as for any search.
  private func answer(
    _ call: MethodCall, limit: Int, _ session: TransportSession?,
    _ search: @escaping () throws(VaultError) -> [FoundItem]
  ) throws(BusError) {
    let found = locks.isVaultMissing ? [] : try BusError.vault(search)
    guard found.isEmpty, !gate.isVerified else { return try answer(call, found, limit: limit, session) }
    gate.whenVerified { [weak self] in
      guard let self else { return }
      do throws(BusError) { try answer(call, try BusError.vault(search), limit: limit, session) } catch {
        call.fail(error)
      }
    }
  }

  private func answer(
    _ call: MethodCall, _ found: [FoundItem], limit: Int, _ session: TransportSession?
  ) throws(BusError) {
    let client = call.sender
    let items = try told(found, limit: limit, to: client)
    let isScreenLocked = locks.isScreenLocked
    call.reply(sensitive: true) { [self] out throws(BusError) in
      out.appendBool(isScreenLocked)
      out.appendArray("(\(Self.itemType))", of: items) { write($1, to: &$0) }
      out.open("a", "{o(oayays)}")
      if let session {
        for item in items where item.state == .readable {
          // After a failure the answer is not sent, so no more secrets are opened.
          guard out.failure == nil else { return }
          try writeSecret(of: item, session, for: client, to: &out)
        }
      }
      out.close()
    }
  }

  /// The first items, with the known facts about each. A damaged item does not hide the others.
  private func told(_ found: [FoundItem], limit: Int, to client: String) throws(BusError) -> [KeychainItem] {
    var items: [KeychainItem] = []
    var size = 0
    var failure: VaultError?
    for item in found {
      if limit > 0 && items.count == limit { break }
      do throws(VaultError) {
        let state: State =
          locks.mayRead(item.id, item.readability, for: client)
          ? .readable : item.readability == .guarded ? .asks : .locked
        let info = try vault.reader.info(ofItem: item.id)
        size += info.metadata?.size ?? 0
        items.append(KeychainItem(id: item.id, collection: item.collection, info: info, state: state))
      } catch { failure = failure ?? error }
      guard size <= Self.answerLimit else { throw .limitsExceeded("the result is too large for one reply") }
    }
    if items.isEmpty, let failure { throw BusError(failure) }
    return items
  }

  private func path(of item: KeychainItem) -> String { "\(vault.path(ofCollection: item.collection))/\(item.id)" }

  private func write(_ item: KeychainItem, to out: inout MessageWriter) {
    let info = item.info
    out.appendStruct(Self.itemType) { fields in
      fields.appendObjectPath(path(of: item))
      fields.appendBytes(ItemIdentifier(item.id, uuid: info.uuid).bytes)
      fields.appendStringDictionary(info.metadata?.attributes ?? [:])
      fields.appendString(info.metadata?.label ?? "")
      fields.appendUInt64(info.created)
      fields.appendUInt64(info.modified)
      fields.appendString(info.accessibility.name)
      fields.appendString(info.access?.text ?? "")
      fields.appendByte(item.state.rawValue)
      fields.appendBool(info.metadata != nil)
    }
  }

  private func writeSecret(
    of item: KeychainItem, _ session: TransportSession, for client: String, to out: inout MessageWriter
  ) throws(BusError) {
    let granted = grants.read(item.place, for: client)
    let opened: OpenedSecret? = try BusError.vault { () throws(VaultError) in
      try vault.reader.secretIfReadable(ofItem: item.id, in: item.collection, granted: granted)
    }
    guard let opened else { return }
    out.open("e", "o(oayays)")
    out.appendObjectPath(path(of: item))
    try session.write(opened.secret, contentType: opened.contentType, to: &out)
    out.close()
  }
}
