import CLatchkeySodium

/// BLAKE2b under a key (`crypto_generichash`, RFC 7693): the project's one pseudo-random function.
///
/// Inputs are framed with their length, so that no two different lists of inputs hash alike. The state depends on the
/// key, so it is kept in locked memory.
public struct KeyedHash: ~Copyable {
  private var state: SecureBytes
  private let length: Int

  /// Starts a hash of `length` bytes (16...64) under `key`.
  ///
  /// - Throws: ``SodiumError/outOfMemory``, or ``SodiumError/badArgument`` for another length.
  public init(key: borrowing Key, length: Int = 32) throws(SodiumError) {
    guard length >= 16, length <= 64 else { throw .badArgument }
    let memory = try SecureBytes(count: crypto_generichash_statebytes())
    let pointer = OpaquePointer(memory.start)
    key.bytes.withOctets { _ = crypto_generichash_init(pointer, $0, $1, length) }
    state = memory
    self.length = length
  }

  /// Starts a hash of 32 bytes without a key. It is a fingerprint of a value that is not secret, or that is stored only sealed.
  ///
  /// - Throws: ``SodiumError/outOfMemory``.
  public init() throws(SodiumError) {
    state = try SecureBytes(count: crypto_generichash_statebytes())
    length = 32
    crypto_generichash_init(pointer, nil, 0, length)
  }

  /// libsodium's state. ``SecureMemory`` aligns it to 64 bytes, as libsodium requires.
  private var pointer: OpaquePointer { OpaquePointer(state.start) }

  private mutating func absorb(_ bytes: RawSpan) {
    let state = pointer
    bytes.withOctets { _ = crypto_generichash_update(state, $0, UInt64($1)) }
  }

  /// Adds one input, framed by its length as 8 bytes, little-endian.
  public mutating func update(_ bytes: RawSpan) {
    let length = UInt64(bytes.byteCount).littleEndian
    withUnsafeBytes(of: length) { absorb(RawSpan(_unsafeBytes: $0)) }
    absorb(bytes)
  }

  /// Adds another key as one input: the result needs both keys.
  public mutating func update(_ key: borrowing Key) {
    update(key.bytes)
  }

  /// Adds one input of text, framed like bytes, as UTF-8.
  public mutating func update(_ text: StaticString) {
    update(RawSpan(_unsafeStart: UnsafeRawPointer(text.utf8Start), byteCount: text.utf8CodeUnitCount))
  }

  /// The result as a key. The length must be 32.
  public consuming func key() throws(SodiumError) -> Key {
    guard length == Key.size else { throw .badArgument }
    var out = try SecureBytes(count: length)
    let state = pointer
    out.withMutableOctets { _ = crypto_generichash_final(state, $0, $1) }
    return try Key(out)
  }

  /// The result as a tag that is not secret: a check value, an index token.
  public consuming func tag() -> [UInt8] {
    var out = [UInt8](repeating: 0, count: length)
    _ = crypto_generichash_final(pointer, &out, length)
    return out
  }
}
