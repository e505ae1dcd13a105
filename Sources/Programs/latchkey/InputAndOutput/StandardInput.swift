import Glibc
import LatchkeyGettext
import LatchkeySodium

/// Standard input with secrets, which are read into locked memory.
enum StandardInput {
  /// Reads standard input to its end.
  ///
  /// - Parameters:
  ///   - limit: how many bytes the input may have.
  ///   - tooLarge: the error for a longer input.
  static func read(limit: Int, orThrow tooLarge: @autoclosure () -> Failure) throws -> SecureBytes {
    var bytes = try SecureBytes(count: 64 << 10)
    var count = 0
    while true {
      let got = bytes.withUnsafeMutableBytes { all in
        let rest = UnsafeMutableRawBufferPointer(rebasing: all[count...])
        return Glibc.read(STDIN_FILENO, rest.baseAddress, rest.count)
      }
      if got == 0 { break }
      if got < 0 {
        guard StandardStream.waits(for: STDIN_FILENO, Int16(POLLIN)) else {
          throw Failure.declined(translated("the input could not be read: \(String(cString: strerror(errno)))."))
        }
        continue
      }
      count += got
      if count < bytes.count { continue }
      guard count <= limit else { break }
      var larger = try SecureBytes(count: bytes.count * 2)
      larger.write(bytes.bytes, at: 0)
      bytes = larger
    }
    guard count <= limit else { throw tooLarge() }
    return try bytes.prefix(count)
  }
}
