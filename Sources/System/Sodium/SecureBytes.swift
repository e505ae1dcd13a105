import CLatchkeySodium

/// The only owner of a secret's bytes: locked memory that is left out of core dumps and erased when the value ends.
///
/// A value cannot be copied, only lent (``bytes``) or moved. Nothing here turns a secret into `String` or `[UInt8]`.
public struct SecureBytes: ~Copyable {
  @usableFromInline let start: UnsafeMutableRawPointer
  /// The size of the memory, in bytes. It may be 0.
  public let count: Int

  /// `count` zero bytes.
  ///
  /// - Throws: ``SodiumError/outOfMemory``.
  public init(count: Int) throws(SodiumError) {
    guard count >= 0, let start = SecureMemory.allocate(count) else { throw .outOfMemory }
    self.start = start
    self.count = count
  }

  /// `count` bytes from the kernel's generator.
  ///
  /// - Throws: ``SodiumError/outOfMemory``.
  public static func random(count: Int) throws(SodiumError) -> SecureBytes {
    var bytes = try SecureBytes(count: count)
    bytes.withMutableOctets { randombytes_buf($0, $1) }
    return bytes
  }

  /// A copy of `source`. The caller still owns and erases `source`.
  ///
  /// - Throws: ``SodiumError/outOfMemory``.
  public init(copying source: RawSpan) throws(SodiumError) {
    try self.init(count: source.byteCount)
    let start = self.start
    source.withUnsafeBytes { from in
      if let address = from.baseAddress { start.copyMemory(from: address, byteCount: from.count) }
    }
  }

  deinit { SecureMemory.release(start) }

  /// The bytes, lent for as long as this value is borrowed.
  public var bytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      let span = RawSpan(_unsafeStart: UnsafeRawPointer(start), byteCount: count)
      return _overrideLifetime(span, borrowing: self)
    }
  }

  /// The bytes, lent for writing.
  public var mutableBytes: MutableRawSpan {
    @_lifetime(&self)
    mutating get {
      let span = MutableRawSpan(_unsafeStart: start, byteCount: count)
      return _overrideLifetime(span, mutating: &self)
    }
  }

  /// The bytes from an offset on, lent for writing.
  @_lifetime(&self)
  public mutating func mutableBytes(from offset: Int) -> MutableRawSpan {
    precondition((0...count).contains(offset))
    let span = MutableRawSpan(_unsafeStart: start + offset, byteCount: count - offset)
    return _overrideLifetime(span, mutating: &self)
  }

  /// The byte at an offset, which must be in range.
  @inlinable
  public subscript(_ offset: Int) -> UInt8 {
    get {
      precondition(offset >= 0 && offset < count)
      return start.load(fromByteOffset: offset, as: UInt8.self)
    }
    set {
      precondition(offset >= 0 && offset < count)
      start.storeBytes(of: newValue, toByteOffset: offset, as: UInt8.self)
    }
  }

  /// Lends the bytes for writing.
  public mutating func withUnsafeMutableBytes<Result, Failure: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeMutableRawBufferPointer(start: start, count: count))
  }

  /// Erases the bytes, which remain in place as zeros.
  public mutating func erase() { sodium_memzero(start, count) }

  /// Moves the bytes that start at `offset` to the beginning, and erases the rest.
  public mutating func removeFirst(_ offset: Int) {
    precondition((0...count).contains(offset))
    start.copyMemory(from: start + offset, byteCount: count - offset)
    sodium_memzero(start + (count - offset), offset)
  }

  /// Copies `source` to `offset`. There must be room for it.
  public mutating func write(_ source: RawSpan, at offset: Int) {
    precondition(offset >= 0 && source.byteCount <= count - offset)
    let target = start + offset
    source.withUnsafeBytes { from in
      if let address = from.baseAddress { target.copyMemory(from: address, byteCount: from.count) }
    }
  }

  /// Copies a part of `source` to `offset`. There must be room for it.
  public mutating func write(_ range: Range<Int>, of source: borrowing SecureBytes, at offset: Int) {
    write(source.bytes.extracting(range), at: offset)
  }

  /// The first `newCount` bytes in a value of their own; the rest is erased with this value.
  public consuming func prefix(_ newCount: Int) throws(SodiumError) -> SecureBytes {
    guard (0...count).contains(newCount) else { throw .badArgument }
    if newCount == count { return self }
    return try SecureBytes(copying: bytes.extracting(first: newCount))
  }

  /// The number of allocations for secrets that the kernel refused to lock since this process started. Such memory can be written
  /// to the disk.
  public static var lockFailures: UInt64 { SecureMemory.refusals.load(ordering: .relaxed) }

  /// Whether the kernel locks this process's secrets in memory. If it does not, they can be swapped out.
  public static var memoryIsLocked: Bool { SecureMemory.canLock() }
}
