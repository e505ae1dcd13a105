import Foundation
import Posix

/// Standard output, for bytes that never become a `String`.
struct StandardOutput: ~Copyable {
  private let descriptor = FileDescriptor(owning: dup(STDOUT_FILENO))

  /// Whether a person would see what is written.
  static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  borrowing func write(_ bytes: RawSpan) throws {
    do { try descriptor.writeAll(bytes) } catch {
      throw Failure.declined("the output could not be written: \(String(cString: strerror(error.code))).")
    }
  }

  borrowing func write(_ text: some StringProtocol) throws { try write(Array(text.utf8).span.bytes) }
}
