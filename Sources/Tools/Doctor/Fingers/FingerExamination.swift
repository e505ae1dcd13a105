import LatchkeyGettext
import LatchkeyText

/// Checks whether a finger at the lock screen can unlock the vault. It looks at the person's protector, at the lockers' lines, and
/// at other programs that claim the reader.
struct FingerExamination {
  let root: SystemRoot
  /// Whether the vault has the protector `finger`; nil if that is unknown.
  let hasProtector: Bool?

  /// The command that writes the lines.
  static let command: ShellCommand = "sudo latchkey switch --to latchkey --finger"
  private static let profile = "/usr/share/pam-configs/fprintd"

  func findings() -> [Finding] {
    let lines = FingerLine.all(in: root)
    let isThere = lines.contains { $0.place == .there }
    // Without a protector and a line, no finger opens this vault.
    guard hasProtector == true || isThere else { return [] }
    return [line(lines, isThere: isThere)] + reader()
  }

  private func line(_ lines: [FingerLine], isThere: Bool) -> Finding {
    let id = "finger-line"
    guard hasProtector != false else {
      let names = PAMExamination.list(lines.filter { $0.place == .there }.map(\.service))
      return .ok(
        id, translated("\(names) can unlock the vault by a finger. 'latchkey protector add finger' adds yours"))
    }
    guard hasProtector == true else {
      return .unknown(id, translated("the vault cannot be asked whether a finger unlocks it"))
    }
    if let missing = lines.first(where: { if case .missing = $0.place { true } else { false } }) {
      return Finding(
        id, .warning,
        translated(
          "a finger at \(missing.service) unlocks the screen only: pam_latchkey.so is not in front of pam_fprintd.so"),
        fix: .command(Self.command))
    }
    for line in lines {
      guard case .unclear(let path) = line.place else { continue }
      return Finding(
        id, .warning,
        translated(
          "a finger at \(line.service) unlocks the screen only: pam_latchkey.so is not in front of pam_fprintd.so"),
        fix: .advice(
          translated(
            "Look at \(path): the other lines there decide how it can be put in front, as pam_latchkey(8) shows.")))
    }
    let personsOwn = lines.filter { $0.place == .screenOnly }.map(\.service)
    guard isThere || personsOwn.isEmpty else {
      return Finding(
        id, .warning,
        translated(
          "a finger at \(PAMExamination.list(personsOwn)) unlocks the screen only: that screen locker runs as you"),
        fix: .advice(
          translated(
            "Type your password there, which unlocks the vault too. A finger does at GNOME's and lightdm's screens.")))
    }
    guard isThere else {
      return Finding(
        id, .warning, translated("no screen locker asks for a finger, so the vault is unlocked by the password only"),
        fix: .advice(
          translated(
            "Install libpam-fprintd, and a screen locker that asks for a finger by a service of its own, as GNOME's."))
      )
    }
    return .ok(
      id,
      translated(
        "in front of pam_fprintd.so in \(PAMExamination.list(lines.filter { $0.place == .there }.map(\.service)))"))
  }

  /// gdm uses both of its services at the same time, but the reader serves only one.
  private func reader() -> [Finding] {
    guard root.contains("/etc/pam.d/gdm-fingerprint"), let stack = try? PAMStack("gdm-password", .auth, in: root),
      let other = stack.entries.first(where: { $0.module == "pam_fprintd.so" })
    else { return [] }
    return [
      Finding(
        "finger-reader", .warning,
        translated("\(other.file) has pam_fprintd.so, so gdm-password takes the reader from gdm-fingerprint"),
        fix: Distribution(root) == .debian && root.contains(Self.profile)
          ? .command("sudo pam-auth-update --disable fprintd")
          : .advice(translated("Take the line of pam_fprintd.so out of \(other.file).")))
    ]
  }
}
