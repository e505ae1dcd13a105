public import Foundation
public import LatchkeyLocalAuthentication
public import LatchkeySecurity

/// The secrets of one service, each under the name of an account.
///
/// The items are generic passwords, as `SecItemAdd` stores them. Other programs of the session find them by the attributes
/// `service` and `account`. A value of this type holds no secret, no connection and no lock, so a program can copy it, keep it, and
/// use it on any thread.
///
/// Each method exists twice. One form waits on the calling thread. The `async` form makes the same call on a thread that is only
/// for waiting. In asynchronous code the compiler chooses the `async` form.
public struct Keychain: Sendable {
  /// The name that all items of the service share (`kSecAttrService`), such as `org.example.mail`.
  public let service: String
  /// The program's access group in which this stores and searches items. If it is nil, new items go to the program's first group,
  /// and searches look in all its groups.
  public let accessGroup: String?
  /// When new items can be read, unless a call says otherwise. Existing items keep their accessibility.
  public let accessibility: KeychainItemAccessibility

  private let calls: ItemCalls

  /// The secrets of a service. This neither reads nor stores anything yet.
  ///
  /// - Parameters:
  ///   - service: The name that the items share. An empty name means all items of the program that have no service.
  ///   - accessGroup: One of the program's access groups; nil for all its groups.
  ///   - accessibility: When new items can be read.
  public init(
    service: String, accessGroup: String? = nil, accessibility: KeychainItemAccessibility = .whenUnlocked
  ) {
    self.service = service
    self.accessGroup = accessGroup
    self.accessibility = accessibility
    calls = ItemCalls.current
  }

  /// The secret of an account.
  ///
  /// The vault prompts the person if the item requires that. It also prompts if the session's vault is locked and no locker is on
  /// the screen.
  ///
  /// - Parameters:
  ///   - account: The name of the account.
  ///   - reason: The text for the person when they are asked, beside the program's name; nil for the vault's own words. The
  ///     context's text takes precedence.
  ///   - context: Gives the item's passphrase, forbids questions to the person, or keeps an answer for some time.
  /// - Returns: The bytes, as they were stored; empty if the item has no secret. The caller owns this copy.
  /// - Throws: ``KeychainError/notFound``, ``KeychainError/locked``, ``KeychainError/cancelled``,
  ///   ``KeychainError/authenticationFailed``, or another ``KeychainError``.
  public func get(
    _ account: String, reason: String? = nil, context: LAContext? = nil
  ) throws(KeychainError) -> Data {
    var query = terms(account: account, reason: reason, context: context)
    query[kSecReturnData] = true
    var result: CFTypeRef?
    try KeychainError.check(calls.copyMatching(query as CFDictionary, &result))
    guard let secret = result as? Data else { throw .other(errSecInternalComponent) }
    return secret
  }

  /// The secret of an account, as text.
  ///
  /// - Parameters:
  ///   - account: The name of the account.
  ///   - reason: The text for the person when they are asked.
  ///   - context: Gives the item's passphrase, forbids questions to the person, or keeps an answer for some time.
  /// - Returns: The text.
  /// - Throws: ``KeychainError/notText`` if the bytes are not UTF-8; otherwise the same errors as the form for data.
  public func getString(
    _ account: String, reason: String? = nil, context: LAContext? = nil
  ) throws(KeychainError) -> String {
    guard let text = String(bytes: try get(account, reason: reason, context: context), encoding: .utf8) else {
      throw .notText
    }
    return text
  }

  /// Stores the secret of an account, or replaces it.
  ///
  /// If two such calls run at the same time, there is one item afterwards, with the secret of one of them. The vault enforces an
  /// item's requirements before it replaces the secret, and once more if the call changes class or requirements.
  ///
  /// - Parameters:
  ///   - secret: Any bytes, even none; 32 MiB at most.
  ///   - account: The name of the account.
  ///   - accessibility: When the item can be read. Nil: a new item gets the ``Keychain/accessibility`` of this value, and an
  ///     existing item keeps its own.
  ///   - flags: The requirements for each read. None: a new item requires nothing. An existing item keeps its requirements, but
  ///     loses them if an accessibility is given.
  ///   - reason: The text for the person when they are asked.
  ///   - context: Gives the item's passphrase (`applicationPassword`), so that the person need not type it, or forbids questions to
  ///     the person.
  /// - Throws: ``KeychainError/authenticationFailed`` for
  ///   ``KeychainItemAccessibility/whenPasscodeSetThisDeviceOnly`` if the login has no password, and for `biometryCurrentSet` if
  /// no finger is enrolled (`biometryAny` is stored);
  ///   ``KeychainError/invalidParameter`` for flags that do not go together;
  ///   ``KeychainError/tooLarge``, ``KeychainError/diskFull``, or another ``KeychainError``.
  public func set(
    _ secret: Data, for account: String, accessibility: KeychainItemAccessibility? = nil,
    asking flags: SecAccessControlCreateFlags = [], reason: String? = nil, context: LAContext? = nil
  ) throws(KeychainError) {
    let query = terms(account: account, reason: reason, context: context)
    var changes: [CFString: Any] = [kSecValueData: secret]
    if !flags.isEmpty {
      changes[kSecAttrAccessControl] = try control(accessibility ?? self.accessibility, flags)
    } else if let accessibility {
      changes[kSecAttrAccessible] = accessibility.attributeValue
    }
    var item = query.merging(changes) { $1 }
    if flags.isEmpty { item[kSecAttrAccessible] = (accessibility ?? self.accessibility).attributeValue }

    // The update comes first. If another program stored an item under these names, a new item would be no duplicate of it, and
    // searches would return the older item. Each further round means that another program deleted or stored the item since the last
    // call.
    for _ in 0..<100 {
      let updated = calls.update(query as CFDictionary, changes as CFDictionary)
      guard updated == errSecItemNotFound else { return try KeychainError.check(updated) }
      let added = calls.add(item as CFDictionary, nil)
      guard added == errSecDuplicateItem else { return try KeychainError.check(added) }
    }
    throw .duplicate
  }

