import CLatchkeyTSS
import LatchkeyBytes
import LatchkeySodium

/// A TPM 2.0, to which a secret can be sealed.
///
/// The chip derives its storage key again from its seed each time. A value that is sealed under this key is kept in a file of
/// Latchkey's. Secrets cross the bus encrypted, in a session that is salted with that key. Each call is a connection of its own.
public final class TPM {
  let tss: TSSLibrary
  /// The way to the chip, by the name that tpm2-tss uses.
  let tcti: String

  /// - Throws: ``TPMError/noLibrary``. The first use shows whether there is a chip.
  public init(tcti: String) throws(TPMError) {
    tss = try TSSLibrary()
    self.tcti = tcti
  }

  /// Seals a secret: 32 bytes by which the chip is known again, private and public part.
  public func seal(_ secret: borrowing Key) throws(TPMError) -> [UInt8] {
    var memory: SecureBytes
    do { memory = try SecureBytes(count: latchkey_tss_seal_size()) } catch { throw .outOfMemory }
    let session = try TPMSession(tss, tcti: tcti)
    try session.encrypt(command: true, answer: false)
    var privatePart: UnsafeMutablePointer<TPM2B_PRIVATE>?
    var publicPart: UnsafeMutablePointer<TPM2B_PUBLIC>?
    defer {
      tss.functions.release(privatePart)
      tss.functions.release(publicPart)
    }
    let result = memory.withUnsafeMutableBytes { room in
      secret.bytes.withUnsafeBytes {
        latchkey_tss_seal(
          tss.pointer, session.context, session.primary, session.handle, $0.baseAddress, $0.count, room.baseAddress,
          &privatePart, &publicPart)
      }
    }
    try TPMError.check(.sealing, result)
    guard let privatePart, let publicPart else { throw .outOfMemory }
    var out = ByteWriter()
    out.put(session.chip)
    out.short(try tss.marshalled(privatePart))
    out.short(try tss.marshalled(publicPart))
    return out.bytes
  }

  /// Unseals a value that ``seal(_:)`` made.
  ///
  /// - Throws: ``TPMError/otherChip`` if the chip was cleared, or is another chip.
  public func unseal(_ sealed: [UInt8]) throws(TPMError) -> Key {
    var privatePart = TPM2B_PRIVATE()
    var publicPart = TPM2B_PUBLIC()
    let chip: [UInt8]
    do {
      var input = ByteReader(sealed)
      chip = try input.take(32)
      let first = try input.short()
      let second = try input.short()
      var (firstRead, secondRead) = (0, 0)
      guard input.remaining == 0,
        tss.functions.unmarshal_private(first, first.count, &firstRead, &privatePart) == 0, firstRead == first.count,
        tss.functions.unmarshal_public(second, second.count, &secondRead, &publicPart) == 0, secondRead == second.count
      else { throw TPMError.malformed }
    } catch { throw .malformed }
    let session = try TPMSession(tss, tcti: tcti)
    guard session.chip == chip else { throw .otherChip }
    try session.encrypt(command: false, answer: false)
    var object = latchkey_tss_none()
    try TPMError.check(
      .loading,
      latchkey_tss_load(
        tss.pointer, session.context, session.primary, session.handle, &privatePart, &publicPart, &object))
    defer { _ = tss.functions.flush(session.context, object) }
    return try unsealed(object, in: session)
  }

  /// The secret of a loaded object. The chip's answer is encrypted.
  func unsealed(_ object: ESYS_TR, in session: borrowing TPMSession) throws(TPMError) -> Key {
    try session.encrypt(command: false, answer: true)
    var secret: SecureBytes
    do { secret = try SecureBytes(count: Key.size) } catch { throw .outOfMemory }
    let result = secret.withUnsafeMutableBytes {
      latchkey_tss_unseal(tss.pointer, session.context, object, session.handle, $0.baseAddress, $0.count)
    }
    try TPMError.check(.unsealing, result)
    do { return try Key(secret) } catch { throw .outOfMemory }
  }
}
