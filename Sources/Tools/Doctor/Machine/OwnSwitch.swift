/// The part of `latchkey switch` that concerns one person.
package struct OwnSwitch {
  private let root: SystemRoot
  private let home: String

  package init(root: SystemRoot, home: String) { (self.root, self.home) = (root, home) }

  /// The record has the former and the new text of each file.
  private static let sizeLimit = 1 << 26

  /// Whether `latchkey switch --back` made the person's masks. The record of the switch names the files that it changed.
  package var isHandedBack: Bool {
    guard case .text(let record) = root.content("\(home)/.local/state/latchkey/switch.json", limit: Self.sizeLimit)
    else { return false }
    return record.contains(text: "latchkeyd.socket") || record.contains(text: "latchkeyd.service")
  }

  /// The command that ends masks which the person made.
  package static let unmask =
    "systemctl --user unmask latchkeyd.socket latchkeyd.service && systemctl --user start latchkeyd.socket"
}
