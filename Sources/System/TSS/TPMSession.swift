import CLatchkeyTSS
import LatchkeySodium

/// A connection to the chip, with its storage key and a session that encrypts. Everything is released at the end.
final class TPMSession {
  private let tss: TSSLibrary
  private var tcti: OpaquePointer?
  private var connection: OpaquePointer?
  private(set) var primary = latchkey_tss_none()
  private(set) var handle = latchkey_tss_none()
  /// A hash of the storage key's public part. If the hash differs, the seed differs.
  private(set) var chip: [UInt8] = []

  var context: OpaquePointer? { connection }

  init(_ tss: TSSLibrary, tcti name: String) throws(TPMError) {
    self.tss = tss
    try TPMError.check(.connecting, tss.functions.tcti_initialize(name, &tcti))
    try TPMError.check(.connecting, tss.functions.initialize(&connection, tcti, nil))
    var publicPart: UnsafeMutablePointer<TPM2B_PUBLIC>?
    defer { tss.functions.release(publicPart) }
    try TPMError.check(
      .deriving, latchkey_tss_primary(tss.pointer, connection, &primary, &publicPart))
    guard let publicPart else { throw .outOfMemory }
    let template = try tss.marshalled(publicPart)
    chip = template.withUnsafeBytes { Sodium.checksum(RawSpan(_unsafeBytes: $0)) }
    try TPMError.check(.session, latchkey_tss_session(tss.pointer, connection, primary, &handle))
  }

  deinit {
    let none = latchkey_tss_none()
    if handle != none { _ = tss.functions.flush(connection, handle) }
    if primary != none { _ = tss.functions.flush(connection, primary) }
    if connection != nil { tss.functions.finalize(&connection) }
    if tcti != nil { tss.functions.tcti_finalize(&tcti) }
  }

  /// The direction in which the next command is encrypted.
  func encrypt(command: Bool, answer: Bool) throws(TPMError) {
    try TPMError.check(
      .encrypting, latchkey_tss_encrypt(tss.pointer, connection, handle, command ? 1 : 0, answer ? 1 : 0))
  }
}
