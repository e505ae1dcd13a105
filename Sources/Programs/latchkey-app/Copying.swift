import LatchkeyAdwaita
import LatchkeySecretClient
import LatchkeySodium

/// A secret in the clipboard, for a while.
final class Copying {
  /// How long it stays there.
  static let seconds: UInt32 = 45

  private let clipboard: Clipboard
  private var end: Timer?

  init(_ clipboard: Clipboard) { self.clipboard = clipboard }

  /// Puts the secret there, and takes it away later.
  ///
  /// - Returns: false without memory for a copy.
  func copy(_ secret: Secret) -> Bool {
    guard let bytes = secret.withBytes({ try? SecureBytes(copying: $0) }) else { return false }
    clipboard.put(secret: bytes)
    end = Timer(milliseconds: Self.seconds * 1000) { [unowned self] in clear() }
    return true
  }

  /// Puts a text there that is no secret, such as a command.
  func copy(_ text: String) {
    clear()
    clipboard.put(text: text)
  }

  /// Takes the secret away now.
  func clear() {
    end = nil
    clipboard.clear()
  }
}
