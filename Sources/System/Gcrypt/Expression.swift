import CLatchkeyGcrypt

/// The owner of an S-expression of libgcrypt. An expression with secret numbers is in secure memory, and is erased at its end.
struct Expression: ~Copyable {
  let pointer: gcry_sexp_t

  init(_ build: (inout gcry_sexp_t?) -> gcry_error_t) throws(GcryptError) {
    try Gcrypt.initialize()
    var built: gcry_sexp_t?
    try Gcrypt.check(build(&built))
    guard let built else { throw .outOfSecureMemory }
    pointer = built
  }

  deinit { gcry_sexp_release(pointer) }

  /// The number of that name, unsigned and big-endian. Not for secrets.
  func number(_ name: String) throws(GcryptError) -> [UInt8] {
    guard let found = gcry_sexp_find_token(pointer, name, 0) else { throw .badBufferSize }
    defer { gcry_sexp_release(found) }
    guard let number = gcry_sexp_nth_mpi(found, 1, Int32(GCRYMPI_FMT_USG.rawValue)) else { throw .badBufferSize }
    defer { gcry_mpi_release(number) }
    var bytes = [UInt8](repeating: 0, count: Int(gcry_mpi_get_nbits(number) + 7) / 8)
    try Gcrypt.check(gcry_mpi_print(GCRYMPI_FMT_USG, &bytes, bytes.count, nil, number))
    return bytes
  }
}

extension UnsafeRawBufferPointer {
  var number: latchkey_number { latchkey_number(bytes: baseAddress, count: Int32(clamping: count)) }
}
