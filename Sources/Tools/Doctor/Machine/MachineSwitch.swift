/// The part of `latchkey switch --all-users` that every user can see.
package struct MachineSwitch {
  private let root: SystemRoot

  /// The record of the switch. Only root can read it; everybody can see that it exists.
  package static let record = "/etc/latchkey/switch.json"

  package init(root: SystemRoot) { self.root = root }

  private var hasRecord: Bool { root.contains(Self.record) }
  private var hasMask: Bool {
    ["latchkeyd.socket", "latchkeyd.service"].contains { UnitFiles(root: root, home: nil).mask($0) != nil }
  }

  /// Whether Latchkey is the only provider for all users.
  package var isTakenOver: Bool { hasRecord && !hasMask }

  /// True in two cases: Latchkey stepped aside for all users, or it took over and an administrator masked it later. Only the record
  /// distinguishes the two, and only root reads the record.
  package var isMaskedWithRecord: Bool { hasRecord && hasMask }

  /// The mask by which an administrator keeps every user's vault from being started; nil without one.
  package var mask: String? { UnitFiles(root: root, home: nil).mask("latchkeyd.socket") }

  /// The command that ends such masks. If there is a record, the command works for all masks. `switch` alone is refused after an
  /// administrator's mask, and after a hand-back, unmasking alone does not turn off the other providers.
  package var unmask: String { isMaskedWithRecord ? "\(Self.unmaskUnits) && \(Self.takeOver)" : Self.unmaskUnits }

  private static let unmaskUnits = "sudo systemctl --global unmask latchkeyd.socket latchkeyd.service"

  /// The command by which Latchkey takes over.
  package static let takeOver = "sudo latchkey switch --to latchkey --all-users"
  /// The command that puts everything back.
  package static let handBack = "sudo latchkey switch --back --all-users"
}
