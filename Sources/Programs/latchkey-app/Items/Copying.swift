import LatchkeyAdwaita
import LatchkeySecretClient
import LatchkeySodium

/// A secret in the clipboard, for a while.
final class Copying {
  /// How long it stays there.
  static let seconds: UInt32 = 45

  private let clipboard: Clipboard
  private let window: () -> Window?
  private var end: Timer?
  private var isEmptied = false

  init(_ clipboard: Clipboard, _ window: @escaping () -> Window?) {
    (self.clipboard, self.window) = (clipboard, window)
  }

  /// Puts the secret there, and takes it away later.
  ///
  /// - Returns: false without memory for a copy.
  func copy(_ secret: Secret) -> Bool {
    guard let bytes = secret.withBytes({ try? SecureBytes(copying: $0) }) else { return false }
    clipboard.put(secret: bytes)
    isEmptied = false
    end = Timer(milliseconds: Self.seconds * 1000) { [unowned self] in clear() }
    return true
  }

  /// Puts a text there that is no secret, such as a command.
  func copy(_ text: String) {
    end = nil
    clipboard.put(text: text)
  }

  /// Takes the secret away now. Without the keyboard, the window cannot replace the desktop's own copy: ``windowIsActive()`` does.
  func clear() {
    end = nil
    clipboard.empty()
    isEmptied = true
    if window()?.isActive == true { windowIsActive() }
  }

  /// The window has the keyboard.
  func windowIsActive() { if isEmptied { clipboard.giveUp() } }

  /// The window closes.
  func windowCloses() {
    clear()
    clipboard.giveUp()
  }
}
