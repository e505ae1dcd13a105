/// A source of random bytes. The only one is ``kSecRandomDefault``.
public typealias SecRandomRef = OpaquePointer

/// The kernel's generator.
public nonisolated(unsafe) let kSecRandomDefault: SecRandomRef? = nil

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Fills memory with random bytes from the kernel's generator.
///
/// If the kernel has no random bytes, the process ends. So the function never reports success for unfilled memory.
///
/// - Parameters:
///   - generator: ``kSecRandomDefault``.
///   - count: The number of bytes.
///   - bytes: The memory for the bytes; it must have room for `count`.
/// - Returns: `errSecSuccess`; `errSecParam` for another generator or a negative count.
public func SecRandomCopyBytes(
  _ generator: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer
) -> Int32 {
  guard generator == kSecRandomDefault, count >= 0 else { return errSecParam }
  var source = SystemRandomNumberGenerator()
  // The bytes may become a key. So this writes them as words directly to their place, and no copy stays behind.
  let words = count / MemoryLayout<UInt64>.size
  for word in 0..<words {
    bytes.storeBytes(of: source.next(), toByteOffset: word * MemoryLayout<UInt64>.size, as: UInt64.self)
  }
  for offset in words * MemoryLayout<UInt64>.size..<count {
    bytes.storeBytes(of: source.next(), toByteOffset: offset, as: UInt8.self)
  }
  return errSecSuccess
}
