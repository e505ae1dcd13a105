import LatchkeyClassRules
import LatchkeyKeybag
import LatchkeySodium

/// Reads a vault's items, as far as the keys that are in memory allow. It changes nothing.
///
/// A read goes from top to bottom: the row from SQLite (``Store/item(_:)``), its class key (``locate(_:)-(ItemRow)``), then what
/// ``SealedItem`` decrypts. If it finds damage, it notes this, and the vault is not written any more.
public final class ItemReader {
  private let database: VaultDatabase
  private let keys: VaultKeys
  /// Whether no item was ever stored. This is known only for a vault in memory, and makes a search unnecessary.
  var isUnused = false
  /// Tokens of the schemas that items have, so that an item need not be opened to see its schema.
  private var schemaTokens: Set<[UInt8]> = []
  private static let schemaLimit = 256

  init(_ database: VaultDatabase, _ keys: VaultKeys) {
    self.database = database
    self.keys = keys
  }

  // MARK: - secrets

  /// The secret of an item in `collection`, and its content type; nil if the item does not exist any more, or cannot be read now.
  public func secretIfReadable(
    ofItem id: Int64, in collection: Int64, granted: AccessGrant? = nil
  ) throws(VaultError) -> OpenedSecret? {
    guard database.store != nil, let row = try row(id), row.collection == collection, row.form != .quarantined,
      keys.classKey(row.classKey)?.key.secretKey != nil, !isLockedByItself(item: id),
      row.access == nil || granted?.item == id
    else { return nil }
    let item = try locate(row)
    return try secret(of: item, try opened(item), granted)
  }

  /// The secret, and its content type.
  ///
  /// - Parameter granted: the person's grant, if the item requires something.
  /// - Throws: ``VaultError/isLocked`` while the item's class key is not in memory, even with a grant;
  ///   ``VaultError/needsGrant``.
  public func secret(ofItem id: Int64, granted: AccessGrant? = nil) throws(VaultError) -> OpenedSecret {
    let item = try locate(id)
    let opened = try opened(item)
    try checkIsNotLockedByItself(item)
    return try secret(of: item, opened, granted)
  }

  /// The metadata of an item whose class is not locked.
  private func opened(_ item: SealedItem) throws(VaultError) -> OpenedMetadata {
    // As on Apple's systems, a locked class is an error before anybody is asked for anything.
    guard let opened = try metadata(item), item.key.secretKey != nil else { throw item.absence }
    return opened
  }

  /// The secret of an item. The caller has just checked that the item has no explicit lock.
  private func secret(
    of item: SealedItem, _ opened: OpenedMetadata, _ granted: AccessGrant?
  ) throws(VaultError) -> OpenedSecret {
    let control = try noting { () throws(VaultError) in try item.check(granted, opened) }
    let secret = try decrypted(item, opened, checked: control, passphraseKey: granted?.passphraseKey)
    return OpenedSecret(secret, contentType: opened.metadata.contentType)
  }

  /// An item's row and its class key.
  ///
  /// - Throws: ``VaultError/noSuchItem``.
  func locate(_ id: Int64) throws(VaultError) -> SealedItem {
    guard let row = try row(id) else { throw .noSuchItem }
    return try locate(row)
  }

  func locate(_ row: ItemRow) throws(VaultError) -> SealedItem {
    try database.reading { store throws(VaultError) in
      guard let (collection, key) = keys.classKey(row.classKey), collection.row.id == row.collection else {
        throw VaultError.damaged(.of(.database, .itemWithoutKey(row.id)))
      }
      return SealedItem(vault: store.vault, row: row, collection: collection, key: key, share: keys.share)
    }
  }

  private func row(_ id: Int64) throws(VaultError) -> ItemRow? {
    try database.reading { store throws(VaultError) in try store.item(id) }
  }

  /// Label, attributes and flags; nil while their key is not in memory.
  func metadata(_ item: SealedItem) throws(VaultError) -> OpenedMetadata? {
    try noting { () throws(VaultError) in try item.openMetadata(keys.index) }
  }

  /// The secret, without a check of the item's conditions. It still needs the item's passphrase, and fails while the item has
  /// an explicit lock.
  ///
  /// - Parameter checked: the result of ``SealedItem/check(_:_:)`` for the item; nil if that did not run.
  func openSecret(
    _ item: SealedItem, _ opened: OpenedMetadata, checked: AccessControl? = nil, passphraseKey: HeldKey? = nil
  ) throws(VaultError) -> SecureBytes {
    try checkIsNotLockedByItself(item)
    return try decrypted(item, opened, checked: checked, passphraseKey: passphraseKey)
  }

