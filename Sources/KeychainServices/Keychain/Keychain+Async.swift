public import Foundation
public import LatchkeyLocalAuthentication
public import LatchkeySecurity

// The same calls for asynchronous code. A person may take up to five minutes to answer. Meanwhile the call waits on a separate
// thread, and the task's thread continues with other tasks.

extension Keychain {
  /// The secret of an account, without holding up other tasks.
  ///
  /// If the task is cancelled before the call begins, the call throws ``KeychainError/cancelled``. A call that has begun is not
  /// interrupted. Its question stays on the screen until the person or the vault ends it, and the call returns its usual result.
  ///
  /// - Parameters:
  ///   - account: The name of the account.
  ///   - reason: The text for the person when they are asked.
  ///   - context: Gives the item's passphrase, forbids questions to the person, or keeps an answer for some time.
  /// - Returns: The bytes, as they were stored.
  /// - Throws: ``KeychainError/notFound``, ``KeychainError/locked``, ``KeychainError/cancelled``,
  ///   ``KeychainError/authenticationFailed``, or another ``KeychainError``.
  public func get(
    _ account: String, reason: String? = nil, context: LAContext? = nil
  ) async throws(KeychainError) -> Data {
    try await CallThreads.shared.run { () throws(KeychainError) in
      try get(account, reason: reason, context: context)
    }
  }

  /// The secret of an account as text, without holding up other tasks.
  ///
  /// If the task is cancelled before the call begins, the call throws ``KeychainError/cancelled``. A call that has begun is not
  /// interrupted.
  ///
  /// - Parameters:
  ///   - account: The name of the account.
  ///   - reason: The text for the person when they are asked.
  ///   - context: Gives the item's passphrase, forbids questions to the person, or keeps an answer for some time.
  /// - Returns: The text.
  /// - Throws: ``KeychainError/notText`` if the bytes are not UTF-8, ``KeychainError/notFound``, ``KeychainError/locked``,
  ///   ``KeychainError/cancelled``, ``KeychainError/authenticationFailed``, or another ``KeychainError``.
  public func getString(
    _ account: String, reason: String? = nil, context: LAContext? = nil
  ) async throws(KeychainError) -> String {
    try await CallThreads.shared.run { () throws(KeychainError) in
      try getString(account, reason: reason, context: context)
    }
  }

  /// Stores or replaces the secret of an account, without holding up other tasks.
  ///
  /// If the task is cancelled before the call begins, the call throws ``KeychainError/cancelled`` and stores nothing. A call that
  /// has begun is not interrupted, and its result says whether the item was stored.
  ///
  /// - Parameters:
  ///   - secret: Any bytes; 32 MiB at most.
  ///   - account: The name of the account.
  ///   - accessibility: When the item can be read. Nil: a new item gets the ``Keychain/accessibility`` of this value, and an
  ///     existing item keeps its own.
  ///   - flags: The requirements for each read. None: a new item requires nothing, and an existing item keeps its requirements.
  ///   - reason: The text for the person when they are asked.
  ///   - context: Gives the item's passphrase, or forbids questions to the person.
  /// - Throws: ``KeychainError/authenticationFailed`` for a passcode class if the login has no password, and for
  /// `biometryCurrentSet` if no finger is enrolled; ``KeychainError/invalidParameter`` for flags that do not go together;
  ///   ``KeychainError/locked``, ``KeychainError/tooLarge``, ``KeychainError/diskFull``, or another ``KeychainError``.
  public func set(
    _ secret: Data, for account: String, accessibility: KeychainItemAccessibility? = nil,
    asking flags: SecAccessControlCreateFlags = [], reason: String? = nil, context: LAContext? = nil
  ) async throws(KeychainError) {
    try await CallThreads.shared.run { () throws(KeychainError) in
      try set(
        secret, for: account, accessibility: accessibility, asking: flags, reason: reason, context: context)
    }
  }

  /// Stores or replaces the secret of an account, text as UTF-8, without holding up other tasks.
  ///
  /// If the task is cancelled before the call begins, the call throws ``KeychainError/cancelled`` and stores nothing. A call that
  /// has begun is not interrupted.
  ///
  /// - Parameters:
  ///   - text: The secret.
  ///   - account: The name of the account.
  ///   - accessibility: When the item can be read. Nil: a new item gets the ``Keychain/accessibility`` of this value, and an
  ///     existing item keeps its own.
  ///   - flags: The requirements for each read. None: a new item requires nothing, and an existing item keeps its requirements.
  ///   - reason: The text for the person when they are asked.
  ///   - context: Gives the item's passphrase, or forbids questions to the person.
  /// - Throws: ``KeychainError/authenticationFailed`` for a passcode class if the login has no password, and for
  /// `biometryCurrentSet` if no finger is enrolled; ``KeychainError/invalidParameter`` for flags that do not go together;
  ///   ``KeychainError/locked``, ``KeychainError/tooLarge``, ``KeychainError/diskFull``, or another ``KeychainError``.
  public func set(
    _ text: String, for account: String, accessibility: KeychainItemAccessibility? = nil,
    asking flags: SecAccessControlCreateFlags = [], reason: String? = nil, context: LAContext? = nil
  ) async throws(KeychainError) {
    try await set(
      Data(text.utf8), for: account, accessibility: accessibility, asking: flags, reason: reason, context: context)
  }

  /// Deletes the item of an account, without holding up other tasks.
  ///
  /// - Parameter account: The name of the account.
  /// - Throws: ``KeychainError/notFound`` if there is no such item; ``KeychainError/cancelled`` if the task was cancelled before
  ///   the call began, and then nothing is deleted; or another ``KeychainError``.
  public func delete(_ account: String) async throws(KeychainError) {
    try await CallThreads.shared.run { () throws(KeychainError) in try delete(account) }
  }

  /// Deletes all items of this service, without holding up other tasks.
  ///
  /// If the task is cancelled before the call begins, the call throws ``KeychainError/cancelled`` and deletes nothing. A call that
  /// has begun is not interrupted.
  ///
  /// - Throws: ``KeychainError/notAvailable`` without a vault, ``KeychainError/locked`` for items of other programs before the
  ///   first login, or another ``KeychainError``.
  public func deleteAll() async throws(KeychainError) {
    try await CallThreads.shared.run { () throws(KeychainError) in try deleteAll() }
  }

  /// Whether there is an item of an account, without holding up other tasks.
  ///
  /// - Parameter account: The name of the account.
  /// - Returns: Whether there is an item.
  /// - Throws: ``KeychainError/notAvailable`` without a vault; ``KeychainError/cancelled`` if the task was cancelled before the
  ///   call began; or another ``KeychainError``.
  public func contains(_ account: String) async throws(KeychainError) -> Bool {
    try await CallThreads.shared.run { () throws(KeychainError) in try contains(account) }
  }

  /// The accounts that have an item, without holding up other tasks.
  ///
  /// - Parameter context: May forbid questions to the person, for example while the session's vault is locked.
  /// - Returns: The names of the accounts, each once.
  /// - Throws: ``KeychainError/locked`` if one of the items is locked; ``KeychainError/cancelled`` if the person dismissed the
  ///   prompt, or the task was cancelled before the call began; or another ``KeychainError``.
  public func accounts(context: LAContext? = nil) async throws(KeychainError) -> [String] {
    try await CallThreads.shared.run { () throws(KeychainError) in try accounts(context: context) }
  }
}
