import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeySystemd
import LatchkeyVault

/// What an item is to require from now on, which waits for what it requires until then, or for a new passphrase.
final class AccessChange {
  let item: ItemPlace
  let control: AccessControl
  /// What it requires until then.
  let present: AccessControl
  /// Another class; nil for the one it has.
  let accessibility: AccessibilityClass?
  /// Whether a person chooses a passphrase for it.
  let needsNewPassphrase: Bool
  /// The fingers that are enrolled now, where it is to remember them.
  let fingers: FingerSet?
  /// What a person is asked first; nil where the item requires nothing until then.
  let question: Question?
  /// What a person is asked then, where there is a passphrase to choose.
  let passphraseQuestion: Question
  /// What a person answered to the first.
  var granted: AccessGrant?
  /// Whether it was written.
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

  /// What a person is told of it, as words that go on after the item's name.
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

  /// The question that comes next; nil where nobody has to be asked any more.
  var nextQuestion: Question? {
    if isDone { return nil }
    if let question, granted == nil { return question }
    return needsNewPassphrase ? passphraseQuestion : nil
  }
}
