/// What a person can be asked for, so that something opens.
public enum Question: Hashable, Sendable {
  /// The login password.
  case login
  /// The passphrase of the collection of this number.
  case collection(Int64)
  /// A new passphrase for the collection of this number.
  case newPassphrase(Int64)
  /// What the item of this number asks for before this client may read it once. Never shared: one client's answer opens
  /// nothing for another.
  case item(Int64, client: String)
  /// A passphrase for an item that is to be stored; the number is of nothing else.
  case newItemPassphrase(UInt64)
  /// A passphrase for a new backup.
  case newBackup
  /// The passphrase of a backup that is to be restored.
  case backup
}
