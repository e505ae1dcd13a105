/// A reply of the device key service about a finger. docs/developer/finger.md has the tables.
enum FingerReply {
  /// Whether a finger of this user unlocks the vault now.
  enum State: UInt8 {
    case nothing = 0
    case inChip = 1
    case inMemory = 2
    case verifying = 3
  }

  /// The next step of the person.
  enum Step: UInt8 {
    case place = 1
    case swipe = 2
    case again = 3
    case noMatch = 4

    var text: Literal {
      switch self {
      case .place: "Place your finger on the reader"
      case .swipe: "Swipe your finger over the reader"
      case .again: "The reader saw too little. Try again"
      case .noMatch: "That finger does not match. Try again"
      }
    }

    /// Whether the step is an error message, as from pam_fprintd. Lockers count error messages as failed tries.
    var isError: Bool {
      switch self {
      case .place, .swipe: false
      case .again, .noMatch: true
      }
    }
  }

  /// How a verification ended.
  enum Outcome: UInt8 {
    case matched = 16
    case usedUp = 17
    case givenUp = 18
    case notHeld = 19
    case noReader = 20
  }

  /// Why a finger does not unlock the vault any more.
  enum End: UInt8 {
    case none = 0
    case expired = 1
    case touches = 2
    case prints = 3
    case lost = 4
    case forbidden = 5
    case slept = 6
    case replaced = 7
    case dropped = 8

    var text: Literal {
      switch self {
      case .none: "no reason was told"
      case .expired: "48 hours have passed since the password"
      case .touches: "too many fingers did not match"
      case .prints: "the enrolled fingers have changed"
      case .lost: "the machine was started or hibernated since the password"
      case .forbidden: "/etc/latchkey/finger says 'off'"
      case .slept: "the machine slept, and no TPM keeps the key"
      case .replaced: "the vault was unlocked meanwhile"
      case .dropped: "the vault gave it up"
      }
    }
  }

  case state(State, End)
  case step(Step)
  case outcome(Outcome, End)
  /// The service does not allow this process to ask.
  case refused
  case invalid

  /// The answer to `held`: version, 0 for done, the state, how many touches are left, and why there is no key.
  static func ofHeld(_ packet: UnsafeRawPointer, size: Int) -> FingerReply {
    if let other = other(packet, size: size) { return other }
    guard size == 5, let state = State(rawValue: byte(2, of: packet)) else { return .invalid }
    return .state(state, end(byte(4, of: packet)))
  }

  /// A packet of `verify`: version, 0 for done, a step or an outcome, and why there is no key.
  static func ofVerify(_ packet: UnsafeRawPointer, size: Int) -> FingerReply {
    if let other = other(packet, size: size) { return other }
    guard size == 4 else { return .invalid }
    let word = byte(2, of: packet)
    if let step = Step(rawValue: word) { return .step(step) }
    guard let outcome = Outcome(rawValue: word) else { return .invalid }
    return .outcome(outcome, end(byte(3, of: packet)))
  }

  /// The service's answers without a result: it failed, or it refused. nil if the answer has a result.
  private static func other(_ packet: UnsafeRawPointer, size: Int) -> FingerReply? {
    let lastOutcome: UInt8 = 3
    guard size >= 2, byte(0, of: packet) == DeviceConnection.version, byte(1, of: packet) <= lastOutcome else {
      return .invalid
    }
    return byte(1, of: packet) == 0 ? nil : .refused
  }

  /// A later version may have more reasons.
  private static func end(_ number: UInt8) -> End { End(rawValue: number) ?? .none }

  private static func byte(_ offset: Int, of packet: UnsafeRawPointer) -> UInt8 {
    packet.load(fromByteOffset: offset, as: UInt8.self)
  }
}
