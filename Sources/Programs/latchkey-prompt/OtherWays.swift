import LatchkeyControl
import LatchkeyGettext
import LatchkeyPrompters

/// The ways to unlock the vault that a person may choose instead of the login password. An empty answer chooses the finger first,
/// and then the security key.
final class OtherWays: OtherWay {
  private let finger: FingerWay?
  private let key: SecurityKeyWay?
  private var isFingersTurn: Bool

  /// Nil if there is no other way. A prompt that begins with another way by itself begins with the security key, because a finger
  /// is used only if the person chooses it.
  init?(_ finger: FingerWay?, _ key: SecurityKeyWay?) {
    guard finger != nil || key != nil else { return nil }
    (self.finger, self.key, isFingersTurn) = (finger, key, key?.comesFirst != true)
  }

  /// Whether the prompt begins with the security key.
  var comesFirst: Bool { key?.comesFirst ?? false }

  /// The offers at all places.
  var offers: [PromptPlace: String] { PromptPlace.allCases.reduce(into: [:]) { $0[$1] = offer(at: $1) } }

  func offer(at place: PromptPlace) -> String? {
    guard let touch = finger?.offer(at: place) else { return key?.offer(at: place) }
    guard key != nil else { return touch }
    return translated("Leave the field empty to use your finger. Leave it empty once more to use your security key.")
  }

  func unlock(by prompter: any Prompter, for detail: String) -> OtherWayEnd {
    defer { isFingersTurn.toggle() }
    let isFinger = (isFingersTurn || key == nil) && finger?.isOffered(at: prompter.place) == true
    let way: (any OtherWay)? = isFinger ? finger : key
    return way?.unlock(by: prompter, for: detail) ?? .unavailable
  }
}
