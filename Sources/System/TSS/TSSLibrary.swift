import CLatchkeyTSS

/// The functions of tpm2-tss, found while the program runs.
final class TSSLibrary {
  let pointer: UnsafeMutablePointer<latchkey_tss>

  init() throws(TPMError) {
    pointer = .allocate(capacity: 1)
    pointer.initialize(to: latchkey_tss())
    guard latchkey_tss_open(pointer) != 0 else { throw .noLibrary }
  }

  deinit { pointer.deallocate() }

  var functions: latchkey_tss { pointer.pointee }

  func marshalled(_ part: UnsafeMutablePointer<TPM2B_PUBLIC>) throws(TPMError) -> [UInt8] {
    try marshalled(MemoryLayout<TPM2B_PUBLIC>.size) { functions.marshal_public(part, $0, $1, $2) }
  }

  func marshalled(_ part: UnsafeMutablePointer<TPM2B_PRIVATE>) throws(TPMError) -> [UInt8] {
    try marshalled(MemoryLayout<TPM2B_PRIVATE>.size) { functions.marshal_private(part, $0, $1, $2) }
  }

  func marshalled(_ context: UnsafeMutablePointer<TPMS_CONTEXT>) throws(TPMError) -> [UInt8] {
    try marshalled(MemoryLayout<TPMS_CONTEXT>.size) { functions.marshal_context(context, $0, $1, $2) }
  }

  private func marshalled(
    _ size: Int, _ marshal: (UnsafeMutablePointer<UInt8>?, Int, UnsafeMutablePointer<Int>) -> TSS2_RC
  ) throws(TPMError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: size)
    var used = 0
    let result = bytes.withUnsafeMutableBufferPointer { marshal($0.baseAddress, $0.count, &used) }
    try TPMError.check(.writing, result)
    return Array(bytes.prefix(used))
  }
}

extension TPMError {
  static func check(_ step: Step, _ code: TSS2_RC) throws(TPMError) {
    guard code == 0 else { throw .failed(step, code) }
  }
}
