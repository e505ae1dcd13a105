import LatchkeyKeybag
import LatchkeySystemd
import LatchkeyVault

/// Writes the new requirements of an item.
final class AccessWriter {
  private let tree: CollectionTree
  private let signals: Signals
  private let deprecations: DeprecationLog

  init(_ tree: CollectionTree, signals: Signals, deprecations: DeprecationLog) {
    self.tree = tree
    self.signals = signals
    self.deprecations = deprecations
  }

  func apply(_ change: AccessChange, passphrase: consuming NewItemPassphrase?) throws(BusError) {
    let vault = tree.holder(change.item.collection).vault
    do throws(VaultError) {
      try vault.writer.setAccess(
        ofItem: change.item.id, change.control, accessibility: change.accessibility, passphrase: passphrase.take(),
        fingers: change.fingers, granted: change.granted)
    } catch { throw BusError(error) }
    change.isDone = true
    if let accessibility = change.accessibility { deprecations.note(accessibility, of: change.item) }
    signals.itemChanged(change.item, properties: ["Modified"])
  }
}