  private func decrypted(
    _ item: SealedItem, _ opened: OpenedMetadata, checked: AccessControl?, passphraseKey: HeldKey?
  ) throws(VaultError) -> SecureBytes {
    try database.reading { store throws(VaultError) in
      let itemKey = try item.itemKey(opened)
      // Later, the walk through the database has checked this.
      if !database.isVerified || database.isDamaged { try store.checkTokens(of: item.row) }
      return try item.openSecret(opened, itemKey, checked: checked, passphraseKey: passphraseKey)
    }
  }

  /// The metadata of an item whose secret can be read now, with the item's requirements. Only such an item may be replaced.
  func readable(
    _ item: SealedItem, _ granted: AccessGrant?
  ) throws(VaultError) -> (metadata: ItemMetadata, control: AccessControl) {
    guard let opened = try metadata(item) else { throw item.absence }
    try checkIsNotLockedByItself(item)
    let control = try noting { () throws(VaultError) in
      _ = try item.itemKey(opened)
      return try item.check(granted, opened)
    }
    return (opened.metadata, control)
  }

  /// Runs a step on an item. Damage that it finds is noted.
  func noting<Result: ~Copyable>(_ body: () throws(VaultError) -> Result) throws(VaultError) -> Result {
    try database.reading { _ throws(VaultError) in try body() }
  }

  // MARK: - what is known of an item

  /// Everything but the secret.
  public func info(ofItem id: Int64) throws(VaultError) -> ItemInfo {
    let item = try locate(id)
    let metadata = try metadata(item)?.metadata
    let access: AccessControl? =
      if let metadata { try noting { () throws(VaultError) in try item.control(metadata) } } else { nil }
    return ItemInfo(
      uuid: item.row.uuid, metadata: metadata, accessibility: item.accessibility,
      readability: readability(ofItem: id, item.row.form, isGuarded: item.row.access != nil, item.key), access: access,
      created: item.row.created, modified: item.row.modified)
  }

  /// Whether the item's secret can be read now.
  public func readability(ofItem id: Int64) throws(VaultError) -> Readability {
    guard let found = try place(id) else { throw .noSuchItem }
    return readability(found)
  }

  private func readability(_ place: PlacedItem) -> Readability {
    readability(ofItem: place.item, place.form, isGuarded: place.isGuarded, keys.classKey(place.classKey)?.key)
  }

  private func readability(
    ofItem id: Int64, _ form: ItemRow.Form?, isGuarded: Bool, _ key: ClassKey?
  ) -> Readability {
    guard form != .quarantined, !isLockedByItself(item: id), key?.secretKey != nil else { return .locked }
    return isGuarded ? .guarded : .open
  }

  private func place(_ id: Int64) throws(VaultError) -> PlacedItem? {
    try database.reading { store throws(VaultError) in try store.place(ofItem: id) }
  }

  /// The collection of an item; nil if there is no such item.
  public func collection(ofItem id: Int64) throws(VaultError) -> Int64? {
    try database.reading { store throws(VaultError) in try store.collection(ofItem: id) }
  }

  /// Whether the item has an explicit lock.
  public func isLockedByItself(item id: Int64) -> Bool { keys.ownLocks.contains(item: id) }

  func checkIsNotLockedByItself(_ item: SealedItem) throws(VaultError) {
    if isLockedByItself(item: item.row.id) { throw .isLockedByItself }
  }

  /// The uuids of those items that exist.
  func uuids(ofItems ids: Set<Int64>) throws(VaultError) -> Set<[UInt8]> {
    try database.reading { store throws(VaultError) in
      var found: Set<[UInt8]> = []
      for id in ids { if let row = try store.item(id) { found.insert(row.uuid) } }
      return found
    }
  }

  /// Whether the vault has an item with one of the uuids.
  public func hasItems(_ uuids: [[UInt8]]) throws(VaultError) -> Bool {
    try database.reading { store throws(VaultError) in
      for uuid in uuids where try store.item(uuid: uuid) != nil { return true }
      return false
    }
  }

  // MARK: - finding

  /// The matching items, most recently changed first (``FoundItem/comesFirst(_:_:)``). A missing key leaves no item out. After the
  /// database has been verified, damage causes an error, and never an empty answer.
  public func search(_ query: SearchTerms, in collection: Int64? = nil) throws(VaultError) -> [FoundItem] {
    if isUnused { return [] }
    let result = try database.reading { store throws(VaultError) in try search(query, in: collection, store) }
    if result.isEmpty { _ = try database.writable() }
    return result
  }

