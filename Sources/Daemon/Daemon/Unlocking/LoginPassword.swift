import LatchkeyControl
import LatchkeyKeybag
import LatchkeyReasons
import LatchkeySystemd
import LatchkeyVault

/// Problems that logins found with the login password: it does not open the vault, it costs too much time on this machine, or the
/// memory of its derivation was not erased. Each comes with advice to the person.
final class LoginPassword {
  private let vault: Vault
  private let session: SessionReference
  private let device: DeviceOpening
  private unowned let observer: any KeyObserver
  let notice = FormerPasswordNotice()
  /// Whether the last login showed that the password was changed without Latchkey. A PAM stack that continues after a mistyped
  /// password looks the same, until somebody types the right password.
  private(set) var needsFormer = false
  /// The time that the last unlock took to check the password, in milliseconds; nil if the machine is fast enough for its cost.
  private var time: UInt32?
  /// Whether the sender of the last keys did not erase Argon2id's memory. latchkey-derive replaces two functions of libc for
  /// libsodium. If another libsodium does not call these functions, only the erasing fails, and this value shows it.
  private var leavesMemory = false

  init(_ vault: Vault, session: SessionReference, device: DeviceOpening, observer: any KeyObserver) {
    self.vault = vault
    self.session = session
    self.device = device
    self.observer = observer
  }

  /// Registers the messages of the control socket that this type answers.
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

  /// Notes whether the sender of keys has erased its memory. Only the last sender counts.
  func noteMemory(of delivery: borrowing TierDelivery) {
    if delivery.leftMemory, !leavesMemory { Journal.log(.error, Reason.keybag(.memoryLeft).text) }
    leavesMemory = delivery.leftMemory
  }

  /// Tells the person at the screen that the former password is needed. Behind a locker the password may simply be mistyped, if the
  /// PAM stack has Latchkey's module before the module that refuses it. Then the right password follows before the locker goes.
  func tell() {
    if needsFormer && !session.machine.lockerUp { notice.want(isOpen: session.state == .unlocked) }
  }

  /// Forgets the problems: a password or the code has unlocked the vault, or the login has no password any more. The program that
  /// brings the keys reports the cost again.
  func forget() {
    needsFormer = false
    notice.forget()
    time = nil
  }

  /// Forgets the cost of the former password, because a change of keys measures it again.
  func rotated() { time = nil }

  /// The problems, for `latchkey status`.
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
