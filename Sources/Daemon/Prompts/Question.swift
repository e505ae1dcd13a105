/// A question to the person, whose answer unlocks something.
public enum Question: Hashable, Sendable {
  /// The login password.
  case login
  /// A notice and no question: the person reads how to change the first collection's password, because this client wants to change
  /// it.
  case loginAdvice(client: String)
  /// The passphrase of the collection of this number.
  case collection(Int64)
  /// A new passphrase for the collection of this number.
  case newPassphrase(Int64)
  /// The requirements of the item of this number, before this client may read or write it once. Never shared: one client's
  /// answer unlocks nothing for another.
  case item(Int64, client: String)
  /// The item's requirements, before this client may change them. The last number makes each such question unique.
  case itemAccess(Int64, UInt64, client: String)
  /// A passphrase for an item of this client that is stored, or gets a new passphrase. The number makes the question unique.
  case newItemPassphrase(UInt64, client: String)
  /// A passphrase for a new backup.
  case newBackup
  /// The passphrase of a backup that will be restored.
  case backup

  /// A target whose passphrase could be guessed.
  enum Guessed: Hashable {
    case collection(Int64)
    case item(Int64)
  }

  /// Whether an answer unlocks for every client of the session, and not only for the client that asked.
  var unlocksForEverybody: Bool {
    switch self {
    case .login, .collection: true
    case .loginAdvice, .newPassphrase, .item, .itemAccess, .newItemPassphrase, .newBackup, .backup: false
    }
  }

  /// The collection or item whose passphrase an answer tries; nil if an answer tries no passphrase.
  var guessed: Guessed? {
    switch self {
    case .collection(let id): .collection(id)
    case .item(let id, _), .itemAccess(let id, _, _): .item(id)
    case .login, .loginAdvice, .newPassphrase, .newItemPassphrase, .newBackup, .backup: nil
    }
  }
}
