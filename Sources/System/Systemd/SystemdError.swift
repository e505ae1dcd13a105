import Glibc

/// A call into libsystemd failed.
public struct SystemdError: Error, Equatable, CustomStringConvertible {
  /// The positive error number.
  public let errno: Int32

  /// The operation that failed, for a log line.
  public let operation: String

  /// An error of one operation.
  public init(errno: Int32, operation: String) {
    self.errno = errno
    self.operation = operation
  }

  /// The error, for a log line.
  public var description: String { "\(operation): \(String(cString: strerror(errno)))" }

  /// Turns the negative error numbers of libsystemd into a thrown error; other results pass.
  @discardableResult
  static func check(_ result: Int32, _ operation: @autoclosure () -> String) throws(SystemdError) -> Int32 {
    if result < 0 { throw SystemdError(errno: -result, operation: operation()) }
    return result
  }
}
