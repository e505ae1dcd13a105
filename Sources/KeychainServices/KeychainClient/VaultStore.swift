import Foundation
import LatchkeyItemProtection
import LatchkeySecretClient
import LatchkeySecurity
import LatchkeySystemd

/// The items of the user's vault, over the session bus.
struct VaultStore: ItemStore {
  /// The connection that all calls of the program share. A person's answers never count on it, because they belong to one call or
  /// one context.
  private let shared: VaultAccess
  private let groups: AccessGroups

  init(groups: AccessGroups) {
    shared = VaultAccess()
    self.groups = groups
  }

  var accessGroups: AccessGroups { groups }

  // MARK: - add

  func add(_ item: NewItem) throws(ItemFailure) -> StoredItem {
    let person = Person(item.authentication)
    let control = item.protection.control
    if control.needsPassphrase { try person.checkMayChoose() }
    let secret = try Secret.of(item.secret ?? Data())
    let written = WrittenItem(item)
    if try !isUnlocked(for: item.protection.accessible) { try unlock(for: written, person) }
    let access = control.needsPassphrase ? person.access() : shared
    let added: (identifier: Data, prompt: String?)
    let add = { (link: VaultLink) throws(BusError) in try link.add(written, item.protection, secret: secret) }
    do throws(ItemFailure) { added = try access.with(.writing, add) } catch {
      // The collection may have an explicit lock, or there is no vault yet.
      guard error.status == errSecInteractionNotAllowed else { throw error }
      do throws(ItemFailure) { try unlock(for: written, person) } catch let failure {
        throw failure.status == error.status ? ItemFailure(failure.status, error.cause ?? failure.cause) : failure
      }
      added = try access.with(.writing, add)
    }
    guard let prompt = added.prompt else { return try stored(item, added.identifier) }
    let end = try access.with(.asking) { link throws(BusError) in
      try link.perform(prompt, person.words(for: control))
    }
    if let failure = ItemFailure(end) { throw failure }
    // A prompt returns no identifier, so this finds the new item.
    let made = try access.with(.reading) { link throws(BusError) in
      try link.find([written.unique], limit: 1, secrets: false)
    }
    guard let identifier = made.items.first?.identifier else { throw ItemFailure(errSecItemNotFound) }
    return try stored(item, identifier)
  }

  /// The item as the vault stored it, with its dates if the program requests attributes.
  private func stored(_ item: NewItem, _ identifier: Data) throws(ItemFailure) -> StoredItem {
    if item.returned.contains(.attributes) {
      let found = try shared.with(.reading) { link throws(BusError) in try link.read(identifier, secret: false) }
      let read = found.items.first?.storedItem(foreignGroup: item.accessGroup)
      if let read { return read }
    }
    return StoredItem(
      reference: ItemReference(itemClass: item.itemClass, identifier: identifier), accessGroup: item.accessGroup,
      isSynchronizable: item.isSynchronizable, protection: item.protection, attributes: item.attributes, secret: nil)
  }

  /// Asks the person to unlock the vault for a new item.
  private func unlock(for item: WrittenItem, _ person: Person) throws(ItemFailure) {
    let found = try shared.with(.reading) { link throws(BusError) in
      try link.find([item.unique], limit: 1, secrets: false)
    }
    // As on Apple's systems, a locked vault is reported before a duplicate. But the person is not asked to unlock the vault for a
    // duplicate.
    try person.checkMayAsk(isScreenLocked: found.isScreenLocked)
    guard found.items.isEmpty else { throw ItemFailure(errSecDuplicateItem) }
    try person.unlock([Self.vault], isScreenLocked: found.isScreenLocked)
  }

  /// Whether a new item of a class could be read now. Behind a locked screen the vault would accept the item. But a program that
  /// expects Apple's rules would notice the lock only later, when it reads the item.
  private func isUnlocked(for accessible: AccessibilityClass) throws(ItemFailure) -> Bool {
    guard accessible.tier != .device else { return true }
    let state = try vaultState()
    return state == "unlocked" || accessible.tier == .session && state != "sealed"
  }

  /// "sealed", "unlocked" or "locked".
  func vaultState() throws(ItemFailure) -> String {
    try shared.with(.reading) { link throws(BusError) in try link.connection.vaultState() }
  }

  private static let vault = "/org/freedesktop/secrets/aliases/default"

  // MARK: - copy

