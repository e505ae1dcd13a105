import LatchkeyBytes

/// The fate of keys that were delivered.
public enum UnlockOutcome: ControlFields, Equatable, Sendable {
  /// They are in use.
  case live
  /// They wait until the locker is gone.
  case staged
  /// They are not this vault's.
  case wrongKeys
  /// They may not be used now; the text says why.
  case refused(String)
  /// The vault's files cannot be used; the text says why.
  case unusable(String)

  /// The number in the answer to every ``KeyMessage``.
  static let operation: UInt8 = 2

  package init?(decoding input: inout ByteReader) {
    guard let code = try? input.number(UInt8.self), let text = try? input.text() else { return nil }
    switch code {
    case 0: self = .live
    case 1: self = .staged
    case 2: self = .wrongKeys
    case 3: self = .refused(text)
    case 4: self = .unusable(text)
    default: return nil
    }
  }

  package func encode(into out: inout ByteWriter) {
    let (code, text): (UInt8, String) =
      switch self {
      case .live: (0, "")
      case .staged: (1, "")
      case .wrongKeys: (2, "")
      case .refused(let reason): (3, reason)
      case .unusable(let reason): (4, reason)
      }
    out.number(code)
    out.text(text, limit: ControlPacket.reasonLimit)
  }

  /// The bytes of the packet that tells it.
  package var packet: [UInt8] {
    var out = ControlPacket.begin(UnlockOutcome.operation)
    encode(into: &out)
    return out.bytes
  }
}
