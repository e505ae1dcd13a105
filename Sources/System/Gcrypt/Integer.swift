import CLatchkeyGcrypt

/// A non-negative integer of any size. Secret integers live in libgcrypt's secure memory; all integers are erased at the end.
struct Integer: ~Copyable {
  /// libgcrypt's number, owned. Never nil: without memory, libgcrypt ends the process.
  private let number: gcry_mpi_t

  /// Reads an unsigned big-endian number of any length; leading zeros are allowed, empty is zero. A number made of bytes in
  /// secure memory is in secure memory too.
  init(bigEndian bytes: RawSpan) throws(GcryptError) {
    try Gcrypt.initialize()
    var scanned: gcry_mpi_t?
    try Gcrypt.check(
      bytes.withUnsafeBytes { gcry_mpi_scan(&scanned, GCRYMPI_FMT_USG, $0.baseAddress, $0.count, nil) })
    guard let scanned else { throw .outOfSecureMemory }
    number = scanned
  }

  /// A secret number, drawn evenly from 0 ..< 2^bits.
  init(randomBits bits: UInt32) throws(GcryptError) {
    try self.init(secretWithCapacity: bits)
    gcry_mpi_randomize(number, bits, GCRY_STRONG_RANDOM)
    // The random value has whole bytes, so the bits beyond the wanted number are removed.
    gcry_mpi_clear_highbit(number, bits)
  }

  /// base^exponent mod modulus, a secret. With the exponent in secure memory libgcrypt takes the path whose memory accesses do not
  /// depend on the exponent.
  init(
    power base: borrowing Integer, exponent: borrowing Integer, modulus: borrowing Integer, bits: UInt32
  ) throws(GcryptError) {
    try self.init(secretWithCapacity: bits)
    gcry_mpi_powm(number, base.number, exponent.number, modulus.number)
  }

  private init(secretWithCapacity bits: UInt32) throws(GcryptError) {
    try Gcrypt.initialize()
    guard let fresh = gcry_mpi_snew(bits) else { throw .outOfSecureMemory }
    number = fresh
  }

  // gcry_mpi_release() erases the limbs.
  deinit { gcry_mpi_release(number) }

  /// Whether the number is in `low ..< high`.
  func lies(from low: UInt, below high: borrowing Integer) -> Bool {
    gcry_mpi_cmp_ui(number, low) >= 0 && gcry_mpi_cmp(number, high.number) < 0
  }

  /// The number in `byteCount` bytes, big-endian, with zeros on the left.
  ///
  /// - Throws: a library error when the number does not fit.
  func bigEndian(byteCount: Int) throws(GcryptError) -> SecureMemory {
    let length = Int(gcry_mpi_get_nbits(number) + 7) / 8
    let memory = try SecureMemory(count: byteCount)
    try memory.withMutableBytes { (bytes) throws(GcryptError) in
      // The memory is zero already. If the number is too long, libgcrypt refuses for lack of room.
      let room = UnsafeMutableRawBufferPointer(rebasing: bytes[max(0, byteCount - length)...])
      try Gcrypt.check(gcry_mpi_print(GCRYMPI_FMT_USG, room.baseAddress, room.count, nil, number))
    }
    return memory
  }
}
