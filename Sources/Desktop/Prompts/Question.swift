/// What a person can be asked for, so that something opens.
public enum Question: Hashable, Sendable {
  /// The login password.
  case login
  /// Nothing: this client wants the first collection's password changed, and the person is told how that is done.
  case loginAdvice(client: String)
  /// The passphrase of the collection of this number.
  case collection(Int64)
  /// A new passphrase for the collection of this number.
  case newPassphrase(Int64)
  /// What the item of this number asks for before this client may read or write it once. Never shared: one client's answer
  /// opens nothing for another.
  case item(Int64, client: String)
  /// What the item asks for before this client may change that; the last number is of nothing else.
  case itemAccess(Int64, UInt64, client: String)
  /// A passphrase for an item of this client that is to be stored, or to get another; the number is of nothing else.
  case newItemPassphrase(UInt64, client: String)
  /// A passphrase for a new backup.
  case newBackup
  /// The passphrase of a backup that is to be restored.
  case backup

  /// What a passphrase could be guessed of.
  enum Guessed: Hashable {
    case collection(Int64)
    case item(Int64)
  }

  /// What a passphrase could be guessed of by answering; nil where nothing could.
  var guessed: Guessed? {
    switch self {
    case .collection(let id): .collection(id)
    case .item(let id, _), .itemAccess(let id, _, _): .item(id)
    case .login, .loginAdvice, .newPassphrase, .newItemPassphrase, .newBackup, .backup: nil
    }
  }
}
