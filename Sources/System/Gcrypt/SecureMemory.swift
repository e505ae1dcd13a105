import CLatchkeyGcrypt

/// A piece of libgcrypt's secure memory: locked if the system allows, erased at the end of its life.
///
/// Only closures get its address: a property would let the address outlive a temporary value.
struct SecureMemory: ~Copyable {
  private let address: UnsafeMutableRawPointer
  let count: Int

  /// `count` zero bytes; `count` is positive.
  ///
  /// - Throws: `outOfSecureMemory`. Ordinary memory is never used instead.
  init(count: Int) throws(GcryptError) {
    try Gcrypt.initialize()
    guard let address = gcry_calloc_secure(1, count) else { throw .outOfSecureMemory }
    self.address = address
    self.count = count
  }

  /// A copy of `bytes`, of which there is at least one.
  init(copying bytes: RawSpan) throws(GcryptError) {
    let memory = try SecureMemory(count: bytes.byteCount)
    try memory.withMutableBytes { (memory) throws(GcryptError) in bytes.withUnsafeBytes { memory.copyMemory(from: $0) }
    }
    self = memory
  }

  // gcry_free() erases secure memory by itself.
  deinit { gcry_free(address) }

  func withBytes<Result: ~Copyable>(
    _ body: (UnsafeRawBufferPointer) throws(GcryptError) -> Result
  ) throws(GcryptError) -> Result {
    try body(UnsafeRawBufferPointer(start: address, count: count))
  }

  func withMutableBytes<Result: ~Copyable>(
    _ body: (UnsafeMutableRawBufferPointer) throws(GcryptError) -> Result
  ) throws(GcryptError) -> Result {
    try body(UnsafeMutableRawBufferPointer(start: address, count: count))
  }
}
