/// Why a call of the chip failed. No case carries a secret.
public enum TPMError: Error, Equatable, Sendable, CustomStringConvertible {
  /// tpm2-tss is not installed.
  case noLibrary
  /// A step failed with the library's number.
  case failed(StaticString, UInt32)
  /// The chip's seed is not the one under which the data was sealed.
  case otherChip
  /// This program did not seal the data.
  case malformed
  /// There was not enough memory.
  case outOfMemory

  /// For a person.
  public var description: String {
    switch self {
    case .noLibrary: "the library tpm2-tss is not installed"
    case .failed(let step, let code): "\(step) failed (0x\(String(code, radix: 16)))"
    case .otherChip: "it was cleared, or it is another one"
    case .malformed: "what is sealed to it is damaged"
    case .outOfMemory: "not enough memory"
    }
  }

  /// Whether both are the same.
  public static func == (left: TPMError, right: TPMError) -> Bool { left.description == right.description }
}
