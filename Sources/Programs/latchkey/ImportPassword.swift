import Glibc
import LatchkeyForeignKeyrings
import LatchkeyPAMClient
import LatchkeySodium

/// The password of the files that are imported, which is asked for when the first file needs it.
final class ImportPassword {
  private let question: String
  private let empty: SecureBytes
  private var given: SecureBytes
  private var isAsked = false

  /// - Parameter question: the text that a terminal shows.
  init(_ question: String) throws {
    self.question = question
    // Both at once: neither may be there alone when the other fails.
    let first = try SecureBytes(count: 0)
    let second = try SecureBytes(count: 0)
    empty = first
    given = second
  }

  /// A password that is known already.
  init(known password: consuming SecureBytes) throws {
    question = ""
    empty = try SecureBytes(count: 0)
    given = password
    isAsked = true
  }

  /// Opens a file: first without a password, as some have none, then with the one that is asked for.
  func open(
    _ body: (borrowing SecureBytes) throws(ForeignFileError) -> ForeignCollection
  ) throws(ForeignFileError) -> ForeignCollection {
    do { return try body(empty) } catch { guard error == .wrongPassword else { throw error } }
    if !isAsked {
      given = try asked()
      isAsked = true
    }
    return try body(given)
  }

  private func asked() throws(ForeignFileError) -> SecureBytes {
    do {
      let terminal = try TerminalConversation.asking(standardInput: isatty(STDIN_FILENO) != 1)
      var given: SecureBytes?
      terminal.answer(.secret(question)) { given = try? SecureBytes(copying: $0.bytes) }
      guard let password = given.take() else { throw Failure.cancelled }
      return password
    } catch let failure as Failure { failure.end() } catch { throw .noMemory }
  }
}