  func items(matching query: ItemQuery) throws(ItemFailure) -> [StoredItem] {
    let person = Person(query.authentication)
    let wantsSecret = query.returned.contains(.data)
    let access = person.keptAccess ?? shared
    let search = Search(query, groups: groups, .copying(secrets: wantsSecret))
    let matches = try search.matches(person, on: access)
    var items: [StoredItem] = []
    for match in matches.all {
      guard let item = match.stored else { throw ItemFailure(errSecInteractionNotAllowed) }
      guard wantsSecret else {
        items.append(item)
        continue
      }
      if let secret = matches.secrets[match.found.path] {
        items.append(item.with(secret: secret.data))
        continue
      }
      let access = match.found.state == .asking ? person.access() : access
      if match.found.state == .asking {
        try person.open(match.found.path, match.found.control, on: access, isScreenLocked: matches.isScreenLocked)
      }
      items.append(item.with(secret: try secret(of: match.found, on: access)))
    }
    return items
  }

  /// Reads the secret of one item.
  private func secret(of item: VaultItem, on access: VaultAccess) throws(ItemFailure) -> Data {
    let read = try access.with(.reading) { link throws(BusError) in
      try link.read(item.identifier, secret: true)
    }
    guard let secret = read.secrets[item.path] else {
      // The item was deleted or locked meanwhile.
      throw ItemFailure(read.items.isEmpty ? errSecItemNotFound : errSecInteractionNotAllowed)
    }
    return secret.data
  }

  // MARK: - update

  func update(_ query: ItemQuery, with changes: ItemChanges) throws(ItemFailure) -> Int {
    let person = Person(query.authentication)
    let matches = try Search(query, groups: groups, .updating).matches(person, on: shared)
    guard !matches.all.isEmpty else { return 0 }
    var asking = matches.all.map(\.found).filter { $0.state == .asking }.map { (path: $0.path, control: $0.control) }
    var written: [VaultLink.Change] = []
    var protected: [ProtectionChange] = []
    for match in matches.all {
      guard let item = match.stored else { throw ItemFailure(errSecInteractionNotAllowed) }
      let change = try ItemChange(of: match.found, item, by: changes)
      written.append(change.written)
      if let protection = change.protection {
        protected.append(ProtectionChange(path: match.found.path, former: item.protection, new: protection))
      }
    }
    for change in protected { try person.checkMayChange(change.former.control, to: change.new.control) }
    // An item that moves to another class must obey the same rule as a new item of this class.
    if let accessible = changes.protection?.accessible,
      matches.all.contains(where: { $0.stored?.protection.accessible != accessible }), try !isUnlocked(for: accessible)
    {
      try person.unlock([Self.vault], isScreenLocked: matches.isScreenLocked)
    }
    let secret: Secret? = if let data = changes.secret { try Secret.of(data) } else { nil }
    if secret != nil {
      // The new secret must never be readable without its new requirements, not even for a moment. So items without requirements
      // get the new ones first. An item with requirements enforces them when it is written, too.
      for change in protected where !change.former.control.requiresAnything {
        try protect(change, person)
        asking.append((change.path, change.new.control))
      }
      protected.removeAll { !$0.former.control.requiresAnything }
    }
    // This does not use the context's connection, because a grant for reading again does not allow writing.
    let access = asking.isEmpty ? shared : VaultAccess()
    // The items come one after the other, because each needs its own question and perhaps its own passphrase.
    for item in asking {
      try person.open(item.path, item.control, on: access, isScreenLocked: matches.isScreenLocked)
    }
    if secret != nil || written.contains(where: { $0.item != nil }) {
      try access.with(.writing) { link throws(BusError) in try link.update(written, secret: secret) }
    }
    for change in protected { try protect(change, person) }
    return matches.all.count
  }

  /// One item whose requirements change.
  private struct ProtectionChange {
    let path: String
    let former: Protection
    let new: Protection
  }

  /// Changes an item's requirements.
  private func protect(_ change: ProtectionChange, _ person: Person) throws(ItemFailure) {
    let access = person.access()
    let prompt = try access.with(.writing) { link throws(BusError) in
      try link.setAccess(of: change.path, to: change.new)
    }
    guard let prompt else { return }
    let needsPassphrase = change.former.control.needsPassphrase || change.new.control.needsPassphrase
    let end = try access.with(.asking) { link throws(BusError) in
      try link.perform(prompt, person.words(withPassphrase: needsPassphrase))
    }
    if let failure = ItemFailure(end, for: change.former.control) { throw failure }
  }

  // MARK: - delete

  func delete(_ query: ItemQuery) throws(ItemFailure) -> Int {
    let person = Person(query.authentication)
    let items = try Search(query, groups: groups, .deleting).matches(person, on: shared).all.map(\.found)
    var count = 0
    for start in stride(from: 0, to: items.count, by: VaultLink.deletionLimit) {
      let part = items[start..<min(start + VaultLink.deletionLimit, items.count)]
      count += try shared.with(.writing) { link throws(BusError) in try link.delete(part) }
    }
    return count
  }
}
