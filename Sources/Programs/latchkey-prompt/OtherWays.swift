import LatchkeyGettext
import LatchkeyPrompters

/// The ways to unlock the vault that a person may choose in the place of the login password: the finger first, then the security key,
/// each time that the field is left empty.
final class OtherWays: OtherWay {
  private let finger: FingerWay?
  private let key: SecurityKeyWay?
  private var isFingersTurn: Bool

  /// Nil without any. A prompt that begins by itself begins with the key, because the person chooses the finger.
  init?(_ finger: FingerWay?, _ key: SecurityKeyWay?) {
    guard finger != nil || key != nil else { return nil }
    (self.finger, self.key, isFingersTurn) = (finger, key, finger != nil && key?.comesFirst != true)
  }

  /// Whether the prompt begins with the security key.
  var comesFirst: Bool { key?.comesFirst ?? false }

  var offer: String {
    guard let finger else { return key?.offer ?? "" }
    guard key != nil else { return finger.offer }
    return translated("Leave the field empty to use your finger. Leave it empty once more to use your security key.")
  }

  func unlock(by prompter: any Prompter, for detail: String) -> OtherWayEnd {
    defer { isFingersTurn = finger != nil && (key == nil || !isFingersTurn) }
    let way: (any OtherWay)? = isFingersTurn ? finger : key
    return way?.unlock(by: prompter, for: detail) ?? .unavailable
  }
}
