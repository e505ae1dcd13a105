import LatchkeyGettext
import LatchkeyProviderSwitch

/// The report of `latchkey switch`: its changes, the reasons of a refusal, and the steps that are left to the person.
struct SwitchReport: Encodable {
  let side: FileChange.Side
  /// Whether the report is for all users of the machine.
  let isForAll: Bool
  /// Whether the report is about the line for a finger at the lock screen alone.
  let isForLockers: Bool
  let isDryRun: Bool
  var changes: [String] = []
  var notes: [String] = []
  var refused: [String] = []
  var left: [String] = []
  var owners: [String] = []
  /// Whether files were changed, or were about to be.
  var isBegun = false
  /// Whether there is no vault: then no import is possible, and no export is needed.
  var lacksVault = false
  var isDone = false

  init(side: FileChange.Side, isForAll: Bool, isForLockers: Bool, isDryRun: Bool) {
    (self.side, self.isForAll, self.isForLockers, self.isDryRun) = (side, isForAll, isForLockers, isDryRun)
  }

  /// Takes over the contents of a plan.
  mutating func take(_ plan: SwitchPlan, _ session: [String], _ scope: SwitchScope) {
    changes =
      plan.puttingBack.map { $0.backWords(home: scope.home) } + plan.changes.map { $0.words(home: scope.home) }
      + session
    notes = plan.notes
    refused = plan.obstacles
    if isDryRun {
      left = Self.words(left: plan.left)
    }
  }

  /// Files that were not put back.
  static func words(left: [FileChange]) -> [String] {
    left.map { translated("\($0.path) was changed since, so it stays as it is. Look at it: \($0.purposeWords).") }
  }

  /// Notes the name's owner at the end, and the programs that wait for it.
  mutating func sawSession(_ session: SwitchSession?) { owners = session?.holders().map(\.program) ?? [] }

  var status: Int32 { refused.isEmpty ? (left.isEmpty ? 0 : 4) : 1 }

  private var state: String {
    if !refused.isEmpty { return isBegun ? "interrupted" : "refused" }
    if !left.isEmpty { return "left" }
    return isDryRun ? "planned" : "done"
  }

  var text: String {
    var lines: [String] = []
    if !refused.isEmpty {
      lines.append(
        isBegun
          ? translated(
            "The change was interrupted. Some files may be changed already; their former state is recorded. The reason:"
          ) : translated("Nothing was changed, because:"))
      lines += refused.map { "  - \($0)" }
    } else if changes.isEmpty {
      lines.append(
        isForLockers
          ? side == .toLatchkey
            ? translated("Nothing to do: no screen locker asks for a finger without Latchkey's line in front.")
            : translated("Nothing to do: no line for a finger was added.")
          : side == .toLatchkey
            ? isForAll
              ? translated("Nothing to do: no other program is set up to keep all users' secrets.")
              : translated("Nothing to do: no other program is set up to keep your secrets.")
            : translated("Nothing to do: Latchkey has not taken over from another program.")
      )
    } else {
      lines.append(isDryRun ? translated("This would be done:") : translated("Done:"))
      lines += changes.map { "  - \($0)" }
    }
    lines += notes.map { translated("Note: \($0)") }
    if !left.isEmpty {
      lines.append(translated("Left to you:"))
      lines += left.map { "  - \($0)" }
    }
    // The command cannot know which secrets were exported before.
    if side == .back, !isForLockers, refused.isEmpty, !changes.isEmpty, !lacksVault {
      lines.append(
        translated(
          "Secrets that you did not export are in Latchkey's vault alone. See 'Going back' in latchkey-switch(1)."))
    }
    if isDone, !changes.isEmpty { lines.append(next) }
    return lines.map(TerminalText.printable).joined(separator: "\n")
  }

  /// The next step for the person.
  private var next: String {
    isForLockers ? fingerNext : keeperNext
  }

  private var fingerNext: String {
    side == .toLatchkey
      ? translated(
        "Each user adds a finger with 'latchkey protector add finger'. Go back with 'sudo latchkey switch --back --finger'."
      )
      : translated("From now on a finger unlocks the screen only, and the vault waits for the password.")
  }

  private var keeperNext: String {
    switch (side, isForAll) {
    case (.toLatchkey, false) where lacksVault && SessionQuestions.isSystemAccount:
      translated("Root and system accounts get no vault.") + " "
        + translated("Go back with 'latchkey switch --back'.")
    case (.toLatchkey, false) where lacksVault:
      translated(
        """
        There is no vault yet: create it with 'latchkey unlock'. Then bring your secrets over with 'latchkey import'; go back \
        with 'latchkey switch --back'.
        """)
    case (.toLatchkey, false):
      translated("Bring your secrets over with 'latchkey import'; go back with 'latchkey switch --back'.")
    case (.toLatchkey, true):
      translated(
        "Each user brings their secrets over with 'latchkey import'. Go back with 'sudo latchkey switch --back --all-users'."
      )
    case (.back, false) where lacksVault: translated("To use Latchkey again: latchkey switch --to latchkey")
    case (.back, false): translated("Your vault stays on the disk. To use it again: latchkey switch --to latchkey")
    case (.back, true):
      translated("All vaults stay on the disk. To use them again: sudo latchkey switch --to latchkey --all-users")
    }
  }

  private enum CodingKeys: String, CodingKey {
    case to, all_users, dry_run, state, changes, notes, refused, left, owners
  }

  func encode(to encoder: any Encoder) throws {
    var out = encoder.container(keyedBy: CodingKeys.self)
    try out.encode(side == .toLatchkey ? "latchkey" : "back", forKey: .to)
    try out.encode(isForAll, forKey: .all_users)
    try out.encode(isDryRun, forKey: .dry_run)
    try out.encode(state, forKey: .state)
    try out.encode(changes, forKey: .changes)
    try out.encode(notes, forKey: .notes)
    try out.encode(refused, forKey: .refused)
    try out.encode(left, forKey: .left)
    try out.encode(owners, forKey: .owners)
  }
}
