/// Lent bytes, read without a pointer.
extension RawSpan {
  /// The byte at an offset, which must be in range.
  @inlinable
  public subscript(_ offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

  /// A copy of the bytes. Not for secrets.
  public var octets: [UInt8] { withUnsafeBytes { Array($0) } }

  /// A copy of the bytes at the offsets of a range, all of which must exist. Not for secrets.
  public func octets(_ range: Range<Int>) -> [UInt8] { extracting(range).octets }

  /// The bytes as text; bytes that are not UTF-8 are replaced. Not for secrets.
  public var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }

  /// The bytes as text; nil if they are not UTF-8. Not for secrets.
  public var validText: String? { withUnsafeBytes { String(validating: $0, as: UTF8.self) } }

  /// Whether the bytes are text in UTF-8. They are checked in place, because a `String` would be a copy that nobody erases.
  public var isText: Bool {
    withUnsafeBytes { (try? UTF8Span(validating: $0.bindMemory(to: UInt8.self).span)) != nil }
  }

  /// Passes on one scalar of a text in UTF-8 after the other, and nil for bytes that are not UTF-8.
  public func scalars(_ body: (Unicode.Scalar?) -> Void) {
    withUnsafeBytes { bytes in
      var decoder = UTF8()
      var rest = bytes.makeIterator()
      while true {
        switch decoder.decode(&rest) {
        case .emptyInput: return
        case .error: body(nil)
        case .scalarValue(let scalar): body(scalar)
        }
      }
    }
  }

  /// Whether one of the bytes is this one.
  public func contains(_ octet: UInt8) -> Bool { withUnsafeBytes { $0.contains(octet) } }

  /// The first offset in a range at which such a byte is. All offsets of the range must exist.
  public func firstIndex(of octet: UInt8, in range: Range<Int>) -> Int? {
    extracting(range).withUnsafeBytes { $0.firstIndex(of: octet) }.map { range.lowerBound + $0 }
  }

  /// Whether these bytes are the first ones.
  @inlinable
  public func starts(with octets: some Sequence<UInt8>) -> Bool { withUnsafeBytes { $0.starts(with: octets) } }
}

/// libsodium takes `unsigned char *` that is never null, not even for a length of 0.
extension RawSpan {
  func withOctets<Result>(_ body: (UnsafePointer<UInt8>, Int) -> Result) -> Result {
    withUnsafeBytes { buffer in
      guard let start = buffer.baseAddress else { return withUnsafePointer(to: 0) { body($0, 0) } }
      return body(start.assumingMemoryBound(to: UInt8.self), buffer.count)
    }
  }
}

extension SecureBytes {
  mutating func withMutableOctets<Result>(_ body: (UnsafeMutablePointer<UInt8>, Int) -> Result) -> Result {
    body(start.assumingMemoryBound(to: UInt8.self), count)
  }
}
