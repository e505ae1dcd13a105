import Glibc
import LatchkeySodium

/// One typed line, read byte by byte into locked memory.
public enum SecretLine {
  /// There is no line, because the input ended, Ctrl-C was typed, or the line is too long.
  public struct Cancelled: Error {
    /// Makes the error.
    public init() {}
  }

  /// PAM limits an answer to this many bytes (`PAM_MAX_RESP_SIZE`).
  private static let limit = 512

  /// Reads from `input`. The descriptor may be in non-blocking mode.
  ///
  /// - Parameter ready: waits for the next byte; reading ends with the error that it throws.
  /// - Returns: the line without its end.
  /// - Throws: ``Cancelled``, `SodiumError`.
  public static func read(from input: Int32, _ ready: () throws -> Void) throws -> SecureBytes {
    var line = try SecureBytes(count: limit)
    var count = 0
    reading: while true {
      try ready()
      var byte: UInt8 = 0
      defer { byte = 0 }
      switch Glibc.read(input, &byte, 1) {
      case 1: break
      case 0 where count > 0: break reading
      case 0: throw Cancelled()
      default:
        if errno == EINTR || errno == EAGAIN { continue }
        throw Cancelled()
      }
      switch byte {
      case 0x0a, 0x0d: break reading
      default:
        guard count < limit - 1, byte != 0, byte != TerminalEcho.interruptKey else { throw Cancelled() }
        line.withUnsafeMutableBytes { $0[count] = byte }
        count += 1
      }
    }
    return try line.prefix(count)
  }
}
