import LatchkeyAdwaita
import LatchkeySecretClient
import LatchkeySodium

/// A secret in the clipboard, for a while.
final class Copying {
  /// How long a secret stays in the clipboard.
  static let seconds: UInt32 = 45

  private let clipboard: Clipboard
  private let window: () -> Window?
  private var end: Timer?
  private var isEmptied = false

  init(_ clipboard: Clipboard, _ window: @escaping () -> Window?) {
    (self.clipboard, self.window) = (clipboard, window)
  }

  /// Puts a secret into the clipboard, and removes the secret later.
  ///
  /// - Returns: false if there is no memory for a copy.
  func copy(_ secret: Secret) -> Bool {
    guard let bytes = secret.withBytes({ try? SecureBytes(copying: $0) }) else { return false }
    clipboard.put(secret: bytes)
    isEmptied = false
    end = Timer(milliseconds: Self.seconds * 1000) { [unowned self] in clear() }
    return true
  }

  /// Puts a text that is not secret, such as a command, into the clipboard.
  func copy(_ text: String) {
    end = nil
    clipboard.put(text: text)
  }

  /// Removes the secret from the clipboard now. A window without the keyboard cannot replace the desktop's own copy.
  /// ``windowIsActive()`` replaces the copy later.
  func clear() {
    end = nil
    clipboard.empty()
    isEmptied = true
    if window()?.isActive == true { windowIsActive() }
  }

  /// Called when the window gets the keyboard.
  func windowIsActive() { if isEmptied { clipboard.giveUp() } }

  /// Called when the window closes.
  func windowCloses() {
    clear()
    clipboard.giveUp()
  }
}
