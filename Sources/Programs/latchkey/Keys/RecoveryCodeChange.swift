import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyHelperProgram
import LatchkeyPosix

/// Creates and removes the recovery code: the work of `latchkey recovery` and of `latchkey protector`.
struct RecoveryCodeChange {
  let place: DaemonPlace
  let asking: RootKeyAsking

  /// Creates a code and shows it, on the terminal or on standard output.
  func create(toStandardOutput stdout: Bool) throws {
    try Failure.telling {
      try RootKeyAsking.prepare()
      let status = try place.status()
      try RootKeyAsking.requireUnlocked(status)
      let program = try asking.program(place, vault: status.vaultPath)
      let output = stdout ? FileDescriptor(owning: dup(STDOUT_FILENO)) : try Self.terminal()
      let answer = try asking.askPassword(
        for: .createRecoveryCode, of: program, status, output: output.number, anywhere: stdout)
      guard answer == .done else {
        if !stdout {
          try output.writeAll(Array(translated("If a code is shown above, it is not valid.\n").utf8).span.bytes)
        }
        throw answer.failure(wrong: RootKeyAsking.oldPassword)
      }
      guard !stdout else { return }
      let advice = translated(
        """
        This is your recovery code. It is not shown again. Write it down, keep it apart from this machine, and check
        what you wrote with 'latchkey recovery check'.

        """)
      try output.writeAll(Array(advice.utf8).span.bytes)
      guard status.passwordless else { return }
      let end =
        translated(
          "This code ends when your login gets a password, because others could have created it. Create another one then.\n"
        )
      try output.writeAll(Array(end.utf8).span.bytes)
    }
  }

  private static func terminal() throws -> FileDescriptor {
    do { return try FileDescriptor.open("/dev/tty", flags: O_WRONLY | O_NOCTTY) } catch {
      throw Failure.declined(
        translated("there is no terminal to show the code on. With --stdout it is written to standard output."))
    }
  }

  /// Removes the code.
  func remove() throws {
    try Failure.telling {
      try RootKeyAsking.prepare()
      let status = try place.status()
      guard status.recoveryCodeCreated > 0 else { return print(translated("The vault has no recovery code.")) }
      try RootKeyAsking.requireUnlocked(status)
      let program = try asking.program(place, vault: status.vaultPath)
      let answer = try asking.askPassword(for: .removeRecoveryCode, of: program, status)
      guard answer == .done || answer == .nothingNeeded else {
        throw answer.failure(wrong: RootKeyAsking.oldPassword)
      }
      print(translated("The vault has no recovery code any more."))
      print(
        translated(
          "Older copies of the keybag still accept the code. 'latchkey rotate' gives the vault new keys, which those copies do not have."
        ))
    }
  }
}
