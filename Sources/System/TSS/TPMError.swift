/// Why a call of the chip failed. No case carries a secret.
public enum TPMError: Error, Equatable, Sendable {
  /// A request to the chip.
  public enum Step: Sendable {
    case connecting, deriving, session, encrypting, sealing, writing, loading, unsealing, saving
  }

  /// tpm2-tss is not installed.
  case noLibrary
  /// A step failed with the library's number.
  case failed(Step, UInt32)
  /// The data was sealed under another seed than the chip has now.
  case otherChip
  /// This program did not seal the data.
  case malformed
  /// There was not enough memory.
  case outOfMemory
}
