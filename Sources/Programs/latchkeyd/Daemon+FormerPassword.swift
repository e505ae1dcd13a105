import Glibc
import LatchkeyKeybag
import LatchkeySystemd
import LatchkeyVault

/// A login password that is another one than the vault's, and what a person can do about it.
extension Daemon {
  /// For `latchkey status`.
  static let formerPasswordProblem =
    "the login password was changed without Latchkey: the next prompt, or 'latchkey unlock', asks for the former one, or "
    + "the recovery code, once"

  /// The same of a password that costs more than this machine can compute while a person waits.
  static func slowPasswordProblem(milliseconds: UInt32) -> String {
    "checking the login password took \(milliseconds / 1000) s, as its cost was chosen on a faster machine: "
      + "run 'latchkey rotate' for one that fits this machine"
  }

  func noteSlowPassword(milliseconds: UInt32) {
    guard vault.hasKeybag, session.state != .sealed else { return }
    passwordTime = milliseconds
  }

  func noteOtherPassword() {
    refresh()
    guard vault.hasKeybag, !vault.isPasswordless else { return }
    needsFormerPassword = true
    presence?.stateChanged()
    tellOfFormerPassword()
  }

  /// Says it to the person who sits there. Behind a locker it may be a slip of the fingers, where the stack has the module
  /// in front of what refuses: then the right one follows before the locker goes.
  func tellOfFormerPassword() {
    if needsFormerPassword && !isLockerUp { formerPasswordNotice.want(isOpen: session.state == .unlocked) }
  }

  func startEmpty(folder: String) throws(Refusal) -> String {
    refresh()
    guard folder == vault.path else { throw Refusal(reason: "the folder of the vault is \(vault.path)") }
    guard vault.isThere else {
      throw Refusal(reason: "there is no vault: the next login, or 'latchkey unlock', creates one")
    }
    guard !isLockerUp else { throw Refusal(reason: "the screen is locked: unlock it first") }
    archive?.cancel("the vault was put aside")
    dropGrants()
    presence?.service?.endPrompts()
    defer {
      presence?.service?.verificationEnded()
      workWhenIdle()
      sessionStateChanged()
    }
    let place: String
    do throws(VaultError) { place = try vault.setAside(as: KeybagFile.asidePrefix + Daemon.stamp) } catch {
      // It is where it was, and closed.
      undo()
      throw Refusal(reason: error.explanation)
    }
    session.watch?.vaultPutAside()
    (needsFormerPassword, passwordlessProblem, passwordTime) = (false, nil, nil)
    formerPasswordNotice.forget()
    Journal.log(.warning, "the vault was put aside by command, and is \(place) now")
    return place
  }

  /// The time as a part of a name: local, for a person.
  private static var stamp: String {
    var now = time(nil)
    var parts = tm()
    localtime_r(&now, &parts)
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { buffer in
      let format = "%Y%m%d-%H%M%S"
      guard let start = buffer.baseAddress, strftime(start, buffer.count, format, &parts) > 0 else { return "" }
      return String(cString: start)
    }
  }
}
