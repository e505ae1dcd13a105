/// libsodium takes `unsigned char *` that is never null, not even for a length of 0.
extension RawSpan {
  func withOctets<Result>(_ body: (UnsafePointer<UInt8>, Int) -> Result) -> Result {
    withUnsafeBytes { buffer in
      guard let start = buffer.baseAddress else { return withUnsafePointer(to: 0) { body($0, 0) } }
      return body(start.assumingMemoryBound(to: UInt8.self), buffer.count)
    }
  }
}

extension SecureBytes {
  mutating func withMutableOctets<Result>(_ body: (UnsafeMutablePointer<UInt8>, Int) -> Result) -> Result {
    body(start.assumingMemoryBound(to: UInt8.self), count)
  }
}
