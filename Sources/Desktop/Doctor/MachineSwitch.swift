/// The part of `latchkey switch --all-users` that every user can see.
package struct MachineSwitch {
  private let root: SystemRoot

  /// Its record. Only root reads what it says; all can see that it is there.
  package static let record = "/etc/latchkey/switch.json"

  package init(root: SystemRoot) { self.root = root }

  private var hasRecord: Bool { root.contains(Self.record) }
  private var hasMask: Bool {
    ["latchkeyd.socket", "latchkeyd.service"].contains { UnitFiles(root: root, home: nil).mask($0) != nil }
  }

  /// Whether Latchkey is the only provider for all users.
  package var isTakenOver: Bool { hasRecord && !hasMask }

  /// Whether Latchkey stepped aside for all users.
  package var isHandedBack: Bool { hasRecord && hasMask }

  /// The mask by which an administrator keeps every user's vault from being started; nil without one.
  package var mask: String? { UnitFiles(root: root, home: nil).mask("latchkeyd.socket") }

  /// The command that ends such masks.
  package var unmask: String {
    isHandedBack ? Self.takeOver : "sudo systemctl --global unmask latchkeyd.socket latchkeyd.service"
  }

  /// The command that has it take over again.
  package static let takeOver = "sudo latchkey switch --to latchkey --all-users"
  /// The command that puts all of it back.
  package static let handBack = "sudo latchkey switch --back --all-users"
}