  private func search(
    _ query: SearchTerms, in collection: Int64?, _ store: Store
  ) throws(VaultError) -> [FoundItem] {
    var found: [PlacedItem]
    switch query {
    case .accessibility(let accessibility):
      found = []
      for key in keys.collections.flatMap(\.classes) where key.row.accessibility == accessibility {
        found += try store.places(classKey: key.row.id)
      }
    case .access(let access, let accessibility):
      found = []
      for key in keys.collections.flatMap(\.classes)
      where accessibility == nil || key.row.accessibility == accessibility {
        for place in try store.places(classKey: key.row.id) where place.isGuarded == access.requiresAnything {
          guard place.isGuarded else {
            found.append(place)
            continue
          }
          // A damaged item was noted, and keeps no other from being found.
          guard let info = try? info(ofItem: place.item) else { continue }
          if info.access ?? access == access { found.append(place) }
        }
      }
    case .attributes(let attributes) where attributes.isEmpty:
      found = []
      for home in keys.collections where collection == nil || home.row.id == collection {
        found += try store.places(in: home.row.id)
      }
    case .attributes(let attributes) where attributes.count > ItemMetadata.attributeLimit: found = []
    case .attributes(let attributes):
      found = try store.places(withTokens: try keys.readyIndex().tokens(of: attributes))
      if GenericSchema.isNamed(by: attributes) {
        found += try implied(GenericSchema.leftOut(of: attributes), in: collection, besides: found, store)
      }
    }
    var result: [FoundItem] = []
    for place in found {
      guard let home = place.collection else {
        throw .damaged(.of(.database, .vault(.indexOfNoItem)))
      }
      guard collection == nil || home == collection else { continue }
      result.append(
        FoundItem(id: place.item, collection: home, readability: readability(place), modified: place.modified))
    }
    return result.count > 1 ? result.sorted(by: FoundItem.comesFirst) : result
  }

  /// The items without a schema that have these attributes.
  private func implied(
    _ attributes: [String: String], in collection: Int64?, besides present: [PlacedItem], _ store: Store
  ) throws(VaultError) -> [PlacedItem] {
    var candidates: [PlacedItem] = []
    if attributes.isEmpty {
      for home in keys.collections where collection == nil || home.row.id == collection {
        candidates += try store.places(in: home.row.id)
      }
    } else {
      candidates = try store.places(withTokens: try keys.readyIndex().tokens(of: attributes))
    }
    let named = Set(present.map(\.item))
    var found: [PlacedItem] = []
    for place in candidates where !named.contains(place.item) && (collection == nil || place.collection == collection) {
      if try mayLackSchema(place.item, besides: attributes.count, store) { found.append(place) }
    }
    return found
  }

  /// Whether an item has no schema, or may have none because its label cannot be read now.
  ///
  /// - Parameter count: the number of the item's known attributes, without a schema.
  private func mayLackSchema(_ id: Int64, besides count: Int, _ store: Store) throws(VaultError) -> Bool {
    // The last token stands for the whole set.
    let tokens = try store.tokens(ofItem: id).dropLast()
    if tokens.count == count { return true }
    if tokens.contains(where: schemaTokens.contains) { return false }
    let opened: OpenedMetadata?
    do throws(VaultError) { opened = try metadata(try locate(id)) } catch {
      // A damaged item was noted, and keeps no other from being found.
      guard case .damaged = error else { throw error }
      return true
    }
    guard let schema = opened?.metadata.attributes[GenericSchema.attribute] else { return true }
    if schemaTokens.count < Self.schemaLimit { schemaTokens.insert(try keys.readyIndex().schemaToken(schema)) }
    return false
  }

  /// The item of this number, if that item has this uuid; nil if there is no such item. Throws if damage was found, as a search
  /// does.
  public func item(_ id: Int64, uuid: [UInt8]) throws(VaultError) -> FoundItem? {
    guard let row = try row(id), row.uuid == uuid else {
      _ = try database.writable()
      return nil
    }
    return FoundItem(
      id: id, collection: row.collection, readability: try readability(ofItem: id), modified: row.modified)
  }

