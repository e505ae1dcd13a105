import ArgumentParser
import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyHelperProgram
import LatchkeyPosix
import LatchkeySodium

/// `latchkey rotate`
struct RotateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate", abstract: translated("Give the vault new keys."),
    discussion: translated(
      """
      Use it when somebody may know your password, or has a copy of your files: with a new password alone, old copies \
      of the keybag still decrypt what is stored later. It asks for your login password. If the command is \
      interrupted, the change continues at the next unlock, and nothing is lost. The recovery code stays valid, and \
      so does the protector of logins without a password.
      """))

  @OptionGroup var place: DaemonPlace
  @OptionGroup var asking: RootKeyAsking
  @Flag(help: .translated("Report as JSON, with the same keys in every version."))
  var json = false

  private static let stepTime: UInt32 = 100_000
  /// The time after which the command ends if the vault makes no step, for example because of a full disk. The vault continues
  /// alone.
  private static let standstill = Duration.seconds(30)
  /// The same time if the vault has a problem, which may or may not be the cause.
  private static let timeout = Duration.seconds(10)

  private struct Report: Encodable {
    let epoch: UInt32
    let rewrapped: UInt64
    let left: UInt64
    let closed: UInt64
    let other_device: UInt64
    let quarantined: UInt64
    let former_keys_needed: Bool
  }

  func run() throws {
    try Failure.telling {
      try RootKeyAsking.prepare()
      do {
        try place.connect().ask(CheckMayRotate(), until: LatchkeyPosix.Process.now + StatusCommand.answerLimit)
      } catch ControlError.declined(let reason) { throw Failure.declined(reason.told + ".") }
      let status = try status()
      let ending = EndingGenerations(place)
      if !json && !asking.stdin && !status.passwordless { ending.announceForKeys() }
      let program = try asking.program(place, vault: status.vaultPath)
      switch try asking.askPassword(for: .rotate, of: program, status) {
      case .done: break
      case .begun:
        throw Failure.declined(
          translated(
            "the new keys were created, but the vault could not start to use them. It will do so at the next unlock; nothing is lost."
          )
        )
      case .refused:
        throw Failure.declined(
          translated(
            """
            that password is new, and no login has used it yet. Lock the screen and unlock it with that password, or \
            log in again. Then run this again.
            """))
      case let other:
        throw other.failure(
          wrong:
            translated(
              "your login password does not unlock the vault, because the vault has an older one. Run 'latchkey unlock' first."
            )
        )
      }
      try follow()
      if !json { ending.reportForKeys() }
      try tellOfProtectors(before: status)
    }
  }

  /// New keys need a new secret for the protector of logins without a password, which the device key service wraps.
  private func tellOfProtectors(before: Status) throws {
    guard before.protectors.contains(where: { ListedProtector($0).isSession }),
      try !status().protectors.contains(where: { ListedProtector($0).isSession })
    else { return }
    let text =
      translated(
        "Logins without a password unlock nothing any more. 'latchkey protector add session' allows them again.\n")
    StandardStream.error.show(text)
  }

  private func status() throws -> Status {
    try place.connect().ask(GetStatus(), until: LatchkeyPosix.Process.now + StatusCommand.answerLimit)
  }

  /// Shows the progress while item keys are wrapped again. The vault continues by itself, even if nobody watches.
  private func follow() throws {
    let isShown = !json && isatty(STDOUT_FILENO) == 1
    var status = try status()
    let total = status.rotation.left
    var lastStep = ContinuousClock.now
    while status.rotation.left > 0 && status.state == .unlocked
      && ContinuousClock.now - lastStep < (status.problems.isEmpty ? Self.standstill : Self.timeout)
    {
      if isShown { show("\r" + translated("Item keys: \(total - min(status.rotation.left, total)) of \(total)")) }
      usleep(Self.stepTime)
      let before = status.rotation.left
      status = try self.status()
      if status.rotation.left != before { lastStep = .now }
    }
    let rotation = status.rotation
    let done = total - min(rotation.left, total)
    if isShown && total > 0 { show("\r" + translated("Item keys: \(done) of \(total)") + "\n") }
    guard !json else {
      let report = Report(
        epoch: status.epoch, rewrapped: done, left: rotation.left, closed: rotation.closed,
        other_device: rotation.otherDevice, quarantined: rotation.quarantined,
        former_keys_needed: rotation.needsFormerKeys)
      return print(try JSONText.of(report))
    }
    print(translated("The vault has new keys."))
    for line in Self.remarks(rotation) { print(line) }
  }

  private func show(_ text: String) {
    StandardStream.output.show(text)
  }

  /// The items that have no new keys, and why.
  static func remarks(_ rotation: Status.Rotation) -> [String] {
    func items(_ count: UInt64) -> String { translated(count, one: "1 item", other: "\(count) items") }
    var lines: [String] = []
    if rotation.left > 0 {
      lines.append(translated("\(items(rotation.left)) will follow as soon as the vault is unlocked."))
    }
    if rotation.closed > 0 {
      lines.append(translated("\(items(rotation.closed)) in locked collections will follow when you unlock those."))
    }
    if rotation.otherDevice > 0 {
      lines.append(
        translated("\(items(rotation.otherDevice)) of other devices will follow when the vault is unlocked there."))
    }
    if rotation.quarantined > 0 {
      lines.append(
        translated(
          "\(items(rotation.quarantined)) that somebody else put into the vault: never opened, and not changed."))
    }
    if rotation.needsFormerKeys {
      lines.append(
        rotation.left + rotation.closed + rotation.otherDevice > 0
          ? translated("The vault keeps the former keys for these items.")
          : translated("The change continues at the next unlock."))
    }
    return lines
  }
}
