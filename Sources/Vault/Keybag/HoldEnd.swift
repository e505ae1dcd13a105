import LatchkeyReasons

/// Why a covering key is not held any more. Only the password helps then. docs/developer/finger.md has the whole.
public enum HoldEnd: UInt8, Error, CaseIterable, Sendable {
  /// Too much time has passed since the password.
  case expired = 1
  /// Too many fingers did not match.
  case manyTouches = 2
  /// The user's prints are others than at the hand-over, or cannot be read.
  case otherPrints = 3
  /// The TPM does not have the key any more: the machine was started or hibernated.
  case lost = 4
  /// The administrator allows no unlock by finger.
  case forbidden = 5
  /// The machine slept, and the key was in memory.
  case slept = 6
  /// A newer key took its place.
  case replaced = 7
  /// The holder dropped the hold, or ended.
  case dropped = 8

  /// The reason for a person.
  public var reason: Reason {
    switch self {
    case .expired: .device(.holdExpired)
    case .manyTouches: .device(.holdTouches)
    case .otherPrints: .device(.holdPrints)
    case .lost: .device(.holdLost)
    case .forbidden: .device(.fingerForbidden)
    case .slept: .device(.holdSlept)
    case .replaced: .device(.holdReplaced)
    case .dropped: .device(.holdDropped)
    }
  }
}
