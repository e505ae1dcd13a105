import LatchkeyBytes
import LatchkeyReasons

/// The daemon's answer to delivered keys.
public enum UnlockOutcome: ControlFields, Equatable, Sendable {
  /// The keys are in use.
  case live
  /// The daemon keeps the keys until the screen locker has left the screen.
  case staged
  /// The keys belong to another vault.
  case wrongKeys
  /// The keys may not be used now, for this reason.
  case refused(Reason)
  /// The vault's files cannot be used, for this reason.
  case unusable(Reason)

  /// The number in the answer to every ``KeyMessage``.
  static let operation: UInt8 = 2

  package init?(decoding input: inout ByteReader) {
    guard let code = try? input.number(UInt8.self) else { return nil }
    switch code {
    case 0: self = .live
    case 1: self = .staged
    case 2: self = .wrongKeys
    case 3, 4:
      guard let reason = Reason(decoding: &input) else { return nil }
      self = code == 3 ? .refused(reason) : .unusable(reason)
    default: return nil
    }
  }

  package func encode(into out: inout ByteWriter) {
    let (code, reason): (UInt8, Reason?) =
      switch self {
      case .live: (0, nil)
      case .staged: (1, nil)
      case .wrongKeys: (2, nil)
      case .refused(let reason): (3, reason)
      case .unusable(let reason): (4, reason)
      }
    out.number(code)
    reason?.encode(into: &out)
  }

  /// The bytes of the packet with this outcome.
  package var packet: [UInt8] {
    var out = ControlPacket.begin(UnlockOutcome.operation)
    encode(into: &out)
    return out.bytes
  }
}
