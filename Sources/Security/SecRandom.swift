import Sodium

/// A source of random bytes. There is one: ``kSecRandomDefault``.
public typealias SecRandomRef = OpaquePointer

/// The kernel's generator.
public nonisolated(unsafe) let kSecRandomDefault: SecRandomRef? = nil

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Fills memory with random bytes from the kernel's generator.
///
/// Where the kernel has no randomness the process ends: memory is never left as it was with success reported.
///
/// - Parameters:
///   - generator: ``kSecRandomDefault``.
///   - count: How many bytes.
///   - bytes: Where to; room for `count`.
/// - Returns: `errSecSuccess`; `errSecParam` for another generator or a negative count; `errSecAllocate` when memory is
///   short.
public func SecRandomCopyBytes(
  _ generator: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer
) -> Int32 {
  guard generator == kSecRandomDefault, count >= 0 else { return errSecParam }
  do {
    try Sodium.initialize()
    // Through memory that is erased afterwards: what comes out may become a key.
    let random = try SecureBytes.random(count: count)
    random.bytes.withUnsafeBytes { from in
      if let address = from.baseAddress { bytes.copyMemory(from: address, byteCount: from.count) }
    }
    return errSecSuccess
  } catch SodiumError.outOfMemory {
    return errSecAllocate
  } catch {
    return errSecInternalComponent
  }
}
