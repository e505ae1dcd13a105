import LatchkeyPrompts
import LatchkeySystemd
import LatchkeyVault

/// An item that a client wants to store, and that waits for its passphrase.
final class WaitingItem {
  let new: ItemToCreate
  /// The question to the person, for this item alone.
  let question: Question
  /// The person's answers for the item that it replaces.
  let granted: AccessGrant?
  /// Its path, once it was stored.
  var stored: ItemPlace?
  /// Why it was not stored, although it has its passphrase.
  var failure: BusError?

  init(_ new: ItemToCreate, granted: AccessGrant?, number: UInt64, client: String) {
    self.new = new
    self.granted = granted
    question = .newItemPassphrase(number, client: client)
  }
}
