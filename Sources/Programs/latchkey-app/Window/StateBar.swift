import LatchkeyAdwaita
import LatchkeyControl
import LatchkeyGettext
import LatchkeyReasons

/// The state of the vault at the top of the window, and the buttons that lock and unlock it.
final class StateBar {
  let widget: Box
  private let symbol = Symbol("channel-insecure-symbolic")
  private let title = Label(wraps: true).styled("heading")
  private let reason = Label(wraps: true).styled("caption")
  private let lock = Button(translated("_Lock Now"))
  private let unlock = Button(translated("_Unlock")).styled("suggested-action")
  private let help = Button("")
  private var helpingPage: PageName?
  /// Called when the person presses a button.
  var onLock: () -> Void = {}
  var onUnlock: () -> Void = {}
  /// Called with a page when the person asks for help.
  var onHelp: (PageName) -> Void = { _ in }

  init() {
    let words = Box(.column, title, reason).expanding(horizontally: true).centred()
    widget = Box(.row, spacing: 12, symbol, words, help, lock, unlock).margins(8, 12)
    lock.tip(translated("Erase the keys of secrets that only an unlocked session may read"))
    unlock.isVisible = false
    lock.isVisible = false
    reason.isVisible = false
    help.isVisible = false
    help.onPress { [unowned self] in if let page = helpingPage { onHelp(page) } }
    title.text = translated("Connecting to the vault…")
    lock.onPress { [unowned self] in onLock() }
    unlock.onPress { [unowned self] in onUnlock() }
  }

  /// Shows a state ("sealed", "unlocked" or "locked"), and the reason if it is known.
  func show(_ state: String, _ status: Status?) {
    let reasons = (status?.lockReasons ?? []).map(Self.words).joined(separator: ", ")
    switch state {
    case "unlocked":
      say(
        "changes-allow-symbolic", translated("Unlocked"),
        (status?.passwordless ?? false) ? translated("The login has no password, so the vault is always unlocked.") : ""
      )
    case "locked":
      say("changes-prevent-symbolic", translated("Locked"), reasons)
    default:
      say(
        "system-lock-screen-symbolic", translated("Sealed"),
        status?.needsFormerPassword ?? false
          ? translated(
            "The password of the last login does not unlock the vault. If that password is new, Unlock asks for the former one, or for the recovery code."
          ) : reasons.isEmpty ? Self.words(.session(.notUnlockedYet)) : reasons)
    }
    let isUnlocked = state == "unlocked"
    lock.isVisible = isUnlocked && !(status?.passwordless ?? false)
    // The button also shows behind a screen locker, where nobody can be asked. But then the person does not see the window either.
    unlock.isVisible = !isUnlocked
    // The login should have unlocked a sealed vault, so the Health page may know why it did not.
    offer(state == "sealed" ? .health : nil)
  }

  /// A reason, in words of the window.
  private static func words(_ reason: Reason) -> String {
    switch reason {
    case .session(.command): translated("by Lock Now, or by 'latchkey lock'")
    case .session(.notUnlockedYet):
      translated("No password has unlocked the vault since the login, as after an automatic login. Unlock asks for it.")
    default: reason.phrase.translated
    }
  }

  /// Shows that the daemon does not answer.
  func show(_ problem: Problem) {
    say("dialog-warning-symbolic", translated("No Answer"), problem.text)
    lock.isVisible = false
    unlock.isVisible = false
    offer(problem.page)
  }

  private func offer(_ page: PageName?) {
    helpingPage = page
    help.isVisible = page != nil
    if let page { help.setText(page.title) }
  }

  private func say(_ name: String, _ what: String, _ why: String) {
    symbol.show(name)
    title.text = what
    reason.text = why
    reason.isVisible = !why.isEmpty
  }
}
