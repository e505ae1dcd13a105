import LatchkeySecretClient

/// The items that a search found.
struct FoundItems {
  /// Whether a screen locker is up, so that nobody can be asked.
  var isScreenLocked = false
  /// The items, most recently changed first.
  var items: [VaultItem] = []
  /// The secrets of the readable items, by their paths.
  var secrets: [String: Secret] = [:]
}
