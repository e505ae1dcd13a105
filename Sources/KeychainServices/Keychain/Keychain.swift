public import Foundation
public import LatchkeyLocalAuthentication
public import LatchkeySecurity

/// The secrets of one service, each under the name of an account.
///
/// The items are generic passwords, the same that `SecItemAdd` stores, and that other programs of the session see by their
/// attributes `service` and `account`. A value of this type holds no secret, no connection and no lock: copy it, keep it, use
/// it from any thread.
///
/// Each method is there twice: the one that waits on the calling thread, and one with `async` for the same call on a thread
/// that is made for waiting. In asynchronous code the compiler takes the latter.
public struct Keychain: Sendable {
  /// The name that all of its items share (`kSecAttrService`), as `org.example.mail`.
  public let service: String
  /// The group of the program's that new items go to, and the only one to look in. Nil for the program's first group for
  /// new items, and for all of its groups when looking.
  public let accessGroup: String?
  /// When new items can be read, if nothing else is said for them. Existing items keep their accessibility.
  public let accessibility: KeychainItemAccessibility

  private let calls: ItemCalls

  /// The secrets of a service. Nothing is read or made yet.
  ///
  /// - Parameters:
  ///   - service: The name that the items share. With an empty one, the items are all of the program's that have no service.
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
  /// It prompts the person if the item requires that, or if the session's vault is locked and no locker is on the screen.
  ///
  /// - Parameters:
  ///   - account: The name of the account.
  ///   - reason: The text for the person when they are asked, beside the program's name; nil for the vault's own words. The
  ///     context's text takes precedence.
  ///   - context: Brings the item's passphrase, forbids to ask, or keeps an answer for some time.
  /// - Returns: The bytes, as they were stored; none if the item has no secret. The copy is the caller's.
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
  ///   - context: Brings the item's passphrase, forbids to ask, or keeps an answer for some time.
  /// - Returns: The text.
  /// - Throws: ``KeychainError/notText`` if the bytes are not UTF-8; else as the form for data.
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
  /// After two such calls at once there is one item, with the secret of either. An item with requirements enforces them
  /// before its secret is replaced, and once more if the call changes its class or requirements.
  ///
  /// - Parameters:
  ///   - secret: Any bytes, also none; 32 MiB at most.
  ///   - account: The name of the account.
  ///   - accessibility: When it can be read. Nil: a new item gets the ``Keychain/accessibility`` of this value, and an
  ///     existing one keeps its own.
  ///   - flags: The requirements for each read. None: a new item requires nothing, and an existing one keeps its
  ///     requirements, unless an accessibility is given, which then counts alone.
  ///   - reason: The text for the person when they are asked.
  ///   - context: Brings the item's passphrase (`applicationPassword`), which the person is asked for otherwise; forbids to
  ///     ask.
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

    // The update comes first: an item that another program stored under these names is not a duplicate of a new one, and searches
    // would return it before the new one. Each further round means that somebody deleted or stored the item since the last
    // call.
    for _ in 0..<100 {
      let updated = calls.update(query as CFDictionary, changes as CFDictionary)
      guard updated == errSecItemNotFound else { return try KeychainError.check(updated) }
      let added = calls.add(item as CFDictionary, nil)
      guard added == errSecDuplicateItem else { return try KeychainError.check(added) }
    }
    throw .duplicate
  }

  /// Stores the secret of an account, or replaces it: text, as UTF-8.
  ///
  /// - Parameters:
  ///   - text: The secret. Swift erases no copy of a string. Use the form for data if the secret must not stay in the
  ///     program's memory.
  ///   - account: The name of the account.
  ///   - accessibility: When it can be read.
  ///   - flags: The requirements for each read.
  ///   - reason: The text for the person when they are asked.
  ///   - context: Supplies the item's passphrase, or forbids asking the person for it.
  /// - Throws: As the form for data.
  public func set(
    _ text: String, for account: String, accessibility: KeychainItemAccessibility? = nil,
    asking flags: SecAccessControlCreateFlags = [], reason: String? = nil, context: LAContext? = nil
  ) throws(KeychainError) {
    try set(
      Data(text.utf8), for: account, accessibility: accessibility, asking: flags, reason: reason, context: context)
  }

  /// Deletes the item of an account, locked or not.
  ///
  /// If the vault cannot tell whether an item matches, as with another program's item before the first login, the person is asked
  /// to unlock the vault first. Otherwise nobody is asked.
  ///
  /// - Parameter account: The name of the account.
  /// - Throws: ``KeychainError/notFound`` if there is no such item, or another ``KeychainError``.
  public func delete(_ account: String) throws(KeychainError) {
    try KeychainError.check(calls.delete(terms(account: account) as CFDictionary))
  }

  /// Deletes all items of this service, locked or not, in the groups that this value looks in.
  ///
  /// The person is asked as by `delete`. Without such an item nothing happens. Up to 4096 items are deleted in one
  /// step: all, or none.
  ///
  /// - Throws: ``KeychainError/notAvailable``, ``KeychainError/locked`` if the person had to be asked and was not, or another
  ///   ``KeychainError``.
  public func deleteAll() throws(KeychainError) {
    let status = calls.delete(terms() as CFDictionary)
    if status != errSecItemNotFound { try KeychainError.check(status) }
  }

  /// Whether there is an item of an account, locked or not. Nobody is asked.
  ///
  /// - Parameter account: The name of the account.
  /// - Returns: Whether there is one. A locked item counts.
  /// - Throws: ``KeychainError/notAvailable`` without a vault, or another ``KeychainError``.
  public func contains(_ account: String) throws(KeychainError) -> Bool {
    var query = terms(account: account)
    query[kSecUseAuthenticationUI] = kSecUseAuthenticationUIFail
    switch calls.copyMatching(query as CFDictionary, nil) {
    case errSecItemNotFound: return false
    // There is an item; only its content cannot be read.
    case errSecInteractionNotAllowed: return true
    case let status:
      try KeychainError.check(status)
      return true
    }
  }

  /// The accounts that have an item, the most recently changed one first. Secrets are not read, so the items' requirements need not be met.
  ///
  /// Accounts that another program stored as bytes which are not text are left out.
  ///
  /// - Parameter context: May forbid to ask the person if the session's vault is locked.
  /// - Returns: Their names, each once; empty if there is no item.
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
      // The same account in two groups. Names are compared by bytes, as the vault does, because Swift treats two spellings of a
      // letter as equal.
      guard let text, seen.insert(Data(text.utf8)).inserted else { return nil }
      return text
    }
  }

  /// The keys that all calls have.
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
