import LatchkeySodium

/// An item's passphrase that a program gave instead of the person. It is erased with the last reference. The daemon sends it,
/// encrypted, to the program that shows the prompt. Both keep the decrypted packet in locked memory.
public final class GivenPassphrase {
  /// The passphrase, without a NUL at its end.
  public let bytes: SecureBytes

  /// The longest passphrase that a person can type in answer to PAM.
  public static let limit = 511

  /// A copy of `source`; nil for bytes that nobody could type: none, too many, or bytes with a NUL.
  init?(copying source: RawSpan) throws(SodiumError) {
    guard (1...GivenPassphrase.limit).contains(source.byteCount), !source.contains(0) else { return nil }
    bytes = try SecureBytes(copying: source)
  }

  /// A copy of foreign memory.
  public convenience init?(copying source: borrowing SecureBytes) throws(SodiumError) {
    try self.init(copying: source.bytes)
  }
}
