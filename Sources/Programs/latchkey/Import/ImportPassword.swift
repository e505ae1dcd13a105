import Glibc
import LatchkeyForeignKeyrings
import LatchkeyGettext
import LatchkeyPAMClient
import LatchkeySodium

/// The password of the imported files. The person is asked when the first file needs it.
final class ImportPassword {
  private let empty: SecureBytes
  private var given: SecureBytes
  private var isAsked = false

  /// A password that a person knows.
  init() throws {
    // Both are opened at once, so that neither exists alone if the other fails.
    let first = try SecureBytes(count: 0)
    let second = try SecureBytes(count: 0)
    empty = first
    given = second
  }

  /// A password that is known already.
  init(known password: consuming SecureBytes) throws {
    empty = try SecureBytes(count: 0)
    given = password
    isAsked = true
  }

  /// Opens a file. It tries first without a password, because some files have none, and then with the person's password.
  ///
  /// - Parameters:
  ///   - path: the file's path.
  ///   - hasOthers: whether the password is tried for other files as well.
  func open(
    _ path: String, hasOthers: Bool,
    _ body: (borrowing SecureBytes) throws(ForeignFileError) -> ForeignCollection
  ) throws(ForeignFileError) -> ForeignCollection {
    do { return try body(empty) } catch { guard error == .wrongPassword else { throw error } }
    if !isAsked {
      given = try asked(Self.question(path, hasOthers: hasOthers))
      isAsked = true
    }
    return try body(given)
  }

  /// The text that a terminal shows. It names the file, because the person may have several passwords.
  static func question(_ path: String, hasOthers: Bool = false) -> String {
    let shown = TerminalText.printable(path)
    return hasOthers
      ? translated("Password for '\(shown)', tried for the other files too: ") : translated("Password for '\(shown)': ")
  }

  private func asked(_ question: String) throws(ForeignFileError) -> SecureBytes {
    do {
      let terminal = try TerminalConversation.asking(standardInput: isatty(STDIN_FILENO) != 1)
      var given: SecureBytes?
      terminal.answer(.secret(question)) { given = try? SecureBytes(copying: $0.bytes) }
      guard let password = given.take() else { throw Failure.cancelled }
      return password
    } catch let failure as Failure { failure.end() } catch { throw .noMemory }
  }
}
