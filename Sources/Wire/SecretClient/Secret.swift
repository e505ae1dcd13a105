import LatchkeySodium

/// A secret in this process, and its content type. It is a class because closures of the bus layer cannot pass on values that
/// are not copyable.
public final class Secret {
  private let owned: SecureBytes
  /// The kind of data.
  public let contentType: String
  /// The number of bytes.
  public let count: Int
  /// Whether the secret is valid UTF-8.
  public let isText: Bool
  /// Whether the secret is text that a terminal only shows and does not interpret.
  public let isPrintable: Bool

  /// Takes over the bytes. If no content type is given, the bytes decide it.
  public init(_ bytes: consuming SecureBytes, contentType: String? = nil) {
    count = bytes.count
    let isText = bytes.bytes.isText
    self.isText = isText
    isPrintable = isText && Secret.isPrintable(bytes.bytes)
    self.contentType = contentType ?? (isText ? "text/plain" : "application/octet-stream")
    owned = bytes
    LockFailureNotice.sayIfNeeded()
  }

  /// Lends the bytes.
  public func withBytes<Result: ~Copyable>(_ body: (RawSpan) throws -> Result) rethrows -> Result {
    try Secret.lend(owned, body)
  }

  private static func lend<Result: ~Copyable>(
    _ bytes: borrowing SecureBytes, _ body: (RawSpan) throws -> Result
  ) rethrows -> Result {
    try body(bytes.bytes)
  }

  /// Whether bytes are one line of text, including its line end.
  public static func isLine(_ bytes: borrowing SecureBytes) -> Bool {
    guard endsLine(bytes) else { return false }
    let line = bytes.bytes.extracting(first: bytes.count - 1)
    return !line.contains(0x0a) && line.isText && isPrintable(line)
  }

  /// Whether the last byte is a line end.
  public static func endsLine(_ bytes: borrowing SecureBytes) -> Bool {
    bytes.count > 0 && bytes[bytes.count - 1] == 0x0a
  }

  /// Whether valid UTF-8 has no control characters except tabs and line ends.
  private static func isPrintable(_ bytes: RawSpan) -> Bool {
    !bytes.byteOffsets.contains { at in
      switch bytes[at] {
      case 0x09, 0x0a: false
      case 0..<0x20, 0x7f: true
      // The C1 control characters: U+0080 to U+009F.
      case 0xc2: at + 1 < bytes.byteCount && bytes[at + 1] < 0xa0
      default: false
      }
    }
  }
}