  /// Stores the secret of an account as UTF-8 text, or replaces it.
  ///
  /// - Parameters:
  ///   - text: The secret. Swift never erases copies of a string. Use the form for data if the secret must not stay in the
  ///     program's memory.
  ///   - account: The name of the account.
  ///   - accessibility: When the item can be read.
  ///   - flags: The requirements for each read.
  ///   - reason: The text for the person when they are asked.
  ///   - context: Supplies the item's passphrase, or forbids asking the person for it.
  /// - Throws: The same errors as the form for data.
  public func set(
    _ text: String, for account: String, accessibility: KeychainItemAccessibility? = nil,
    asking flags: SecAccessControlCreateFlags = [], reason: String? = nil, context: LAContext? = nil
  ) throws(KeychainError) {
    try set(
      Data(text.utf8), for: account, accessibility: accessibility, asking: flags, reason: reason, context: context)
  }

  /// Deletes the item of an account, even if it is locked.
  ///
  /// Before the first login, the vault cannot tell whether another program's item matches. Then it first asks the person to unlock
  /// the vault. Otherwise it asks nobody.
  ///
  /// - Parameter account: The name of the account.
  /// - Throws: ``KeychainError/notFound`` if there is no such item, or another ``KeychainError``.
  public func delete(_ account: String) throws(KeychainError) {
    try KeychainError.check(calls.delete(terms(account: account) as CFDictionary))
  }

  /// Deletes all items of this service in the groups that this value searches, even locked items.
  ///
  /// The vault asks the person as for `delete`. If there is no such item, nothing happens. One step deletes up to 4096 items, all
  /// or none.
  ///
  /// - Throws: ``KeychainError/notAvailable``, ``KeychainError/locked`` if a question was necessary but was not possible, or
  ///   another ``KeychainError``.
  public func deleteAll() throws(KeychainError) {
    let status = calls.delete(terms() as CFDictionary)
    if status != errSecItemNotFound { try KeychainError.check(status) }
  }

  /// Whether there is an item of an account. The vault asks nobody for this.
  ///
  /// - Parameter account: The name of the account.
  /// - Returns: Whether there is an item. A locked item counts too.
  /// - Throws: ``KeychainError/notAvailable`` without a vault, or another ``KeychainError``.
  public func contains(_ account: String) throws(KeychainError) -> Bool {
    var query = terms(account: account)
    query[kSecUseAuthenticationUI] = kSecUseAuthenticationUIFail
    switch calls.copyMatching(query as CFDictionary, nil) {
    case errSecItemNotFound: return false
    // There is an item, but its content cannot be read.
    case errSecInteractionNotAllowed: return true
    case let status:
      try KeychainError.check(status)
      return true
    }
  }

  /// The accounts that have an item, the most recently changed one first. This reads no secrets, so nobody has to meet the items'
  /// requirements.
  ///
  /// The result leaves out accounts that another program stored as bytes that are not text.
  ///
  /// - Parameter context: May forbid questions to the person, for example while the session's vault is locked.
  /// - Returns: The names of the accounts, each once; empty if there is no item.
  /// - Throws: ``KeychainError/locked`` or ``KeychainError/cancelled`` if one of the items is locked, or another
  ///   ``KeychainError``.
  public func accounts(context: LAContext? = nil) throws(KeychainError) -> [String] {
    var query = terms(context: context)
    query[kSecReturnAttributes] = true
    query[kSecMatchLimit] = kSecMatchLimitAll
    var result: CFTypeRef?
    let status = calls.copyMatching(query as CFDictionary, &result)
    guard status != errSecItemNotFound else { return [] }
    try KeychainError.check(status)
    guard let items = result as? [[String: Any]] else { throw .other(errSecInternalComponent) }
    var seen: Set<Data> = []
    return items.compactMap { item in
      let account = item[kSecAttrAccount as String]
      let text = (account as? String) ?? (account as? Data).flatMap { String(bytes: $0, encoding: .utf8) }
      // Two groups may have the same account, which is listed once. This compares the bytes of names, as the vault does, because
      // Swift treats two spellings of a letter as equal.
      guard let text, seen.insert(Data(text.utf8)).inserted else { return nil }
      return text
    }
  }

  /// The keys that the dictionaries of all calls have.
  private func terms(
    account: String? = nil, reason: String? = nil, context: LAContext? = nil
  ) -> [CFString: Any] {
    var terms: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: service]
    if let account { terms[kSecAttrAccount] = account }
    if let accessGroup { terms[kSecAttrAccessGroup] = accessGroup }
    if let reason { terms[kSecUseOperationPrompt] = reason }
    if let context { terms[kSecUseAuthenticationContext] = context }
    return terms
  }

  private func control(
    _ accessibility: KeychainItemAccessibility, _ flags: SecAccessControlCreateFlags
  ) throws(KeychainError) -> SecAccessControl {
    var error: Unmanaged<CFError>?
    let control = SecAccessControlCreateWithFlags(nil, accessibility.attributeValue, flags, &error)
    guard let control else {
      throw .invalidFlags(error?.takeRetainedValue().localizedDescription)
    }
    return control
  }
}
