import Glibc
import LatchkeyGettext
import LatchkeySodium

/// Standard input with secrets, which are read into locked memory.
enum StandardInput {
  /// Reads standard input to its end.
  ///
  /// - Parameters:
  ///   - limit: the largest size of the input, in bytes.
  ///   - tooLarge: the error for a longer input.
  static func read(limit: Int, orThrow tooLarge: @autoclosure () -> Failure) throws -> SecureBytes {
    var input = try GrowingSecret()
    while !input.isFull || input.count <= limit {
      let got = try input.read(from: STDIN_FILENO)
      if got == 0 { break }
      guard got > 0 || StandardStream.waits(for: STDIN_FILENO, Int16(POLLIN)) else {
        throw Failure.declined(translated("the input could not be read: \(String(cString: strerror(errno)))."))
      }
    }
    guard input.count <= limit else { throw tooLarge() }
    return try input.finish()
  }
}
