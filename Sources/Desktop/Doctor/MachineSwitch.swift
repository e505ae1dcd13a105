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

  /// Whether Latchkey stepped aside for all users, or an administrator masked it after it took over. Only the record tells
  /// the two apart, and only root reads that.
  package var isMaskedWithRecord: Bool { hasRecord && hasMask }

  /// The mask by which an administrator keeps every user's vault from being started; nil without one.
  package var mask: String? { UnitFiles(root: root, home: nil).mask("latchkeyd.socket") }

  /// The command that ends such masks. With a record, it helps whoever made them: `switch` alone is refused where an
  /// administrator did, and unmasking alone leaves the other providers on after a hand-back.
  package var unmask: String { isMaskedWithRecord ? "\(Self.unmaskUnits) && \(Self.takeOver)" : Self.unmaskUnits }

  private static let unmaskUnits = "sudo systemctl --global unmask latchkeyd.socket latchkeyd.service"

  /// The command that has it take over.
  package static let takeOver = "sudo latchkey switch --to latchkey --all-users"
  /// The command that puts all of it back.
  package static let handBack = "sudo latchkey switch --back --all-users"
}
