import LatchkeyForeignKeyrings
import LatchkeyGettext
import LatchkeyKeybag

extension ForeignItem.Protection {
  /// Why the item's secret cannot replace the secret of an item of class `present` that requires nothing: the new secret would lose
  /// protection there. The answer is nil if the secret keeps its protection.
  func objection(to present: AccessibilityClass?) -> String? {
    guard require.isEmpty else {
      return translated("it requires \(require) there, and the vault's item requires nothing")
    }
    guard !accessible.isEmpty else { return nil }
    guard let theirs = AccessibilityClass(name: accessible) else {
      return translated("this version does not know its class '\(accessible)'")
    }
    guard let present, present.joined(with: theirs) == present else {
      return translated("its class there, \(accessible), is stricter than the one of the vault's item")
    }
    return nil
  }
}
