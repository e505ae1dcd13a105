import Prompts
import Vault

/// An item that a client wants stored, and that waits for the person to choose its passphrase.
final class WaitingItem {
  let received: ReceivedSecret
  let label: String
  let control: ControlAttributes
  /// The fingers that it is to remember.
  let fingers: FingerSet?
  let collection: CollectionPlace
  let replaces: Bool
  /// What a person is asked: for this item and no other.
  let question: Question
  /// What a person answered for the item that it replaces.
  let granted: AccessGrant?
  /// Where it was stored.
  var stored: SecretService.ItemPlace?

  init(
    _ received: ReceivedSecret, label: String, control: ControlAttributes, fingers: FingerSet?,
    in collection: CollectionPlace, replacing: Bool, granted: AccessGrant?, number: UInt64, client: String
  ) {
    self.granted = granted
    self.received = received
    self.label = label
    self.control = control
    self.fingers = fingers
    self.collection = collection
    replaces = replacing
    question = .newItemPassphrase(number, client: client)
  }
}
