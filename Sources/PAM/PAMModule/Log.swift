import CLatchkeyPAMModule

/// Lines for the system log, facility authpriv. libpam puts "pam_latchkey(service:type):" before each line.
///
/// A line is a literal. One number, one system error or one argument of the service file may follow. No line ever contains a
/// request, a token or an item.
enum Log {
  static func write(_ priority: Int32, _ text: Literal, to handle: OpaquePointer) {
    latchkey_log(handle, priority, text.cString)
  }

  static func write(_ priority: Int32, _ text: Literal, error: Int32, to handle: OpaquePointer) {
    // strerrordesc_np returns constant strings of libc. strerror has a buffer, which another thread may be writing.
    write(priority, text, quoting: strerrordesc_np(error), to: handle)
  }

  static func write(_ priority: Int32, _ text: Literal, number: Int32, to handle: OpaquePointer) {
    // The number is a signal or an exit code, so three digits are enough.
    let value = UInt8(truncatingIfNeeded: number)
    var digits: (CChar, CChar, CChar, CChar) = (
      CChar(truncatingIfNeeded: 48 &+ value / 100), CChar(truncatingIfNeeded: 48 &+ value / 10 % 10),
      CChar(truncatingIfNeeded: 48 &+ value % 10), 0
    )
    let skipped = value < 10 ? 2 : value < 100 ? 1 : 0
    withUnsafeBytes(of: &digits) { bytes in
      guard let start = bytes.baseAddress else { return }
      write(priority, text, quoting: (start + skipped).assumingMemoryBound(to: CChar.self), to: handle)
    }
  }

  /// Logs the text, and after it at most 64 bytes of the C string. Every byte that is not printable ASCII becomes "?".
  static func write(
    _ priority: Int32, _ text: Literal, quoting string: UnsafePointer<CChar>?, to handle: OpaquePointer
  ) {
    withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
      guard let line = buffer.baseAddress else { return }
      let length = text.count < 128 ? text.count : 128
      memcpy(line, text.cString, length)
      var end = length
      if let string {
        let quoted = strnlen(string, 64)
        var index = 0
        while index < quoted {
          let byte = UInt8(bitPattern: string[index])
          line.storeBytes(of: 0x20 <= byte && byte < 0x7F ? byte : 0x3F, toByteOffset: end, as: UInt8.self)
          index = index &+ 1
          end = end &+ 1
        }
      }
      line.storeBytes(of: 0, toByteOffset: end, as: UInt8.self)
      latchkey_log(handle, priority, line.assumingMemoryBound(to: CChar.self))
    }
  }
}
