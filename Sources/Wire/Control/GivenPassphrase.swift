import LatchkeySodium

/// An item's passphrase that a program gave in the place of the person; erased with the last reference. The daemon hands it to
/// what shows the prompt, sealed, and both hold the opened packet in locked memory.
public final class GivenPassphrase {
  /// The passphrase, without an end.
  public let bytes: SecureBytes

  /// The longest one that a person can type in answer to PAM.
  public static let limit = 511

  /// A copy of `source`; nil for bytes that nobody could type: none, too many, or a NUL.
  init?(copying source: RawSpan) throws(SodiumError) {
    guard (1...GivenPassphrase.limit).contains(source.byteCount), !source.withUnsafeBytes({ $0.contains(0) }) else {
      return nil
    }
    bytes = try SecureBytes(copying: source)
  }

  /// The same of memory that somebody else owns.
  public convenience init?(copying source: borrowing SecureBytes) throws(SodiumError) {
    try self.init(copying: source.bytes)
  }
}
