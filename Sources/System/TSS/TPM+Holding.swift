import CLatchkeyTSS
import LatchkeySodium

/// A secret that the chip keeps until the machine starts again.
///
/// The object has the null hierarchy as its parent, and stClear. Only its *saved context* leaves the chip in a loadable form. The
/// chip takes this context back after a suspension (Shutdown(STATE), Startup(STATE)). It no longer takes it back after a start
/// (Startup(CLEAR)), which also follows hibernation.
extension TPM {
  /// Gives the secret to the chip.
  ///
  /// - Returns: the saved context, by which ``held(_:)`` finds the secret.
  public func hold(_ secret: borrowing Key) throws(TPMError) -> [UInt8] {
    var memory: SecureBytes
    do { memory = try SecureBytes(count: latchkey_tss_seal_size()) } catch { throw .outOfMemory }
    let session = try TPMSession(tss, tcti: tcti)
    try session.encrypt(command: true, answer: false)
    var object = latchkey_tss_none()
    let result = memory.withUnsafeMutableBytes { room in
      secret.bytes.withUnsafeBytes {
        latchkey_tss_hold(
          tss.pointer, session.context, session.handle, $0.baseAddress, $0.count, room.baseAddress, &object)
      }
    }
    try TPMError.check(.sealing, result)
    defer { _ = tss.functions.flush(session.context, object) }
    var context: UnsafeMutablePointer<TPMS_CONTEXT>?
    defer { tss.functions.release(context) }
    try TPMError.check(.saving, tss.functions.save(session.context, object, &context))
    guard let context else { throw .outOfMemory }
    return try tss.marshalled(context)
  }

  /// The secret that was given to ``hold(_:)``.
  ///
  /// - Throws: ``TPMError/failed(_:_:)`` with ``TPMError/Step/loading`` if the machine was started meanwhile.
  public func held(_ saved: [UInt8]) throws(TPMError) -> Key {
    var context = TPMS_CONTEXT()
    var read = 0
    guard tss.functions.unmarshal_context(saved, saved.count, &read, &context) == 0, read == saved.count else {
      throw .malformed
    }
    let session = try TPMSession(tss, tcti: tcti)
    var object = latchkey_tss_none()
    try TPMError.check(.loading, tss.functions.restore(session.context, &context, &object))
    defer { _ = tss.functions.flush(session.context, object) }
    return try unsealed(object, in: session)
  }
}
