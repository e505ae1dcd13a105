import LatchkeyPrompts
import LatchkeySystemd
import LatchkeyVault

/// An item that a client wants to store, and that waits for its passphrase.
final class WaitingItem {
  let new: ItemToCreate
  /// The question to the person, for this item alone.
  let question: Question
  /// The person's answers for the replaced item.
  let granted: AccessGrant?
  /// The item's path, once the item is stored.
  var stored: ItemPlace?
  /// The reason why the item was not stored, although its passphrase was given.
  var failure: BusError?

  init(_ new: ItemToCreate, granted: AccessGrant?, number: UInt64, client: String) {
    self.new = new
    self.granted = granted
    question = .newItemPassphrase(number, client: client)
  }
}
