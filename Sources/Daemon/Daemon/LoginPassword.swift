import LatchkeyControl
import LatchkeyKeybag
import LatchkeyReasons
import LatchkeySystemd
import LatchkeyVault

/// Problems that logins found with the login password: it is not the vault's, it costs more than this machine can compute, or
/// the memory in which it became a key was not erased. Also the advice to a person for each.
final class LoginPassword {
  private let vault: Vault
  private let session: SessionReference
  private let device: DeviceOpening
  private unowned let observer: any KeyObserver
  let notice = FormerPasswordNotice()
  /// Whether it was changed without Latchkey, as far as a login has shown since. Where a PAM stack goes on after a wrong
  /// password, a slip of the fingers looks the same until the right one follows.
  private(set) var needsFormer = false
  /// How long it took to check at the last unlock, in milliseconds, where this machine is too slow for it.
  private var time: UInt32?
  /// Whether the sender of the last keys left Argon2id's memory as it was. latchkey-derive takes the place of two of libc's
  /// functions for libsodium. Should another libsodium not call them, all works as before, but for the erasing: that is to be seen.
  private var leavesMemory = false

  init(_ vault: Vault, session: SessionReference, device: DeviceOpening, observer: any KeyObserver) {
    self.vault = vault
    self.session = session
    self.device = device
    self.observer = observer
  }

  /// Adds its messages of the control socket.
  func serve(in table: inout ControlTable) {
    table.answer(NoteOtherPassword.self) { [unowned self] _, _ in
      noteOther()
      return Done()
    }
    table.answer(NoteSlowPassword.self) { [unowned self] message, _ in
      if vault.hasKeybag, session.state != .sealed { time = message.milliseconds }
      return Done()
    }
  }

  private func noteOther() {
    device.refresh()
    guard vault.hasKeybag, !vault.isPasswordless else { return }
    needsFormer = true
    observer.stateChanged()
  }

  /// Takes note of what the sender of keys said of its memory. The last one counts.
  func noteMemory(of delivery: borrowing TierDelivery) {
    if delivery.leftMemory, !leavesMemory { Journal.log(.error, Reason.keybag(.memoryLeft).text) }
    leavesMemory = delivery.leftMemory
  }

  /// Says to the person who sits there that the former one is needed. Behind a locker it may be a slip of the fingers, if the
  /// stack has the module in front of the one that refuses. Then the right password follows before the locker goes.
  func tell() {
    if needsFormer && !session.machine.lockerUp { notice.want(isOpen: session.state == .unlocked) }
  }

  /// Forgets the problems: a password or the code has unlocked the vault, or the login has no password any more. The program
  /// that brings the keys reports the cost anew.
  func forget() {
    needsFormer = false
    notice.forget()
    time = nil
  }

  /// Keys were changed by a password, whose cost is said anew.
  func rotated() { time = nil }

  /// For `latchkey status`.
  var problems: [Reason] {
    var problems: [Reason] = []
    if needsFormer { problems.append(.keybag(.formerPassword)) }
    if leavesMemory { problems.append(.keybag(.memoryLeft)) }
    if let time {
      problems.append(.slowPassword(seconds: time / 1000))
    }
    return problems
  }
}
