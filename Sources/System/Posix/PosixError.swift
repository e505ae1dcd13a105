import Glibc

/// A system call that failed: the operation, and the kernel's error number.
public struct PosixError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The operation that failed, without any secret: "open", "rename".
  public let operation: StaticString
  /// The value of `errno`.
  public let code: Int32

  /// An error of `operation` with `code`, by default the present `errno`.
  public init(_ operation: StaticString, code: Int32 = errno) {
    self.operation = operation
    self.code = code
  }

  /// A text for a person, such as "open: No such file or directory".
  public var description: String { "\(operation): \(String(cString: strerror(code)))" }

  /// Whether the same call failed for the same reason.
  public static func == (left: PosixError, right: PosixError) -> Bool {
    left.code == right.code && left.operation.description == right.operation.description
  }
}

/// Runs a system call again as long as a signal interrupts it.
func retrying<Number: SignedInteger>(_ operation: StaticString, _ call: () -> Number) throws(PosixError) -> Number {
  while true {
    let result = call()
    if result >= 0 { return result }
    if errno != EINTR { throw PosixError(operation) }
  }
}
