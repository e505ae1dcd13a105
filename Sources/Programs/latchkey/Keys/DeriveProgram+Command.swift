import CLatchkeyHelper
import Glibc
import LatchkeyGettext
import LatchkeyHelperProgram
import LatchkeyPosix
import LatchkeySodium

/// `latchkey-derive`, as this command finds and runs it.
extension DeriveProgram {
  /// The given program, or the installed one.
  static func find(_ given: String?) throws -> String {
    let found = given.map { access($0, X_OK) == 0 ? $0 : nil } ?? find(beside: LatchkeyPosix.Process.folder)
    guard let found else {
      throw Failure.declined(translated("latchkey-derive is not installed beside this program."))
    }
    return found
  }

  /// Runs the program for one request; see ``answer(to:token:password:given:prompt:output:anywhere:)``.
  func run(
    _ operation: HelperOperation, token: borrowing SecureBytes, password: borrowing SecureBytes,
    given: UInt64 = LatchkeyPosix.Process.microsecondsSinceBoot, output: Int32? = nil, anywhere: Bool = false
  ) throws -> HelperResult? {
    do {
      return try answer(
        to: operation, token: token, password: password, given: given, output: output, anywhere: anywhere)
    } catch let error as PosixError {
      throw Failure.declined(translated("latchkey-derive cannot be started: \(error)"))
    }
  }
}
