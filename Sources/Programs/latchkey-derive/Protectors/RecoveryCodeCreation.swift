import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// Makes a recovery code, shows it, and only then replaces the former code: a code that nobody saw must not be the only one.
struct RecoveryCodeCreation {
  let run: Run

  func perform() throws -> DeriveResult {
    guard run.request.mayWriteAnywhere || isatty(STDOUT_FILENO) == 1 else { return .badRequest }
    let opened = try KeybagUnlock(run: run).openForCommand(try run.keybags.load())
    let code = try RecoveryCode.random()
    let next = try opened.settingRecoveryCode(code)
    try show(code)
    try run.keybags.replace(opened.keybag, with: next)
    return .unlocked
  }

  private func show(_ code: borrowing RecoveryCode) throws {
    let text = try code.text()
    var line = try SecureBytes(count: text.count + 1)
    line.write(text.bytes, at: 0)
    line.write([UInt8(ascii: "\n")].span.bytes, at: text.count)
    let output = FileDescriptor(owning: dup(STDOUT_FILENO))
    try output.writeAll(line.bytes)
  }
}