  /// Every item of a collection, oldest first. If damage was found, it throws and returns no empty list.
  public func items(in collection: Int64) throws(VaultError) -> [Int64] {
    _ = try database.ready()
    _ = try keys.collection(collection)
    let found = try database.reading { store throws(VaultError) in try store.items(in: collection) }
    if found.isEmpty { _ = try database.writable() }
    return found
  }

  /// The item that a new item with exactly these attributes would replace, if the present item requires something.
  public func guardedItem(toReplace attributes: [String: String], in collection: Int64) throws(VaultError) -> Int64? {
    guard let same = try same(attributes, in: collection), same.newest.isGuarded else { return nil }
    return same.newest.item
  }

  /// Of the collection's items with exactly these attributes, the one that was changed last, and its twin. The twin differs from it
  /// only in the implied schema (``GenericSchema``). Two different clients can cause such a pair. If more than
  /// two items have these attributes, a program stored several on purpose, and no item is a twin.
  func same(
    _ attributes: [String: String], in collection: Int64
  ) throws(VaultError) -> (newest: PlacedItem, twin: PlacedItem?)? {
    _ = try database.ready()
    let tokens = try keys.readyIndex().setTokens(of: attributes)
    let spellings = try database.reading { store throws(VaultError) in
      var found: [[PlacedItem]] = []
      for token in tokens { found.append(try store.places(withTokens: [token]).filter { $0.collection == collection }) }
      return found
    }
    let newest = spellings.joined().max { ($0.modified, $0.item) < ($1.modified, $1.item) }
    guard let newest else { return nil }
    let isPair = spellings.count == 2 && spellings.allSatisfy { $0.count == 1 }
    return (newest, isPair ? spellings.joined().first { $0.item != newest.item } : nil)
  }

  /// The items that can be read now and require nothing.
  func open(_ places: [PlacedItem]) -> [Int64] { places.filter { readability($0) == .open }.map(\.item) }

  /// The number of items in the vault.
  public func itemCount() throws(VaultError) -> Int64 {
    try database.reading { store throws(VaultError) in try store.itemCount() }
  }

  /// The highest number that an item has or had; 0 if there never was an item.
  public func lastItem() throws(VaultError) -> Int64 {
    try database.reading { store throws(VaultError) in try store.nextID(.item) - 1 }
  }

  // MARK: - access control

  /// The way in which an item's passphrase becomes a key; nil for an item without one.
  public func passphraseDerivation(ofItem id: Int64) throws(VaultError) -> PassphraseDerivation? {
    let item = try locate(id)
    return try noting { () throws(VaultError) in try item.access() }?.derivation
  }

  /// A grant to read or write one item, after a person met its conditions.
  ///
  /// - Parameter passphraseKey: the key from the item's passphrase; nil for an item without one.
  /// - Returns: nil for a wrong passphrase.
  public func grant(item id: Int64, passphraseKey: consuming Key? = nil) throws(VaultError) -> AccessGrant? {
    let item = try locate(id)
    guard let opened = try metadata(item), item.key.secretKey != nil else { throw item.absence }
    try checkIsNotLockedByItself(item)
    let flags = opened.metadata.flags
    let control = try noting { () throws(VaultError) in try item.control(opened.metadata) }
    guard control.needsPassphrase else {
      return AccessGrant(item: id, flags: flags, revision: opened.revision, passphraseKey: nil)
    }
    guard let key = passphraseKey.take() else { throw .needsGrant }
    let held = HeldKey(key)
    let itemKey = try noting { () throws(VaultError) in try item.itemKey(opened) }
    // The row's check sum and the item key's wrapping were right, so the passphrase is wrong.
    do throws(VaultError) {
      _ = try item.openSecret(opened, itemKey, checked: control, passphraseKey: held).count
    } catch {
      if case .damaged = error { return nil }
      throw error
    }
    return AccessGrant(item: id, flags: flags, revision: opened.revision, passphraseKey: held)
  }

  /// Whether an item remembers which fingers were enrolled.
  public func remembersFingers(ofItem id: Int64) throws(VaultError) -> Bool {
    try metadata(try locate(id))?.metadata.requiresFingers ?? false
  }

  /// How the fingers that are enrolled now differ from the fingers that an item remembers; nil for an item that remembers no
  /// fingers, or whose label cannot be read now.
  public func changeOfFingers(ofItem id: Int64, to present: FingerSet) throws(VaultError) -> FingerSet.Change? {
    guard let metadata = try metadata(try locate(id))?.metadata, metadata.requiresFingers else { return nil }
    return metadata.fingers?.change(to: present)
  }
}
