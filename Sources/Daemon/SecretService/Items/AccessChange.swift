import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeySystemd
import LatchkeyVault

/// A change of an item's requirements. It waits until the client meets the present requirements, or for a new passphrase.
final class AccessChange {
  let item: ItemPlace
  let control: AccessControl
  /// The item's present requirements.
  let present: AccessControl
  /// Another class; nil to keep the present class.
  let accessibility: AccessibilityClass?
  /// Whether a person chooses a passphrase for the item.
  let needsNewPassphrase: Bool
  /// The fingers that are enrolled now, if the item must remember them.
  let fingers: FingerSet?
  /// The first question to the person; nil if the item requires nothing at present.
  let question: Question?
  /// The second question to the person, if there is a passphrase to choose.
  let passphraseQuestion: Question
  /// The person's answer to the first question.
  var granted: AccessGrant?
  /// Whether the change was written.
  var isDone = false

  init(
    of item: ItemPlace, to control: AccessControl, _ accessibility: AccessibilityClass?,
    needsNewPassphrase: Bool, fingers: FingerSet?, from present: AccessControl, number: UInt64, client: String
  ) {
    self.item = item
    self.control = control
    self.accessibility = accessibility
    self.needsNewPassphrase = needsNewPassphrase
    self.fingers = fingers
    self.present = present
    question = present.requiresAnything ? .itemAccess(item.id, number, client: client) : nil
    passphraseQuestion = .newItemPassphrase(number, client: client)
  }

  /// The words for the person, which follow the item's name.
  var words: String {
    var parts: [String] = []
    if control != present || fingers != nil {
      let named = control.requiresAnything ? control.text : "nothing"
      parts.append("require \(named)" + (fingers == nil ? "" : ", with the fingers that are enrolled now"))
    }
    if needsNewPassphrase { parts.append("get another passphrase") }
    if let accessibility { parts.append("have the class \(accessibility.name)") }
    return parts.isEmpty ? "to stay as it is" : "to " + parts.joined(separator: ", to ")
  }

  /// The question that comes next; nil if no question is left.
  var nextQuestion: Question? {
    if isDone { return nil }
    if let question, granted == nil { return question }
    return needsNewPassphrase ? passphraseQuestion : nil
  }
}
