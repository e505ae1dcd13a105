import LatchkeyGettext

/// The sentences that a person reads before the protector `finger` is added: where a finger unlocks the vault on this machine, and
/// the promises that become weaker.
public struct FingerPromise {
  /// The screen lockers that run as the person, by their PAM services.
  private let personsOwn: [String]
  /// Whether no other screen locker asks for a finger.
  private let isOfPromptsOnly: Bool

  /// Reads the PAM files of a system.
  public init(_ root: SystemRoot) {
    let lines = FingerLine.all(in: root).filter { $0.place != .none }
    personsOwn = lines.filter { $0.place == .screenOnly }.map(\.service)
    isOfPromptsOnly = !lines.isEmpty && lines.count == personsOwn.count
  }

  /// The sentences before the person confirms.
  public var text: String {
    let reach =
      isOfPromptsOnly
      ? translated(
        "After your password has unlocked the vault, a finger at a prompt can then unlock it again, for 48 hours.")
      : translated(
        """
        After your password has unlocked the vault, a finger at the locked screen or at a prompt can then unlock it again, \
        for 48 hours.
        """)
    let screens =
      personsOwn.isEmpty
      ? ""
      : translated(
        """
        At \(PAMExamination.list(personsOwn)), a finger unlocks the screen only, because such a screen locker runs as you.
        """)
    let cost = translated(
      """
      That is a weaker promise than before: your finger opens the vault also if you did not want to give it.
      Logging out, a restart, hibernation, five other fingers and every change of your enrolled fingers end it.
      """)
    return [reach, screens, cost].filter { !$0.isEmpty }.joined(separator: "\n")
  }

  /// The sentence after the protector was added.
  public var result: String {
    isOfPromptsOnly
      ? translated("From the next unlock by your password on, a finger at a prompt unlocks the vault again.")
      : translated("From the next unlock by your password on, a finger at the locked screen unlocks the vault again.")
  }
}
